//! Typed text is found in the logs and in the index alike, once, and the answer says what was not searched.

use super::{
    index::HistoryIndex,
    tests::{Bench, budget},
};
use crate::history::{
    History, HistoryRoots, MemoryListingCache, PatternKind, Provider, SearchQuery, SearchResult,
};
use serde_json::json;
use std::{fs, io::Write, path::Path, sync::Arc};

fn query(typed: &str) -> SearchQuery {
    SearchQuery {
        pattern: typed.to_owned(),
        kind: PatternKind::Typed,
        max_matches: 20,
        line_chars: 80,
        file_bytes: u64::MAX,
        total_bytes: u64::MAX,
        ..SearchQuery::default()
    }
}

fn search_with(history: &History, typed: &str, whole_logs: bool) -> SearchResult {
    let query = SearchQuery { whole_logs, ..query(typed) };
    history.search(&query, &budget(), &budget(), &()).unwrap()
}

fn search(history: &History, typed: &str) -> SearchResult {
    search_with(history, typed, false)
}

/// Returns the numbers of the sessions, their lines and their texts.
fn hits(found: &SearchResult) -> Vec<(u32, u64, String)> {
    let number = |id: &str| id[id.len() - 4..].parse().unwrap();
    found.matches.iter().map(|hit| (number(&hit.session_id), hit.line_number, hit.line.clone())).collect()
}

impl Bench {
    fn indexed(&self) -> History {
        let index = HistoryIndex::open(&self.folder.path().join("home")).unwrap();
        self.history.clone().with_words(Arc::new(index))
    }

    /// Checks that a search finds the same before an index and with it.
    fn check(&self, rows: &[(&str, &[(u32, u64)])]) {
        let before: Vec<SearchResult> = rows.iter().map(|(typed, _)| search(&self.history, typed)).collect();
        self.update();
        let indexed = self.indexed();
        for ((typed, expected), before) in rows.iter().zip(before) {
            let lines: Vec<(u32, u64)> = hits(&before).into_iter().map(|(at, line, _)| (at, line)).collect();
            assert_eq!(&lines, expected, "{typed}: {before:?}");
            let after = search(&indexed, typed);
            assert_eq!(hits(&after), hits(&before), "{typed}");
            assert_eq!((after.total, before.total), (expected.len(), expected.len()), "{typed}");
        }
    }
}

/// Regression: punctuation was syntax, a title was found in addition to its prompt, and words were found anywhere.
#[test]
fn typed_text_is_found_once() {
    let bench = Bench::new();
    bench.say(
        1,
        1,
        &[
            "look at bead bd-q3fy and ticket POL-358 before you start",
            "TODO: fix the importer",
            "please don't use agents here",
            "open Downloads/transcripts and C:\\Users\\demo\\project",
            "the wrong-book list, not the mistakes",
            "call grammar::fa with a \"quoted phrase\" inside",
            "run it with -verify and verify:something, or --flag",
            "glob foo* and NEAR and AND and OR and NOT",
            "mail ops@example.invalid about #4711 (100%) [x] {y} $HOME foo(bar)",
        ],
    );
    bench.check(&[
        ("bd-q3fy", &[(1, 1)]),
        ("POL-358", &[(1, 1)]),
        ("pol-35", &[(1, 1)]),
        ("TODO: fix", &[(1, 2)]),
        ("don't use agents", &[(1, 3)]),
        ("don’t use agents", &[(1, 3)]),
        ("Downloads/transcripts", &[(1, 4)]),
        ("C:\\Users\\demo", &[(1, 4)]),
        ("wrong-book", &[(1, 5)]),
        ("grammar::fa", &[(1, 6)]),
        ("\"quoted phrase\"", &[(1, 6)]),
        ("\"phrase quoted\"", &[]),
        ("phrase quoted", &[(1, 6)]),
        ("-verify", &[(1, 7)]),
        ("--flag", &[(1, 7)]),
        ("verify:something", &[(1, 7)]),
        ("foo*", &[(1, 8)]),
        ("*", &[(1, 8)]),
        ("NEAR", &[(1, 8)]),
        ("NOT agents", &[(1, 3), (1, 5)]),
        ("ops@example.invalid", &[(1, 9)]),
        ("#4711", &[(1, 9)]),
        ("(100%)", &[(1, 9)]),
        ("[x]", &[(1, 9)]),
        ("{y}", &[(1, 9)]),
        ("$HOME", &[(1, 9)]),
        ("foo(bar)", &[(1, 9)]),
        ("[y]", &[]),
        ("uoted", &[]),
    ]);
    assert_eq!(
        hits(&search_with(&bench.indexed(), "uoted", true)).len(),
        1,
        "whole logs know parts of words"
    );
}

