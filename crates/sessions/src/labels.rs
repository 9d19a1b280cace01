//! The user's labels for other agents' transcripts: title, pinned, archived. The transcripts themselves are not
//! changed.

use crate::store::{Store, StoreError, TranscriptLabel};
use openagents_transcripts::{
    history::{Provider, SessionKey},
    history_index::KeptTitles,
};
use parking_lot::Mutex;
use std::{collections::HashMap, error::Error, fmt};

/// The labels in the store, kept in memory.
pub struct TranscriptLabels {
    store: Store,
    labels: Mutex<HashMap<SessionKey, TranscriptLabel>>,
}

impl fmt::Debug for TranscriptLabels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TranscriptLabels").field("labels", &self.labels).finish_non_exhaustive()
    }
}

impl TranscriptLabels {
    /// Loads the labels from the store. Blocks.
    pub(crate) fn load(store: Store) -> Self {
        let rows = store.transcript_labels().unwrap_or_else(|error| {
            tracing::error!(%error, "could not read the labels of other agents' sessions");
            Vec::new()
        });
        let known = |(provider, id, label): (String, _, _)| Some(((Provider::parse(&provider)?, id), label));
        Self { store, labels: Mutex::new(rows.into_iter().filter_map(known).collect()) }
    }

    pub fn all(&self) -> HashMap<SessionKey, TranscriptLabel> {
        self.labels.lock().clone()
    }

    /// Returns the sessions here whose agents keep transcripts. Blocks.
    pub fn hosted(&self) -> HashMap<SessionKey, String> {
        let rows = self.store.own_agent_sessions().unwrap_or_else(|error| {
            tracing::warn!(%error, "could not read which transcripts belong to sessions here");
            Vec::new()
        });
        let known =
            |(agent, id, session): (String, String, String)| Some(((Provider::parse(&agent)?, id), session));
        rows.into_iter().filter_map(known).collect()
    }

    fn forget(&self, sessions: &[SessionKey]) -> Result<(), StoreError> {
        let mut labels = self.labels.lock();
        let mut next = labels.clone();
        for session in sessions {
            if let Some(label) = next.get_mut(session) {
                label.title = None;
            }
        }
        next.retain(|_, label| *label != TranscriptLabel::default());
        if next == *labels {
            return Ok(());
        }
        let rows = next.iter().map(|((provider, id), label)| (provider.as_str(), id.clone(), label.clone()));
        self.store.rewrite_transcript_labels(rows.collect())?;
        *labels = next;
        Ok(())
    }

    /// Changes the label of a transcript. Blocks.
    pub fn change(
        &self,
        (provider, id): &SessionKey,
        change: impl FnOnce(&mut TranscriptLabel),
    ) -> Result<(), StoreError> {
        // Held until the change is stored, so that the last change wins.
        let mut labels = self.labels.lock();
        let mut label = labels.get(&(*provider, id.clone())).cloned().unwrap_or_default();
        change(&mut label);
        self.store.label_transcript(provider.as_str(), id, &label)?;
        labels.insert((*provider, id.clone()), label);
        Ok(())
    }
}

impl KeptTitles for TranscriptLabels {
    fn titled(&self) -> Vec<SessionKey> {
        let labels = self.labels.lock();
        labels.iter().filter(|(_, label)| label.title.is_some()).map(|(key, _)| key.clone()).collect()
    }

    /// Keeps the marks: a transcript that reappears is still pinned or archived.
    fn forget_titles(&self, transcripts: &[SessionKey]) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(self.forget(transcripts)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Marks;

    #[test]
    fn labels_survive_reload_until_cleared() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path(), "").unwrap();
        let labels = TranscriptLabels::load(store.clone());
        let key = (Provider::Codex, "one".to_owned());
        labels.change(&key, |label| label.title = Some("Mine".to_owned())).unwrap();
        labels.change(&key, |label| label.marks.pinned = true).unwrap();
        let expected = TranscriptLabel {
            title: Some("Mine".to_owned()),
            marks: Marks { pinned: true, archived: false },
        };
        assert_eq!(TranscriptLabels::load(store.clone()).all(), HashMap::from([(key.clone(), expected)]));
        labels.change(&key, |label| *label = TranscriptLabel::default()).unwrap();
        assert_eq!(TranscriptLabels::load(store).all(), HashMap::new());
    }

    #[test]
    fn forget_titles_erases_them_from_disk() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path(), "").unwrap();
        let labels = TranscriptLabels::load(store.clone());
        let key = |at: u32| (Provider::Codex, format!("session-{at}"));
        for at in 0..300 {
            let pins = |label: &mut TranscriptLabel| {
                (label.title, label.marks.pinned) = (Some(format!("canary-{at} ")), at == 1);
            };
            labels.change(&key(at), pins).unwrap();
        }
        let found = || {
            let read =
                |entry: std::io::Result<std::fs::DirEntry>| std::fs::read(entry.unwrap().path()).unwrap();
            let bytes = std::fs::read_dir(home.path()).unwrap().map(read).collect::<Vec<_>>().concat();
            (0..300)
                .filter(|at| memchr::memmem::find(&bytes, format!("canary-{at} ").as_bytes()).is_some())
                .count()
        };
        assert_eq!(found(), 300);
        labels.forget_titles(&(0..200).map(key).collect::<Vec<_>>()).unwrap();
        assert_eq!(found(), 100);
        let after = TranscriptLabels::load(store).all();
        assert_eq!((after.len(), after == labels.all()), (101, true));
        assert!(after[&key(1)].marks.pinned && after[&key(1)].title.is_none());
        assert_eq!(labels.titled().len(), 100);
    }
}
