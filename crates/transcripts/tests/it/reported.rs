//! Logs as described in public bug reports about tools of this kind, each with the result that its own
//! agent would show. Each code word is one prompt.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use openagents_core::{CancellationToken, budget::Budget};
use openagents_transcripts::{
    history::{
        Event, EventKind, History, HistoryRoots, MemoryListingCache, Provider, Query, SearchQuery, Span,
        Transcript,
    },
    usage::{ReportQuery, UsageStore},
};
use serde_json::{Value, json};
use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    fn history(&self) -> History {
        let folders = [
            (Provider::Codex, "codex"),
            (Provider::ClaudeCode, "claude"),
            (Provider::Gemini, "gemini"),
            (Provider::Qwen, "qwen"),
            (Provider::Pi, "pi"),
            (Provider::OpenClaw, "openclaw"),
            (Provider::Copilot, "copilot"),
            (Provider::Opencode, "opencode"),
        ];
        let roots = folders
            .into_iter()
            .fold(HistoryRoots::default(), |roots, (agent, folder)| roots.with(agent, self.path(folder)));
        History::new(roots, Arc::new(MemoryListingCache::default()))
    }

    /// Lists all sessions, archived and hidden ones too.
    fn list(&self) -> Vec<Transcript> {
        self.history().list(&Query { all: true, ..Query::default() }, &budget()).rows
    }

    fn row(&self, id: &str) -> Transcript {
        let rows = self.list();
        let found: Vec<_> = rows.iter().filter(|row| row.id.starts_with(id)).collect();
        assert_eq!(found.len(), 1, "{id} in {rows:#?}");
        found[0].clone()
    }

    fn events(&self, row: &Transcript) -> (Vec<Event>, u64) {
        let mut events = Vec::new();
        let end = self
            .history()
            .read_transcript(row, Span::default(), &budget(), &mut |event| {
                events.push(event);
                ControlFlow::Continue(())
            })
            .unwrap();
        (events, end.bad_lines)
    }

    /// Returns the birds of a session in order; undone ones in brackets.
    fn birds(&self, id: &str) -> String {
        let (events, _) = self.events(&self.row(id));
        let mut birds: Vec<String> = Vec::new();
        for event in events.iter().filter(|event| event.kind == EventKind::Prompt) {
            let bird = bird(&event.text);
            birds.push(if event.undone { format!("[{bird}]") } else { bird.to_owned() });
        }
        birds.join(" ")
    }

    /// Returns the sessions and the number of lines in which a text is found.
    fn search(&self, text: &str) -> (Vec<String>, usize) {
        let query = SearchQuery {
            pattern: text.to_owned(),
            all: true,
            max_matches: 100,
            line_chars: 200,
            file_bytes: u64::MAX,
            total_bytes: u64::MAX,
            ..SearchQuery::default()
        };
        let found = self.history().search(&query, &budget(), &budget(), &()).unwrap();
        let mut ids: Vec<String> = found
            .matches
            .iter()
            .map(|found| found.session_id.split('-').next().unwrap().to_owned())
            .collect();
        ids.dedup();
        (ids, found.total)
    }
}

fn budget() -> Budget {
    Budget::within(Duration::from_secs(60), &CancellationToken::new())
}

fn bird(text: &str) -> &str {
    text.split([':', ' ']).next().unwrap_or_default()
}

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

fn at(time: &str) -> String {
    format!("2026-11-20T{time}.000Z")
}

fn millis(time: &str) -> i64 {
    at(time).parse::<jiff::Timestamp>().unwrap().as_millisecond()
}

mod codex {
    use super::*;

    const THREAD: &str = "019aa101-0000-7000-8000-0000000000a1";
    const SECOND: &str = "019ab101-0000-7000-8000-0000000000b1";
    const THIRD: &str = "019ab201-0000-7000-8000-0000000000b2";
    const FORK: &str = "019af101-0000-7000-8000-0000000000f1";

    fn record(time: &str, ordinal: u64, kind: &str, payload: Value) -> Value {
        json!({"timestamp": at(time), "ordinal": ordinal, "type": kind, "payload": payload})
    }

    fn meta(time: &str, ordinal: u64, thread: &str, more: Value) -> Value {
        let mut payload = json!({"id": thread, "timestamp": at(time), "cwd": "/w/shop", "source": "cli",
            "history_mode": "paginated"});
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        record(time, ordinal, "session_meta", payload)
    }

    /// A turn of six records.
    fn turn(time: &str, ordinal: u64, prompt: &str) -> Vec<Value> {
        let reply = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
        let done = |item: Value| json!({"type": "item_completed", "turn_id": prompt, "item": item});
        let answer = format!("{prompt} answer");
        vec![
            record(time, ordinal, "event_msg", json!({"type": "task_started", "turn_id": prompt})),
            record(time, ordinal + 1, "response_item", reply("user", "input_text", prompt)),
            record(
                time,
                ordinal + 2,
                "event_msg",
                done(json!({"type": "UserMessage", "content": [{"type": "text", "text": prompt}]})),
            ),
            record(time, ordinal + 3, "response_item", reply("assistant", "output_text", &answer)),
            record(
                time,
                ordinal + 4,
                "event_msg",
                done(json!({"type": "AgentMessage", "content": [{"type": "Text", "text": answer}]})),
            ),
            record(time, ordinal + 5, "event_msg", json!({"type": "task_complete", "turn_id": prompt})),
        ]
    }

