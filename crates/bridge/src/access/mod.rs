//! Who is on the other end, and what they may do: the person at this machine, or a device that was paired.

mod apps;
mod audit;
mod audit_rows;
mod claims;
mod code;
mod commands;
mod deadline;
mod device_rows;
mod lease;
mod pairing;
mod pairing_http;
mod pass;
mod registry;
mod requests;
mod scope;
mod snapshot;

pub(crate) use apps::{AccessRequest, AppAccess};
pub(crate) use audit::Actor;
pub(crate) use commands::Command;
pub(crate) use device_rows::{DeviceRow, all as stored_devices};
pub(crate) use lease::ConnectionLease;
pub(crate) use pairing_http::routes as pairing_routes;
pub(crate) use pass::{Pass, Who};
pub(crate) use registry::Devices;
pub(crate) use requests::{Asking, Kind, Outcome, Waiting};
pub(crate) use scope::Scope;

/// Reads a pairing code and throws it away.
#[cfg(any(test, fuzzing))]
pub(crate) fn reads_code(text: &str) -> bool {
    code::Code::read(text).is_some()
}
