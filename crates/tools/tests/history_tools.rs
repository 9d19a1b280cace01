//! The four session tools, on transcripts written by the tests.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use openagents_core::{CancellationToken, budget::Progress, workspace::Workspace};
use openagents_tools::{
    builtin,
    tool::{Limits, ToolContext, ToolError, ToolOutput, unchanged},
};
use openagents_transcripts::history::{History, HistoryRoots, MemoryListingCache, Provider};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, UNIX_EPOCH},
};

/// 2026-11-01T00:00:00Z, in seconds.
const BASE: u64 = 1_793_491_200;

/// A workspace with transcripts of two agents.
struct Bench {
    keep: tempfile::TempDir,
    workspace: Workspace,
    history: History,
    limits: Limits,
    cancel: CancellationToken,
    progress: Heard,
}

#[derive(Default)]
struct Heard(Mutex<Vec<(u64, u64)>>);

impl Progress for Heard {
    fn report(&self, done: u64, total: u64) {
        self.0.lock().unwrap().push((done, total));
    }
}

impl Bench {
    fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let base = keep.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("proj/src")).unwrap();
        fs::create_dir_all(base.join("elsewhere")).unwrap();
        fs::write(base.join("proj/README.md"), "# Proj\n").unwrap();
        let roots = HistoryRoots::default()
            .with(Provider::Codex, base.join("codex"))
            .with(Provider::ClaudeCode, base.join("claude"));
        Self {
            workspace: Workspace::open(&base.join("proj")).unwrap(),
            history: History::new(roots, Arc::new(MemoryListingCache::default())),
            limits: Limits::default(),
            cancel: CancellationToken::new(),
            progress: Heard::default(),
            keep,
        }
    }

    fn base(&self) -> PathBuf {
        self.keep.path().canonicalize().unwrap()
    }

    fn root(&self) -> String {
        self.workspace.root().to_str().unwrap().to_owned()
    }

    fn write(&self, path: &Path, lines: &[Value], minute: u64) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(path, text).unwrap();
        let time = UNIX_EPOCH + Duration::from_secs(BASE + minute * 60);
        fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }

    /// Writes a Claude Code session in `cwd`; a text becomes a prompt, other values are used as lines.
    fn claude(&self, number: u32, minute: u64, cwd: &str, lines: &[Value]) -> String {
        let id = format!("c1a0de00-0000-4000-8000-{number:012}");
        let lines: Vec<Value> =
            lines.iter().enumerate().map(|(at, line)| self.claude_line(&id, at, cwd, line)).collect();
        self.write(&self.base().join(format!("claude/projects/-p/{id}.jsonl")), &lines, minute);
        id
    }

    fn claude_line(&self, id: &str, at: usize, cwd: &str, line: &Value) -> Value {
        // A session with a higher number is newer.
        let minute = id.rsplit('-').next().and_then(|number| number.parse::<u32>().ok()).unwrap_or(0);
        let mut full = json!({"sessionId": id, "cwd": cwd, "uuid": format!("{id}-{at}"),
            "timestamp": format!("2026-11-01T00:{minute:02}:01.000Z"), "type": "user"});
        match line {
            Value::Object(fields) => full.as_object_mut().unwrap().extend(fields.clone()),
            text => full["message"] = json!({"role": "user", "content": text}),
        }
        full
    }

    fn codex(&self, number: u32, minute: u64, cwd: &str, lines: &[Value]) -> String {
        let id = format!("0c0de000-0000-7000-8000-{number:012}");
        let at = format!("2026-11-01T00:{number:02}:01.000Z");
        let mut all = vec![json!({"timestamp": at, "type": "session_meta",
            "payload": {"id": id, "cwd": cwd, "source": "cli"}})];
        all.extend(lines.iter().map(|line| match line {
            Value::String(text) => json!({"timestamp": at, "type": "event_msg",
                "payload": {"type": "user_message", "message": text}}),
            line => line.clone(),
        }));
        let name = format!("codex/sessions/2026/11/01/rollout-2026-11-01T00-00-00-{id}.jsonl");
        self.write(&self.base().join(name), &all, minute);
        id
    }

    fn context(&self) -> ToolContext<'_> {
        ToolContext {
            workspace: &self.workspace,
            history: &self.history,
            limits: &self.limits,
            cancel: &self.cancel,
            progress: &self.progress,
            rewrite: unchanged,
        }
    }

    fn call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        builtin::registry().call(name, &self.context(), arguments)
    }

    fn value(&self, name: &str, arguments: Value) -> Value {
        let output = self.call(name, arguments).unwrap();
        // Snapshots must not contain paths of this machine.
        let text = output.to_json().to_string().replace(self.base().to_str().unwrap(), "/base");
        serde_json::from_str(&text).unwrap()
    }
}

