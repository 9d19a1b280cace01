use super::*;
use crate::testing::{approval, call, completed, delegated, plan, stored, text, user};
use openagents_core::update::{AgentThought, Decision, Inline, Target, Title};

fn end_of(updates: Vec<SessionUpdate>) -> OpenWork {
    let mut work = OpenWork::default();
    stored(updates).iter().for_each(|stored| drop(work.apply(stored)));
    work
}

fn thought() -> SessionUpdate {
    SessionUpdate::AgentThought(AgentThought { text: "Hm".to_owned(), ..Default::default() })
}

fn chunk(id: &str) -> SessionUpdate {
    let message_id = Some(id.to_owned());
    SessionUpdate::AgentMessage(AgentMessage { text: "x".to_owned(), message_id, ..AgentMessage::default() })
}

fn last(id: &str) -> SessionUpdate {
    let SessionUpdate::AgentMessage(message) = chunk(id) else { unreachable!() };
    SessionUpdate::AgentMessage(AgentMessage { ended: true, ..message })
}

fn title() -> SessionUpdate {
    SessionUpdate::Title(Title { title: "Explore demo".to_owned(), by_user: false })
}

#[test]
fn finished_log_has_no_open_work() {
    use EntryStatus::*;
    for updates in [
        vec![],
        vec![title(), text("❌ no")],
        vec![user("a", "c"), title(), text("b")],
        vec![text("❌ Empty prompt")],
        vec![
            title(),
            plan(RunState::Running, &[Pending]),
            plan(RunState::Complete, &[Completed]),
            text("done"),
        ],
        // A second prompt waited and was dropped.
        vec![
            user("a", "c"),
            plan(RunState::Running, &[Pending]),
            user("b", "c"),
            text("❌ 8 prompts are waiting already"),
            plan(RunState::Cancelled, &[Completed]),
            text("Exploration cancelled."),
            text("Cancelled before it began."),
        ],
        vec![call("c", "fm.analysis"), completed("x".into()), text("done"), title()],
        // A model thought, called a tool, and answered in two chunks while another prompt came and was answered.
        vec![
            user("a", "c"),
            title(),
            thought(),
            call("c", "search.grep"),
            completed("x".into()),
            chunk("m1"),
            user("b", "c"),
            last("m1"),
            last("m2"),
        ],
        // Without end marks: an exploration has one message.
        vec![
            user("a", "c"),
            plan(RunState::Complete, &[Completed]),
            chunk("m"),
            user("b", "c"),
            text("❌ no"),
        ],
    ] {
        assert!(end_of(updates.clone()).is_empty(), "{updates:?}");
    }
}

#[test]
fn unfinished_log_has_open_work_at_every_prefix() {
    use EntryStatus::*;
    let mut log = vec![
        title(),
        user("a", "c"),
        plan(RunState::Running, &[Pending]),
        call("c", "search.grep"),
        completed("x".into()),
        plan(RunState::Complete, &[Completed]),
        call("c", "fm.analysis"),
        completed("x".into()),
    ];
    while !log.is_empty() {
        assert!(!end_of(log.clone()).is_empty(), "{log:?}");
        log.pop();
    }
    // A model called a tool and never answered, or the next prompt's turn never started.
    assert!(!end_of(vec![user("a", "c"), thought()]).is_empty());
    let called = vec![user("a", "c"), call("c", "search.grep"), completed("x".into())];
    assert!(!end_of(called).is_empty());
    let waits = vec![user("a", "c"), chunk("m1"), user("b", "c"), last("m1")];
    assert!(!end_of(waits).is_empty());
    // The first turn was answered; the next one never started.
    let log = vec![
        user("a", "c"),
        plan(RunState::Running, &[Pending]),
        user("b", "c"),
        plan(RunState::Complete, &[Completed]),
        text("done"),
    ];
    assert!(!end_of(log).is_empty());
}

/// Returns the final messages, and checks that they close the log.
fn closed(mut updates: Vec<SessionUpdate>) -> Vec<String> {
    let work = end_of(updates.clone());
    let words = crash_messages(&work, &None);
    updates.extend(close(&work, "over", &ApprovalState::Expired));
    updates.extend(words.clone());
    assert!(end_of(updates).is_empty());
    let text = |update| match update {
        SessionUpdate::AgentMessage(message) => message.text,
        other => panic!("{other:?}"),
    };
    words.into_iter().map(text).collect()
}

