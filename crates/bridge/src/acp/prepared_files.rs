//! Exported files that wait to be read by the client that asked for them.

use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

/// How long a file is kept.
pub(super) const KEPT_FOR: Duration = Duration::from_secs(600);
/// How many files are kept.
const KEPT: usize = 4;

/// Files that wait to be read.
#[derive(Debug, Default)]
pub(crate) struct PreparedFiles(Mutex<VecDeque<PreparedFile>>);

#[derive(Debug)]
struct PreparedFile {
    id: String,
    since: Instant,
    text: Arc<str>,
}

impl PreparedFiles {
    pub(super) fn add(&self, text: String) -> String {
        let id = openagents_core::update::new_id();
        self.drop_old();
        let mut files = self.0.lock();
        while files.len() >= KEPT {
            files.pop_front();
        }
        files.push_back(PreparedFile { id: id.clone(), since: Instant::now(), text: text.into() });
        id
    }

    pub(super) fn drop_old(&self) {
        self.0.lock().retain(|file| file.since.elapsed() < KEPT_FOR);
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<str>> {
        self.drop_old();
        let files = self.0.lock();
        files.iter().find(|file| file.id == id).map(|file| file.text.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_files_are_kept() {
        let files = PreparedFiles::default();
        let ids: Vec<String> = (0..6).map(|number| files.add(number.to_string())).collect();
        assert_eq!(files.get(&ids[1]), None);
        assert_eq!(files.get(&ids[2]).as_deref(), Some("2"));
        assert_eq!(files.get("none"), None);
    }
}
