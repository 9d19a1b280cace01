use super::{
    build::IndexProgress,
    index::{FILE, HistoryIndex},
};
use crate::history::{History, HistoryRoots, MemoryListingCache, Provider, Query, SearchQuery};
use openagents_core::{CancellationToken, budget::Budget};
use serde_json::json;
use std::{fs, io::Write, path::PathBuf, sync::Arc};

pub(super) fn budget() -> Budget {
    Budget::within(std::time::Duration::from_secs(60), &CancellationToken::new())
}

/// A folder of Claude Code's sessions, and an index.
pub(super) struct Bench {
    pub(super) folder: tempfile::TempDir,
    pub(super) history: History,
    pub(super) index: HistoryIndex,
}

impl Bench {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let roots = HistoryRoots::default().with(Provider::ClaudeCode, folder.path().join("claude"));
        let history = History::new(roots, Arc::new(MemoryListingCache::default()));
        let index = HistoryIndex::open(&folder.path().join("home")).unwrap();
        Self { folder, history, index }
    }

    pub(super) fn path(&self, number: u32) -> PathBuf {
        let id = format!("c1a0de00-0000-4000-8000-{number:012}");
        self.folder.path().join(format!("claude/projects/-w/{id}.jsonl"))
    }

    /// Appends prompts to a session whose last change is `minute`.
    pub(super) fn say(&self, number: u32, minute: u64, prompts: &[&str]) {
        let path = self.path(number);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut log = fs::File::options().create(true).append(true).open(&path).unwrap();
        for prompt in prompts {
            let line = json!({"type": "user", "cwd": "/w", "message": {"role": "user", "content": prompt}});
            writeln!(log, "{line}").unwrap();
        }
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_793_491_200 + minute * 60);
        log.set_modified(time).unwrap();
    }

    pub(super) fn update(&self) -> IndexProgress {
        let mut last = IndexProgress::default();
        self.index
            .update(&self.history, &CancellationToken::new(), &mut |now| {
                last = now;
                true
            })
            .unwrap();
        last
    }

    /// Returns the sessions with a query's words: number, line and matches.
    pub(super) fn find(&self, query: &str) -> Vec<(u32, u64, u64)> {
        let found = self.index.search(query, 10, 1_793_500_000_000, None, &self.history).unwrap();
        let number = |id: &str| id[id.len() - 4..].parse().unwrap();
        found.passages.iter().map(|it| (number(&it.session.id), it.line, it.matches)).collect()
    }
}

#[test]
fn search_finds_words_prefixes_and_identifiers() {
    let bench = Bench::new();
    bench.say(1, 0, &["Start", "Why does followRedirects fail in Größe.rs?"]);
    bench.say(2, 1, &["Start", "認証のテストを直す"]);
    assert_eq!(bench.update(), IndexProgress { done: 2, total: 2 });
    for query in ["redirects", "follow redir", "followRed", "fail WHY", "grosse", "größe"] {
        // Diacritics matter.
        let expected: &[(u32, u64, u64)] = if query == "grosse" { &[] } else { &[(1, 2, 1)] };
        assert_eq!(bench.find(query), expected, "{query}");
    }
    assert_eq!(bench.find("テスト"), [(2, 2, 1)]);
    assert_eq!(bench.find("証の"), [(2, 2, 1)]);
    assert_eq!(bench.find("redirects 認証"), [], "all words of one passage");
    for query in ["", " … ", "\" OR *", "NEAR(", "a\"b"] {
        assert_eq!(bench.find(query), [], "{query}");
    }
}

#[test]
fn prefix_expands_to_frequent_words_and_ids() {
    let bench = Bench::new();
    let rare: Vec<String> =
        (0..100).map(|at| format!("contra{}", "abcdefghij".repeat(2).split_at(at % 20).1)).collect();
    bench.say(1, 0, &["Start", &rare.join(" "), "con"]);
    bench.say(2, 1, &["Start", "a connection"]);
    bench.say(3, 2, &["Start", "another connection of 0199a2b4-1111-7000-8000-000000000001"]);
    bench.update();
    let sessions = |query: &str| bench.find(query).iter().map(|found| found.0).collect::<Vec<_>>();
    assert_eq!(sessions("con"), [1, 3, 2]);
    assert_eq!(sessions("conn"), [3, 2]);
    assert_eq!(sessions("0199a2"), [3], "the words of an id are not among those that are kept");
    assert_eq!(sessions("0000000000"), [3]);
    assert_eq!(sessions("con "), [1], "a word that was ended stands for itself");
}