    fn name(folder: &str, time: &str, ids: &str) -> String {
        format!("codex/{folder}/rollout-2026-11-20T{}-{ids}.jsonl", time.replace(':', "-"))
    }

    fn base(id: &str, ordinal: u64, bytes: usize) -> Value {
        json!({"thread_id": id, "end_ordinal_exclusive": ordinal, "end_byte_offset": bytes})
    }

    /// A thread that was resumed before BRAVO, and again, and a fork of it.
    fn segments(folder: &str) -> Home {
        let home = Home::new();
        let mut first = vec![meta("09:00:00", 0, THREAD, json!({}))];
        first.extend(turn("09:00:10", 1, "ALPHA"));
        let kept = lines(&first).len();
        first.extend(turn("09:05:00", 7, "BRAVO"));
        home.write(&name(folder, "09:00:00", THREAD), lines(&first));
        let mut second = vec![meta("09:30:00", 7, THREAD, json!({"history_base": base(THREAD, 7, kept)}))];
        second.extend(turn("09:30:10", 8, "CHARLIE"));
        home.write(&name(folder, "09:30:00", &format!("{THREAD}_{SECOND}")), lines(&second));
        let second_base = base(SECOND, 14, lines(&second).len());
        let mut third = vec![meta("10:00:00", 14, THREAD, json!({"history_base": second_base}))];
        third.extend(turn("10:00:10", 15, "DELTA"));
        home.write(&name(folder, "10:00:00", &format!("{THREAD}_{THIRD}")), lines(&third));
        let more = json!({"forked_from_id": THREAD, "history_base": base(THIRD, 21, 0)});
        let mut fork = vec![meta("11:00:00", 21, FORK, more)];
        fork.extend(turn("11:00:10", 22, "ECHO"));
        home.write(&name("sessions/2026/11/20", "11:00:00", FORK), lines(&fork));
        home
    }

    #[test]
    fn thread_segments_join_without_reverted_turns() {
        let home = segments("sessions/2026/11/20");
        assert_eq!(home.list().len(), 2);
        let row = home.row(THREAD);
        assert_eq!(home.birds(THREAD), "ALPHA [BRAVO] CHARLIE DELTA");
        assert_eq!((row.title.as_deref(), row.user_turns), (Some("ALPHA"), Some(3)));
        assert_eq!((row.updated_at, row.hidden), (millis("10:00:10"), false));
        assert_eq!(row.cwd.as_deref(), Some(Path::new("/w/shop")));
        let fork = home.row(FORK);
        assert_eq!((home.birds(FORK).as_str(), fork.continues.as_deref()), ("ECHO", Some(THREAD)));
        for (bird, found) in [("ALPHA", 1), ("BRAVO", 0), ("CHARLIE", 1), ("DELTA", 1), ("ECHO", 1)] {
            assert_eq!(home.search(bird).0.len(), found, "{bird}");
        }
        // Lines are numbered continuously.
        let (events, _) = home.events(&row);
        assert!(events.is_sorted_by_key(|event| event.line), "{events:#?}");
        assert_eq!(events.last().unwrap().line, 26);
    }

    #[test]
    fn archived_thread_includes_all_segments() {
        let home = segments("archived_sessions");
        let row = home.row(THREAD);
        assert_eq!((row.archived, row.hidden), (true, true));
        assert_eq!(home.birds(THREAD), "ALPHA [BRAVO] CHARLIE DELTA");
    }

    #[test]
    fn revert_to_first_turn_drops_middle_segment() {
        let home = segments("sessions/2026/11/20");
        let fourth = "019ac201-0000-7000-8000-0000000000c4";
        let mut rows = vec![meta("12:00:00", 7, THREAD, json!({"history_base": base(THREAD, 7, 0)}))];
        rows.extend(turn("12:00:10", 8, "FOXTROT"));
        home.write(&name("sessions/2026/11/20", "12:00:00", &format!("{THREAD}_{fourth}")), lines(&rows));
        assert_eq!(home.birds(THREAD), "ALPHA [BRAVO] [CHARLIE] [DELTA] FOXTROT");
        // A compressed segment, and one that ends in the middle of a line.
        let second = home.path(&name("sessions/2026/11/20", "09:30:00", &format!("{THREAD}_{SECOND}")));
        let compressed = zstd::bulk::compress(&fs::read(&second).unwrap(), 3).unwrap();
        fs::write(second.with_extension("jsonl.zst"), compressed).unwrap();
        fs::remove_file(&second).unwrap();
        let third = home.path(&name("sessions/2026/11/20", "10:00:00", &format!("{THREAD}_{THIRD}")));
        let text = fs::read_to_string(&third).unwrap();
        fs::write(&third, &text[..text.len() - 20]).unwrap();
        assert_eq!(home.birds(THREAD), "ALPHA [BRAVO] [CHARLIE] [DELTA] FOXTROT");
    }

