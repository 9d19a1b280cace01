//! The protocol between the helper program and its client: one JSON object per line, commands in, reports out.
//!
//! Unknown fields are ignored. An invalid line is answered with [`Report::Failed`] and does not end the process.
//! Answers run concurrently: while one waits for a tool, the tool may itself request an answer.

use crate::availability::Unavailability;
pub use crate::limits::MAX_LINE;
use openagents_core::{
    helper::{HelperClient, HelperCommand, HelperReport},
    model::{CallRequest, ModelError, ModelRequest, StopReason, Usage},
};
use serde::{Deserialize, Serialize};

pub type Client = HelperClient<Command, Report>;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Check the availability again. Ends with [`Report::Availability`].
    Availability {
        /// Chosen by the client, for the reports; unique while the helper runs.
        id: u64,
    },
    /// Generate an answer. Ends with [`Report::Done`] or [`Report::Failed`].
    Respond {
        /// Chosen by the client, for the reports.
        id: u64,
        request: Box<ModelRequest>,
    },
    ToolResult {
        id: u64,
        /// [`CallRequest::id`] of the call.
        call_id: String,
        /// JSON or plain text.
        text: String,
    },
    /// Cancel an answer, which ends with [`ModelError::Cancelled`].
    Cancel { id: u64 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum Report {
    /// The first report.
    Hello {
        /// [`VERSION`](openagents_core::helper::VERSION) of the helper.
        version: String,
        /// Why the model is not available; absent if it is.
        unavailable: Option<Unavailability>,
    },
    Availability {
        id: u64,
        /// Why the model is not available; absent if it is.
        unavailable: Option<Unavailability>,
    },
    /// A piece of an answer.
    Text {
        id: u64,
        text: String,
    },
    /// The model calls a tool; the answer continues after [`Command::ToolResult`].
    ToolCall {
        id: u64,
        /// The call; its arguments match the schema of the tool.
        call: CallRequest,
    },
    Usage {
        id: u64,
        usage: Usage,
    },
    /// An answer is complete.
    Done {
        id: u64,
        stop: StopReason,
    },
    Failed {
        /// The id of the command; `None` if the line had no valid id.
        id: Option<u64>,
        error: ModelError,
    },
}

impl HelperCommand for Command {
    fn cancel(id: u64) -> Self {
        Self::Cancel { id }
    }
}

impl HelperReport for Report {
    fn version(&self) -> Option<&str> {
        match self {
            Self::Hello { version, .. } => Some(version),
            _ => None,
        }
    }

    fn id(&self) -> Option<u64> {
        match self {
            Self::Hello { .. } => None,
            Self::Failed { id, .. } => *id,
            Self::Availability { id, .. }
            | Self::Text { id, .. }
            | Self::ToolCall { id, .. }
            | Self::Usage { id, .. }
            | Self::Done { id, .. } => Some(*id),
        }
    }

    fn ends_command(&self) -> bool {
        matches!(self, Self::Availability { .. } | Self::Done { .. } | Self::Failed { .. })
    }

    fn failed(id: u64, error: ModelError) -> Self {
        Self::Failed { id: Some(id), error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::{
        helper::{read_messages, write_line},
        model::{AssistantMessage, Message, ModelOptions, ToolSpec},
    };
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// Serializes and parses messages as the two programs do.
    fn sent<T: Serialize + serde::de::DeserializeOwned>(messages: &[T]) -> Vec<T> {
        let mut wire = Vec::new();
        messages.iter().for_each(|message| write_line(&mut wire, message).unwrap());
        let mut arrived = Vec::new();
        read_messages(wire.as_slice(), MAX_LINE, |message| arrived.push(message.unwrap())).unwrap();
        arrived
    }

    fn request(text: &str) -> ModelRequest {
        let call = CallRequest { id: "c".to_owned(), name: text.to_owned(), arguments: json!({"a": text}) };
        ModelRequest {
            instructions: text.to_owned(),
            messages: vec![
                Message::User { text: text.to_owned() },
                Message::Assistant(AssistantMessage { calls: vec![call], ..AssistantMessage::default() }),
                Message::Tool { call_id: "c".to_owned(), name: "t".to_owned(), text: text.to_owned() },
            ],
            tools: vec![ToolSpec {
                name: "t".to_owned(),
                description: text.to_owned(),
                parameters: json!({}),
            }],
            options: ModelOptions::default(),
        }
    }

    #[test]
    fn lines_match_snapshot() {
        let commands = [
            Command::Availability { id: 1 },
            Command::ToolResult { id: 2, call_id: "c".to_owned(), text: "t".to_owned() },
            Command::Cancel { id: 2 },
        ];
        let reports = [
            Report::Hello { version: "1".to_owned(), unavailable: Some(Unavailability::NotMacOs) },
            Report::Availability { id: 1, unavailable: None },
            Report::Text { id: 2, text: "a\nb".to_owned() },
            Report::Done { id: 2, stop: StopReason::EndTurn },
            Report::Failed { id: None, error: ModelError::ContextOverflow { needed: 5000, context: 4096 } },
        ];
        let lines = commands.iter().map(|command| serde_json::to_string(command).unwrap());
        let lines: Vec<_> =
            lines.chain(reports.iter().map(|report| serde_json::to_string(report).unwrap())).collect();
        insta::assert_snapshot!(lines.join("\n"));
        assert_eq!(sent(&commands), commands);
        assert_eq!(sent(&reports), reports);
    }

    #[test]
    fn unknown_fields_are_ignored() {
        let read: Command =
            serde_json::from_str(r#"{"command":"cancel","id":3,"fromTheFuture":{}}"#).unwrap();
        assert_eq!(read, Command::Cancel { id: 3 });
    }

    proptest! {
        #[test]
        fn any_text_round_trips(text in any::<String>(), id in any::<u64>(), figure in any::<u32>()) {
            let commands = [
                Command::Respond { id, request: Box::new(request(&text)) },
                Command::ToolResult { id, call_id: text.clone(), text: text.clone() },
            ];
            prop_assert_eq!(sent(&commands), commands);
            let call = CallRequest { id: text.clone(), name: text.clone(), arguments: json!({text.clone(): [text.clone()]}) };
            let usage = Usage { prompt_tokens: figure, tokens: figure, ..Usage::default() };
            let reports = [
                Report::Text { id, text: text.clone() },
                Report::ToolCall { id, call },
                Report::Usage { id, usage },
                Report::Failed { id: Some(id), error: ModelError::Failed(text) },
            ];
            prop_assert_eq!(sent(&reports), reports);
        }

        #[test]
        fn lines_never_panic(
            line in prop_oneof![
                ".{0,200}",
                "\\{\"(command|report)\":\"(respond|tool_result|cancel|hello|text|tool_call|failed)\",\"id\":[0-9-]{1,3}.{0,40}\\}",
            ],
        ) {
            let _ = serde_json::from_str::<Command>(&line);
            let _ = serde_json::from_str::<Report>(&line);
            let _ = serde_json::from_str::<Value>(&line);
        }
    }
}
