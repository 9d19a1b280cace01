//! The bytes of a version, and whether they are damaged.

use crate::{
    pack,
    recipe::Piece,
    store::{CopyStore, KeepError, Segment},
};
use sha2::{Digest as _, Sha256};
use std::{
    fs::File,
    io::{self, Read, Write},
    sync::Arc,
};

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
        let content = match pack::read(&self.packs(), frame) {
            Ok(content) => content,
            // It may have been moved to another pack in the meantime.
            Err(error) => match self.frame(id)?.filter(|moved| *moved != frame) {
                Some(moved) => pack::read(&self.packs(), moved)?,
                None => {
                    tracing::warn!(%error, frame = id, "a kept copy is damaged");
                    return Ok(None);
                }
            },
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
                self.write_segment(segment, to, &mut damage)?;
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

    fn write_segment(
        &self,
        segment: &Segment,
        to: &mut dyn Write,
        damage: &mut Damage,
    ) -> Result<(), KeepError> {
        let recipe = segment.recipe.as_ref().filter(|recipe| recipe.length() == segment.length);
        let Some(recipe) = recipe else {
            damage.bytes += fill(segment.length, to)?;
            return Ok(());
        };
        for piece in recipe.pieces() {
            let content = self.content(piece.frame)?;
            match content.as_ref().and_then(|content| slice(content, *piece)) {
                Some(bytes) => to.write_all(bytes)?,
                None => damage.bytes += fill(piece.length.into(), to)?,
            }
        }
        Ok(())
    }

    /// Compares copies with their checksums: those of the collections whose id modulo `parts` is `part`. Blocks; ends
    /// early when `is_cancelled`.
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
                    let (mut sum, mut damage) = (Sum(Sha256::new()), Damage::default());
                    self.write_segment(&segment, &mut sum, &mut damage)?;
                    if damage.bytes > 0 || sum.0.finalize()[..] != segment.sum[..] {
                        damaged += segment.length;
                    }
                    verified.bytes += segment.length;
                }
                if damaged > 0 {
                    let (collection, name) = (collection.name.clone(), file.name);
                    verified.damaged.push(DamagedFile { collection, name, bytes: damaged });
                }
            }
        }
        Ok(verified)
    }
}

fn slice(content: &[u8], piece: Piece) -> Option<&[u8]> {
    content.get(piece.place as usize..usize::try_from(piece.end()).ok()?)
}

/// Writes zeros, so that the lines behind them keep their places.
fn fill(bytes: u64, to: &mut dyn Write) -> io::Result<u64> {
    io::copy(&mut io::repeat(0).take(bytes), to)
}

struct Sum(Sha256);

impl Write for Sum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