    #[test]
    fn rolled_back_turns_are_taken_back() {
        let home = Home::new();
        let rolled_back = |time, turns| {
            record(time, 0, "event_msg", json!({"type": "thread_rolled_back", "num_turns": turns}))
        };
        let mut rows = vec![meta("09:00:00", 0, THREAD, json!({}))];
        rows.extend(turn("09:00:10", 1, "ALPHA"));
        rows.extend(turn("09:01:10", 1, "BRAVO"));
        rows.extend(turn("09:02:10", 1, "CHARLIE"));
        rows.push(rolled_back("09:03:00", 2));
        rows.extend(turn("09:04:10", 1, "DELTA"));
        home.write(&name("sessions/2026/11/20", "09:00:00", THREAD), lines(&rows));
        assert_eq!(home.birds(THREAD), "ALPHA [BRAVO] [CHARLIE] DELTA");
        assert_eq!(home.row(THREAD).user_turns, Some(2));
        rows.push(rolled_back("09:05:00", 2));
        rows.extend(turn("09:06:10", 1, "ECHO"));
        home.write(&name("sessions/2026/11/20", "09:00:00", THREAD), lines(&rows));
        assert_eq!(home.birds(THREAD), "[ALPHA] [BRAVO] [CHARLIE] [DELTA] ECHO");
        assert_eq!(home.row(THREAD).title.as_deref(), Some("ECHO"));
    }

    #[test]
    fn thread_names_come_from_every_source() {
        let home = Home::new();
        let ids =
            ["a", "b", "c", "d", "e"].map(|letter| format!("019a{letter}104-0000-7000-8000-0000000000a1"));
        for (id, prompt) in ids.iter().zip(["hi", "audit the cron entries", "go on", "write them", "again"]) {
            let folder =
                if prompt.starts_with("audit") { "archived_sessions" } else { "sessions/2026/11/20" };
            let mut rows = vec![meta("09:00:00", 0, id, json!({}))];
            rows.extend(turn("09:00:10", 1, prompt));
            if prompt == "write them" {
                let named = json!({"type": "thread_name_updated", "thread_name": "Release notes 4.2"});
                rows.push(record("09:01:00", 8, "event_msg", named));
            }
            let path = home.write(&name(folder, "09:00:00", id), lines(&rows));
            if prompt == "go on" {
                let compressed = zstd::bulk::compress(&fs::read(&path).unwrap(), 3).unwrap();
                fs::write(path.with_extension("jsonl.zst"), compressed).unwrap();
            }
        }
        let index = [
            json!({"id": ids[0], "thread_name": "Old name"}),
            json!({"id": ids[1], "thread_name": "Cron"}),
            json!({"id": ids[0], "thread_name": "Billing retries"}),
            json!({"id": ids[1], "thread_name": ""}),
        ];
        home.write("codex/session_index.jsonl", lines(&index));
        let database = rusqlite::Connection::open(home.path("codex/state_5.sqlite")).unwrap();
        database.execute_batch("CREATE TABLE threads(id TEXT PRIMARY KEY, title TEXT, name TEXT)").unwrap();
        for (id, title, name) in [
            (0, "hi", None),
            (1, "audit the cron entries", None),
            (2, "go on", Some("Nightly docs sweep")),
            (3, "write them", None),
            (4, "Only a title", None),
        ] {
            let row = (&ids[id], title, name);
            database.execute("INSERT INTO threads(id, title, name) VALUES(?1, ?2, ?3)", row).unwrap();
        }
        let names = ["Billing retries", "Cron", "Nightly docs sweep", "Release notes 4.2", "Only a title"];
        for (id, name) in ids.iter().zip(names) {
            let row = home.row(id);
            assert_eq!((row.title.as_deref(), row.archived), (Some(name), name == "Cron"));
        }
    }

    #[test]
    fn completed_items_become_events() {
        let home = Home::new();
        let done = |ordinal, item: Value| {
            record("09:00:05", ordinal, "event_msg", json!({"type": "item_completed", "item": item}))
        };
        let rows = [
            meta("09:00:00", 0, THREAD, json!({})),
            done(1, json!({"type": "UserMessage", "content": [{"type": "text", "text": "ALPHA"}]})),
            done(
                2,
                json!({"type": "CommandExecution", "id": "c", "command": ["bash", "-lc", "cargo test"],
                    "status": "failed", "exit_code": 101}),
            ),
            record(
                "09:00:05",
                3,
                "response_item",
                json!({"type": "custom_tool_call", "name": "exec", "call_id": "e", "input": "x"}),
            ),
            done(3, json!({"type": "Extension", "id": "x", "kind": "web.search", "query": "chars count"})),
            done(4, json!({"type": "ContextCompaction", "id": "k"})),
        ];
        home.write(&name("sessions/2026/11/20", "09:00:00", THREAD), lines(&rows));
        let (events, _) = home.events(&home.row(THREAD));
        let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(kinds, ["user", "command_end", "tool_use", "tool_use", "compaction"]);
        assert_eq!(events[1].action.command.as_deref(), Some("cargo test"));
        assert_eq!(events[3].text, "chars count");
    }
}

mod claude {
    use super::*;

    const FIRST: &str = "07100000-aaaa-4000-8000-000000000001";

