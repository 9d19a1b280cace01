//! The backend of the protocol.

use openagents_apple::{availability::Unavailability, budget::Fitted, schema::OfferedTool};
use openagents_core::{
    CancellationToken,
    model::{ModelError, ModelOptions},
};
use serde_json::Value;
use std::sync::Arc;

/// Answers requests that fit its context.
pub trait Backend: Send + Sync {
    /// Returns why the backend can't answer now; `None` if it can.
    fn unavailability(&self) -> Option<Unavailability>;

    /// Counts tokens exactly as the model does; `None` if the model can't be asked.
    fn count(&self, _text: &str) -> Option<usize> {
        None
    }

    /// Generates an answer on this thread. Sends text and calls through `exchange`; returns soon after a cancel.
    fn respond(
        &self,
        request: &Fitted,
        options: &ModelOptions,
        exchange: Arc<dyn Exchange>,
    ) -> Result<(), ModelError>;
}

/// The client's side of one answer. Calls may come from several threads.
pub trait Exchange: Send + Sync {
    /// Sends a piece of text. Fails if the answer was cancelled.
    fn send_text(&self, text: &str) -> Result<(), ModelError>;

    /// Calls a tool of the request with the model's arguments and waits. Returns the tool's result or the error in
    /// the arguments; both are for the model. Fails if the answer has ended.
    fn call(&self, tool: &OfferedTool, generated: Value) -> Result<String, ModelError>;

    /// Cancelled when the answer is no longer needed.
    fn cancel(&self) -> &CancellationToken;
}

/// A backend that is never available, for this reason.
#[derive(Debug)]
pub struct NeverAvailable(pub Unavailability);

impl Backend for NeverAvailable {
    fn unavailability(&self) -> Option<Unavailability> {
        Some(self.0.clone())
    }

    fn respond(&self, _: &Fitted, _: &ModelOptions, _: Arc<dyn Exchange>) -> Result<(), ModelError> {
        Err(ModelError::Unavailable(self.0.to_string()))
    }
}
