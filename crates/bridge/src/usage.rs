//! The report of tokens and costs, in words.

use jiff::{Zoned, civil::Date, tz::TimeZone};
use openagents_core::{
    budget::Budget,
    clock::now_ms,
    usage::{Picodollars, PriceTable},
};
use openagents_transcripts::{
    history::{History, Provider, Query},
    usage::{By, Note, Report, ReportQuery, Sum, UsageError, UsageProgress, UsageStore},
};
use openagents_wire::{
    AgentLimit, UsageBy, UsageNote, UsageOfAgent, UsagePrices, UsageQuery, UsageReading, UsageReport,
    UsageRow, UsageSum,
};
use std::collections::HashMap;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum UsageReportError {
    #[error("{0} is not a day; write it like 2026-06-01, today or 7d")]
    Day(String),
    #[error("{0} is not a time zone; write it like Europe/Berlin")]
    Zone(String),
    #[error("{0} is not an agent; write it like claude-code")]
    Agent(String),
    #[error(transparent)]
    Store(#[from] UsageError),
}

/// Returns the report that `query` asks for, of what was counted by `progress`. Blocks.
pub fn usage_report(
    store: &UsageStore,
    history: &History,
    query: &UsageQuery,
    progress: UsageProgress,
    is_reading: bool,
    budget: &Budget,
) -> Result<UsageReport, UsageReportError> {
    let zone = match &query.time_zone {
        Some(name) => TimeZone::get(name).map_err(|_| UsageReportError::Zone(name.clone()))?,
        None => TimeZone::system(),
    };
    let day = |text: &Option<String>| text.as_deref().map(|text| day(text, &zone)).transpose();
    let (since, until) = (day(&query.since)?, day(&query.until)?);
    let agent = |name: &String| Provider::parse(name).ok_or_else(|| UsageReportError::Agent(name.clone()));
    let asked = ReportQuery {
        by: match query.by {
            UsageBy::Day => By::Day,
            UsageBy::Session => By::Session,
            UsageBy::Agent => By::Agent,
            UsageBy::Model => By::Model,
            UsageBy::Workspace => By::Workspace,
        },
        since,
        until,
        zone: zone.clone(),
        agent: query.provider.as_ref().map(agent).transpose()?,
        workspace: query.workspace.clone(),
        session: query.session.clone(),
    };
    let Report { total, rows, mut notes } = store.report(&asked)?;
    let without =
        Provider::ALL.into_iter().filter(|provider| asked.agent.is_none_or(|agent| agent == *provider));
    notes.extend(without.filter(|it| history.has_sessions_without_usage(*it, budget)).map(Note::NoTokens));
    let titles = match asked.by {
        By::Session => titles(history, budget),
        _ => HashMap::new(),
    };
    let of_agent = |(agent, of_agent): &(Provider, Sum)| UsageOfAgent {
        provider: agent.as_str().to_owned(),
        agent: agent.display_name().to_owned(),
        sum: sum(of_agent),
    };
    let row = |row: openagents_transcripts::usage::Row| {
        let agent = row.agent.or_else(|| Provider::parse(&row.name).filter(|_| asked.by == By::Agent));
        UsageRow {
            title: agent.and_then(|agent| titles.get(&(agent, row.name.clone())).cloned()),
            provider: agent.map(|agent| agent.as_str().to_owned()),
            agent: agent.map(|agent| agent.display_name().to_owned()),
            name: row.name,
            sum: sum(&row.sum),
            agents: row.by_agent.iter().map(of_agent).collect(),
        }
    };
    let prices = PriceTable::built_in();
    Ok(UsageReport {
        as_of: now_ms(),
        time_zone: zone.iana_name().unwrap_or("local time").to_owned(),
        since: since.map(|day| day.to_string()),
        until: until.map(|day| day.to_string()),
        prices: UsagePrices {
            date: prices.as_of.clone(),
            source: prices.source.clone(),
            overrides: store.own_prices()?.len(),
        },
        totals: sum(&total),
        rows: rows.into_iter().map(row).collect(),
        notes: notes.iter().map(note).collect(),
        limits: limits(store, asked.agent)?,
        unread: progress.unread,
        reading: is_reading
            .then_some(UsageReading { bytes: progress.bytes, read_bytes: progress.read_bytes }),
    })
}

/// Parses a day: a date, `today`, or the first of the last days, such as `7d`.
fn day(text: &str, zone: &TimeZone) -> Result<Date, UsageReportError> {
    let today = Zoned::now().with_time_zone(zone.clone()).date();
    let days =
        |text: &str| text.strip_suffix('d')?.parse::<i64>().ok().filter(|days| (1..=36_500).contains(days));
    let found = match text {
        "today" => Some(today),
        text => match days(text) {
            Some(days) => today.checked_sub(jiff::Span::new().days(days - 1)).ok(),
            None => text.parse().ok(),
        },
    };
    found.ok_or_else(|| UsageReportError::Day(openagents_core::text::prefix(text, 40).to_owned()))
}

fn titles(history: &History, budget: &Budget) -> HashMap<(Provider, String), String> {
    let query = Query { all: true, ..Query::default() };
    let rows = history.list(&query, budget).rows.into_iter();
    rows.filter_map(|row| Some(((row.provider, row.id), row.title?))).collect()
}

fn sum(sum: &Sum) -> UsageSum {
    let is_priced = sum.cost.0 > 0 || sum.unpriced < sum.tokens.total();
    UsageSum {
        requests: sum.requests,
        tokens: sum.tokens.total(),
        kinds: sum.tokens,
        at_least: sum.at_least,
        unpriced_tokens: sum.unpriced,
        cost: is_priced.then(|| sum.cost.to_string()),
        reported_cost: (sum.reported.0 > 0).then(|| sum.reported.to_string()),
    }
}

fn note(note: &Note) -> UsageNote {
    let (code, count, text) = match note {
        Note::AtLeast(1) => ("at-least", 1, "The log has only the start of 1 answer".to_owned()),
        Note::AtLeast(count) => {
            ("at-least", *count, format!("The logs have only the start of {count} answers"))
        }
        Note::WholeSessions(count) => (
            "whole-session",
            *count,
            "Some sessions are known as a whole only; they count on the day on which they ended".to_owned(),
        ),
        Note::NoPrice(models) => {
            let names: Vec<_> = models.iter().map(|(model, _)| model.as_str()).collect();
            let tokens = models.iter().map(|(_, tokens)| tokens).sum();
            ("no-price", tokens, format!("No price is known for {}", names.join(", ")))
        }
        Note::NoTokens(agent) => ("no-tokens", 1, format!("{} logs no tokens", agent.display_name())),
    };
    UsageNote { code: code.to_owned(), text, count }
}

/// Returns the limits that agents reported. Premium requests, which each session reports, are one row.
fn limits(store: &UsageStore, only: Option<Provider>) -> Result<Vec<AgentLimit>, UsageError> {
    let mut limits: Vec<AgentLimit> = Vec::new();
    for (agent, limit) in
        store.limits()?.into_iter().filter(|(agent, _)| only.is_none_or(|only| only == *agent))
    {
        let premium = limit.premium_requests.as_deref().and_then(Picodollars::parse);
        let sum =
            limits.iter_mut().find(|row| row.provider == agent.as_str() && row.premium_requests.is_some());
        if let (Some(premium), Some(row)) = (premium, sum) {
            let before = row.premium_requests.as_deref().and_then(Picodollars::parse).unwrap_or_default();
            row.premium_requests = Some((before + premium).to_string());
            continue;
        }
        limits.push(AgentLimit {
            provider: agent.as_str().to_owned(),
            agent: agent.display_name().to_owned(),
            name: if premium.is_some() { "premium requests".to_owned() } else { limit.name },
            seen_at: limit.seen_at,
            used_percent: limit.used_percent,
            window_minutes: limit.window_minutes,
            resets_at: limit.resets_at,
            plan: limit.plan,
            reached: limit.reached,
            said: limit.said,
            premium_requests: premium.map(|premium| premium.to_string()),
        });
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates_or_relative() {
        let today = Zoned::now().with_time_zone(TimeZone::UTC).date();
        let rows = [
            ("2026-06-01", Some("2026-06-01".parse().unwrap())),
            ("today", Some(today)),
            ("1d", Some(today)),
            ("2d", Some(today.yesterday().unwrap())),
            ("0d", None),
            ("99999999d", None),
            ("-1d", None),
            ("yesterday", None),
            ("2026-02-30", None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(day(text, &TimeZone::UTC).ok(), expected, "{text}");
        }
    }
}
