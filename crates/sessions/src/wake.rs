//! Waking connections.

use std::sync::{Arc, Weak};
use tokio::sync::Notify;

/// Wakes one connection, which then checks all its sources.
pub type Wake = Arc<Notify>;

/// The connections that are woken by a change.
#[derive(Debug, Default)]
pub(crate) struct Watchers(Vec<Weak<Notify>>);

impl Watchers {
    pub(crate) fn add(&mut self, wake: &Wake) {
        self.0.retain(|known| known.strong_count() > 0);
        if !self.0.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(wake))) {
            self.0.push(Arc::downgrade(wake));
        }
    }

    pub(crate) fn wake(&mut self) {
        self.0.retain(|known| known.upgrade().map(|wake| wake.notify_one()).is_some());
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }
}
