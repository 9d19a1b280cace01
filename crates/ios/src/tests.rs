use crate::{
    from_wire::{self, IosCall},
    projection::{self, HeldBack, Projection, Shown, View},
    threads::{self, IOS_ANSWER},
    to_wire::{self, IOS_OUTPUT},
};
use openagents_core::update::{AgentMessage, EntryStatus::*, RunState, SessionUpdate};
use openagents_sessions::testing;
use serde_json::{Value, json};

const LIVE: View = View { modes: true, progress: true };

fn project(updates: Vec<SessionUpdate>, view: View) -> Vec<Shown> {
    let (mut projection, mut shown) = (Projection::default(), Vec::new());
    for stored in testing::stored(updates) {
        projection.push(&stored, view, &|id| id == "me", &mut shown);
    }
    projection.rest(&mut shown);
    shown
}

fn updates(shown: &[Shown]) -> Vec<Value> {
    shown.iter().map(|shown| shown.update.clone()).collect()
}

fn kinds(shown: &[Shown]) -> Vec<&str> {
    shown.iter().map(|shown| shown.update["sessionUpdate"].as_str().unwrap()).collect()
}

fn texts(shown: &[Shown]) -> Vec<&str> {
    shown.iter().filter_map(|shown| shown.update["content"]["content"]["text"].as_str()).collect()
}

#[test]
fn every_update_projects_to_the_wire() {
    let mut notes: Vec<Value> = project(testing::every_update(), LIVE)
        .into_iter()
        .map(|shown| to_wire::note("sess-1", shown.update))
        .collect();
    // The computer's name differs between machines.
    let waits = format!("Waiting for approval on {}", openagents_connection::pass::computer_name());
    for text in notes.iter_mut().filter_map(|note| note.pointer_mut("/update/content/content/text")) {
        if *text == json!(waits) {
            *text = "Waiting for approval on [name]".into();
        }
    }
    insta::assert_json_snapshot!(notes);
}

#[test]
fn initialize_has_required_members() {
    insta::assert_json_snapshot!(to_wire::initialized(Some(std::path::Path::new("/projects/demo"))), {
        ".agent_info.version" => "[version]"
    });
    assert_eq!(to_wire::initialized(None).get("_meta"), None);
}

#[test]
fn plans_are_sent_once_per_step() {
    let running = |statuses: &[_]| testing::plan(RunState::Running, statuses);
    let shown = project(
        vec![
            running(&[Pending, Pending]),
            running(&[InProgress, Pending]),
            testing::call("a", "search.grep"),
            testing::failed("a"),
            running(&[Completed, Pending]),
            testing::call("b", "fs.list_dir"),
            running(&[Completed, InProgress]),
            testing::failed("b"),
            running(&[Completed, Completed]),
            testing::plan(RunState::Complete, &[Completed, Completed]),
        ],
        LIVE,
    );
    let plans: Vec<Vec<&str>> = shown
        .iter()
        .filter_map(|shown| shown.update["plan"]["entries"].as_array())
        .map(|entries| entries.iter().map(|entry| entry["status"].as_str().unwrap()).collect())
        .collect();
    assert_eq!(
        plans,
        [
            ["pending", "pending"],
            ["in_progress", "pending"],
            ["completed", "in_progress"],
            ["completed", "completed"],
        ]
    );
}

#[test]
fn held_back_plan_is_sent_at_the_end() {
    let shown = project(vec![testing::plan(RunState::Running, &[Completed, Pending])], LIVE);
    assert_eq!(kinds(&shown), ["plan"]);
}

#[test]
fn progress_is_throttled_and_never_late() {
    let call = |name| testing::call("c", name);
    let busy: Vec<SessionUpdate> = (0..20).map(|n| testing::started("c", f64::from(n) / 20.0)).collect();
    let end = || vec![testing::completed(json!({})), testing::started("c", 1.0), testing::failed("c")];
    // One update each 100 ms: at most every third may pass.
    let shown = project([vec![call("session.analyze")], busy.clone(), end()].concat(), LIVE);
    let statuses: Vec<&str> =
        shown.iter().filter_map(|shown| shown.update["tool_call_update"]["status"].as_str()).collect();
    assert_eq!(statuses, [vec!["started"; 7], vec!["completed"]].concat());
    let shown = project([vec![call("search.grep")], busy.clone(), end()].concat(), LIVE);
    assert_eq!(kinds(&shown), ["tool_call", "tool_call_update"]);
    let history = View { modes: false, progress: false };
    let shown = project([vec![call("session.analyze")], busy, end()].concat(), history);
    assert_eq!(kinds(&shown), ["tool_call", "tool_call_update"]);
}

