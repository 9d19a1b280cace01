//! The folder of installed packages.

use super::error::InstallError;
use openagents_core::folders::create_folder;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

const RECORD: &str = "installed.json";
const LOCK: &str = "lock";
/// Start of the name of a folder that is not in use yet, or no longer.
const PENDING: &str = ".new-";
/// Maximum bytes of [`RECORD`] and of a saved list.
const FILE_BYTES: u64 = 16 << 20;

/// The folder of all installed packages.
#[derive(Debug, Clone)]
pub(crate) struct Packages {
    folder: PathBuf,
}

/// What is installed for one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Installed {
    pub(crate) current: Release,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) previous: Option<Release>,
}

/// An installed version. Its paths are relative to its folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Release {
    /// Without the version.
    pub(crate) package: String,
    pub(crate) version: String,
    pub(crate) program: PathBuf,
    /// The Node that runs the program, if it came with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) node: Option<PathBuf>,
}

/// The right to change what is installed for one agent.
#[derive(Debug)]
pub(crate) struct Exclusive {
    folder: PathBuf,
    /// Unlocks on drop.
    _lock: File,
}

impl Packages {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// An empty folder in which programs for a login run.
    pub(crate) fn login_folder(&self) -> Result<PathBuf, InstallError> {
        let folder = self.folder.join("login");
        create_folder(&folder).map_err(|error| InstallError::Disk(folder.clone(), error))?;
        Ok(folder)
    }

    pub(crate) fn saved_list(&self) -> Option<Vec<u8>> {
        read(&self.folder.join("registry.json"))
    }

    pub(crate) fn save_list(&self, bytes: &[u8]) -> io::Result<()> {
        write(&self.folder, "registry.json", bytes)
    }

    /// What is installed for an agent. A damaged record counts as nothing.
    pub(crate) fn installed(&self, agent: &str) -> Option<Installed> {
        installed_in(&self.folder.join(agent))
    }

    /// The absolute paths of a release's program and of its Node.
    pub(crate) fn paths(&self, agent: &str, release: &Release) -> (PathBuf, Option<PathBuf>) {
        let folder = self.folder.join(agent).join(&release.version);
        (folder.join(&release.program), release.node.as_ref().map(|node| folder.join(node)))
    }

