//! Realistic questions with the expected place, on small trees of several kinds.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use openagents_core::{CancellationToken, budget::Budget, update::Findings, workspace::Workspace};
use openagents_search::find::{Sources, TIME, find};
use openagents_transcripts::history::History;
use std::path::Path;

/// Paths and texts.
pub(crate) type Files = [(&'static str, &'static str)];

pub(crate) fn tree(files: &Files) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

pub(crate) fn ask(folder: &Path, question: &str) -> Findings {
    let workspace = Workspace::open_for(folder, None).unwrap();
    let sources = Sources { workspace: &workspace, history: None };
    find(&sources, question, &Budget::within(TIME, &CancellationToken::new()))
}

/// A client library: redirects and proxies, with a manual and tests that contain the same words.
const CLIENT: &Files = &[
    ("README.md", "# fetchit\n\nAn HTTP client. It follows redirects and respects proxy settings.\n"),
    (
        "CHANGELOG.md",
        "## 0.2\n- Redirects are followed.\n- Redirects keep the method.\n- Proxy from the environment.\n",
    ),
    (
        "src/redirect.rs",
        "//! Following responses that point elsewhere.\n\n/// How many hops are allowed.\npub struct Policy {\n    limit: usize,\n}\n\n\
         impl Policy {\n    /// Decides about the next hop.\n    pub fn redirect(&self, attempt: Attempt) -> Action {\n        \
         if attempt.previous.len() > self.limit {\n            return Action::TooManyRedirects;\n        }\n        Action::Follow\n    }\n}\n",
    ),
    (
        "src/proxy.rs",
        "/// A proxy for some of the requests.\npub struct Proxy {\n    intercept: Intercept,\n}\n\nimpl Proxy {\n    \
         /// Returns the proxy to use for an address, if one matches.\n    pub fn choose(&self, url: &Url) -> Option<ProxyScheme> {\n        \
         if self.no_proxy.contains(url.host()) {\n            return None;\n        }\n        self.intercept.custom(url)\n    }\n}\n",
    ),
    (
        "src/request.rs",
        "/// A request.\npub struct Request {\n    url: Url,\n}\n\nimpl Request {\n    pub fn url(&self) -> &Url {\n        &self.url\n    }\n}\n",
    ),
    (
        "src/auth/login.rs",
        "/// Signs a person in with a password.\npub fn login(user: &str, password: &str) -> Session {\n    authenticate(user, password)\n}\n",
    ),
    (
        "tests/redirect.rs",
        "#[test]\nfn redirects_are_followed() {\n    // redirects redirects followed\n    follow_redirects();\n}\n",
    ),
];

const SERVER: &Files = &[
    (
        "lib/router.js",
        "class Router {\n  add(method, path, handler) {\n    this.routes.push({ method, path, handler });\n  }\n\n  \
      match(method, path) {\n    for (const route of this.routes) {\n      if (matchPath(route.path, path)) return route;\n    }\n  }\n}\n\nmodule.exports = Router;\n",
    ),
    ("lib/response.js", "class Response {\n  send(body) {\n    this.body = body;\n  }\n}\n"),
    ("lib/start.js", "function start(port) {\n  // Fails when the port is in use.\n  listen(port);\n}\n"),
    ("examples/matching.js", "// matching matching matching\nconst done = true;\n"),
];

/// A project like this one.
const COMPANION: &Files = &[
    ("PLAN.md", "# Plan\n\n- [ ] Parser\n- [x] Store\n"),
    (
        "src/history/codex/rollout.rs",
        "/// Parses one line of a Codex rollout.\npub fn parse_rollout(line: &str) -> Option<Record> {\n    serde_json::from_str(line).ok()\n}\n",
    ),
    (
        "src/history/claude.rs",
        "/// Reads a transcript of Claude Code.\npub fn read(line: &str) -> Option<Record> {\n    None\n}\n",
    ),
    (
        "src/rewind.rs",
        "/// Goes back to an earlier state.\npub fn rewind(to: Time) -> Checkpoint {\n    choose_checkpoint(to)\n}\n\n\
      /// Takes the last checkpoint before a time.\nfn choose_checkpoint(to: Time) -> Checkpoint {\n    checkpoints().filter(|point| point.at <= to).last()\n}\n",
    ),
    (
        "src/net.rs",
        "pub fn connect() {\n    // TODO: retry with a backoff\n}\n\npub fn close() {\n    // TODO: wait for the peer\n}\n",
    ),
    ("src/main.rs", "fn main() {\n    // TODO: arguments\n}\n"),
];

