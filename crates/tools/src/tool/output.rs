//! The result of a tool: typed inside this process, JSON elsewhere.

use openagents_core::update::Cut;
use serde::Serialize;
use serde_json::Value;
use std::{any::Any, fmt::Debug, sync::Arc};

/// A result type of a tool; models, clients and the log receive its serde form.
pub trait ToolResult: Any + Debug + Send + Sync {
    /// Returns the serde form.
    fn to_json(&self) -> Value;
}

impl<T: Serialize + Any + Debug + Send + Sync> ToolResult for T {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The result of a call, and what was cut from it.
#[derive(Debug, Clone)]
pub struct ToolOutput {
    result: Arc<dyn ToolResult>,
    /// Describes what was cut.
    pub cut: Cut,
}

impl ToolOutput {
    /// Wraps a result that may be cut.
    pub fn new(result: impl ToolResult, cut: Cut) -> Self {
        Self { result: Arc::new(result), cut }
    }

    /// Wraps a complete result.
    pub fn whole(result: impl ToolResult) -> Self {
        Self::new(result, Cut::default())
    }

    /// Returns the result if it has type `T`.
    pub fn result<T: ToolResult>(&self) -> Option<&T> {
        let result: &dyn Any = self.result.as_ref();
        result.downcast_ref()
    }

    /// Returns the result as JSON.
    pub fn to_json(&self) -> Value {
        self.result.to_json()
    }
}
