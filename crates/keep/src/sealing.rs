//! Cuts new bytes, finds values that are known, and compresses the rest into packs.

use crate::{
    cut::{self, FileKind},
    pack::{self, FRAME, Frame, Level, PackWriter, remove_if_there},
    recipe::{Piece, Recipe},
    store::{CopyStore, KeepError},
};
use parking_lot::MutexGuard;
use rusqlite::{OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeSet, HashMap},
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    ops::Range,
    time::Duration,
};

/// Length in bytes of the longest line whose values are found; a longer one is cut by its content.
const LINE: u64 = 16 << 20;

/// Bytes of a file after which a new segment begins.
const SEGMENT: u64 = 16 << 20;

/// Bytes after which a pack is complete: a kill loses no captured byte, but the work for one pack.
const PACK: u64 = 32 << 20;

/// Length in bytes from which a line is cut: shorter ones repeat rarely.
const SHORTEST_LINE: usize = 1024;

/// Length in bytes from which a line that is not JSON is cut by its content.
const TEXT: usize = 128 * 1024;

/// Bytes of a journal from which it is sealed although its file still grows.
pub const FULL_JOURNAL: u64 = 1 << 20;

/// What a transaction writes: one pack, and the segments that use it.
pub struct Sealing<'a> {
    store: &'a CopyStore,
    _writing: MutexGuard<'a, ()>,
    pack: Option<(i64, PackWriter)>,
    next_frame: i64,
    /// Content of the frame that is being filled.
    content: Vec<u8>,
    frames: Vec<(i64, Frame)>,
    known: HashMap<[u8; 16], Piece>,
    segments: Vec<NewSegment>,
    raw: u64,
    /// Something failed: what was added is not complete.
    is_broken: bool,
}

/// The next bytes of a version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewBytes<'a> {
    pub(crate) version: i64,
    /// Bytes of the version before them.
    pub(crate) start: u64,
    pub(crate) length: u64,
    /// Hash of the version's start and end with them.
    pub(crate) ending: &'a [u8],
    pub(crate) kind: FileKind,
}

struct NewSegment {
    version: i64,
    start: u64,
    length: u64,
    recipe: Recipe,
    sum: Vec<u8>,
    /// The version's length and ending after it.
    after: Option<(u64, Vec<u8>)>,
}

impl CopyStore {
    /// Begins to seal; others that seal or erase wait. Blocks.
    pub fn seal(&self) -> Result<Sealing<'_>, KeepError> {
        let writing = self.writing.lock();
        Ok(Sealing {
            store: self,
            _writing: writing,
            pack: None,
            next_frame: self.next_id("frames")?,
            content: Vec::with_capacity(FRAME),
            frames: Vec::new(),
            known: HashMap::new(),
            segments: Vec::new(),
            raw: 0,
            is_broken: false,
        })
    }

    /// Seals the journals of files that did not change for `quiet`, and long ones. Blocks.
    pub fn seal_journals(&self, quiet: Duration) -> Result<(), KeepError> {
        let mut sealing = self.seal()?;
        let mut sealed = Vec::new();
        for journal in self.journals()? {
            let is_quiet = journal.changed_at.elapsed().is_ok_and(|age| age >= quiet);
            let Some(version) = self.version(journal.version)? else { continue };
            let length = version.length - version.sealed;
            if version.sealed != journal.start || length == 0 || !(is_quiet || length >= FULL_JOURNAL) {
                continue;
            }
            let kind = self.kind(version.file)?;
            let (start, ending) = (version.sealed, version.ending.as_slice());
            let new = NewBytes { version: version.id, start, length, ending, kind };
            sealing.add_whole(new, File::open(&journal.path)?)?;
            sealed.push(journal.path);
        }
        sealing.finish()?;
        for path in sealed {
            fs::remove_file(path)?;
        }
        Ok(())
    }

    fn kind(&self, file: i64) -> Result<FileKind, KeepError> {
        let connection = self.connection.lock();
        let name: String =
            connection.query_row("SELECT name FROM files WHERE id = ?1", [file], |row| row.get(0))?;
        Ok(FileKind::of(&name))
    }

    /// Returns the next id of a table whose ids are never used again.
    pub(crate) fn next_id(&self, table: &str) -> Result<i64, KeepError> {
        let connection = self.connection.lock();
        let sql = "SELECT seq FROM sqlite_sequence WHERE name = ?1";
        let last: Option<i64> = connection.query_row(sql, [table], |row| row.get(0)).optional()?;
        Ok(last.unwrap_or(0) + 1)
    }
}

