//! Approvals on disk. They change on the writer's thread alone, so that of two answers at once one is the first.

use super::{
    Store, StoreError,
    writer::{Appended, Job},
};
use openagents_core::{
    approval::{Approval, ApprovalOption, ApprovalState},
    update::SessionUpdate,
};
use rusqlite::{OptionalExtension, Transaction, params};
use std::{sync::Arc, time::Duration};

/// For so long an answer counts that was given while nobody waited for it.
const APPLIES: Duration = Duration::from_secs(600);

/// What happens to an approval.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "it is boxed on its way to the writer")]
pub(crate) enum ApprovalChange {
    /// An agent asks. An answer to the same question that nobody has heard yet is the answer to this one.
    Ask {
        /// Still pending.
        approval: Approval,
        /// The provider that asks.
        agent_id: String,
    },
    /// A person has chosen. Counts when nobody else has chosen before, whether or not somebody waits for it.
    Answer { id: String, option_id: String, by: String },
    /// Nobody waits any more. Counts when nobody has answered.
    End { id: String, state: ApprovalState },
}

/// How an approval stands after a change.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Decided {
    /// `None` when there is no such approval.
    pub(crate) approval: Option<Approval>,
    /// Whether the change counted.
    pub(crate) changed: bool,
}

impl Decided {
    /// Returns what the log says of it.
    pub(crate) fn update(&self) -> Option<SessionUpdate> {
        self.approval.clone().filter(|_| self.changed).map(SessionUpdate::Approval)
    }
}

/// A stored approval, with whose it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    pub(crate) session_id: String,
    /// The provider that asked.
    pub(crate) agent_id: String,
    pub(crate) approval: Approval,
}

impl Store {
    /// Finds an approval. Blocks.
    pub(crate) fn approval(&self, id: &str) -> Result<Option<Asked>, StoreError> {
        self.readers.with(|reader| {
            reader
                .0
                .prepare_cached("SELECT session_id, agent_id, approval_json FROM approvals WHERE id = ?1")?
                .query_row([id], |row| {
                    let approval = parse(&row.get::<_, String>(2)?)?;
                    Ok(Asked { session_id: row.get(0)?, agent_id: row.get(1)?, approval })
                })
                .optional()
        })
    }

    /// Notes that the one who asked is gone. The caller tells it in the log. Blocks.
    pub(crate) fn withdraw(&self, session_id: &str, id: &str) -> Result<(), StoreError> {
        let (session_id, id) = (session_id.to_owned(), id.to_owned());
        self.write(move |transaction, _| {
            change_state(transaction, &session_id, &id, ApprovalState::Withdrawn).map(drop)
        })
    }

    /// Queues a change of an approval and the update that tells of it. See [`Store::append_then`].
    pub(crate) fn decide_then(
        &self,
        session_id: Arc<str>,
        change: ApprovalChange,
        done: impl FnOnce(Result<Appended, StoreError>) + Send + 'static,
    ) -> Result<(), StoreError> {
        self.writer.send(Job::Decide { session_id, change: Box::new(change), done: Box::new(done) })
    }
}

/// Makes a change if it counts.
pub(super) fn apply(
    transaction: &Transaction<'_>,
    session_id: &str,
    change: &ApprovalChange,
    now: i64,
) -> rusqlite::Result<Decided> {
    match change {
        ApprovalChange::Ask { approval, agent_id } => ask(transaction, session_id, approval, agent_id, now),
        ApprovalChange::Answer { id, option_id, by } => {
            let answered = ApprovalState::Answered { option_id: option_id.clone(), by: by.clone(), at: now };
            change_state(transaction, session_id, id, answered)
        }
        ApprovalChange::End { id, state } => change_state(transaction, session_id, id, state.clone()),
    }
}

