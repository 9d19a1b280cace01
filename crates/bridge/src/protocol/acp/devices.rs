//! `_openagents/devices/*`: managing devices.

use crate::protocol::acp::from_wire::{Call, read};
use crate::{base::error::Fault, base::scope::Scope, devices::commands::Command};
use serde::Deserialize;
use serde_json::Value;
use std::net::IpAddr;

/// Params of `_openagents/devices/list`.
#[derive(Debug, Deserialize)]
pub(crate) struct List {
    /// Notify about changes from now on.
    #[serde(default)]
    pub(crate) watch: bool,
}

/// Params of `_openagents/devices/audit`.
#[derive(Debug, Deserialize)]
pub(crate) struct Audit {
    pub(crate) limit: Option<usize>,
    /// Only entries before this number.
    pub(crate) before: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Requested {
    request_id: String,
    scope: Option<Scope>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Named {
    id: String,
    name: String,
}

#[derive(Deserialize)]
struct Scoped {
    id: String,
    scope: Scope,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Revoked {
    Device { id: String },
    App { address: IpAddr },
}

pub(super) fn allow(params: Value) -> Result<Call, Fault> {
    let Requested { request_id: request, scope, name } = read(params)?;
    Ok(Call::Device(Command::Allow { request, scope, name }))
}

pub(super) fn decline(params: Value) -> Result<Call, Fault> {
    Ok(Call::Device(Command::Decline { request: read::<Requested>(params)?.request_id }))
}

pub(super) fn rename(params: Value) -> Result<Call, Fault> {
    let Named { id, name } = read(params)?;
    Ok(Call::Device(Command::Rename { id, name }))
}

pub(super) fn scope(params: Value) -> Result<Call, Fault> {
    let Scoped { id, scope } = read(params)?;
    Ok(Call::Device(Command::Change { id, scope }))
}

pub(super) fn revoke(params: Value) -> Result<Call, Fault> {
    Ok(Call::Device(match read(params)? {
        Revoked::Device { id } => Command::Revoke { id },
        Revoked::App { address } => Command::RevokeApp { address },
    }))
}

pub(super) fn network(params: Value) -> Result<Call, Fault> {
    Ok(Call::Device(Command::Switch(read(params)?)))
}
