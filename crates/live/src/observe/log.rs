//! Follows the end of a log that an agent writes.

use serde_json::Value;
use std::{
    fs::{File, Metadata},
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

/// Bytes of a log that are read at first: enough for the last turn of nearly every session.
const FIRST: u64 = 1 << 20;
/// Bytes before a position by which an appended log is distinguished from another one: an inode may be used again.
const TAIL: usize = 64;
/// Bytes that are read at once.
const PART: u64 = 8 << 20;

/// What a look at a log has found.
#[derive(Debug, Default, PartialEq)]
pub(super) struct News {
    /// The log is shorter than before, or another file: what was read does not count.
    pub(super) is_replaced: bool,
    /// Whole lines that are JSON.
    pub(super) lines: Vec<Value>,
}

/// A log of lines, and how far it was read.
#[derive(Debug, Clone)]
pub(super) struct FollowedLog {
    pub(super) path: PathBuf,
    /// Bytes up to the end of the last whole line.
    read: u64,
    file: Option<FileId>,
    size: u64,
    /// The last bytes that were read.
    tail: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId(u64, u64);

impl FileId {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self(metadata.dev(), metadata.ino())
    }

    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Self {
        Self(0, 0)
    }
}

impl FollowedLog {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, read: 0, file: None, size: 0, tail: Vec::new() }
    }

    /// Whether it was read before.
    pub(super) fn is_read(&self) -> bool {
        self.file.is_some()
    }

    /// Reads what was added. Blocks.
    pub(super) fn look(&mut self) -> io::Result<News> {
        let metadata = std::fs::metadata(&self.path)?;
        let (size, file) = (metadata.len(), FileId::of(&metadata));
        if self.file == Some(file) && self.size == size {
            return Ok(News::default());
        }
        let is_known = self.file == Some(file) && size >= self.size && self.continues()?;
        let is_replaced = self.file.is_some() && !is_known;
        if !is_known {
            self.read = size.saturating_sub(FIRST);
        }
        // A line that began before has no start.
        let is_cut = !is_known && self.read > 0;
        let bytes = part(&self.path, self.read)?;
        (self.file, self.size) = (Some(file), size);
        let end = match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            // A line without an end that fills the whole part is passed over.
            None if bytes.len() as u64 == PART => bytes.len(),
            None => 0,
        };
        self.read += end as u64;
        if !is_known {
            self.tail.clear();
        }
        self.tail.extend_from_slice(&bytes[end.saturating_sub(TAIL)..end]);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL));
        // There is more: the next look reads on.
        if bytes.len() as u64 == PART {
            self.size = self.read;
        }
        let lines = bytes[..end].split(|byte| *byte == b'\n').skip(usize::from(is_cut));
        let lines = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        Ok(News { is_replaced, lines })
    }
}

impl FollowedLog {
    /// Whether the log still has what was read last.
    fn continues(&self) -> io::Result<bool> {
        let from = self.read.saturating_sub(self.tail.len() as u64);
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(self.tail.len() as u64).read_to_end(&mut bytes)?;
        Ok(bytes == self.tail)
    }
}

fn part(path: &Path, from: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(PART).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;

    fn lines(log: &mut FollowedLog) -> (bool, Vec<Value>) {
        let News { is_replaced, lines } = log.look().unwrap();
        (is_replaced, lines)
    }

    #[test]
    fn log_is_read_line_by_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let mut log = FollowedLog::new(path.clone());
        assert!(log.look().is_err());
        fs::write(&path, "1\n2\nhalf").unwrap();
        assert_eq!(lines(&mut log), (false, vec![json!(1), json!(2)]));
        assert_eq!(lines(&mut log), (false, vec![]));
        fs::write(&path, "1\n2\n\"half\"\n\nbroken\n3\n").unwrap();
        assert_eq!(lines(&mut log), (false, vec![json!("half"), json!(3)]));
        fs::write(&path, "4\n").unwrap();
        assert_eq!(lines(&mut log), (true, vec![json!(4)]));
        fs::remove_file(&path).unwrap();
        fs::write(folder.path().join("other"), "5\n6\n7\n8\n").unwrap();
        fs::rename(folder.path().join("other"), &path).unwrap();
        assert_eq!(lines(&mut log), (true, vec![json!(5), json!(6), json!(7), json!(8)]));
    }

    #[test]
    fn long_log_is_read_from_near_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let count = FIRST as usize / 4;
        fs::write(&path, (0..count).map(|at| format!("{}\n", 100_000 + at)).collect::<String>()).unwrap();
        let (_, found) = lines(&mut FollowedLog::new(path));
        assert_eq!(found.last(), Some(&json!(100_000 + count - 1)));
        assert!(found.len() < count && found.iter().all(|number| number.as_u64() >= Some(100_000)));
    }
}
