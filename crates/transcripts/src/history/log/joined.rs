//! Several files read as one log: a session that its agent continued in another file.

use std::io::{self, Read, Seek, SeekFrom};

pub(crate) trait Positioned: Read {
    fn go_to(&mut self, offset: u64) -> io::Result<()>;
}

/// The files of a session in sequence, oldest first. A file whose last line has no line end gets one, so that no line
/// continues in the next file.
pub(crate) struct Joined<L> {
    pieces: Vec<Piece<L>>,
    position: u64,
}

struct Piece<L> {
    log: L,
    /// Byte offset in the joined log at which it begins.
    start: u64,
    /// Bytes of the file.
    length: u64,
    /// The position of `log` in bytes.
    read: u64,
    /// A line end follows that is not in the file.
    gap: bool,
}

impl<L> Piece<L> {
    fn end(&self) -> u64 {
        self.start + self.length + u64::from(self.gap)
    }
}

impl<L: Positioned> Joined<L> {
    /// Joins logs with their sizes in bytes, oldest first.
    pub(crate) fn new(logs: Vec<(L, u64)>) -> io::Result<Self> {
        let mut joined = Self { pieces: Vec::new(), position: 0 };
        for (mut log, length) in logs {
            let gap = length > 0 && !ends_a_line(&mut log, length)?;
            let start = joined.size();
            joined.pieces.push(Piece { log, start, length, read: u64::MAX, gap });
        }
        // The end of the newest file may still be incomplete.
        if let Some(last) = joined.pieces.last_mut() {
            last.gap = false;
        }
        Ok(joined)
    }

    fn size(&self) -> u64 {
        self.pieces.last().map_or(0, Piece::end)
    }

    pub(crate) fn starts(&self) -> Vec<u64> {
        self.pieces.iter().map(|piece| piece.start).collect()
    }
}

impl<L: Positioned> Read for Joined<L> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(piece) = self.pieces.iter_mut().find(|piece| self.position < piece.end()) {
            let at = self.position - piece.start;
            let left = usize::try_from(piece.length.saturating_sub(at)).unwrap_or(usize::MAX);
            let wanted = left.min(buffer.len());
            if buffer.is_empty() {
                return Ok(0);
            }
            if wanted == 0 {
                buffer[0] = b'\n';
                self.position += 1;
                return Ok(1);
            }
            if piece.read != at {
                piece.log.go_to(at)?;
                piece.read = at;
            }
            let read = piece.log.read(&mut buffer[..wanted])?;
            if read == 0 {
                // The file has become shorter.
                self.position = piece.end();
                continue;
            }
            piece.read += read as u64;
            self.position += read as u64;
            return Ok(read);
        }
        Ok(0)
    }
}

impl<L: Positioned> Seek for Joined<L> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => self.size().checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        let before = || io::Error::new(io::ErrorKind::InvalidInput, "a position before the start of a log");
        self.position = position.ok_or_else(before)?;
        Ok(self.position)
    }
}

fn ends_a_line(log: &mut impl Positioned, length: u64) -> io::Result<bool> {
    let mut last = [0];
    log.go_to(length - 1)?;
    log.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::log::lines::open_joined;
    use std::path::PathBuf;

    fn joined(files: &[&str]) -> (tempfile::TempDir, Vec<PathBuf>) {
        let folder = tempfile::tempdir().unwrap();
        let paths = files.iter().enumerate().map(|(at, text)| {
            let path = folder.path().join(at.to_string());
            std::fs::write(&path, text).unwrap();
            path
        });
        let paths = paths.collect();
        (folder, paths)
    }

    #[test]
    fn joined_files_read_from_any_position() {
        let (folder, mut paths) = joined(&["a\nbc\n", "cut", "", "last"]);
        let gone = folder.path().join("gone");
        paths.insert(1, gone);
        let whole = "a\nbc\ncut\nlast";
        let mut log = open_joined(paths.iter().map(PathBuf::as_path)).unwrap();
        assert_eq!(log.starts(), [0, 5, 9, 9]);
        for at in 0..whole.len() {
            log.seek(SeekFrom::Start(at as u64)).unwrap();
            let mut text = String::new();
            log.read_to_string(&mut text).unwrap();
            assert_eq!(text, whole[at..]);
        }
        assert_eq!(log.seek(SeekFrom::End(-4)).unwrap(), 9);
        assert!(log.seek(SeekFrom::End(-40)).is_err());
        std::fs::write(&paths[0], "a\n").unwrap();
        log.seek(SeekFrom::Start(0)).unwrap();
        let mut text = String::new();
        log.read_to_string(&mut text).unwrap();
        assert_eq!(text, "a\ncut\nlast", "a file became shorter");
    }

    #[test]
    fn joined_rejects_no_files() {
        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().join("gone");
        assert_eq!(open_joined([gone.as_path()].into_iter()).err().unwrap().kind(), io::ErrorKind::NotFound);
    }
}
