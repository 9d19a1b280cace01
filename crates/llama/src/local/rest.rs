//! Unloads the model when it is idle, or when the machine needs the memory.

use super::{Inner, lock, status::Run};
use openagents_core::model::ModelError;
use std::{
    sync::{Arc, Condvar, Mutex, PoisonError, Weak},
    time::{Duration, Instant},
};

/// Interval of memory checks while a model is loaded.
const LOOK: Duration = Duration::from_secs(15);
/// Idle time before memory pressure unloads a model, since a model that has just answered is likely to be used again.
const GRACE: Duration = Duration::from_secs(15);

/// Wakes the thread that unloads idle models.
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
        lock(&self.signal).changed = true;
        self.heard.notify_all();
    }

    pub(super) fn end(&self) {
        lock(&self.signal).ended = true;
        self.heard.notify_all();
    }

    /// Waits for a notification, up to `most`; returns whether to go on.
    fn wait(&self, most: Option<Duration>) -> bool {
        let signal = lock(&self.signal);
        let quiet = |signal: &mut Signal| !signal.changed && !signal.ended;
        let mut signal = match most {
            Some(most) => {
                self.heard.wait_timeout_while(signal, most, quiet).unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.heard.wait_while(signal, quiet).unwrap_or_else(PoisonError::into_inner),
        };
        signal.changed = false;
        !signal.ended
    }
}

/// The next step for an idle loaded model.
#[derive(Debug, PartialEq, Eq)]
enum Rest {
    Unload,
    /// Check again after this time.
    Look(Duration),
}

fn rest(idle: Duration, idle_minutes: u32, pressed: bool) -> Rest {
    let allowed = Duration::from_secs(u64::from(idle_minutes) * 60);
    if (idle_minutes > 0 && idle >= allowed) || (pressed && idle >= GRACE) {
        return Rest::Unload;
    }
    let left = if idle_minutes > 0 { allowed - idle } else { LOOK };
    Rest::Look(left.min(LOOK))
}

pub(super) fn start(inner: &Arc<Inner>) {
    let (weak, notifier) = (Arc::downgrade(inner), inner.notifier.clone());
    let spawned =
        std::thread::Builder::new().name("model-rest".to_owned()).spawn(move || watch(&weak, &notifier));
    if let Err(error) = spawned {
        tracing::warn!("no thread for idle unloads: {error}");
    }
}

fn watch(inner: &Weak<Inner>, notifier: &Notifier) {
    loop {
        let Some(inner) = inner.upgrade() else { return };
        let wait = inner.look_after(inner.config.clock.now());
        drop(inner);
        if !notifier.wait(wait) {
            return;
        }
    }
}

impl Inner {
    /// Unloads an idle model when it is due; returns when to check again, `None` to wait for the next change.
    pub(super) fn look_after(&self, now: Instant) -> Option<Duration> {
        self.notice_end();
        let (idle, idle_minutes) = {
            let state = self.state();
            if state.engine.run != Run::Ready {
                return None;
            }
            (now.saturating_duration_since(state.engine.since), state.saved.settings.idle_minutes)
        };
        match rest(idle, idle_minutes, self.config.machine.facts().is_under_pressure()) {
            Rest::Look(after) => Some(after),
            Rest::Unload => {
                // A request has come meanwhile. Its end may not notify, since it may only have checked.
                let Some(_turn) = self.turns.try_take() else { return Some(LOOK) };
                if self.state().engine.run == Run::Ready {
                    self.unload();
                }
                None
            }
        }
    }

    /// Shows that the process of an idle model has exited; a running request reports this itself.
    fn notice_end(&self) {
        let gone = || self.state().engine.run == Run::Ready && self.config.engine.loaded().is_none();
        if !gone() {
            return;
        }
        // The holder of the turn notices this too.
        let Some(_turn) = self.turns.try_take() else { return };
        if gone() && !self.state().closed {
            let error = ModelError::Crashed("while it was idle".to_owned());
            self.change(|state| {
                state.engine.run = Run::Failed(error.to_string());
                state.engine.memory_bytes = None;
                state.engine.context_tokens = None;
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_models_are_unloaded_after_their_time_and_under_pressure() {
        let seconds = Duration::from_secs;
        let rows = [
            (0, 10, false, Rest::Look(LOOK)),
            (595, 10, false, Rest::Look(seconds(5))),
            (600, 10, false, Rest::Unload),
            (100_000, 0, false, Rest::Look(LOOK)),
            (14, 10, true, Rest::Look(LOOK)),
            (15, 10, true, Rest::Unload),
            (15, 0, true, Rest::Unload),
        ];
        for (idle, minutes, pressed, expected) in rows {
            assert_eq!(
                rest(seconds(idle), minutes, pressed),
                expected,
                "{idle} s of {minutes} min, {pressed}"
            );
        }
    }
}
