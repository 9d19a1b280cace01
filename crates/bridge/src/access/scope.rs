//! How much a client may do.

use serde::{Deserialize, Serialize};

/// Each scope holds the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scope {
    /// Sessions and their updates.
    View,
    /// Start and stop turns.
    Prompt,
    /// Answer what agents ask for.
    Approve,
    /// Every frame of everybody, settings and devices.
    Admin,
}