fn tool(name: &str, input: Value) -> Value {
    json!({"type": "assistant", "message": {"role": "assistant", "content": [
        {"type": "tool_use", "id": "t", "name": name, "input": input}]}})
}

fn answer(text: &str) -> Value {
    json!({"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}})
}

fn result(text: &str) -> Value {
    json!({"message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": text}]}})
}

/// Two sessions in the workspace, one elsewhere.
fn furnished() -> Bench {
    let bench = Bench::new();
    let root = bench.root();
    bench.codex(
        1,
        1,
        &format!("{root}/src"),
        &[
            json!("Fix the login redirect"),
            json!({"timestamp": "2026-11-01T00:00:02.000Z", "type": "response_item", "payload": {
                "type": "reasoning", "summary": [], "encrypted_content": "loginciphertext"}}),
            json!({"timestamp": "2026-11-01T00:00:03.000Z", "type": "response_item", "payload": {
                "type": "custom_tool_call", "name": "apply_patch",
                "input": "*** Begin Patch\n*** Update File: login.rs\n@@\n-a\n+b\n*** End Patch"}}),
            json!({"timestamp": "2026-11-01T00:00:04.000Z", "type": "event_msg", "payload": {
                "type": "agent_message", "message": "First\nThe login works\nLast"}}),
        ],
    );
    bench.claude(
        2,
        2,
        &root,
        &[
            json!(format!("Fix the login redirect for expired sessions in {root}/src/login.rs")),
            tool("Read", json!({"file_path": format!("{root}/README.md")})),
            tool(
                "Edit",
                json!({"file_path": format!("{root}/src/login.rs"), "old_string": "a", "new_string": "b"}),
            ),
            result("edited"),
            answer("Done."),
            json!("Now the tests"),
            tool("Bash", json!({"command": "cargo test"})),
        ],
    );
    let elsewhere = bench.base().join("elsewhere");
    bench.claude(3, 3, elsewhere.to_str().unwrap(), &[json!("Login elsewhere")]);
    bench
}

#[test]
fn list_shows_rows_newest_first() {
    let bench = furnished();
    insta::assert_json_snapshot!("list", bench.value("session.list", json!({})));
    let here = bench.value("session.list", json!({"workspaceOnly": true, "top_k": 1}));
    assert_eq!(here["sessions"][0]["id"], "c1a0de00-0000-4000-8000-000000000002");
    assert_eq!((&here["total_count"], &here["truncated"]), (&json!(2), &json!(true)));
    let codex = bench.value("session.list", json!({"provider": "codex"}));
    assert_eq!(codex["total_count"], 1);
    let since = bench.value("session.list", json!({"since": (BASE + 120) * 1000}));
    assert_eq!(since["total_count"], 2);
    let unknown = bench.value("session.list", json!({"provider": "unknown"}));
    assert_eq!(unknown, json!({"sessions": [], "truncated": false, "total_count": 0}));
    let many = bench.value("session.list", json!({"topK": 100_000}));
    assert_eq!(many["total_count"], 3);
}

#[test]
fn search_skips_ciphertext() {
    let bench = furnished();
    insta::assert_json_snapshot!(
        "search",
        bench.value("session.search", json!({"pattern": "LOGIN", "contextLines": 1}))
    );
    let total =
        |pattern: &str| bench.value("session.search", json!({"pattern": pattern}))["totalMatches"].clone();
    assert_eq!(total("ciphertext"), 0);
    assert_eq!(total("encrypted_content|tool_use"), 0, "keys are no text");
    assert_eq!(total(r"^the login works$"), 1);
    assert_eq!(total(r"\blast\b"), 1);
    assert_eq!(total("cargo test"), 1);
    assert_eq!(total("apply_patch"), 1, "names of tools");
    let heard = bench.progress.0.lock().unwrap();
    assert_eq!(heard[..3], [(1, 3), (2, 3), (3, 3)]);
}

