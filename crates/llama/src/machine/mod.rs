//! The machine's resources and the requirements of models.

mod context;
mod facts;
mod pressure;
mod requirements;

pub(crate) use context::{asked_context, context_tokens};
pub(crate) use facts::MachineFacts;
pub(crate) use facts::disk_free;
pub(crate) use pressure::Pressure;
pub(crate) use requirements::{CONTEXT_VARIABLE, Demand, Verdict, disk_full, to_download, to_run};
