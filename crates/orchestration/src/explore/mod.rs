//! The exploration pipeline: goals and a workspace become a plan, results, an intent and a summary.
//!
//! The order of the updates is part of the product: the plan with all entries pending; for each op the plan with that
//! entry in progress, the call, its progress, its end; the final plan; `fm.analysis`; and exactly one final message.
//! The end of one entry and the start of the next share one plan update.

mod explorer;
mod intent;
mod planning;
mod run;
mod summary;
mod wording;

pub use explorer::{CANCELLED, ExploreOutcome, ExploreRequest, Explorer, PlannerChoice};

#[cfg(test)]
mod tests;