    fn path(id: &str) -> String {
        format!("claude/projects/-w-shop/{id}.jsonl")
    }

    fn user(session: &str, id: &str, parent: Option<&str>, time: &str, text: &str) -> Value {
        json!({"parentUuid": parent, "isSidechain": false, "cwd": "/w/shop", "sessionId": session, "type": "user",
            "message": {"role": "user", "content": text}, "uuid": id, "timestamp": at(time)})
    }

    fn answer(session: &str, id: &str, parent: &str, time: &str, content: Value) -> Value {
        json!({"parentUuid": parent, "isSidechain": false, "cwd": "/w/shop", "sessionId": session,
            "message": {"id": id, "role": "assistant", "content": content, "usage": {"input_tokens": 10}},
            "requestId": id, "type": "assistant", "uuid": id, "timestamp": at(time)})
    }

    fn text(text: &str) -> Value {
        json!([{"type": "text", "text": text}])
    }

    /// Two turns: FULMAR, GANNET.
    fn conversation(session: &str) -> Vec<Value> {
        vec![
            user(session, "m1", None, "09:00:00", "FULMAR"),
            answer(session, "m2", "m1", "09:00:05", text("FULMAR answer")),
            user(session, "m3", Some("m2"), "09:01:00", "GANNET"),
            answer(session, "m4", "m3", "09:01:05", text("GANNET answer")),
        ]
    }

    fn with(mut row: Value, key: &str, value: Value) -> Value {
        row[key] = value;
        row
    }

    #[test]
    fn copied_conversation_counts_once() {
        let home = Home::new();
        let (branch, copy) = ("07200000-aaaa-4000-8000-000000000002", "07300000-aaaa-4000-8000-000000000003");
        home.write(&path(FIRST), lines(&conversation(FIRST)));
        // A branch may hold each record twice.
        let mut rows = Vec::new();
        for row in conversation(branch) {
            let from = json!({"sessionId": FIRST, "messageUuid": row["uuid"]});
            rows.push(with(row.clone(), "forkedFrom", from));
            rows.push(row);
        }
        rows.push(user(branch, "b5", Some("m4"), "09:05:00", "HOOPOE"));
        rows.push(answer(branch, "b6", "b5", "09:05:05", text("HOOPOE answer")));
        home.write(&path(branch), lines(&rows));
        let mut rows: Vec<_> =
            conversation(copy).into_iter().map(|row| with(row, "sessionKind", json!("bg"))).collect();
        rows.push(user(copy, "g5", Some("m4"), "09:06:00", "JAEGER"));
        home.write(&path(copy), lines(&rows));

        assert_eq!(home.birds(branch), "FULMAR GANNET HOOPOE");
        let originals = [FIRST, branch, copy].map(|id| home.row(id).continues);
        assert_eq!(originals, [None, Some(FIRST.to_owned()), Some(FIRST.to_owned())]);
        let row = home.row(branch);
        assert_eq!((row.user_turns, row.title.as_deref()), (Some(3), Some("HOOPOE")));
        assert_eq!(home.search("FULMAR answer"), (vec!["07100000".to_owned()], 1));
        assert_eq!(home.search("HOOPOE answer"), (vec!["07200000".to_owned()], 1));
        assert_eq!(home.search("JAEGER"), (vec!["07300000".to_owned()], 1));
        let store = UsageStore::in_memory().unwrap();
        store.update(&home.history(), &budget(), &mut |_| true).unwrap();
        let total = store.report(&ReportQuery::default()).unwrap().total;
        assert_eq!(total.tokens.input, 30);
        // Without the original, the oldest copy has the lines.
        fs::remove_file(home.path(&path(FIRST))).unwrap();
        assert!(!home.search("FULMAR answer").0.is_empty());
    }

    #[test]
    fn short_equal_ids_are_not_copies() {
        let home = Home::new();
        let second = "07200000-aaaa-4000-8000-000000000002";
        home.write(&path(FIRST), lines(&[user(FIRST, "u1", None, "09:00:00", "FULMAR")]));
        // A name that was carried over from the previous session.
        let name = json!({"type": "custom-title", "customTitle": "Birds", "sessionId": FIRST});
        home.write(&path(second), lines(&[name, user(second, "u1", None, "09:01:00", "GANNET")]));
        assert_eq!((home.row(FIRST).continues, home.row(second).continues), (None, None));
        assert_eq!((home.search("FULMAR").1, home.search("GANNET").1), (1, 1));
    }

    #[test]
    fn abandoned_path_is_taken_back() {
        let home = Home::new();
        let mut rows = conversation(FIRST);
        rows.push(user(FIRST, "m5", Some("m2"), "09:10:00", "PLOVER"));
        rows.push(answer(FIRST, "m6", "m5", "09:10:05", text("PLOVER answer")));
        home.write(&path(FIRST), lines(&rows));
        assert_eq!(home.birds(FIRST), "FULMAR [GANNET] PLOVER");
        assert_eq!(home.row(FIRST).user_turns, Some(2));
        assert_eq!((home.search("GANNET").1, home.search("PLOVER answer").1), (0, 1));
        // Back to the start: the title comes from the prompt that replaced the first one.
        rows.push(user(FIRST, "m7", None, "09:20:00", "OSPREY"));
        home.write(&path(FIRST), lines(&rows));
        assert_eq!(home.birds(FIRST), "[FULMAR] [GANNET] [PLOVER] OSPREY");
        assert_eq!(home.row(FIRST).title.as_deref(), Some("OSPREY"));
    }

