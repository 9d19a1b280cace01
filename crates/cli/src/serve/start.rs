//! Starts a bridge while another one may still be running.

use crate::{output, signals::Interrupts};
use openagents_bridge::{Bridge, BridgeConfig, BridgeError, Claim, Providers, Surroundings};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Time limit for another bridge that has no address because it is starting or ending.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// Time after which a notice names the reason for the wait.
const NOTICED: Duration = Duration::from_millis(500);

/// Starts a bridge, once a command's temporary bridge has ended its turns. `None` after Ctrl-C.
pub(super) async fn start(
    config: BridgeConfig,
    providers: fn(Surroundings) -> Providers,
    signals: &mut Interrupts,
) -> anyhow::Result<Option<Bridge>> {
    let _claim = (!config.temporary).then(|| Claim::on(&config.home));
    let begun = Instant::now();
    let mut reachable = begun;
    let mut told = false;
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
        if !told && begun.elapsed() > NOTICED {
            told = true;
            output::warn("waiting for a command on this data folder to finish its turn");
        }
        tokio::select! {
            () = signals.next() => return Ok(None),
            () = sleep(PAUSE) => {}
        }
    }
}
