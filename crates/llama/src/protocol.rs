//! The protocol between the helper program and its client: one JSON object per line, commands in, reports out.
//!
//! Unknown fields are ignored. An invalid line is answered with [`Report::Failed`] and does not end the process.

pub use crate::limits::MAX_LINE;
use crate::{LoadRequest, Loaded, engine::Device};
use openagents_core::{
    helper::{HelperCommand, HelperReport},
    model::{Activity, CallRequest, ModelError, ModelEvent, ModelRequest, Reasoning, StopReason, Usage},
};
use serde::{Deserialize, Serialize};

/// A command from the client. Commands run one at a time, except [`Command::Cancel`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Load a model, replacing the current one. Ends with [`Report::Loaded`] or [`Report::Failed`].
    Load {
        /// Chosen by the client; reports refer to it.
        id: u64,
        load: LoadRequest,
    },
    /// Generate an answer. Ends with [`Report::Done`] or [`Report::Failed`].
    Generate {
        /// Chosen by the client; reports refer to it.
        id: u64,
        request: Box<ModelRequest>,
    },
    /// Cancel a running or queued command, which ends with [`ModelError::Cancelled`].
    Cancel { id: u64 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum Report {
    /// The first report.
    Hello {
        /// [`VERSION`](openagents_core::helper::VERSION) of the helper.
        version: String,
        devices: Vec<Device>,
    },
    /// An event of a running command.
    Event {
        id: u64,
        #[serde(with = "Event")]
        event: ModelEvent,
    },
    Loaded {
        id: u64,
        loaded: Loaded,
    },
    /// An answer is complete.
    Done {
        id: u64,
        stop: StopReason,
    },
    Failed {
        /// The command; `None` if the line had no valid id.
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
            Self::Event { id, .. } | Self::Loaded { id, .. } | Self::Done { id, .. } => Some(*id),
        }
    }

    fn ends_command(&self) -> bool {
        !matches!(self, Self::Hello { .. } | Self::Event { .. })
    }

    fn failed(id: u64, error: ModelError) -> Self {
        Self::Failed { id: Some(id), error }
    }
}

/// The wire form of [`ModelEvent`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "ModelEvent", rename_all = "snake_case")]
enum Event {
    Activity(Activity),
    Text(String),
    Preamble(String),
    Reasoning(Reasoning),
    ToolCall(CallRequest),
    Usage(Usage),
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(report: &Report) {
        let line = serde_json::to_string(report).unwrap();
        assert_eq!(&serde_json::from_str::<Report>(&line).unwrap(), report, "{line}");
    }

    #[test]
    fn events_and_errors_round_trip() {
        let call = CallRequest {
            id: "1".to_owned(),
            name: "fs.list_dir".to_owned(),
            arguments: serde_json::json!({"path": "."}),
        };
        for event in [
            ModelEvent::Activity(Activity::Loading { progress: 0.5 }),
            ModelEvent::Activity(Activity::Generating { tokens: 3, tokens_per_second: 1.5 }),
            ModelEvent::Text("a\n🦊".to_owned()),
            ModelEvent::Preamble("p".to_owned()),
            ModelEvent::Reasoning(Reasoning::new("r")),
            ModelEvent::ToolCall(call),
            ModelEvent::Usage(Usage { tokens: 7, memory_bytes: u64::MAX, ..Usage::default() }),
        ] {
            round_trip(&Report::Event { id: 1, event });
        }
        for error in [
            ModelError::Cancelled,
            ModelError::Unavailable("u".to_owned()),
            ModelError::Load("l".to_owned()),
            ModelError::ContextOverflow { needed: 9, context: 8 },
            ModelError::Crashed("c".to_owned()),
            ModelError::Malformed,
            ModelError::Failed("f".to_owned()),
        ] {
            round_trip(&Report::Failed { id: None, error });
        }
    }

    #[test]
    fn unknown_fields_are_ignored() {
        let read: Command =
            serde_json::from_str(r#"{"command":"cancel","id":3,"fromTheFuture":{}}"#).unwrap();
        assert_eq!(read, Command::Cancel { id: 3 });
    }

    proptest! {
        #[test]
        fn lines_never_panic(line in ".{0,200}") {
            let _ = serde_json::from_str::<Command>(&line);
            let _ = serde_json::from_str::<Report>(&line);
        }

        #[test]
        fn any_text_round_trips(text in any::<String>()) {
            round_trip(&Report::Event { id: 0, event: ModelEvent::Text(text) });
        }
    }
}
