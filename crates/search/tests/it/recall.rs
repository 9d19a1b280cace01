//! Questions about past sessions, on fixture transcripts of both agents, with the expected first session and line.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use jiff::Zoned;
use openagents_core::{CancellationToken, budget::Budget, update::Place};
use openagents_search::recall::{Recall, recall};
use openagents_transcripts::{
    history::{ExcludedSessions, History, HistoryRoots, MemoryListingCache, Provider},
    history_index::HistoryIndex,
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

/// A Wednesday.
const NOW: &str = "2026-11-18T15:00:00+01:00[Europe/Berlin]";

/// The sessions by subject.
const REDIRECT: &str = "claude 1";
const PARSER: &str = "codex 2";
const LEXER: &str = "claude 3";
const HYPER: &str = "codex 4";
const REDIS: &str = "claude 5";
const PAIRING: &str = "claude 6";
const BUMP: &str = "codex 7";
const DARK: &str = "claude 8";
const PASSKEY: &str = "claude 10";
const TOKEN: &str = "claude 11";
const ORDERS: &str = "codex 12";

struct Shop {
    _folder: tempfile::TempDir,
    base: PathBuf,
    history: History,
}

impl Shop {
    /// Copies the fixture transcripts, which ran in `/w/shop`, next to a workspace with a second worktree.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let write = |path: &str, text: String| {
            let path = base.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("shop/.git/HEAD", "ref: refs/heads/main\n".into());
        write("shop/.git/worktrees/dark/commondir", "../..\n".into());
        write("shop/.git/worktrees/dark/gitdir", format!("{}\n", base.join("shop-dark/.git").display()));
        write("shop-dark/.git", format!("gitdir: {}\n", base.join("shop/.git/worktrees/dark").display()));
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recall");
        for path in files(&from) {
            let log = fs::read_to_string(&path).unwrap().replace("/w/", &format!("{}/", base.display()));
            let to = base.join(path.strip_prefix(&from).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            let last = log.rsplit("\"timestamp\":\"").next().unwrap().split('"').next().unwrap();
            let last: jiff::Timestamp = last.parse().unwrap();
            fs::write(&to, &log).unwrap();
            let time = UNIX_EPOCH + Duration::from_millis(last.as_millisecond().try_into().unwrap());
            fs::File::options().write(true).open(&to).unwrap().set_modified(time).unwrap();
        }
        let roots = HistoryRoots::default()
            .with(Provider::Codex, base.join("codex"))
            .with(Provider::ClaudeCode, base.join("claude"));
        Self { _folder: folder, base, history: History::new(roots, Arc::new(MemoryListingCache::default())) }
    }

    fn indexed(mut self) -> Self {
        let index = HistoryIndex::open(&self.base.join("home")).unwrap();
        index.update(&self.history, &CancellationToken::new(), &mut |_| true).unwrap();
        self.history = self.history.with_words(Arc::new(index));
        self
    }

    /// Writes a transcript of Claude Code with these messages, and tool output of `filler` bytes after each.
    fn write_long(&self, number: u32, prompts: &[&str], filler: usize) {
        let id = format!("c1a0de00-0000-4000-8000-{number:012}");
        let line = |kind: &str, content: Value| {
            let message = json!({"role": kind, "content": content});
            let (root, at) = (self.base.join("shop"), "2026-11-17T20:00:00Z");
            json!({"type": kind, "sessionId": id, "cwd": root, "timestamp": at, "message": message})
                .to_string()
        };
        let mut log = String::new();
        for prompt in prompts {
            log += &(line("user", (*prompt).into()) + "\n");
            for _ in 0..filler / 100_000 {
                let output =
                    json!([{"type": "tool_result", "tool_use_id": "t", "content": "x ".repeat(50_000)}]);
                log += &(line("user", output) + "\n");
            }
        }
        fs::write(self.base.join(format!("claude/projects/-w-shop/{id}.jsonl")), log).unwrap();
    }

    fn ask(&self, question: &str) -> Recall {
        let now: Zoned = NOW.parse().unwrap();
        let budget = Budget::within(Duration::from_secs(60), &CancellationToken::new());
        recall(question, &self.base.join("shop"), &self.history, &now, &budget)
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Returns `claude 5` for the fifth fixture of Claude Code.
fn name(place: &Place) -> String {
    let Place::Session { provider, session_id } = place else { unreachable!("code is not looked at") };
    let number: u32 = session_id.rsplit('-').next().unwrap().parse().unwrap();
    format!("{} {number}", provider.trim_end_matches("-code"))
}

/// Question; sessions that come first, in this order; line of the first; contents of its excerpt.
type Row = (&'static str, &'static [&'static str], u64, &'static [&'static str]);

#[rustfmt::skip]
const ENGLISH: &[Row] = &[
    ("What did Claude change in packages/web yesterday?", &[REDIRECT], 5,
        &["5: edited packages/web/src/redirect.ts", "7: edited packages/web/src/app.ts"]),
    ("when did we last touch the parser?", &[PARSER, LEXER], 11, &["11: edited packages/api/src/parser.rs"]),
    ("What is the open work on pairing?", &[PAIRING], 7,
        &["7: open: Let codes expire; Revoke button", "9: answer: The pairing code is shown"]),
    ("what was left open in the pairing work?", &[PAIRING], 7,
        &["7: open: Let codes expire; Revoke button", "9: answer: The pairing code is shown"]),
    ("which session broke the build?", &[HYPER], 7, &["7: ran cargo build (exit code 101)"]),
    ("why did we drop Redis?", &[REDIS], 2, &["so that we run one service less", "because the cache had one reader"]),
    ("what did the last Codex session run?", &[BUMP], 5,
        &["5: ran npm outdated (exit code 1)", "8: ran npm install vite@8 (exit code 0)"]),
    ("Which session left the tests failing?", &[ORDERS, PARSER], 6, &["6: ran cargo test -p api orders (exit code 101)"]),
    ("What did Codex do on Monday?", &[PARSER], 3, &["3: prompt: The query parser chokes"]),
    ("Which files did we change last week?", &[DARK, PAIRING, REDIS, HYPER], 3, &["edited packages/web/src/settings.css"]),
    ("what did I do this morning?", &[BUMP], 3, &["3: prompt: Bump the web dependencies"]),
    ("Did Claude work on dark mode?", &[DARK], 2, &["2: prompt: Add a dark theme"]),
    ("what changed in docker-compose.yml since Thursday?", &[REDIS], 3, &["3: edited docker-compose.yml"]),
    ("which tests did we run two days ago", &[PARSER], 9, &["14: ran cargo test -p api parser (exit code 0)"]),
    ("Did we change any *.css in the last 5 days?", &[DARK], 3, &["3: edited packages/web/src/settings.css"]),
    ("What was I doing here?", &[BUMP, REDIRECT, PARSER], 3, &["3: prompt: Bump the web dependencies"]),
];

#[rustfmt::skip]
const GERMAN: &[Row] = &[
    ("Was hat Claude gestern in packages/web geändert?", &[REDIRECT], 5,
        &["5: edited packages/web/src/redirect.ts", "7: edited packages/web/src/app.ts"]),
    ("Wann haben wir zuletzt den Parser angefasst?", &[PARSER, LEXER], 11, &["11: edited packages/api/src/parser.rs"]),
    ("Was ist beim Pairing offen geblieben?", &[PAIRING], 7, &["7: open: Let codes expire; Revoke button"]),
    ("Welche Sitzung hat den Build kaputt gemacht?", &[HYPER], 7, &["7: ran cargo build (exit code 101)"]),
    ("Warum haben wir Redis entfernt?", &[REDIS], 2, &["9: answer: Redis is gone"]),
    ("Was hat die letzte Codex-Session ausgeführt?", &[BUMP], 5, &["8: ran npm install vite@8 (exit code 0)"]),
    ("Was haben wir letzte Woche an der Anmeldung gemacht?", &[PASSKEY], 1, &["1: prompt: Die Anmeldung mit Passkey"]),
    ("Warum ging die Anmeldung mit Passkey in Safari nicht?", &[PASSKEY], 1, &["weil der Dialog sonst blockiert wird"]),
];

#[rustfmt::skip]
const SPANISH: &[Row] = &[
    ("¿Qué cambió Claude ayer en packages/web?", &[REDIRECT], 5, &["7: edited packages/web/src/app.ts"]),
    ("¿Cuándo tocamos por última vez el parser?", &[PARSER, LEXER], 11, &["11: edited packages/api/src/parser.rs"]),
    ("¿Qué quedó pendiente en el pairing?", &[PAIRING], 7, &["7: open: Let codes expire; Revoke button"]),
    ("que sesion rompio la compilacion", &[HYPER], 7, &["7: ran cargo build (exit code 101)"]),
    ("¿Por qué quitamos Redis?", &[REDIS], 2, &["2: prompt: Drop Redis"]),
    ("¿Qué ejecutó la última sesión de Codex?", &[BUMP], 5, &["5: ran npm outdated (exit code 1)"]),
    ("¿Qué sesión dejó las pruebas fallando?", &[ORDERS, PARSER], 6, &["6: ran cargo test -p api orders (exit code 101)"]),
    ("¿Cuándo añadimos la paginación de pedidos?", &[ORDERS], 3, &["3: prompt: Añade paginación"]),
    ("¿Qué hizo Codex hace dos días?", &[PARSER], 3, &["6: edited packages/api/src/parser.rs"]),
];

#[rustfmt::skip]
const JAPANESE: &[Row] = &[
    ("昨日Claudeはpackages/webで何を変更しましたか？", &[REDIRECT], 5, &["7: edited packages/web/src/app.ts"]),
    ("parser を最後に触ったのはいつですか", &[PARSER, LEXER], 11, &["11: edited packages/api/src/parser.rs"]),
    ("パーサーを変更したのはいつですか？", &[PARSER, LEXER], 11, &["11: edited packages/api/src/parser.rs"]),
    ("pairing の作業で残っているのは何？", &[PAIRING], 7, &["7: open: Let codes expire; Revoke button"]),
    ("ビルドを壊したのはどのセッション？", &[HYPER], 7, &["7: ran cargo build (exit code 101)"]),
    ("なぜ Redis をやめたのですか？", &[REDIS], 2, &["9: answer: Redis is gone"]),
    ("最後の Codex セッションは何を実行しましたか？", &[BUMP], 5, &["8: ran npm install vite@8 (exit code 0)"]),
    ("認証トークンの有効期限を延長したのはいつ？", &[TOKEN], 1, &["1: prompt: 認証トークンの有効期限"]),
    ("認証トークンの有効期限を変えたのはいつ？", &[TOKEN], 1, &["1: prompt: 認証", "2: edited packages/api/src/token.rs"]),
    ("今朝は何をした？", &[BUMP], 3, &["3: prompt: Bump the web dependencies"]),
];

#[rustfmt::skip]
const CHINESE_AND_FRENCH: &[Row] = &[
    ("昨天 Claude 在 packages/web 改了什么？", &[REDIRECT], 5, &["7: edited packages/web/src/app.ts"]),
    ("我们为什么去掉了 Redis？", &[REDIS], 2, &["2: prompt: Drop Redis"]),
    ("哪个会话把构建弄坏了？", &[HYPER], 7, &["7: ran cargo build (exit code 101)"]),
    ("上次 Codex 运行了哪些命令？", &[BUMP], 5, &["8: ran npm install vite@8 (exit code 0)"]),
    ("Qu’est-ce que Claude a modifié hier dans packages/web ?", &[REDIRECT], 5, &["7: edited packages/web/src/app.ts"]),
    ("Quelle session a cassé la compilation ?", &[HYPER], 7, &["7: ran cargo build (exit code 101)"]),
];

#[test]
fn questions_in_english() {
    check(ENGLISH);
}

#[test]
fn questions_in_german() {
    check(GERMAN);
}

#[test]
fn questions_in_spanish() {
    check(SPANISH);
}

#[test]
fn questions_in_japanese() {
    check(JAPANESE);
}

#[test]
fn questions_in_chinese_and_french() {
    check(CHINESE_AND_FRENCH);
}

/// No result is better than a wrong one.
#[test]
fn question_without_match_has_no_session() {
    let shop = Shop::new();
    for question in [
        "",
        "Hello!",
        "How are you?",
        "Where is the tokenizer trained?",
        "How does the scheduler pick a worker thread?",
        "What did Claude change in packages/mobile yesterday?",
        "What did Codex do yesterday?",
        "Why did we drop Kafka?",
        "What did we do in 2026-10-01?",
        "Wo wird die Rechnung erzeugt?",
        "認可はどこで検査されますか？",
    ] {
        let found = shop.ask(question).findings;
        let found: Vec<String> = found.iter().map(|finding| name(&finding.place)).collect();
        assert_eq!(found, Vec::<String>::new(), "{question}");
    }
}

/// A question about code gets sessions with matching prompts, with lower scores than a question about history.
#[test]
fn code_question_finds_sessions_and_files() {
    let shop = Shop::new();
    let answer = shop.ask("Where does the redirect to another origin keep the cookie?");
    let found: Vec<String> = answer.findings.iter().map(|finding| name(&finding.place)).collect();
    assert_eq!(found, [REDIRECT]);
    let score = answer.findings[0].score;
    assert!((0.3..=0.6).contains(&score), "{score}");
    let files: Vec<_> = answer.files.iter().map(|file| (file.path.as_str(), file.edited)).collect();
    let expected = [
        ("packages/web/src/config.ts", false),
        ("packages/web/src/redirect.ts", true),
        ("packages/web/src/app.ts", true),
        ("README.md", true),
    ];
    assert_eq!(files, expected, "the refused edit of cors.rs is not one of them");
    assert!(answer.files.iter().all(|file| file.session.as_deref() == Some("Fix cross-origin redirect")));
}

#[test]
fn reasons_are_readable() {
    let shop = Shop::new();
    for (question, why) in [
        (
            "What did Claude change in packages/web yesterday?",
            "edited `packages/web/src/redirect.ts` yesterday; 1 more file",
        ),
        ("which session broke the build?", "`cargo build` exited with 101 on 2026-11-11"),
        ("what was left open in the pairing work?", "2 tasks left open on Friday; prompt mentions `pairing`"),
        ("why did we drop Redis?", "prompt on Thursday; prompt mentions `drop`, `redis`"),
    ] {
        assert_eq!(shop.ask(question).findings[0].why, why, "{question}");
    }
}

/// Regression: line ids repeat in every session, so all sessions but the oldest counted as copies.
#[test]
fn day_question_lists_every_session() {
    let shop = Shop::new();
    let root = shop.base.join("shop");
    for (page, at) in [(1, "2026-11-17T20:00:00Z"), (2, "2026-11-17T08:00:00Z"), (3, "2026-11-16T08:00:00Z")]
    {
        let id = format!("c1a0de00-0000-4000-8000-{:012}", 900 + page);
        let line = |uuid: &str, kind: &str, content: Value| {
            let message = json!({"role": kind, "content": content});
            json!({"type": kind, "uuid": uuid, "sessionId": id, "cwd": root, "timestamp": at, "message": message})
                .to_string()
        };
        let input = json!({"file_path": root.join(format!("web/page{page}.ts")), "old_string": "a", "new_string": "b"});
        let edit = json!([{"type": "tool_use", "id": "t1", "name": "Edit", "input": input}]);
        let done = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]);
        let log = [
            line("u1", "user", "Improve it".into()),
            line("a1", "assistant", edit),
            line("u2", "user", done),
        ];
        let path = shop.base.join(format!("claude/projects/-w/{id}.jsonl"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, log.join("\n") + "\n").unwrap();
    }
    let found = shop.ask("What did Claude change in web/ yesterday?").findings;
    let whys = found.iter().map(|finding| finding.why.as_str()).filter(|why| why.contains("page"));
    assert_eq!(
        whys.collect::<Vec<_>>(),
        ["edited `web/page1.ts` yesterday", "edited `web/page2.ts` yesterday"]
    );
}

#[test]
fn cancelled_search_is_marked_truncated() {
    let shop = Shop::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let budget = Budget::within(Duration::from_secs(60), &cancel);
    let now: Zoned = NOW.parse().unwrap();
    let answer = recall("why did we drop Redis?", &shop.base.join("shop"), &shop.history, &now, &budget);
    assert_eq!((answer.findings.len(), answer.truncated), (0, true));
}

#[test]
fn recall_finds_middle_of_long_log() {
    let write = || {
        let shop = Shop::new();
        let prompts = ["Start", "Rotate the zeppelin keys because they leaked", "Go on", "Thanks"];
        shop.write_long(30, &prompts, 3_000_000);
        shop
    };
    for (shop, way) in [(write(), "whole logs"), (write().indexed(), "index")] {
        let findings = shop.ask("Why did we rotate the zeppelin keys?").findings;
        let found: Vec<_> = findings.iter().map(|finding| (name(&finding.place), finding.start)).collect();
        assert_eq!(found, [("claude 30".to_owned(), 32)], "{way}");
        assert!(findings[0].excerpt.contains("because they leaked"), "{way}: {}", findings[0].excerpt);
    }
}

#[test]
fn recall_finds_lines_after_indexed_ones() {
    let shop = Shop::new();
    shop.write_long(30, &["Start"], 0);
    let shop = shop.indexed();
    shop.write_long(30, &["Start", "Rotate the zeppelin keys"], 0);
    let found = shop.ask("When did we rotate the zeppelin keys?").findings;
    assert_eq!(found.iter().map(|it| name(&it.place)).collect::<Vec<_>>(), ["claude 30"]);
}

#[test]
fn recall_skips_sessions_excluded_after_indexing() {
    let shop = Shop::new().indexed();
    assert!(!shop.ask("why did we drop Redis?").findings.is_empty());
    let agents = vec![Provider::ClaudeCode];
    shop.history.exclude(ExcludedSessions { agents, ..ExcludedSessions::default() });
    assert_eq!(shop.ask("why did we drop Redis?").findings, []);
}

fn check(rows: &[Row]) {
    check_in(&Shop::new(), rows);
    check_in(&Shop::new().indexed(), rows);
}

fn check_in(shop: &Shop, rows: &[Row]) {
    let mut wrong = String::new();
    for (question, sessions, line, holds) in rows {
        let answer = shop.ask(question);
        let found: Vec<String> = answer.findings.iter().map(|finding| name(&finding.place)).collect();
        let first = answer.findings.first();
        let right = found.len() >= sessions.len()
            && found.iter().zip(*sessions).all(|(found, expected)| found == expected)
            && first.is_none_or(|first| {
                first.start == *line && holds.iter().all(|text| first.excerpt.contains(text))
            });
        if !right {
            wrong.push_str(&format!("{question}\n  expected {sessions:?} line {line} {holds:?}\n"));
            for finding in &answer.findings {
                wrong.push_str(&format!(
                    "  {} {:.2} line {} ({}) {}\n    {}\n",
                    name(&finding.place),
                    finding.score,
                    finding.start,
                    finding.symbol.as_deref().unwrap_or_default(),
                    finding.why,
                    finding.excerpt.replace('\n', "\n    ")
                ));
            }
        }
        for hidden in ["codex 9", "codex 13"] {
            assert!(!found.iter().any(|found| found == hidden), "{question} finds {hidden}");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
