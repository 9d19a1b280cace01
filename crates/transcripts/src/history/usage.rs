//! Adds up the tokens that an agent counted in all of its sessions.

use super::{
    formats,
    log::lines::Lines,
    logs::History,
    transcript::{Provider, Query, RequestUsage, TokenUsage, Transcript, UsageOf},
};
use crate::limits;
use openagents_core::{budget::Budget, parallel};
use std::{collections::HashMap, io};

/// The tokens of an agent's sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageTotal {
    /// Each request counts once.
    pub tokens: TokenUsage,
    /// Sessions that could not be read to their end.
    pub unread: usize,
}

impl History {
    /// Adds up the tokens of all sessions of an agent, including hidden ones; `None` if its lines do not count them by
    /// request. Blocks.
    pub fn token_usage(&self, provider: Provider, budget: &Budget) -> Option<UsageTotal> {
        formats::spec(provider).request_usage.map(|usage_of| {
            let query = Query { provider: Some(provider), all: true, ..Query::default() };
            let listing = self.list(&query, budget);
            let read = |(): &mut (), at: usize| self.requests(usage_of, &listing.rows[at], budget).ok();
            let read = parallel::map(listing.rows.len(), limits::THREADS, || !budget.spent(), || (), read);
            let mut total = UsageTotal {
                unread: read.iter().filter(|read| read.is_none()).count(),
                ..UsageTotal::default()
            };
            let mut requests = HashMap::new();
            // Oldest first, so that the last line about a request is the newest.
            for usage in read.into_iter().rev().flatten().flatten() {
                match usage.request {
                    Some(request) => drop(requests.insert(request, usage.tokens)),
                    None => total.tokens += usage.tokens,
                }
            }
            requests.into_values().for_each(|tokens| total.tokens += tokens);
            total
        })
    }

    fn requests(
        &self,
        usage_of: UsageOf,
        row: &Transcript,
        budget: &Budget,
    ) -> io::Result<Vec<RequestUsage>> {
        self.check(row)?;
        let mut lines = Lines::new(self.open(row)?, limits::SUMMARY_LINE, u64::MAX);
        let (mut found, mut places) = (Vec::<RequestUsage>::new(), HashMap::new());
        while let Some(line) = lines.next(budget)? {
            let Some(usage) = usage_of(line.bytes) else { continue };
            let place = usage.request.map(|request| *places.entry(request).or_insert(found.len()));
            match place.and_then(|place| found.get_mut(place)) {
                Some(known) => *known = usage,
                None => found.push(usage),
            }
        }
        let stopped = || io::Error::new(io::ErrorKind::TimedOut, "the time for reading is over");
        if lines.extent().stopped { Err(stopped()) } else { Ok(found) }
    }
}
