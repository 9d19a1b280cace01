//! Captures what is new in a file.

use crate::{
    cut::FileKind,
    sealing::{NewBytes, Sealing},
    store::{CopyStore, KeepError, Version},
};
use std::{
    collections::{BTreeSet, HashSet},
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
};
use xxhash_rust::xxh3::Xxh3;

/// Length in bytes up to which all of a log is compared with its copy before it is appended to.
const WHOLE: u64 = 16 << 20;

/// Of a longer one, the blocks that are compared and their bytes, from its start to its old end. A change between them
/// is not noticed.
const BLOCKS: u64 = 1024;
const BLOCK: u64 = 4096;

/// Length in bytes of the largest document whose versions are compared; those of longer ones all stay.
const DOCUMENT: u64 = 32 << 20;

/// Length in bytes from which a text of a document counts: shorter ones are states and names.
const TEXT: usize = 16;

/// What was new in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Captured {
    Nothing,
    /// Bytes at its end, or a file that was not known.
    More(u64),
    /// The file was rewritten. The version before it stays if it has something that the new one does not.
    Rewritten {
        before_stays: bool,
    },
}

impl CopyStore {
    /// Captures a file of a collection under a relative path. `now` is in milliseconds since the epoch. The bytes go to
    /// the journal, or directly into packs if there are at least as many as `sealing` says. Blocks.
    pub fn capture(
        &self,
        collection: i64,
        name: &str,
        source: &mut File,
        now: i64,
        sealing: Option<(&mut Sealing<'_>, u64)>,
    ) -> Result<Captured, KeepError> {
        let kind = FileKind::of(name);
        let file = self.file(collection, name)?;
        let length = source.seek(SeekFrom::End(0))?;
        let newest = self.newest(file)?;
        if let Some(version) = &newest {
            let is_same = version.length <= length && version.ending == ending(source, version.length, kind)?;
            if is_same && version.length == length {
                return Ok(Captured::Nothing);
            }
            if is_same && kind == FileKind::Lines {
                self.add(version, source, length, kind, sealing)?;
                return Ok(Captured::More(length - version.length));
            }
        }
        let version = self.add_version(file, now)?;
        self.add(&version, source, length, kind, sealing)?;
        let Some(before) = newest else { return Ok(Captured::More(length)) };
        let is_contained = match kind {
            FileKind::Document if length > DOCUMENT => false,
            _ => self.has_content(before.id, kind, &mut |to| {
                source.seek(SeekFrom::Start(0))?;
                io::copy(&mut source.take(length), to)?;
                Ok(())
            })?,
        };
        Ok(Captured::Rewritten { before_stays: !is_contained })
    }

    /// Removes the versions of a file whose content is in the newest one: those for which [`CopyStore::capture`] returned
    /// `before_stays: false`, and incomplete ones since. Blocks.
    pub fn drop_contained(&self, collection: i64, name: &str) -> Result<(), KeepError> {
        let file = self.file(collection, name)?;
        let mut contained = BTreeSet::new();
        {
            let connection = self.connection.lock();
            let sql =
                "SELECT id, ending = x'' FROM versions WHERE file = ?1 ORDER BY id DESC LIMIT -1 OFFSET 1";
            let mut versions = connection.prepare_cached(sql)?;
            let mut versions = versions.query([file])?;
            while let Some(row) = versions.next()? {
                contained.insert(row.get(0)?);
                if !row.get::<_, bool>(1)? {
                    break;
                }
            }
        }
        self.remove(&contained)
    }

    fn add(
        &self,
        version: &Version,
        source: &mut File,
        length: u64,
        kind: FileKind,
        sealing: Option<(&mut Sealing<'_>, u64)>,
    ) -> Result<(), KeepError> {
        let ending = ending(source, length, kind)?;
        match sealing {
            Some((sealing, least))
                if version.sealed == version.length && length - version.length >= least.max(1) =>
            {
                source.seek(SeekFrom::Start(version.length))?;
                let (id, start) = (version.id, version.length);
                let new = NewBytes { version: id, start, length: length - start, ending: &ending, kind };
                sealing.add(new, source).inspect_err(|_| sealing.forget(id))
            }
            _ => self.append(version, source, length, &ending),
        }
    }

    /// Removes older versions of the files of a collection whose content is in the newest one: of a log that was
    /// shortened and later restored, the first one too. Reads all of them. Blocks.
    pub fn drop_all_contained(&self, collection: i64) -> Result<(), KeepError> {
        let (newest, all) = (self.files(collection, false)?, self.files(collection, true)?);
        let mut contained = BTreeSet::new();
        for newest in newest {
            let kind = FileKind::of(&newest.name);
            for older in all.iter().filter(|it| it.name == newest.name && it.version < newest.version) {
                let is_contained = self.has_content(older.version, kind, &mut |to| {
                    self.write_to(newest.version, to).map(drop)
                })?;
                if is_contained {
                    contained.insert(older.version);
                }
            }
        }
        self.remove(&contained)
    }

    /// Returns whether a content, which `write` writes, has every line of a version, or every text of a document.
    fn has_content(&self, version: i64, kind: FileKind, write: &mut Writing<'_>) -> Result<bool, KeepError> {
        match kind {
            FileKind::Lines => self.has_lines(version, write),
            FileKind::Document => self.has_texts(version, write),
        }
    }

    fn has_lines(&self, version: i64, write: &mut Writing<'_>) -> Result<bool, KeepError> {
        let mut here = HashSet::new();
        let mut add = |sum| {
            here.insert(sum);
        };
        let mut lines = LineSums::default();
        write(&mut lines.each(&mut add))?;
        lines.end(&mut add);
        let (mut lines, mut has_all) = (LineSums::default(), true);
        let mut look = |sum| has_all &= here.contains(&sum);
        self.write_to(version, &mut lines.each(&mut look))?;
        lines.end(&mut look);
        Ok(has_all)
    }

    /// A text that has grown is the same text.
    fn has_texts(&self, version: i64, write: &mut Writing<'_>) -> Result<bool, KeepError> {
        if self.version(version)?.is_none_or(|version| version.length > DOCUMENT) {
            return Ok(false);
        }
        let (mut old, mut new) = (Vec::new(), Vec::new());
        write(&mut new)?;
        self.write_to(version, &mut old)?;
        let mut here: Vec<&[u8]> = texts(&new).collect();
        here.sort_unstable();
        let has = |text: &[u8]| {
            let at = here.partition_point(|other| *other < text);
            here.get(at).is_some_and(|other| other.starts_with(text))
        };
        Ok(texts(&old).all(has))
    }
}

/// Writes the bytes of a content.
type Writing<'a> = dyn FnMut(&mut dyn Write) -> Result<(), KeepError> + 'a;

/// Returns what is between the quotes of a document, also of one that is a text in it; without short texts
/// and times.
fn texts(document: &[u8]) -> impl Iterator<Item = &[u8]> {
    let parts = document.split(|byte| *byte == b'"').map(without_escape);
    parts.filter(|text| text.len() >= TEXT && !is_time(text))
}

/// Returns whether a text is a time such as `2026-04-01T09:00:04.000Z`: that of the last change is in no newer version.
fn is_time(text: &[u8]) -> bool {
    let is_digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    text.len() <= 35
        && text.get(10) == Some(&b'T')
        && [0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15].into_iter().all(is_digit)
        && text.iter().all(|byte| byte.is_ascii_digit() || b"-:+.TZ".contains(byte))
}

/// Removes the backslashes of the quote behind a text.
fn without_escape(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte != b'\\').map_or(0, |last| last + 1);
    &text[..end]
}

/// Returns a hash of the bytes before `end`: of all, or of blocks all over a long log.
fn ending(source: &mut (impl Read + Seek), end: u64, kind: FileKind) -> io::Result<Vec<u8>> {
    let mut hash = Xxh3::new();
    let mut add = |start: u64, length: u64| {
        source.seek(SeekFrom::Start(start))?;
        match io::copy(&mut source.take(length), &mut hash)? {
            copied if copied == length => Ok(()),
            _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
        }
    };
    if kind == FileKind::Document || end <= WHOLE {
        add(0, end)?;
    } else {
        (0..=BLOCKS).try_for_each(|at| add((end - BLOCK) / BLOCKS * at, BLOCK))?;
        add(end - BLOCK, BLOCK)?;
    }
    Ok(hash.digest128().to_le_bytes().to_vec())
}

/// Hashes lines of any length.
#[derive(Default)]
struct LineSums {
    hash: Xxh3,
    is_empty: bool,
}

impl LineSums {
    fn each<'a>(&'a mut self, visit: &'a mut dyn FnMut(u128)) -> EachLine<'a> {
        EachLine { lines: self, visit }
    }

    fn end(self, visit: &mut dyn FnMut(u128)) {
        if !self.is_empty {
            visit(self.hash.digest128());
        }
    }
}

struct EachLine<'a> {
    lines: &'a mut LineSums,
    visit: &'a mut dyn FnMut(u128),
}

impl Write for EachLine<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(at) = memchr::memchr(b'\n', rest) {
            self.lines.hash.update(&rest[..at]);
            (self.visit)(self.lines.hash.digest128());
            *self.lines = LineSums { is_empty: true, ..LineSums::default() };
            rest = &rest[at + 1..];
        }
        if !rest.is_empty() {
            self.lines.hash.update(rest);
            self.lines.is_empty = false;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
