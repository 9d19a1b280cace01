//! One app per data folder: a second start hands its folder over to the first and exits.
//!
//! The lock and the socket are in the data folder, which only its owner can enter.

use std::{
    ffi::OsStr,
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    os::unix::{
        ffi::OsStrExt as _,
        fs::OpenOptionsExt as _,
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

const LOCK_FILE: &str = "window.lock";
const SOCKET_FILE: &str = "window.sock";

/// Time that a second start waits for the first to listen.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);
/// Maximum bytes of a path, and the time allowed to read it.
const PATH_BYTES: u64 = 64 << 10;
const READING: Duration = Duration::from_secs(1);

/// The first app on a data folder. Its lock ends with the process.
#[derive(Debug)]
pub(crate) struct First {
    _lock: File,
    listener: UnixListener,
}

#[derive(Debug)]
pub(crate) enum Start {
    First(First),
    /// Another app is running and shows its window instead.
    HandedOver,
}

/// Becomes the first app on the data folder, or hands `folder` over to it. An error is not fatal: the window then shows
/// the bridge's error.
pub(crate) fn start(home: &Path, folder: Option<&Path>) -> io::Result<Start> {
    openagents_core::folders::create_folder(home)?;
    let (lock_file, socket) = (home.join(LOCK_FILE), home.join(SOCKET_FILE));
    let lock =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(lock_file)?;
    match lock.try_lock() {
        Ok(()) => {
            // The socket of an app that has ended.
            match std::fs::remove_file(&socket) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            Ok(Start::First(First { _lock: lock, listener: UnixListener::bind(&socket)? }))
        }
        Err(TryLockError::WouldBlock) => {
            let mut stream = connect(&socket)?;
            stream.write_all(folder.map_or(OsStr::new(""), Path::as_os_str).as_bytes())?;
            Ok(Start::HandedOver)
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

impl First {
    /// Calls `on_start` for every later start, from a separate thread, with the folder to open.
    pub(crate) fn listen(self, on_start: impl Fn(Option<PathBuf>) + Send + 'static) -> io::Result<()> {
        let listen = move || {
            // The lock is held for as long as the thread listens.
            let Self { _lock, listener } = self;
            for stream in listener.incoming() {
                match stream.and_then(read_folder) {
                    Ok(folder) => on_start(folder),
                    Err(error) => tracing::warn!(%error, "cannot read the request of a second instance"),
                }
            }
        };
        std::thread::Builder::new().name("starts".to_owned()).spawn(listen).map(drop)
    }
}

/// Connects with retries, because the first app takes the lock before it listens.
fn connect(socket: &Path) -> io::Result<UnixStream> {
    let until = Instant::now() + PATIENCE;
    loop {
        match UnixStream::connect(socket) {
            Err(_) if Instant::now() < until => std::thread::sleep(PAUSE),
            connected => return connected,
        }
    }
}

fn read_folder(stream: UnixStream) -> io::Result<Option<PathBuf>> {
    stream.set_read_timeout(Some(READING))?;
    let mut path = Vec::new();
    stream.take(PATH_BYTES).read_to_end(&mut path)?;
    Ok((!path.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(&path))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{os::unix::fs::PermissionsExt as _, sync::mpsc};

    #[test]
    fn second_start_hands_over_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (home, other) = (folder.path().join("home"), folder.path().join("other"));
        let Start::First(first) = start(&home, None).unwrap() else { panic!("nothing runs there") };
        assert_eq!(std::fs::metadata(&home).unwrap().permissions().mode() & 0o777, 0o700);
        let (sender, starts) = mpsc::channel();
        first.listen(move |folder| drop(sender.send(folder))).unwrap();
        for folder in [Some(Path::new("/some where")), None] {
            assert!(matches!(start(&home, folder), Ok(Start::HandedOver)));
            assert_eq!(starts.recv().unwrap().as_deref(), folder);
        }
        assert!(matches!(start(&other, None), Ok(Start::First(_))));
    }

    #[test]
    fn stale_socket_is_replaced() {
        let home = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            assert!(matches!(start(home.path(), None), Ok(Start::First(_))));
            assert!(home.path().join(SOCKET_FILE).exists());
        }
    }
}
