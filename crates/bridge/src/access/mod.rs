//! Who is on the other end, and what they may do: the person at this machine, or a device that was paired.

mod apps;
mod audit;
mod audit_rows;
mod claims;
mod code;
mod commands;
mod deadline;
mod desk;
mod device_rows;
mod pairing;
mod pairing_http;
mod pass;
mod requests;
mod scope;
mod snapshot;
mod visit;

pub(crate) use apps::{AppDoor, Knock};
pub(crate) use audit::Actor;
pub(crate) use commands::Command;
pub(crate) use desk::Devices;
pub(crate) use device_rows::{DeviceRow, all as stored_devices};
pub(crate) use pairing_http::routes as pairing_routes;
pub(crate) use pass::{Pass, Who};
pub(crate) use requests::{Asking, Kind, Outcome, Waiting};
pub(crate) use scope::Scope;
pub(crate) use visit::Visit;

/// Reads a pairing code and throws it away.
#[cfg(any(test, fuzzing))]
pub(crate) fn reads_code(text: &str) -> bool {
    code::Code::read(text).is_some()
}
