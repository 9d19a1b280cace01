//! The machine's resources and the requirements of models.

mod facts;
mod requirements;

pub(crate) use crate::machine::{
    facts::Pressure,
    requirements::{context_tokens, parse_context},
};
pub(crate) use facts::{MachineFacts, disk_free};
pub(crate) use requirements::{CONTEXT_VARIABLE, Demand, Verdict, check_disk, check_memory, disk_full};
