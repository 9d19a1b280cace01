//! The log of a run in this process, stored like those of the bridge so that it can be viewed later.

use openagents_bridge::{
    acp::to_wire,
    store::{NewSession, Store},
};
use openagents_core::{CancellationToken, update::SessionUpdate};
use serde_json::Value;
use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

/// Events of a record.
#[derive(Debug)]
pub(crate) enum Told {
    /// The params of a `session/update`.
    Update(Value),
    /// A message for a person.
    Notice(String),
}

/// Stores each update, then emits it. Without a store the run works but is not recorded.
pub(crate) struct Record<'a> {
    pub(crate) store: Option<Store>,
    session_id: String,
    /// Number of the last update; used only without a store.
    told: AtomicU64,
    tell: &'a (dyn Fn(Told) + Sync),
    /// Cancels the run when the log cannot be written.
    cancel: CancellationToken,
}

impl<'a> Record<'a> {
    pub(crate) fn open(
        home: &Path,
        session_id: String,
        (root, mode): (&Path, &str),
        tell: &'a (dyn Fn(Told) + Sync),
        cancel: &CancellationToken,
    ) -> Self {
        let opened = openagents_bridge::open_store(home).and_then(|store| {
            let session =
                NewSession { id: session_id.clone(), cwd: root.to_path_buf(), mode: mode.to_owned() };
            store.create_session(session)?;
            Ok(store)
        });
        let store = match opened {
            Ok(store) => {
                store.notices().iter().cloned().map(Told::Notice).for_each(tell);
                Some(store)
            }
            Err(error) => {
                tell(Told::Notice(format!("this session is not recorded: {error}")));
                None
            }
        };
        Self { store, session_id, told: AtomicU64::new(0), tell, cancel: cancel.clone() }
    }

    pub(crate) fn add(&self, update: SessionUpdate) {
        let Some(store) = &self.store else {
            let seq = self.told.fetch_add(1, Ordering::Relaxed) + 1;
            let now = crate::output::now_ms();
            (self.tell)(Told::Update(to_wire::session_update(&self.session_id, seq, now, &update)));
            return;
        };
        match store.append(&self.session_id, vec![update]) {
            Ok(stored) => {
                for row in &stored.rows {
                    let params = to_wire::session_update(&self.session_id, row.seq, row.ts, &row.update);
                    (self.tell)(Told::Update(params));
                }
            }
            // Updates that are not stored are not shown, and the run stops.
            Err(error) => {
                if !self.cancel.is_cancelled() {
                    self.cancel.cancel();
                    (self.tell)(Told::Notice(format!("this session has stopped: {error}")));
                }
            }
        }
    }

    /// Flushes the store. Updates are on disk already; this waits for other pending writes.
    pub(crate) fn close(&self) {
        if let Some(store) = &self.store {
            let _ = store.flush();
        }
    }
}
