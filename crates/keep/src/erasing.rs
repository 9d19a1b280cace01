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
    /// The new pack and its bytes.
    pack: Option<(i64, u64)>,
}

impl CopyStore {
    /// Removes collections without a trace in the store. Blocks.
    pub fn erase(&self, collections: &[i64]) -> Result<(), KeepError> {
        let mut versions = BTreeSet::new();
        for collection in collections {
            versions.extend(self.files(*collection, true)?.into_iter().map(|file| file.version));
        }
        self.remove(versions, true)?;
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

    /// Removes versions. Frames and packs of which more than half is no longer used are written anew; if `erases`, those
    /// of which anything is no longer used.
    pub(crate) fn remove(&self, versions: BTreeSet<i64>, erases: bool) -> Result<(), KeepError> {
        let _writing = self.writing.lock();
        let mut removal = Removal { versions, ..Removal::default() };
        self.find_shrinking(&mut removal, erases)?;
        self.choose_packs(&mut removal, erases)?;
        self.write_pack(&mut removal)?;
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

    fn find_shrinking(&self, removal: &mut Removal, erases: bool) -> Result<(), KeepError> {
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
            let (live, all) = (shrinking.bytes(), u64::from(frame.length));
            if live * 2 < all || (erases && live < all) {
                removal.shrinking.insert(id, shrinking);
            }
        }
        removal.users = users.difference(&removal.versions).copied().collect();
        Ok(())
    }

    fn choose_packs(&self, removal: &mut Removal, erases: bool) -> Result<(), KeepError> {
        let packs: BTreeSet<i64> = removal.shrinking.values().map(|it| it.frame.pack).collect();
        let connection = self.connection.lock();
        let mut frames =
            connection.prepare("SELECT id, place, stored, length FROM frames WHERE pack = ?1")?;
        let mut bytes = connection.prepare("SELECT bytes FROM packs WHERE id = ?1")?;
        for pack in packs {
            let frames = frames.query_map([pack], |row| {
                let frame = Frame { pack, place: row.get(1)?, stored: row.get(2)?, length: row.get(3)? };
                Ok((row.get::<_, i64>(0)?, frame))
            })?;
            let frames = frames.collect::<Result<Vec<_>, _>>()?;
            let stay: Vec<_> =
                frames.into_iter().filter(|(id, _)| !removal.shrinking.contains_key(id)).collect();
            let used: u64 = stay.iter().map(|(_, frame)| u64::from(frame.stored)).sum();
            if erases || used * 2 < bytes.query_row([pack], |row| row.get(0))? {
                removal.packs.insert(pack);
                removal.moved.extend(stay);
            }
        }
        Ok(())
    }

    /// Writes what stays of the frames and packs to a new pack.
    fn write_pack(&self, removal: &mut Removal) -> Result<(), KeepError> {
        if removal.moved.is_empty() && removal.shrinking.values().all(|it| it.live.is_empty()) {
            return Ok(());
        }
        let id = self.next_id("packs")?;
        let mut pack = PackWriter::create(&self.packs(), id)?;
        for (_, frame) in &mut removal.moved {
            *frame = pack.add_stored(&pack::read_stored(&self.packs(), *frame)?, frame.length)?;
        }
        let mut next = self.next_id("frames")?;
        for (id, Shrinking { live, .. }) in &mut removal.shrinking {
            let content = self.content(*id)?.unwrap_or_default();
            let mut stays = Vec::new();
            for (from, to, now) in live {
                // A damaged part stays damaged: its frame no longer exists.
                let Some(bytes) = content.get(*from as usize..*to as usize) else { continue };
                *now = Some(Piece { frame: next, place: stays.len() as u32, length: bytes.len() as u32 });
                stays.extend_from_slice(bytes);
            }
            if !stays.is_empty() {
                removal.added.push((next, pack.add(&stays)?));
                next += 1;
            }
        }
        removal.pack = Some((id, pack.finish()?));
        Ok(())
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
        if let Some((id, bytes)) = removal.pack {
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
