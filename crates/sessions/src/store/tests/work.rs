use super::{
    open_work::{Change, OpenWork},
    *,
};
use crate::testing::{
    approval, call, completed, delegated, every_update, failed, mode, plan, started, stored, user,
};
use openagents_core::approval::ApprovalState;
use proptest::prelude::*;

fn chunk(id: &str, ended: bool) -> SessionUpdate {
    let (text, message_id) = ("x".to_owned(), Some(id.to_owned()));
    SessionUpdate::AgentMessage(AgentMessage { text, message_id, ended, ..AgentMessage::default() })
}

fn ending(text: &str) -> SessionUpdate {
    let text = text.to_owned();
    SessionUpdate::AgentMessage(AgentMessage { text, ended: true, ..AgentMessage::default() })
}

fn thought() -> SessionUpdate {
    SessionUpdate::AgentThought(AgentThought { text: "Hm".to_owned(), ..AgentThought::default() })
}

fn describe(changes: &[Change]) -> String {
    let shown = changes.iter().map(|change| match change {
        Change::Opened(part, seq) => format!("+{}:{seq}", part.name()),
        Change::Closed(part, seq) => format!("-{}:{seq}", part.name()),
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn each_update_changes_the_open_work() {
    use EntryStatus::*;
    let log = [
        (user("a", "c"), "+prompt:1"),
        (thought(), "-prompt:1 +answer:2"),
        (call("c", "edit"), "+call:3"),
        (started("c", 0.5), ""),
        (approval("c", ApprovalState::Pending), "+approval:5"),
        (approval("c", ApprovalState::Withdrawn), "-approval:5"),
        (plan(RunState::Running, &[Pending]), "+plan:7"),
        (plan(RunState::Complete, &[Completed]), "-plan:7 +plan:8"),
        (delegated(user("d", "c")), "+prompt:9"),
        (delegated(chunk("m", false)), "-prompt:9 +answer:10 +message:10"),
        (completed("x".into()), "-call:3"),
        (chunk("m", false), "+message:12"),
        (user("b", "c"), "+prompt:13"),
        (mode("codex"), ""),
        (chunk("m", true), "-answer:2"),
        (delegated(chunk("m", true)), "-answer:10 -message:10"),
        (plan(RunState::Running, &[Pending]), "-plan:8 +plan:17"),
        (ending("Cancelled before it began."), "-message:12 -prompt:13 +answer:18 -answer:18"),
        (plan(RunState::Cancelled, &[Completed]), "-plan:17 +plan:19 -plan:19"),
        (failed("c"), ""),
        (text("❌ no"), "+answer:21 -answer:21"),
    ];
    let mut work = OpenWork::default();
    let (updates, expected): (Vec<_>, Vec<_>) = log.into_iter().unzip();
    for (stored, expected) in stored(updates).iter().zip(expected) {
        assert_eq!(describe(&work.apply(stored)), expected, "{stored:?}");
    }
    assert!(work.is_empty());
}

#[test]
fn removed_or_steered_prompt_stops_waiting() {
    let prompt = |id: &str, removed| {
        let message_id = Some(id.to_owned());
        SessionUpdate::UserMessage(UserMessage { message_id, removed, ..UserMessage::default() })
    };
    let mut work = OpenWork::default();
    let steered = SessionUpdate::UserMessage(UserMessage {
        message_id: Some("a".to_owned()),
        steered: true,
        ..UserMessage::default()
    });
    let log = [prompt("a", false), prompt("b", false), prompt("b", true), prompt("gone", true), steered];
    let changes: Vec<_> = stored(log.to_vec()).iter().map(|stored| describe(&work.apply(stored))).collect();
    assert_eq!(changes, ["+prompt:1", "+prompt:2", "-prompt:2", "", "-prompt:1"]);
}

fn any_log() -> impl Strategy<Value = Vec<SessionUpdate>> {
    use EntryStatus::*;
    let mut updates = every_update();
    updates.extend([
        call("c", "edit"),
        completed("x".into()),
        chunk("m", false),
        chunk("m", true),
        thought(),
    ]);
    updates.extend([plan(RunState::Complete, &[Completed]), approval("c4", ApprovalState::Expired)]);
    updates.extend([call("c4", "edit"), user("more", "c")]);
    let delegates =
        updates.clone().into_iter().filter(|update| !matches!(update, SessionUpdate::Delegated(_)));
    updates.extend(delegates.map(delegated));
    proptest::collection::vec(proptest::sample::select(updates), 0..60)
}

fn parts(work: &OpenWork) -> Vec<(u64, &'static str)> {
    let mut parts: Vec<_> = work.0.iter().map(|open| (open.by.seq, open.part.name())).collect();
    parts.sort_unstable();
    parts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn stored_open_work_matches_whole_log(log in any_log(), at_once in 1..8usize) {
        let (home, store) = store();
        session(&store, "s");
        let mut folded = OpenWork::default();
        stored(log.clone()).iter().for_each(|stored| drop(folded.apply(stored)));
        for updates in log.chunks(at_once) {
            store.append("s", updates.to_vec()).unwrap();
        }
        prop_assert_eq!(parts(&store.open_work("s").unwrap()), parts(&folded));
        drop(store);
        let store = Store::open(home.path(), "").unwrap();
        prop_assert_eq!(parts(&store.open_work("s").unwrap()), parts(&folded));
    }
}
