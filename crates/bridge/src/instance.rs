//! One bridge per data folder: a lock that the process holds, and a file with the bridge's address and token.

use crate::error::BridgeError;
use openagents_remote::token;
use serde::{Deserialize, Serialize};
use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

const LOCK_FILE: &str = "bridge.lock";

/// Locked while a bridge waits for a temporary one to end.
const CLAIM_FILE: &str = "bridge.next";

/// Name of the file with the address and the token of the running bridge. Only its owner can read it.
pub const ADDRESS_FILE: &str = "bridge.json";

/// The announcement of a running bridge to the programs of its user. The address and the token are written together, so
/// that a client never sends the token of one bridge to the address of another.
#[derive(Clone, Serialize, Deserialize)]
pub struct Announcement {
    pub address: SocketAddr,
    /// The token for local use, valid until the bridge ends.
    #[serde(default)]
    pub token: String,
    pid: u32,
    #[serde(default)]
    temporary: bool,
}

impl std::fmt::Debug for Announcement {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { address, pid, temporary, .. } = self;
        let mut shown = formatter.debug_struct("Announcement");
        shown
            .field("address", address)
            .field("pid", pid)
            .field("temporary", temporary)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub(crate) struct InstanceLock {
    /// The operating system releases the lock when the process exits or crashes.
    _lock: File,
    announcement: PathBuf,
}

impl InstanceLock {
    /// Locks the data folder. Fails with [`BridgeError::AlreadyRunning`] if another bridge holds the lock, or if this
    /// bridge is temporary and there is a [`Claim`].
    pub(crate) fn take(home: &Path, temporary: bool) -> Result<Self, BridgeError> {
        let path = home.join(LOCK_FILE);
        let failed =
            |error: &io::Error| BridgeError::NotWritable { path: home.to_owned(), reason: error.to_string() };
        openagents_sessions::store::create_folder(home).map_err(|error| failed(&error))?;
        if temporary && is_claimed(home) {
            return Err(BridgeError::AlreadyRunning { address: None });
        }
        let lock = open_lock(&path).map_err(|error| failed(&error))?;
        match retry_lock(|| lock.try_lock()) {
            Ok(()) => {
                let lock = Self { _lock: lock, announcement: home.join(ADDRESS_FILE) };
                // Left by a bridge that crashed: another program may now listen at its address.
                lock.withdraw();
                Ok(lock)
            }
            Err(TryLockError::WouldBlock) => {
                let address = read_announcement(home).map(|announced| announced.address.to_string());
                Err(BridgeError::AlreadyRunning { address })
            }
            Err(TryLockError::Error(error)) => Err(failed(&error)),
        }
    }

    pub(crate) fn announce(
        &self,
        address: SocketAddr,
        token: &str,
        temporary: bool,
    ) -> Result<(), BridgeError> {
        let announcement =
            Announcement { address, token: token.to_owned(), pid: std::process::id(), temporary };
        let written = serde_json::to_string(&announcement)
            .map_err(io::Error::from)
            .and_then(|text| token::write_private_file(&self.announcement, &text));
        written.map_err(|error| BridgeError::NotWritable {
            path: self.announcement.clone(),
            reason: error.to_string(),
        })
    }

