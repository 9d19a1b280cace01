//! The bytes of a version, and whether they are damaged.

use crate::{
    pack,
    recipe::{Piece, Recipe},
    store::{CopyStore, KeepError, Segment},
};
use sha2::{Digest as _, Sha256};
use std::{
    fs::File,
    io::{self, Read, Write},
    sync::Arc,
};

/// Bytes of the longest segment: sealing begins a new one after 16 MiB, at the end of a line of 16 MiB at most.
const LONGEST_SEGMENT: usize = 64 << 20;

/// Bytes that cannot be read any more; zeros are in their place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Damage {
    pub bytes: u64,
}

/// A file with damaged bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedFile {
    /// The name of its collection.
    pub collection: String,
    pub name: String,
    /// Bytes in the damaged parts.
    pub bytes: u64,
}

/// The result of comparing copies with their checksums.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Bytes that were compared.
    pub bytes: u64,
    pub damaged: Vec<DamagedFile>,
}

impl CopyStore {
    /// Returns the content of a frame; `None` if it is damaged.
    pub(crate) fn content(&self, id: i64) -> Result<Option<Arc<Vec<u8>>>, KeepError> {
        if let Some(content) = self.frames.get(id) {
            return Ok(Some(content));
        }
        let Some(frame) = self.frame(id)? else { return Ok(None) };
        let mut content = pack::read(&self.packs(), frame)?;
        // It may have been moved to another pack in the meantime.
        if content.is_none()
            && let Some(moved) = self.frame(id)?.filter(|moved| *moved != frame)
        {
            content = pack::read(&self.packs(), moved)?;
        }
        let Some(content) = content else {
            tracing::warn!(frame = id, "a kept copy is damaged");
            return Ok(None);
        };
        let content = Arc::new(content);
        self.frames.put(id, content.clone());
        Ok(Some(content))
    }

    /// Writes the bytes of a version to `to`. Blocks.
    pub fn write_to(&self, version: i64, to: &mut dyn Write) -> Result<Damage, KeepError> {
        let (mut damage, mut written) = (Damage::default(), 0);
        // The journal may be sealed between two looks at the row; then it is read from its segments.
        while let Some(row) = self.version(version)? {
            for segment in &self.segments(version)? {
                if segment.start < written {
                    continue;
                }
                damage.bytes += fill(segment.start - written, to)?;
                let (bytes, damaged) = self.segment_bytes(version, segment)?;
                to.write_all(&bytes)?;
                damage.bytes += damaged;
                written = segment.start + segment.length;
            }
            let journal = match File::open(self.journal_path(version, row.sealed)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                journal => journal.ok(),
            };
            let is_current = self.version(version)?.is_none_or(|now| now.sealed == row.sealed);
            if written <= row.sealed && is_current {
                damage.bytes += fill(row.sealed - written, to)?;
                let left = row.length - row.sealed;
                let copied = journal.map_or(Ok(0), |journal| io::copy(&mut journal.take(left), to))?;
                damage.bytes += fill(left - copied, to)?;
                break;
            }
        }
        Ok(damage)
    }

    /// Returns the bytes of a segment, and the number of those that are damaged.
    fn segment_bytes(&self, version: i64, segment: &Segment) -> Result<(Vec<u8>, u64), KeepError> {
        let found = self.assemble(segment)?;
        if found.1 == 0 {
            return Ok(found);
        }
        // Its frames may have been replaced since its recipe was read.
        let now = self.segments(version)?.into_iter().find(|now| now.start == segment.start);
        match now.filter(|now| now.recipe != segment.recipe) {
            Some(now) => self.assemble(&now),
            None => Ok(found),
        }
    }

    fn assemble(&self, segment: &Segment) -> Result<(Vec<u8>, u64), KeepError> {
        let length = usize::try_from(segment.length).ok().filter(|length| *length <= LONGEST_SEGMENT);
        let too_long = || io::Error::new(io::ErrorKind::InvalidData, "a part of a kept copy is too long");
        let length = length.ok_or_else(too_long)?;
        let (mut bytes, mut damaged) = (Vec::with_capacity(length), 0);
        let recipe = segment.recipe.as_ref().filter(|recipe| recipe.length() == segment.length);
        for piece in recipe.map(Recipe::pieces).unwrap_or_default() {
            let content = self.content(piece.frame)?;
            match content.as_ref().and_then(|content| slice(content, *piece)) {
                Some(part) => bytes.extend_from_slice(part),
                None => {
                    damaged += u64::from(piece.length);
                    bytes.resize(bytes.len() + piece.length as usize, 0);
                }
            }
        }
        if recipe.is_none() {
            damaged = segment.length;
            bytes.resize(length, 0);
        }
        Ok((bytes, damaged))
    }

    /// Compares copies with their checksums: those of the collections whose id modulo `parts` is `part`. Damaged files are
    /// captured again if they still exist. Blocks; ends early when `is_cancelled`.
    pub fn verify(
        &self,
        (part, parts): (i64, i64),
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Verified, KeepError> {
        let mut verified = Verified::default();
        for collection in self.collections()?.into_iter().filter(|it| it.id.rem_euclid(parts.max(1)) == part)
        {
            for file in self.files(collection.id, true)? {
                let mut damaged = 0;
                for segment in self.segments(file.version)? {
                    if is_cancelled() {
                        return Ok(verified);
                    }
                    let (bytes, lost) = self.segment_bytes(file.version, &segment)?;
                    if lost > 0 || Sha256::digest(&bytes)[..] != segment.sum[..] {
                        damaged += segment.length;
                    }
                    verified.bytes += segment.length;
                }
                if damaged > 0 {
                    self.distrust(collection.id, file.version)?;
                    let (collection, name) = (collection.name.clone(), file.name);
                    verified.damaged.push(DamagedFile { collection, name, bytes: damaged });
                }
            }
        }
        Ok(verified)
    }
}

impl CopyStore {
    /// Makes a damaged version one to which nothing is appended, and no new one is stored with the help of its frames.
    fn distrust(&self, collection: i64, version: i64) -> Result<(), KeepError> {
        if !self.is_writer() {
            return Ok(());
        }
        let connection = self.connection.lock();
        let transaction = connection.unchecked_transaction()?;
        transaction.execute("UPDATE versions SET ending = x'00' WHERE id = ?1", [version])?;
        transaction.execute(
            "DELETE FROM known WHERE frame IN (SELECT frame FROM uses WHERE version = ?1)",
            [version],
        )?;
        transaction
            .execute("UPDATE collections SET state = '' WHERE id = ?1 AND gone_at IS NULL", [collection])?;
        transaction.commit()?;
        Ok(())
    }
}

fn slice(content: &[u8], piece: Piece) -> Option<&[u8]> {
    content.get(piece.place as usize..usize::try_from(piece.end()).ok()?)
}

/// Writes zeros, so that the lines behind them keep their places.
fn fill(bytes: u64, to: &mut dyn Write) -> io::Result<u64> {
    io::copy(&mut io::repeat(0).take(bytes), to)
}
