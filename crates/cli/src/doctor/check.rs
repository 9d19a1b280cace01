//! Waits for the check of all agents.

use crate::{endpoint::Endpoint, output};
use openagents_core::agent::AgentsSnapshot;
use openagents_wire::methods;
use std::time::Duration;

/// Polling interval of a check.
pub(super) const POLL: Duration = Duration::from_millis(100);

/// Maximum wait for a check; each of its steps has its own timeout of seconds.
const GIVE_UP: Duration = Duration::from_secs(180);

/// Waits for the end of a check; `None` after Ctrl-C.
pub(super) fn follow(endpoint: &mut Endpoint) -> anyhow::Result<Option<AgentsSnapshot>> {
    let mut signals = endpoint.signals()?;
    let wheel = output::spinner();
    wheel.set_message("Checking agents…");
    let mut waited = Duration::ZERO;
    let ended = loop {
        let snapshot = endpoint.list::<methods::AgentsList>()?;
        if !snapshot.checking {
            break Some(snapshot);
        }
        if waited > GIVE_UP {
            anyhow::bail!("the check did not end within {} s; try again", GIVE_UP.as_secs());
        }
        if endpoint.wait(&mut signals, POLL) {
            break None;
        }
        waited += POLL;
    };
    wheel.finish_and_clear();
    Ok(ended)
}
