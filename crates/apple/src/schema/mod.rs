//! Converts tool schemas between JSON Schema and Foundation Models.
//!
//! The framework does not read JSON Schema. It describes arguments with *dynamic generation schemas*, of which
//! [`DynamicSchema`] is an exact model. [`OfferedTool`] is one of our tools as offered to the framework: with a
//! dynamic schema if that can express everything the JSON schema allows, otherwise behind the *universal JSON proxy*,
//! a single string with all arguments. Constraints that only narrow (a pattern, a format, a length) are left to the
//! check on arrival: all arguments are validated against the tool's own schema.

mod convert;
mod dynamic;
mod extract;
mod offered;
#[cfg(test)]
mod tests;

pub use crate::schema::dynamic::{Inexpressible, Reason};
pub use dynamic::{DynamicSchema, Node, Presence, Property};
pub use extract::from_framework;
pub use offered::{Arguments, OfferedTool, PROXY_NOTE};
