//! Who is on the other end, and what they may do: the person at this machine, or a device that was paired.

mod pass;
mod scope;

pub(crate) use pass::{Pass, Who};
pub(crate) use scope::Scope;
