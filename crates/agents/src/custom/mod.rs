//! Custom agents: validation and storage.

mod check;
mod hidden;
mod model;
mod registry;
mod saved;

pub(crate) use check::check;
pub(crate) use hidden::{hidden, restored};
pub(crate) use model::model_agent;
pub use registry::{RegistryError, from_registry};
pub(crate) use saved::Saved;
