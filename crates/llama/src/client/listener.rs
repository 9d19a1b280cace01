//! Notifies about the exit of a helper.

use super::lock;
use std::{
    fmt,
    sync::{Arc, Mutex},
};

/// The callback for the exit of a helper. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Listener(Arc<Mutex<Option<Told>>>);

type Told = Arc<dyn Fn() + Send + Sync>;

impl Listener {
    pub(super) fn set(&self, told: Told) {
        *lock(&self.0) = Some(told);
    }

    pub(super) fn tell(&self) {
        let told = lock(&self.0).clone();
        if let Some(told) = told {
            told();
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Listener").finish_non_exhaustive()
    }
}
