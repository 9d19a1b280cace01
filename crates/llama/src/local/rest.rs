//! Unloads the model when it is idle, or when the machine needs the memory.

use super::{Inner, state::Run};
use crate::{
    limits::{REST_CHECK, REST_GRACE, REST_WARNED},
    machine::Pressure,
};
use openagents_core::model::ModelError;
use std::{
    sync::{Arc, Weak, mpsc::Receiver},
    time::{Duration, Instant},
};

#[derive(Debug, PartialEq, Eq)]
enum Rest {
    Unload,
    CheckAgain(Duration),
}

fn next_step(idle: Duration, idle_minutes: u32, pressure: Pressure) -> Rest {
    let allowed = Duration::from_secs(u64::from(idle_minutes) * 60);
    let is_needed = match pressure {
        Pressure::Normal => false,
        Pressure::Warning => idle >= REST_WARNED,
        Pressure::Critical => idle >= REST_GRACE,
    };
    if (idle_minutes > 0 && idle >= allowed) || is_needed {
        return Rest::Unload;
    }
    let left = if idle_minutes > 0 { allowed - idle } else { REST_CHECK };
    Rest::CheckAgain(left.min(REST_CHECK))
}

fn run_checks(inner: &Weak<Inner>, woken: &Receiver<()>) {
    while let Some(inner) = inner.upgrade() {
        let wait = inner.unload_if_due(inner.config.clock.get());
        drop(inner);
        let _ = match wait {
            Some(most) => woken.recv_timeout(most).is_ok(),
            None => woken.recv().is_ok(),
        };
    }
}

impl Inner {
    /// Starts the thread that unloads idle models; `woken` has a token after each change.
    pub(super) fn start_idle_checks(self: &Arc<Self>, woken: Receiver<()>) {
        let weak = Arc::downgrade(self);
        let work = move || run_checks(&weak, &woken);
        if let Err(error) = std::thread::Builder::new().name("model-rest".to_owned()).spawn(work) {
            tracing::warn!("no thread for idle unloads: {error}");
        }
    }

    /// Unloads an idle model when it is due; returns when to check again, `None` to wait for the next change.
    pub(super) fn unload_if_due(&self, now: Instant) -> Option<Duration> {
        self.note_exit();
        let (idle, idle_minutes) = {
            let state = self.state();
            if state.engine.run != Run::Ready {
                return None;
            }
            (now.saturating_duration_since(state.engine.since), state.saved.settings.idle_minutes)
        };
        let reported = self.config.pressure.get();
        let pressure = reported.unwrap_or_else(|| Pressure::from_available(&self.config.machine.get()));
        match next_step(idle, idle_minutes, pressure) {
            Rest::CheckAgain(after) => Some(after),
            Rest::Unload => {
                // A request has arrived meanwhile. It may end without a notification, since it may only have checked.
                let Some(_turn) = self.turns.try_turn() else { return Some(REST_CHECK) };
                if self.state().engine.run == Run::Ready {
                    self.unload();
                }
                None
            }
        }
    }

    /// Shows that the process of an idle model has exited; a running request reports this itself.
    fn note_exit(&self) {
        let gone = || self.state().engine.run == Run::Ready && self.config.engine.loaded().is_none();
        if !gone() {
            return;
        }
        // The holder of the turn notices this too.
        let Some(_turn) = self.turns.try_turn() else { return };
        if gone() && !self.state().closed {
            let error = ModelError::Crashed("while it was idle".to_owned());
            self.set_unloaded(Run::Failed(error.to_string()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_step_unloads_when_idle_or_under_pressure() {
        let seconds = Duration::from_secs;
        let rows = [
            (0, 10, Pressure::Normal, Rest::CheckAgain(REST_CHECK)),
            (595, 10, Pressure::Normal, Rest::CheckAgain(seconds(5))),
            (600, 10, Pressure::Normal, Rest::Unload),
            (100_000, 0, Pressure::Normal, Rest::CheckAgain(REST_CHECK)),
            (119, 10, Pressure::Warning, Rest::CheckAgain(REST_CHECK)),
            (120, 10, Pressure::Warning, Rest::Unload),
            (14, 10, Pressure::Critical, Rest::CheckAgain(REST_CHECK)),
            (15, 10, Pressure::Critical, Rest::Unload),
            (15, 0, Pressure::Critical, Rest::Unload),
        ];
        for (idle, minutes, pressure, expected) in rows {
            assert_eq!(
                next_step(seconds(idle), minutes, pressure),
                expected,
                "{idle} s of {minutes} min, {pressure:?}"
            );
        }
    }
}
