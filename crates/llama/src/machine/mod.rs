//! The machine's resources and the requirements of models.

mod context;
mod facts;
mod requirements;

pub use context::{asked_context, context_tokens};
pub use facts::MachineFacts;
pub(crate) use facts::disk_free;
pub use requirements::{CONTEXT_VARIABLE, Demand, Verdict, disk_for, disk_full, to_download, to_run};
