//! Reaches the running bridge, or starts a temporary one: `openagents serve --until-idle`.
//!
//! Only a bridge writes to the data folder, so every command that needs more than transcripts and code is a client of
//! one.

use super::connection::{Connection, dial};
use crate::output;
use anyhow::Context;
use openagents_bridge::running;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{net::SocketAddr, path::Path, process::Stdio, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpStream,
    process::Command,
    time::{Instant, sleep},
};
use tokio_tungstenite::WebSocketStream;

/// Time limit for another bridge to end and a new one to start.
const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(50);

/// The first line that a temporary bridge prints.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FirstLine {
    /// It is serving.
    Serving {
        address: SocketAddr,
        /// Notices about the start, for the user.
        notices: Vec<String>,
    },
    /// It is not serving, for this reason.
    Failed(String),
}

/// Connects to the bridge of the data folder `home`; starts a temporary one if none is running.
pub(crate) async fn reach(home: &Path) -> anyhow::Result<Connection> {
    Connection::greet(reach_socket(home).await?, json!({})).await
}

/// Like [`reach`], without the ACP handshake.
pub(crate) async fn reach_socket(home: &Path) -> anyhow::Result<WebSocketStream<TcpStream>> {
    let until = Instant::now() + PATIENCE;
    loop {
        let address = match running(home) {
            Some(address) => address,
            None => start(home).await?,
        };
        match dial(address, home).await {
            Ok(socket) => return Ok(socket),
            // The bridge may have just ended, as a temporary one does.
            Err(_) if running(home) != Some(address) && Instant::now() < until => sleep(PAUSE).await,
            Err(error) => return Err(error).with_context(|| format!("the bridge at http://{address}")),
        }
    }
}

/// Starts a temporary bridge, which runs on after this process as long as it has clients.
async fn start(home: &Path) -> anyhow::Result<SocketAddr> {
    let program = std::env::current_exe().context("the path of this program is unknown")?;
    let mut command = Command::new(&program);
    command.args(["serve", "--until-idle"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // Ctrl-C in the terminal is for this command, which cancels its turn and waits for the end.
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).await?;
    }
    match serde_json::from_str(&line) {
        Ok(FirstLine::Serving { address, notices }) => {
            notices.iter().for_each(|notice| output::warn(notice));
            Ok(address)
        }
        // Another command may have started a bridge at the same time.
        Ok(FirstLine::Failed(reason)) => running(home).with_context(|| reason),
        Err(_) => running(home).context("the temporary bridge ended at once; see `openagents serve`"),
    }
}
