//! Waking connections.

use std::sync::Arc;
use tokio::sync::Notify;

/// Wakes one connection; it looks for itself what there is to do.
pub type Wake = Arc<Notify>;
