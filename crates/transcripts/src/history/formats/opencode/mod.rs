//! The sessions of opencode: the JSON files of 1.0 and 1.1, and the databases of 1.x (samples up to 1.17) and 2.x.
//!
//! Format: `packages/opencode/src/storage` and `session/session.sql.ts` of anomalyco/opencode. The first line is the
//! session, then each message is a line; in 1.x, each part of an agent's message is another line.

mod decoder;
mod tables;
pub(crate) mod tree;
mod unfold;

pub(super) use self::decoder::OpencodeDecoder;

use self::tables::Generation;
use super::folder::entries;
use crate::history::{
    format::Environment,
    log::{lines::OpenLog, log_file::LogFile},
    transcript::SessionFiles,
};
use openagents_core::budget::Budget;
use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
};

pub(super) fn root(environment: &Environment<'_>) -> Option<PathBuf> {
    Some(environment.data_home()?.join("opencode"))
}

pub(super) fn other_roots(environment: &Environment<'_>) -> Vec<PathBuf> {
    let database = environment.folder("OPENCODE_DB").filter(|path| path.as_os_str() != ":memory:");
    // A relative path is relative to the data folder.
    let path = database.map(|path| root(environment).unwrap_or_default().join(path));
    path.filter(|path| path.is_absolute()).into_iter().collect()
}

pub(super) fn open(files: SessionFiles<'_>) -> io::Result<OpenLog> {
    if tree::is_session(files.newest) { tree::open(files.newest) } else { tables::open(files.newest) }
}

/// The tables of both generations with the rows of a session. No other table is copied: some hold credentials.
pub(super) const TABLES: &[(&str, &str)] = &[
    ("session", "id"),
    ("message", "session_id"),
    ("part", "session_id"),
    ("session_v2", "id"),
    ("session_message", "session_id"),
];

/// Returns the files of the messages and parts of a session that is a tree of files.
pub(super) fn beside(log: &Path) -> Vec<PathBuf> {
    if tree::is_session(log) { tree::contents(log) } else { vec![] }
}

/// Finds the sessions in a data folder, or in one database. A data folder has the databases `opencode.db` and
/// `opencode-<channel>.db`, and `storage/`, which remains when its sessions move into a database.
pub(super) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    if root.is_file() {
        return newest(tables::discover(root, budget));
    }
    let mut found = Vec::new();
    for (path, name) in entries(root, budget) {
        if name.starts_with("opencode") && name.ends_with(".db") {
            found.append(&mut tables::discover(&path, budget));
        }
    }
    found.extend(tree::discover(root, budget).into_iter().map(|file| (Generation::Tree, file)));
    newest(found)
}

/// Keeps the newest copy of each session.
fn newest(found: Vec<(Generation, LogFile)>) -> Vec<LogFile> {
    let mut newest: HashMap<String, (Generation, LogFile)> = HashMap::new();
    for (generation, file) in found {
        let is_older = |known: &(Generation, LogFile)| {
            (known.0, known.1.stamp.mtime_ns) < (generation, file.stamp.mtime_ns)
        };
        if newest.get(&file.id).is_none_or(is_older) {
            newest.insert(file.id.clone(), (generation, file));
        }
    }
    newest.into_values().map(|(_, file)| file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{History, HistoryRoots, MemoryListingCache, Provider, Query};
    use openagents_core::CancellationToken;
    use rusqlite::Connection;
    use std::{sync::Arc, time::Duration};

    fn budget() -> Budget {
        Budget::within(Duration::from_secs(60), &CancellationToken::new())
    }

    /// Creates a database of the oldest version with one session, and returns its list.
    fn listed(database: &Path, id: &str) -> Vec<crate::history::Transcript> {
        let agent = Connection::open(database).unwrap();
        let tables =
            "CREATE TABLE session(id, title, time_updated); CREATE TABLE message(id, session_id, data);";
        agent.execute_batch(tables).unwrap();
        agent.execute("INSERT INTO session VALUES(?1, 'Fix it', 1770000000000)", [id]).unwrap();
        agent.execute(r#"INSERT INTO message VALUES('m', ?1, '{"role":"user"}')"#, [id]).unwrap();
        drop(agent);
        history(database.parent().unwrap()).list(&Query { all: true, ..Query::default() }, &budget()).rows
    }

    fn history(root: &Path) -> History {
        let roots = HistoryRoots::default().with(Provider::Opencode, root);
        History::new(roots, Arc::new(MemoryListingCache::default()))
    }

    #[test]
    fn database_session_has_title_and_id() {
        let folder = tempfile::tempdir().unwrap();
        let rows = listed(&folder.path().join("opencode.db"), "ses_0001");
        let history = history(folder.path());
        assert_eq!(rows[0].updated_at, 1_770_000_000_000);
        assert_eq!(history.given_title(&rows[0], &budget()).as_deref(), Some("Fix it"));
        assert_eq!(history.find("ses_0001", None, &budget()).as_ref(), Some(&rows[0]));
    }

    #[test]
    fn changed_message_updates_session() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("opencode.db");
        listed(&database, "ses_0001");
        let history = history(folder.path());
        let mut sizes = Vec::new();
        let mut listed = || {
            let row = history.find("ses_0001", None, &budget()).unwrap();
            sizes.push(row.size);
            (row.updated_at, row.user_turns, row.title)
        };
        let title = Some("Fix it".to_owned());
        assert_eq!(listed(), (1_770_000_000_000, Some(0), title.clone()));
        let agent = Connection::open(&database).unwrap();
        agent
            .execute_batch(
                r#"CREATE TABLE part(id, message_id, session_id, time_updated, data);
                INSERT INTO part VALUES('p', 'm', 'ses_0001', 1770000001000, '{"type":"text","text":"fix it"}');"#,
            )
            .unwrap();
        assert_eq!(listed(), (1_770_000_001_000, Some(1), title.clone()));
        agent
            .execute_batch(
                "INSERT INTO part SELECT 'q', message_id, session_id, time_updated, data FROM part",
            )
            .unwrap();
        assert_eq!(listed().0, 1_770_000_001_000);
        agent.execute("DELETE FROM part", []).unwrap();
        assert_eq!(listed(), (1_770_000_000_000, Some(0), title));
        assert!(sizes[1] < sizes[2], "a row of the same time: {sizes:?}");
    }

    #[test]
    fn discover_skips_id_that_is_path() {
        for id in ["../a", "/etc/passwd", "a/b", ".", "..", ""] {
            let folder = tempfile::tempdir().unwrap();
            assert_eq!(listed(&folder.path().join("opencode.db"), id), [], "{id:?}");
        }
    }

    #[test]
    fn discover_reads_database_from_environment() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("elsewhere.db");
        assert_eq!(listed(&database, "ses_0001"), []);
        let rows = history(&database).list(&Query { all: true, ..Query::default() }, &budget()).rows;
        assert_eq!(rows[0].file_path, database.join("ses_0001"));
    }
}