    #[test]
    fn parallel_calls_are_not_taken_back() {
        let home = Home::new();
        let call =
            |id: &str| json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}}]);
        let result = |id: &str, parent: &str, call: &str| {
            let mut row = user(FIRST, id, Some(parent), "09:02:00", "");
            row["message"]["content"] =
                json!([{"type": "tool_result", "tool_use_id": call, "content": "ok"}]);
            row
        };
        let mut rows = conversation(FIRST);
        rows.push(answer(FIRST, "p1", "m4", "09:02:00", call("c1")));
        rows.push(answer(FIRST, "p2", "p1", "09:02:00", call("c2")));
        rows.push(result("r2", "p2", "c2"));
        rows.push(result("r1", "p1", "c1"));
        rows.push(answer(FIRST, "m5", "r2", "09:02:05", text("done")));
        let boundary = |metadata: Value, id: &str, last: &str| {
            json!({"type": "system", "subtype": "compact_boundary", "parentUuid": null, "logicalParentUuid": last,
                "isSidechain": false, "uuid": id, "timestamp": at("09:03:00"), "compactMetadata": metadata})
        };
        rows.push(boundary(json!({"trigger": "manual"}), "k1", "m5"));
        rows.push(with(
            user(FIRST, "k2", Some("k1"), "09:03:00", "So far."),
            "isCompactSummary",
            json!(true),
        ));
        rows.push(user(FIRST, "m6", Some("k2"), "09:04:00", "HOOPOE"));
        rows.push(user(FIRST, "m7", Some("m6"), "09:05:00", "JAEGER"));
        // "Summarize from here": JAEGER was summarised, not undone.
        rows.push(boundary(json!({"messagesSummarized": 1}), "k3", "m6"));
        rows.push(with(
            user(FIRST, "k4", Some("k3"), "09:06:00", "So far."),
            "isCompactSummary",
            json!(true),
        ));
        rows.push(user(FIRST, "m8", Some("k4"), "09:07:00", "KESTREL"));
        home.write(&path(FIRST), lines(&rows));
        assert_eq!(home.birds(FIRST), "FULMAR GANNET HOOPOE JAEGER KESTREL");
        assert!(home.events(&home.row(FIRST)).0.iter().all(|event| !event.undone));
    }

    #[test]
    fn damaged_line_loses_only_broken_part() {
        let home = Home::new();
        let [a, b, c, d] = conversation(FIRST).try_into().unwrap();
        let half = |row: &Value, word: &str| row.to_string().replace(word, &format!("{word} \\ud83d"));
        let cut = &user(FIRST, "x", Some("m4"), "09:02:00", "lost").to_string()[..60];
        let last = user(FIRST, "m5", Some("m4"), "09:03:00", "HOOPOE");
        let log = [
            format!("\u{feff}{}\r\n", half(&a, "FULMAR")),
            // Two records without a line break between them.
            format!("{}{}\n", half(&b, "answer"), c.to_string().replace("GANNET", "GANNET\0")),
            // A record after half of another one, and NUL bytes that a crash left.
            format!("{cut}{d}\n"),
            format!("\0\0\0\0{last}\n"),
            "not JSON\n".to_owned(),
        ];
        home.write(&path(FIRST), log.concat());
        let (events, bad_lines) = home.events(&home.row(FIRST));
        let texts: Vec<&str> = events.iter().map(|event| event.text.as_str()).collect();
        assert_eq!(
            texts,
            ["FULMAR \u{fffd}", "FULMAR answer \u{fffd}", "GANNET\u{fffd}", "GANNET answer", "HOOPOE"]
        );
        assert_eq!((bad_lines, home.row(FIRST).bad_lines), (2, 2));
        assert_eq!(home.search("FULMAR answer").1, 1);
    }

    #[test]
    fn worktree_name_is_not_title() {
        let home = Home::new();
        let mut rows = conversation(FIRST);
        rows.push(json!({"type": "worktree-state", "sessionId": FIRST, "worktreeSession": {"worktreeName": "fix-a"}}));
        rows.push(json!({"type": "custom-title", "customTitle": "fix-a", "sessionId": FIRST}));
        home.write(&path(FIRST), lines(&rows));
        assert_eq!(home.row(FIRST).title.as_deref(), Some("FULMAR"));
        rows.push(json!({"type": "custom-title", "customTitle": "Old invoices", "sessionId": FIRST}));
        home.write(&path(FIRST), lines(&rows));
        assert_eq!(home.row(FIRST).title.as_deref(), Some("Old invoices"));
    }

    #[test]
    fn session_age_is_last_record() {
        let home = Home::new();
        let second = "07200000-aaaa-4000-8000-000000000002";
        let newer = home.write(&path(FIRST), lines(&conversation(FIRST)));
        home.write(&path(second), lines(&conversation(second)[..2]));
        // Restored in another order.
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        fs::File::open(newer).unwrap().set_modified(old).unwrap();
        let rows = home.list();
        let ages: Vec<_> = rows.iter().map(|row| (row.id.as_str(), row.updated_at)).collect();
        assert_eq!(ages, [(FIRST, millis("09:01:05")), (second, millis("09:00:05"))]);
        let since = Query { since: Some(millis("09:00:30")), ..Query::default() };
        assert_eq!(home.history().list(&since, &budget()).rows.len(), 1);
    }
}

