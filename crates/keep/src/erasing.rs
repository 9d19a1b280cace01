//! Removes versions. What other versions use of their frames moves to new ones.

use crate::{
    links::remove_if_there,
    pack::{self, Frame, PackWriter},
    recipe::{Piece, Recipe},
    sealing::{insert_frame, insert_segment},
    store::{CopyStore, KeepError},
};
use rusqlite::{Connection, params};
use std::collections::{BTreeMap, BTreeSet};

/// A frame that is written anew, or removed, because some of it is no longer used.
struct Shrinking {
    frame: Frame,
    /// Bytes that other versions use, and where they are afterwards.
    live: Vec<(u64, u64, Option<Piece>)>,
}

impl Shrinking {
    /// `used` are the pieces of other versions, in any order.
    fn new(frame: Frame, mut used: Vec<Piece>) -> Self {
        used.sort_unstable();
        let mut live: Vec<(u64, u64, Option<Piece>)> = Vec::new();
        for piece in used {
            match live.last_mut() {
                Some((_, end, _)) if u64::from(piece.place) <= *end => *end = piece.end().max(*end),
                _ => live.push((piece.place.into(), piece.end(), None)),
            }
        }
        Self { frame, live }
    }

    fn bytes(&self) -> u64 {
        self.live.iter().map(|(from, to, _)| to - from).sum()
    }

    /// Returns where a piece is afterwards; `None` if it was removed.
    fn moved(&self, piece: Piece) -> Option<Piece> {
        let before = self.live.partition_point(|(from, ..)| *from <= u64::from(piece.place));
        let (from, to, now) = self.live[before.checked_sub(1)?];
        let now = now.filter(|_| piece.end() <= to)?;
        let place = u32::try_from(u64::from(now.place) + u64::from(piece.place) - from).ok()?;
        Some(Piece { frame: now.frame, place, length: piece.length })
    }
}

/// What a removal writes.
#[derive(Default)]
struct Removal {
    versions: BTreeSet<i64>,
    /// Other versions whose recipes change.
    users: BTreeSet<i64>,
    shrinking: BTreeMap<i64, Shrinking>,
    /// Packs that are removed as files.
    packs: BTreeSet<i64>,
    /// Frames that move to the new pack as they are.
    moved: Vec<(i64, Frame)>,
    /// Frames of the new pack with the live bytes of others.
    added: Vec<(i64, Frame)>,
    /// The new packs and their bytes.
    new_packs: Vec<(i64, u64)>,
}

impl CopyStore {
    /// Removes collections without a trace in the store. Blocks.
    pub fn erase(&self, collections: &[i64]) -> Result<(), KeepError> {
        let mut versions = BTreeSet::new();
        for collection in collections {
            versions.extend(self.files(*collection, true)?.into_iter().map(|file| file.version));
        }
        {
            // If the program ends in between, their files are captured again, or erased at the next start.
            let connection = self.connection.lock();
            for collection in collections {
                connection.execute("UPDATE collections SET state = '' WHERE id = ?1", [collection])?;
            }
        }
        self.remove(versions)?;
        for collection in collections {
            self.unlink(*collection)?;
        }
        let connection = self.connection.lock();
        let transaction = connection.unchecked_transaction()?;
        for collection in collections {
            transaction.execute("DELETE FROM files WHERE collection = ?1", [collection])?;
            transaction.execute("DELETE FROM collections WHERE id = ?1", [collection])?;
        }
        transaction.commit()?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }

    /// Removes versions. Frames and packs of which something is no longer used are written anew, so that it cannot be read
    /// any more.
    pub(crate) fn remove(&self, versions: BTreeSet<i64>) -> Result<(), KeepError> {
        let _writing = self.writing.lock();
        let mut removal = Removal { versions, ..Removal::default() };
        self.find_shrinking(&mut removal)?;
        self.write_packs(&mut removal)?;
        self.write_rows(&removal)?;
        self.sync()?;
        self.frames.clear();
        for id in &removal.packs {
            remove_if_there(&pack::path(&self.packs(), *id))?;
        }
        for journal in self.journals()? {
            if removal.versions.contains(&journal.version) {
                remove_if_there(&journal.path)?;
            }
        }
        Ok(())
    }

