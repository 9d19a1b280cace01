//! The bridge of this data folder: the running one, or a temporary one that ends after its last client.
//!
//! Only a bridge writes to the data folder, so every command that needs more than transcripts and code is a client of
//! one.

use crate::output;
use anyhow::Context;
use openagents_bridge::{
    client::{Client, ClientError, dial},
    running,
};
use openagents_wire::ClientMeta;
use serde::{Deserialize, Serialize};
use std::{net::SocketAddr, path::Path, process::Stdio, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpStream,
    process::Command,
    time::{Instant, sleep},
};
use tokio_tungstenite::WebSocketStream;

const NAME: &str = "openagents-cli";
/// Time limit for another bridge to end and a new one to start.
const START_TIME: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(50);

/// Returns a path as UTF-8 for a message to the bridge.
pub(crate) fn wire_path(path: std::path::PathBuf) -> anyhow::Result<String> {
    path.into_os_string().into_string().map_err(|path| {
        let shown = path.to_string_lossy();
        anyhow::anyhow!("{shown}: a running bridge accepts only UTF-8 paths; stop it first")
    })
}

/// The first line that a temporary bridge prints.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FirstLine {
    Serving {
        address: SocketAddr,
        /// Notices about the start, for the user.
        notices: Vec<String>,
    },
    /// It is not serving, for this reason.
    Failed(String),
}

/// Connects to the bridge of the data folder `home`; starts a temporary one if none is running.
pub(crate) async fn reach(home: &Path) -> anyhow::Result<Client> {
    Ok(Client::greet(reach_socket(home).await?, NAME, ClientMeta::default()).await?)
}

/// Connects to the bridge at `address`.
pub(crate) async fn connect(
    address: SocketAddr,
    home: &Path,
    meta: ClientMeta,
) -> Result<Client, ClientError> {
    Client::connect(address, home, NAME, meta).await
}

/// Returns the message of a bridge that refused a call; any other error is returned as it is.
pub(crate) fn refusal(error: anyhow::Error) -> anyhow::Result<String> {
    match error.downcast::<ClientError>()? {
        ClientError::Refused(message) => Ok(message),
        other => Err(other.into()),
    }
}

/// Like [`reach`], without the ACP handshake.
pub(crate) async fn reach_socket(home: &Path) -> anyhow::Result<WebSocketStream<TcpStream>> {
    let until = Instant::now() + START_TIME;
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
