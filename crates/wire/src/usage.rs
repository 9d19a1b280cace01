//! Tokens and costs of the requests that agents made.

use openagents_core::usage::Tokens;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use ts_rs::TS;

/// The rows of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "kebab-case")]
pub enum UsageBy {
    #[default]
    Day,
    Session,
    Agent,
    Model,
    Workspace,
}

/// Params of `_openagents/usage/report`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct UsageQuery {
    pub by: UsageBy,
    /// The first day: `2026-06-01`, `today`, or `7d` for the last seven days. Everything by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The last day, like `since`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The time zone of the days, such as `Europe/Berlin`; that of the computer by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// Only this agent: `claude-code`, `codex`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Only requests made in this folder, below it, or in another worktree of its repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<PathBuf>,
    /// Only this session of an agent, with its sub-agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// A sum of requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UsageSum {
    #[ts(type = "number")]
    pub requests: u64,
    /// All tokens.
    #[ts(type = "number")]
    pub tokens: u64,
    #[serde(flatten)]
    pub kinds: Tokens,
    /// Number of requests of which the log has only the start of the answer.
    #[ts(type = "number")]
    pub at_least: u64,
    /// Tokens of requests whose price is unknown.
    #[ts(type = "number")]
    pub unpriced_tokens: u64,
    /// US dollars, as a decimal text; `null` if no price is known.
    pub cost: Option<String>,
    /// The part of the cost that agents reported themselves.
    pub reported_cost: Option<String>,
}

/// The sum of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct UsageOfAgent {
    /// `claude-code`, `codex`, …
    pub provider: String,
    /// The agent's display name.
    pub agent: String,
    #[serde(flatten)]
    pub sum: UsageSum,
}

/// A row of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UsageRow {
    /// A day, the id of a session, an agent, the id of a model or a path; `unknown` if the log does not have it.
    pub name: String,
    /// The agent, if the row is an agent or a session: `claude-code`, `codex`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The agent's display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The title of a session that is still there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(flatten)]
    pub sum: UsageSum,
    /// The sums of a day by agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<UsageOfAgent>>")]
    pub agents: Vec<UsageOfAgent>,
}

/// Facts about the sums: data that is missing, and how they were made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct UsageNote {
    /// `at-least`, `whole-session`, `no-price` or `no-tokens`.
    pub code: String,
    pub text: String,
    #[ts(type = "number")]
    pub count: u64,
}

/// The prices of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct UsagePrices {
    /// The day of the list prices.
    pub date: String,
    pub source: String,
    /// Number of prices that the user set.
    pub overrides: usize,
}

/// The progress of reading the logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UsageReading {
    /// Bytes that were to be read, and that have been.
    #[ts(type = "number")]
    pub bytes: u64,
    #[ts(type = "number")]
    pub read_bytes: u64,
}

/// A limit that an agent reported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AgentLimit {
    /// `claude-code`, `codex`, …
    pub provider: String,
    /// The agent's display name.
    pub agent: String,
    /// What is limited, such as `codex 300m`.
    pub name: String,
    /// When it was reported.
    #[ts(type = "number")]
    pub seen_at: i64,
    pub used_percent: Option<f64>,
    #[ts(type = "number | null")]
    pub window_minutes: Option<u64>,
    #[ts(type = "number | null")]
    pub resets_at: Option<i64>,
    /// The user's plan: a subscription bills otherwise than by token.
    pub plan: Option<String>,
    /// The agent was refused a request because of it.
    pub reached: bool,
    /// The agent's words, if it reported nothing else.
    pub said: Option<String>,
    /// Number of premium requests that a session used.
    pub premium_requests: Option<String>,
}

/// Answer of `_openagents/usage/report`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UsageReport {
    #[ts(type = "number")]
    pub as_of: i64,
    pub time_zone: String,
    /// The first and the last day; `null` without a bound.
    pub since: Option<String>,
    pub until: Option<String>,
    pub prices: UsagePrices,
    pub totals: UsageSum,
    /// Days in order; everything else by cost, then by tokens.
    pub rows: Vec<UsageRow>,
    pub notes: Vec<UsageNote>,
    pub limits: Vec<AgentLimit>,
    /// Logs that could not be read.
    pub unread: usize,
    /// Reading continues: the sums are those so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<UsageReading>,
}