mod others {
    use super::*;

    #[test]
    fn gemini_resumed_session_is_joined() {
        let id = "aaaa1111-0000-4000-8000-000000000015";
        let head = |time: &str| json!({"sessionId": id, "startTime": at(time), "lastUpdated": at(time), "kind": "main"});
        let message = |name: &str, time: &str, kind: &str, text: &str| json!({"id": name, "timestamp": at(time), "type": kind, "content": [{"text": text}]});
        let context = message(
            "g0",
            "09:00:01",
            "user",
            "<session_context>\nThis is the Gemini CLI.\n</session_context>",
        );
        let older = [
            head("09:00:00"),
            json!({"$set": {"messages": [context, message("g1", "09:00:02", "user", "MARTIN"),
                message("g2", "09:00:05", "gemini", "MARTIN answer")]}}),
            message("g3", "09:01:00", "user", "NUTHATCH"),
            json!({"$rewindTo": "g3"}),
            message("g5", "09:05:00", "user", "ORIOLE"),
            json!({"$set": {"lastUpdated": at("09:05:06"), "summary": "Move a nightly job to noon"}}),
        ];
        let chats = "gemini/tmp/work/chats";
        let stub_with_context =
            [head("10:15:00"), message("h0", "10:15:01", "user", "<session_context>\nx\n</session_context>")];
        let mut continued = older.to_vec();
        continued.push(message("g7", "10:20:00", "user", "STARLING"));
        let cases: [(&[Value], &[Value], &str); 4] = [
            (&older, &[], "MARTIN [NUTHATCH] ORIOLE"),
            (&older, &[head("10:15:00")], "MARTIN [NUTHATCH] ORIOLE"),
            (&continued, &stub_with_context, "MARTIN [NUTHATCH] ORIOLE STARLING"),
            (&older, &continued, "MARTIN [NUTHATCH] ORIOLE STARLING"),
        ];
        for (older, newer, expected) in cases {
            let home = Home::new();
            home.write(&format!("{chats}/session-2026-11-20T09-00-aaaa1111.jsonl"), lines(older));
            if !newer.is_empty() {
                home.write(&format!("{chats}/session-2026-11-20T10-15-aaaa1111.jsonl"), lines(newer));
            }
            let row = home.row("aaaa1111");
            assert_eq!(home.list().len(), 1);
            assert_eq!(home.birds("aaaa1111"), expected);
            assert_eq!((row.title.as_deref(), row.hidden), (Some("Move a nightly job to noon"), false));
            assert_eq!(row.created_at, Some(millis("09:00:00")));
            assert_eq!((home.search("ORIOLE").1, home.search("NUTHATCH").1), (1, 0));
        }
    }

    #[test]
    fn gemini_compressed_conversation_is_kept() {
        let home = Home::new();
        let message = |name: &str, kind: &str, text: &str| json!({"id": name, "timestamp": at("09:00:00"), "type": kind, "content": [{"text": text}]});
        let rows = [
            json!({"sessionId": "bbbb1111-0000-4000-8000-000000000015", "startTime": at("09:00:00")}),
            message("1", "user", "MARTIN"),
            message("2", "gemini", "MARTIN answer"),
            json!({"$set": {"messages": [message("3", "user", "<state_snapshot>so far</state_snapshot>"),
                message("4", "gemini", "Got it. Thanks for the additional context!")]}}),
            message("5", "user", "ORIOLE"),
        ];
        home.write("gemini/tmp/work/chats/session-2026-11-20T09-00-bbbb1111.jsonl", lines(&rows));
        let (events, _) = home.events(&home.row("bbbb1111"));
        let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(kinds, ["user", "assistant", "compaction", "user"]);
    }

    fn pi(id: &str, parent: Option<&str>, role: &str, text: &str) -> Value {
        json!({"type": "message", "id": id, "parentId": parent, "timestamp": at("09:00:10"),
            "message": {"role": role, "content": [{"type": "text", "text": text}]}})
    }

    #[test]
    fn pi_abandoned_branch_is_taken_back() {
        let home = Home::new();
        let id = "10e00000-aaaa-4000-8000-0000000000e1";
        let rows = [
            json!({"type": "session", "version": 3, "id": id, "timestamp": at("09:00:00"), "cwd": "/w"}),
            pi("e1", None, "user", "RUFF"),
            pi("e2", Some("e1"), "assistant", "RUFF answer"),
            pi("e3", Some("e2"), "user", "SHRIKE"),
            pi("e4", Some("e3"), "assistant", "SHRIKE answer"),
            json!({"type": "branch_summary", "id": "e5", "parentId": "e2", "timestamp": at("09:05:00"), "summary": "left"}),
            pi("e6", Some("e5"), "user", "TURNSTONE"),
        ];
        home.write(&format!("pi/sessions/--w--/2026-11-20T09-00-00-000Z_{id}.jsonl"), lines(&rows));
        assert_eq!(home.birds(id), "RUFF [SHRIKE] TURNSTONE");
        // OpenClaw starts its tree again without a rewind.
        let rows = [pi("e1", None, "user", "RUFF"), pi("e2", None, "user", "SHRIKE")];
        home.write("openclaw/agents/main/sessions/0c000000-aaaa-4000-8000-0000000000e1.jsonl", lines(&rows));
        assert_eq!(home.birds("0c000000"), "RUFF SHRIKE");
    }