#[test]
fn first_finding_answers_question() {
    let rows: [(&Files, &str, &str, u64); 11] = [
        (CLIENT, "Where are redirects followed?", "src/redirect.rs", 10),
        (CLIENT, "How does it decide which proxy to use?", "src/proxy.rs", 8),
        (SERVER, "Where is the router matching done?", "lib/router.js", 6),
        (SERVER, "Why doesn't it start?", "lib/start.js", 1),
        (CLIENT, "Wie funktioniert die Anmeldung?", "src/auth/login.rs", 2),
        (CLIENT, "認証はどこで処理されますか？", "src/auth/login.rs", 2),
        (COMPANION, "Where do we parse Codex rollouts?", "src/history/codex/rollout.rs", 2),
        (COMPANION, "PLAN.md に沿って `parse_rollout` を直して [ ]", "src/history/codex/rollout.rs", 2),
        (COMPANION, "How does rewind decide which checkpoint to use?", "src/rewind.rs", 2),
        (COMPANION, "Which TODOs are open in src/net.rs?", "src/net.rs", 6),
        (COMPANION, "Show the open TODOs in src/net.rs", "src/net.rs", 6),
    ];
    for (files, question, path, line) in rows {
        let folder = tree(files);
        let found = ask(folder.path(), question);
        let Some(first) = found.findings.first() else { panic!("nothing for {question}") };
        assert_eq!(first.path(), Some(path), "{question}: {}", found.message(question));
        assert!((first.start..=first.end).contains(&line), "{question}: {}", first.citation());
        let shown: Vec<u64> = first.numbered().map(|(number, _)| number).collect();
        assert!(shown.contains(&line), "{question}: {shown:?}");
        assert!(!first.why.is_empty() && first.score == 1.0, "{question}");
    }
}

#[test]
fn unanswerable_question_has_no_finding() {
    let folder = tree(CLIENT);
    for question in ["Where is the kubernetes operator?", "¿?", "", "where is it?"] {
        let found = ask(folder.path(), question);
        assert!(found.findings.is_empty(), "{question}: {}", found.message(question));
        assert!(found.hint.is_some(), "{question}");
    }
}

/// Regression: "Where is the kubernetes operator?" found "operations" without a note.
#[test]
fn near_match_names_missing_word() {
    let folder = tree(&[("src/ops.rs", "/// Operations on the queue.\npub fn operation() {}\n")]);
    let found = ask(folder.path(), "Where is the kubernetes operator?");
    assert_eq!(found.missing, ["kubernetes"]);
    assert!(
        found.message("?").starts_with("**Found:** no file mentions “kubernetes”; closest:"),
        "{found:?}"
    );
    assert_eq!(ask(folder.path(), "Where are queue operations?").missing, [""; 0]);
}

/// Regression: this question has no word that code could contain and found nothing.
#[test]
fn project_question_finds_readme() {
    let folder = tree(CLIENT);
    let found = ask(folder.path(), "What does this project do?");
    assert_eq!(found.findings[0].citation(), "README.md:3");
    assert_eq!(
        found.findings[0].excerpt,
        "An HTTP client. It follows redirects and respects proxy settings."
    );
    let short = tree(&[("README.md", "# Proj\n\nA small project.\n")]);
    let lead = ask(short.path(), "What does this project do?").lead;
    assert_eq!(lead.as_deref(), Some("A small project. (`README.md:3`)"));
    let bare = tree(&[("a.rs", "fn a() {}\n"), ("README.md", "\n")]);
    assert!(ask(bare.path(), "What does this project do?").hint.is_some());
}

#[test]
fn test_question_ranks_tests_first() {
    let folder = tree(CLIENT);
    let found = ask(folder.path(), "Which test checks that redirects are followed?");
    assert_eq!(found.findings[0].path(), Some("tests/redirect.rs"), "{}", found.message("?"));
}

/// Files edited since the last commit rank slightly higher; after a clone, when all files are newer, none do.
#[test]
fn recent_edit_breaks_ties() {
    const LINE: &str = "0 1 Ada <a@b.c> 1 +0000\tcommit: x\n";
    let same = "fn redirect() {}\n";
    let folder = tree(&[("a.rs", same), ("b.rs", same), (".git/HEAD", "ref: refs/heads/main\n")]);
    let log = folder.path().join(".git/logs/HEAD");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    let set = |path: &Path, seconds: u64| {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000 + seconds);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    };
    set(&folder.path().join("a.rs"), 1);
    set(&folder.path().join("b.rs"), 3);
    for (log_text, first, edited) in [(LINE.to_owned(), "a.rs", 0), (LINE.repeat(2), "b.rs", 1)] {
        std::fs::write(&log, log_text).unwrap();
        set(&log, 2);
        let found = ask(folder.path(), "Where is the redirect?").findings;
        assert_eq!(found[0].path(), Some(first));
        let says =
            found.iter().filter(|finding| finding.why.ends_with("written since the last commit or checkout"));
        assert_eq!(says.count(), edited);
    }
}

