//! Opens files of other programs. Other agents' folders and the target of `.git` are untrusted: a FIFO, a device or a
//! huge file must not block a thread or exhaust memory.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Read},
    path::Path,
};

/// Opens a regular file for reading; never blocks on a FIFO.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options.open(path)?;
    // Checked on the handle: the path may have been replaced.
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// Returns bytes as text, with invalid UTF-8 replaced.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    // `from_utf8_lossy` validates byte by byte.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Reads a file of at most `most` bytes; `None` if it is larger, missing or not a regular file.
pub fn read_bounded(path: &Path, most: u64) -> Option<Vec<u8>> {
    read_document(path, most).ok()
}

/// Reads a file that is one document; fails if it has more than `most` bytes.
pub fn read_document(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {most} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_bounded_rejects_large_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "1234").unwrap();
        assert_eq!(read_bounded(&path, 4), Some(b"1234".to_vec()));
        assert_eq!(read_bounded(&path, 3), None);
        assert_eq!(read_bounded(folder.path(), 4), None, "a folder");
        assert_eq!(read_bounded(&folder.path().join("gone"), 4), None);
    }

    #[test]
    fn open_rejects_irregular_files() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        for path in [fifo.as_path(), Path::new("/dev/zero"), folder.path()] {
            assert_eq!(open(path).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{}", path.display());
        }
    }
}
