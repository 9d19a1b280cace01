//! Stored approvals. They change only on the writer's thread, so that one of two concurrent answers is the first.

use openagents_core::{
    approval::{Approval, ApprovalOption, ApprovalState, FormAnswers, OptionKind},
    update::SessionUpdate,
};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde_json::Value;
use std::time::Duration;

/// Time for which an answer given while no agent was waiting applies to the same question.
const APPLIES: Duration = Duration::from_secs(600);

#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "it is boxed on its way to the writer")]
pub(crate) enum ApprovalChange {
    /// An agent asks. An earlier answer to the same question that no agent received answers this one.
    Ask {
        approval: Approval,
        agent_id: String,
    },
    /// The user answers. Applies if the approval has no answer, whether or not the agent still waits.
    Answer {
        id: String,
        option_id: String,
        by: String,
        message: Option<String>,
        content: Option<FormAnswers>,
    },
    /// The agent no longer waits. Applies if the approval is pending.
    End {
        id: String,
        state: ApprovalState,
    },
    /// The agent is resumed. Applies once, to a withdrawn approval whose answer the agent has not received.
    Resume {
        id: String,
    },
    NotResumed {
        id: String,
    },
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Decided {
    /// The changed approval; `None` if there is no such approval.
    pub(crate) approval: Option<Approval>,
    pub(crate) changed: bool,
}

impl Decided {
    pub(crate) fn update(&self) -> Option<SessionUpdate> {
        self.approval.clone().filter(|_| self.changed).map(SessionUpdate::Approval)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub session_id: String,
    pub agent_id: String,
    pub approval: Approval,
}

pub(super) fn apply(
    transaction: &Transaction<'_>,
    session_id: &str,
    change: &ApprovalChange,
    now: i64,
) -> rusqlite::Result<Decided> {
    match change {
        ApprovalChange::Ask { approval, agent_id } => ask(transaction, session_id, approval, agent_id, now),
        ApprovalChange::Answer { id, option_id, by, message, content } => {
            let (option_id, by) = (option_id.clone(), by.clone());
            let (message, content) = (message.clone(), content.clone());
            let answered = ApprovalState::Answered { option_id, by, at: now, message, content };
            change_state(transaction, session_id, id, answered)
        }
        ApprovalChange::End { id, state } => change_state(transaction, session_id, id, state.clone()),
        ApprovalChange::Resume { id } => resume(transaction, session_id, id, true),
        ApprovalChange::NotResumed { id } => resume(transaction, session_id, id, false),
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
    if let Some(state) = standing_answer(transaction, session_id, &approval, agent_id)? {
        approval.state = state;
    } else if let Some((earlier_id, state)) =
        answer_in_advance(transaction, session_id, &approval, agent_id, now)?
    {
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
            state_name(&approval.state),
            answered_at(&approval.state),
            to_json(&approval)?
        ])?;
    Ok(Decided { approval: Some(approval), changed: true })
}

/// Finds an earlier answer to the same question that the agent did not receive.
fn answer_in_advance(
    transaction: &Transaction<'_>,
    session_id: &str,
    question: &Approval,
    agent_id: &str,
    now: i64,
) -> rusqlite::Result<Option<(String, ApprovalState)>> {
    // The title is not enough: two edits of one file have the same title.
    if !has_details(question) {
        return Ok(None);
    }
    let oldest = now.saturating_sub(i64::try_from(APPLIES.as_millis()).unwrap_or(i64::MAX));
    let mut statement = transaction.prepare_cached(
        "SELECT approval_json FROM approvals WHERE session_id = ?1 AND agent_id = ?2 AND hash = ?3
         AND state = 'answered' AND applies_once = 1 AND answered_ts BETWEEN ?4 AND ?5 ORDER BY answered_ts DESC",
    )?;
    let mut rows = statement.query(params![session_id, agent_id, question.hash, oldest, now])?;
    while let Some(row) = rows.next()? {
        let Some(earlier) = parse_approval(&row.get::<_, String>(0)?) else { continue };
        let ApprovalState::Answered { option_id, by, at, message, content } = &earlier.state else {
            continue;
        };
        let Some(option) = same_option(&earlier.options, option_id, &question.options) else { continue };
        let by = format!("{by}, before it was asked again");
        let (option_id, message, content) = (option.id.clone(), message.clone(), content.clone());
        let state = ApprovalState::Answered { option_id, by, at: *at, message, content };
        return Ok(Some((earlier.id, state)));
    }
    Ok(None)
}

/// Finds a standing rule for exactly this command.
fn standing_answer(
    transaction: &Transaction<'_>,
    session_id: &str,
    question: &Approval,
    agent_id: &str,
) -> rusqlite::Result<Option<ApprovalState>> {
    if question.command.as_ref().is_none_or(|command| command.exact.is_none()) {
        return Ok(None);
    }
    let mut statement = transaction.prepare_cached(
        "SELECT approval_json FROM approvals WHERE session_id = ?1 AND agent_id = ?2 AND standing = 1",
    )?;
    let mut rows = statement.query(params![session_id, agent_id])?;
    while let Some(row) = rows.next()? {
        let Some(rule) = parse_approval(&row.get::<_, String>(0)?) else { continue };
        // The command may since refer to something inside the workspace: then the question has no such option.
        let option = question.options.iter().find(|option| option.kind == OptionKind::AllowAlways);
        if let (true, Some(option)) = (rule.command == question.command, option)
            && let ApprovalState::Answered { by, at, .. } = rule.state
        {
            let option_id = option.id.clone();
            return Ok(Some(ApprovalState::Answered { option_id, by, at, message: None, content: None }));
        }
    }
    Ok(None)
}

pub(super) fn standing_rules(connection: &Connection) -> rusqlite::Result<Vec<Asked>> {
    let mut statement = connection.prepare_cached(
        "SELECT session_id, agent_id, approval_json FROM approvals WHERE standing = 1 ORDER BY answered_ts DESC",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?)))?;
    let mut rules = Vec::new();
    for row in rows {
        let (session_id, agent_id, json) = row?;
        rules.extend(parse_approval(&json).map(|approval| Asked { session_id, agent_id, approval }));
    }
    Ok(rules)
}