/// The index is queried for exact matches first, and for others only if these are too few.
#[test]
fn exact_matches_come_first() {
    let bench = Bench::new();
    bench.say(1, 1, &["Start", "call re_lo"]);
    bench.say(2, 2, &["Start", "call re_load", "re_lo again"]);
    bench.say(3, 3, &["Start", "call more_re_lo", "and lo"]);
    let first = |history: &History, typed: &str, most: usize| {
        let found =
            history.search(&SearchQuery { max_matches: most, ..query(typed) }, &budget(), &budget(), &());
        let found = found.unwrap();
        assert_eq!(found.truncated, most < 4 || found.total > most, "{typed}: {found:?}");
        hits(&found).into_iter().map(|(at, line, _)| (at, line)).collect::<Vec<_>>()
    };
    let all = [(2, 3), (1, 2), (3, 2), (2, 2)];
    let before: Vec<_> = (1..=5).map(|most| first(&bench.history, "re_lo", most)).collect();
    bench.update();
    let indexed = bench.indexed();
    for (at, before) in before.into_iter().enumerate() {
        let most = at + 1;
        assert_eq!(before, all[..most.min(4)], "{most}");
        assert_eq!(first(&indexed, "re_lo", most), before, "{most}");
    }
}

#[test]
fn whole_text_ranks_before_its_words() {
    let bench = Bench::new();
    bench.say(1, 1, &["Start", "docker compose fails"]);
    bench.say(2, 2, &["Start", "compose it, then start docker"]);
    bench.say(3, 3, &["Start with docker", "no", "compose a letter"]);
    bench.check(&[
        ("docker compose", &[(1, 2), (2, 2)]),
        ("\"docker compose\"", &[(1, 2)]),
        ("letter docker", &[(3, 1), (3, 3)]),
        ("letter docker nothing", &[]),
    ]);
    let ids = |typed: &str| bench.find(typed).iter().map(|found| (found.0, found.1)).collect::<Vec<_>>();
    assert_eq!(ids("docker compose"), [(1, 2), (2, 2)]);
    assert_eq!(ids("letter docker"), [(3, 3)]);
}

#[test]
fn text_is_found_in_every_normal_form() {
    let bench = Bench::new();
    let texts = [
        "Cafe\u{301} in Gro\u{308}ße",
        "the ＡＰＩ key",
        "\u{1112}\u{1161}\u{11ab}글 문서를 고쳐",
        "ทำก่อนนี้",
        "ភាសា\u{200b}ខ្មែរ",
        "認証のテストを直す",
        "ﾊﾞｸﾞを直す",
        "हिन्दी में लिखो",
        "STRASSE und ΟΔΌΣ",
        "so\u{ad}ft hyphen",
    ];
    bench.say(1, 1, &texts);
    bench.check(&[
        ("café", &[(1, 1)]),
        ("CAFÉ größe", &[(1, 1)]),
        ("cafe", &[]),
        ("api", &[(1, 2)]),
        ("ＫＥＹ", &[(1, 2)]),
        ("한글", &[(1, 3)]),
        ("문서", &[(1, 3)]),
        ("ก่อน", &[(1, 4)]),
        ("ខ្មែរ", &[(1, 5)]),
        ("ភាសាខ្មែរ", &[(1, 5)]),
        ("テスト", &[(1, 6)]),
        ("の", &[(1, 6)]),
        ("バグ", &[(1, 7)]),
        ("हिन्दी", &[(1, 8)]),
        ("straße", &[(1, 9)]),
        ("οδός", &[(1, 9)]),
        ("soft", &[(1, 10)]),
    ]);
    let found = search(&bench.indexed(), "café");
    assert_eq!(hits(&found)[0].2, "Cafe\u{301} in Gro\u{308}ße");
}

