//! The store as copies of logs.

use super::rows;
use crate::history::{
    Gone, History, KeptLog, KeptLogs, ListedLog, LogFile, Provider, Transcript, Unpacked, below_root,
};
use openagents_core::folders::create_folder;
use openagents_keep::{Collection, CopyStore, KeepError, KeptFile, Rewritten};
use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, File},
    io::{self, Write as _},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

/// Logs that stay unpacked: opening one takes as long as writing it.
const UNPACKED: usize = 4;

/// Copies of other agents' logs.
#[derive(Debug)]
pub struct KeptCopies {
    pub(super) store: CopyStore,
    known: RwLock<Known>,
    /// The last ones used, the newest last.
    unpacked: Mutex<Vec<UnpackedCopy>>,
}

#[derive(Debug)]
struct UnpackedCopy {
    /// The name of its collection.
    name: String,
    kept: Vec<KeptFile>,
    files: Arc<Unpacked>,
}

/// The collections of the store.
#[derive(Debug, Default)]
struct Known {
    revision: u64,
    by_name: HashMap<String, Arc<KeptSession>>,
    by_agent: BTreeMap<Provider, BTreeMap<String, Arc<KeptLog>>>,
}

/// A collection of the store: the log of a session, and the files beside it.
#[derive(Debug)]
pub(super) struct KeptSession {
    pub(super) id: i64,
    /// The stamp of the log that was captured; empty before that.
    pub(super) state: String,
    pub(super) log: Arc<KeptLog>,
    /// Since when the log is a shorter or different one.
    pub(super) replaced_at: Option<i64>,
}

/// What became of a log that was not captured as a whole.
pub(super) enum Completion {
    Copy(Arc<KeptSession>),
    /// There is no copy, or the session is excluded.
    Nothing,
    /// There was no time to read it.
    Later,
}

/// What is stored about a collection.
#[derive(Serialize, Deserialize)]
struct About {
    root: PathBuf,
    file: LogFile,
    row: Transcript,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gone: Option<Gone>,
}

