//! The event store: sessions and their numbered updates in SQLite.
//!
//! One thread writes, in groups; readers have their own connections. An update gets its number only once it is on
//! disk, so that everything shown to a client can be shown again.

mod agent_memory;
mod approvals;
mod branch;
mod error;
mod handle;
mod images;
mod labels;
mod open;
mod open_work;
mod reader;
mod writer;

#[cfg(test)]
mod tests;

pub use approvals::Asked;
pub(crate) use approvals::{ApprovalChange, Decided};
pub use error::StoreError;
pub use handle::Store;
pub use labels::TrustedWorkspace;
pub use open::DATABASE_FILE;
pub(crate) use open_work::{Open, OpenWork, Part};
pub use openagents_core::{clock::now_ms, folders::create_folder};
pub use reader::{Encoded, Marks, Parent, SessionRow, Stored, TranscriptLabel};
pub use writer::{Appended, NewSession};