#[test]
fn own_prompts_are_not_echoed() {
    let shown = project(vec![testing::user("mine", "me"), testing::user("yours", "you")], LIVE);
    assert_eq!(texts(&shown), ["yours"]);
}

#[test]
fn modes_are_sent_only_to_connections_that_set_one() {
    let modes = || vec![testing::mode("codex"), testing::mode("gptoss_20b"), testing::mode("claude-code")];
    let ids: Vec<Value> =
        project(modes(), LIVE).iter().map(|shown| shown.update["current_mode_id"].clone()).collect();
    assert_eq!(ids, ["codex", "default_mode", "claude-code"]);
    assert_eq!(project(modes(), View { modes: false, progress: true }), []);
}

#[test]
fn chunks_are_joined_into_paragraphs() {
    let stream =
        |text: &str| -> Vec<SessionUpdate> { text.split_inclusive(' ').map(testing::text).collect() };
    for (text, expected) in [
        ("one two three", vec!["one two three"]),
        ("one two\n\nthree four\n\n\nfive", vec!["one two", "three four", "five"]),
        ("a list:\n- one\n- two\n\nend", vec!["a list:\n- one\n- two", "end"]),
        (
            "before\n\n```rust\nlet a = 1;\n\nlet b = 2;\n```\n\nafter",
            vec!["before", "```rust\nlet a = 1;\n\nlet b = 2;\n```", "after"],
        ),
        ("~~~\na ```\n\nb\n~~~\n\nend", vec!["~~~\na ```\n\nb\n~~~", "end"]),
        ("\n\n  \n\n", vec![]),
    ] {
        assert_eq!(texts(&project(stream(text), LIVE)), expected, "{text:?}");
        assert_eq!(
            texts(&project(vec![testing::text(text)], LIVE)).join("\n\n"),
            expected.join("\n\n"),
            "{text:?}"
        );
    }
}

#[test]
fn chunk_of_paragraphs_covers_its_updates() {
    let (mut projection, mut shown) = (Projection::default(), Vec::new());
    let mut push = |projection: &mut Projection, seq: u64, text: &str| {
        let stored = openagents_sessions::store::Stored {
            seq,
            ts: 0,
            update: testing::text(text),
            bytes: 0,
            encoded: Default::default(),
        };
        projection.push(&stored, LIVE, &|_| false, &mut shown);
    };
    push(&mut projection, 1, "one ");
    push(&mut projection, 2, "two");
    assert_eq!(projection.held_back(), Some(HeldBack { seq: 1, part: 0 }));
    push(&mut projection, 3, "\n\nthree");
    assert_eq!(projection.held_back(), Some(HeldBack { seq: 3, part: 2 }));
    push(&mut projection, 4, "\n\n");
    assert_eq!(projection.held_back(), None);
    assert_eq!(shown.iter().map(|shown| (shown.covers, shown.part)).collect::<Vec<_>>(), [(2, 2), (4, 0)]);
}

#[test]
fn resume_between_paragraphs_repeats_neither() {
    let log = testing::stored(vec![
        testing::text("zero, "),
        testing::text("one\n\ntwo\n\nthree"),
        testing::text(" and four"),
    ]);
    let read = |seen: Option<HeldBack>| {
        let (mut projection, mut shown) = (Projection::after(seen), Vec::new());
        let since = seen.map_or(0, |seen| seen.seq - 1);
        let rest: Vec<_> = log.iter().filter(|stored| stored.seq > since).collect();
        rest.iter().for_each(|stored| projection.push(stored, LIVE, &|_| false, &mut shown));
        let held_back = projection.held_back();
        projection.rest(&mut shown);
        (shown, held_back)
    };
    let (all, held_back) = read(None);
    assert_eq!(texts(&all), ["zero, one\n\ntwo", "three and four"]);
    let broken = HeldBack { seq: all[0].covers + 1, part: all[0].part };
    assert_eq!(Some(broken), held_back);
    let (rest, held_back) = read(Some(broken));
    assert_eq!(texts(&rest), ["three and four"]);
    // It may break again before any of that is sent.
    assert_eq!(held_back, Some(broken));
}

#[test]
fn long_text_is_sent_without_a_paragraph_end() {
    let shown = project((0..30).map(|_| testing::text(&"x".repeat(1000))).collect(), LIVE);
    assert_eq!(texts(&shown).iter().map(|text| text.len()).collect::<Vec<_>>(), [9000, 9000, 9000, 3000]);
}

