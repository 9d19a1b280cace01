//! `openagents devices`: device access and the network, for computers without a display.

mod table;

pub(crate) use crate::devices::table::{AccessRequests, who};
use crate::{
    args,
    bridge::Connection,
    output::{self, ask, rows, said, short},
    signals, surroundings,
};
use anyhow::Context;
use serde_json::{Value, json};
use std::{net::SocketAddr, path::Path, process::ExitCode};
pub(crate) use table::left;

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
            let asked = pick(&before["requests"], request, "request")?;
            let snapshot = client.call("allow", allowance(asked, *scope, name.as_deref())).await?;
            show(&snapshot, output.json, || vec![allowed(&before, &snapshot, asked)])?;
        }
        args::Devices::Decline { request, output } => {
            let before = client.snapshot().await?;
            let asked = pick(&before["requests"], request, "request")?;
            let snapshot = client.call("decline", json!({"requestId": asked["id"]})).await?;
            show(&snapshot, output.json, || vec![format!("{} declined", name(asked))])?;
        }
        args::Devices::Rename { id, name: wanted, output } => {
            let before = client.snapshot().await?;
            let device = pick(&before["devices"], id, "device")?;
            let snapshot = client.call("rename", json!({"id": device["id"], "name": wanted})).await?;
            let now = same(&snapshot, device);
            show(&snapshot, output.json, || vec![format!("{} renamed to {}", name(device), name(&now))])?;
        }
        args::Devices::Scope { id, scope, output } => {
            let before = client.snapshot().await?;
            let device = pick(&before["devices"], id, "device")?;
            let snapshot = client.call("scope", json!({"id": device["id"], "scope": scope.word()})).await?;
            show(&snapshot, output.json, || vec![format!("{} {}", name(device), may(scope.word()))])?;
        }
        args::Devices::Revoke { id, yes, output } => return revoke(&mut client, id, *yes, output.json).await,
        args::Devices::Audit { limit, json } => {
            let audit = client.call("audit", json!({"limit": limit})).await?;
            show(&audit, *json, || table::audit(&audit, output::now_ms()))?;
        }
        args::Devices::Network(network) => {
            let snapshot = match switched(network) {
                Some(params) => client.call("network", params).await?,
                None => client.snapshot().await?,
            };
            show(&snapshot, network.output.json, || table::network(&snapshot))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(value: &Value, json: bool, lines: impl FnOnce() -> Vec<String>) -> anyhow::Result<()> {
    if json {
        return output::json_pretty(value);
    }
    Ok(lines().into_iter().try_for_each(output::line)?)
}

/// Returns the params of `allow` for a request.
pub(crate) fn allowance(request: &Value, scope: Option<args::Scope>, name: Option<&str>) -> Value {
    let mut params = json!({"requestId": request["id"]});
    if let Some(scope) = scope {
        params["scope"] = scope.word().into();
    }
    if let Some(name) = name {
        params["name"] = name.into();
    }
    params
}

/// Describes a granted request and how to revoke it.
pub(crate) fn allowed(before: &Value, after: &Value, request: &Value) -> String {
    let is_new = |device: &&Value| rows(before, "devices").iter().all(|known| known["id"] != device["id"]);
    match rows(after, "devices").iter().find(is_new) {
        Some(device) => {
            let (id, scope) = (device["id"].as_str().unwrap_or_default(), device["scope"].as_str());
            let (name, may) = (name(device), may(scope.unwrap_or_default()));
            let id = output::printable(short(id));
            format!("{name} {may}. To remove it: `openagents devices revoke {id}`")
        }
        None => format!("{} allowed", name(request)),
    }
}

fn same(snapshot: &Value, device: &Value) -> Value {
    rows(snapshot, "devices").iter().find(|row| row["id"] == device["id"]).unwrap_or(device).clone()
}

/// Describes a scope.
fn may(scope: &str) -> &'static str {
    match scope {
        "view" => "can view",
        "prompt" => "can view and prompt",
        "approve" => "can view, prompt and answer approvals",
        _ => "has full access",
    }
}

fn name(row: &Value) -> String {
    match said(row, "name") {
        name if name.is_empty() => said(row, "address"),
        name => name,
    }
}

