//! The cache of parsed transcripts, in its own database file.
//!
//! Several processes share it: a bridge and any number of commands. Losing it is never an error: a damaged file, or one
//! of another version, is replaced with an empty one.

use crate::{
    cache_file::CacheFile,
    history::{CachedTranscripts, FileStamp, ListingCache, MemoryListingCache, READER_VERSION, Transcript},
};
use openagents_core::folders::create_folder;
use parking_lot::Mutex;
use rusqlite::{Connection, params};
use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

const FILE: &str = "transcripts.sqlite";

const CACHE: CacheFile = CacheFile {
    what: "the cache of transcripts",
    // Combines the version of the tables with that of the reader that parsed the rows.
    version: READER_VERSION * 100 + 1,
    tables: "CREATE TABLE transcripts (
        path TEXT PRIMARY KEY NOT NULL,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        row_json TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE marks (mark BLOB PRIMARY KEY NOT NULL) STRICT, WITHOUT ROWID;",
};

/// Maximum number of marks kept: each state of a log leaves one.
const MARKS: i64 = 50_000;

/// A [`ListingCache`] on disk.
#[derive(Debug)]
pub struct TranscriptCache {
    path: PathBuf,
    connection: Mutex<Connection>,
    read: Mutex<Read>,
    /// Deleted rows are still in the log, because another process was reading it when they were to be removed.
    unscrubbed: AtomicBool,
}

/// Rows already loaded, by folder. A bridge lists often, and parsing thousands of rows takes longer than checking their
/// files.
#[derive(Debug, Default)]
struct Read {
    /// Changes when another process writes.
    version: i64,
    folders: HashMap<PathBuf, Arc<CachedTranscripts>>,
    marks: Option<Arc<HashSet<u128>>>,
}

impl TranscriptCache {
    /// Opens or creates the cache in the data folder `home`. If it cannot be opened, the cache is in memory only.
    pub fn open(home: &Path) -> Arc<dyn ListingCache> {
        let path = home.join(FILE);
        // If this fails, opening the file fails too and reports it.
        let _ = create_folder(home);
        match CACHE.open(&path) {
            Ok(connection) => {
                let connection = Mutex::new(connection);
                Arc::new(Self { path, connection, read: Mutex::default(), unscrubbed: false.into() })
            }
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "the cache of transcripts is kept in memory");
                Arc::new(MemoryListingCache::default())
            }
        }
    }

    /// Calls `run`, and calls it again after replacing a damaged file.
    fn with<T: Default>(&self, mut run: impl FnMut(&mut Connection) -> rusqlite::Result<T>) -> T {
        let mut connection = self.connection.lock();
        let result = run(&mut connection).or_else(|error| {
            *connection = CACHE.renew(&self.path, &error)?;
            run(&mut connection)
        });
        result.unwrap_or_else(|error| {
            // Listing still works; it parses the files again.
            tracing::warn!(%error, "the cache of transcripts failed");
            T::default()
        })
    }

    /// Returns the version of the data, and drops the loaded rows if it has changed.
    fn version(&self) -> i64 {
        let version =
            self.with(|connection| connection.query_row("PRAGMA data_version", [], |row| row.get(0)));
        let mut read = self.read.lock();
        if read.version != version {
            *read = Read { version, ..Read::default() };
        }
        version
    }

    fn scrub(&self) {
        let is_done = self.with(|connection| match CacheFile::is_unscrubbed(connection)? {
            true => CacheFile::scrub(connection, ""),
            false => CacheFile::empty_log(connection),
        });
        self.unscrubbed.store(!is_done, Ordering::Relaxed);
    }
}

impl ListingCache for TranscriptCache {
    fn load(&self, root: &Path) -> Arc<CachedTranscripts> {
        let Some(folder) = root.to_str() else { return Arc::default() };
        if self.unscrubbed.load(Ordering::Relaxed) {
            self.scrub();
        }
        let version = self.version();
        if let Some(rows) = self.read.lock().folders.get(root) {
            return rows.clone();
        }
        let rows = self.with(|connection| transcripts(connection, folder.trim_end_matches('/')));
        // Without a lock: several folders are loaded at the same time.
        let parsed = |(size, mtime_ns, json): (u64, i64, String)| {
            let row: Transcript = serde_json::from_str(&json).ok()?;
            Some((row.file_path.clone().into(), (FileStamp { size, mtime_ns }, row)))
        };
        let rows: Arc<CachedTranscripts> = Arc::new(rows.into_iter().filter_map(parsed).collect());
        let mut read = self.read.lock();
        if read.version == version {
            // A row that was saved in the meantime is missing here and is parsed again.
            read.folders.insert(root.to_owned(), rows.clone());
        }
        rows
    }