    fn find_shrinking(&self, removal: &mut Removal) -> Result<(), KeepError> {
        let mut used: BTreeMap<i64, Vec<Piece>> = BTreeMap::new();
        let mut users = BTreeSet::new();
        {
            let connection = self.connection.lock();
            let mut frames = connection.prepare("SELECT frame FROM uses WHERE version = ?1")?;
            for version in &removal.versions {
                for frame in frames.query_map([version], |row| row.get(0))? {
                    used.entry(frame?).or_default();
                }
            }
            let mut others = connection.prepare("SELECT version FROM uses WHERE frame = ?1")?;
            for frame in used.keys() {
                for version in others.query_map([frame], |row| row.get(0))? {
                    users.insert(version?);
                }
            }
        }
        for version in users.difference(&removal.versions) {
            for segment in self.segments(*version)? {
                for piece in segment.recipe.iter().flat_map(Recipe::pieces) {
                    if let Some(used) = used.get_mut(&piece.frame) {
                        used.push(*piece);
                    }
                }
            }
        }
        for (id, used) in used {
            let Some(frame) = self.frame(id)? else { continue };
            let shrinking = Shrinking::new(frame, used);
            if shrinking.bytes() < u64::from(frame.length) {
                removal.shrinking.insert(id, shrinking);
            }
        }
        removal.users = users.difference(&removal.versions).copied().collect();
        Ok(())
    }

    /// Writes what stays of each pack to a new one.
    fn write_packs(&self, removal: &mut Removal) -> Result<(), KeepError> {
        removal.packs = removal.shrinking.values().map(|it| it.frame.pack).collect();
        let (mut next_pack, mut next_frame) = (self.next_id("packs")?, self.next_id("frames")?);
        for old in &removal.packs {
            let stays: Vec<_> = self
                .frames_of(*old)?
                .into_iter()
                .filter(|(id, _)| !removal.shrinking.contains_key(id))
                .collect();
            let mut shrinking: Vec<_> = removal
                .shrinking
                .iter_mut()
                .filter(|(_, it)| it.frame.pack == *old && !it.live.is_empty())
                .collect();
            if stays.is_empty() && shrinking.is_empty() {
                continue;
            }
            let mut pack = PackWriter::create(&self.packs(), next_pack)?;
            for (id, frame) in stays {
                // What is damaged stays damaged.
                if let Some(stored) = pack::read_stored(&self.packs(), frame)? {
                    removal.moved.push((id, pack.add_stored(&stored, frame.length)?));
                }
            }
            for (id, Shrinking { live, .. }) in &mut shrinking {
                let content = self.content(**id)?.unwrap_or_default();
                let mut bytes = Vec::new();
                for (from, to, now) in live.iter_mut() {
                    let Some(part) = content.get(*from as usize..*to as usize) else { continue };
                    *now = Some(Piece {
                        frame: next_frame,
                        place: bytes.len() as u32,
                        length: part.len() as u32,
                    });
                    bytes.extend_from_slice(part);
                }
                if !bytes.is_empty() {
                    removal.added.push((next_frame, pack.add(&bytes)?));
                    next_frame += 1;
                }
            }
            removal.new_packs.push((next_pack, pack.finish()?));
            next_pack += 1;
        }
        Ok(())
    }

    fn frames_of(&self, pack: i64) -> Result<Vec<(i64, Frame)>, KeepError> {
        let connection = self.connection.lock();
        let mut frames =
            connection.prepare_cached("SELECT id, place, stored, length FROM frames WHERE pack = ?1")?;
        let frames = frames.query_map([pack], |row| {
            let frame = Frame { pack, place: row.get(1)?, stored: row.get(2)?, length: row.get(3)? };
            Ok((row.get(0)?, frame))
        })?;
        Ok(frames.collect::<Result<_, _>>()?)
    }