    /// Removes the address and the token when the shutdown begins.
    pub(crate) fn withdraw(&self) {
        // If the file cannot be removed, it is ignored, because clients check the lock. Its token is no longer valid
        // either.
        let _ = std::fs::remove_file(&self.announcement);
    }
}

impl Drop for InstanceLock {
    fn drop(&mut self) {
        self.withdraw();
    }
}

/// A claim on a data folder, held by a bridge that waits for a temporary one to end. While it is held, the clients of
/// the temporary bridge cannot start another one.
#[derive(Debug)]
pub struct Claim {
    /// A shared lock, because several bridges may wait. `None` if locking failed; the wait may then just take longer.
    _lock: Option<File>,
}

impl Claim {
    /// Claims the data folder `home`.
    pub fn new(home: &Path) -> Self {
        let lock = open_lock(&home.join(CLAIM_FILE)).and_then(|lock| lock.lock_shared().map(|()| lock));
        Self { _lock: lock.ok() }
    }
}

fn is_claimed(home: &Path) -> bool {
    open_lock(&home.join(CLAIM_FILE))
        .is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Returns the address of the bridge that runs on the data folder `home`.
pub fn running(home: &Path) -> Option<SocketAddr> {
    announced(home).map(|announced| announced.address)
}

/// Asks a temporary bridge to end as soon as no turn is running; its clients find the next bridge. Returns whether a
/// temporary bridge is running.
pub fn ask_to_hand_over(home: &Path) -> bool {
    let Some(announced) = announced(home).filter(|announced| announced.temporary) else { return false };
    if let Some(pid) = i32::try_from(announced.pid).ok().and_then(rustix::process::Pid::from_raw)
        && let Err(error) = rustix::process::kill_process(pid, rustix::process::Signal::TERM)
    {
        tracing::warn!(%error, "could not ask the temporary bridge to end");
    }
    true
}

/// Returns the announcement of the bridge that holds the lock of the data folder `home`.
pub fn announced(home: &Path) -> Option<Announcement> {
    let lock = File::open(home.join(LOCK_FILE)).ok()?;
    match lock.try_lock_shared() {
        Err(TryLockError::WouldBlock) => read_announcement(home),
        _ => None,
    }
}

/// Retries for 50 ms, because [`running`] may briefly hold the lock.
fn retry_lock(lock: impl Fn() -> Result<(), TryLockError>) -> Result<(), TryLockError> {
    for _ in 0..5 {
        match lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(std::time::Duration::from_millis(10)),
            other => return other,
        }
    }
    lock()
}

fn read_announcement(home: &Path) -> Option<Announcement> {
    serde_json::from_str(&std::fs::read_to_string(home.join(ADDRESS_FILE)).ok()?).ok()
}

fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_bridge_fails_with_address_of_first() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(running(home.path()), None);
        let first = InstanceLock::take(home.path(), false).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], 4321));
        first.announce(address, "secret", false).unwrap();
        assert_eq!(running(home.path()), Some(address));
        let announced = announced(home.path()).unwrap();
        assert_eq!(announced.token, "secret");
        assert!(!format!("{announced:?}").contains("secret"));
        use std::os::unix::fs::PermissionsExt;
        let file = std::fs::metadata(home.path().join(ADDRESS_FILE)).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
        let error = InstanceLock::take(home.path(), false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "OpenAgents is already running on this data folder at http://127.0.0.1:4321"
        );
        assert!(!ask_to_hand_over(home.path()), "a permanent bridge does not hand over");
        drop(first);
        assert_eq!(running(home.path()), None);
        InstanceLock::take(home.path(), false).unwrap();
    }

    #[test]
    fn stale_address_file_is_ignored() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(ADDRESS_FILE), r#"{"address":"127.0.0.1:1","pid":1}"#).unwrap();
        assert_eq!(running(home.path()), None);
        // It is also ignored while the next bridge has the lock but no address yet.
        let lock = InstanceLock::take(home.path(), false).unwrap();
        assert_eq!(running(home.path()), None);
        drop(lock);
    }

    /// Regression: when a temporary bridge ended for the app, its client started another temporary bridge before the
    /// app could take the lock.
    #[test]
    fn temporary_bridge_yields_to_a_claim() {
        let home = tempfile::tempdir().unwrap();
        let (claim, another) = (Claim::new(home.path()), Claim::new(home.path()));
        drop(another);
        let error = InstanceLock::take(home.path(), true).unwrap_err();
        assert!(matches!(error, BridgeError::AlreadyRunning { address: None }), "{error}");
        drop(InstanceLock::take(home.path(), false).unwrap());
        drop(claim);
        InstanceLock::take(home.path(), true).unwrap();
    }
}
