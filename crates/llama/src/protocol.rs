//! What the helper program and its client say to each other: one JSON object a line, commands in, reports out.
//!
//! Fields that one side does not know are ignored. A line that makes no sense is answered with [`Report::Failed`] and
//! ends nothing.

pub use openagents_core::helper::{Line, read_line, write_line};

use crate::{LoadRequest, Loaded, engine::Device};
use openagents_core::model::{
    Activity, CallRequest, ModelError, ModelEvent, ModelRequest, Reasoning, StopReason, Usage,
};
use serde::{Deserialize, Serialize};

/// The version of both sides: they are built and shipped together.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Bytes of the longest line. A conversation that fills the largest context has about 1 MB.
pub const MAX_LINE: usize = 32 << 20;

/// What the client wants. Commands are done one after the other, but for [`Command::Cancel`] and [`Command::Ping`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Load a model in place of the one before. Ends with [`Report::Loaded`] or [`Report::Failed`].
    Load {
        /// Chosen by the client, for the reports.
        id: u64,
        /// The file, and how.
        load: LoadRequest,
    },
    /// Answer. Ends with [`Report::Done`] or [`Report::Failed`].
    Generate {
        /// Chosen by the client, for the reports.
        id: u64,
        /// The messages.
        request: Box<ModelRequest>,
    },
    /// Drop the model. Ends with [`Report::Unloaded`]. A client that wants all memory back ends the process.
    Unload {
        /// Chosen by the client, for the reports.
        id: u64,
    },
    /// Stop a command that runs or waits; it ends with [`ModelError::Cancelled`].
    Cancel {
        /// The command to stop.
        id: u64,
    },
    /// Answer with [`Report::Pong`], now.
    Ping {
        /// Chosen by the client, for the report.
        id: u64,
    },
}

/// What the helper says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum Report {
    /// The first line.
    Hello {
        /// [`VERSION`] of the helper.
        version: String,
        /// What it can compute on.
        devices: Vec<Device>,
    },
    /// Something happens while a command is done.
    Event {
        /// The command.
        id: u64,
        /// What happens.
        #[serde(with = "Event")]
        event: ModelEvent,
    },
    /// A model is in memory.
    Loaded {
        /// The command.
        id: u64,
        /// The model.
        loaded: Loaded,
    },
    /// No model is in memory.
    Unloaded {
        /// The command.
        id: u64,
    },
    /// An answer is whole.
    Done {
        /// The command.
        id: u64,
        /// Why it ended.
        stop: StopReason,
    },
    /// A command could not be done.
    Failed {
        /// The command; `None` when the line did not even say that.
        id: Option<u64>,
        /// Why.
        error: ModelError,
    },
    /// An answer to a ping.
    Pong {
        /// The command.
        id: u64,
    },
}

impl Report {
    /// Returns the command that this is about.
    pub fn id(&self) -> Option<u64> {
        match self {
            Self::Hello { .. } => None,
            Self::Failed { id, .. } => *id,
            Self::Event { id, .. }
            | Self::Loaded { id, .. }
            | Self::Unloaded { id }
            | Self::Done { id, .. }
            | Self::Pong { id } => Some(*id),
        }
    }

    /// Returns whether nothing more comes about this command.
    pub fn ends_command(&self) -> bool {
        !matches!(self, Self::Hello { .. } | Self::Event { .. })
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
    fn every_event_and_error_arrives_as_it_was_sent() {
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
    fn fields_of_another_version_are_ignored() {
        let read: Command = serde_json::from_str(r#"{"command":"ping","id":3,"fromTheFuture":{}}"#).unwrap();
        assert_eq!(read, Command::Ping { id: 3 });
    }

    proptest! {
        #[test]
        fn no_line_is_a_panic(line in ".{0,200}") {
            let _ = serde_json::from_str::<Command>(&line);
            let _ = serde_json::from_str::<Report>(&line);
        }

        #[test]
        fn any_text_arrives_as_it_was_sent(text in any::<String>()) {
            round_trip(&Report::Event { id: 0, event: ModelEvent::Text(text) });
        }
    }
}
