//! Serves a workspace until Ctrl-C: `cargo run -p openagents-bridge --example serve -- HOME ROOT [PORT]`.

use openagents_bridge::{Bridge, BridgeConfig, IosDoor};
use openagents_core::history::HistoryRoots;
use std::{env, error::Error, path::PathBuf};

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example talks to its terminal")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let mut next = |name: &str| arguments.next().ok_or(format!("{name} is missing"));
    let config = BridgeConfig {
        home: PathBuf::from(next("HOME")?),
        root: PathBuf::from(next("ROOT")?),
        port: next("PORT").ok().map_or(Ok(0), |port| port.parse())?,
        ios: IosDoor::Allow,
        history: HistoryRoots::from_env(),
    };
    let bridge = Bridge::start(config).await?;
    println!("{}", bridge.page_url());
    tokio::signal::ctrl_c().await?;
    bridge.shutdown().await;
    Ok(())
}