#[test]
fn ranking_prefers_titles_and_newer_sessions() {
    let bench = Bench::new();
    bench.say(1, 0, &["Fix the parser"]);
    bench.say(2, 10, &["Hello", "and the parser"]);
    bench.say(3, 20, &["Hello", "the parser again"]);
    bench.update();
    // The first prompt is the title.
    assert_eq!(bench.find("parser").iter().map(|found| found.0).collect::<Vec<_>>(), [1, 3, 2]);
}

#[test]
fn update_follows_changed_and_removed_logs() {
    let bench = Bench::new();
    bench.say(1, 0, &["First words"]);
    bench.say(2, 1, &["Other words"]);
    bench.update();
    bench.say(1, 2, &["appended later"]);
    bench.update();
    assert_eq!(bench.find("appended"), [(1, 2, 1)]);
    assert_eq!(bench.find("first").len(), 1, "indexed once");
    fs::remove_file(bench.path(1)).unwrap();
    bench.say(1, 3, &["Rewritten"]);
    fs::remove_file(bench.path(2)).unwrap();
    bench.update();
    assert_eq!(
        (bench.find("first").len(), bench.find("rewritten").len(), bench.find("other").len()),
        (0, 1, 0)
    );
    assert_eq!(bench.index.status().unwrap().sessions, 1);
    bench.index.clear().unwrap();
    assert_eq!((bench.find("rewritten").len(), bench.index.status().unwrap().sessions), (0, 0));
    bench.update();
    assert_eq!(bench.find("rewritten").len(), 1);
}

#[test]
fn forgotten_session_leaves_no_trace() {
    let bench = Bench::new();
    bench.say(1, 0, &["Start", "the secret codeword"]);
    bench.say(2, 1, &["Start", "the parser"]);
    bench.update();
    fs::remove_file(bench.path(1)).unwrap();
    bench.update();
    let reader = bench.index.reader.lock();
    let mut terms = reader.prepare("SELECT term FROM terms ORDER BY term").unwrap();
    let terms = terms.query_map([], |row| row.get(0)).unwrap().collect::<Result<Vec<String>, _>>().unwrap();
    assert_eq!(terms, ["parser", "start", "the"]);
    for table in ["sessions", "texts"] {
        let count = |row: &rusqlite::Row<'_>| row.get::<_, u32>(0);
        let rows = reader.query_row(&format!("SELECT count(*) FROM {table}"), [], count).unwrap();
        assert_eq!(rows, 1, "{table}");
    }
}

#[test]
fn index_recreates_damaged_file() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join(FILE), "this is not a database, despite its name".repeat(100)).unwrap();
    assert_eq!(HistoryIndex::open(home.path()).unwrap().status().unwrap().sessions, 0);
}

#[test]
fn cancelled_update_stops_between_sessions() {
    let bench = Bench::new();
    for number in 1..=5 {
        bench.say(number, number.into(), &["Words"]);
    }
    let cancel = CancellationToken::new();
    let mut seen = 0;
    bench
        .index
        .update(&bench.history, &cancel, &mut |now| {
            seen = now.done;
            if now.done == 2 {
                cancel.cancel();
            }
            true
        })
        .unwrap();
    assert_eq!((seen, bench.index.status().unwrap().sessions), (2, 2));
}

