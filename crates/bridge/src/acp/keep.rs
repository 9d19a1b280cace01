//! The kept copies of other agents' sessions, and their settings, on the wire.

use super::history;
use openagents_connection::fault::Fault;
use openagents_transcripts::keep::{self as kept, KeepSettings, Keeper, KeeperStatus, LEAST_LIMIT};
use openagents_wire::{DeletedSoon, KeepChange, KeepSnapshot, KeepState, WhenDeleted};

/// The size of copies in percent of the logs, as measured on public logs of thirteen agents.
const EXPECTED: u64 = 17;

/// The size in bytes that copies of a few sessions have.
const LEAST: u64 = 1_000_000;

/// Returns the state of the copies on the wire.
pub(super) fn snapshot(keeper: &Keeper) -> KeepSnapshot {
    let KeeperStatus { state, sizes, room, found, waiting, soon, damaged, verified_at } = keeper.status();
    let settings = keeper.settings();
    let soon = soon.into_iter().map(|soon| DeletedSoon {
        provider: soon.provider.as_str().to_owned(),
        agent: soon.provider.display_name().to_owned(),
        now: soon.now,
        days: soon.days,
        managed: soon.is_managed,
    });
    KeepSnapshot {
        state: match state {
            kept::KeepState::Off => KeepState::Off,
            kept::KeepState::On => KeepState::On,
            kept::KeepState::Paused => KeepState::Paused,
            kept::KeepState::Full => KeepState::Full,
        },
        answered: settings.on.is_some(),
        sessions: sizes.collections,
        gone: sizes.gone,
        bytes: sizes.stored,
        raw_bytes: sizes.raw,
        limit: settings.limit,
        room,
        found: found.0,
        expected_bytes: (found.1 / 100 * EXPECTED).max(LEAST),
        waiting: if settings.on == Some(true) { waiting } else { 0 },
        soon: soon.collect(),
        off: settings.off.iter().map(|provider| provider.as_str().to_owned()).collect(),
        when_deleted: match settings.when_deleted {
            kept::WhenDeleted::Ask => WhenDeleted::Ask,
            kept::WhenDeleted::Keep => WhenDeleted::Keep,
            kept::WhenDeleted::Forget => WhenDeleted::Forget,
        },
        damaged,
        verified_at,
    }
}

/// Returns the settings after a change.
pub(super) fn changed(mut settings: KeepSettings, change: KeepChange) -> Result<KeepSettings, Fault> {
    let KeepChange { on, limit, off, when_deleted } = change;
    let limit = limit.map(|limit| limit as u64);
    if let Some(limit) = limit.filter(|limit| *limit < LEAST_LIMIT) {
        let least = LEAST_LIMIT / 1_000_000;
        return Err(Fault::invalid_params(format!(
            "A limit of {limit} bytes is too small; the least is {least} MB."
        )));
    }
    settings.on = on.or(settings.on);
    settings.limit = limit.unwrap_or(settings.limit);
    if let Some(off) = off {
        settings.off = off.iter().map(|agent| history::provider(agent)).collect::<Result<_, _>>()?;
    }
    settings.when_deleted = match when_deleted {
        Some(WhenDeleted::Ask) => kept::WhenDeleted::Ask,
        Some(WhenDeleted::Keep) => kept::WhenDeleted::Keep,
        Some(WhenDeleted::Forget) => kept::WhenDeleted::Forget,
        None => settings.when_deleted,
    };
    Ok(settings)
}