#[test]
fn ignored_hidden_and_binary_files_are_skipped() {
    let one_line = "redirect ".repeat(300_000);
    let folder = tree(&[
        (".gitignore", "secret/\n"),
        ("secret/redirect.rs", "fn redirect() {}\n"),
        (".hidden.rs", "fn redirect() {}\n"),
        ("a.bin", "redirect\0redirect"),
        ("one_line.json", ""),
        ("latin.rs", "fn redirect() {}\n"),
    ]);
    std::fs::write(folder.path().join("one_line.json"), one_line).unwrap();
    std::fs::write(folder.path().join("latin.rs"), b"// caf\xe9\nfn redirect() {}\n").unwrap();
    let found = ask(folder.path(), "Where is the redirect?");
    let paths: Vec<_> = found.findings.iter().filter_map(|finding| finding.path()).collect();
    assert_eq!(paths, ["latin.rs", "one_line.json"]);
    assert!(!found.truncated, "a large file is read whole");
    assert!(
        found
            .findings
            .iter()
            .all(|finding| finding.excerpt.len() <= openagents_core::update::Finding::EXCERPT_BYTES)
    );
}

#[test]
fn cancelled_question_returns_partial_findings() {
    let folder = tree(CLIENT);
    let workspace = Workspace::open_for(folder.path(), None).unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let found =
        find(&Sources { workspace: &workspace, history: None }, "redirects", &Budget::within(TIME, &cancel));
    assert!(found.findings.is_empty() && found.truncated);
}

#[test]
fn byte_order_mark_is_decoded_and_hidden() {
    let folder = tree(&[("src/token.py", "\u{feff}def load_token():\n    return 'deployment token'\n")]);
    let script = "function Update-DeploymentToken {\r\n    Write-Output 'rotated'\r\n}\r\n";
    let utf16 = |mark: [u8; 2], bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        mark.into_iter().chain(script.encode_utf16().flat_map(bytes)).collect()
    };
    std::fs::write(folder.path().join("little.ps1"), utf16([0xff, 0xfe], u16::to_le_bytes)).unwrap();
    std::fs::write(folder.path().join("big.ps1"), utf16([0xfe, 0xff], u16::to_be_bytes)).unwrap();
    let found = ask(folder.path(), "Update-DeploymentToken");
    for path in ["little.ps1", "big.ps1", "src/token.py"] {
        let finding = found.findings.iter().find(|finding| finding.path() == Some(path));
        let finding = finding.unwrap_or_else(|| panic!("{path} is not found: {found:?}"));
        assert!(!finding.excerpt.contains(['\u{feff}', '\0']), "{path}: {:?}", finding.excerpt);
    }
}

#[test]
fn history_words_are_not_reported_missing() {
    let folder = tree(&[("web/page.ts", "let page = 1;\n")]);
    let workspace = Workspace::open_for(folder.path(), None).unwrap();
    let history = History::empty();
    let ask = |question: &str| {
        let sources = Sources { workspace: &workspace, history: Some(&history) };
        find(&sources, question, &Budget::within(TIME, &CancellationToken::new())).missing
    };
    assert_eq!(ask("What did Codex change in web yesterday?"), [""; 0]);
    assert_eq!(ask("Where is the kubernetes page?"), ["kubernetes"]);
}

