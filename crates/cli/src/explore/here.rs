//! A run in this process. Its updates are stored like those of the bridge, so that they can be looked at later.

use super::News;
use openagents_bridge::{
    acp::to_wire,
    store::{NewSession, Store},
};
use openagents_core::{
    CancellationToken,
    explore::{ExploreRequest, Explorer, PlannerChoice},
    history::{History, HistoryRoots, MemoryIndex, TranscriptIndex},
    update::{SessionUpdate, Title},
};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::mpsc;
use uuid::Uuid;

pub(super) fn start(
    home: PathBuf,
    root: PathBuf,
    goals: Vec<String>,
    cancel: CancellationToken,
    news: mpsc::Sender<News>,
) {
    tokio::task::spawn_blocking(move || {
        let (session_id, plan_id) = (Uuid::new_v4().to_string(), Uuid::new_v4().to_string());
        let begun = News::Started { session_id: session_id.clone(), plan_id: plan_id.clone() };
        if news.blocking_send(begun).is_err() {
            return;
        }
        let log = Log::open(&home, session_id, &root, &news, &cancel);
        let index: Arc<dyn TranscriptIndex> = match &log.store {
            Some(store) => store.transcript_index(),
            None => Arc::new(MemoryIndex::default()),
        };
        let explorer = Explorer::heuristic(Arc::new(History::new(HistoryRoots::from_env(), index)));
        let name =
            root.file_name().map_or_else(|| root.display().to_string(), |name| name.to_string_lossy().into());
        log.add(SessionUpdate::Title(Title { title: format!("Explore {name}") }));
        let request =
            ExploreRequest { root, goals, plan_id, repository_note: None, planner: PlannerChoice::default() };
        explorer.explore(&request, &cancel, &|update| log.add(update));
        if let Some(store) = &log.store {
            // Every update was on disk before it was shown; this is for what the index remembered.
            let _ = store.flush();
        }
    });
}

/// Stores an update, then tells it. Without a store a run still works: it is only not remembered.
struct Log {
    store: Option<Store>,
    session_id: String,
    /// Number of the last update, where there is no store to give numbers.
    told: AtomicU64,
    news: mpsc::Sender<News>,
    /// Ends the run when the log cannot be written any more.
    cancel: CancellationToken,
}

impl Log {
    fn open(
        home: &Path,
        session_id: String,
        root: &Path,
        news: &mpsc::Sender<News>,
        cancel: &CancellationToken,
    ) -> Self {
        let notice = |text: String| drop(news.blocking_send(News::Notice(text)));
        let opened = Store::open(home).and_then(|store| {
            let session = NewSession {
                id: session_id.clone(),
                cwd: root.to_path_buf(),
                mode: "default_mode".to_owned(),
            };
            store.create_session(session)?;
            Ok(store)
        });
        let store = match opened {
            Ok(store) => {
                store.notices().iter().cloned().for_each(notice);
                Some(store)
            }
            Err(error) => {
                notice(format!("this exploration is not remembered: {error}"));
                None
            }
        };
        Self { store, session_id, told: AtomicU64::new(0), news: news.clone(), cancel: cancel.clone() }
    }

    fn add(&self, update: SessionUpdate) {
        let params =
            match &self.store {
                None => {
                    let seq = self.told.fetch_add(1, Ordering::Relaxed) + 1;
                    to_wire::session_update(&self.session_id, seq, crate::output::now_ms(), &update)
                }
                Some(store) => match store.append(&self.session_id, vec![update]) {
                    Ok(stored) => {
                        let Some(row) = stored.rows.first() else { return };
                        to_wire::session_update(&self.session_id, row.seq, row.ts, &row.update)
                    }
                    // What is not stored is not shown, and a run that cannot be stored stops.
                    Err(error) => {
                        if !self.cancel.is_cancelled() {
                            self.cancel.cancel();
                            drop(self.news.blocking_send(News::Notice(format!(
                                "this exploration has stopped: {error}"
                            ))));
                        }
                        return;
                    }
                },
            };
        // The reader is gone after a second Ctrl-C; the run ends by its own cancel.
        let _ = self.news.blocking_send(News::Update(params));
    }
}