#[test]
fn text_precedes_the_next_update() {
    let shown = project(vec![testing::text("thinking aloud"), testing::call("c", "search.grep")], LIVE);
    assert_eq!(kinds(&shown), ["agent_message_chunk", "tool_call"]);
    // A hidden update does not split the text.
    let shown = project(vec![testing::text("one "), testing::user("x", "me"), testing::text("two")], LIVE);
    assert_eq!(texts(&shown), ["one two"]);
}

#[test]
fn summary_is_one_text() {
    let shown = project(vec![testing::text("before"), testing::summary()], LIVE);
    assert_eq!(
        texts(&shown),
        ["before", "**Repository:** demo\n\n**Intent From Session History:**\nFix the parser."]
    );
}

#[test]
fn backlog_is_folded() {
    let page = testing::stored(vec![
        testing::plan(RunState::Running, &[Pending, Pending]),
        testing::call("a", "session.analyze"),
        testing::started("a", 0.1),
        testing::started("a", 0.2),
        testing::failed("a"),
        testing::plan(RunState::Running, &[Completed, InProgress]),
        testing::call("b", "session.analyze"),
        testing::started("b", 0.1),
        testing::started("b", 0.2),
        testing::text("end"),
    ]);
    let kept: Vec<u64> = projection::fold(&page).iter().map(|stored| stored.seq).collect();
    assert_eq!(kept, [2, 5, 6, 7, 9, 10]);
    assert_eq!(projection::fold(&[]), []);
}

#[test]
fn history_has_one_plan_and_no_progress() {
    let page = testing::stored(vec![
        testing::user("mine", "me"),
        testing::mode("codex"),
        testing::plan(RunState::Running, &[Pending]),
        testing::call("c", "session.analyze"),
        testing::started("c", 0.5),
        testing::completed(json!({"n": 1})),
        testing::plan(RunState::Complete, &[Completed]),
        testing::summary(),
    ]);
    let kinds: Vec<Value> =
        threads::shown(&page).iter().map(|update| update["sessionUpdate"].clone()).collect();
    assert_eq!(kinds, ["user_message_chunk", "tool_call", "tool_call_update", "plan", "agent_message_chunk"]);
}

#[test]
fn long_history_keeps_its_newest_part() {
    let rows: Vec<Value> = (0..1000).map(|n| json!({"n": n, "text": "x".repeat(2000)})).collect();
    let kept = threads::newest(rows, usize::MAX, IOS_ANSWER);
    assert_eq!(kept.last().unwrap()["n"], 999);
    let bytes = Value::Array(kept.clone()).to_string().len();
    assert!((IOS_ANSWER - 3000..IOS_ANSWER + 2).contains(&bytes), "{bytes}");
    assert_eq!(threads::newest(kept, 3, IOS_ANSWER).len(), 3);
}

#[test]
fn outputs_fit_the_app() {
    let shown = project(
        vec![
            testing::call("c", "search.grep"),
            testing::completed(json!({"matches": vec!["x".repeat(200); 500]})),
        ],
        LIVE,
    );
    let update = &updates(&shown)[1]["tool_call_update"];
    assert!(update["output"]["matches"].as_array().unwrap().len() > 70);
    assert!(update["output"].to_string().len() <= IOS_OUTPUT);
    assert_eq!(update["_meta"]["truncated"], true);
}

#[test]
fn calls_of_every_app_generation_parse() {
    let prompt = |text: &str| IosCall::Prompt { session_id: "s".to_owned(), text: text.to_owned() };
    for (method, params, expected) in [
        ("session/new", json!({}), IosCall::NewSession),
        ("session/new", json!(null), IosCall::NewSession),
        (
            "session/prompt",
            json!({"session_id": "s", "prompt": [{"type": "text", "text": "hi"}]}),
            prompt("hi"),
        ),
        (
            "session/prompt",
            json!({"session_id": "s", "content": [{"type": "text", "text": "a"}, {"type": "image"}, {"text": "b"}]}),
            prompt("a\nb"),
        ),
        ("session/prompt", json!({"session_id": "s", "prompt": []}), prompt("")),
        (
            "session/set_mode",
            json!({"mode_id": "claude_code"}),
            IosCall::SetMode { session_id: None, mode: "claude-code".to_owned() },
        ),
        (
            "session/set_mode",
            json!({"session_id": "s", "mode_id": "orchestrator"}),
            IosCall::SetMode { session_id: Some("s".to_owned()), mode: "default_mode".to_owned() },
        ),
        ("orchestrate.explore.start", json!({}), IosCall::Explore { root: None, goals: vec![] }),
        (
            "orchestrate.explore.start",
            json!({"root": "/w", "goals": ["a", 1], "policy": {"allow_network": "?"}}),
            IosCall::Explore { root: Some("/w".to_owned()), goals: vec!["a".to_owned()] },
        ),
        ("threads/list", json!({}), IosCall::Threads { top_k: 10 }),
        ("threads/list", json!({"topK": 500}), IosCall::Threads { top_k: 10 }),
        ("threads/list", json!({"topK": 0}), IosCall::Threads { top_k: 1 }),
        ("thread/load_latest_typed", json!({}), IosCall::LatestThread),
        ("tinyvex/history.recentSessions", json!({}), IosCall::RecentSessions),
    ] {
        assert_eq!(from_wire::parse_call(method, &params), Ok(expected), "{method} {params}");
    }
}

