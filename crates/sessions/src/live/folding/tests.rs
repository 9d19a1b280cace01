use super::*;
use crate::{
    scope::{Scope, scoped, wrap},
    store::*,
    testing,
};
use openagents_core::update::*;
use proptest::prelude::*;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

impl Log for Vec<Arc<Stored>> {
    fn after(&self, since: u64, limit: usize) -> Result<Vec<Arc<Stored>>, StoreError> {
        Ok(self.iter().filter(|stored| stored.seq > since).take(limit).cloned().collect())
    }
}

fn fold(log: &[Arc<Stored>]) -> Vec<Folded> {
    let mut folding = Folding::new(log.to_vec(), log.len() as u64);
    let mut all = Vec::new();
    loop {
        let page = folding.next_page().unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

fn updates(folded: Vec<Folded>) -> Vec<SessionUpdate> {
    let mut all = Vec::new();
    for one in folded {
        let scope = scoped(&one.update).0;
        all.push(one.update);
        all.extend(one.news.map(|news| wrap(&scope, SessionUpdate::ToolCallUpdate(news.update))));
    }
    all
}

/// A row that a client shows.
#[derive(Debug, Clone, PartialEq)]
enum Row {
    Prompt(UserMessage),
    Said(AgentMessage),
    Thought(AgentThought, bool),
    Call(String),
    Note(String),
    Other(SessionUpdate),
}

#[derive(Debug, Default, PartialEq)]
struct Call {
    announced: Option<(String, Option<u32>, Option<String>)>,
    status: Option<ToolCallStatus>,
    late: bool,
    details: ToolCallDetails,
}

/// A client that does not know about folding.
#[derive(Debug, Default, PartialEq)]
struct Client {
    rows: BTreeMap<Scope, Vec<Row>>,
    calls: HashMap<(Scope, String), Call>,
    /// Subjects for which only the last update counts.
    last: HashMap<(Scope, String), SessionUpdate>,
}

impl Client {
    fn after<'a>(updates: impl IntoIterator<Item = &'a SessionUpdate>) -> Self {
        let mut client = Self::default();
        updates.into_iter().for_each(|update| client.apply(update));
        // An update without effect, such as the removal of an unknown prompt, leaves no row.
        client.rows.retain(|_, rows| !rows.is_empty());
        client
    }

    fn apply(&mut self, update: &SessionUpdate) {
        let (scope, update) = scoped(update);
        let rows = self.rows.entry(scope.clone()).or_default();
        if ends_thought(update)
            && let Some(Row::Thought(_, ended)) = rows.last_mut()
        {
            *ended = true;
        }
        let mut last = |name: &str| {
            self.last.insert((scope.clone(), name.to_owned()), update.clone());
        };
        match update {
            SessionUpdate::UserMessage(mark) if is_mark(update) => {
                for row in rows {
                    if let Row::Prompt(prompt) = row
                        && prompt.message_id == mark.message_id
                    {
                        (prompt.removed, prompt.steered) = (mark.removed, mark.steered);
                    }
                }
            }
            SessionUpdate::UserMessage(message) => rows.push(Row::Prompt(message.clone())),
            SessionUpdate::AgentMessage(message) => match rows.last_mut() {
                Some(Row::Said(known))
                    if (&known.message_id, known.late) == (&message.message_id, message.late)
                        && !known.ends_turn() =>
                {
                    known.text.push_str(&message.text);
                    known.usage.clone_from(&message.usage);
                    known.summary.clone_from(&message.summary);
                    known.ended = message.ended;
                }
                _ => rows.push(Row::Said(message.clone())),
            },
            SessionUpdate::AgentThought(thought) => match rows.last_mut() {
                Some(Row::Thought(known, false))
                    if (&known.message_id, known.late) == (&thought.message_id, thought.late) =>
                {
                    known.text.push_str(&thought.text);
                }
                _ => rows.push(Row::Thought(thought.clone(), false)),
            },
            SessionUpdate::AgentNote(note) => {
                if !self.last.contains_key(&(scope.clone(), note.id.clone())) {
                    rows.push(Row::Note(note.id.clone()));
                }
                self.last.insert((scope, note.id.clone()), update.clone());
            }
            SessionUpdate::Plan(_) => last("plan"),
            SessionUpdate::Title(_) => last("title"),
            SessionUpdate::AgentState(state) => last(state.part.name()),
            SessionUpdate::Mode(_) => last("mode"),
            SessionUpdate::Approval(approval) => last(&approval.id),
            SessionUpdate::ToolCall(call) => {
                let known = self.calls.entry((scope.clone(), call.call_id.clone())).or_insert_with(|| {
                    rows.push(Row::Call(call.call_id.clone()));
                    Call::default()
                });
                known.announced = Some((call.name.clone(), call.op_hash, call.stage.clone()));
                // A new announcement replaces the earlier details.
                known.details = call.details.clone();
                known.details.raw_input = Some(call.arguments.clone().into());
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let known = self.calls.entry((scope.clone(), update.call_id.clone())).or_insert_with(|| {
                    rows.push(Row::Call(update.call_id.clone()));
                    Call::default()
                });
                if update.status != ToolCallStatus::Unchanged {
                    known.status = Some(update.status.clone());
                }
                known.late |= update.late;
                known.show(&update.details);
            }
            SessionUpdate::Routed(_) | SessionUpdate::Delegated(_) => rows.push(Row::Other(update.clone())),
        }
    }
}

impl Call {
    fn show(&mut self, details: &ToolCallDetails) {
        let ToolCallDetails { title, kind, raw_input, locations, content } = details.clone();
        let known = &mut self.details;
        known.title = title.or(known.title.take());
        known.kind = kind.or(known.kind);
        known.raw_input = raw_input.or(known.raw_input.take());
        if !locations.is_empty() {
            known.locations = locations;
        }
        if !content.is_empty() {
            known.content = content;
        }
    }
}

fn any_update() -> impl Strategy<Value = SessionUpdate> {
    let text = prop_oneof![Just("a".to_owned()), Just("b c\n\n".to_owned()), Just("Cancelled.".to_owned())];
    let id = prop_oneof![Just(None), Just(Some("m".to_owned())), Just(Some("n".to_owned()))];
    let reply = (text.clone(), id.clone(), any::<bool>(), proptest::bool::weighted(0.2));
    let reply = reply.prop_map(|(text, message_id, late, ended)| {
        SessionUpdate::AgentMessage(AgentMessage { text, message_id, late, ended, ..AgentMessage::default() })
    });
    let thought = (text, id, any::<bool>()).prop_map(|(text, message_id, late)| {
        SessionUpdate::AgentThought(AgentThought { text, message_id, late })
    });
    let status = prop_oneof![
        Just(ToolCallStatus::Unchanged),
        Just(ToolCallStatus::Started { progress: 0.5, note: None }),
        Just(ToolCallStatus::Completed { output: serde_json::json!(["x"]), cut: Default::default() }),
        Just(ToolCallStatus::Error { message: "gone".to_owned() }),
    ];
    let title = prop_oneof![Just(None), Just(Some("one".to_owned())), Just(Some("two".to_owned()))];
    let details = (title, proptest::option::of(0..3u8)).prop_map(|(title, input)| ToolCallDetails {
        title,
        raw_input: input.map(Into::into),
        ..ToolCallDetails::default()
    });
    let news =
        ("[xyz]", status, any::<bool>(), details.clone()).prop_map(|(call_id, status, late, details)| {
            SessionUpdate::ToolCallUpdate(ToolCallUpdate { call_id, status, late, details })
        });
    let call = ("[xyz]", details).prop_map(|(id, details)| match testing::call(&id, "search.grep") {
        SessionUpdate::ToolCall(call) => {
            SessionUpdate::ToolCall(openagents_core::update::ToolCall { details, ..call })
        }
        other => other,
    });
    let kinds = proptest::sample::select(testing::every_update());
    let own = prop_oneof![3 => reply, 2 => thought, 3 => news, 2 => call, 2 => kinds];
    (own, proptest::option::weighted(0.3, "[pq]")).prop_map(|(update, delegate)| match (update, delegate) {
        (update @ SessionUpdate::Delegated(_), _) | (update, None) => update,
        (update, Some(call)) => wrap(&Some((call, "child".to_owned())), update),
    })
}

/// A log as a bridge writes it: prompt ids are unique.
fn any_log() -> impl Strategy<Value = Vec<Arc<Stored>>> {
    proptest::collection::vec(any_update(), 0..60).prop_map(|mut updates| {
        let mut prompts = 0;
        for update in &mut updates {
            let is_mark = is_mark(scoped(update).1);
            if let SessionUpdate::UserMessage(message) = update {
                prompts += u8::from(!is_mark);
                message.message_id = Some(format!("q{}", prompts.saturating_sub(u8::from(is_mark) * 2)));
            }
        }
        // Prompts of delegates have no id.
        updates.retain(|update| {
            !matches!(scoped(update), (Some(_), SessionUpdate::UserMessage(m)) if m.message_id.is_some())
        });
        testing::stored(updates)
    })
}

proptest! {
    #[test]
    fn folded_log_gives_same_state(log in any_log(), part in 0.0..=1.0f64) {
        let cut = (log.len() as f64 * part) as usize;
        let short = updates(fold(&log[..cut]));
        let rest = log[cut..].iter().map(|stored| &stored.update);
        prop_assert_eq!(
            Client::after(short.iter().chain(rest)),
            Client::after(log.iter().map(|stored| &stored.update))
        );
    }

    #[test]
    fn folding_is_idempotent(log in any_log()) {
        let once = updates(fold(&log));
        let twice = updates(fold(&testing::stored(once.clone())));
        prop_assert_eq!(once, twice);
    }
}

#[test]
fn folded_update_has_seq_of_last_update() {
    let log = testing::stored(vec![
        testing::user("One", "c"),
        testing::call("a", "search.grep"),
        testing::text("x"),
        testing::text("y"),
        testing::started("a", 0.5),
        testing::failed("a"),
        testing::mode("codex"),
        testing::mode("default_mode"),
    ]);
    let folded: Vec<_> = fold(&log).iter().map(|one| (one.seq, one.ts, one.last_ts)).collect();
    assert_eq!(folded, [(1, 100, 100), (6, 200, 600), (4, 300, 400), (8, 800, 800)]);
}

#[test]
fn long_message_is_folded_into_chunks() {
    let log = testing::stored(vec![testing::text(&"x".repeat(100 << 10)); 10]);
    let folded = fold(&log);
    assert_eq!(folded.len(), 5);
    let text = |one: &Folded| match &one.update {
        SessionUpdate::AgentMessage(message) => message.text.len(),
        _ => 0,
    };
    assert_eq!(folded.iter().map(text).sum::<usize>(), 1000 << 10);
}

#[test]
fn folding_ignores_updates_after_end() {
    let log =
        testing::stored(vec![testing::call("a", "x"), testing::started("a", 0.5), testing::failed("a")]);
    let mut folding = Folding::new(log, 2);
    let page = folding.next_page().unwrap();
    assert_eq!(page.len(), 1);
    let status = page[0].news.as_ref().map(|news| &news.update.status);
    assert!(matches!(status, Some(ToolCallStatus::Started { .. })));
    assert!(folding.next_page().unwrap().is_empty());
}

#[test]
fn update_of_earlier_call_splits_thought() {
    let thought = |text: &str| {
        SessionUpdate::AgentThought(AgentThought { text: text.to_owned(), message_id: None, late: false })
    };
    let log = testing::stored(vec![
        testing::call("a", "x"),
        thought("one "),
        thought("and "),
        testing::started("a", 0.5),
        testing::mode("codex"),
        thought("two"),
        testing::failed("a"),
    ]);
    let short = updates(fold(&log));
    let texts: Vec<_> = short
        .iter()
        .filter_map(|update| match update {
            SessionUpdate::AgentThought(thought) => Some(thought.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["one and ", "two"]);
    assert_eq!(Client::after(&short), Client::after(log.iter().map(|stored| &stored.update)));
}