    fn save(&self, rows: Vec<(FileStamp, Transcript)>) {
        if rows.is_empty() {
            return;
        }
        self.with(|connection| save(connection, &rows));
        let mut read = self.read.lock();
        for (stamp, row) in rows {
            for (_, known) in read.folders.iter_mut().filter(|(root, _)| row.file_path.starts_with(root)) {
                Arc::make_mut(known).insert(row.file_path.clone().into(), (stamp, row.clone()));
            }
        }
    }

    fn forget(&self, is_gone: &dyn Fn(&Transcript) -> bool) {
        let all = self.with(|connection| {
            let mut statement = connection.prepare("SELECT path, row_json FROM transcripts")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<(String, String)>>>()
        });
        let is_kept = |json: &str| serde_json::from_str(json).is_ok_and(|row| !is_gone(&row));
        let gone: Vec<String> =
            all.into_iter().filter(|(_, json)| !is_kept(json)).map(|(path, _)| path).collect();
        if !gone.is_empty() {
            self.with(|connection| delete(connection, &gone));
            *self.read.lock() = Read::default();
        }
        self.scrub();
    }

    fn marks(&self) -> Arc<HashSet<u128>> {
        let version = self.version();
        if let Some(marks) = &self.read.lock().marks {
            return marks.clone();
        }
        let marks: Vec<[u8; 16]> = self.with(|connection| {
            let mut statement = connection.prepare_cached("SELECT mark FROM marks")?;
            statement.query_map([], |row| row.get(0))?.collect()
        });
        let marks: Arc<HashSet<u128>> = Arc::new(marks.into_iter().map(u128::from_le_bytes).collect());
        let mut read = self.read.lock();
        if read.version == version {
            read.marks = Some(marks.clone());
        }
        marks
    }

    fn mark(&self, marks: &[u128]) {
        self.with(|connection| mark(connection, marks));
        // Writes of this connection don't change the version.
        self.read.lock().marks = None;
    }

    fn checkpoint(&self) {
        self.scrub();
    }
}

