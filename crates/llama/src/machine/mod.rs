//! The machine's resources and the requirements of models.

mod facts;
mod requirements;

pub(crate) use crate::machine::{
    facts::Pressure,
    requirements::{asked_context, context_tokens},
};
pub(crate) use facts::{MachineFacts, disk_free};
pub(crate) use requirements::{CONTEXT_VARIABLE, Demand, Verdict, disk_full, to_download, to_run};
