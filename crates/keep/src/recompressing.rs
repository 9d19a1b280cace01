//! Compresses packs again, better and slower, a little at a time.

use crate::{
    erasing::{delete_pack, insert_pack, move_frames},
    pack::{self, Frame, Level, PackWriter, Recompression, remove_if_there},
    store::{CopyStore, KeepError},
};
use rusqlite::OptionalExtension as _;
use std::time::{Duration, Instant};

impl CopyStore {
    /// Compresses packs that were written at least `age` ago at the highest level, for about `time`: a frame of 1 MB
    /// takes half a second. A later call continues in the middle of a pack. Returns whether something is left. Blocks.
    pub fn recompress(&self, age: Duration, time: Duration) -> Result<bool, KeepError> {
        let began = Instant::now();
        let _writing = self.writing.lock();
        let mut state = self.recompression.lock();
        loop {
            let current = match state.take() {
                // Some of its frames may have been erased since.
                Some(current) if self.frames_of(current.pack)? == current.frames => Some(current),
                _ => self.begin(age)?,
            };
            let Some(mut current) = current else { return Ok(false) };
            for (id, frame) in current.frames.iter().skip(current.moved.len()) {
                if began.elapsed() >= time {
                    *state = Some(current);
                    return Ok(true);
                }
                // A pack that cannot be read stays as it is.
                let Some(stored) = pack::read_stored(&self.packs(), *frame).ok().flatten() else { break };
                // A damaged frame stays as it is.
                let better = match pack::decompress(&stored, *frame) {
                    Some(content) => current.writer.compress(&content)?,
                    None => stored.clone(),
                };
                let smallest = if better.len() < stored.len() { better } else { stored };
                current.moved.push((*id, current.writer.add_stored(&smallest, frame.length)?));
            }
            self.replace(current)?;
        }
    }

    fn begin(&self, age: Duration) -> Result<Option<Recompression>, KeepError> {
        let oldest = "SELECT id FROM packs WHERE id NOT IN (SELECT pack FROM compact) ORDER BY id LIMIT 1";
        let pack: Option<i64> = self.connection.lock().query_row(oldest, [], |row| row.get(0)).optional()?;
        let Some(pack) = pack else { return Ok(None) };
        let written_at = pack::path(&self.packs(), pack).metadata().and_then(|about| about.modified());
        if !age.is_zero() && !written_at.is_ok_and(|at| at.elapsed().is_ok_and(|elapsed| elapsed >= age)) {
            return Ok(None);
        }
        let (frames, new) = (self.frames_of(pack)?, self.reserve_pack()?);
        let writer = PackWriter::create(&self.packs(), new, Level::Best)?;
        Ok(Some(Recompression { pack, frames, new, writer, moved: Vec::new() }))
    }

    /// Returns the id of a pack that is finished after others.
    fn reserve_pack(&self) -> Result<i64, KeepError> {
        let sql = "UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'packs' RETURNING seq";
        Ok(self.connection.lock().query_row(sql, [], |row| row.get(0))?)
    }

    fn replace(&self, current: Recompression) -> Result<(), KeepError> {
        let Recompression { pack, frames, new, writer, moved } = current;
        let stored = |frames: &[(i64, Frame)]| frames.iter().map(|(_, frame)| u64::from(frame.stored)).sum();
        let (before, after): (u64, u64) = (stored(&frames), stored(&moved));
        if moved.len() < frames.len() || after >= before {
            let sql = "INSERT OR IGNORE INTO compact VALUES (?1)";
            self.connection.lock().execute(sql, [pack])?;
            return Ok(());
        }
        let bytes = writer.finish()?;
        let write_rows = || -> Result<(), KeepError> {
            let connection = self.connection.lock();
            let transaction = connection.unchecked_transaction()?;
            insert_pack(&transaction, new, bytes)?;
            transaction.execute("INSERT INTO compact VALUES (?1)", [new])?;
            move_frames(&transaction, &moved)?;
            delete_pack(&transaction, pack)?;
            transaction.commit()?;
            Ok(())
        };
        let written = write_rows();
        let unused = if written.is_ok() { pack } else { new };
        if written.is_ok() {
            self.sync()?;
        }
        remove_if_there(&pack::path(&self.packs(), unused))?;
        written
    }
}
