//! Which report of a request counts, and what the request used.

use crate::history::UsageFlags;
use openagents_core::usage::{Picodollars, Tokens};

/// A report of a request in one log. Names are ids in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Copy {
    pub(super) log: i64,
    pub(super) attempt: i64,
    pub(super) at: i64,
    pub(super) model: Option<i64>,
    pub(super) model_provider: Option<i64>,
    pub(super) workspace: Option<i64>,
    pub(super) tokens: Tokens,
    pub(super) searches: u64,
    pub(super) reported: Option<Picodollars>,
    pub(super) flags: UsageFlags,
}

impl Copy {
    /// Adds another report of the same attempt: counts grow while an answer is written. The other facts are those of the
    /// earlier report.
    pub(super) fn add(&mut self, other: Self) {
        let tokens = self.tokens.largest(other.tokens);
        let searches = self.searches.max(other.searches);
        let at_least = self.flags.has(UsageFlags::AT_LEAST) && other.flags.has(UsageFlags::AT_LEAST);
        if other.at < self.at {
            *self = other;
        }
        (self.tokens, self.searches) = (tokens, searches);
        self.flags = self.flags.with(UsageFlags::AT_LEAST, at_least);
    }
}

/// Returns the request of which these are the copies: that of the earliest, with the largest counts of its attempt.
/// `rank` orders copies of the same time.
pub(super) fn owner<R: Ord>(copies: &[Copy], rank: impl Fn(i64) -> R) -> Option<Copy> {
    let earliest = copies.iter().min_by_key(|copy| (copy.at, rank(copy.log), copy.attempt))?;
    let same = copies.iter().filter(|copy| copy.attempt == earliest.attempt);
    let mut owner = earliest.clone();
    let (mut tokens, mut searches, mut at_least) = (Tokens::default(), 0, true);
    for copy in same {
        tokens = tokens.largest(copy.tokens);
        searches = searches.max(copy.searches);
        at_least &= copy.flags.has(UsageFlags::AT_LEAST);
    }
    (owner.tokens, owner.searches) = (tokens, searches);
    owner.flags = owner.flags.with(UsageFlags::AT_LEAST, at_least);
    Some(owner)
}