#[test]
fn json_escapes_are_not_searched() {
    let bench = Bench::new();
    bench.say(1, 1, &["Start"]);
    let input = json!({"command": "cd C:\\Users\\demo\necho \"done\"", "file_path": "/w/größe.rs"});
    let content = json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": input}]);
    let line =
        json!({"type": "assistant", "cwd": "/w", "message": {"role": "assistant", "content": content}});
    let mut log = fs::File::options().append(true).open(bench.path(1)).unwrap();
    writeln!(log, "{line}").unwrap();
    bench.check(&[
        ("C:\\Users\\demo", &[(1, 2)]),
        ("echo \"done\"", &[(1, 2)]),
        ("echo", &[(1, 2)]),
        ("GRÖSSE.rs", &[(1, 2)]),
    ]);
}

/// Adds text until the rest of a session is not indexed.
fn fill(bench: &Bench, session: u32) {
    let filler = "plain filler sentence about nothing in particular; ".repeat(40);
    let prompts: Vec<String> = (0..150).map(|at| format!("{at} {filler}")).collect();
    let prompts: Vec<&str> = prompts.iter().map(String::as_str).collect();
    bench.say(session, 1, &prompts);
}

/// Regression: text after the first part of a session was not found, and the answer did not say so.
#[test]
fn end_of_long_session_is_found_or_reported() {
    let bench = Bench::new();
    fill(&bench, 1);
    bench.say(1, 2, &["late-needle-77 stands behind 300 KiB of text"]);
    bench.check(&[("late-needle-77", &[(1, 151)]), ("late needle", &[(1, 151)])]);
    assert_eq!(bench.index.status().unwrap().cut, 1);
    let found = search(&bench.indexed(), "late-needle-77");
    assert_eq!((found.unsearched.ends, found.unsearched.results), (0, true));
    let mut log = fs::File::options().append(true).open(bench.path(1)).unwrap();
    let filler = format!("{{\"type\":\"x\"}}{}\n", " ".repeat(1_000_000));
    (0..18).for_each(|_| log.write_all(filler.as_bytes()).unwrap());
    bench.say(1, 3, &["another-needle"]);
    bench.update();
    let found = search(&bench.indexed(), "another-needle");
    assert_eq!((hits(&found).len(), found.unsearched.ends), (0, 1));
    let found = search_with(&bench.indexed(), "another-needle", true);
    assert_eq!((hits(&found)[0].1, found.unsearched), (170, Default::default()));
    let index = bench.index.search("another-needle", 10, 0, None, &bench.history).unwrap();
    assert_eq!((index.passages.len(), index.not_indexed.session_ends), (0, 1));
}

#[test]
fn end_of_long_message_is_found() {
    let bench = Bench::new();
    let long = format!("Read this: {} needle-in-a-dump", "some words of a log file\n".repeat(2_000));
    bench.say(1, 1, &["Start", &long, "after"]);
    bench.say(2, 2, &["Start", "some words"]);
    bench.check(&[("needle-in-a-dump", &[(1, 2)]), ("words needle", &[(1, 2)]), ("after", &[(1, 3)])]);
    let index = bench.index.search("needle-in-a-dump", 10, 0, None, &bench.history).unwrap();
    assert_eq!(
        (index.passages.len(), index.not_indexed.passage_ends),
        (0, 1),
        "the page says that there is more"
    );
}

