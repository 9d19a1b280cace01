//! Permission levels of clients.

use serde::{Deserialize, Serialize};

/// Each scope includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scope {
    /// Read sessions and their updates.
    View,
    /// Start and stop turns.
    Prompt,
    /// Answer approvals.
    Approve,
    /// Inspect all frames, change settings and devices.
    Admin,
}

impl Scope {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Prompt => "prompt",
            Self::Approve => "approve",
            Self::Admin => "admin",
        }
    }
}