async fn revoke(client: &mut DevicesClient, id: &str, yes: bool, json: bool) -> anyhow::Result<ExitCode> {
    let before = client.snapshot().await?;
    let app = rows(&before, "apps").iter().find(|app| app["address"] == id);
    let (gone, params) = match app {
        Some(app) => (app, json!({"address": id})),
        None => {
            let device = pick(&before["devices"], id, "device")?;
            (device, json!({"id": device["id"]}))
        }
    };
    let question = format!("Remove {}? Its connections are closed.", name(gone));
    if !yes && !ask(&question, "--yes removes it without a question")? {
        return Ok(ExitCode::FAILURE);
    }
    let snapshot = client.call("revoke", params).await?;
    show(&snapshot, json, || vec![format!("{} removed", name(gone))])?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the params of the requested changes; `None` without any.
fn switched(network: &args::Network) -> Option<Value> {
    let mut params = json!({});
    if let Some(lan) = network.lan {
        params["lan"] = (lan == args::Switch::On).into();
    }
    if let Some(ios) = network.ios {
        params["ios"] = match ios {
            args::IosSwitch::Off => "off",
            args::IosSwitch::Ask => "ask",
        }
        .into();
    }
    if !network.names.is_empty() || network.no_names {
        params["names"] = json!(network.names);
    }
    if !network.addresses.is_empty() || network.no_addresses {
        params["addresses"] = json!(network.addresses);
    }
    params.as_object().is_some_and(|members| !members.is_empty()).then_some(params)
}

// Client for the devices of the running bridge. Access can be granted only while a bridge runs.

pub(crate) struct DevicesClient(Connection);

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
        Ok(Self(Connection::open(address, home).await?))
    }

    /// Returns the current devices.
    pub(crate) async fn snapshot(&mut self) -> anyhow::Result<Value> {
        self.call("list", json!({})).await
    }

    /// Like [`DevicesClient::snapshot`], and subscribes [`DevicesClient::changed`] to all further changes.
    pub(crate) async fn watch(&mut self) -> anyhow::Result<Value> {
        self.call("list", json!({"watch": true})).await
    }

    /// Runs a command and returns the bridge's result, usually the devices afterwards.
    pub(crate) async fn call(&mut self, verb: &str, params: Value) -> anyhow::Result<Value> {
        self.0.request(&format!("_openagents/devices/{verb}"), params).await
    }

    /// Waits for a change and returns the devices. Cancel safe.
    pub(crate) async fn changed(&mut self) -> anyhow::Result<Value> {
        loop {
            let mut message = self.0.next().await?;
            if message["method"] == "_openagents/devices" {
                return Ok(message["params"].take());
            }
        }
    }
}

/// Returns the error for commands that need a running bridge.
pub(crate) fn nothing_runs() -> anyhow::Error {
    anyhow::anyhow!("OpenAgents is not running here; start the app, or `openagents serve --lan`")
}

// Finds a row by the beginning of its id.

/// Returns the only row whose id begins with `typed`. `what` names the rows in the error.
fn pick<'a>(rows: &'a Value, typed: &str, what: &str) -> anyhow::Result<&'a Value> {
    let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
    let id = |row: &Value| row["id"].as_str().unwrap_or_default().to_owned();
    if let Some(exact) = rows.iter().find(|row| id(row) == typed) {
        return Ok(exact);
    }
    let found: Vec<&Value> =
        rows.iter().filter(|row| !typed.is_empty() && id(row).starts_with(typed)).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => anyhow::bail!("no {what} id begins with {typed}; see `openagents devices list`"),
        many => anyhow::bail!("{} {what} ids begin with {typed}; type more of the id", many.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::short;
    use serde_json::json;

    #[test]
    fn the_beginning_is_enough_where_it_is_the_only_one() {
        let rows = json!([{"id": "abc"}, {"id": "abd"}, {"id": "b"}, {"id": "b2"}]);
        let found = |typed: &str| {
            pick(&rows, typed, "device")
                .map(|row| row["id"].as_str().unwrap().to_owned())
                .map_err(|e| e.to_string())
        };
        assert_eq!(found("abd"), Ok("abd".to_owned()));
        assert_eq!(found("b"), Ok("b".to_owned()), "a whole id is no beginning of another");
        let refused = "no device id begins with c; see `openagents devices list`";
        assert_eq!(found("c"), Err(refused.to_owned()));
        assert_eq!(found("ab"), Err("2 device ids begin with ab; type more of the id".to_owned()));
        assert!(found("").is_err());
        assert_eq!((short("12345678-90"), short("ä2")), ("12345678", "ä2"));
    }
}
