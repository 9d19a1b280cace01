//! Why a connection is closed.

use tokio_tungstenite::tungstenite::{
    Message,
    protocol::{CloseFrame, frame::coding::CloseCode},
};

/// A close code and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Closing {
    pub(crate) code: u16,
    pub(crate) reason: String,
}

impl Closing {
    pub(crate) fn going_away() -> Self {
        Self { code: 1001, reason: "OpenAgents is shutting down.".to_owned() }
    }

    pub(crate) fn too_big(limit: usize) -> Self {
        Self { code: 1009, reason: format!("A frame may have {limit} bytes at most.") }
    }

    pub(crate) fn not_text() -> Self {
        Self { code: 1003, reason: "Frames must be UTF-8 text.".to_owned() }
    }

    /// Codes from 4000 on are application-defined; the page handles this one.
    pub(crate) fn no_token() -> Self {
        Self { code: 4401, reason: "The token is missing or wrong.".to_owned() }
    }

    pub(crate) fn removed() -> Self {
        let reason = format!(
            "This device was removed on {}.",
            openagents_sessions::prune::head(crate::base::machine::name(), 64)
        );
        Self { code: 4403, reason }
    }

    /// For a socket that takes nothing. Updates up to `written` may have been read.
    pub(crate) fn too_slow(written: u64) -> Self {
        Self { code: 4408, reason: format!("Attach again from update {written}.") }
    }

    pub(crate) fn message(&self) -> Message {
        Message::Close(Some(CloseFrame {
            code: CloseCode::from(self.code),
            reason: self.reason.as_str().into(),
        }))
    }
}
