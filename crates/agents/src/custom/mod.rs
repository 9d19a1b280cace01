//! Custom agents: validation and storage.

mod check;
mod registry;

pub(crate) use crate::custom::registry::{Saved, hidden, model_agent, restored};
pub(crate) use check::{check, check_tools};
pub use registry::{RegistryError, from_registry};
