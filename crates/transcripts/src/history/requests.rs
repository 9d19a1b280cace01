//! The requests to models that agents report in their logs, each with its tokens.
//!
//! A request is reported once or many times, in one log or in copies of it; all reports of a request have the same key.

use super::log::log_file::LogFile;
use openagents_core::{
    budget::Budget,
    usage::{Picodollars, Tokens},
};
use serde::{Deserialize, Serialize};
use std::{io, path::Path};
use xxhash_rust::xxh3::Xxh3;

/// A report of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestUsage {
    /// A hash of the request's ids, which copies of the report share.
    pub key: i64,
    /// A hash of the attempt; reports of other attempts do not add to the counts.
    pub attempt: i64,
    /// Milliseconds since the epoch; 0 if unknown.
    pub at: i64,
    pub model: Option<String>,
    /// The provider of the model, such as `anthropic`.
    pub model_provider: Option<String>,
    /// The working directory.
    pub workspace: Option<String>,
    pub tokens: Tokens,
    /// Number of web searches.
    pub searches: u64,
    /// The cost, if the agent reports one.
    pub reported: Option<Picodollars>,
    pub flags: UsageFlags,
}

/// Facts about a request that are true or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UsageFlags(pub u8);

impl UsageFlags {
    /// The log has only the start of the answer.
    pub const AT_LEAST: Self = Self(1);
    /// The counts are the sum of a session's requests.
    pub const WHOLE_SESSION: Self = Self(2);
    pub const FAST: Self = Self(4);
    /// Answered in the United States only.
    pub const US: Self = Self(8);

    pub fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    #[must_use]
    pub fn with(self, flag: Self, is_set: bool) -> Self {
        Self(if is_set { self.0 | flag.0 } else { self.0 & !flag.0 })
    }
}

/// A limit that an agent reported.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UsageLimit {
    /// What is limited, such as `codex 300m`.
    pub name: String,
    /// When it was reported, in milliseconds since the epoch.
    pub seen_at: i64,
    pub used_percent: Option<f64>,
    pub window_minutes: Option<u64>,
    /// In milliseconds since the epoch.
    pub resets_at: Option<i64>,
    pub plan: Option<String>,
    /// The agent was refused a request because of it.
    pub reached: bool,
    /// The agent's words, if it reported nothing else.
    pub said: Option<String>,
    /// Number of premium requests used, as a decimal text.
    pub premium_requests: Option<String>,
}

/// The requests and limits in a log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoundUsage {
    /// The id of the session, if it is not that of the log's name.
    pub session: Option<String>,
    /// The id of the session that started it, to which its requests belong.
    pub parent: Option<String>,
    /// The directory in which the session began.
    pub workspace: Option<String>,
    /// The time of the first line that has one, in milliseconds since the epoch; 0 if unknown.
    pub born: i64,
    pub requests: Vec<RequestUsage>,
    pub limits: Vec<UsageLimit>,
}

impl FoundUsage {
    /// Adds a request, unless it used nothing. Absurd numbers are cut, so that sums don't overflow.
    pub(super) fn add(&mut self, mut request: RequestUsage) {
        request.tokens = request.tokens.at_most(MOST_TOKENS);
        request.searches = request.searches.min(MOST_TOKENS);
        request.reported = request.reported.map(|cost| cost.min(MOST_DOLLARS));
        if request.tokens.total() > 0 || request.reported.is_some() {
            if self.workspace.is_none() {
                self.workspace.clone_from(&request.workspace);
            }
            self.requests.push(request);
        }
    }
}

/// The largest count of a request that is kept.
const MOST_TOKENS: u64 = 1 << 40;

/// The largest cost of a request that is kept: a million dollars.
const MOST_DOLLARS: Picodollars = Picodollars(1_000_000_000_000_000_000);

/// Returns a hash of ids.
pub(super) fn key(parts: &[&str]) -> i64 {
    let mut hash = Xxh3::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update(&[0]);
    }
    hash.digest().cast_signed()
}

/// The way to read an agent's logs.
#[derive(Debug, Clone, Copy)]
pub(super) enum UsageSource {
    /// By line, in order: a log that has grown is continued with the state in which the reader was.
    Lines(fn(log: &Path, id: &str, state: Option<&str>) -> Box<dyn LineReader>),
    /// All of a session at once.
    Whole(fn(&LogFile, &Budget) -> io::Result<FoundUsage>),
}

/// Reads the lines of a log.
pub(super) trait LineReader {
    fn line(&mut self, line: &[u8], found: &mut FoundUsage);

    /// Returns the state as text.
    fn state(&self) -> String;

    /// Sets what is known about the session as a whole.
    fn finish(&self, found: &mut FoundUsage);
}
