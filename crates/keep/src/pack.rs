//! Files of compressed frames. A frame is decompressed as a whole, so it has about a megabyte of content.

use parking_lot::Mutex;
use std::{
    fs::{self, File},
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::Arc,
};
use zstd::bulk::Compressor;

/// Bytes of content after which a frame is complete.
pub(crate) const FRAME: usize = 1 << 20;

/// Bytes of content that a frame may have at most; a forged length must not exhaust memory.
pub(crate) const LONGEST_FRAME: usize = 64 << 20;

/// How well frames are compressed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Level {
    Fast = 3,
    /// A tenth smaller for logs, at 2 MB/s.
    Best = 19,
}

const UNFINISHED: &str = "part";

/// Where a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) pack: i64,
    /// Bytes of the pack before it.
    pub(crate) place: u64,
    /// Its bytes there.
    pub(crate) stored: u32,
    /// Bytes of content.
    pub(crate) length: u32,
}

pub(crate) fn path(folder: &Path, pack: i64) -> PathBuf {
    folder.join(format!("{pack:08}.pack"))
}

/// Bytes of decompressed frames that are kept: a compacted conversation uses the same few again.
const CACHED: usize = 16 << 20;

/// Decompressed frames, the last used one last.
#[derive(Debug, Default)]
pub(crate) struct FrameCache(Mutex<Vec<(i64, Arc<Vec<u8>>)>>);

impl FrameCache {
    pub(crate) fn get(&self, id: i64) -> Option<Arc<Vec<u8>>> {
        let mut frames = self.0.lock();
        let at = frames.iter().position(|(other, _)| *other == id)?;
        let frame = frames.remove(at);
        let content = frame.1.clone();
        frames.push(frame);
        Some(content)
    }

    pub(crate) fn put(&self, id: i64, content: Arc<Vec<u8>>) {
        let mut frames = self.0.lock();
        frames.push((id, content));
        let mut bytes: usize = frames.iter().map(|(_, content)| content.len()).sum();
        while bytes > CACHED && frames.len() > 1 {
            bytes -= frames.remove(0).1.len();
        }
    }

    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}

/// A pack that is being written.
pub(crate) struct PackWriter {
    folder: PathBuf,
    id: i64,
    file: BufWriter<File>,
    at: u64,
    compressor: Compressor<'static>,
    is_finished: bool,
}

impl std::fmt::Debug for PackWriter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PackWriter").field("id", &self.id).finish_non_exhaustive()
    }
}

impl PackWriter {
    pub(crate) fn create(folder: &Path, id: i64, level: Level) -> io::Result<Self> {
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path(folder, id).with_extension(UNFINISHED))?;
        let mut compressor = Compressor::new(level as i32)?;
        compressor.include_checksum(true)?;
        Ok(Self {
            folder: folder.to_owned(),
            id,
            file: BufWriter::new(file),
            at: 0,
            compressor,
            is_finished: false,
        })
    }

    /// Compresses a frame.
    pub(crate) fn add(&mut self, content: &[u8]) -> io::Result<Frame> {
        let stored = self.compress(content)?;
        self.add_stored(&stored, content.len() as u32)
    }

    pub(crate) fn compress(&mut self, content: &[u8]) -> io::Result<Vec<u8>> {
        self.compressor.compress(content)
    }

    /// Adds a frame that is already compressed.
    pub(crate) fn add_stored(&mut self, stored: &[u8], length: u32) -> io::Result<Frame> {
        let frame = Frame { pack: self.id, place: self.at, stored: stored.len() as u32, length };
        self.file.write_all(stored)?;
        self.at += stored.len() as u64;
        Ok(frame)
    }

    /// Writes everything to the disk, and gives the pack its name. Returns its bytes.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        let path = path(&self.folder, self.id);
        fs::rename(path.with_extension(UNFINISHED), path)?;
        self.is_finished = true;
        File::open(&self.folder)?.sync_all()?;
        Ok(self.at)
    }
}

/// A part of a pack is of no use: it must not take room on a full disk.
impl Drop for PackWriter {
    fn drop(&mut self) {
        let part = path(&self.folder, self.id).with_extension(UNFINISHED);
        if !self.is_finished
            && let Err(error) = fs::remove_file(part)
        {
            tracing::debug!(%error, "an unfinished pack could not be removed");
        }
    }
}

/// A pack that is being compressed again.
#[derive(Debug)]
pub(crate) struct Recompression {
    pub(crate) pack: i64,
    pub(crate) frames: Vec<(i64, Frame)>,
    pub(crate) new: i64,
    pub(crate) writer: PackWriter,
    /// Frames in the new pack.
    pub(crate) moved: Vec<(i64, Frame)>,
}

/// Returns the compressed bytes of a frame; `None` if they no longer exist.
pub(crate) fn read_stored(folder: &Path, frame: Frame) -> io::Result<Option<Vec<u8>>> {
    let mut file = match File::open(path(folder, frame.pack)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    file.seek(SeekFrom::Start(frame.place))?;
    let mut stored = Vec::new();
    file.take(frame.stored.into()).read_to_end(&mut stored)?;
    Ok((stored.len() == frame.stored as usize).then_some(stored))
}

/// Returns the content of a frame; `None` if it is damaged.
pub(crate) fn read(folder: &Path, frame: Frame) -> io::Result<Option<Vec<u8>>> {
    Ok(read_stored(folder, frame)?.and_then(|stored| decompress(&stored, frame)))
}

/// Returns the content of a frame; `None` if its bytes are damaged.
pub(crate) fn decompress(stored: &[u8], frame: Frame) -> Option<Vec<u8>> {
    let length = Some(frame.length as usize).filter(|length| *length <= LONGEST_FRAME)?;
    zstd::bulk::decompress(stored, length).ok().filter(|content| content.len() == length)
}

pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes packs that were being written when the program ended, and packs that are not in `known`.
pub(crate) fn remove_unknown(folder: &Path, known: impl Fn(i64) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let id = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        let is_whole = path.extension().is_some_and(|extension| extension == "pack");
        if !(is_whole && id.is_some_and(&known)) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
