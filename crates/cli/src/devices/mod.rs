//! `openagents devices`: device access and the network, for computers without a display.

mod table;

use crate::{
    args, bridge,
    output::{self, ask, short},
    signals, surroundings,
};
use anyhow::Context;
use openagents_bridge::client::Client;
use openagents_wire::{
    AuditPage, AuditQuery, ClientMeta, Device, DeviceCommand, DeviceRequest, DevicesSnapshot, IosAccess,
    NetworkChange, Revoked, Scope, Watch, methods,
};
use serde::Serialize;
use std::{net::SocketAddr, path::Path, process::ExitCode};
pub(crate) use table::{AccessRequests, Row, left, who};

pub(crate) fn run(command: &args::Devices) -> anyhow::Result<ExitCode> {
    signals::run(act(command))
}

async fn act(command: &args::Devices) -> anyhow::Result<ExitCode> {
    let mut client = DevicesClient::open().await?.ok_or_else(nothing_runs)?;
    match command {
        args::Devices::List { json } => {
            let snapshot = client.snapshot().await?;
            show(&snapshot, *json, || table::devices(&snapshot, output::now_ms()))?;
        }
        args::Devices::Allow { request, scope, name, output } => {
            let before = client.snapshot().await?;
            let asked = pick(&before.requests, request, "request")?;
            let snapshot = client.command(allowance(asked, *scope, name.as_deref())).await?;
            show(&snapshot, output.json, || vec![allowed(&before, &snapshot, asked)])?;
        }
        args::Devices::Decline { request, output } => {
            let before = client.snapshot().await?;
            let asked = pick(&before.requests, request, "request")?;
            let snapshot = client.command(DeviceCommand::Decline { request_id: asked.id.clone() }).await?;
            show(&snapshot, output.json, || vec![format!("{} declined", asked.shown())])?;
        }
        args::Devices::Rename { id, name, output } => {
            let before = client.snapshot().await?;
            let device = pick(&before.devices, id, "device")?;
            let rename = DeviceCommand::Rename { id: device.id.clone(), name: name.clone() };
            let snapshot = client.command(rename).await?;
            let now = snapshot.devices.iter().find(|row| row.id == device.id).unwrap_or(device);
            show(&snapshot, output.json, || vec![format!("{} renamed to {}", device.shown(), now.shown())])?;
        }
        args::Devices::Scope { id, scope, output } => {
            let before = client.snapshot().await?;
            let (device, scope) = (pick(&before.devices, id, "device")?, scope.to_wire());
            let snapshot = client.command(DeviceCommand::Scope { id: device.id.clone(), scope }).await?;
            show(&snapshot, output.json, || vec![format!("{} {}", device.shown(), may(scope))])?;
        }
        args::Devices::Revoke { id, yes, output } => return revoke(&mut client, id, *yes, output.json).await,
        args::Devices::Audit { limit, json } => {
            let audit = client.audit(AuditQuery { limit: Some(*limit), before: None }).await?;
            show(&audit, *json, || table::audit(&audit, output::now_ms()))?;
        }
        args::Devices::Network(network) => {
            let change = network_change(network);
            let snapshot = match change == NetworkChange::default() {
                false => client.command(DeviceCommand::Network(change)).await?,
                true => client.snapshot().await?,
            };
            show(&snapshot, network.output.json, || table::network(&snapshot.network))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(value: &impl Serialize, json: bool, lines: impl FnOnce() -> Vec<String>) -> anyhow::Result<()> {
    if json {
        return output::json_pretty(value);
    }
    Ok(lines().into_iter().try_for_each(output::line)?)
}

pub(crate) fn allowance(
    request: &DeviceRequest,
    scope: Option<args::Scope>,
    name: Option<&str>,
) -> DeviceCommand {
    let (scope, name) = (scope.map(args::Scope::to_wire), name.map(str::to_owned));
    DeviceCommand::Allow { request_id: request.id.clone(), scope, name }
}

/// Describes a granted request and how to revoke it.
pub(crate) fn allowed(before: &DevicesSnapshot, after: &DevicesSnapshot, request: &impl Row) -> String {
    let is_new = |device: &&Device| before.devices.iter().all(|known| known.id != device.id);
    match after.devices.iter().find(is_new) {
        Some(device) => {
            let (name, may) = (device.shown(), may(device.scope));
            let id = output::printable(short(&device.id));
            format!("{name} {may}. To remove it: `openagents devices revoke {id}`")
        }
        None => format!("{} allowed", request.shown()),
    }
}

fn may(scope: Scope) -> &'static str {
    match scope {
        Scope::View => "can view",
        Scope::Prompt => "can view and prompt",
        Scope::Approve => "can view, prompt and answer approvals",
        Scope::Admin => "has full access",
    }
}

async fn revoke(client: &mut DevicesClient, id: &str, yes: bool, json: bool) -> anyhow::Result<ExitCode> {
    let before = client.snapshot().await?;
    let app = before.apps.iter().find(|app| app.address.to_string() == id);
    let (name, revoked) = match app {
        Some(app) => (app.address.to_string(), Revoked::App { address: app.address }),
        None => {
            let device = pick(&before.devices, id, "device")?;
            (device.shown(), Revoked::Device { id: device.id.clone() })
        }
    };
    let question = format!("Remove {name}? Its connections are closed.");
    if !yes && !ask(&question, "--yes removes it without a question")? {
        return Ok(ExitCode::FAILURE);
    }
    let snapshot = client.command(DeviceCommand::Revoke(revoked)).await?;
    show(&snapshot, json, || vec![format!("{name} removed")])?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the requested changes; the default without any.
fn network_change(network: &args::Network) -> NetworkChange {
    NetworkChange {
        lan: network.lan.map(|lan| lan == args::Switch::On),
        ios: network.ios.map(|ios| match ios {
            args::IosSwitch::Off => IosAccess::Off,
            args::IosSwitch::Ask => IosAccess::Ask,
        }),
        names: (!network.names.is_empty() || network.no_names).then(|| network.names.clone()),
        addresses: (!network.addresses.is_empty() || network.no_addresses).then(|| network.addresses.clone()),
    }
}

/// Client for the devices of the running bridge. Access can be granted only while a bridge runs.
pub(crate) struct DevicesClient(Client);

impl DevicesClient {
    /// Connects to the bridge of our data folder; `None` if none is running.
    pub(crate) async fn open() -> anyhow::Result<Option<Self>> {
        let home = surroundings::data_folder()?;
        let Some(address) = openagents_bridge::running(&home) else { return Ok(None) };
        let client =
            Self::at(address, &home).await.with_context(|| format!("the bridge at http://{address}"))?;
        Ok(Some(client))
    }

    pub(crate) async fn at(address: SocketAddr, home: &Path) -> anyhow::Result<Self> {
        Ok(Self(bridge::connect(address, home, ClientMeta::default()).await?))
    }

    pub(crate) async fn snapshot(&mut self) -> anyhow::Result<DevicesSnapshot> {
        Ok(self.0.call::<methods::DevicesList>(Watch { watch: false }).await?)
    }

    /// Like [`DevicesClient::snapshot`], and subscribes [`DevicesClient::changed`] to all further changes.
    pub(crate) async fn watch(&mut self) -> anyhow::Result<DevicesSnapshot> {
        Ok(self.0.call::<methods::DevicesList>(Watch { watch: true }).await?)
    }

    /// Runs a command and returns the devices afterwards.
    pub(crate) async fn command(&mut self, command: DeviceCommand) -> anyhow::Result<DevicesSnapshot> {
        Ok(self.0.command(&command).await?)
    }

    async fn audit(&mut self, query: AuditQuery) -> anyhow::Result<AuditPage> {
        Ok(self.0.call::<methods::DevicesAudit>(query).await?)
    }

    /// Waits for a change and returns the devices. Cancel safe.
    pub(crate) async fn changed(&mut self) -> anyhow::Result<DevicesSnapshot> {
        loop {
            if let Some(devices) = self.0.next().await?.event::<methods::DevicesChanged>() {
                return Ok(devices);
            }
        }
    }
}

/// Returns the error for commands that need a running bridge.
pub(crate) fn nothing_runs() -> anyhow::Error {
    anyhow::anyhow!("OpenAgents is not running here; start the app, or `openagents serve --lan`")
}

/// Returns the only row whose id begins with `typed`. `what` names the rows in the error.
fn pick<'a, R: Row>(rows: &'a [R], typed: &str, what: &str) -> anyhow::Result<&'a R> {
    if let Some(exact) = rows.iter().find(|row| row.id() == typed) {
        return Ok(exact);
    }
    let found: Vec<&R> = rows.iter().filter(|row| !typed.is_empty() && row.id().starts_with(typed)).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => anyhow::bail!("no {what} id begins with {typed}; see `openagents devices list`"),
        many => anyhow::bail!("{} {what} ids begin with {typed}; type more of the id", many.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pick_accepts_unique_beginning_of_an_id() {
        let device = |id: &str| Device {
            id: id.to_owned(),
            name: String::new(),
            scope: Scope::View,
            created_at: 0,
            last_seen: None,
            address: None,
            connections: 0,
        };
        let rows = ["abc", "abd", "b", "b2"].map(device);
        let found = |typed: &str| {
            pick(&rows, typed, "device").map(|row| row.id.clone()).map_err(|error| error.to_string())
        };
        assert_eq!(found("abd"), Ok("abd".to_owned()));
        assert_eq!(found("b"), Ok("b".to_owned()), "an exact id wins over a longer one");
        let refused = "no device id begins with c; see `openagents devices list`";
        assert_eq!(found("c"), Err(refused.to_owned()));
        assert_eq!(found("ab"), Err("2 device ids begin with ab; type more of the id".to_owned()));
        assert!(found("").is_err());
        assert_eq!((short("12345678-90"), short("ä2")), ("12345678", "ä2"));
    }
}
