use super::*;
use openagents_core::approval::{
    Approval, ApprovalCommand, ApprovalOption, ApprovalState, FrozenCommand, OptionKind,
};
use rusqlite::Connection;

pub(super) fn pending(id: &str, hash: &str) -> Approval {
    let option = |id: &str, kind| ApprovalOption { id: id.to_owned(), name: id.to_owned(), kind };
    Approval {
        id: id.to_owned(),
        subject: Default::default(),
        call_id: "c".to_owned(),
        agent: "Codex".to_owned(),
        title: "Edit".to_owned(),
        raw_input: Some(serde_json::json!({"path": "a.rs"})),
        hash: hash.to_owned(),
        command: None,
        options: vec![option("yes", OptionKind::AllowOnce), option("no", OptionKind::RejectOnce)],
        state: ApprovalState::Pending,
        asked_at: 0,
        raw_input_cut: false,
        cut: false,
        unheard: false,
        resumed: false,
    }
}

fn decide(store: &Store, session: &str, change: ApprovalChange) -> Decided {
    let (send, shown) = std::sync::mpsc::channel();
    store
        .decide_then(session.into(), change, move |appended| send.send(appended.unwrap().decided).unwrap())
        .unwrap();
    shown.recv().unwrap()
}

pub(super) fn ask(store: &Store, session: &str, approval: Approval) -> ApprovalState {
    let change = ApprovalChange::Ask { approval, agent_id: "codex".to_owned() };
    decide(store, session, change).approval.unwrap().state
}

fn answer(id: &str, option: &str) -> ApprovalChange {
    let (id, option_id, by) = (id.to_owned(), option.to_owned(), "me".to_owned());
    ApprovalChange::Answer { id, option_id, by, message: None, content: None }
}

#[test]
fn unheard_answer_applies_once_for_ten_minutes() {
    let (home, store) = store();
    ["s", "other"].iter().for_each(|id| session(&store, id));
    let gone = |id: &str| ApprovalChange::End { id: id.to_owned(), state: ApprovalState::Withdrawn };
    // Withdrawn, then answered; the options have new ids when it is asked again.
    ask(&store, "s", pending("1", "h"));
    assert!(decide(&store, "s", gone("1")).changed);
    assert!(decide(&store, "s", answer("1", "yes")).changed);
    assert!(!decide(&store, "s", answer("1", "no")).changed);
    assert_eq!(ask(&store, "other", pending("2", "h")), ApprovalState::Pending);
    assert_eq!(ask(&store, "s", pending("3", "another")), ApprovalState::Pending);
    let mut again = pending("4", "h");
    again.options[0].id = "allow".to_owned();
    let answered = ask(&store, "s", again);
    assert!(
        matches!(&answered, ApprovalState::Answered { option_id, .. } if option_id == "allow"),
        "{answered:?}"
    );
    assert_eq!(ask(&store, "s", pending("5", "h")), ApprovalState::Pending);
    // An answer that the agent waited for applies only to that question.
    assert!(decide(&store, "s", answer("5", "yes")).changed);
    assert_eq!(ask(&store, "s", pending("6", "h")), ApprovalState::Pending);
    // Too old.
    decide(&store, "s", gone("6"));
    decide(&store, "s", answer("6", "yes"));
    let other = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
    other.execute_batch("UPDATE approvals SET answered_ts = answered_ts - 601000").unwrap();
    assert_eq!(ask(&store, "s", pending("7", "h")), ApprovalState::Pending);
    // Everything is stored and in the log.
    drop(store);
    let store = Store::open(home.path(), "").unwrap();
    assert!(matches!(store.approval("4").unwrap().unwrap().approval.state, ApprovalState::Answered { .. }));
    assert_eq!(store.updates_after("s", 0, 100).unwrap().len(), 11);
    assert_eq!(decide(&store, "s", answer("unknown", "yes")), Decided::default());
}

/// Asks, withdraws and answers, as after a crash.
fn unheard(store: &Store, approval: Approval, option: &str) {
    let id = approval.id.clone();
    ask(store, "s", approval);
    decide(store, "s", ApprovalChange::End { id: id.clone(), state: ApprovalState::Withdrawn });
    assert!(decide(store, "s", answer(&id, option)).approval.unwrap().unheard);
}

#[test]
fn question_without_details_gets_no_earlier_answer() {
    for raw_input in [None, Some(serde_json::json!(null)), Some(serde_json::json!({}))] {
        let (_home, store) = store();
        session(&store, "s");
        let silent = |id: &str| Approval { raw_input: raw_input.clone(), ..pending(id, "h") };
        unheard(&store, silent("1"), "yes");
        assert_eq!(ask(&store, "s", silent("2")), ApprovalState::Pending);
    }
}

#[test]
fn earlier_answer_needs_unambiguous_option() {
    let option =
        |id: &str, name: &str, kind| ApprovalOption { id: id.to_owned(), name: name.to_owned(), kind };
    let file = || option("1", "This file", OptionKind::AllowAlways);
    let all = |id| option(id, "Everything", OptionKind::AllowAlways);
    for (then, now, expected) in [
        // New ids: the name decides.
        (
            vec![file(), all("2")],
            vec![all("1"), option("2", "This file", OptionKind::AllowAlways)],
            Some("2"),
        ),
        // Two options of the kind, none with the name.
        (vec![file()], vec![all("1"), all("2")], None),
        (vec![file(), all("2")], vec![all("1")], None),
        // One option of the kind on both sides.
        (vec![file()], vec![option("9", "Always", OptionKind::AllowAlways)], Some("9")),
        (vec![file()], vec![option("1", "This file", OptionKind::RejectAlways)], None),
    ] {
        let (_home, store) = store();
        session(&store, "s");
        unheard(&store, Approval { options: then, ..pending("1", "h") }, "1");
        let state = ask(&store, "s", Approval { options: now.clone(), ..pending("2", "h") });
        let found = match &state {
            ApprovalState::Answered { option_id, .. } => Some(option_id.as_str()),
            _ => None,
        };
        assert_eq!(found, expected, "{now:?}");
    }
}

