//! Authentication and authorization: the local user, paired devices, and iOS apps.

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
pub(crate) use requests::{Kind, Outcome, OutcomeReceiver, RequestInfo};
pub(crate) use scope::Scope;

/// Returns whether `text` is a well-formed pairing code.
#[cfg(any(test, fuzzing))]
pub(crate) fn reads_code(text: &str) -> bool {
    code::Code::read(text).is_some()
}
