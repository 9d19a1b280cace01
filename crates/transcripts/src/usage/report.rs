//! Sums of requests by day, session, agent, model or workspace.

use super::store::{QUARTER, UsageError, UsageStore};
use crate::history::Provider;
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use openagents_core::{
    git::WorktreeScope,
    usage::{Picodollars, Tokens},
};
use rusqlite::params;
use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

/// The rows of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    #[default]
    Day,
    Session,
    Agent,
    Model,
    Workspace,
}

#[derive(Debug, Clone)]
pub struct ReportQuery {
    pub by: By,
    /// First and last day; both count.
    pub since: Option<Date>,
    pub until: Option<Date>,
    /// The time zone of the days.
    pub zone: TimeZone,
    pub agent: Option<Provider>,
    /// Only requests made in this folder, below it, or in another worktree of its repository.
    pub workspace: Option<PathBuf>,
    /// Only this session, with its sub-agents.
    pub session: Option<String>,
}

impl Default for ReportQuery {
    fn default() -> Self {
        Self {
            by: By::Day,
            since: None,
            until: None,
            zone: TimeZone::UTC,
            agent: None,
            workspace: None,
            session: None,
        }
    }
}

/// The sum of requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    pub requests: u64,
    pub tokens: Tokens,
    /// Number of requests of which only the start of the answer is known.
    pub at_least: u64,
    /// Number of sessions of which only the sum is known.
    pub whole_sessions: u64,
    /// Tokens of requests whose price is unknown.
    pub unpriced: u64,
    pub cost: Picodollars,
    /// The part of the cost that agents reported.
    pub reported: Picodollars,
}

impl Sum {
    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.tokens += other.tokens;
        self.at_least += other.at_least;
        self.whole_sessions += other.whole_sessions;
        self.unpriced = self.unpriced.saturating_add(other.unpriced);
        self.cost += other.cost;
        self.reported += other.reported;
    }
}

/// A row of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// A day, the id of a session, the name of an agent, a model's id or a path; `unknown` if the log does not have it.
    pub name: String,
    /// The agent of a session.
    pub agent: Option<Provider>,
    pub sum: Sum,
    /// The sums of a day by agent.
    pub by_agent: Vec<(Provider, Sum)>,
}

/// Facts about the sums: data that is missing, and how they were made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Only the start of this many answers is known.
    AtLeast(u64),
    /// Only the sum of this many sessions is known.
    WholeSessions(u64),
    /// The models without a price, each with its tokens.
    NoPrice(Vec<(String, u64)>),
    /// An agent's logs have no tokens.
    NoTokens(Provider),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    pub total: Sum,
    /// Days in order; everything else by cost, then by tokens.
    pub rows: Vec<Row>,
    pub notes: Vec<Note>,
}

/// Number of models without a price that are named.
const NAMED_MODELS: usize = 5;

/// The name of what a log does not have.
const UNKNOWN: &str = "unknown";

/// A sum as it is stored.
struct Slot {
    quarter: i64,
    agent: String,
    session: i64,
    model: i64,
    workspace: i64,
    sum: Sum,
}

impl UsageStore {
    /// Sums the requests that are known. Blocks.
    pub fn report(&self, query: &ReportQuery) -> Result<Report, UsageError> {
        let quarter_of = |day: Date| -> Option<i64> {
            let start = day.to_zoned(query.zone.clone()).ok()?.timestamp().as_millisecond();
            Some(start.div_euclid(QUARTER))
        };
        let first = query.since.and_then(quarter_of).unwrap_or(i64::MIN);
        let after = query.until.and_then(|day| quarter_of(day.tomorrow().ok()?)).unwrap_or(i64::MAX);
        let slots = self.slots(first, after, query.agent)?;
        let names = Names::read(self)?;
        let mut scope = query.workspace.as_deref().map(WorktreeScope::new);
        let mut inside: HashMap<i64, bool> = HashMap::new();
        let mut days: HashMap<i64, String> = HashMap::new();
        let mut report = Report::default();
        let mut rows: BTreeMap<(String, Option<Provider>), Row> = BTreeMap::new();
        let mut without_price: BTreeMap<String, u64> = BTreeMap::new();
        for slot in slots {
            if let Some(scope) = &mut scope
                && !*inside.entry(slot.workspace).or_insert_with(|| {
                    names.text(slot.workspace).is_some_and(|folder| scope.holds(Path::new(folder)))
                })
            {
                continue;
            }
            if query.session.as_ref().is_some_and(|id| names.root(&slot.agent, slot.session) != *id) {
                continue;
            }
            let Some(agent) = Provider::parse(&slot.agent) else { continue };
            report.total.add(&slot.sum);
            let model = names.text(slot.model).unwrap_or(UNKNOWN);
            if slot.sum.unpriced > 0 {
                *without_price.entry(model.to_owned()).or_default() += slot.sum.unpriced;
            }
            let name = match query.by {
                By::Day => {
                    days.entry(slot.quarter).or_insert_with(|| day_of(slot.quarter, &query.zone)).clone()
                }
                By::Session => names.root(&slot.agent, slot.session),
                By::Agent => agent.as_str().to_owned(),
                By::Model => model.to_owned(),
                By::Workspace => names.text(slot.workspace).unwrap_or(UNKNOWN).to_owned(),
            };
            let of_session = (query.by == By::Session).then_some(agent);
            let row = rows.entry((name, of_session)).or_insert_with_key(|(name, agent)| Row {
                name: name.clone(),
                agent: *agent,
                sum: Sum::default(),
                by_agent: Vec::new(),
            });
            row.sum.add(&slot.sum);
            if query.by == By::Day {
                match row.by_agent.iter_mut().find(|(other, _)| *other == agent) {
                    Some((_, sum)) => sum.add(&slot.sum),
                    None => row.by_agent.push((agent, slot.sum)),
                }
            }
        }
        report.rows = rows.into_values().collect();
        if query.by != By::Day {
            let size = |row: &Row| std::cmp::Reverse((row.sum.cost, row.sum.tokens.total()));
            report.rows.sort_by_key(size);
        }
        report.notes = notes(&report.total, without_price);
        Ok(report)
    }

