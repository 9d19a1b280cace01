//! Wakes the thread that unloads idle models.

use parking_lot::{Condvar, Mutex};
use std::time::Duration;

/// See the module documentation.
#[derive(Debug, Default)]
pub(super) struct Notifier {
    signal: Mutex<Signal>,
    heard: Condvar,
}

#[derive(Debug, Default)]
struct Signal {
    changed: bool,
    ended: bool,
}

impl Notifier {
    pub(super) fn notify(&self) {
        self.signal.lock().changed = true;
        self.heard.notify_all();
    }

    pub(super) fn end(&self) {
        self.signal.lock().ended = true;
        self.heard.notify_all();
    }

    /// Waits for a notification, up to `most`; returns whether to go on.
    pub(super) fn wait(&self, most: Option<Duration>) -> bool {
        let mut signal = self.signal.lock();
        let quiet = |signal: &mut Signal| !signal.changed && !signal.ended;
        match most {
            Some(most) => drop(self.heard.wait_while_for(&mut signal, quiet, most)),
            None => self.heard.wait_while(&mut signal, quiet),
        }
        signal.changed = false;
        !signal.ended
    }
}