#[test]
fn search_respects_caps() {
    let mut bench = Bench::new();
    let root = bench.root();
    for number in 0..5 {
        let prompts: Vec<Value> = (0..10).map(|turn| json!(format!("needle {number} {turn}"))).collect();
        bench.claude(number, u64::from(number), &root, &prompts);
    }
    let found = bench
        .call("session.search", json!({"pattern": "needle", "max_results": 7, "contextLines": 0}))
        .unwrap();
    let lines: Vec<_> =
        found.to_json()["matches"].as_array().unwrap().iter().map(|m| m["line"].clone()).collect();
    assert_eq!(lines, (0..7).map(|turn| json!(format!("needle 4 {turn}"))).collect::<Vec<_>>());
    assert_eq!((found.to_json()["totalMatches"].clone(), found.cut.truncated), (json!(50), true));

    let ids = json!(["c1a0de00-0000-4000-8000-000000000001"]);
    let one = bench.call("session.search", json!({"pattern": "needle", "sessionIds": ids})).unwrap();
    assert_eq!((one.to_json()["totalMatches"].clone(), one.cut.truncated), (json!(10), false));

    // The first 100 bytes of each transcript contain no complete line.
    bench.limits.search_file_bytes = 100;
    let none = bench.call("session.search", json!({"pattern": "needle"})).unwrap();
    assert_eq!((none.to_json()["totalMatches"].clone(), none.cut.truncated), (json!(0), true));
    // Two transcripts of 2 KB fit.
    bench.limits.search_file_bytes = 8 << 20;
    let size = fs::metadata(
        bench.base().join(format!("claude/projects/-p/{}.jsonl", "c1a0de00-0000-4000-8000-000000000000")),
    );
    bench.limits.search_total_bytes = size.unwrap().len() * 2 + 10;
    let some = bench.call("session.search", json!({"pattern": "needle"})).unwrap();
    assert_eq!((some.to_json()["totalMatches"].clone(), some.cut.truncated), (json!(20), true));
}

#[test]
fn search_rejects_bad_pattern() {
    let bench = Bench::new();
    let error = bench.call("session.search", json!({"pattern": "a("})).unwrap_err();
    assert_eq!(error.to_string(), "Invalid parameters: Invalid regex pattern: a(: unclosed group");
    let error = bench.call("session.search", json!({"pattern": ""})).unwrap_err();
    assert_eq!(error.to_string(), "Invalid parameters: pattern is empty");
}

#[test]
fn read_lists_events() {
    let bench = furnished();
    insta::assert_json_snapshot!(
        "read_codex",
        bench.value("session.read", json!({"sessionId": "0c0de000-0000-7000-8000-000000000001"}))
    );
    let id = "c1a0de00-0000-4000-8000-000000000002";
    insta::assert_json_snapshot!(
        "read_claude",
        bench.value("session.read", json!({"session_id": id, "provider": "claude-code"}))
    );
    let part =
        bench.value("session.read", json!({"sessionId": id, "startLine": 3, "endLine": 5, "maxEvents": 2}));
    let lines: Vec<_> =
        part["events"].as_array().unwrap().iter().map(|event| event["lineNumber"].clone()).collect();
    assert_eq!(
        (lines, &part["totalEvents"], &part["truncated"]),
        (vec![json!(3), json!(4)], &json!(3), &json!(true))
    );
}

#[test]
fn read_respects_caps_and_names_errors() {
    let mut bench = Bench::new();
    let root = bench.root();
    let id = bench.claude(
        1,
        1,
        &root,
        &[json!("one"), json!("x".repeat(300 << 10)), json!("three"), json!("y ".repeat(450))],
    );
    let read = |bench: &Bench, arguments: Value| bench.call("session.read", arguments);
    let whole = read(&bench, json!({"sessionId": id})).unwrap();
    assert_eq!(
        (whole.to_json()["totalEvents"].clone(), whole.cut.omitted),
        (json!(3), 1),
        "a long line is passed over"
    );
    bench.limits.read_bytes = 600;
    let cut = read(&bench, json!({"sessionId": id})).unwrap();
    assert_eq!((cut.to_json()["totalEvents"].clone(), cut.cut.truncated), (json!(1), true));

    let error = |arguments: Value| read(&bench, arguments).unwrap_err().to_string();
    assert_eq!(error(json!({"sessionId": "unknown-session"})), "File not found: session unknown-session");
    assert_eq!(error(json!({"sessionId": id, "startLine": 0})), "Invalid parameters: Invalid line range: 0-");
    assert_eq!(
        error(json!({"sessionId": id, "startLine": 5, "endLine": 4})),
        "Invalid parameters: Invalid line range: 5-4"
    );
    assert!(error(json!({})).starts_with("Invalid parameters: sessionId is missing"));
}

