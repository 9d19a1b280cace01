//! `openagents devices`: device access and the network, for computers without a display.

mod access_requests;
mod client;
mod pick;
mod table;

pub(crate) use access_requests::{AccessRequests, who};
pub(crate) use client::{DevicesClient, nothing_runs};
pub(crate) use table::left;

use crate::{
    args,
    output::{self, rows, said, short},
    question::ask,
    runtime,
};
use pick::pick;
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) fn run(command: &args::Devices) -> anyhow::Result<ExitCode> {
    runtime::run(act(command))
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