    #[test]
    fn pi_compaction_shows_summary() {
        let home = Home::new();
        let compaction = json!({"type": "compaction", "id": "a3", "parentId": "a2", "timestamp": at("09:00:02"),
            "summary": "So far.", "firstKeptEntryId": "a1", "tokensBefore": 9000});
        let rows = [
            json!({"type": "session", "version": 3, "id": "e2", "timestamp": at("09:00:00"), "cwd": "/w"}),
            pi("a1", None, "user", "RUFF"),
            pi("a2", Some("a1"), "assistant", "RUFF answer"),
            compaction,
        ];
        home.write("openclaw/agents/main/sessions/0c000000-aaaa-4000-8000-0000000000e2.jsonl", lines(&rows));
        let (events, _) = home.events(&home.row("0c000000-aaaa-4000-8000-0000000000e2"));
        let last = events.last().map(|event| (event.kind.as_str(), event.text.as_str()));
        assert_eq!(last, Some(("compaction", "So far.")));
    }

    #[test]
    fn openclaw_reset_logs_are_archived() {
        let home = Home::new();
        let sessions = "openclaw/agents/main/sessions";
        for (name, bird) in [
            ("0c000001-aaaa-4000-8000-000000000001.jsonl", "RUFF"),
            ("0c000001-aaaa-4000-8000-000000000001.jsonl.reset.2026-11-19T00-00-00Z", "OLD"),
            (
                "0c000001-aaaa-4000-8000-000000000001.checkpoint.0c000009-aaaa-4000-8000-000000000009.jsonl",
                "COPY",
            ),
            ("0c000001-aaaa-4000-8000-000000000001.jsonl.bak", "COPY"),
            ("0c000002-aaaa-4000-8000-000000000002.jsonl.reset.2026-11-19T00-00-00Z", "SHRIKE"),
        ] {
            home.write(&format!("{sessions}/{name}"), lines(&[pi("e1", None, "user", bird)]));
        }
        let mut rows: Vec<_> =
            home.list().into_iter().map(|row| (row.title.unwrap(), row.archived)).collect();
        rows.sort();
        assert_eq!(rows, [("RUFF".to_owned(), false), ("SHRIKE".to_owned(), true)]);
    }

    #[test]
    fn qwen_rewind_and_fork_are_recognised() {
        let home = Home::new();
        let (id, fork) = ("5e000000-aaaa-4000-8000-000000000001", "5f000000-aaaa-4000-8000-000000000002");
        let row = |session: &str, uuid: &str, parent: Option<&str>, kind: &str, text: &str| {
            let role = if kind == "user" { "user" } else { "model" };
            json!({"uuid": uuid, "parentUuid": parent, "sessionId": session, "timestamp": at("09:00:00"), "type": kind,
                "cwd": "/w", "message": {"role": role, "parts": [{"text": text}]}})
        };
        let log = |session: &str| {
            vec![
                row(session, "u1", None, "user", "RUFF"),
                row(session, "u2", Some("u1"), "assistant", "RUFF answer"),
                row(session, "u3", Some("u2"), "user", "SHRIKE"),
                row(session, "u4", Some("u3"), "assistant", "SHRIKE answer"),
                json!({"type": "system", "subtype": "rewind", "uuid": "u5", "parentUuid": "u2", "sessionId": session,
                    "timestamp": at("09:01:00"), "systemPayload": {"truncatedCount": 2}}),
            ]
        };
        home.write(&format!("qwen/projects/-w/chats/{id}.jsonl"), lines(&log(id)));
        assert_eq!(home.birds(id), "RUFF [SHRIKE]");
        let compressed = json!({"type": "system", "subtype": "chat_compression", "uuid": "u6", "parentUuid": "u5",
            "sessionId": id, "timestamp": at("09:02:00"),
            "systemPayload": {"compressedHistory": [{"role": "user", "parts": [{"text": "So far."}]}]}});
        let mut whole = log(id);
        whole.push(compressed);
        home.write(&format!("qwen/projects/-w/chats/{id}.jsonl"), lines(&whole));
        let (events, _) = home.events(&home.row(id));
        assert_eq!(
            events.last().map(|event| (event.kind.as_str(), event.text.contains("So far."))),
            Some(("compaction", true))
        );
        let mut rows: Vec<_> = log(fork)[..2].to_vec();
        for row in &mut rows {
            row["forkedFrom"] = json!({"sessionId": id, "messageUuid": row["uuid"]});
        }
        rows.push(row(fork, "v3", Some("u2"), "user", "TURNSTONE"));
        home.write(&format!("qwen/projects/-w/chats/{fork}.jsonl"), lines(&rows));
        assert_eq!(home.row(fork).continues.as_deref(), Some(id));
        assert_eq!(home.search("RUFF answer"), (vec!["5e000000".to_owned()], 1));
    }

