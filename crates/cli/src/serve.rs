//! `openagents serve`: the bridge without a window.

use crate::{
    args::{self, Ios},
    bridge::FirstLine,
    devices::{AccessRequests, DevicesClient},
    explore::Run,
    output,
    signals::{self, Interrupts},
    surroundings,
};
use anyhow::Context;
use openagents_bridge::{
    Bridge, BridgeConfig, BridgeError, Claim, IosAccess, NetworkConfig, Providers, Surroundings,
};
use openagents_core::workspace::Workspace;
use openagents_transcripts::history::HistoryRoots;
use openagents_wire::{DevicesSnapshot, Listener, Planner};
use serde_json::json;
use std::{process::ExitCode, time::Duration};
use tokio::time::{Instant, sleep};

pub(crate) fn run(arguments: &args::Serve) -> anyhow::Result<ExitCode> {
    match arguments.until_idle {
        true => signals::run(serve_temporary()),
        false => signals::run(serve(arguments, config(arguments)?)),
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
        match Run::begin(&home, root.clone(), &[], Planner::default()).await {
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
        DevicesSnapshot::default()
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
    if let Some(problem) = &devices.network.problem {
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
fn lan(devices: &DevicesSnapshot) -> Vec<String> {
    let web = devices.network.listeners.iter().filter(|listener| listener.kind == Listener::Web);
    web.map(|listener| format!("https://{}", listener.address)).collect()
}

/// Prints each access request in one line, with the command that allows it. Never returns.
async fn announce_requests(mut client: DevicesClient, mut devices: DevicesSnapshot) {
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

/// Time limit for another bridge that has no address because it is starting or ending.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// Time after which a notice names the reason for the wait.
const NOTICED: Duration = Duration::from_millis(500);

/// Starts a bridge, once a command's temporary bridge has ended its turns. `None` after Ctrl-C.
async fn start(
    config: BridgeConfig,
    providers: fn(Surroundings) -> Providers,
    signals: &mut Interrupts,
) -> anyhow::Result<Option<Bridge>> {
    let _claim = (!config.temporary).then(|| Claim::new(&config.home));
    let begun = Instant::now();
    let mut reachable = begun;
    let mut shown = false;
    loop {
        let error = match Bridge::start_with(config.clone(), providers).await {
            Ok(bridge) => return Ok(Some(bridge)),
            Err(error) => error,
        };
        let waits = match &error {
            // Two commands share one temporary bridge.
            BridgeError::AlreadyRunning { address: Some(_) } if config.temporary => false,
            BridgeError::AlreadyRunning { address: None } => reachable.elapsed() < PATIENCE,
            BridgeError::AlreadyRunning { .. } => {
                reachable = Instant::now();
                openagents_bridge::ask_to_hand_over(&config.home)
            }
            _ => false,
        };
        if !waits {
            let hint = error.hint().map(|hint| format!(". {hint}")).unwrap_or_default();
            anyhow::bail!("{error}{hint}");
        }
        if !shown && begun.elapsed() > NOTICED {
            shown = true;
            output::warn("waiting for a command on this data folder to finish its turn");
        }
        tokio::select! {
            () = signals.next() => return Ok(None),
            () = sleep(PAUSE) => {}
        }
    }
}

/// Serves until no client needs this bridge or another bridge wants the data folder.
async fn serve_temporary() -> anyhow::Result<ExitCode> {
    let home = surroundings::data_folder()?;
    let config = BridgeConfig {
        port: 0,
        root: std::env::current_dir().unwrap_or_else(|_| home.clone()),
        home,
        ios: Some(IosAccess::Off),
        network: NetworkConfig { lan: Some(false), ..NetworkConfig::default() },
        history: HistoryRoots::from_env(),
        temporary: true,
    };
    let mut signals = Interrupts::listen()?;
    let bridge = match start(config, surroundings::providers_on_demand, &mut signals).await {
        Ok(Some(bridge)) => bridge,
        Ok(None) => return Ok(ExitCode::SUCCESS),
        Err(error) => {
            output::json_line(&FirstLine::Failed(format!("{error:#}")))?;
            return Ok(ExitCode::FAILURE);
        }
    };
    let first = FirstLine::Serving { address: bridge.address(), notices: bridge.notices().to_vec() };
    output::json_line(&first)?;
    bridge.until_unused(signals.next()).await;
    bridge.shutdown().await;
    Ok(ExitCode::SUCCESS)
}