    /// Fails if another process or thread is changing what is installed for this agent.
    pub(crate) fn lock(&self, agent: &str) -> Result<Exclusive, InstallError> {
        let folder = self.folder.join(agent);
        let failed = |error| InstallError::Disk(folder.clone(), error);
        create_folder(&folder).map_err(failed)?;
        let lock = File::create(folder.join(LOCK)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Exclusive { folder, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(InstallError::Locked),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

impl Exclusive {
    /// Removes what an interrupted installation has left, and creates a folder for a new one.
    pub(crate) fn new_folder(&self) -> Result<PathBuf, InstallError> {
        self.clean();
        let folder = self.folder.join(format!("{PENDING}{}", uuid::Uuid::new_v4()));
        create_folder(&folder).map_err(|error| InstallError::Disk(folder.clone(), error))?;
        Ok(folder)
    }

    /// Makes a complete folder the version in use, and keeps the one before it.
    pub(crate) fn activate(&self, prepared: &Path, release: Release) -> Result<(), InstallError> {
        let place = self.folder.join(&release.version);
        let failed = |error| InstallError::Disk(place.clone(), error);
        if place.exists() {
            self.put_aside(&place).map_err(failed)?;
        }
        fs::rename(prepared, &place).map_err(failed)?;
        let before = installed_in(&self.folder);
        let previous = before.and_then(|Installed { current, previous }| {
            [Some(current), previous].into_iter().flatten().find(|known| known.version != release.version)
        });
        self.record(&Installed { current: release, previous })?;
        self.clean();
        Ok(())
    }

    /// Exchanges the version in use and the one before it.
    pub(crate) fn roll_back(&self) -> Result<(), InstallError> {
        let Some(Installed { current, previous: Some(previous) }) = installed_in(&self.folder) else {
            return Err(InstallError::NoPrevious);
        };
        self.record(&Installed { current: previous, previous: Some(current) })
    }

    /// Forgets what is installed. Its files are removed by [`Self::clean`].
    pub(crate) fn forget(&self) -> Result<(), InstallError> {
        match fs::remove_file(self.folder.join(RECORD)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(InstallError::Disk(self.folder.join(RECORD), error))
            }
            _ => Ok(()),
        }
    }

    /// Removes every folder that is not in use. What cannot be removed now is removed another time.
    pub(crate) fn clean(&self) {
        let used: Vec<_> = installed_in(&self.folder)
            .into_iter()
            .flat_map(|Installed { current, previous }| [Some(current), previous])
            .flatten()
            .map(|release| release.version)
            .collect();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if !is_folder || used.iter().any(|used| name == used.as_str()) {
                continue;
            }
            if let Err(error) = fs::remove_dir_all(entry.path()) {
                tracing::warn!("cannot remove {}: {error}", entry.path().display());
            }
        }
    }

    fn put_aside(&self, folder: &Path) -> io::Result<()> {
        fs::rename(folder, self.folder.join(format!("{PENDING}{}", uuid::Uuid::new_v4())))
    }

    fn record(&self, installed: &Installed) -> Result<(), InstallError> {
        let bytes = serde_json::to_vec_pretty(installed).map_err(io::Error::from);
        bytes
            .and_then(|bytes| write(&self.folder, RECORD, &bytes))
            .map_err(|error| InstallError::Disk(self.folder.join(RECORD), error))
    }
}

fn installed_in(folder: &Path) -> Option<Installed> {
    serde_json::from_slice(&read(&folder.join(RECORD))?)
        .inspect_err(|error| tracing::warn!("ignored {}: {error}", folder.join(RECORD).display()))
        .ok()
}

fn read(path: &Path) -> Option<Vec<u8>> {
    use io::Read as _;
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Writes a file so that a reader sees either the old or the new content.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    create_folder(folder)?;
    let mut draft = tempfile::NamedTempFile::new_in(folder)?;
    draft.write_all(bytes)?;
    draft.as_file().sync_all()?;
    draft.persist(folder.join(name)).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(version: &str) -> Release {
        Release {
            package: "@a/b".to_owned(),
            version: version.to_owned(),
            program: "node_modules/@a/b/b.js".into(),
            node: None,
        }
    }

    fn install(packages: &Packages, version: &str) {
        let exclusive = packages.lock("x").unwrap();
        let folder = exclusive.new_folder().unwrap();
        fs::write(folder.join("version"), version).unwrap();
        exclusive.activate(&folder, release(version)).unwrap();
    }

    fn versions(packages: &Packages) -> (Option<String>, Option<String>, Vec<String>) {
        let installed = packages.installed("x");
        let folders = fs::read_dir(packages.folder.join("x")).unwrap().flatten();
        let folders = folders.filter(|entry| entry.file_type().unwrap().is_dir());
        let mut folders: Vec<_> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
        folders.sort();
        let current = installed.as_ref().map(|installed| installed.current.version.clone());
        (current, installed.and_then(|installed| Some(installed.previous?.version)), folders)
    }

    fn expected(
        current: &str,
        previous: &str,
        folders: &[&str],
    ) -> (Option<String>, Option<String>, Vec<String>) {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        (some(current), some(previous), folders.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn updates_keep_one_earlier_version() {
        let folder = tempfile::tempdir().unwrap();
        let packages = Packages::new(folder.path().to_owned());
        assert_eq!(packages.installed("x"), None);
        install(&packages, "1.0.0");
        assert_eq!(versions(&packages), expected("1.0.0", "", &["1.0.0"]));
        install(&packages, "2.0.0");
        assert_eq!(versions(&packages), expected("2.0.0", "1.0.0", &["1.0.0", "2.0.0"]));
        install(&packages, "3.0.0");
        assert_eq!(versions(&packages), expected("3.0.0", "2.0.0", &["2.0.0", "3.0.0"]));
        packages.lock("x").unwrap().roll_back().unwrap();
        assert_eq!(versions(&packages), expected("2.0.0", "3.0.0", &["2.0.0", "3.0.0"]));
        // Again the version that was rolled back, which replaces its folder.
        install(&packages, "3.0.0");
        assert_eq!(versions(&packages), expected("3.0.0", "2.0.0", &["2.0.0", "3.0.0"]));
        let (program, node) = packages.paths("x", &release("3.0.0"));
        assert_eq!((program, node), (folder.path().join("x/3.0.0/node_modules/@a/b/b.js"), None));
        let exclusive = packages.lock("x").unwrap();
        exclusive.forget().unwrap();
        exclusive.clean();
        drop(exclusive);
        assert_eq!(versions(&packages), expected("", "", &[]));
        assert!(matches!(packages.lock("x").unwrap().roll_back(), Err(InstallError::NoPrevious)));
    }

    #[test]
    fn interrupted_installation_leaves_nothing_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let packages = Packages::new(folder.path().to_owned());
        install(&packages, "1.0.0");
        let left = packages.lock("x").unwrap().new_folder().unwrap();
        fs::write(left.join("half"), "").unwrap();
        // A crash between the two renames of an update.
        fs::create_dir(folder.path().join("x/2.0.0")).unwrap();
        assert_eq!(packages.installed("x").unwrap().current.version, "1.0.0");
        let next = packages.lock("x").unwrap().new_folder().unwrap();
        assert!(!left.exists() && next.exists() && !folder.path().join("x/2.0.0").exists());
        fs::write(folder.path().join("x").join(RECORD), "{").unwrap();
        assert_eq!(packages.installed("x"), None);
    }

    #[test]
    fn second_installation_of_an_agent_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let packages = Packages::new(folder.path().to_owned());
        let first = packages.lock("x").unwrap();
        assert!(matches!(packages.lock("x"), Err(InstallError::Locked)));
        assert!(packages.lock("y").is_ok());
        drop(first);
        assert!(packages.lock("x").is_ok());
    }
}