    #[test]
    fn opencode_reverted_messages_are_taken_back() {
        let home = Home::new();
        fs::create_dir_all(home.path("opencode")).unwrap();
        let database = rusqlite::Connection::open(home.path("opencode/opencode.db")).unwrap();
        database
            .execute_batch(
                r#"CREATE TABLE session(id, title, directory, time_updated, time_archived, revert);
                CREATE TABLE message(id, session_id, time_created, data);
                CREATE TABLE part(id, message_id, session_id, time_created, data);
                INSERT INTO session VALUES('ses_1', 'Queues', '/w', 9, 5, '{"messageID":"msg_3"}');
                INSERT INTO message VALUES('msg_1', 'ses_1', 1, '{"role":"user"}');
                INSERT INTO part VALUES('prt_1', 'msg_1', 'ses_1', 1, '{"type":"text","text":"RUFF"}');
                INSERT INTO message VALUES('msg_2', 'ses_1', 2, '{"role":"assistant"}');
                INSERT INTO part VALUES('prt_2', 'msg_2', 'ses_1', 2, '{"type":"text","text":"RUFF answer"}');
                INSERT INTO message VALUES('msg_3', 'ses_1', 3, '{"role":"user"}');
                INSERT INTO part VALUES('prt_3', 'msg_3', 'ses_1', 3, '{"type":"text","text":"SHRIKE"}');
                INSERT INTO message VALUES('msg_4', 'ses_1', 4, '{"role":"assistant"}');
                INSERT INTO part VALUES('prt_4', 'msg_4', 'ses_1', 4, '{"type":"text","text":"SHRIKE answer"}');"#,
            )
            .unwrap();
        assert_eq!(home.birds("ses_1"), "RUFF [SHRIKE]");
        let row = home.row("ses_1");
        assert_eq!((row.archived, row.hidden, row.user_turns), (true, false, Some(1)));
        assert_eq!((home.search("RUFF answer").1, home.search("SHRIKE").1), (1, 0));
    }

    #[test]
    fn copilot_fork_names_parent() {
        let home = Home::new();
        let (id, fork) = ("b1000000-aaaa-4000-8000-000000000001", "b2000000-aaaa-4000-8000-000000000002");
        let event = |id: &str, kind: &str, data: Value| json!({"type": kind, "id": id, "timestamp": at("09:00:00"), "data": data});
        let start = |id: &str| {
            event(&format!("s{id}"), "session.start", json!({"sessionId": id, "context": {"cwd": "/w"}}))
        };
        let parent = [
            start(id),
            event("e1", "user.message", json!({"content": "RUFF"})),
            event("e2", "assistant.message", json!({"content": "RUFF answer"})),
            event("e3", "session.compaction_complete", json!({"summaryContent": "So far."})),
            json!({"type": "session.model_change", "id": "e4", "agentId": "a", "data": {"newModel": "of the sub-agent"}}),
        ];
        home.write(&format!("copilot/session-state/{id}/events.jsonl"), lines(&parent));
        let forked = format!("Forked from \"A (b) c\" ({id}) as \"Fork\" ({fork}).");
        let mut rows = parent.to_vec();
        rows[0] = start(fork);
        rows.push(event("f1", "session.info", json!({"infoType": "fork", "message": forked})));
        rows.push(event("f2", "user.message", json!({"content": "SHRIKE"})));
        home.write(&format!("copilot/session-state/{fork}/events.jsonl"), lines(&rows));
        let row = home.row(fork);
        assert_eq!((row.continues.as_deref(), row.model), (Some(id), None));
        assert_eq!(home.search("RUFF answer"), (vec!["b1000000".to_owned()], 1));
        let (events, _) = home.events(&home.row(id));
        let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(kinds, ["user", "assistant", "compaction"]);
    }

    #[test]
    fn opencode_summary_is_compaction() {
        let home = Home::new();
        fs::create_dir_all(home.path("opencode")).unwrap();
        let database = rusqlite::Connection::open(home.path("opencode/opencode.db")).unwrap();
        database
            .execute_batch(
                r#"CREATE TABLE session(id, title, directory, time_updated);
                CREATE TABLE message(id, session_id, time_created, data);
                CREATE TABLE part(id, message_id, session_id, time_created, data);
                INSERT INTO session VALUES('ses_1', 'Queues', '/w', 9);
                INSERT INTO message VALUES('msg_1', 'ses_1', 1, '{"role":"assistant","mode":"compaction","summary":true}');
                INSERT INTO part VALUES('prt_1', 'msg_1', 'ses_1', 1, '{"type":"text","text":"So far."}');"#,
            )
            .unwrap();
        let (events, _) = home.events(&home.row("ses_1"));
        assert_eq!(
            events.iter().map(|event| event.kind.as_str()).collect::<Vec<_>>(),
            ["title", "compaction"]
        );
    }
}