pub(super) fn revoke(transaction: &Transaction<'_>, id: Option<&str>) -> rusqlite::Result<()> {
    let revoked = "UPDATE approvals SET standing = 0 WHERE standing = 1 AND (?1 IS NULL OR id = ?1)";
    transaction.execute(revoked, [id]).map(drop)
}

fn is_standing_rule(approval: &Approval) -> bool {
    let ApprovalState::Answered { option_id, .. } = &approval.state else { return false };
    let is_exact = approval.command.as_ref().is_some_and(|command| command.exact.is_some());
    let mut options = approval.options.iter();
    is_exact && options.any(|option| option.id == *option_id && option.kind == OptionKind::AllowAlways)
}

fn has_details(question: &Approval) -> bool {
    let is_empty = |input: &Value| match input {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    question.command.is_some() || question.raw_input.as_ref().is_some_and(|input| !is_empty(input))
}

/// Finds the option that matches the chosen one. A restarted agent may use new ids: then the name decides, or the kind
/// if only one option has it.
fn same_option<'a>(
    then: &[ApprovalOption],
    chosen: &str,
    now: &'a [ApprovalOption],
) -> Option<&'a ApprovalOption> {
    let chosen = then.iter().find(|option| option.id == chosen)?;
    let alike: Vec<_> = now.iter().filter(|option| option.kind == chosen.kind).collect();
    let only = |is: &dyn Fn(&ApprovalOption) -> bool| match alike.iter().filter(|option| is(option)).count() {
        1 => alike.iter().find(|option| is(option)).copied(),
        _ => None,
    };
    let was_only = then.iter().filter(|option| option.kind == chosen.kind).count() == 1;
    only(&|option| option.id == chosen.id && option.name == chosen.name)
        .or_else(|| only(&|option| option.name == chosen.name))
        .or_else(|| only(&|_| was_only))
}

pub(super) fn change_state(
    transaction: &Transaction<'_>,
    session_id: &str,
    id: &str,
    state: ApprovalState,
) -> rusqlite::Result<Decided> {
    let Some((mut approval, _)) = find(transaction, session_id, id)? else { return Ok(Decided::default()) };
    let is_answer = matches!(state, ApprovalState::Answered { .. });
    let was_withdrawn = approval.state == ApprovalState::Withdrawn;
    let counts = approval.state == ApprovalState::Pending || is_answer && was_withdrawn;
    if counts {
        approval.state = state;
        approval.unheard = is_answer && was_withdrawn;
        transaction
            .prepare_cached(
                "UPDATE approvals SET state = ?2, answered_ts = ?3, applies_once = ?4, approval_json = ?5,
                 standing = ?6 WHERE id = ?1",
            )?
            .execute(params![
                id,
                state_name(&approval.state),
                answered_at(&approval.state),
                approval.unheard,
                to_json(&approval)?,
                is_standing_rule(&approval)
            ])?;
    }
    Ok(Decided { approval: Some(approval), changed: counts })
}

fn resume(
    transaction: &Transaction<'_>,
    session_id: &str,
    id: &str,
    resumed: bool,
) -> rusqlite::Result<Decided> {
    let Some((mut approval, applies)) = find(transaction, session_id, id)? else {
        return Ok(Decided::default());
    };
    let can = applies || approval.state == ApprovalState::Withdrawn;
    let counts = approval.resumed != resumed && (can || !resumed);
    if counts {
        approval.resumed = resumed;
        transaction
            .prepare_cached("UPDATE approvals SET approval_json = ?2 WHERE id = ?1")?
            .execute(params![id, to_json(&approval)?])?;
    }
    Ok(Decided { approval: Some(approval), changed: counts })
}

/// Finds an approval of a session, and whether its answer still applies to the same question.
fn find(
    transaction: &Transaction<'_>,
    session_id: &str,
    id: &str,
) -> rusqlite::Result<Option<(Approval, bool)>> {
    let found: Option<(String, bool)> = transaction
        .prepare_cached(
            "SELECT approval_json, applies_once FROM approvals WHERE id = ?1 AND session_id = ?2",
        )?
        .query_row([id, session_id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found.and_then(|(json, applies)| Some((parse_approval(&json)?, applies))))
}

fn state_name(state: &ApprovalState) -> &'static str {
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

fn to_json(approval: &Approval) -> rusqlite::Result<String> {
    serde_json::to_string(approval).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

/// Parses a stored approval. An unreadable one counts as missing, so that it does not fail other writes.
pub(super) fn parse_approval(json: &str) -> Option<Approval> {
    serde_json::from_str(json)
        .inspect_err(|error| tracing::warn!(%error, "a stored approval cannot be read"))
        .ok()
}