#[test]
fn search_reads_indexed_lines_and_unknown_logs() {
    let bench = Bench::new();
    bench.say(1, 1, &["Start", "Fix the parser", "and another"]);
    bench.say(2, 2, &["Start", "nothing here"]);
    bench.update();
    let indexed = Arc::new(HistoryIndex::open(&bench.folder.path().join("home")).unwrap());
    let history = bench.history.clone().with_words(indexed);
    let budget = budget();
    let search_with = |context: usize, pattern: &str, whole_logs: bool| {
        let query = SearchQuery {
            pattern: pattern.to_owned(),
            whole_logs,
            max_matches: 10,
            line_chars: 80,
            file_bytes: u64::MAX,
            total_bytes: u64::MAX,
            context,
            ..SearchQuery::default()
        };
        let found = history.search(&query, &budget, &budget, &()).unwrap();
        assert_eq!(found.total, found.matches.len());
        found.matches.into_iter().map(|hit| (hit.line_number, hit.line, hit.after)).collect::<Vec<_>>()
    };
    let search = |pattern: &str, whole_logs: bool| search_with(1, pattern, whole_logs);
    let hit = (2, "Fix the parser".to_owned(), vec!["and another".to_owned()]);
    // In any order, and beginnings of words.
    assert_eq!(search("parser fix", false), std::slice::from_ref(&hit));
    assert_eq!(search("fix pars", false), std::slice::from_ref(&hit));
    assert_eq!(search_with(0, "parser fix", false), [(2, "Fix the parser".to_owned(), vec![])]);
    assert_eq!(search("parser fix", true), []);
    assert_eq!(search("the pars[e]r", false), std::slice::from_ref(&hit));
    // Appended, and not indexed yet: the log is read.
    bench.say(2, 3, &["the parser again"]);
    bench.say(3, 4, &["Start", "a parser"]);
    let lines: Vec<u64> = search("parser", false).into_iter().map(|(line, ..)| line).collect();
    assert_eq!(lines, [2, 3, 2]);
    bench.update();
    assert_eq!(search("parser", false).len(), 3);
}

/// Regression: FTS5 treated marks inside a word as its end. A search for such a word failed, and so did every later
/// update once a session was gone.
#[test]
fn update_accepts_words_with_inner_marks() {
    let bench = Bench::new();
    let words = ["हिंदी", "বাংলা", "காலை", "مُحَمَّد", "ⓐ①", "𞤀𞤣", "naïve", "ไทย"];
    bench.say(1, 1, &["Start", &words.join(" ")]);
    bench.say(2, 2, &["Start"]);
    bench.update();
    for word in words {
        assert_eq!(bench.find(&format!("{word} ")), [(1, 2, 1)], "{word}");
    }
    fs::remove_file(bench.path(2)).unwrap();
    bench.say(3, 3, &["Start", "later"]);
    bench.update();
    assert_eq!((bench.find("later"), bench.find("हिंदी")), (vec![(3, 2, 1)], vec![(1, 2, 1)]));
}

proptest::proptest! {
    #[test]
    fn search_finds_any_text_by_its_words(text in "\\PC{1,24}") {
        let bench = Bench::new();
        bench.say(1, 1, &["Start", &text]);
        bench.say(2, 2, &["Start"]);
        bench.update();
        // A quote is syntax.
        if !crate::history::query_words(&text).is_empty() && !text.contains('"') {
            let found = bench.find(&format!("{text} "));
            proptest::prop_assert!(found.contains(&(1, 2, 1)), "{:?}", found);
        }
        fs::remove_file(bench.path(2)).unwrap();
        bench.update();
    }
}

/// Regression: both assigned the same keys to sessions, and words of one were found in another.
#[test]
fn concurrent_updates_keep_sessions_apart() {
    let bench = Bench::new();
    for number in 1..=6 {
        bench.say(number, number.into(), &["Start", &format!("word{number}a")]);
    }
    let other = HistoryIndex::open(&bench.folder.path().join("home")).unwrap();
    let cancel = CancellationToken::new();
    let mut is_first = true;
    bench
        .index
        .update(&bench.history, &cancel, &mut |_| {
            if std::mem::take(&mut is_first) {
                // In the other update, sessions that this one does not know come first.
                bench.say(7, 7, &["Start", "word7a"]);
                bench.say(8, 0, &["Start", "word8a"]);
                other.update(&bench.history, &cancel, &mut |_| true).unwrap();
                bench.say(2, 9, &["word2b"]);
            }
            true
        })
        .unwrap();
    bench.update();
    for number in 1..=8 {
        assert_eq!(bench.find(&format!("word{number}a")), [(number, 2, 1)]);
    }
    assert_eq!(bench.find("word2b"), [(2, 3, 1)]);
    assert_eq!(bench.find("Start").len(), 8);
    let count = |table: &str| {
        let count = format!("SELECT count(*) FROM {table}");
        bench.index.reader.lock().query_row(&count, [], |row| row.get::<_, u64>(0)).unwrap()
    };
    // Each has a title and two lines, and one has another line.
    assert_eq!((count("sessions"), count("words")), (8, 8 * 3 + 1));
}

