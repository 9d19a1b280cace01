//! `openagents serve`: the bridge without a window.

mod start;
mod temporary;

use crate::{
    args::{self, Ios},
    devices::{AccessRequests, DevicesClient},
    explore::Run,
    output, runtime,
    signals::Interrupts,
    surroundings,
};
use anyhow::Context;
use openagents_bridge::{BridgeConfig, IosAccess, NetworkConfig};
use openagents_core::workspace::Workspace;
use openagents_orchestration::explore::PlannerChoice;
use openagents_transcripts::history::HistoryRoots;
use serde_json::{Value, json};
use start::start;
use std::process::ExitCode;

pub(crate) fn run(arguments: &args::Serve) -> anyhow::Result<ExitCode> {
    match arguments.until_idle {
        true => runtime::run(temporary::serve()),
        false => runtime::run(serve(arguments, config(arguments)?)),
    }
}

fn config(arguments: &args::Serve) -> anyhow::Result<BridgeConfig> {
    let root = Workspace::open(&arguments.root)
        .with_context(|| format!("cannot serve {}", arguments.root.display()))?
        .root()
        .to_owned();
    Ok(BridgeConfig {
        home: surroundings::data_folder()?,
        port: arguments.port,
        root,
        ios: arguments.ios.map(|ios| match ios {
            Ios::Off => IosAccess::Off,
            Ios::Ask => IosAccess::Ask,
            Ios::Allow => IosAccess::Allow,
        }),
        network: network(arguments),
        history: HistoryRoots::from_env(),
        temporary: false,
    })
}

fn network(arguments: &args::Serve) -> NetworkConfig {
    let addresses = &arguments.lan_addresses;
    NetworkConfig {
        lan: arguments.lan.then_some(true),
        port: arguments.lan_port,
        addresses: (!addresses.is_empty()).then(|| addresses.clone()),
        // Explicit addresses may not be on the machine's own network and are not announced.
        announce: addresses.is_empty(),
    }
}

async fn serve(arguments: &args::Serve, config: BridgeConfig) -> anyhow::Result<ExitCode> {
    let (root, home) = (config.root.clone(), config.home.clone());
    let mut signals = Interrupts::listen()?;
    let Some(bridge) = start(config, surroundings::providers, &mut signals).await? else {
        return Ok(ExitCode::from(130));
    };
    for notice in bridge.notices() {
        output::warn(notice);
    }
    let mut run = None;
    if arguments.explore {
        match Run::begin(&home, root.clone(), &[], PlannerChoice::default()).await {
            Ok(begun) => run = Some(begun),
            Err(error) => output::warn(&format!("{error:#}")),
        }
    }
    // The page opens the session that the fragment names.
    let session = run.as_ref().map(|run| format!("&session={}", run.session_id()));
    let url = format!("{}{}", bridge.page_url(), session.unwrap_or_default());
    let mut client = DevicesClient::at(bridge.address(), &home).await?;
    let devices = client.watch().await.unwrap_or_else(|error| {
        output::warn(&format!("other devices cannot connect: {error:#}"));
        Value::Null
    });
    let lan = lan(&devices);
    if arguments.json {
        run = None;
        output::json_line(&json!({
            "url": url,
            "token_file": bridge.token_file(),
            "port": bridge.address().port(),
            "lan": lan,
        }))?;
    } else {
        output::line(format_args!("Serving  {}", root.display()))?;
        output::line(format_args!("Open     {url}"))?;
        for address in &lan {
            output::line(format_args!("Network  {address}"))?;
        }
        if !lan.is_empty() {
            output::line("Pair     openagents pair")?;
        }
        output::line("Stop     Ctrl-C\n")?;
    }
    if let Some(problem) = devices["network"]["problem"].as_str() {
        output::warn(&output::printable(problem));
    }
    let watching = async {
        if let Some(run) = run
            && let Err(error) = run.show().await
        {
            output::warn(&format!("{error:#}"));
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = signals.next() => {}
        () = watching => {}
        () = announce_requests(client, devices) => {}
    }
    // A second Ctrl-C does not wait for agents and clients.
    tokio::select! {
        () = bridge.shutdown() => Ok(ExitCode::SUCCESS),
        () = signals.next() => Ok(ExitCode::from(130)),
    }
}

/// Returns the page's addresses for other devices.
fn lan(devices: &Value) -> Vec<String> {
    let listeners = devices["network"]["listeners"].as_array().into_iter().flatten();
    let web = listeners.filter(|listener| listener["kind"] == "web");
    web.filter_map(|listener| listener["address"].as_str())
        .map(|address| format!("https://{address}"))
        .collect()
}

/// Prints each access request in one line, with the command that allows it. Never returns.
async fn announce_requests(mut client: DevicesClient, mut devices: Value) {
    let mut requests = AccessRequests::default();
    loop {
        requests.news(&devices).iter().for_each(|line| output::warn(line));
        match client.changed().await {
            Ok(changed) => devices = changed,
            // The connection ends with the bridge.
            Err(_) => std::future::pending().await,
        }
    }
}
