//! A session's folded state in a client: rows of messages and calls, and the last plan. Applying the updates one by
//! one and taking a snapshot must lead to the same state.

use super::numbers::{self, Item};
use serde_json::{Map, Value, json};

/// A client's folded state of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Folded {
    rows: Vec<Row>,
    plan: Option<Value>,
    title: Option<String>,
    mode: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Row {
    Message { kind: String, id: Value, text: String },
    Call { id: String, shown: Map<String, Value>, error: Value, approval: Value },
}

impl Folded {
    /// Applies the next update, in the format of the ACP endpoint.
    pub fn apply(&mut self, update: &Value) {
        let ours = &update["_meta"]["openagents"];
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            kind @ ("user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk") => {
                let reply = update["content"]["text"].as_str().unwrap_or_default();
                match self.rows.last_mut() {
                    Some(Row::Message { kind: last, id, text })
                        if *last == *kind && *id == update["messageId"] && !id.is_null() =>
                    {
                        text.push_str(reply);
                    }
                    _ => self.rows.push(Row::Message {
                        kind: kind.to_owned(),
                        id: update["messageId"].clone(),
                        text: reply.to_owned(),
                    }),
                }
            }
            "tool_call" | "tool_call_update" => {
                let id = update["toolCallId"].as_str().unwrap_or_default();
                let known = self
                    .rows
                    .iter()
                    .rposition(|row| matches!(row, Row::Call { id: known, .. } if known == id));
                let index = known.unwrap_or_else(|| {
                    let (error, approval) = (Value::Null, Value::Null);
                    self.rows.push(Row::Call { id: id.to_owned(), shown: Map::new(), error, approval });
                    self.rows.len() - 1
                });
                let Some(Row::Call { shown, error, approval, .. }) = self.rows.get_mut(index) else { return };
                for name in
                    ["title", "name", "kind", "status", "rawInput", "rawOutput", "content", "locations"]
                {
                    if let Some(value) = update.get(name) {
                        shown.insert(name.to_owned(), value.clone());
                    }
                }
                for (name, place) in [("error", error), ("approval", approval)] {
                    if let Some(value) = ours.get(name) {
                        *place = value.clone();
                    }
                }
            }
            "plan" => self.plan = Some(json!({"entries": update["entries"], "state": ours["state"]})),
            "current_mode_update" => self.mode = update["currentModeId"].as_str().map(str::to_owned),
            "session_info_update" => {
                if let Some(title) = update["title"].as_str() {
                    self.title = Some(title.to_owned());
                }
            }
            _ => {}
        }
    }

    /// Returns the items of the agent and the users, in order, or the problem with them.
    pub fn items(&self) -> Result<Vec<Item>, String> {
        let mut items = Vec::new();
        for row in &self.rows {
            let update = match row {
                Row::Message { kind, text, .. } => json!({"sessionUpdate": kind, "content": {"text": text}}),
                Row::Call { id, .. } => json!({"sessionUpdate": "tool_call", "toolCallId": id}),
            };
            items.extend(numbers::items(&update)?);
        }
        Ok(items)
    }

    /// Returns the first difference between two states.
    pub fn difference(&self, other: &Self) -> Option<String> {
        for index in 0..self.rows.len().max(other.rows.len()) {
            let (one, two) = (self.rows.get(index), other.rows.get(index));
            if one != two {
                return Some(format!("row {index}: {} instead of {}", brief(&one), brief(&two)));
            }
        }
        (self != other).then(|| {
            let rest = |folded: &Self| brief(&(&folded.plan, &folded.title, &folded.mode));
            format!("{} instead of {}", rest(self), rest(other))
        })
    }
}

fn brief(value: &impl std::fmt::Debug) -> String {
    numbers::head(&format!("{value:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshot_equals_its_updates() {
        let chunk = |id: &str, text: &str| json!({"sessionUpdate": "agent_message_chunk", "messageId": id, "content": {"text": text}});
        let call =
            json!({"sessionUpdate": "tool_call", "toolCallId": "call-3", "title": "t", "status": "pending"});
        let news = |status: &str| json!({"sessionUpdate": "tool_call_update", "toolCallId": "call-3", "status": status});
        let fold = |updates: &[Value]| {
            let mut folded = Folded::default();
            updates.iter().for_each(|update| folded.apply(update));
            folded
        };
        let (one, two) = (numbers::text(1), numbers::text(2));
        let live = fold(&[
            chunk("m", &one),
            call.clone(),
            news("in_progress"),
            news("completed"),
            chunk("n", &two),
            chunk("n", &one),
        ]);
        let mut done = call;
        done["status"] = "completed".into();
        let snapshot = fold(&[chunk("m", &one), done, chunk("n", &(two.clone() + &one))]);
        assert_eq!(live.difference(&snapshot), None);
        assert_eq!(live.items().unwrap().len(), 4);
        assert!(live.difference(&fold(&[chunk("m", &one)])).is_some());
    }
}
