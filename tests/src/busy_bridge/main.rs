//! A real bridge whose agent sends many updates and records each of them in a ledger first.
//!
//! `busy-bridge HOME PORT LIFE LEDGER`: the data folder, the port, how often the bridge was started
//! before, and the ledger file that it writes. It prints `{"port", "token_file"}` once it serves, and
//! exits when its standard input closes.

mod agent;
mod turn;

use agent::{Busy, BusyAgents};
use anyhow::{Context as _, Result};
use openagents_bridge::{Bridge, BridgeConfig, IosAccess, NetworkConfig, Providers};
use openagents_e2e::chaos::ledger::Writer;
use openagents_orchestration::explore::Explorer;
use openagents_transcripts::history::HistoryRoots;
use std::{
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |name: &str| arguments.next().with_context(|| format!("{name} is missing"));
    let home = PathBuf::from(argument("HOME")?);
    let port: u16 = argument("PORT")?.parse()?;
    let life: u64 = argument("LIFE")?.parse()?;
    let ledger = Arc::new(Writer::create(Path::new(&argument("LEDGER")?))?);
    let config = BridgeConfig {
        root: home.parent().context("the home has no parent")?.join("workspace"),
        home,
        port,
        ios: Some(IosAccess::Allow),
        network: NetworkConfig { lan: Some(false), announce: false, ..NetworkConfig::default() },
        history: HistoryRoots::default(),
        temporary: false,
    };
    // The agents start in a folder that the user trusts.
    let (home, root) = (config.home.clone(), config.root.canonicalize()?);
    let trust = move || {
        std::fs::create_dir_all(&home)?;
        anyhow::Ok(openagents_bridge::open_store(&home)?.trust_workspace(&root, "test", &[])?)
    };
    tokio::task::spawn_blocking(trust).await??;
    let agents = Arc::new(BusyAgents::new(Busy::new(ledger, life)));
    let bridge = Bridge::start_with(config, |around| Providers {
        explorer: Arc::new(Explorer::heuristic(around.history)),
        models: None,
        agents: Some(agents),
        foundation: None,
    })
    .await?;
    let begun = serde_json::json!({"port": bridge.address().port(), "token_file": bridge.token_file()});
    writeln!(std::io::stdout(), "{begun}")?;
    // Runs until standard input is closed or the process is killed.
    tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink())).await??;
    bridge.shutdown().await;
    Ok(())
}
