//! How frames travel between a client and its connection.

pub(crate) mod websocket;

use tokio_tungstenite::tungstenite::{
    Message,
    protocol::{CloseFrame, frame::coding::CloseCode},
};

/// What a connection reads frames from and writes frames to.
pub(crate) type Socket = websocket::WebSocket;

/// Why and how a socket is closed.
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

    /// Codes from 4000 on are an application's own; the page knows this one.
    pub(crate) fn no_token() -> Self {
        Self { code: 4401, reason: "The token is missing or wrong.".to_owned() }
    }

    pub(crate) fn message(&self) -> Message {
        Message::Close(Some(CloseFrame {
            code: CloseCode::from(self.code),
            reason: self.reason.as_str().into(),
        }))
    }
}
