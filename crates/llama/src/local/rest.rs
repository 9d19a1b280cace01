//! Gives the memory back when nobody needs the model, or when the machine needs the memory.

use super::{Inner, lock, status::Run};
use openagents_core::model::ModelError;
use std::{
    sync::{Arc, Condvar, Mutex, PoisonError, Weak},
    time::{Duration, Instant},
};

/// Between two looks at the memory while a model is loaded.
const LOOK: Duration = Duration::from_secs(15);
/// A model that just answered is likely to be asked again: pressure waits for so long.
const GRACE: Duration = Duration::from_secs(15);

/// Wakes the thread that looks after all this.
#[derive(Debug, Default)]
pub(super) struct Bell {
    rung: Mutex<Rung>,
    heard: Condvar,
}

#[derive(Debug, Default)]
struct Rung {
    changed: bool,
    ended: bool,
}

impl Bell {
    pub(super) fn ring(&self) {
        lock(&self.rung).changed = true;
        self.heard.notify_all();
    }

    pub(super) fn end(&self) {
        lock(&self.rung).ended = true;
        self.heard.notify_all();
    }

    /// Waits for a ring, at most so long; returns whether to go on.
    fn wait(&self, most: Option<Duration>) -> bool {
        let rung = lock(&self.rung);
        let quiet = |rung: &mut Rung| !rung.changed && !rung.ended;
        let mut rung = match most {
            Some(most) => {
                self.heard.wait_timeout_while(rung, most, quiet).unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.heard.wait_while(rung, quiet).unwrap_or_else(PoisonError::into_inner),
        };
        rung.changed = false;
        !rung.ended
    }
}

/// What to do about a model that is loaded and has nothing to do.
#[derive(Debug, PartialEq, Eq)]
enum Rest {
    Unload,
    /// Look again after so long.
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
    let (weak, bell) = (Arc::downgrade(inner), inner.bell.clone());
    let spawned =
        std::thread::Builder::new().name("model-rest".to_owned()).spawn(move || watch(&weak, &bell));
    if let Err(error) = spawned {
        tracing::warn!("no thread for idle unloads: {error}");
    }
}

fn watch(inner: &Weak<Inner>, bell: &Bell) {
    loop {
        let Some(inner) = inner.upgrade() else { return };
        let wait = inner.look_after(inner.config.clock.now());
        drop(inner);
        if !bell.wait(wait) {
            return;
        }
    }
}

impl Inner {
    /// Unloads an idle model when it is time; returns when to look again, `None` for after the next change.
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
                // Somebody has come in the meantime. Their end need not ring: they may only have looked.
                let Some(_turn) = self.turns.try_take() else { return Some(LOOK) };
                if self.state().engine.run == Run::Ready {
                    self.unload();
                }
                None
            }
        }
    }

    /// Shows that the process of an idle model is gone; one that answers tells it itself.
    fn notice_end(&self) {
        let gone = || self.state().engine.run == Run::Ready && self.config.engine.loaded().is_none();
        if !gone() {
            return;
        }
        // Who has the turn looks at this too.
        let Some(_turn) = self.turns.try_take() else { return };
        if gone() && !self.state().closed {
            let error = ModelError::Crashed("while it had nothing to do".to_owned());
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
    fn idle_models_go_after_their_time_and_under_pressure() {
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
