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

/// The level of compression. Level 19 makes logs a tenth smaller, at 2 MB/s.
const LEVEL: i32 = 3;

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
}

impl PackWriter {
    pub(crate) fn create(folder: &Path, id: i64) -> io::Result<Self> {
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path(folder, id).with_extension(UNFINISHED))?;
        let mut compressor = Compressor::new(LEVEL)?;
        compressor.include_checksum(true)?;
        Ok(Self { folder: folder.to_owned(), id, file: BufWriter::new(file), at: 0, compressor })
    }

    /// Compresses a frame.
    pub(crate) fn add(&mut self, content: &[u8]) -> io::Result<Frame> {
        let stored = self.compressor.compress(content)?;
        self.add_stored(&stored, content.len() as u32)
    }

    /// Adds a frame that is already compressed.
    pub(crate) fn add_stored(&mut self, stored: &[u8], length: u32) -> io::Result<Frame> {
        let frame = Frame { pack: self.id, place: self.at, stored: stored.len() as u32, length };
        self.file.write_all(stored)?;
        self.at += stored.len() as u64;
        Ok(frame)
    }

    /// Writes everything to the disk, and gives the pack its name. Returns its bytes.
    pub(crate) fn finish(self) -> io::Result<u64> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        let path = path(&self.folder, self.id);
        fs::rename(path.with_extension(UNFINISHED), path)?;
        File::open(&self.folder)?.sync_all()?;
        Ok(self.at)
    }
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
    let length = frame.length as usize;
    if length > LONGEST_FRAME {
        return Ok(None);
    }
    let content = read_stored(folder, frame)?.and_then(|stored| zstd::bulk::decompress(&stored, length).ok());
    Ok(content.filter(|content| content.len() == length))
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