#[test]
fn limited_history_lists_only_its_workspace() {
    let mut bench = Bench::new();
    let (root, elsewhere) = (bench.root(), bench.base().join("elsewhere").to_str().unwrap().to_owned());
    let own = bench.claude(1, 1, &root, &[json!("The marimba is ours")]);
    let foreign = [
        bench.claude(2, 2, &elsewhere, &[json!("The marimba is secret")]),
        bench.codex(3, 3, &elsewhere, &[json!("The marimba is secret")]),
        bench.claude(4, 4, &format!("{root}/../elsewhere"), &[json!("The marimba is secret")]),
    ];
    bench.history = bench.history.of_workspace(bench.workspace.root());
    for history in [bench.history.snapshot(), bench.history.of_workspace(bench.workspace.root())] {
        bench.history = history;
        for arguments in [
            json!({"pattern": "marimba"}),
            json!({"pattern": "marimba", "sessionIds": [own, foreign[0], foreign[1], foreign[2]]}),
        ] {
            let found = bench.value("session.search", arguments);
            assert_eq!((&found["matches"][0]["sessionId"], &found["totalMatches"]), (&json!(own), &json!(1)));
        }
        let listed = bench.value("session.list", json!({}));
        assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{listed}");
        assert_eq!(bench.value("session.read", json!({"sessionId": own}))["totalEvents"], 1);
        for id in foreign.iter().flat_map(|id| [&id[..], &id[..35]]) {
            let read = bench.call("session.read", json!({"sessionId": id}));
            assert!(matches!(read, Err(ToolError::FileNotFound(_))), "{id}: {read:?}");
        }
    }
    // A transcript that was not read for lack of budget: its directory is unknown.
    bench.limits.read_time = Duration::ZERO;
    bench.history = History::new(
        HistoryRoots::default().with(Provider::ClaudeCode, bench.base().join("claude")),
        Arc::new(MemoryListingCache::default()),
    )
    .of_workspace(bench.workspace.root());
    assert!(bench.call("session.read", json!({"sessionId": foreign[0]})).is_err());
}

/// The same numbers in every run.
struct Dice(u64);

impl Dice {
    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        &from[usize::try_from(self.0 >> 33).unwrap() % from.len()]
    }
}