#[test]
fn frequent_prefix_finds_every_word() {
    let bench = Bench::new();
    let letter = |at: u8| char::from(b'a' + at);
    let often: Vec<String> =
        (0..100).map(|at| format!("con{}{}", letter(at / 26), letter(at % 26))).collect();
    for session in 1..4 {
        bench.say(session, session.into(), &["Start", &often.join(" ")]);
    }
    bench.say(4, 4, &["Start", "contrabass"]);
    bench.check(&[("con", &[(4, 2), (3, 2), (2, 2), (1, 2)])]);
}

fn rename(folder: &Path, id: &str, name: &str) {
    let line = json!({"id": id, "thread_name": name, "updated_at": "2026-11-20T09:00:00Z"});
    fs::write(folder.join("session_index.jsonl"), format!("{line}\n")).unwrap();
}

/// Regression: a name stored outside the log was indexed only when the log changed.
#[test]
fn session_is_found_by_listed_name() {
    let folder = tempfile::tempdir().unwrap();
    let id = "0199a2b4-1111-7000-8000-000000000001";
    let codex = folder.path().join("codex");
    let log = codex.join(format!("sessions/2026/11/20/rollout-2026-11-20T09-00-00-{id}.jsonl"));
    fs::create_dir_all(log.parent().unwrap()).unwrap();
    let lines = [
        json!({"timestamp": "2026-11-20T09:00:00Z", "type": "session_meta", "payload": {"id": id, "cwd": "/w", "source": "cli"}}),
        json!({"timestamp": "2026-11-20T09:00:01Z", "type": "event_msg", "payload": {"type": "user_message", "message": "go on"}}),
    ];
    fs::write(&log, lines.map(|line| line.to_string()).join("\n") + "\n").unwrap();
    let history = History::new(
        HistoryRoots::default().with(Provider::Codex, &codex),
        Arc::new(MemoryListingCache::default()),
    );
    let index = HistoryIndex::open(&folder.path().join("home")).unwrap();
    let update = || index.update(&history, &Default::default(), &mut |_| true).unwrap();
    let titles = |typed: &str| {
        let found = index.search(typed, 10, 0, None, &history).unwrap().passages;
        found.into_iter().map(|it| (it.kind, it.session.title.unwrap())).collect::<Vec<_>>()
    };
    let lines = |history: &History, typed: &str| {
        search(history, typed).matches.into_iter().map(|hit| hit.line).collect::<Vec<_>>()
    };
    update();
    for name in ["Billing retries", "Nightly docs sweep"] {
        rename(&codex, id, name);
        let word = name.split(' ').next().unwrap();
        assert_eq!(lines(&history, word), [name]);
        let indexed =
            history.clone().with_words(Arc::new(HistoryIndex::open(&folder.path().join("home")).unwrap()));
        assert_eq!(lines(&indexed, word), [name], "before the index has the name");
        update();
        assert_eq!(lines(&indexed, word), [name]);
        assert_eq!(titles(word), [("title", name.to_owned())]);
    }
    assert_eq!(titles("billing"), [], "the last name is forgotten");
    assert_eq!(lines(&history, "go on"), ["go on"]);
}

/// Regression: a title that was appended to an indexed log was not indexed.
#[test]
fn later_title_is_found() {
    let bench = Bench::new();
    bench.say(1, 1, &["Start", "go on"]);
    bench.update();
    let mut log = fs::File::options().append(true).open(bench.path(1)).unwrap();
    writeln!(log, "{}", json!({"type": "custom-title", "customTitle": "Invoices"})).unwrap();
    bench.say(1, 2, &["and on"]);
    bench.update();
    assert_eq!(bench.find("invoices"), [(1, 0, 1)]);
    assert_eq!(bench.find("start"), [(1, 1, 1)]);
}
