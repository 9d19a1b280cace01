//! The sessions of opencode: the JSON files of 1.0 and 1.1, and the databases of 1.x (samples up to 1.17) and 2.x.
//!
//! Format: `packages/opencode/src/storage` and `session/session.sql.ts` of anomalyco/opencode. The first line is the
//! session, then each message is a line; in 1.x, each part of an agent's message is another line.

mod decoder;
mod tables;
mod tree;
mod unfold;

use super::{folder::entries, opencode::tables::Generation};
use crate::history::{
    decoder::Decoder,
    format::{Environment, Format},
    lines::OpenLog,
    log_file::{Locate, LogFile},
    transcript::{Provider, SessionFiles},
};
use openagents_core::budget::Budget;
use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
};

#[derive(Debug)]
pub(crate) struct Opencode;

impl Format for Opencode {
    fn provider(&self) -> Provider {
        Provider::Opencode
    }

    fn root(&self, environment: &Environment<'_>) -> Option<PathBuf> {
        let data = environment.folder("XDG_DATA_HOME");
        Some(data.or_else(|| environment.beneath_home(".local/share"))?.join("opencode"))
    }

    fn other_roots(&self, environment: &Environment<'_>) -> Vec<PathBuf> {
        let database = environment.folder("OPENCODE_DB").filter(|path| path.as_os_str() != ":memory:");
        // A relative path is relative to the data folder.
        let path = |path: PathBuf| Some(self.root(environment).unwrap_or_default().join(path));
        database.and_then(path).filter(|path| path.is_absolute()).into_iter().collect()
    }

    fn watched(&self) -> &'static [&'static str] {
        &["", "storage"]
    }

    fn discover(&self, root: &Path, budget: &Budget) -> Vec<LogFile> {
        discover(root, budget)
    }

    fn open(&self, files: SessionFiles<'_>) -> io::Result<OpenLog> {
        if tree::is_session(files.newest) { tree::open(files.newest) } else { tables::open(files.newest) }
    }

    fn decoder(&self, _files: SessionFiles<'_>, _locate: Locate<'_>, _budget: &Budget) -> Box<dyn Decoder> {
        Box::new(decoder::OpencodeDecoder::default())
    }
}

// Finds sessions in the databases `opencode.db` and `opencode-<channel>.db` and in `storage/`, which remains when its
// sessions move into a database.

/// Finds the sessions in a data folder, or in one database.
fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
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
    use crate::history::{History, HistoryRoots, MemoryIndex, Query};
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
        History::new(roots, Arc::new(MemoryIndex::default()))
    }

    #[test]
    fn a_session_in_a_database_has_a_title_and_is_found_by_its_id() {
        let folder = tempfile::tempdir().unwrap();
        let rows = listed(&folder.path().join("opencode.db"), "ses_0001");
        let history = history(folder.path());
        assert_eq!(rows[0].updated_at, 1_770_000_000_000);
        assert_eq!(history.given_title(&rows[0], &budget()).as_deref(), Some("Fix it"));
        assert_eq!(history.find("ses_0001", None, &budget()).as_ref(), Some(&rows[0]));
    }

    #[test]
    fn a_session_is_read_again_when_one_of_its_messages_changes() {
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
    fn a_session_whose_id_is_a_path_is_left_out() {
        for id in ["../a", "/etc/passwd", "a/b", ".", "..", ""] {
            let folder = tempfile::tempdir().unwrap();
            assert_eq!(listed(&folder.path().join("opencode.db"), id), [], "{id:?}");
        }
    }

    #[test]
    fn the_database_that_a_variable_names_is_read_too() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("elsewhere.db");
        assert_eq!(listed(&database, "ses_0001"), []);
        let rows = history(&database).list(&Query { all: true, ..Query::default() }, &budget()).rows;
        assert_eq!(rows[0].file_path, database.join("ses_0001"));
    }
}