    fn slots(&self, first: i64, after: i64, agent: Option<Provider>) -> rusqlite::Result<Vec<Slot>> {
        let connection = self.connection.lock();
        let mut rows = connection.prepare_cached(
            "SELECT quarter, agent, session, model, workspace, requests, input, cache_read, cache_write,
                cache_write_1h, output, reasoning, at_least, whole_sessions, unpriced, cost, reported
             FROM slots WHERE quarter >= ?1 AND quarter < ?2 AND (?3 IS NULL OR agent = ?3)",
        )?;
        let slot = |row: &rusqlite::Row<'_>| {
            let count = |at: usize| row.get::<_, i64>(at).map(|count| u64::try_from(count).unwrap_or(0));
            Ok(Slot {
                quarter: row.get(0)?,
                agent: row.get(1)?,
                session: row.get(2)?,
                model: row.get(3)?,
                workspace: row.get(4)?,
                sum: Sum {
                    requests: count(5)?,
                    tokens: Tokens {
                        input: count(6)?,
                        cache_read: count(7)?,
                        cache_write: count(8)?,
                        cache_write_1h: count(9)?,
                        output: count(10)?,
                        reasoning: count(11)?,
                    },
                    at_least: count(12)?,
                    whole_sessions: count(13)?,
                    unpriced: count(14)?,
                    cost: Picodollars(row.get(15)?),
                    reported: Picodollars(row.get(16)?),
                },
            })
        };
        rows.query_map(params![first, after, agent.map(Provider::as_str)], slot)?.collect()
    }
}

fn day_of(quarter: i64, zone: &TimeZone) -> String {
    let start = Timestamp::from_millisecond(quarter.saturating_mul(QUARTER)).unwrap_or_default();
    start.to_zoned(zone.clone()).date().to_string()
}

fn notes(total: &Sum, without_price: BTreeMap<String, u64>) -> Vec<Note> {
    let mut notes = Vec::new();
    if total.at_least > 0 {
        notes.push(Note::AtLeast(total.at_least));
    }
    if total.whole_sessions > 0 {
        notes.push(Note::WholeSessions(total.whole_sessions));
    }
    let mut models: Vec<_> = without_price.into_iter().collect();
    models.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
    models.truncate(NAMED_MODELS);
    if !models.is_empty() {
        notes.push(Note::NoPrice(models));
    }
    notes
}

/// Texts by their ids, and the sessions that started others.
struct Names {
    texts: HashMap<i64, String>,
    parents: HashMap<(String, i64), i64>,
}

impl Names {
    fn read(store: &UsageStore) -> rusqlite::Result<Self> {
        let connection = store.connection.lock();
        let mut rows = connection.prepare_cached("SELECT id, text FROM names")?;
        let texts =
            rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
        let mut rows =
            connection.prepare_cached("SELECT agent, session, parent FROM logs WHERE parent IS NOT NULL")?;
        let parent = |row: &rusqlite::Row<'_>| Ok(((row.get(0)?, row.get(1)?), row.get(2)?));
        let parents = rows.query_map([], parent)?.collect::<rusqlite::Result<_>>()?;
        Ok(Self { texts, parents })
    }

    fn text(&self, id: i64) -> Option<&str> {
        self.texts.get(&id).map(String::as_str)
    }

    /// Returns the id of the session that started a session, or of the one that started that.
    fn root(&self, agent: &str, session: i64) -> String {
        let (mut root, mut seen) = (session, vec![session]);
        while let Some(parent) = self.parents.get(&(agent.to_owned(), root)) {
            if seen.contains(parent) {
                break;
            }
            root = *parent;
            seen.push(root);
        }
        self.text(root).unwrap_or(UNKNOWN).to_owned()
    }
}
