//! Who is on the other end, and what they may do: the person at this machine, or a device that was paired.

mod apps;
mod desk;
mod pass;
mod requests;
mod scope;
mod visit;

pub(crate) use apps::{AppDoor, Knock};
pub(crate) use desk::Devices;
pub(crate) use pass::{Pass, Who};
pub(crate) use requests::{Asking, Kind, Outcome, Waiting};
pub(crate) use scope::Scope;
pub(crate) use visit::Visit;