impl KeptCopies {
    /// Opens or creates the store in the data folder for the bridge, which is the only writer. Blocks.
    pub fn open(home: &Path) -> Result<Arc<Self>, KeepError> {
        let copies = Self::new(CopyStore::open(&folder(home))?);
        // What a killed bridge left.
        if let Err(error) = fs::remove_dir_all(copies.unpacked_folder())
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "unpacked copies could not be removed");
        }
        copies.load()?;
        Ok(Arc::new(copies))
    }

    /// Opens the store for reading; `None` if nothing is kept. Blocks.
    pub fn open_reader(home: &Path) -> Result<Option<Arc<Self>>, KeepError> {
        let Some(store) = CopyStore::open_reader(&folder(home))? else { return Ok(None) };
        let copies = Self::new(store);
        copies.load()?;
        Ok(Some(Arc::new(copies)))
    }

    fn new(store: CopyStore) -> Self {
        Self { store, known: RwLock::default(), unpacked: Mutex::default() }
    }

    pub(super) fn load(&self) -> Result<(), KeepError> {
        let revision = self.store.revision()?;
        let mut known = Known { revision, ..Known::default() };
        let mut rewritten: HashMap<i64, Vec<Rewritten>> = HashMap::new();
        for file in self.store.rewritten(None)? {
            rewritten.entry(file.collection).or_default().push(file);
        }
        for collection in self.store.collections()? {
            let files = rewritten.remove(&collection.id).unwrap_or_default();
            known.add(collection, &files);
        }
        *self.known.write() = known;
        Ok(())
    }

    /// Reads again what another process has changed.
    fn refresh(&self) {
        let is_new = |revision| revision != self.known.read().revision;
        if !self.store.is_writer()
            && self.store.revision().is_ok_and(is_new)
            && let Err(error) = self.load()
        {
            tracing::warn!(%error, "kept copies could not be listed");
        }
    }

    fn unpacked_folder(&self) -> PathBuf {
        self.store.folder().join("open")
    }

    /// Creates a folder for unpacked files, which only their owner may read. That of the bridge is emptied at its start.
    pub(super) fn temporary_folder(&self) -> io::Result<tempfile::TempDir> {
        if !self.store.is_writer() {
            return tempfile::tempdir();
        }
        let folder = self.unpacked_folder();
        create_folder(&folder)?;
        tempfile::tempdir_in(folder)
    }

    /// Returns the collection of a log.
    pub(super) fn session(&self, provider: Provider, root: &Path, id: &str) -> Option<Arc<KeptSession>> {
        self.known.read().by_name.get(&name(provider, root, id)).cloned()
    }

    pub(super) fn sessions(&self) -> Vec<Arc<KeptSession>> {
        self.known.read().by_name.values().cloned().collect()
    }

    /// Returns the kept session with an id.
    pub(super) fn find(&self, provider: Provider, id: &str) -> Option<Arc<KeptSession>> {
        self.refresh();
        let root = self.known.read().by_agent.get(&provider)?.get(id)?.root.clone();
        self.session(provider, &root, id)
    }

    /// Notes a log that has links only, unless it was captured before.
    pub(super) fn note_linked(&self, log: &ListedLog) -> Result<(), KeepError> {
        match self.session(log.row.provider, &log.root, &log.row.id) {
            Some(_) => Ok(()),
            None => self.put(log, "").map(drop),
        }
    }

    /// Stores that a log was captured in this state, or was found if the state is empty. Returns its collection.
    pub(super) fn put(&self, log: &ListedLog, state: &str) -> Result<i64, KeepError> {
        let (name, about) = described(log);
        let id = self.store.put(&name, state, &about)?;
        let collection = Collection { id, name, state: state.to_owned(), about, gone_at: None };
        self.known.write().add(collection, &self.store.rewritten(Some(id))?);
        Ok(id)
    }

    /// Stores since when a log no longer exists.
    pub(super) fn set_gone(&self, session: &KeptSession, gone: Gone) -> Result<(), KeepError> {
        let KeptLog { root, file, row, .. } = &*session.log;
        let about = About { root: root.clone(), file: file.clone(), row: row.clone(), gone: Some(gone) };
        let about = serde_json::to_string(&about).unwrap_or_default();
        let at = gone.since.unwrap_or_default();
        self.store.set_gone(session.id, at, &about)?;
        let name = name(row.provider, root, &row.id);
        let state = session.state.clone();
        let collection = Collection { id: session.id, name, state, about, gone_at: Some(at) };
        self.known.write().add(collection, &self.store.rewritten(Some(session.id))?);
        Ok(())
    }

    /// Erases copies of sessions. Blocks.
    pub(super) fn erase(&self, sessions: &[Arc<KeptSession>]) -> Result<(), KeepError> {
        let ids: Vec<i64> = sessions.iter().map(|session| session.id).collect();
        if let Err(error) = self.store.erase(&ids) {
            // Some may be erased.
            self.load()?;
            return Err(error);
        }
        let mut unpacked = self.unpacked.lock();
        let mut known = self.known.write();
        for session in sessions {
            let KeptLog { root, row, .. } = &*session.log;
            let name = name(row.provider, root, &row.id);
            unpacked.retain(|copy| copy.name != name);
            known.by_name.remove(&name);
            if let Some(logs) = known.by_agent.get_mut(&row.provider) {
                logs.remove(&row.id);
            }
        }
        Ok(())
    }

    /// Writes files below a folder, at their relative paths. Blocks.
    pub(super) fn write_files(&self, files: &[KeptFile], to: &Path) -> io::Result<Vec<PathBuf>> {
        let mut written = Vec::new();
        for KeptFile { version, name, .. } in files {
            let Some(path) = plain(name).map(|name| to.join(name)) else {
                return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{name} is not a file name")));
            };
            if let Some(folder) = path.parent() {
                create_folder(folder)?;
            }
            let mut file = io::BufWriter::new(private(&path)?);
            self.store.write_to(*version, &mut file).map_err(io::Error::other)?;
            file.flush()?;
            written.push(path);
        }
        Ok(written)
    }

    /// Unpacks a session with a version of its log, or the current one; `None` if there is no such copy. Blocks.
    pub(crate) fn unpack_version(
        &self,
        provider: Provider,
        id: &str,
        version: Option<usize>,
    ) -> io::Result<Option<Arc<Unpacked>>> {
        let log = self.known.read().by_agent.get(&provider).and_then(|logs| logs.get(id).cloned());
        let session = log.and_then(|log| self.session(provider, &log.root, id));
        let Some(session) = session else { return Ok(None) };
        let Some(kept) = self.files_at(&session, version).map_err(io::Error::other)? else {
            return Ok(None);
        };
        let name = name(provider, &session.log.root, id);
        let mut unpacked = self.unpacked.lock();
        // A log may have been captured again since.
        if let Some(at) = unpacked.iter().position(|copy| copy.name == name && copy.kept == kept) {
            let found = unpacked.remove(at);
            let files = found.files.clone();
            unpacked.push(found);
            return Ok(Some(files));
        }
        let files = Arc::new(Unpacked(self.temporary_folder()?));
        let root = files.root();
        if kept.iter().any(|file| file.name == rows::name(id)) {
            self.write_files(&kept, files.0.path())?;
            rows::unpack(&fs::read(root.with_file_name(rows::name(id)))?, &root)?;
        } else {
            self.write_files(&kept, &root)?;
        }
        unpacked.push(UnpackedCopy { name, kept, files: files.clone() });
        let extra = unpacked.len().saturating_sub(UNPACKED);
        unpacked.drain(..extra);
        Ok(Some(files))
    }
}

