//! Waking connections.

use std::sync::Arc;
use tokio::sync::Notify;

/// Wakes one connection, which then checks all its sources.
pub type Wake = Arc<Notify>;