fn transcripts(connection: &Connection, root: &str) -> rusqlite::Result<Vec<(u64, i64, String)>> {
    // One range of the primary key: everything that starts with `root/`.
    let (from, to) = (format!("{root}/"), format!("{root}0"));
    let mut statement = connection
        .prepare_cached("SELECT size, mtime_ns, row_json FROM transcripts WHERE path >= ?1 AND path < ?2")?;
    statement.query_map([from, to], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
}

fn save(connection: &mut Connection, rows: &[(FileStamp, Transcript)]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    for (stamp, row) in rows {
        // A path that is not UTF-8 has no JSON form: that file is parsed again each time.
        if let (Some(path), Ok(json)) = (row.file_path.to_str(), serde_json::to_string(row)) {
            transaction
                .prepare_cached(
                    "INSERT OR REPLACE INTO transcripts (path, size, mtime_ns, row_json) VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![path, stamp.size, stamp.mtime_ns, json])?;
        }
    }
    transaction.commit()
}

fn delete(connection: &mut Connection, paths: &[String]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    CacheFile::deletes(&transaction)?;
    for path in paths {
        transaction.prepare_cached("DELETE FROM transcripts WHERE path = ?1")?.execute([path])?;
    }
    transaction.commit()
}

fn mark(connection: &mut Connection, marks: &[u128]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let count: i64 = transaction.query_row("SELECT count(*) FROM marks", [], |row| row.get(0))?;
    if count > MARKS {
        transaction.execute("DELETE FROM marks", [])?;
    }
    for mark in marks {
        let insert = "INSERT OR IGNORE INTO marks (mark) VALUES (?1)";
        transaction.prepare_cached(insert)?.execute([mark.to_le_bytes()])?;
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Provider, Unknown};

    fn transcript(path: &str) -> Transcript {
        Transcript {
            id: path.to_owned(),
            provider: Provider::Codex,
            title: Some("Fix it".to_owned()),
            named: false,
            cwd: Some("/work".into()),
            branch: None,
            model: None,
            created_at: Some(1),
            updated_at: 2,
            file_path: path.into(),
            earlier: vec![],
            size: 10,
            changed_at: 0,
            user_turns: Some(1),
            tokens: None,
            hidden: false,
            subagent: false,
            archived: false,
            continues: None,
            first_line: None,
            bad_lines: 0,
            version: None,
            unknown: Unknown::default(),
            gone: None,
            moved_to: None,
        }
    }

    fn row(path: &str) -> (FileStamp, Transcript) {
        (FileStamp { size: 10, mtime_ns: 20 }, transcript(path))
    }

    #[test]
    fn cache_remembers_transcripts_by_folder() {
        let home = tempfile::tempdir().unwrap();
        let paths = ["/a/x.jsonl", "/a/b/y.jsonl", "/ab/z.jsonl", "/a0/w.jsonl"];
        TranscriptCache::open(home.path()).save(paths.map(row).to_vec());
        let index = TranscriptCache::open(home.path());
        let mut found: Vec<_> = index.load(Path::new("/a")).keys().cloned().collect();
        found.sort();
        assert_eq!(found, [PathBuf::from("/a/b/y.jsonl"), PathBuf::from("/a/x.jsonl")]);
    }

    #[test]
    fn cache_is_shared_by_processes() {
        let home = tempfile::tempdir().unwrap();
        let [bridge, command] = [(); 2].map(|()| TranscriptCache::open(home.path()));
        bridge.save(vec![row("/a/x.jsonl")]);
        command.save(vec![row("/a/y.jsonl")]);
        assert_eq!([&bridge, &command].map(|index| index.load(Path::new("/a")).len()), [2, 2]);
        // Loaded rows are reused until they change.
        command.save(vec![row("/a/z.jsonl")]);
        assert_eq!([bridge, command].map(|index| index.load(Path::new("/a")).len()), [3, 3]);
    }

    #[test]
    fn cache_drops_rows_of_other_reader() {
        let home = tempfile::tempdir().unwrap();
        TranscriptCache::open(home.path()).save(vec![row("/a/x.jsonl")]);
        let other = Connection::open(home.path().join(FILE)).unwrap();
        other.pragma_update(None, "user_version", READER_VERSION + 1).unwrap();
        let index = TranscriptCache::open(home.path());
        assert_eq!(index.load(Path::new("/a")).len(), 0);
        index.save(vec![row("/a/x.jsonl")]);
        assert_eq!(TranscriptCache::open(home.path()).load(Path::new("/a")).len(), 1);
    }

    #[test]
    fn cache_leaves_no_trace_of_forgotten_rows() {
        let home = tempfile::tempdir().unwrap();
        let [bridge, command] = [(); 2].map(|()| TranscriptCache::open(home.path()));
        bridge.save((0..300).map(|at| row(&format!("/a/canary-{at}.jsonl"))).collect());
        command.save(vec![row("/b/x.jsonl")]);
        assert_eq!(command.load(Path::new("/a")).len(), 300);
        bridge.forget(&|row| row.file_path.starts_with("/a"));
        assert_eq!([&bridge, &command].map(|index| index.load(Path::new("/a")).len()), [0, 0]);
        assert_eq!(command.load(Path::new("/b")).len(), 1);
        for name in [FILE.to_owned(), format!("{FILE}-wal")] {
            let bytes = std::fs::read(home.path().join(name)).unwrap();
            assert_eq!(memchr::memmem::find(&bytes, b"canary"), None);
        }
    }

    #[test]
    fn cache_remembers_marks_of_excluded_logs() {
        let home = tempfile::tempdir().unwrap();
        let [bridge, command] = [(); 2].map(|()| TranscriptCache::open(home.path()));
        assert!(bridge.marks().is_empty());
        bridge.mark(&[1, u128::MAX]);
        command.mark(&[1, 2]);
        for index in [bridge, command, TranscriptCache::open(home.path())] {
            assert_eq!(*index.marks(), HashSet::from([1, 2, u128::MAX]));
        }
    }

    #[test]
    fn cache_recreates_damaged_file() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(FILE);
        std::fs::write(&path, "this is not a database, despite its name".repeat(100)).unwrap();
        let index = TranscriptCache::open(home.path());
        index.save((0..500).map(|n| row(&format!("/a/{n}.jsonl"))).collect());
        assert_eq!(index.load(Path::new("/a")).len(), 500);
        drop(index);
        // Damage past the header is found only on reading.
        let mut bytes = std::fs::read(&path).unwrap();
        let end = bytes.len();
        bytes[8192.min(end / 2)..].fill(0xa5);
        std::fs::write(&path, bytes).unwrap();
        let index = TranscriptCache::open(home.path());
        assert_eq!(index.load(Path::new("/a")).len(), 0);
        index.save(vec![row("/a/x.jsonl")]);
        assert_eq!(index.load(Path::new("/a")).len(), 1);
    }

    #[test]
    fn cache_without_folder_is_in_memory() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("file"), "").unwrap();
        let index = TranscriptCache::open(&home.path().join("file"));
        index.save(vec![row("/a/x.jsonl")]);
        assert_eq!(index.load(Path::new("/a")).len(), 1);
    }
}