impl History {
    /// Reads sessions whose logs no longer exist from their copies.
    pub fn with_copies(self, copies: Arc<KeptCopies>) -> Self {
        self.with_kept(copies)
    }
}

impl Known {
    fn add(&mut self, collection: Collection, rewritten: &[Rewritten]) {
        let Collection { id, name, state, about, gone_at: _ } = collection;
        // What cannot be read was written by a newer version.
        let Ok(About { root, file, row, gone }) = serde_json::from_str(&about) else { return };
        let row = Transcript { size: file.stamp.size, changed_at: file.changed_at(), ..row };
        let log_name = below_root(&file.path, &root);
        let replaced = rewritten.iter().find(|file| log_name.as_ref() == Some(&file.name));
        let replaced_at = replaced.map(|file| file.since);
        let log = Arc::new(KeptLog { root, file, row, gone });
        // A log that was only linked cannot be read.
        if !state.is_empty() {
            self.by_agent.entry(log.row.provider).or_default().insert(log.row.id.clone(), log.clone());
        }
        self.by_name.insert(name, Arc::new(KeptSession { id, state, log, replaced_at }));
    }
}

impl KeptLogs for KeptCopies {
    fn of_agent(&self, provider: Provider) -> Vec<Arc<KeptLog>> {
        self.refresh();
        self.known
            .read()
            .by_agent
            .get(&provider)
            .into_iter()
            .flat_map(|logs| logs.values().cloned())
            .collect()
    }

    fn replaced_at(&self, provider: Provider, id: &str) -> Option<i64> {
        Self::replaced_at(self, provider, id)
    }

    fn unpack(&self, provider: Provider, id: &str) -> io::Result<Option<Arc<Unpacked>>> {
        self.unpack_version(provider, id, None)
    }
}

/// Returns the name of a log's collection, and what is stored about it.
pub(super) fn described(log: &ListedLog) -> (String, String) {
    let ListedLog { root, file, row } = log;
    let about = About { root: root.clone(), file: file.clone(), row: row.clone(), gone: None };
    // A path that is not UTF-8 cannot be stored, and no agent uses one.
    (name(row.provider, root, &row.id), serde_json::to_string(&about).unwrap_or_default())
}

fn name(provider: Provider, root: &Path, id: &str) -> String {
    format!("{}/{id} in {}", provider.as_str(), root.display())
}

fn folder(home: &Path) -> PathBuf {
    home.join("kept.noindex")
}

/// Creates a file that only its owner may read.
fn private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns a relative path that stays below its folder.
fn plain(name: &str) -> Option<&Path> {
    let path = Path::new(name);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    (is_plain && !name.is_empty()).then_some(path)
}
