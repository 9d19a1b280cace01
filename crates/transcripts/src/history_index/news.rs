//! Changes in the list of other agents' sessions, for clients that show it.

use crate::history::{Listing, SessionKey, Transcript};
use std::collections::{HashMap, VecDeque};

/// Maximum number of changes kept: a client that has missed more reads the list again.
const KEPT: usize = 20;

/// The newest changes of the list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HistoryNews {
    /// Number of changes so far. If it is ahead of the last number seen by more than the changes kept, some are
    /// missing.
    pub number: u64,
    /// New and changed sessions, the newest change last.
    pub changed: VecDeque<Transcript>,
    /// Sessions that are gone.
    pub removed: VecDeque<SessionKey>,
}

/// Compares each listing with the previous one.
#[derive(Debug, Default)]
pub(super) struct NewsReader {
    known: Option<HashMap<SessionKey, Transcript>>,
}

impl HistoryNews {
    pub(super) fn add(&mut self, row: Transcript) {
        let key = key(&row);
        self.changed.retain(|other| (other.provider, &other.id) != (key.0, &key.1));
        self.removed.retain(|other| *other != key);
        self.changed.push_back(row);
        self.number += 1;
        self.changed.drain(..self.changed.len().saturating_sub(KEPT));
    }
}

impl NewsReader {
    /// Adds what has changed since the last listing to `news`; returns whether anything has.
    pub(super) fn take(&mut self, listing: &Listing, news: &mut HistoryNews) -> bool {
        // A session that was not listed for lack of time is not gone.
        let is_whole = listing.unread == 0 && !listing.timed_out;
        let Some(known) = &mut self.known else {
            self.known = is_whole.then(|| listing.rows.iter().map(|row| (key(row), row.clone())).collect());
            // A client may have read part of the list.
            news.number += KEPT as u64 + 1;
            return true;
        };
        let before = news.number;
        for row in listing.rows.iter().rev() {
            let key = key(row);
            if known.get(&key) != Some(row) {
                news.add(row.clone());
                known.insert(key, row.clone());
            }
        }
        if is_whole && known.len() > listing.rows.len() {
            let here: std::collections::HashSet<SessionKey> = listing.rows.iter().map(key).collect();
            known.retain(|key, _| {
                let stays = here.contains(key);
                if !stays {
                    news.changed.retain(|other| (other.provider, &other.id) != (key.0, &key.1));
                    news.removed.push_back(key.clone());
                    news.number += 1;
                }
                stays
            });
        }
        news.removed.drain(..news.removed.len().saturating_sub(KEPT));
        news.number != before
    }
}

fn key(row: &Transcript) -> SessionKey {
    (row.provider, row.id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Provider;
    use serde_json::json;

    fn row(id: &str, at: i64) -> Transcript {
        serde_json::from_value(json!({
            "id": id, "provider": Provider::Codex, "title": id, "branch": null, "model": null, "created_at": null,
            "updated_at": at, "file_path": id, "user_turns": null, "tokens": null, "hidden": false, "subagent": false,
            "bad_lines": 0,
        }))
        .unwrap()
    }

    fn listing(rows: &[(&str, i64)]) -> Listing {
        Listing { rows: rows.iter().map(|(id, at)| row(id, *at)).collect(), ..Listing::default() }
    }

    #[test]
    fn changes_are_reported_once_in_order() {
        let (mut reader, mut news) = (NewsReader::default(), HistoryNews::default());
        assert!(reader.take(&listing(&[("b", 2), ("a", 1)]), &mut news));
        let first = news.number;
        assert!(first > KEPT as u64 && news.changed.is_empty(), "clients read the list");
        assert!(!reader.take(&listing(&[("b", 2), ("a", 1)]), &mut news));
        assert!(reader.take(&listing(&[("a", 3), ("c", 3), ("b", 2)]), &mut news));
        let ids: Vec<&str> = news.changed.iter().map(|row| row.id.as_str()).collect();
        assert_eq!((ids, news.number), (vec!["c", "a"], first + 2));
        let cut = Listing { unread: 1, ..listing(&[("a", 3)]) };
        assert!(!reader.take(&cut, &mut news), "what was not read is not gone");
        assert!(reader.take(&listing(&[("a", 3), ("b", 2)]), &mut news));
        assert_eq!(news.removed, [(Provider::Codex, "c".to_owned())]);
        assert_eq!(news.changed.len(), 1);
    }

    #[test]
    fn news_keeps_newest_changes() {
        let (mut reader, mut news) = (NewsReader::default(), HistoryNews::default());
        reader.take(&listing(&[]), &mut news);
        let rows: Vec<Transcript> = (0..30).rev().map(|at| row(&at.to_string(), at)).collect();
        reader.take(&Listing { rows, ..Listing::default() }, &mut news);
        assert_eq!(
            news.changed.iter().map(|row| row.updated_at).collect::<Vec<_>>(),
            (10..30).collect::<Vec<_>>()
        );
    }
}