fn ask(
    transaction: &Transaction<'_>,
    session_id: &str,
    approval: &Approval,
    agent_id: &str,
    now: i64,
) -> rusqlite::Result<Decided> {
    let mut approval = approval.clone();
    if let Some((earlier_id, state)) = answer_in_advance(transaction, session_id, &approval, now)? {
        transaction.execute("UPDATE approvals SET applies_once = 0 WHERE id = ?1", [earlier_id])?;
        approval.state = state;
    }
    transaction
        .prepare_cached(
            "INSERT INTO approvals (id, session_id, agent_id, hash, state, answered_ts, approval_json)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            approval.id,
            session_id,
            agent_id,
            approval.hash,
            word(&approval.state),
            answered_at(&approval.state),
            text(&approval)?
        ])?;
    Ok(Decided { approval: Some(approval), changed: true })
}

/// Finds the answer to the same question of an agent that was gone when it was given.
fn answer_in_advance(
    transaction: &Transaction<'_>,
    session_id: &str,
    question: &Approval,
    now: i64,
) -> rusqlite::Result<Option<(String, ApprovalState)>> {
    let oldest = now.saturating_sub(i64::try_from(APPLIES.as_millis()).unwrap_or(i64::MAX));
    let found: Option<String> = transaction
        .prepare_cached(
            "SELECT approval_json FROM approvals WHERE session_id = ?1 AND hash = ?2 AND state = 'answered'
             AND applies_once = 1 AND answered_ts >= ?3 ORDER BY answered_ts DESC LIMIT 1",
        )?
        .query_row(params![session_id, question.hash, oldest], |row| row.get(0))
        .optional()?;
    let Some(earlier) = found.map(|json| parse(&json)).transpose()? else { return Ok(None) };
    let ApprovalState::Answered { option_id, by, at } = &earlier.state else { return Ok(None) };
    let Some(option) = same_option(&earlier.options, option_id, &question.options) else { return Ok(None) };
    let by = format!("{by}, before it was asked again");
    let state = ApprovalState::Answered { option_id: option.id.clone(), by, at: *at };
    Ok(Some((earlier.id, state)))
}

/// An agent that starts again may number its options anew: the kind says what was meant.
fn same_option<'a>(
    then: &[ApprovalOption],
    chosen: &str,
    now: &'a [ApprovalOption],
) -> Option<&'a ApprovalOption> {
    let chosen = then.iter().find(|option| option.id == chosen)?;
    let alike = || now.iter().filter(|option| option.kind == chosen.kind);
    alike().find(|option| option.id == chosen.id).or_else(|| alike().next())
}

fn change_state(
    transaction: &Transaction<'_>,
    session_id: &str,
    id: &str,
    state: ApprovalState,
) -> rusqlite::Result<Decided> {
    let found: Option<String> = transaction
        .prepare_cached("SELECT approval_json FROM approvals WHERE id = ?1 AND session_id = ?2")?
        .query_row([id, session_id], |row| row.get(0))
        .optional()?;
    let Some(mut approval) = found.map(|json| parse(&json)).transpose()? else {
        return Ok(Decided::default());
    };
    let is_answer = matches!(state, ApprovalState::Answered { .. });
    let was_withdrawn = approval.state == ApprovalState::Withdrawn;
    let counts = approval.state == ApprovalState::Pending || is_answer && was_withdrawn;
    if counts {
        approval.state = state;
        transaction
            .prepare_cached(
                "UPDATE approvals SET state = ?2, answered_ts = ?3, applies_once = ?4, approval_json = ?5
                 WHERE id = ?1",
            )?
            .execute(params![
                id,
                word(&approval.state),
                answered_at(&approval.state),
                is_answer && was_withdrawn,
                text(&approval)?
            ])?;
    }
    Ok(Decided { approval: Some(approval), changed: counts })
}

fn word(state: &ApprovalState) -> &'static str {
    match state {
        ApprovalState::Pending => "pending",
        ApprovalState::Answered { .. } => "answered",
        ApprovalState::Expired => "expired",
        ApprovalState::Withdrawn => "withdrawn",
    }
}

fn answered_at(state: &ApprovalState) -> Option<i64> {
    match state {
        ApprovalState::Answered { at, .. } => Some(*at),
        ApprovalState::Pending | ApprovalState::Expired | ApprovalState::Withdrawn => None,
    }
}

fn text(approval: &Approval) -> rusqlite::Result<String> {
    serde_json::to_string(approval).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn parse(json: &str) -> rusqlite::Result<Approval> {
    serde_json::from_str(json).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
    })
}
