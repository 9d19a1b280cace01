//! What answers, seen from the protocol.

use openagents_apple::{availability::Unavailability, budget::Fitted, schema::OfferedTool};
use openagents_core::{
    CancellationToken,
    model::{ModelError, ModelOptions},
};
use serde_json::Value;
use std::sync::Arc;

/// Answers requests that fit its context.
pub trait Backend: Send + Sync {
    /// Returns why no answer can be had now; `None` when one can.
    fn unavailability(&self) -> Option<Unavailability>;

    /// Counts the tokens of a text as the model itself does; `None` where it cannot be asked.
    fn count(&self, _text: &str) -> Option<usize> {
        None
    }

    /// Answers on this thread. What it says and asks for goes through `exchange`; it ends soon after a cancel.
    fn respond(
        &self,
        request: &Fitted,
        options: &ModelOptions,
        exchange: Arc<dyn Exchange>,
    ) -> Result<(), ModelError>;
}

/// One answer, as the backend sees the other side. Calls may come from several threads.
pub trait Exchange: Send + Sync {
    /// Says a piece. Fails when nobody wants it any more.
    fn say(&self, text: &str) -> Result<(), ModelError>;

    /// Asks for a tool of the request with what the model said as its arguments, and waits. Returns what the tool gave
    /// back, or what was wrong with the arguments: both are for the model. Fails when the answer is over.
    fn call(&self, tool: &OfferedTool, said: Value) -> Result<String, ModelError>;

    /// Cancelled when nobody wants the answer any more.
    fn cancel(&self) -> &CancellationToken;
}

/// Nothing answers here, for this reason.
#[derive(Debug)]
pub struct Nothing(pub Unavailability);

impl Backend for Nothing {
    fn unavailability(&self) -> Option<Unavailability> {
        Some(self.0.clone())
    }

    fn respond(&self, _: &Fitted, _: &ModelOptions, _: Arc<dyn Exchange>) -> Result<(), ModelError> {
        Err(ModelError::Unavailable(self.0.to_string()))
    }
}
