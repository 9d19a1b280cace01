//! Asks the program at an address to prove that it is our bridge before the token is sent to it.

use anyhow::{Context, ensure};
use openagents_bridge::Challenge;
use serde_json::Value;
use std::{net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// Longest accepted response in bytes.
const ANSWER: u64 = 16 << 10;
/// Timeout for a bridge's response.
const PATIENCE: Duration = Duration::from_secs(10);

/// Fails unless the program at `address` proves that it knows `token`, which is not sent.
pub(super) async fn prove(address: SocketAddr, token: &str) -> anyhow::Result<()> {
    let challenge = Challenge::new(token).context("no random numbers")?;
    let (path, body) = challenge.request();
    let asked = timeout(PATIENCE, ask(address, path, &body.to_string())).await;
    let answer = asked.context("the bridge does not answer")??;
    ensure!(
        challenge.is_met_by(&answer, address.port()),
        "the program at http://{address} is not the OpenAgents of this data folder; no token was sent to it"
    );
    Ok(())
}

/// Posts `body` and returns the response; `null` if it is not JSON.
async fn ask(address: SocketAddr, path: &str, body: &str) -> anyhow::Result<Value> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(ANSWER).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Ok(serde_json::from_str(body).unwrap_or_default())
}