#[test]
fn close_ends_delegate_work_in_parent() {
    let ended = || SessionUpdate::AgentMessage(AgentMessage { ended: true, ..Default::default() });
    let log = vec![
        user("a", "c"),
        call("d", "delegate.run"),
        delegated(user("do it", "c")),
        delegated(call("c", "edit")),
        delegated(approval("c", ApprovalState::Pending)),
    ];
    let work = end_of(log.clone());
    assert!(!work.is_empty());
    let closing = close(&work, "over", &ApprovalState::Withdrawn);
    let kinds: Vec<String> = closing
        .iter()
        .map(|update| match update {
            SessionUpdate::Delegated(inner) => match &*inner.update {
                SessionUpdate::Approval(approval) => format!("inner {:?}", approval.state),
                SessionUpdate::ToolCallUpdate(update) => format!("inner {}", update.call_id),
                SessionUpdate::AgentMessage(message) => format!("inner {}", message.ended),
                other => panic!("{other:?}"),
            },
            SessionUpdate::ToolCallUpdate(update) => update.call_id.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["inner Withdrawn", "inner c", "inner true", "d"]);
    let mut whole = log;
    whole.extend(closing);
    whole.push(ended());
    assert!(end_of(whole).is_empty());
}

#[test]
fn load_withdraws_unanswered_approval() {
    let home = tempfile::tempdir().unwrap();
    let ask = |store: &Store| {
        let new = crate::store::NewSession { id: "s".into(), cwd: "/".into(), mode: "codex".into() };
        store.create_session(new).unwrap();
        store.append("s", vec![user("a", "c"), call("c", "edit")]).unwrap();
        let SessionUpdate::Approval(approval) = approval("c", ApprovalState::Pending) else { unreachable!() };
        let change = crate::store::ApprovalChange::Ask { approval, agent_id: "codex".to_owned() };
        store.decide_then("s".into(), change, |_| ()).unwrap();
        store.flush().unwrap();
    };
    ask(&Store::open(home.path(), "").unwrap());
    let store = Store::open(home.path(), "").unwrap();
    let last = load(&store, "s").unwrap().unwrap().last_seq;
    let found = store.approval("approval of c").unwrap().unwrap();
    assert_eq!(found.approval.state, ApprovalState::Withdrawn);
    let log = store.updates_after("s", 3, 10).unwrap();
    let shown = log.iter().any(|stored| stored.update == approval("c", ApprovalState::Withdrawn));
    assert!(shown, "{log:?}");
    // The work is closed only once.
    assert_eq!(load(&store, "s").unwrap().unwrap().last_seq, last);
}

#[test]
fn late_updates_reopen_nothing() {
    let late = |update| match update {
        SessionUpdate::AgentMessage(message) => {
            SessionUpdate::AgentMessage(AgentMessage { late: true, ..message })
        }
        SessionUpdate::AgentThought(thought) => {
            SessionUpdate::AgentThought(AgentThought { late: true, ..thought })
        }
        other => other,
    };
    let log = vec![user("a", "c"), last("m"), late(thought()), late(chunk("m2"))];
    assert!(end_of(log).is_empty());
}

#[test]
fn routed_turn_is_open_until_final_message() {
    let routed = |inline| {
        SessionUpdate::Routed(Decision {
            target: Target::Inline,
            inline: Some(inline),
            reason: String::new(),
            instead_of: None,
        })
    };
    let explored = || plan(RunState::Complete, &[EntryStatus::Completed]);
    let answer = "❌ OpenAgents exited before this answer was done.";
    let prompt = "❌ OpenAgents exited before this started.";
    assert_eq!(closed(vec![user("a", "c"), routed(Inline::Answer)]), [answer]);
    assert_eq!(closed(vec![user("a", "c"), user("b", "c"), routed(Inline::Find)]), [answer, prompt]);
    let log = vec![user("a", "c"), user("b", "c"), routed(Inline::Find), explored()];
    // A question was answered by an exploration.
    assert_eq!(closed(log), [answer, prompt]);
    let log = vec![user("a", "c"), routed(Inline::Find), explored(), last("m")];
    assert!(end_of(log).is_empty());
}

#[test]
fn killed_answer_is_closed() {
    let answer = "❌ OpenAgents exited before this answer was done.";
    let prompt = "❌ OpenAgents exited before this started.";
    assert_eq!(closed(vec![user("a", "c"), chunk("m")]), [answer]);
    assert_eq!(closed(vec![user("a", "c"), chunk("m"), chunk("m"), user("b", "c")]), [answer, prompt]);
    let log = vec![user("a", "c"), chunk("m"), user("b", "c"), call("c", "search.grep")];
    assert_eq!(closed(log), [answer, prompt]);
    assert_eq!(closed(vec![user("a", "c"), user("b", "c"), last("m"), user("c", "c")]), [prompt, prompt]);
}

#[test]
fn waiting_prompt_survives_long_answer() {
    let home = tempfile::tempdir().unwrap();
    let store = Store::open(home.path(), "").unwrap();
    let new = crate::store::NewSession { id: "s".into(), cwd: "/".into(), mode: "m".into() };
    store.create_session(new).unwrap();
    let mut log = vec![user("z", "c"), last("m0"), user("a", "c"), thought(), user("b", "c")];
    log.extend([call("c", "search.grep"), completed("x".into())]);
    log.extend((0..3_000).map(|_| chunk("m")));
    store.append("s", log).unwrap();
    let work = store.open_work("s").unwrap();
    let calls = work.in_scope(&None).filter(|open| open.part == Part::Call).count();
    assert_eq!((work.turn(&None), work.waiting(&None), calls), (Some(Part::Answer), 1, 0));
}

#[test]
fn closing_marks_only_unfinished_plan_entries() {
    use EntryStatus::*;
    let log = vec![plan(RunState::Running, &[Completed, InProgress, Pending]), call("c", "search.grep")];
    let closing = close(&end_of(log), "over", &ApprovalState::Expired);
    let [SessionUpdate::ToolCallUpdate(update), SessionUpdate::Plan(plan)] = closing.as_slice() else {
        panic!("{closing:?}")
    };
    assert_eq!(update.status, ToolCallStatus::Error { message: "over".to_owned() });
    assert_eq!(plan.state, RunState::Failed);
    assert!(plan.entries.iter().all(|entry| entry.status == Completed));
    let errors: Vec<_> = plan.entries.iter().map(|entry| entry.error.as_deref()).collect();
    assert_eq!(errors, [None, Some("not run"), Some("not run")]);
}

#[test]
fn load_closes_call_behind_many_delegate_updates() {
    let home = tempfile::tempdir().unwrap();
    let write = |store: &Store| {
        let new = crate::store::NewSession { id: "s".into(), cwd: "/".into(), mode: "m".into() };
        store.create_session(new).unwrap();
        let mut log = vec![user("z", "c"), call("c", "search.grep"), completed("x".into()), last("m0")];
        log.extend([user("a", "c"), thought(), call("d", "delegate.run"), delegated(user("do it", "c"))]);
        log.extend((0..2_100).map(|_| delegated(chunk("m"))));
        store.append("s", log).unwrap();
    };
    write(&Store::open(home.path(), "").unwrap());
    let store = Store::open(home.path(), "").unwrap();
    let before = store.session("s").unwrap().unwrap().last_seq;
    load(&store, "s").unwrap();
    let closing = store.updates_after("s", before, 10).unwrap();
    let errors = closing.iter().filter_map(|stored| match &stored.update {
        SessionUpdate::ToolCallUpdate(update) => Some(update.call_id.as_str()),
        _ => None,
    });
    assert_eq!(errors.collect::<Vec<_>>(), ["d"], "{closing:?}");
    let words = closing.iter().filter_map(|stored| match &stored.update {
        SessionUpdate::AgentMessage(message) => Some(message.text.as_str()),
        _ => None,
    });
    assert_eq!(words.collect::<Vec<_>>(), ["❌ OpenAgents exited before this answer was done."]);
}

#[test]
fn load_closes_only_work_of_earlier_process() {
    let home = tempfile::tempdir().unwrap();
    let store = Store::open(home.path(), "").unwrap();
    let new = crate::store::NewSession { id: "s".into(), cwd: "/".into(), mode: "m".into() };
    store.create_session(new).unwrap();
    store.append("s", vec![user("a", "c")]).unwrap();
    assert_eq!(load(&store, "s").unwrap().unwrap().last_seq, 1);
    drop(store);
    let store = Store::open(home.path(), "").unwrap();
    assert_eq!(load(&store, "s").unwrap().unwrap().last_seq, 2);
}