/// Two thousand calls of every `session.*` tool with arguments that aim at other workspaces.
#[test]
fn limited_history_rejects_other_sessions() {
    let mut bench = Bench::new();
    let root = bench.root();
    let elsewhere = bench.base().join("elsewhere").to_str().unwrap().to_owned();
    let edit = |path: &str| tool("Edit", json!({"file_path": path, "old_string": "a", "new_string": "b"}));
    let own = bench.claude(1, 1, &root, &[json!("Rotate the key OURS"), edit("src/ours.rs")]);
    let secret =
        |name: &str| [json!(format!("Deploy with SECRET-{name}")), edit(&format!("{name}/SECRET.rs"))];
    let foreign = [
        bench.claude(2, 2, &elsewhere, &secret("a")),
        bench.codex(3, 3, &elsewhere, &secret("b")),
        bench.claude(4, 4, &format!("{root}/../elsewhere"), &secret("c")),
        bench.claude(5, 5, &format!("{root}-too"), &secret("d")),
        bench.codex(6, 6, bench.base().to_str().unwrap(), &secret("e")),
        bench.claude(7, 7, "", &secret("f")),
        bench.codex(8, 8, "proj", &secret("g")),
        bench.codex(9, 9, ".", &secret("h")),
    ];
    let log = |id: &str| bench.base().join(format!("claude/projects/-p/{id}.jsonl"));
    let mut ids: Vec<String> = foreign.iter().flat_map(|id| [id.clone(), id[..35].to_owned()]).collect();
    ids.extend([own.clone(), log(&foreign[0]).display().to_string(), format!("../{}", foreign[0])]);
    ids.extend(["..", "/", "*", "", "c1a0de00", "0c0de000-0000", ".*"].map(str::to_owned));
    let patterns =
        ["SECRET", ".", "(?s).*", "Deploy with \\S+", "SECRET|OURS", "^", "\\w+", "(?i)secret-[a-h]"];
    let providers = [Value::Null, json!("codex"), json!("claude-code"), json!("all"), json!("x")];
    let roots = [elsewhere.clone(), "..".to_owned(), "/".to_owned(), bench.base().display().to_string()];
    bench.history = bench.history.of_workspace(bench.workspace.root());

    let (mut dice, mut ours, mut failed) = (Dice(11), 0, 0);
    for _ in 0..2_000 {
        let some = [dice.pick(&ids).clone(), dice.pick(&ids).clone(), dice.pick(&ids).clone()];
        let some = some[..*dice.pick(&[0, 1, 3])].to_vec();
        let arguments = json!({
            "pattern": dice.pick(&patterns), "provider": dice.pick(&providers), "sessionId": dice.pick(&ids),
            "sessionIds": dice.pick(&[json!(some), Value::Null]), "topK": 200, "maxResults": 200, "contextLines": 4,
            "workspaceOnly": dice.pick(&[false, true]), "workspace": dice.pick(&roots), "cwd": dice.pick(&roots),
            "root": dice.pick(&roots), "all": true, "startLine": dice.pick(&[json!(1), json!(2), Value::Null]),
            "since": 0, "metrics": dice.pick(&[json!([]), json!(["goals", "files"]), Value::Null]),
        });
        let name = *dice.pick(&["session.list", "session.search", "session.read", "session.analyze"]);
        let shown = match bench.call(name, arguments.clone()) {
            Ok(output) => output.to_json().to_string(),
            // An error repeats only the arguments.
            Err(error) => {
                failed += 1;
                assert!(matches!(error, ToolError::FileNotFound(_)), "{name} {arguments}: {error}");
                continue;
            }
        };
        // The answer to a search repeats its pattern.
        let shown = shown.replace(&arguments["pattern"].to_string(), "");
        assert!(!shown.contains("SECRET"), "{name} {arguments}: {shown}");
        assert!(foreign.iter().all(|id| !shown.contains(id.as_str())), "{name} {arguments}: {shown}");
        ours += usize::from(shown.contains("OURS"));
    }
    assert!(ours > 100 && failed > 100, "{ours} {failed}");
}

/// A transcript that another handle has found is not read either.
#[test]
fn limited_history_opens_no_other_transcript() {
    let bench = Bench::new();
    let elsewhere = bench.base().join("elsewhere").to_str().unwrap().to_owned();
    let id = bench.claude(2, 2, &elsewhere, &[json!("The marimba is secret")]);
    let budget = openagents_core::budget::Budget::within(Duration::from_secs(5), &bench.cancel);
    let found = bench.history.find(&id, None, &budget).unwrap();
    let read = |history: &History| {
        let mut events = 0;
        let read = history.read_transcript(&found, Default::default(), &budget, &mut |_| {
            events += 1;
            std::ops::ControlFlow::Continue(())
        });
        read.map(|_| events).map_err(|error| error.to_string())
    };
    assert_eq!(read(&bench.history), Ok(1));
    let limited = bench.history.of_workspace(bench.workspace.root());
    assert_eq!(read(&limited), Err(format!("session {id} did not run in this workspace")));
    assert!(
        read(&bench.history.of_workspace(Path::new(&elsewhere)).of_workspace(bench.workspace.root()))
            .is_err()
    );
}

