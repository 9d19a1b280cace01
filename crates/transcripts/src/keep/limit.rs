//! The limit of the copies, and how room is made when it is reached.

use super::{
    copies::{KeptCopies, KeptSession},
    settings::KeepSettings,
};
use openagents_keep::KeepError;
use parking_lot::Mutex;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Bytes that stay free on the disk.
const FREE: u64 = 1_000_000_000;
/// Part of the free disk that copies may take.
const FREE_PART: u64 = 10;
/// Bytes beyond the limit for sessions that are deleted soon.
const RESERVE: u64 = 256_000_000;
/// At the limit, copies are erased until this part of it is free.
const MARGIN: u64 = 100;
/// The limit was reached, until this part of it is free again: what was erased at the limit is not captured before.
const SHORT: u64 = 20;
/// Age of packs that are compressed again although there is room.
const OLD: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Compressing one frame takes half a second; then a pause so many times as long keeps that below half a percent of a
/// core.
const IDLE_PAUSE: u32 = 200;
/// Time per round for compressing at the limit.
const AT_LIMIT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeepState {
    #[default]
    Off,
    On,
    /// The disk has less than 1 GB free.
    Paused,
    /// The limit is reached, and no more room could be made: only sessions that their agent deletes soon are captured.
    Full,
}

/// Whether there is room for more copies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) state: KeepState,
    /// Bytes that copies may take.
    pub(super) limit: u64,
    stored: u64,
}

impl Room {
    pub(super) fn new(copies: &KeptCopies, settings: &KeepSettings, stored: u64) -> Self {
        let free = fs4::available_space(copies.store.folder()).unwrap_or(u64::MAX);
        let limit = settings.limit.min(free.saturating_add(stored) / FREE_PART);
        let state = match settings.on {
            Some(true) if free < FREE => KeepState::Paused,
            Some(true) if stored >= limit => KeepState::Full,
            Some(true) => KeepState::On,
            _ => KeepState::Off,
        };
        Self { state, limit, stored }
    }

    /// Returns whether sessions that are deleted soon have room.
    pub(super) fn takes_soon(self) -> bool {
        self.state == KeepState::On
            || self.state == KeepState::Full && self.stored < self.limit.saturating_add(RESERVE)
    }
}

/// Keeps copies below their limit.
#[derive(Debug, Default)]
pub(super) struct Limiter {
    /// The limit was reached: sessions whose copies would be erased first are not captured.
    is_short: AtomicBool,
    /// There is more to compress at the limit.
    is_compressing: AtomicBool,
    /// When packs may be compressed again while there is room.
    next: Mutex<Option<Instant>>,
    /// All versions were compared at the limit.
    has_compared: AtomicBool,
}

impl Limiter {
    pub(super) fn is_short(&self) -> bool {
        self.is_short.load(Ordering::Relaxed)
    }

    pub(super) fn is_compressing(&self) -> bool {
        self.is_compressing.load(Ordering::Relaxed)
    }

    /// Makes room at the limit: compresses packs better, then drops versions that newer ones contain, then erases copies of
    /// `erasable`, the first ones first. Below the limit, compresses old packs now and then. Blocks.
    pub(super) fn make_room(
        &self,
        copies: &KeptCopies,
        room: Room,
        erasable: impl Iterator<Item = Arc<KeptSession>>,
    ) -> Result<(), KeepError> {
        let is_full = room.state == KeepState::Full;
        if is_full || room.stored < room.limit - room.limit / SHORT {
            self.is_short.store(is_full, Ordering::Relaxed);
        }
        if !is_full {
            self.is_compressing.store(false, Ordering::Relaxed);
            return self.compress_old(copies);
        }
        let is_left = copies.store.recompress(Duration::ZERO, AT_LIMIT)?;
        self.is_compressing.store(is_left, Ordering::Relaxed);
        if is_left {
            return Ok(());
        }
        if !self.has_compared.swap(true, Ordering::Relaxed) {
            for session in copies.sessions() {
                copies.store.drop_all_contained(session.id)?;
            }
            copies.load()?;
        }
        erase(copies, room.limit, erasable)
    }

    fn compress_old(&self, copies: &KeptCopies) -> Result<(), KeepError> {
        let mut next = self.next.lock();
        let began = Instant::now();
        if next.is_none_or(|next| began >= next) {
            let result = copies.store.recompress(OLD, Duration::from_millis(1));
            *next = Some(Instant::now() + began.elapsed() * IDLE_PAUSE);
            result?;
        }
        Ok(())
    }
}

/// Erases copies until they are below the limit again, if there are enough.
fn erase(
    copies: &KeptCopies,
    limit: u64,
    mut erasable: impl Iterator<Item = Arc<KeptSession>>,
) -> Result<(), KeepError> {
    let mut wanted = limit;
    loop {
        let sizes = copies.store.sizes()?;
        if sizes.stored < wanted {
            return Ok(());
        }
        wanted = limit - limit / MARGIN;
        // Copies share values, so the room that one makes is not known: half of what seems to be needed at a time.
        let excess = sizes.stored.saturating_sub(wanted);
        let needed = u128::from(excess) * u128::from(sizes.raw) / u128::from(sizes.stored.max(1)) / 2;
        let (mut erased, mut bytes) = (Vec::new(), 0);
        while erased.is_empty() || bytes < needed {
            let Some(session) = erasable.next() else { break };
            let files = copies.store.files(session.id, true)?;
            bytes += files.iter().map(|file| u128::from(file.length)).sum::<u128>();
            erased.push(session);
        }
        if erased.is_empty() {
            return Ok(());
        }
        tracing::info!(sessions = erased.len(), "copies of sessions whose logs exist make room");
        copies.erase(&erased)?;
    }
}
