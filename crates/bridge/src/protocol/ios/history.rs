//! Recent sessions and their timelines, for the app's drawer.

use super::{folding, projection::Projection, projection::View, to_wire};
use crate::base::{error::Fault, limits::IOS_ANSWER};
use openagents_sessions::{
    SessionRegistry, prune,
    store::{Store, StoreError, Stored},
};
use serde_json::{Value, json};
use std::sync::Arc;

/// Maximum number of rows in the drawer.
const RECENT: usize = 10;
/// Maximum number of updates that are read from the end of a session.
const UPDATES: u64 = 4096;
const PAGE: usize = 256;

pub(super) async fn recent_sessions(sessions: &SessionRegistry) -> Result<Value, Fault> {
    let rows = sessions.list(RECENT, None, None, false).await?;
    let wire = |row: openagents_sessions::store::SessionRow| json!({"session_id": row.id, "last_ts": row.last_ts, "message_count": row.last_seq});
    Ok(rows.into_iter().map(|listed| wire(listed.row)).collect())
}

/// Returns a bare array, empty for an unknown session.
pub(super) async fn timeline(
    sessions: &SessionRegistry,
    session_id: String,
    limit: Option<u64>,
) -> Result<Value, Fault> {
    // Loading the session closes turns that a dead process left open.
    drop(sessions.find(&session_id).await?);
    let id = session_id.clone();
    let updates = sessions.read(move |store| read_end(store, &id)).await?;
    let notes: Vec<Value> =
        shown(&updates).into_iter().map(|update| to_wire::note(&session_id, update)).collect();
    let most = usize::try_from(limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    Ok(Value::Array(newest(notes, most, IOS_ANSWER)))
}

fn read_end(store: &Store, session_id: &str) -> Result<Vec<Arc<Stored>>, StoreError> {
    let Some(row) = store.session(session_id)? else { return Ok(Vec::new()) };
    let mut updates: Vec<Arc<Stored>> = Vec::new();
    let mut since = row.last_seq.saturating_sub(UPDATES);
    loop {
        let page = store.updates_after(session_id, since, PAGE)?;
        let Some(last) = page.last() else { return Ok(updates) };
        since = last.seq;
        updates.extend(page);
    }
}

/// Projects a log for the timeline: one plan, no progress and no modes, and the prompts of all clients.
pub(super) fn shown(updates: &[Arc<Stored>]) -> Vec<Value> {
    let view = View { modes: false, progress: false };
    let mut projection = Projection::default();
    let mut shown = Vec::new();
    for stored in folding::fold(updates) {
        projection.push(&stored, view, &|_| false, &mut shown);
    }
    projection.rest(&mut shown);
    shown.into_iter().map(|shown| shown.update).collect()
}

/// Keeps the newest rows that fit, in their order.
pub(super) fn newest(rows: Vec<Value>, most: usize, bytes: usize) -> Vec<Value> {
    let mut room = bytes;
    let mut kept: Vec<Value> = rows
        .into_iter()
        .rev()
        .take(most)
        .take_while(|row| {
            let cost = prune::size(row) + 1;
            let fits = cost <= room;
            room = room.saturating_sub(cost);
            fits
        })
        .collect();
    kept.reverse();
    kept
}
