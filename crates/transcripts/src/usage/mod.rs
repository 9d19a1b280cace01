//! The tokens and costs of all requests in the logs, kept in a separate database: an agent may delete its logs, and their
//! cost stays known.
//!
//! Each log's reports of requests are rows. Reports of the same request are copies of it; one of them owns the request,
//! which then counts in a sum for its quarter of an hour. Sums change in the same transaction as the rows.

mod change;
mod counter;
mod owner;
mod report;
mod store;
mod update;

pub use counter::UsageCounter;
pub use report::{By, Note, Report, ReportQuery, Row, Sum};
pub use store::{UsageError, UsageStore};
pub use update::UsageProgress;
