//! Removes versions. What other versions use of their frames moves to new ones.

use crate::{
    pack::{self, Frame, Level, PackWriter, remove_if_there},
    recipe::{Piece, Recipe},
    sealing::{insert_frame, insert_segment},
    store::{CopyStore, KeepError, Segment},
};
use rusqlite::{Transaction, params};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::atomic::Ordering,
};

/// Packs whose known values are found in one pass over all known values.
const TOGETHER: usize = 16;

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

/// A pack of which some bytes are no longer used.
struct Rewrite {
    pack: i64,
    /// Frames that stay as they are.
    stays: Vec<(i64, Frame)>,
    shrinking: BTreeMap<i64, Shrinking>,
}

impl Rewrite {
    fn is_unused(&self) -> bool {
        self.stays.is_empty() && self.shrinking.values().all(|it| it.live.is_empty())
    }
}

/// Hashes of values, and where they are.
type KnownValues = Vec<(Vec<u8>, Piece)>;

/// What stays of a pack, in a new one.
struct NewPack {
    id: i64,
    bytes: u64,
    /// Frames that moved as they are.
    moved: Vec<(i64, Frame)>,
    /// Frames with the live bytes of others.
    added: Vec<(i64, Frame)>,
}

impl CopyStore {
    /// Removes collections without a trace in the store. On a full disk, it uses the room of the spare file. Blocks.
    pub fn erase(&self, collections: &[i64]) -> Result<(), KeepError> {
        self.with_spare(|| self.erase_collections(collections))
    }