#[test]
fn invalid_calls_are_refused() {
    for (method, params, code, message) in [
        ("fs/read_text_file", json!({}), -32601, "Method not found: fs/read_text_file"),
        ("terminal/run", json!({}), -32601, "Method not found: terminal/run"),
        ("session/request_permission", json!({}), -32601, "Method not found: session/request_permission"),
        ("session/prompt", json!({}), -32602, "Invalid session/prompt parameters"),
        (
            "session/prompt",
            json!({"session_id": "s", "prompt": 7}),
            -32602,
            "Invalid session/prompt parameters",
        ),
        ("session/cancel", json!({}), -32602, "Missing session_id"),
        ("orchestrate.explore.start", json!({"root": 7}), -32602, "Invalid params"),
        ("tinyvex/history.sessionTimeline", json!({}), -32602, "Missing required parameter: session_id"),
    ] {
        let fault = from_wire::parse_call(method, &params).unwrap_err();
        assert_eq!((fault.code, fault.message.as_str()), (code, message), "{method} {params}");
    }
}

/// Returns the number of frames that are sent for a page of 32 plans.
fn plans_sent(behind: u64, resumed: bool) -> usize {
    use crate::{connection::Ios, phone::Phone};
    use openagents_connection::{inspect::Peer, outbox::dialect::Dialect};
    use openagents_sessions::store;
    let home = tempfile::tempdir().unwrap();
    let store = openagents_remote::devices::tables::open_store(home.path()).unwrap();
    let new = store::NewSession { id: "s".to_owned(), cwd: "/work".into(), mode: "codex".to_owned() };
    store.create_session(new).unwrap();
    let plan = |n: usize| {
        let statuses: Vec<_> = (0..32).map(|entry| if entry <= n { InProgress } else { Pending }).collect();
        testing::plan(RunState::Running, &statuses)
    };
    let page = testing::stored((0..32).map(plan).collect());
    store.append("s", page.iter().map(|stored| stored.update.clone()).collect()).unwrap();
    let session = testing::session(store, "s");
    let phone = std::sync::Arc::new(Phone::new(&Peer::new("ios")));
    if resumed {
        phone.resume(&session, vec![], 0);
    }
    Ios::new(phone).project(&session, &page, behind).len()
}

#[test]
fn slow_and_resuming_phones_get_a_folded_backlog() {
    assert_eq!(plans_sent(32, false), 32);
    assert_eq!(plans_sent(1000, false), 1);
    assert_eq!(plans_sent(32, true), 1);
}

#[test]
fn frames_stay_below_the_app_limit() {
    let long = "\u{1}".repeat(2 << 20);
    let mut plan = testing::plan(RunState::Running, &[Pending]);
    if let SessionUpdate::Plan(snapshot) = &mut plan {
        snapshot.goals = vec![long.clone()];
        snapshot.entries[0].content.clone_from(&long);
        snapshot.entries[0].error = Some(long.clone());
    }
    let shown = project(
        vec![testing::user(&long, "you"), testing::text(&long), plan, testing::completed(json!(long))],
        LIVE,
    );
    assert_eq!(shown.len(), 4);
    for update in updates(&shown) {
        assert!(update.to_string().len() < IOS_ANSWER, "{}", update["sessionUpdate"]);
    }
}

#[test]
fn answer_end_does_not_wait_for_queued_prompt() {
    let chunk = |text: &str, ended| {
        SessionUpdate::AgentMessage(AgentMessage {
            text: text.to_owned(),
            message_id: Some("m".to_owned()),
            ended,
            ..AgentMessage::default()
        })
    };
    for log in
        [vec![chunk("All of", false), chunk(" it.", true)], vec![chunk("All of it.", false), chunk("", true)]]
    {
        let (mut projection, mut shown) = (Projection::default(), Vec::new());
        for stored in testing::stored(log) {
            projection.push(&stored, LIVE, &|_| false, &mut shown);
        }
        assert_eq!(texts(&shown), ["All of it."]);
        assert_eq!(projection.held_back(), None);
    }
}