    fn write_rows(&self, removal: &Removal) -> Result<(), KeepError> {
        let mut changed = Vec::new();
        for version in &removal.users {
            for segment in self.segments(*version)? {
                let Some(recipe) = segment.recipe.as_ref() else { continue };
                let shrinks = |piece: &&Piece| removal.shrinking.contains_key(&piece.frame);
                if recipe.pieces().iter().any(|piece| shrinks(&piece)) {
                    let moved = |piece: &Piece| match removal.shrinking.get(&piece.frame) {
                        Some(shrinking) => shrinking.moved(*piece).unwrap_or(*piece),
                        None => *piece,
                    };
                    let recipe: Recipe = recipe.pieces().iter().map(moved).collect();
                    changed.push((*version, segment.start, segment.length, recipe, segment.sum));
                }
            }
        }
        let connection = self.connection.lock();
        let transaction = connection.unchecked_transaction()?;
        for version in &removal.versions {
            for sql in [
                "DELETE FROM segments WHERE version = ?1",
                "DELETE FROM uses WHERE version = ?1",
                "DELETE FROM versions WHERE id = ?1",
            ] {
                transaction.prepare_cached(sql)?.execute([version])?;
            }
        }
        for (id, bytes) in &removal.new_packs {
            transaction.execute("INSERT INTO packs VALUES (?1, ?2)", params![id, bytes])?;
        }
        for id in removal.shrinking.keys() {
            transaction.prepare_cached("DELETE FROM frames WHERE id = ?1")?.execute([id])?;
            transaction.prepare_cached("DELETE FROM uses WHERE frame = ?1")?.execute([id])?;
        }
        for (id, frame) in &removal.moved {
            let mut update =
                transaction.prepare_cached("UPDATE frames SET pack = ?2, place = ?3 WHERE id = ?1")?;
            update.execute(params![id, frame.pack, frame.place])?;
        }
        for (id, frame) in &removal.added {
            insert_frame(&transaction, *id, *frame)?;
        }
        for (version, start, length, recipe, sum) in &changed {
            insert_segment(&transaction, *version, *start, *length, recipe, sum)?;
        }
        move_known(&transaction, &removal.shrinking)?;
        for id in &removal.packs {
            transaction.execute("DELETE FROM packs WHERE id = ?1", [id])?;
        }
        transaction.commit()?;
        Ok(())
    }
}

/// Values whose bytes stay are found at their new places; others are forgotten.
fn move_known(connection: &Connection, shrinking: &BTreeMap<i64, Shrinking>) -> rusqlite::Result<()> {
    if shrinking.is_empty() {
        return Ok(());
    }
    let mut rows = connection.prepare("SELECT hash, frame, place, length FROM known")?;
    let rows = rows.query_map([], |row| {
        let piece = Piece { frame: row.get(1)?, place: row.get(2)?, length: row.get(3)? };
        Ok((row.get::<_, Vec<u8>>(0)?, piece))
    })?;
    let rows =
        rows.filter(|row| row.as_ref().map_or(true, |(_, piece)| shrinking.contains_key(&piece.frame)));
    for (hash, piece) in rows.collect::<rusqlite::Result<Vec<_>>>()? {
        match shrinking.get(&piece.frame).and_then(|shrinking| shrinking.moved(piece)) {
            Some(now) => connection
                .prepare_cached("UPDATE known SET frame = ?2, place = ?3 WHERE hash = ?1")?
                .execute(params![hash, now.frame, now.place])?,
            None => connection.prepare_cached("DELETE FROM known WHERE hash = ?1")?.execute([hash])?,
        };
    }
    Ok(())
}