#[test]
fn earlier_answer_is_bound_to_agent_and_time() {
    let (home, store) = store();
    session(&store, "s");
    unheard(&store, pending("1", "h"), "yes");
    let (approval, agent_id) = (pending("2", "h"), "claude-code".to_owned());
    let other = decide(&store, "s", ApprovalChange::Ask { approval, agent_id });
    assert_eq!(other.approval.unwrap().state, ApprovalState::Pending);
    let database = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
    database.execute_batch("UPDATE approvals SET answered_ts = answered_ts + 600000 WHERE id = '1'").unwrap();
    assert_eq!(ask(&store, "s", pending("3", "h")), ApprovalState::Pending);
}

#[test]
fn resume_applies_once() {
    let (_home, store) = store();
    session(&store, "s");
    let resume = |id: &str| decide(&store, "s", ApprovalChange::Resume { id: id.to_owned() });
    ask(&store, "s", pending("1", "h"));
    assert!(!resume("1").changed);
    decide(&store, "s", ApprovalChange::End { id: "1".to_owned(), state: ApprovalState::Withdrawn });
    let first = resume("1");
    assert!(first.changed && first.approval.unwrap().resumed);
    assert!(!resume("1").changed);
    assert!(decide(&store, "s", ApprovalChange::NotResumed { id: "1".to_owned() }).changed);
    assert!(resume("1").changed);
    // A received answer leaves nothing to resume.
    unheard(&store, pending("2", "other"), "yes");
    ask(&store, "s", pending("3", "other"));
    assert!(!resume("2").changed);
}

#[test]
fn unreadable_approval_does_not_fail_other_writes() {
    let (home, store) = store();
    session(&store, "s");
    ask(&store, "s", pending("1", "h"));
    let database = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
    database.execute_batch("UPDATE approvals SET approval_json = '{'").unwrap();
    assert_eq!(decide(&store, "s", answer("1", "yes")), Decided::default());
    assert_eq!(store.approval("1"), Ok(None));
    assert_eq!(ask(&store, "s", pending("2", "h")), ApprovalState::Pending);
}

#[test]
fn always_is_rule_for_exact_command_until_revoked() {
    let (home, store) = store();
    ["s", "other"].iter().for_each(|id| session(&store, id));
    let option = |id: &str, kind| ApprovalOption { id: id.to_owned(), name: id.to_owned(), kind };
    let date = |id: &str, argument: &str| {
        let (program, cwd, args) = ("/bin/date".into(), "/projects/demo".into(), vec![argument.to_owned()]);
        let (environment, digests) = (Vec::new(), Vec::new());
        let exact =
            FrozenCommand { program, called: None, args, cwd, environment, digests, unpinned: Vec::new() };
        let command = Some(ApprovalCommand::exact(exact));
        let always = option("always", OptionKind::AllowAlways);
        let options =
            vec![option("yes", OptionKind::AllowOnce), always, option("no", OptionKind::RejectOnce)];
        Approval { command, options, ..pending(id, id) }
    };
    let is_answered =
        |state| matches!(state, ApprovalState::Answered { option_id, .. } if option_id == "always");
    assert_eq!(ask(&store, "s", date("1", "-u")), ApprovalState::Pending);
    decide(&store, "s", answer("1", "always"));
    assert!(is_answered(ask(&store, "s", date("2", "-u"))));
    assert_eq!(ask(&store, "s", date("3", "-R")), ApprovalState::Pending, "another argument");
    assert_eq!(ask(&store, "other", date("4", "-u")), ApprovalState::Pending, "another session");
    // The command refers to something inside the workspace now, so "always" is not offered.
    let mut narrow = date("5", "-u");
    narrow.options.remove(1);
    assert_eq!(ask(&store, "s", narrow), ApprovalState::Pending);
    decide(&store, "s", answer("3", "always"));
    let ids = |store: &Store| {
        store.standing_rules().unwrap().into_iter().map(|rule| rule.approval.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&store).len(), 2, "an answer by a rule is not another rule");
    store.revoke_rules(Some("1".to_owned())).unwrap();
    assert_eq!(ids(&store), ["3"]);
    assert_eq!(ask(&store, "s", date("6", "-u")), ApprovalState::Pending);
    drop(store);
    let store = Store::open(home.path(), "").unwrap();
    assert!(is_answered(ask(&store, "s", date("7", "-R"))), "it outlives a restart");
    store.revoke_rules(None).unwrap();
    assert!(ids(&store).is_empty());
    assert_eq!(ask(&store, "s", date("8", "-R")), ApprovalState::Pending);
}

#[test]
fn always_for_agent_run_command_makes_no_rule() {
    let (_home, store) = store();
    session(&store, "s");
    let reported = |id: &str| {
        let command = Some(ApprovalCommand::reported("date"));
        let option = ApprovalOption {
            id: "always".to_owned(),
            name: "Always".to_owned(),
            kind: OptionKind::AllowAlways,
        };
        Approval { command, options: vec![option], ..pending(id, id) }
    };
    ask(&store, "s", reported("1"));
    decide(&store, "s", answer("1", "always"));
    assert_eq!(ask(&store, "s", reported("2")), ApprovalState::Pending);
    assert!(store.standing_rules().unwrap().is_empty());
}