#[test]
fn analyze_finds_user_intent() {
    let bench = furnished();
    insta::assert_json_snapshot!("analyze", bench.value("session.analyze", json!({})));
    assert_eq!(*bench.progress.0.lock().unwrap(), [(1, 2), (2, 2)]);
    let goals = bench.value("session.analyze", json!({"metrics": ["goals"], "provider": "codex"}));
    assert_eq!(goals["goalPatterns"], json!(["Fix the login redirect"]));
    assert_eq!(goals.get("fileFrequency"), None);
    let ids = json!(["c1a0de00-0000-4000-8000-000000000003"]);
    let elsewhere = bench.value("session.analyze", json!({"sessionIds": ids}));
    assert_eq!(elsewhere["goalPatterns"], json!(["Login elsewhere"]));
}

#[test]
fn analyze_ignores_foreign_and_hidden_intents() {
    let bench = furnished();
    let root = bench.root();
    let side = |number: u32| format!("c1a0de00-0000-4000-8000-{number:012}");
    let hidden =
        json!({"isSidechain": true, "message": {"role": "user", "content": "A task that no person typed"}});
    bench.claude(8, 8, &root, &[hidden, tool("Bash", json!({"command": "ls"}))]);
    let only = |ids: &[u32]| {
        let ids: Vec<String> = ids.iter().map(|id| side(*id)).collect();
        bench.value("session.analyze", json!({"sessionIds": ids}))
    };
    for id in [3, 8] {
        let value = only(&[id]);
        assert_eq!((value.get("userIntent"), value.get("evidence")), (None, None), "{id}");
    }
    let mixed = only(&[3, 8, 2, 2]);
    assert_eq!(mixed["toolFrequency"], json!({"Bash": 2, "Edit": 1, "Read": 1}));
    let places = mixed["evidence"].as_array().unwrap();
    assert_eq!(places.iter().map(|place| place["session_id"].clone()).collect::<Vec<_>>(), [side(2)]);
}

#[test]
fn analyze_orders_goals_newest_first() {
    let bench = Bench::new();
    let root = bench.root();
    let at = |minute: u32, text: &str| json!({"timestamp": format!("2026-11-01T00:{minute:02}:00.000Z"), "message": {"content": text}});
    bench.claude(
        1,
        30,
        &root,
        &[at(1, "First"), at(5, "Fifth"), at(4, "Fourth"), at(59, "Clock gone wrong")],
    );
    bench.claude(2, 20, &root, &[at(2, "Second"), at(3, "Third"), at(3, "Third and a half")]);
    let goals = bench.value("session.analyze", json!({}))["goalPatterns"].clone();
    let expected = ["Clock gone wrong", "Fifth", "Fourth", "Third and a half", "Third", "Second", "First"];
    assert_eq!(goals, json!(expected));
}

#[test]
fn analyze_keeps_latest_prompts_of_long_session() {
    let bench = Bench::new();
    let prompts: Vec<Value> = (0..500).map(|turn| json!(format!("Prompt {turn}"))).collect();
    bench.claude(1, 1, &bench.root(), &prompts);
    let value = bench.value("session.analyze", json!({}));
    assert_eq!(
        (&value["goalPatterns"][0], &value["goalPatterns"][1]),
        (&json!("Prompt 499"), &json!("Prompt 498"))
    );
    assert_eq!(value["userIntent"], "Prompt 0");
}

#[test]
fn analyze_ignores_summary_of_other_session() {
    let bench = Bench::new();
    let summary =
        json!({"type": "summary", "summary": "Deploy the payment service", "leafUuid": "elsewhere"});
    bench.claude(1, 1, &bench.root(), &[summary, json!("Fix the login redirect")]);
    assert_eq!(bench.value("session.analyze", json!({}))["userIntent"], "Fix the login redirect");
}

#[test]
fn search_matches_quote_by_class() {
    let bench = Bench::new();
    bench.claude(1, 1, &bench.root(), &[json!("please a\"b now")]);
    assert_eq!(bench.value("session.search", json!({"pattern": "a[!-0]b now"}))["totalMatches"], 1);
}

