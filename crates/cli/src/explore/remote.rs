//! A run on the bridge that is running: an ACP client over WebSocket like every other.

use super::{Asked, News};
use anyhow::Context;
use futures::{SinkExt, StreamExt};
use openagents_core::CancellationToken;
use serde_json::{Value, json};
use std::{net::SocketAddr, path::Path};
use tokio::{net::TcpStream, sync::mpsc};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, client::IntoClientRequest, http::HeaderValue},
};

/// Ids of our requests.
const INITIALIZE: u64 = 1;
const EXPLORE: u64 = 2;

pub(super) fn start(
    address: SocketAddr,
    home: &Path,
    asked: Asked,
    cancel: CancellationToken,
    news: mpsc::Sender<News>,
) -> anyhow::Result<()> {
    let file = home.join(openagents_bridge::TOKEN_FILE);
    let token = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let token = token.trim().to_owned();
    let Asked { root, goals, planner } = asked;
    let root = root.into_os_string().into_string().map_err(|root| {
        let shown = root.to_string_lossy();
        anyhow::anyhow!("{shown}: the running bridge can only be told of a path that is UTF-8; stop it first")
    })?;
    let explore = json!({"root": root, "goals": goals, "planner": planner});
    tokio::spawn(async move {
        if let Err(error) = talk(address, &token, explore, cancel, &news).await {
            let _ = news.send(News::Notice(format!("the bridge at http://{address}: {error:#}"))).await;
        }
    });
    Ok(())
}

async fn talk(
    address: SocketAddr,
    token: &str,
    explore: Value,
    cancel: CancellationToken,
    news: &mpsc::Sender<News>,
) -> anyhow::Result<()> {
    let mut request = format!("ws://{address}/acp").into_client_request()?;
    let bearer = HeaderValue::from_str(&format!("Bearer {token}"))?;
    request.headers_mut().insert("authorization", bearer);
    let stream = TcpStream::connect(address).await?;
    let (mut socket, _) = tokio_tungstenite::client_async(request, stream).await?;
    let initialize = json!({"protocolVersion": 1, "clientCapabilities": {},
        "clientInfo": {"name": "openagents-cli", "version": env!("CARGO_PKG_VERSION")}});
    ask(&mut socket, INITIALIZE, "initialize", initialize).await?;
    ask(&mut socket, EXPLORE, "_openagents/explore", explore).await?;
    let (mut session, mut cancelled) = (None, false);
    loop {
        tokio::select! {
            () = cancel.cancelled(), if !cancelled && session.is_some() => {
                cancelled = true;
                let params = json!({"sessionId": session});
                send(&mut socket, &json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params})).await?;
            }
            frame = socket.next() => {
                let Some(frame) = frame else { anyhow::bail!("the connection was closed") };
                let Message::Text(text) = frame? else { continue };
                let Ok(message) = serde_json::from_str::<Value>(&text) else { continue };
                if let Some(error) = message.get("error") {
                    anyhow::bail!("{}", error["message"].as_str().unwrap_or("an error without a message"));
                }
                if message["id"] == EXPLORE {
                    let text = |key: &str| message["result"][key].as_str().unwrap_or_default().to_owned();
                    session = Some(text("sessionId"));
                    let begun = News::Started { session_id: text("sessionId"), plan_id: text("planId") };
                    if news.send(begun).await.is_err() {
                        return Ok(());
                    }
                } else if message["method"] == "session/update"
                    && session.as_deref() == message["params"]["sessionId"].as_str()
                    && news.send(News::Update(message["params"].clone())).await.is_err()
                {
                    return Ok(());
                }
            }
        }
    }
}

async fn ask(
    socket: &mut WebSocketStream<TcpStream>,
    id: u64,
    method: &str,
    params: Value,
) -> anyhow::Result<()> {
    send(socket, &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await
}

async fn send(socket: &mut WebSocketStream<TcpStream>, message: &Value) -> anyhow::Result<()> {
    Ok(socket.send(Message::text(message.to_string())).await?)
}