/// Regression: its lines were forgotten, and indexing was not tried again.
#[test]
fn unreadable_log_is_not_indexed_as_empty() {
    let bench = Bench::new();
    bench.say(1, 1, &["Start", "the parser"]);
    bench.update();
    bench.say(1, 2, &["another parser"]);
    let listing = bench.history.list(&Query::default(), &budget());
    let hidden = bench.path(1).with_extension("hidden");
    fs::rename(bench.path(1), &hidden).unwrap();
    bench.index.update_from(listing, &bench.history, &CancellationToken::new(), &mut |_| true).unwrap();
    assert_eq!(bench.find("parser"), [(1, 2, 1)]);
    fs::rename(hidden, bench.path(1)).unwrap();
    bench.update();
    assert_eq!(bench.find("another parser"), [(1, 3, 1)]);
}

/// Regression: damage after the first page was never repaired.
#[test]
fn search_recreates_damaged_index() {
    let bench = Bench::new();
    let words: Vec<String> = (0..20_000).map(|at| format!("word{at}x")).collect();
    bench.say(1, 1, &["Start", &words[..1_000].join(" "), &words[1_000..2_000].join(" ")]);
    bench.update();
    bench.index.compact();
    let path = bench.folder.path().join("home").join(FILE);
    let mut bytes = fs::read(&path).unwrap();
    bytes[4096..].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let index = HistoryIndex::open(&bench.folder.path().join("home")).unwrap();
    let update = || index.update(&bench.history, &CancellationToken::new(), &mut |_| true);
    assert!(update().is_err());
    update().unwrap();
    let found = index.search("word1500x", 10, 1_793_500_000_000, None, &bench.history).unwrap();
    assert_eq!(found.passages.len(), 1);
}

#[test]
fn search_reads_appended_lines_only() {
    let bench = Bench::new();
    bench.say(1, 1, &["Start", "Fix the parser", "and another"]);
    bench.update();
    let log = fs::read_to_string(bench.path(1)).unwrap();
    fs::write(bench.path(1), log.replace("and another", "the parser!")).unwrap();
    bench.say(1, 2, &["nothing", "a parser again"]);
    let indexed = Arc::new(HistoryIndex::open(&bench.folder.path().join("home")).unwrap());
    let history = bench.history.clone().with_words(indexed);
    let query = SearchQuery {
        pattern: "parser".to_owned(),
        max_matches: 10,
        line_chars: 80,
        ..SearchQuery::default()
    };
    let found = history.search(&query, &budget(), &budget(), &()).unwrap();
    let lines: Vec<_> = found.matches.iter().map(|hit| (hit.line_number, hit.line.as_str())).collect();
    assert_eq!((lines, found.total), (vec![(2, "Fix the parser"), (5, "a parser again")], 2));
}

/// Regression: lines that far into the log were found as titles.
#[test]
fn unnumbered_lines_are_not_indexed() {
    let bench = Bench::new();
    bench.say(1, 1, &["Start", "early"]);
    let mut log = fs::File::options().append(true).open(bench.path(1)).unwrap();
    let filler = format!("{{\"type\":\"x\"}}{}\n", " ".repeat(1_000_000));
    for _ in 0..80 {
        log.write_all(filler.as_bytes()).unwrap();
    }
    bench.say(1, 2, &["late"]);
    bench.update();
    assert_eq!((bench.find("early"), bench.find("late")), (vec![(1, 2, 1)], vec![]));
    assert_eq!(bench.index.status().unwrap().cut, 1);
}

/// Regression: such a line was counted but not returned.
#[test]
fn search_finds_long_line_with_context() {
    let bench = Bench::new();
    bench.say(1, 1, &["Start", &format!("the parser {}", "x".repeat(400_000)), "after"]);
    bench.update();
    let indexed = Arc::new(HistoryIndex::open(&bench.folder.path().join("home")).unwrap());
    let history = bench.history.clone().with_words(indexed);
    for context in [0, 1] {
        let query = SearchQuery {
            pattern: "parser".to_owned(),
            max_matches: 10,
            line_chars: 10,
            context,
            ..SearchQuery::default()
        };
        let found = history.search(&query, &budget(), &budget(), &()).unwrap();
        assert_eq!((found.total, found.matches.len()), (1, 1), "{context}");
        assert_eq!(found.matches[0].after.len(), context);
    }
}