    fn erase_collections(&self, collections: &[i64]) -> Result<(), KeepError> {
        {
            // If the program ends in between, their files are captured again, or erased at the next start.
            let connection = self.connection.lock();
            for collection in collections {
                connection.execute("UPDATE collections SET state = '' WHERE id = ?1", [collection])?;
            }
        }
        {
            let _writing = self.writing.lock();
            for collection in collections {
                let files = self.files(*collection, true)?;
                self.forget_versions(&files.iter().map(|file| file.version).collect())?;
            }
        }
        self.reclaim()?;
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

    /// Removes versions, so that what only they used cannot be read any more.
    pub(crate) fn remove(&self, versions: &BTreeSet<i64>) -> Result<(), KeepError> {
        {
            let _writing = self.writing.lock();
            self.forget_versions(versions)?;
        }
        self.with_spare(|| self.reclaim())
    }

    /// Removes the rows and journals of versions; those of `uses` stay until [`CopyStore::reclaim`]. Needs the lock for
    /// writing.
    pub(crate) fn forget_versions(&self, versions: &BTreeSet<i64>) -> Result<(), KeepError> {
        if versions.is_empty() {
            return Ok(());
        }
        self.has_garbage.store(true, Ordering::Relaxed);
        let connection = self.connection.lock();
        let transaction = connection.unchecked_transaction()?;
        for version in versions {
            transaction.prepare_cached("DELETE FROM segments WHERE version = ?1")?.execute([version])?;
            transaction.prepare_cached("DELETE FROM versions WHERE id = ?1")?.execute([version])?;
        }
        transaction.commit()?;
        drop(connection);
        self.sync()?;
        for journal in self.journals()? {
            if versions.contains(&journal.version) {
                remove_if_there(&journal.path)?;
            }
        }
        Ok(())
    }

    /// Removes the bytes of versions that were removed, also of those whose removal did not end: first the packs that have
    /// nothing else, then one pack at a time is written anew. Blocks.
    pub fn reclaim(&self) -> Result<(), KeepError> {
        let _writing = self.writing.lock();
        if !self.has_garbage.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (mut rewrites, whole) = self.find_garbage()?;
        rewrites.sort_by_key(|rewrite| !rewrite.is_unused());
        for together in rewrites.chunks_mut(TOGETHER) {
            let mut known = self.known_values(together)?;
            for rewrite in together {
                self.rewrite(rewrite, known.remove(&rewrite.pack).unwrap_or_default())?;
            }
        }
        let connection = self.connection.lock();
        for frame in whole {
            connection.execute(
                "DELETE FROM uses WHERE frame = ?1 AND version NOT IN (SELECT id FROM versions)",
                [frame],
            )?;
        }
        self.frames.clear();
        self.has_garbage.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the packs with bytes of removed versions, and the frames of such versions whose bytes are all in use.
    fn find_garbage(&self) -> Result<(Vec<Rewrite>, Vec<i64>), KeepError> {
        let mut used: BTreeMap<i64, Vec<Piece>> = BTreeMap::new();
        let mut users: BTreeSet<i64> = BTreeSet::new();
        {
            let connection = self.connection.lock();
            let mut frames = connection
                .prepare("SELECT DISTINCT frame FROM uses WHERE version NOT IN (SELECT id FROM versions)")?;
            for frame in frames.query_map([], |row| row.get(0))? {
                used.insert(frame?, Vec::new());
            }
            let mut versions = connection.prepare("SELECT version FROM uses WHERE frame = ?1")?;
            for frame in used.keys() {
                for version in versions.query_map([frame], |row| row.get::<_, i64>(0))? {
                    users.insert(version?);
                }
            }
        }
        for version in users {
            for piece in
                self.segments(version)?.iter().filter_map(|it| it.recipe.as_ref()).flat_map(Recipe::pieces)
            {
                if let Some(used) = used.get_mut(&piece.frame) {
                    used.push(*piece);
                }
            }
        }
        let (mut packs, mut whole): (BTreeMap<i64, Rewrite>, _) = (BTreeMap::new(), Vec::new());
        for (id, used) in used {
            let shrinking = self.frame(id)?.map(|frame| Shrinking::new(frame, used));
            match shrinking.filter(|it| it.bytes() < u64::from(it.frame.length)) {
                Some(it) => {
                    let pack = it.frame.pack;
                    let rewrite = Rewrite { pack, stays: Vec::new(), shrinking: BTreeMap::new() };
                    packs.entry(pack).or_insert(rewrite).shrinking.insert(id, it);
                }
                None => whole.push(id),
            }
        }
        for rewrite in packs.values_mut() {
            rewrite.stays = self.frames_of(rewrite.pack)?;
            rewrite.stays.retain(|(id, _)| !rewrite.shrinking.contains_key(id));
        }
        Ok((packs.into_values().collect(), whole))
    }

    /// Returns the hashes of the known values in shrinking frames, by pack.
    fn known_values(&self, rewrites: &[Rewrite]) -> Result<HashMap<i64, KnownValues>, KeepError> {
        let packs: HashMap<i64, i64> = rewrites
            .iter()
            .flat_map(|rewrite| rewrite.shrinking.keys().map(|frame| (*frame, rewrite.pack)))
            .collect();
        let connection = self.connection.lock();
        let mut rows = connection.prepare("SELECT hash, frame, place, length FROM known")?;
        let mut rows = rows.query([])?;
        let mut values: HashMap<i64, KnownValues> = HashMap::new();
        while let Some(row) = rows.next()? {
            let frame = row.get(1)?;
            if let Some(pack) = packs.get(&frame) {
                let piece = Piece { frame, place: row.get(2)?, length: row.get(3)? };
                values.entry(*pack).or_default().push((row.get(0)?, piece));
            }
        }
        Ok(values)
    }

    /// Replaces a pack by one with what stays of it.
    fn rewrite(&self, rewrite: &mut Rewrite, known: KnownValues) -> Result<(), KeepError> {
        let new = if rewrite.is_unused() { None } else { Some(self.write_pack(rewrite)?) };
        let written = self.write_rows(rewrite, new.as_ref(), known);
        if let (Err(_), Some(new)) = (&written, &new) {
            remove_if_there(&pack::path(&self.packs(), new.id))?;
        }
        written?;
        self.sync()?;
        Ok(remove_if_there(&pack::path(&self.packs(), rewrite.pack))?)
    }

    /// Writes what stays of a pack to a new one.
    fn write_pack(&self, rewrite: &mut Rewrite) -> Result<NewPack, KeepError> {
        let (id, mut next_frame) = (self.next_id("packs")?, self.next_id("frames")?);
        let (mut moved, mut added) = (Vec::new(), Vec::new());
        let mut pack = PackWriter::create(&self.packs(), id, Level::Fast)?;
        for (id, frame) in &rewrite.stays {
            // What is damaged stays damaged.
            if let Some(stored) = pack::read_stored(&self.packs(), *frame)? {
                moved.push((*id, pack.add_stored(&stored, frame.length)?));
            }
        }
        for (id, Shrinking { live, .. }) in rewrite.shrinking.iter_mut().filter(|(_, it)| !it.live.is_empty())
        {
            let content = self.content(*id)?.unwrap_or_default();
            let mut bytes = Vec::new();
            for (from, to, now) in live.iter_mut() {
                let Some(part) = content.get(*from as usize..*to as usize) else { continue };
                *now =
                    Some(Piece { frame: next_frame, place: bytes.len() as u32, length: part.len() as u32 });
                bytes.extend_from_slice(part);
            }
            if !bytes.is_empty() {
                added.push((next_frame, pack.add(&bytes)?));
                next_frame += 1;
            }
        }
        Ok(NewPack { id, bytes: pack.finish()?, moved, added })
    }

    /// Returns the segments of other versions that use shrinking frames, with their new recipes.
    fn changed_segments(
        &self,
        shrinking: &BTreeMap<i64, Shrinking>,
    ) -> Result<Vec<(i64, Segment)>, KeepError> {
        let mut users = BTreeSet::new();
        {
            let connection = self.connection.lock();
            let mut versions = connection.prepare_cached("SELECT version FROM uses WHERE frame = ?1")?;
            for frame in shrinking.keys() {
                for version in versions.query_map([frame], |row| row.get::<_, i64>(0))? {
                    users.insert(version?);
                }
            }
        }
        let mut changed = Vec::new();
        for version in users {
            for mut segment in self.segments(version)? {
                let Some(recipe) = segment.recipe.as_mut() else { continue };
                if recipe.pieces().iter().any(|piece| shrinking.contains_key(&piece.frame)) {
                    let moved = |piece: &Piece| {
                        let moved = shrinking.get(&piece.frame).and_then(|it| it.moved(*piece));
                        moved.unwrap_or(*piece)
                    };
                    *recipe = recipe.pieces().iter().map(moved).collect();
                    changed.push((version, segment));
                }
            }
        }
        Ok(changed)
    }

    fn write_rows(
        &self,
        Rewrite { pack, shrinking, .. }: &Rewrite,
        new: Option<&NewPack>,
        known: KnownValues,
    ) -> Result<(), KeepError> {
        let changed = self.changed_segments(shrinking)?;
        let connection = self.connection.lock();
        let transaction = connection.unchecked_transaction()?;
        for id in shrinking.keys() {
            transaction.prepare_cached("DELETE FROM frames WHERE id = ?1")?.execute([id])?;
            transaction.prepare_cached("DELETE FROM uses WHERE frame = ?1")?.execute([id])?;
        }
        if let Some(NewPack { id, bytes, moved, added }) = new {
            insert_pack(&transaction, *id, *bytes)?;
            move_frames(&transaction, moved)?;
            for (id, frame) in added {
                insert_frame(&transaction, *id, *frame)?;
            }
        }
        for (version, Segment { start, length, recipe, sum }) in &changed {
            if let Some(recipe) = recipe {
                insert_segment(&transaction, *version, *start, *length, recipe, sum)?;
            }
        }
        // Values whose bytes stay are found at their new places; others are forgotten.
        for (hash, piece) in known {
            match shrinking.get(&piece.frame).and_then(|shrinking| shrinking.moved(piece)) {
                Some(now) => transaction
                    .prepare_cached("UPDATE known SET frame = ?2, place = ?3 WHERE hash = ?1")?
                    .execute(params![hash, now.frame, now.place])?,
                None => transaction.prepare_cached("DELETE FROM known WHERE hash = ?1")?.execute([hash])?,
            };
        }
        delete_pack(&transaction, *pack)?;
        transaction.commit()?;
        Ok(())
    }
}

pub(crate) fn insert_pack(transaction: &Transaction<'_>, id: i64, bytes: u64) -> rusqlite::Result<usize> {
    transaction.execute("INSERT INTO packs VALUES (?1, ?2)", params![id, bytes])
}

pub(crate) fn delete_pack(transaction: &Transaction<'_>, id: i64) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM compact WHERE pack = ?1", [id])?;
    transaction.execute("DELETE FROM packs WHERE id = ?1", [id]).map(drop)
}

/// Stores that frames have moved to other places.
pub(crate) fn move_frames(transaction: &Transaction<'_>, moved: &[(i64, Frame)]) -> rusqlite::Result<()> {
    let sql = "UPDATE frames SET pack = ?2, place = ?3, stored = ?4 WHERE id = ?1";
    let mut update = transaction.prepare_cached(sql)?;
    for (id, frame) in moved {
        update.execute(params![id, frame.pack, frame.place, frame.stored])?;
    }
    Ok(())
}
