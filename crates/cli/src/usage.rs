//! `openagents usage`: the tokens and costs of all agents' requests.

use crate::{
    args::{PriceCommand, Usage, UsageCommand},
    output, surroundings, words,
};
use openagents_bridge::{UsageReportError, usage_report};
use openagents_core::{
    CancellationToken,
    budget::Budget,
    usage::{ModelPrice, Picodollars, Rates},
};
use openagents_transcripts::{
    history::History,
    usage::{UsageProgress, UsageStore},
};
use openagents_wire::{UsageBy, UsageQuery, UsageReport, UsageSum};
use std::{process::ExitCode, time::Duration};

/// Time limit for reading logs that were never read.
const READING: Duration = Duration::from_secs(600);

/// Time limit for reading what is new in the logs while an agent waits.
const MOMENT: Duration = Duration::from_secs(10);

pub(crate) fn run(arguments: &Usage) -> anyhow::Result<ExitCode> {
    if let Some(UsageCommand::Price(command)) = &arguments.command {
        return price(&UsageStore::open(&surroundings::data_folder()?)?, command);
    }
    let store = open()?;
    let query = UsageQuery {
        by: arguments.by.into(),
        since: (!arguments.all).then(|| arguments.since.clone()),
        until: arguments.until.clone(),
        time_zone: None,
        provider: arguments.provider.map(|provider| provider.as_str().to_owned()),
        workspace: arguments.workspace.as_ref().map(std::path::absolute).transpose()?,
        session: None,
    };
    let history = surroundings::history();
    let progress = read(&store, &history)?;
    let budget = surroundings::patience();
    let report =
        usage_report(&store, &history, &query, progress, false, &budget).map_err(|error| match error {
            UsageReportError::Store(error) => anyhow::Error::new(error),
            error => output::Usage(error.to_string()).into(),
        })?;
    if arguments.json {
        output::json_pretty(&report)?;
    } else {
        for line in lines(&report, query.by) {
            output::line(line)?;
        }
    }
    Ok(if report.unread > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Opens the counts of the data folder; where these cannot be written, counts in memory.
fn open() -> anyhow::Result<UsageStore> {
    let opened = surroundings::data_folder().map(|home| UsageStore::open(&home));
    match opened {
        Ok(Ok(store)) => Ok(store),
        Ok(Err(error)) => {
            output::warn(&format!("all logs are read, because the counts cannot be kept: {error}"));
            Ok(UsageStore::in_memory()?)
        }
        Err(_) => Ok(UsageStore::in_memory()?),
    }
}

/// Returns the report that `query` asks for, with titles of sessions in `history`. Reads what is new in all logs for a
/// moment at most.
pub(crate) fn report(
    history: &History,
    query: &UsageQuery,
    cancel: &CancellationToken,
) -> anyhow::Result<UsageReport> {
    let store = open()?;
    let budget = Budget::within(MOMENT, cancel);
    let all = surroundings::history();
    let progress = store.update(&all, &budget, &mut |_| !cancel.is_cancelled())?;
    Ok(usage_report(&store, history, query, progress, false, &budget)?)
}

/// Returns the counts after reading what is new in the logs, and the number of logs that could not be read.
pub(crate) fn up_to_date(history: &History) -> anyhow::Result<(UsageStore, usize)> {
    let store = open()?;
    let unread = read(&store, history)?.unread;
    Ok((store, unread))
}

/// Reads what is new in the logs.
fn read(store: &UsageStore, history: &History) -> anyhow::Result<UsageProgress> {
    let bar = output::spinner();
    let budget = Budget::within(READING, &CancellationToken::new());
    let progress = store.update(history, &budget, &mut |progress: UsageProgress| {
        let [read, all] = [progress.read_bytes, progress.bytes].map(|bytes| bytes as f64 / 1e9);
        bar.set_message(format!("Reading logs… {read:.1} of {all:.1} GB"));
        true
    });
    bar.finish_and_clear();
    Ok(progress?)
}

fn price(store: &UsageStore, command: &PriceCommand) -> anyhow::Result<ExitCode> {
    match command {
        PriceCommand::Set { model: (provider, model), input, output, cache_read, cache_write, from } => {
            let rates = Rates {
                input: Some(input.clone()),
                output: Some(output.clone()),
                cache_read: cache_read.clone().or_else(|| Some(input.clone())),
                cache_write: cache_write.clone().or_else(|| Some(input.clone())),
                cache_write_1h: cache_write.clone().or_else(|| Some(input.clone())),
                search: None,
            };
            store.set_price(&ModelPrice {
                provider: provider.clone(),
                model: model.clone(),
                from: from.clone(),
                rates,
                ..ModelPrice::default()
            })?;
        }
        PriceCommand::Remove { model: (provider, model) } => store.remove_price(provider, model)?,
        PriceCommand::List => {}
    }
    let own = store.own_prices()?;
    if own.is_empty() {
        output::line("There are no custom prices: list prices apply.")?;
    }
    let row = |price: &ModelPrice| {
        let rate = |name: &str, rate: &Option<String>| rate.as_ref().map(|rate| format!("{name} ${rate}"));
        let rates = &price.rates;
        let parts = [
            rate("input", &rates.input),
            rate("output", &rates.output),
            rate("cache read", &rates.cache_read),
            rate("cache write", &rates.cache_write),
            price.from.as_ref().map(|day| format!("from {day}")),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        vec![output::printable(&format!("{}/{}", price.provider, price.model)), parts.join(", ")]
    };
    for line in output::columns(&own.iter().map(row).collect::<Vec<_>>()) {
        output::line(line)?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn lines(report: &UsageReport, by: UsageBy) -> Vec<String> {
    let first = match by {
        UsageBy::Day => "day",
        UsageBy::Session => "session",
        UsageBy::Agent => "agent",
        UsageBy::Model => "model",
        UsageBy::Workspace => "workspace",
    };
    let head = [first, "requests", "input", "cache read", "cache write", "output", "cost"].map(str::to_owned);
    let name = |row: &openagents_wire::UsageRow| match row.title.as_ref().or(row.agent.as_ref()) {
        Some(agent) if by == UsageBy::Agent => output::printable(agent),
        Some(title) => {
            output::printable(&format!("{}  {}", output::short(&row.name), output::first_words(title, 40)))
        }
        None => output::printable(&row.name),
    };
    let mut rows = vec![head.to_vec()];
    rows.extend(report.rows.iter().map(|row| cells(name(row), &row.sum)));
    rows.push(cells("all".to_owned(), &report.totals));
    let mut lines = match report.totals.requests {
        0 => vec!["No requests were found in the logs of these days.".to_owned()],
        _ => output::aligned(&rows, |at| (1..head.len() - 1).contains(&at)),
    };
    let mut foot = vec![format!("API list prices of {}", report.prices.date), report.time_zone.clone()];
    if report.prices.overrides > 0 {
        foot.push(words::count(report.prices.overrides as u64, "custom price"));
    }
    foot.extend(report.notes.iter().map(|note| note.text.clone()));
    lines.push(String::new());
    lines.push(output::printable(&foot.join(" · ")));
    let plan = report.limits.iter().find_map(|limit| limit.plan.as_deref());
    if let Some(plan) = plan {
        let plan = output::printable(plan);
        lines.push(format!(
            "This is what it would cost at API prices; your plan ({plan}) is billed differently."
        ));
    }
    if report.unread > 0 {
        lines.push(format!("{} logs could not be read.", report.unread));
    }
    lines
}

fn cells(name: String, sum: &UsageSum) -> Vec<String> {
    let written = sum.kinds.cache_write + sum.kinds.cache_write_1h;
    let output = tokens(sum.kinds.output);
    let output = if sum.at_least > 0 { format!("≥ {output}") } else { output };
    vec![
        name,
        sum.requests.to_string(),
        tokens(sum.kinds.input),
        tokens(sum.kinds.cache_read),
        tokens(written),
        output,
        cost(sum),
    ]
}

/// Returns a number with three digits at least, such as `80.0K`.
pub(crate) fn tokens(count: u64) -> String {
    let shortened = |unit: f64, name: &str| {
        let number = count as f64 / unit;
        if number < 99.95 { format!("{number:.1}{name}") } else { format!("{number:.0}{name}") }
    };
    match count {
        0..1_000 => count.to_string(),
        1_000..999_500 => shortened(1e3, "K"),
        999_500..999_500_000 => shortened(1e6, "M"),
        _ => shortened(1e9, "B"),
    }
}

fn cost(sum: &UsageSum) -> String {
    let amount = sum.cost.as_deref().and_then(Picodollars::parse);
    let dollars = amount.map(|amount| match amount.0 {
        0 => "$0".to_owned(),
        pico if pico < 5_000_000_000 => "< $0.01".to_owned(),
        pico => format!("${:.2}", pico as f64 / 1e12),
    });
    let unpriced =
        (sum.unpriced_tokens > 0).then(|| format!("{} tokens without a price", tokens(sum.unpriced_tokens)));
    dollars.into_iter().chain(unpriced).collect::<Vec<_>>().join(" + ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::usage::Tokens;
    use openagents_wire::{UsageNote, UsagePrices, UsageRow};

    #[test]
    fn report_is_a_table_with_what_it_leaves_out() {
        let sum = |requests, unpriced, cost: Option<&str>| UsageSum {
            requests,
            kinds: Tokens {
                input: 80_000,
                cache_read: 11_900_000,
                cache_write: 200_000,
                cache_write_1h: 100_000,
                output: 101_234,
                reasoning: 0,
            },
            at_least: 9,
            unpriced_tokens: unpriced,
            cost: cost.map(str::to_owned),
            ..UsageSum::default()
        };
        let row = |name: &str, sum| UsageRow {
            name: name.to_owned(),
            provider: None,
            agent: None,
            title: None,
            sum,
            agents: vec![],
        };
        let report = UsageReport {
            as_of: 0,
            time_zone: "Europe/Berlin".to_owned(),
            since: None,
            until: None,
            prices: UsagePrices { date: "2026-11-25".to_owned(), source: "a test".to_owned(), overrides: 0 },
            totals: sum(1310, 1_100_000, Some("9.4044")),
            rows: vec![
                row("2026-06-02", sum(310, 0, Some("9.4"))),
                row("2026-06-03", sum(1000, 1_100_000, None)),
                row("2026-06-04", UsageSum { cost: Some("0.004".to_owned()), ..UsageSum::default() }),
            ],
            notes: vec![UsageNote {
                code: "no-tokens".to_owned(),
                text: "Cursor logs no tokens".to_owned(),
                count: 1,
            }],
            limits: vec![],
            unread: 1,
            reading: None,
        };
        insta::assert_snapshot!(lines(&report, UsageBy::Day).join("\n"));
    }

    #[test]
    fn tokens_are_short() {
        let rows = [
            (0, "0"),
            (999, "999"),
            (1_000, "1.0K"),
            (80_000, "80.0K"),
            (99_949, "99.9K"),
            (99_950, "100K"),
            (999_499, "999K"),
            (999_500, "1.0M"),
            (11_900_000, "11.9M"),
            (2_345_000_000, "2.3B"),
        ];
        for (count, expected) in rows {
            assert_eq!(tokens(count), expected);
        }
    }
}
