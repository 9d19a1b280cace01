//! The folder of a store: `store.json`, `kept.db`, `journal/`, `packs/` and `links/`.

use crate::{
    pack::{self, Frame, FrameCache, Recompression},
    recipe::Recipe,
};
use openagents_core::folders::{create_folder, create_private};
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::{Duration, SystemTime},
};

/// The version of the files.
const FORMAT: u32 = 1;

/// Time that a statement waits for another process.
const BUSY: Duration = Duration::from_secs(10);

const TABLES: &str = "
    CREATE TABLE collections (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        state TEXT NOT NULL,
        about TEXT NOT NULL,
        gone_at INTEGER
    ) STRICT;
    CREATE TABLE files (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        collection INTEGER NOT NULL,
        name TEXT NOT NULL,
        UNIQUE (collection, name)
    ) STRICT;
    CREATE TABLE versions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        file INTEGER NOT NULL,
        since INTEGER NOT NULL,
        length INTEGER NOT NULL,
        sealed INTEGER NOT NULL,
        ending BLOB NOT NULL
    ) STRICT;
    CREATE INDEX versions_of_file ON versions (file);
    CREATE TABLE segments (
        version INTEGER NOT NULL,
        start INTEGER NOT NULL,
        length INTEGER NOT NULL,
        pieces INTEGER NOT NULL,
        recipe BLOB NOT NULL,
        sum BLOB NOT NULL,
        PRIMARY KEY (version, start)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE packs (id INTEGER PRIMARY KEY AUTOINCREMENT, bytes INTEGER NOT NULL) STRICT;
    CREATE TABLE frames (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        pack INTEGER NOT NULL,
        place INTEGER NOT NULL,
        stored INTEGER NOT NULL,
        length INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX frames_of_pack ON frames (pack);
    CREATE TABLE uses (frame INTEGER NOT NULL, version INTEGER NOT NULL, PRIMARY KEY (frame, version))
        STRICT, WITHOUT ROWID;
    CREATE INDEX uses_of_version ON uses (version);
    CREATE TABLE known (
        hash BLOB PRIMARY KEY NOT NULL,
        frame INTEGER NOT NULL,
        place INTEGER NOT NULL,
        length INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;";

/// Why copies cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    #[error("the database of kept copies failed: {0}")]
    Database(#[from] rusqlite::Error),
    #[error("a file of the kept copies failed: {0}")]
    File(#[from] io::Error),
    #[error("the kept copies were written by a newer version of OpenAgents; update this one")]
    Newer,
    #[error("another OpenAgents is writing the kept copies in {}; quit it first", .0.display())]
    Busy(PathBuf),
}

/// Files that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    pub id: i64,
    /// Unique in a store.
    pub name: String,
    /// What its user stored to recognize that it has not changed.
    pub state: String,
    /// What its user stored about it.
    pub about: String,
    /// Since when its files no longer exist outside of the store, in milliseconds since the epoch.
    pub gone_at: Option<i64>,
}

/// A version of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFile {
    pub version: i64,
    /// Relative path in its collection.
    pub name: String,
    /// When it was first seen, in milliseconds since the epoch.
    pub since: i64,
    /// Bytes.
    pub length: u64,
    /// All of it was captured.
    pub is_complete: bool,
}

/// A file with more than one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    pub collection: i64,
    /// Relative path in its collection.
    pub name: String,
    /// When its newest version was first seen, in milliseconds since the epoch.
    pub since: i64,
}

/// How much is stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes on disk.
    pub stored: u64,
    /// Bytes of all versions.
    pub raw: u64,
    pub collections: u64,
    /// Collections whose files no longer exist outside of the store.
    pub gone: u64,
}

/// The row of a version.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    pub(crate) id: i64,
    pub(crate) file: i64,
    pub(crate) length: u64,
    /// Bytes in packs; the rest is in the journal.
    pub(crate) sealed: u64,
    /// Hash of its start and end, or of all of it; empty while it is incomplete.
    pub(crate) ending: Vec<u8>,
}

/// A part of a version in packs.
pub(crate) struct Segment {
    pub(crate) start: u64,
    pub(crate) length: u64,
    /// `None` if it is damaged.
    pub(crate) recipe: Option<Recipe>,
    /// SHA-256 of its bytes.
    pub(crate) sum: Vec<u8>,
}