#[test]
fn analyze_prefers_titles_and_skips_hidden() {
    let bench = Bench::new();
    let root = bench.root();
    bench.claude(
        1,
        1,
        &root,
        &[
            json!("do it"),
            json!({"type": "summary", "summary": "Summed up"}),
            json!({"type": "ai-title", "aiTitle": "Cache the search index"}),
        ],
    );
    bench.claude(2, 2, &root, &[json!("continue")]);
    bench.codex(3, 3, &root, &[json!({"type": "session_meta", "payload": {}})]);
    let side =
        bench.claude_line("c1a0de00-0000-4000-8000-000000000004", 0, &root, &json!("A sub-agent's task"));
    bench.write(&bench.base().join("claude/projects/-p/agent-x.jsonl"), &[side], 4);
    let value = bench.value("session.analyze", json!({}));
    assert_eq!(value["userIntent"], "Cache the search index");
    assert_eq!(value["evidence"][0]["line"], 1);
    assert_eq!(value["goalPatterns"], json!(["continue", "do it"]));
}

#[test]
fn analyze_counts_copied_lines_once() {
    let bench = Bench::new();
    let root = bench.root();
    let lines =
        [json!("Write the importer"), tool("Write", json!({"file_path": format!("{root}/src/import.rs")}))];
    let first = bench.claude(1, 1, &root, &lines);
    // A resume in 1.x copies the lines into a new file, with their ids.
    let mut copied: Vec<Value> =
        lines.iter().enumerate().map(|(at, line)| bench.claude_line(&first, at, &root, line)).collect();
    copied.push(json!("Import dates too"));
    bench.claude(2, 2, &root, &copied);
    let value = bench.value("session.analyze", json!({}));
    assert_eq!(value["goalPatterns"], json!(["Import dates too", "Write the importer"]));
    assert_eq!(value["toolFrequency"], json!({"Write": 1}));
}

/// Regression: files that a session had only read appeared under "Most edited in past sessions".
#[test]
fn analyze_ignores_files_only_read() {
    let bench = Bench::new();
    let root = bench.root();
    let call = |name: &str, file: &str| tool(name, json!({"file_path": format!("{root}/{file}")}));
    bench.claude(1, 1, &root, &[json!("Look at the login"), call("Read", "src/login.rs")]);
    let files = |bench: &Bench| bench.value("session.analyze", json!({}))["fileFrequency"].clone();
    assert_eq!(files(&bench), json!({}));
    bench.claude(2, 2, &root, &[json!("Mend it"), call("Read", "src/login.rs"), call("Edit", "src/mend.rs")]);
    assert_eq!(files(&bench), json!({"src/mend.rs": 1}));
}

#[test]
fn analyze_without_sessions_has_no_intent() {
    let bench = Bench::new();
    assert_eq!(bench.value("session.analyze", json!({"metrics": ["goals"]})), json!({"goalPatterns": []}));
}

#[test]
fn cancelled_call_reports_cancel() {
    let bench = furnished();
    bench.cancel.cancel();
    for (name, arguments) in [
        ("session.list", json!({})),
        ("session.search", json!({"pattern": "login"})),
        ("session.read", json!({"sessionId": "c1a0de00-0000-4000-8000-000000000002"})),
        ("session.analyze", json!({})),
    ] {
        assert_eq!(bench.call(name, arguments).unwrap_err(), ToolError::Cancelled, "{name}");
    }
}

#[test]
fn calls_past_deadline_set_flag() {
    let mut bench = furnished();
    for limit in [&mut bench.limits.list_time, &mut bench.limits.search_time, &mut bench.limits.analyze_time]
    {
        *limit = Duration::ZERO;
    }
    for (name, arguments) in [
        ("session.list", json!({})),
        ("session.search", json!({"pattern": "login"})),
        ("session.analyze", json!({})),
    ] {
        assert!(bench.call(name, arguments).unwrap().cut.timed_out, "{name}");
    }
}

#[test]
fn list_cut_by_deadline_says_so() {
    let mut bench = furnished();
    // A flat folder, which is found regardless of the time.
    let id = "0c0de000-0000-7000-8000-000000000009";
    let meta = json!({"type": "session_meta", "payload": {"id": id, "cwd": "/w", "source": "exec"}});
    bench.write(
        &bench.base().join(format!("codex/sessions/rollout-2026-11-01T00-00-00-{id}.jsonl")),
        &[meta],
        9,
    );
    bench.limits.list_time = Duration::ZERO;
    let output = bench.call("session.list", json!({})).unwrap();
    assert_eq!(output.to_json(), json!({"sessions": [], "truncated": true, "total_count": 0}));
    assert_eq!((output.cut.timed_out, output.cut.omitted), (true, 1));
}