impl Sealing<'_> {
    /// Adds bytes of a version. Its length and ending are stored with the last of them; of many bytes, parts are written
    /// before.
    pub(crate) fn add(&mut self, new: NewBytes<'_>, source: impl Read) -> Result<(), KeepError> {
        self.add_parts(new, source, true)
    }

    /// Like [`Sealing::add`], in one transaction: a journal is valid until all of it is in packs.
    pub(crate) fn add_whole(&mut self, new: NewBytes<'_>, source: impl Read) -> Result<(), KeepError> {
        self.add_parts(new, source, false)
    }

    fn add_parts(&mut self, new: NewBytes<'_>, source: impl Read, has_parts: bool) -> Result<(), KeepError> {
        let NewBytes { version, start, length, ending, kind } = new;
        let mut source = BufReader::with_capacity(1 << 18, source.take(length));
        let (mut at, end) = (start, start + length);
        let mut line = Vec::new();
        while at < end {
            let (begin, mut sum, mut recipe) = (at, Sha256::new(), Recipe::default());
            while at < end && at - begin < SEGMENT {
                line.clear();
                let is_whole = match kind {
                    FileKind::Lines => {
                        source.by_ref().take(LINE).read_until(b'\n', &mut line)?;
                        (line.len() as u64) < LINE
                    }
                    FileKind::Document => {
                        source.by_ref().take(LINE).read_to_end(&mut line)?;
                        start + line.len() as u64 == end
                    }
                };
                if line.is_empty() {
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                }
                sum.update(&line);
                at += line.len() as u64;
                self.line(&line, is_whole, &mut recipe)?;
            }
            let after = Some(if at == end { (end, ending.to_vec()) } else { (at, Vec::new()) });
            let sum = sum.finalize().to_vec();
            self.segments.push(NewSegment { version, start: begin, length: at - begin, recipe, sum, after });
            self.raw += at - begin;
            if self.raw >= PACK && (has_parts || at == end) {
                self.commit()?;
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8], is_whole: bool, recipe: &mut Recipe) -> Result<(), KeepError> {
        let is_json = is_whole && matches!(line.trim_ascii_start().first(), Some(b'{' | b'['));
        let values: Vec<Range<usize>> = match line.len() {
            ..SHORTEST_LINE => Vec::new(),
            _ if is_json => cut::values(line),
            TEXT.. => cut::chunks(line),
            _ => Vec::new(),
        };
        let mut at = 0;
        for value in values {
            self.literal(&line[at..value.start], recipe)?;
            at = value.end;
            self.value(&line[value], recipe)?;
        }
        self.literal(&line[at..], recipe)
    }

    /// Stores bytes that are not looked for again.
    fn literal(&mut self, mut bytes: &[u8], recipe: &mut Recipe) -> Result<(), KeepError> {
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(FRAME - self.content.len()));
            recipe.push(self.store_bytes(now)?);
            bytes = rest;
        }
        Ok(())
    }

    /// Stores a value, unless it is known.
    fn value(&mut self, value: &[u8], recipe: &mut Recipe) -> Result<(), KeepError> {
        let hash = self.store.hash(value);
        let known = match self.known.get(&hash) {
            Some(piece) => Some(*piece),
            None => self.look_up(&hash)?,
        };
        if let Some(piece) = known.filter(|piece| piece.length as usize == value.len()) {
            recipe.push(piece);
            return Ok(());
        }
        // A value is in a single frame.
        if !self.content.is_empty() && self.content.len() + value.len() > FRAME {
            self.end_frame()?;
        }
        let piece = self.store_bytes(value)?;
        self.known.insert(hash, piece);
        recipe.push(piece);
        Ok(())
    }

    fn look_up(&self, hash: &[u8; 16]) -> Result<Option<Piece>, KeepError> {
        let connection = self.store.connection.lock();
        let piece = |row: &rusqlite::Row<'_>| {
            Ok(Piece { frame: row.get(0)?, place: row.get(1)?, length: row.get(2)? })
        };
        let mut known =
            connection.prepare_cached("SELECT frame, place, length FROM known WHERE hash = ?1")?;
        Ok(known.query_row([&hash[..]], piece).optional()?)
    }

    /// Appends bytes to the frame that is being filled.
    pub(crate) fn store_bytes(&mut self, bytes: &[u8]) -> Result<Piece, KeepError> {
        let (place, length) = (self.content.len() as u32, bytes.len() as u32);
        self.content.extend_from_slice(bytes);
        let piece = Piece { frame: self.next_frame, place, length };
        if self.content.len() >= FRAME {
            self.end_frame()?;
        }
        Ok(piece)
    }

    fn end_frame(&mut self) -> Result<(), KeepError> {
        if self.content.is_empty() {
            return Ok(());
        }
        let content = std::mem::take(&mut self.content);
        self.is_broken = true;
        let frame = self.pack()?.add(&content)?;
        self.is_broken = false;
        self.frames.push((self.next_frame, frame));
        self.next_frame += 1;
        self.content = content;
        self.content.clear();
        self.content.shrink_to(2 * FRAME);
        Ok(())
    }

    pub(crate) fn pack(&mut self) -> Result<&mut PackWriter, KeepError> {
        if self.pack.is_none() {
            let id = self.store.next_id("packs")?;
            self.pack = Some((id, PackWriter::create(&self.store.packs(), id, Level::Fast)?));
        }
        match &mut self.pack {
            Some((_, pack)) => Ok(pack),
            None => Err(io::Error::from(io::ErrorKind::NotFound).into()),
        }
    }

    /// Writes everything that was added. Blocks.
    pub fn finish(mut self) -> Result<(), KeepError> {
        self.commit()
    }

    /// Completes the pack; then its rows are written in one transaction.
    fn commit(&mut self) -> Result<(), KeepError> {
        if self.is_broken {
            return Err(io::Error::other("an earlier part of the copies could not be written").into());
        }
        self.end_frame()?;
        self.is_broken = true;
        let pack = match self.pack.take() {
            Some((id, pack)) => Some((id, pack.finish()?)),
            None => None,
        };
        self.raw = 0;
        let written = self.write_rows(pack);
        if let (Err(_), Some((id, _))) = (&written, pack) {
            remove_if_there(&pack::path(&self.store.packs(), id))?;
        }
        written?;
        self.is_broken = false;
        self.store.sync()
    }

    fn write_rows(&mut self, pack: Option<(i64, u64)>) -> Result<(), KeepError> {
        let (frames, known, segments) = (
            std::mem::take(&mut self.frames),
            std::mem::take(&mut self.known),
            std::mem::take(&mut self.segments),
        );
        let connection = self.store.connection.lock();
        let transaction = connection.unchecked_transaction()?;
        if let Some((id, bytes)) = pack {
            transaction.execute("INSERT INTO packs VALUES (?1, ?2)", params![id, bytes])?;
        }
        for (id, frame) in frames {
            insert_frame(&transaction, id, frame)?;
        }
        let mut insert =
            transaction.prepare_cached("INSERT OR REPLACE INTO known VALUES (?1, ?2, ?3, ?4)")?;
        for (hash, piece) in known {
            insert.execute(params![&hash[..], piece.frame, piece.place, piece.length])?;
        }
        for NewSegment { version, start, length, recipe, sum, after } in segments {
            insert_segment(&transaction, version, start, length, &recipe, &sum)?;
            if let Some((length, ending)) = after {
                transaction.execute(
                    "UPDATE versions SET sealed = ?2, length = max(length, ?2), ending = ?3 WHERE id = ?1",
                    params![version, length, ending],
                )?;
            }
        }
        drop(insert);
        transaction.commit()?;
        Ok(())
    }

    /// Forgets what was added of a version and is not written yet, as its source could not be read.
    pub(crate) fn forget(&mut self, version: i64) {
        self.segments.retain(|segment| segment.version != version);
    }
}

pub(crate) fn insert_frame(
    connection: &rusqlite::Connection,
    id: i64,
    frame: Frame,
) -> rusqlite::Result<usize> {
    let Frame { pack, place, stored, length } = frame;
    let mut insert = connection.prepare_cached("INSERT INTO frames VALUES (?1, ?2, ?3, ?4, ?5)")?;
    insert.execute(params![id, pack, place, stored, length])
}

/// Inserts or replaces a segment, and notes which frames it uses.
pub(crate) fn insert_segment(
    connection: &rusqlite::Connection,
    version: i64,
    start: u64,
    length: u64,
    recipe: &Recipe,
    sum: &[u8],
) -> Result<(), KeepError> {
    let (pieces, encoded) = (recipe.pieces().len() as u64, recipe.encode()?);
    let mut insert =
        connection.prepare_cached("INSERT OR REPLACE INTO segments VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    insert.execute(params![version, start, length, pieces, encoded, sum])?;
    let mut uses = connection.prepare_cached("INSERT OR IGNORE INTO uses VALUES (?1, ?2)")?;
    let frames: BTreeSet<i64> = recipe.pieces().iter().map(|piece| piece.frame).collect();
    for frame in frames {
        uses.execute([frame, version])?;
    }
    Ok(())
}