#[test]
fn copies_rank_below_original() {
    let text = "def charge(card):\n    # retries are handled here\n    return retry(card)\n\n\ndef refund(card):\n    return undo(card)\n";
    let same = [
        "backup/src/pay.py",
        "vendor/shop/src/pay.py",
        "feature/src/pay.py",
        "src/pay_old.py",
        "third_party/pay.py",
    ];
    let near = ["shop.worktrees/live/src/pay.py", "old/pay.py", "a/src/pay.py"];
    let files: Vec<(&str, String)> = [("src/pay.py", text)]
        .into_iter()
        .chain(same.map(|path| (path, text)))
        .map(|(path, text)| (path, text.to_owned()))
        .chain(
            near.into_iter()
                .zip(["cancel(", "revoke(", "reverse("])
                .map(|(path, call)| (path, text.replace("undo(", call))),
        )
        .chain([("feature/.git", "gitdir: /w/.git/worktrees/feature\n".to_owned())])
        .chain([("new/src/pay.py", "def capture(card):\n    return hold(card)\n".to_owned())])
        .collect();
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let found = ask(folder.path(), "where are card retries handled?").findings;
    let paths: Vec<&str> = found.iter().filter_map(|finding| finding.path()).collect();
    assert_eq!(paths.first(), Some(&"src/pay.py"), "{paths:?}");
    assert!(same.iter().all(|copy| !paths.contains(copy)), "{paths:?}");
    assert!(near.iter().all(|copy| paths.contains(copy)), "{paths:?}");
    assert!(found[0].why.contains("; same text in "), "{}", found[0].why);
    // Text that only a copy has is found there.
    let only = ask(folder.path(), "where is revoke called?").findings;
    assert_eq!(only[0].path(), Some(near[1]), "{only:?}");
    let named = ask(folder.path(), "card retries in backup").findings;
    assert!(named.iter().any(|finding| finding.path() == Some("backup/src/pay.py")), "{named:?}");
}

/// A project with a README, a guide, CI, tasks and a manifest; its code has the words of newcomers' questions as well.
const PROJECT: &Files = &[
    (
        "README.md",
        "# Heron\n\nHeron watches folders and mirrors them to a server.\n\n## Installing\n\n```sh\ncargo install heron\n```\n\n\
         ## Building\n\n```sh\ncargo build --release\n```\n",
    ),
    (
        "CONTRIBUTING.md",
        "# Contributing\n\n## Tests\n\nRun them all, with the slow ones:\n\n```sh\ncargo test --workspace -- --include-ignored\n```\n",
    ),
    (
        ".github/workflows/ci.yml",
        "jobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: cargo fmt --check\n      - run: cargo clippy -- -D warnings\n",
    ),
    (
        "Cargo.toml",
        "[package]\nname = \"heron\"\nversion = \"0.4.2\"\nrust-version = \"1.85\"\nlicense = \"MIT\"\n\n[dependencies]\nnotify = \"8\"\n",
    ),
    (
        "src/main.rs",
        "//! Command line.\n\nmod mirror;\nmod options;\n\nfn main() {\n    mirror::run_tests(options::parse());\n}\n",
    ),
    (
        "src/mirror.rs",
        "//! Copies changed files to the server.\n\nuse crate::options::Options;\n\npub fn run_tests(build: Options) {}\n",
    ),
    (
        "src/options.rs",
        "//! The options with their defaults.\n\npub struct Options;\n\npub fn parse() -> Options {\n    Options\n}\n",
    ),
];

#[test]
fn newcomers_question_is_answered_with_evidence() {
    let folder = tree(PROJECT);
    for (question, lead, place) in [
        ("What does this project do?", "mirrors them to a server", "README.md"),
        ("How do I build it?", "`cargo build --release`", "README.md"),
        ("How do I run all the tests?", "`cargo test --workspace -- --include-ignored`", "CONTRIBUTING.md"),
        ("Wie führe ich die Tests aus?", "`cargo test --workspace -- --include-ignored`", "CONTRIBUTING.md"),
        ("怎么运行测试？", "`cargo test --workspace -- --include-ignored`", "CONTRIBUTING.md"),
        (
            "Is the formatting checked, and with which command?",
            "`cargo fmt --check`",
            ".github/workflows/ci.yml",
        ),
        ("Which Rust version do I need?", "rust-version = \"1.85\"", "Cargo.toml"),
        ("Where does the program start?", "`main` (`src/main.rs", "src/main.rs"),
        ("Which file do most of the others import?", "`src/options.rs`: imported by", "src/options.rs"),
        (
            "Where are the options with their defaults?",
            "`src/options.rs`: The options with their defaults.",
            "src/options.rs",
        ),
        ("Which dependencies does it need?", "`notify`", "Cargo.toml"),
        ("Under which licence is it?", "license = \"MIT\"", "Cargo.toml"),
    ] {
        let found = ask(folder.path(), question);
        let said = found.lead.as_deref().unwrap_or_default();
        assert!(said.contains(lead), "{question}: {said}");
        assert_eq!(found.findings.first().and_then(|first| first.path()), Some(place), "{question}");
        assert!(!question.contains("build") || !said.contains("cargo install heron"), "{question}: {said}");
    }
}