/// Copies of files in a folder.
#[derive(Debug)]
pub struct CopyStore {
    folder: PathBuf,
    /// Hashes of values cannot be compared with those of other stores.
    key: [u8; 32],
    pub(crate) connection: Mutex<Connection>,
    pub(crate) frames: FrameCache,
    /// Held while packs are written or removed.
    pub(crate) writing: Mutex<()>,
    /// Packs may have bytes of versions that were removed.
    pub(crate) has_garbage: AtomicBool,
    pub(crate) recompression: Mutex<Option<Recompression>>,
    /// `None` for a reader.
    lock: Option<File>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    format: u32,
    key: [u8; 32],
}

impl CopyStore {
    /// Opens or creates a store for writing: one process at a time. Blocks.
    pub fn open(folder: &Path) -> Result<Self, KeepError> {
        for folder in [folder.to_owned(), folder.join("journal"), folder.join("packs"), folder.join("links")]
        {
            create_folder(&folder)?;
        }
        let lock = private(&folder.join("lock"))?;
        fs4::FileExt::try_lock(&lock).map_err(|_| KeepError::Busy(folder.to_owned()))?;
        let head = folder.join("store.json");
        if !head.exists() {
            let mut key = [0; 32];
            getrandom::fill(&mut key).map_err(io::Error::other)?;
            let json = serde_json::to_vec(&Head { format: FORMAT, key }).map_err(io::Error::from)?;
            let part = folder.join("store.json.part");
            let mut file = private(&part)?;
            file.set_len(0)?;
            file.write_all(&json)?;
            file.sync_all()?;
            fs::rename(part, head)?;
        }
        let database = folder.join("kept.db");
        create_private(&database);
        let connection = Connection::open(database)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        // [`CopyStore::sync`] writes transactions to the disk.
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "secure_delete", true)?;
        let store = Self::new(folder, connection, Some(lock))?;
        store.recover()?;
        Ok(store)
    }

    /// Opens a store that another process may be writing; `None` if there is none. Blocks.
    pub fn open_reader(folder: &Path) -> Result<Option<Self>, KeepError> {
        let database = folder.join("kept.db");
        if !database.exists() || !folder.join("store.json").exists() {
            return Ok(None);
        }
        let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.busy_timeout(BUSY)?;
        Self::new(folder, connection, None).map(Some)
    }

    fn new(folder: &Path, connection: Connection, lock: Option<File>) -> Result<Self, KeepError> {
        let format = |json: &[u8]| serde_json::from_slice::<serde_json::Value>(json).ok()?["format"].as_u64();
        let json = fs::read(folder.join("store.json"))?;
        if format(&json).is_some_and(|format| format > u64::from(FORMAT)) {
            return Err(KeepError::Newer);
        }
        let Head { key, .. } = serde_json::from_slice(&json).map_err(io::Error::from)?;
        let version = |connection: &Connection| {
            connection.query_row("PRAGMA user_version", [], |row| row.get::<_, u32>(0))
        };
        if version(&connection)? == 0 && lock.is_some() {
            let transaction = connection.unchecked_transaction()?;
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "user_version", FORMAT)?;
            transaction.commit()?;
        }
        // Stores were created without it.
        let has_compact = "SELECT count(*) FROM sqlite_schema WHERE name = 'compact'";
        if lock.is_some() && connection.query_row(has_compact, [], |row| row.get::<_, u32>(0))? == 0 {
            connection.execute_batch("CREATE TABLE compact (pack INTEGER PRIMARY KEY NOT NULL) STRICT")?;
        }
        Ok(Self {
            folder: folder.to_owned(),
            key,
            connection: Mutex::new(connection),
            frames: FrameCache::default(),
            writing: Mutex::default(),
            has_garbage: AtomicBool::new(lock.is_some()),
            recompression: Mutex::default(),
            lock,
        })
    }

    /// Removes what a killed process left: packs and links without rows, journals that were sealed, and bytes without a
    /// row.
    fn recover(&self) -> Result<(), KeepError> {
        let connection = self.connection.lock();
        connection.execute("DELETE FROM versions WHERE length = 0 AND ending = x''", [])?;
        let packs: HashSet<i64> = connection
            .prepare("SELECT id FROM packs")?
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        pack::remove_unknown(&self.packs(), |id| packs.contains(&id))?;
        for journal in self.journals()? {
            let row = connection.query_row(
                "SELECT length - sealed FROM versions WHERE id = ?1 AND sealed = ?2",
                params![journal.version, journal.start],
                |row| row.get::<_, u64>(0),
            );
            match row.optional()?.filter(|length| *length > 0) {
                Some(length) if length < journal.bytes => {
                    File::options().write(true).open(&journal.path)?.set_len(length)?;
                }
                Some(_) => {}
                None => fs::remove_file(&journal.path)?,
            }
        }
        let files: HashSet<String> = connection
            .prepare("SELECT CAST(id AS TEXT) FROM files")?
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for link in fs::read_dir(self.links())? {
            let link = link?;
            if link.file_name().to_str().is_none_or(|name| !files.contains(name)) {
                fs::remove_file(link.path())?;
            }
        }
        Ok(())
    }

    /// Returns the folder for files that must not vanish before they are captured: hard links to them.
    pub fn links(&self) -> PathBuf {
        self.folder.join("links")
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn packs(&self) -> PathBuf {
        self.folder.join("packs")
    }

    /// Returns the hash under which a value is known.
    pub(crate) fn hash(&self, value: &[u8]) -> [u8; 16] {
        let hash = Sha256::new().chain_update(self.key).chain_update(value).finalize();
        let mut short = [0; 16];
        short.copy_from_slice(&hash[..16]);
        short
    }

    pub fn is_writer(&self) -> bool {
        self.lock.is_some()
    }

    /// Writes all transactions to the disk. Blocks.
    pub fn sync(&self) -> Result<(), KeepError> {
        match File::open(self.folder.join("kept.db-wal")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            Ok(log) => Ok(log.sync_data()?),
            Err(_) => Ok(()),
        }
    }

    /// Adds a collection, or replaces what is stored about it; its files exist. Returns its id. Blocks.
    pub fn put(&self, name: &str, state: &str, about: &str) -> Result<i64, KeepError> {
        Ok(self.connection.lock().query_row(
            "INSERT INTO collections (name, state, about) VALUES (?1, ?2, ?3)
             ON CONFLICT (name) DO UPDATE SET state = excluded.state, about = excluded.about, gone_at = NULL
             RETURNING id",
            [name, state, about],
            |row| row.get(0),
        )?)
    }

    /// Marks a collection as gone since `at`, in milliseconds since the epoch. Blocks.
    pub fn set_gone(&self, id: i64, at: i64, about: &str) -> Result<(), KeepError> {
        let sql = "UPDATE collections SET gone_at = ?2, about = ?3 WHERE id = ?1";
        self.connection.lock().execute(sql, params![id, at, about])?;
        Ok(())
    }

    /// Returns all collections, oldest first. Blocks.
    pub fn collections(&self) -> Result<Vec<Collection>, KeepError> {
        let connection = self.connection.lock();
        let mut rows =
            connection.prepare("SELECT id, name, state, about, gone_at FROM collections ORDER BY id")?;
        let rows = rows.query_map([], |row| {
            Ok(Collection {
                id: row.get(0)?,
                name: row.get(1)?,
                state: row.get(2)?,
                about: row.get(3)?,
                gone_at: row.get(4)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns a number that changes whenever a collection or a version does. Blocks.
    pub fn revision(&self) -> Result<u64, KeepError> {
        let connection = self.connection.lock();
        let own = connection.total_changes();
        let others: u64 = connection.query_row("PRAGMA data_version", [], |row| row.get(0))?;
        Ok(own.wrapping_add(others << 32))
    }

    /// Returns the newest complete version of each file of a collection, or all of them, oldest first. Blocks.
    pub fn files(&self, collection: i64, all: bool) -> Result<Vec<KeptFile>, KeepError> {
        let connection = self.connection.lock();
        let mut rows = connection.prepare_cached(
            "SELECT v.id, f.name, v.since, v.length, v.ending <> x'' FROM files f JOIN versions v ON v.file = f.id
             WHERE f.collection = ?1 AND (?2 OR v.id = coalesce(
                 (SELECT max(id) FROM versions WHERE file = f.id AND ending <> x''),
                 (SELECT max(id) FROM versions WHERE file = f.id)))
             ORDER BY f.id, v.id",
        )?;
        let rows = rows.query_map(params![collection, all], |row| {
            Ok(KeptFile {
                version: row.get(0)?,
                name: row.get(1)?,
                since: row.get(2)?,
                length: row.get(3)?,
                is_complete: row.get(4)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the files with more than one complete version, of a collection or of all. Blocks.
    pub fn rewritten(&self, collection: Option<i64>) -> Result<Vec<Rewritten>, KeepError> {
        let connection = self.connection.lock();
        let which = if collection.is_some() { "f.collection = ?1" } else { "?1 IS NULL" };
        let mut rows = connection.prepare_cached(&format!(
            "SELECT f.collection, f.name, max(v.since) FROM files f JOIN versions v ON v.file = f.id
             WHERE {which} AND v.ending <> x'' GROUP BY f.id HAVING count(*) > 1"
        ))?;
        let rows = rows.query_map([collection], |row| {
            Ok(Rewritten { collection: row.get(0)?, name: row.get(1)?, since: row.get(2)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the id of a file, which is added if it is new.
    pub(crate) fn file(&self, collection: i64, name: &str) -> Result<i64, KeepError> {
        Ok(self.connection.lock().query_row(
            "INSERT INTO files (collection, name) VALUES (?1, ?2)
             ON CONFLICT (collection, name) DO UPDATE SET name = excluded.name RETURNING id",
            params![collection, name],
            |row| row.get(0),
        )?)
    }

    /// Returns the newest complete version, or else the newest one with some bytes.
    pub(crate) fn newest(&self, file: i64) -> Result<Option<Version>, KeepError> {
        let connection = self.connection.lock();
        let sql = "SELECT id, file, length, sealed, ending FROM versions
             WHERE file = ?1 AND (length > 0 OR ending <> x'') ORDER BY ending = x'', id DESC LIMIT 1";
        Ok(connection.prepare_cached(sql)?.query_row([file], version).optional()?)
    }

    pub(crate) fn version(&self, id: i64) -> Result<Option<Version>, KeepError> {
        let connection = self.connection.lock();
        let sql = "SELECT id, file, length, sealed, ending FROM versions WHERE id = ?1";
        Ok(connection.prepare_cached(sql)?.query_row([id], version).optional()?)
    }

    /// Adds a version, or returns one that was added without bytes because its capture failed.
    pub(crate) fn add_version(&self, file: i64, since: i64) -> Result<Version, KeepError> {
        let connection = self.connection.lock();
        let empty = "SELECT max(id) FROM versions WHERE file = ?1 AND length = 0 AND ending = x''";
        let id = match connection.query_row(empty, [file], |row| row.get(0))? {
            Some(id) => id,
            None => {
                connection.execute(
                    "INSERT INTO versions (file, since, length, sealed, ending) VALUES (?1, ?2, 0, 0, x'')",
                    params![file, since],
                )?;
                connection.last_insert_rowid()
            }
        };
        Ok(Version { id, file, length: 0, sealed: 0, ending: Vec::new() })
    }

    pub(crate) fn segments(&self, version: i64) -> Result<Vec<Segment>, KeepError> {
        let connection = self.connection.lock();
        let mut rows = connection.prepare_cached(
            "SELECT start, length, pieces, recipe, sum FROM segments WHERE version = ?1 ORDER BY start",
        )?;
        let rows = rows.query_map([version], |row| {
            let (pieces, recipe): (u32, Vec<u8>) = (row.get(2)?, row.get(3)?);
            Ok(Segment {
                start: row.get(0)?,
                length: row.get(1)?,
                recipe: Recipe::decode(&recipe, pieces),
                sum: row.get(4)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub(crate) fn frame(&self, id: i64) -> Result<Option<Frame>, KeepError> {
        let connection = self.connection.lock();
        let sql = "SELECT pack, place, stored, length FROM frames WHERE id = ?1";
        let frame = |row: &rusqlite::Row<'_>| {
            Ok(Frame { pack: row.get(0)?, place: row.get(1)?, stored: row.get(2)?, length: row.get(3)? })
        };
        Ok(connection.prepare_cached(sql)?.query_row([id], frame).optional()?)
    }

    pub(crate) fn frames_of(&self, pack: i64) -> Result<Vec<(i64, Frame)>, KeepError> {
        let connection = self.connection.lock();
        let mut frames = connection
            .prepare_cached("SELECT id, place, stored, length FROM frames WHERE pack = ?1 ORDER BY id")?;
        let frames = frames.query_map([pack], |row| {
            let frame = Frame { pack, place: row.get(1)?, stored: row.get(2)?, length: row.get(3)? };
            Ok((row.get(0)?, frame))
        })?;
        Ok(frames.collect::<Result<_, _>>()?)
    }

    /// Returns how much is stored. Blocks.
    pub fn sizes(&self) -> Result<Sizes, KeepError> {
        let connection = self.connection.lock();
        let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, u64>(0));
        let packs = number("SELECT coalesce(sum(bytes), 0) FROM packs")?;
        let database = number(
            "SELECT (page_count - freelist_count) * page_size
             FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()",
        )?;
        let journal: u64 = self.journals()?.iter().map(|journal| journal.bytes).sum();
        Ok(Sizes {
            stored: packs + database + journal + self.spare_bytes(),
            raw: number("SELECT coalesce(sum(length), 0) FROM versions")?,
            collections: number("SELECT count(*) FROM collections")?,
            gone: number("SELECT count(*) FROM collections WHERE gone_at IS NOT NULL")?,
        })
    }
}

fn version(row: &rusqlite::Row<'_>) -> rusqlite::Result<Version> {
    let (id, file, length, sealed, ending) =
        (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
    Ok(Version { id, file, length, sealed, ending })
}

/// Opens or creates a file that only its owner may read.
fn private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// The bytes of a version that are not in packs.
#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) version: i64,
    /// Bytes of the version before it.
    pub(crate) start: u64,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) changed_at: SystemTime,
}

impl CopyStore {
    pub(crate) fn journal_path(&self, version: i64, sealed: u64) -> PathBuf {
        self.folder.join("journal").join(format!("{version}-{sealed}"))
    }

    pub(crate) fn journals(&self) -> io::Result<Vec<Journal>> {
        let mut journals = Vec::new();
        for entry in fs::read_dir(self.folder.join("journal"))? {
            let entry = entry?;
            let name = entry.file_name();
            let Some((version, start)) = name.to_str().and_then(|name| name.split_once('-')) else {
                continue;
            };
            // A journal may be sealed in the meantime.
            let (Ok(version), Ok(start), Ok(about)) = (version.parse(), start.parse(), entry.metadata())
            else {
                continue;
            };
            let (bytes, changed_at) = (about.len(), about.modified()?);
            journals.push(Journal { version, start, path: entry.path(), bytes, changed_at });
        }
        Ok(journals)
    }

    /// Appends what `source` has up to `length` to the journal of a version, and stores its new length and ending.
    pub(crate) fn append(
        &self,
        version: &Version,
        source: &mut (impl Read + Seek),
        length: u64,
        ending: &[u8],
    ) -> Result<(), KeepError> {
        let mut journal = private(&self.journal_path(version.id, version.sealed))?;
        let end = version.length - version.sealed;
        let mut add = || -> Result<(), KeepError> {
            journal.set_len(end)?;
            journal.seek(SeekFrom::Start(end))?;
            source.seek(SeekFrom::Start(version.length))?;
            let wanted = length - version.length;
            if io::copy(&mut source.take(wanted), &mut journal)? != wanted {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            journal.sync_data()?;
            self.connection.lock().execute(
                "UPDATE versions SET length = ?2, ending = ?3 WHERE id = ?1",
                params![version.id, length, ending],
            )?;
            Ok(())
        };
        let added = add();
        if added.is_err() {
            // Bytes without a row were not captured: they must not take room on a full disk.
            journal.set_len(end)?;
        }
        added
    }
}
