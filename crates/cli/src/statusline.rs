//! `openagents statusline`: tokens and costs in one line, for the status line of Claude Code and for tmux.

use crate::{output, surroundings, usage};
use jiff::{Timestamp, Zoned, tz::TimeZone};
use openagents_core::{CancellationToken, budget::Budget, usage::Picodollars};
use openagents_transcripts::{
    history::{Provider, UsageLimit},
    usage::{ReportQuery, Sum, UsageStore},
};
use serde_json::Value;
use std::{
    io::{IsTerminal as _, Read as _},
    process::ExitCode,
    time::Duration,
};

/// Maximum bytes that are read from standard input.
const INPUT: u64 = 64 << 10;

/// Time for reading new lines of logs: Claude Code draws the line many times a minute.
const READING: Duration = Duration::from_millis(25);

/// Prints the line. Succeeds whatever happens: a status line must not show an error.
pub(crate) fn run() -> ExitCode {
    let mut bytes = Vec::new();
    if !std::io::stdin().is_terminal() {
        let _ = std::io::stdin().take(INPUT).read_to_end(&mut bytes);
    }
    let said: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let now = Zoned::now();
    let today =
        surroundings::data_folder().ok().and_then(|home| UsageStore::open(&home).ok()).and_then(|store| {
            for limit in limits(&said, now.timestamp()) {
                // The next line has it again.
                let _ = store.set_limit(Provider::ClaudeCode, &limit);
            }
            let budget = Budget::within(READING, &CancellationToken::new());
            let _ = store.update(&surroundings::history(), &budget, &mut |_| true);
            let query = ReportQuery {
                since: Some(now.date()),
                zone: now.time_zone().clone(),
                ..ReportQuery::default()
            };
            store.report(&query).ok().map(|report| report.total)
        });
    let _ = output::line(line(&said, today.as_ref(), now.time_zone()));
    ExitCode::SUCCESS
}

/// Returns the parts of the line that are known.
fn line(said: &Value, today: Option<&Sum>, zone: &TimeZone) -> String {
    let text = |pointer: &str| said.pointer(pointer).and_then(Value::as_str).map(output::printable);
    let number = |pointer: &str| said.pointer(pointer).and_then(Value::as_f64);
    let model = text("/model/display_name").or_else(|| text("/model/id"));
    let session = number("/cost/total_cost_usd").map(|cost| format!("${cost:.2} session"));
    let today = today.filter(|today| today.requests > 0).map(|today| match today.cost {
        Picodollars(0) => format!("{} tokens today", usage::tokens(today.tokens.total())),
        Picodollars(cost) => format!("${:.2} today", cost as f64 / 1e12),
    });
    let context = number("/context_window/used_percentage").map(|used| format!("{used:.0}% context"));
    let limit = |(name, short): (&str, &str)| {
        let used = number(&format!("/rate_limits/{name}/used_percentage"))?;
        let resets = said.pointer(&format!("/rate_limits/{name}/resets_at")).and_then(time);
        let resets =
            resets.map(|time| format!(" (resets {})", time.to_zoned(zone.clone()).strftime("%H:%M")));
        Some(format!("{short} {used:.0}%{}", resets.unwrap_or_default()))
    };
    let limits = WINDOWS.map(|(name, short, _)| limit((name, short)));
    let parts = [model, session, today, context].into_iter().chain(limits).flatten();
    parts.collect::<Vec<_>>().join(" · ")
}

/// The limits that a status line gets from Claude Code: the member, its short name and its minutes.
const WINDOWS: [(&str, &str, u64); 2] = [("five_hour", "5h", 300), ("seven_day", "7d", 10_080)];

/// Returns the limits in the input of a status line.
fn limits(said: &Value, now: Timestamp) -> Vec<UsageLimit> {
    let limit = |(name, _, minutes): (&str, &str, u64)| {
        let limit = said.pointer(&format!("/rate_limits/{name}"))?;
        Some(UsageLimit {
            name: name.to_owned(),
            seen_at: now.as_millisecond(),
            used_percent: Some(limit["used_percentage"].as_f64()?),
            window_minutes: Some(minutes),
            resets_at: time(&limit["resets_at"]).map(Timestamp::as_millisecond),
            ..UsageLimit::default()
        })
    };
    WINDOWS.into_iter().filter_map(limit).collect()
}

/// Parses a time in seconds, or as text.
fn time(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => text.parse().ok(),
        value => Timestamp::from_second(value.as_i64()?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::usage::Tokens;
    use serde_json::json;

    #[test]
    fn line_has_the_parts_that_are_known() {
        let sum = |cost, tokens| Sum {
            requests: 1,
            cost: Picodollars(cost),
            tokens: Tokens { input: tokens, ..Tokens::default() },
            ..Sum::default()
        };
        let all = json!({"model": {"display_name": "nova 9"}, "cost": {"total_cost_usd": 0.84},
            "context_window": {"used_percentage": 38.2},
            "rate_limits": {"five_hour": {"used_percentage": 41, "resets_at": 1_772_373_600}}});
        let rows = [
            (
                all.clone(),
                Some(sum(12_400_000_000_000, 1)),
                "nova 9 · $0.84 session · $12.40 today · 38% context · 5h 41% (resets 14:00)",
            ),
            (json!({"model": {"id": "nova"}}), None, "nova"),
            (Value::Null, Some(sum(0, 1_200_000)), "1.2M tokens today"),
            (json!([1]), Some(Sum::default()), ""),
            (json!({"model": 7, "cost": "x", "rate_limits": {"five_hour": {"resets_at": "soon"}}}), None, ""),
            (json!({"model": {"id": "a\u{1b}[31mb"}}), None, "a\\u{1b}[31mb"),
        ];
        for (said, today, expected) in rows {
            assert_eq!(line(&said, today.as_ref(), &TimeZone::UTC), expected, "{said}");
        }
        let limits = limits(&all, Timestamp::UNIX_EPOCH);
        assert_eq!(limits.len(), 1);
        assert_eq!((limits[0].window_minutes, limits[0].resets_at), (Some(300), Some(1_772_373_600_000)));
    }
}
