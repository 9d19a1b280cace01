//! Waking connections.

use std::sync::{Arc, Weak};
use tokio::sync::Notify;

/// Wakes one connection, which then checks all its sources.
pub type Wake = Arc<Notify>;

/// The connections that are woken by a change.
#[derive(Debug, Default)]
pub struct Watchers(Vec<Weak<Notify>>);

impl Watchers {
    /// Adds a connection; adding it again has no effect.
    pub fn add(&mut self, wake: &Wake) {
        self.0.retain(|known| known.strong_count() > 0);
        if !self.0.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(wake))) {
            self.0.push(Arc::downgrade(wake));
        }
    }

    pub fn remove(&mut self, wake: &Wake) {
        self.0.retain(|known| !std::ptr::eq(known.as_ptr(), Arc::as_ptr(wake)));
    }

    /// Wakes every connection that is still open.
    pub fn wake(&mut self) {
        self.0.retain(|known| known.upgrade().map(|wake| wake.notify_one()).is_some());
    }

    /// Returns the number of connections.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}
