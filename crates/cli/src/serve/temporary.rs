//! `openagents serve --until-idle`: the bridge behind a command, without network, that ends after its last client.

use super::start::start;
use crate::{bridge::FirstLine, output, signals::Interrupts, surroundings};
use openagents_bridge::{BridgeConfig, IosAccess, NetworkConfig};
use openagents_transcripts::history::HistoryRoots;
use std::process::ExitCode;

/// Serves until no client needs this bridge or another bridge wants the data folder.
pub(super) async fn serve() -> anyhow::Result<ExitCode> {
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
