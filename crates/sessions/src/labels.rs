//! The person's labels of other agents' sessions: title, pinned, archived. Their logs are not changed.

use crate::store::{Store, StoreError, TranscriptLabel};
use openagents_core::history::{Provider, SessionKey};
use parking_lot::Mutex;
use std::{collections::HashMap, fmt};

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
    /// Reads them from the store. Blocks.
    pub(crate) fn load(store: Store) -> Self {
        let rows = store.transcript_labels().unwrap_or_else(|error| {
            tracing::error!(%error, "could not read the labels of other agents' sessions");
            Vec::new()
        });
        let known = |(provider, id, label): (String, _, _)| Some(((Provider::parse(&provider)?, id), label));
        Self { store, labels: Mutex::new(rows.into_iter().filter_map(known).collect()) }
    }

    /// Returns all of them.
    pub fn all(&self) -> HashMap<SessionKey, TranscriptLabel> {
        self.labels.lock().clone()
    }

    /// Changes the label of a session. Blocks.
    pub fn change(
        &self,
        (provider, id): &SessionKey,
        change: impl FnOnce(&mut TranscriptLabel),
    ) -> Result<(), StoreError> {
        // Held while it is stored, so that the last change is the one that stays.
        let mut labels = self.labels.lock();
        let mut label = labels.get(&(*provider, id.clone())).cloned().unwrap_or_default();
        change(&mut label);
        self.store.label_transcript(provider.as_str(), id, &label)?;
        labels.insert((*provider, id.clone()), label);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Marks;

    #[test]
    fn labels_are_stored_and_forgotten() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path(), &[]).unwrap();
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
}
