//! The sub-agents of an agent: `subagent_update` and messages between sessions.

use super::{from_wire, stage::Stage};
use crate::{
    limits::OPTION_ID,
    output::{Change, Direction, SubagentNews, SubagentState, one_line},
};
use openagents_core::update::RunState;
use serde_json::Value;
use std::time::Instant;

/// An update about a sub-agent, other than its own output.
#[derive(Debug, PartialEq)]
pub(super) enum SubagentUpdate {
    News(SubagentNews),
    Message {
        from: String,
        to: String,
        id: String,
        text: String,
    },
    /// More text of a message.
    Chunk {
        id: String,
        text: String,
    },
}

/// Reads an update about a sub-agent, from the raw JSON so that a bad member does not lose the rest. `None` if it is
/// another kind of update, or has no id.
pub(super) fn read(update: &Value) -> Option<SubagentUpdate> {
    let id = |name: &str| {
        let id = update[name].as_str().filter(|id| !id.is_empty() && id.len() <= OPTION_ID);
        id.map(str::to_owned)
    };
    Some(match update["sessionUpdate"].as_str()? {
        "subagent_update" => SubagentUpdate::News(SubagentNews {
            id: id("sessionId")?,
            title: change(update, "title"),
            description: change(update, "description"),
            can_stop: update.get("capabilities").map(|all| all["cancel"].is_object()),
            state: state(&update["state"]),
        }),
        "session_message" => SubagentUpdate::Message {
            from: id("senderSessionId")?,
            to: id("recipientSessionId")?,
            id: id("messageId")?,
            text: match &update["content"] {
                Value::Array(blocks) => blocks.iter().filter_map(from_wire::block_text).collect(),
                _ => String::new(),
            },
        },
        "session_message_chunk" => {
            SubagentUpdate::Chunk { id: id("messageId")?, text: from_wire::block_text(&update["content"])? }
        }
        _ => return None,
    })
}

/// Reads a text that is unchanged if absent and cleared by `null`.
fn change(update: &Value, name: &str) -> Change {
    match update.get(name) {
        Some(Value::String(text)) => Change::Set(text.clone()),
        Some(Value::Null) => Change::Clear,
        _ => Change::None,
    }
}

/// `None` if it says nothing about whether the sub-agent works.
fn state(state: &Value) -> Option<SubagentState> {
    match state["state"].as_str()? {
        "running" => Some(SubagentState::Working),
        "idle" => {
            let error = state["error"]["message"].as_str().and_then(one_line);
            let (state, error) = match state["stopReason"].as_str() {
                Some("cancelled") => (RunState::Cancelled, None),
                Some("error") => (RunState::Failed, error),
                Some("refusal") => (RunState::Failed, Some("it refused".to_owned())),
                Some("max_tokens") => (RunState::Failed, Some("it hit its token limit".to_owned())),
                Some("max_turn_requests") => (RunState::Failed, Some("it hit its step limit".to_owned())),
                _ => (RunState::Complete, None),
            };
            Some(SubagentState::Ended { state, error })
        }
        _ => None,
    }
}

impl Stage {
    /// Applies an update about a sub-agent. `from`: the session that it came from, if that is a sub-agent.
    pub(super) fn apply_subagent(&mut self, now: Instant, from: Option<&str>, update: SubagentUpdate) {
        let (all, session) = (&mut self.subagents, &mut self.timeline);
        match update {
            // The session itself is no sub-agent.
            SubagentUpdate::News(news) if self.session.as_deref() == Some(&*news.id) => {}
            SubagentUpdate::News(news) => {
                let ended = matches!(news.state, Some(SubagentState::Ended { .. })).then(|| news.id.clone());
                all.apply(now, news, from, session);
                if let Some(id) = ended {
                    self.cancel_asks_of(&id);
                }
            }
            // Both sessions get the message. It is shown once, where it arrives: a task in the session of the sub-agent, an
            // answer in that of the one that gave the task.
            SubagentUpdate::Message { from: sender, to, id, text } => {
                let above = |id: &str| all.parent(id).map(|parent| parent.map(str::to_owned));
                let by = Some(sender.clone()).filter(|sender| all.knows(sender));
                if from == Some(&*to) && above(&to) == Some(by) {
                    all.message(now, &to, Direction::ToSubagent, &id, &text, session);
                } else if above(&sender).is_some_and(|above| above.as_deref() == from) {
                    all.message(now, &sender, Direction::FromSubagent, &id, &text, session);
                }
            }
            SubagentUpdate::Chunk { id, text } => all.add_to_message(&id, &text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn subagent_update_is_read_leniently() {
        let full = json!({"sessionUpdate": "subagent_update", "sessionId": "c", "title": "T", "description": null,
            "capabilities": {"cancel": {}}, "state": {"state": "running"}, "cwd": 7, "extra": {}});
        let news = SubagentNews {
            id: "c".to_owned(),
            title: Change::Set("T".to_owned()),
            description: Change::Clear,
            can_stop: Some(true),
            state: Some(SubagentState::Working),
        };
        assert_eq!(read(&full), Some(SubagentUpdate::News(news)));
        for id in [Value::Null, json!(7), json!(""), json!("x".repeat(1 << 20))] {
            let mut bad = full.clone();
            bad["sessionId"] = id;
            assert_eq!(read(&bad), None);
        }
        for member in ["title", "description", "capabilities", "state"] {
            for value in [json!(7), json!([]), json!({"x": {}}), json!({"state": "from_the_future"})] {
                let mut odd = full.clone();
                odd[member] = value;
                assert!(matches!(read(&odd), Some(SubagentUpdate::News(_))), "{odd}");
            }
        }
        let ended = |state, error: Option<&str>| {
            Some(SubagentState::Ended { state, error: error.map(str::to_owned) })
        };
        for (value, expected) in [
            (json!({"state": "idle"}), ended(RunState::Complete, None)),
            (json!({"state": "idle", "stopReason": "cancelled"}), ended(RunState::Cancelled, None)),
            (
                json!({"state": "idle", "stopReason": "error", "error": {"code": 1, "message": "No key"}}),
                ended(RunState::Failed, Some("No key")),
            ),
            (json!({"state": "requires_action"}), None),
            (json!({"state": "unknown"}), None),
            (Value::Null, None),
        ] {
            assert_eq!(state(&value), expected, "{value}");
        }
    }

    #[test]
    fn messages_need_their_ids() {
        let full = json!({"sessionUpdate": "session_message", "messageId": "m", "senderSessionId": "a",
            "recipientSessionId": "b", "content": [{"type": "text", "text": "x"}, {"type": "odd"}, 7]});
        let [from, to, id, text] = ["a", "b", "m", "x"].map(str::to_owned);
        assert_eq!(read(&full), Some(SubagentUpdate::Message { from, to, id, text }));
        for member in ["messageId", "senderSessionId", "recipientSessionId"] {
            let mut bad = full.clone();
            bad[member] = Value::Null;
            assert_eq!(read(&bad), None, "{member}");
        }
        let chunk = json!({"sessionUpdate": "session_message_chunk", "messageId": "m", "content": {"type": "text", "text": "y"}});
        let [id, text] = ["m", "y"].map(str::to_owned);
        assert_eq!(read(&chunk), Some(SubagentUpdate::Chunk { id, text }));
    }
}
