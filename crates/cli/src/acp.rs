//! `openagents acp`: OpenAgents as the agent of an editor, over standard input and output.
//!
//! Frames pass through unparsed, in lines, between the editor and a running bridge or one started here. An editor
//! therefore sees what every other client sees.

use crate::{bridge, output, signals::Interrupts, surroundings};
use anyhow::Context;
use futures::{SinkExt, StreamExt};
use openagents_bridge::{Bridge, BridgeConfig, IosAccess, NetworkConfig, running};
use openagents_core::{history::HistoryRoots, workspace::Workspace};
use serde_json::{Value, json};
use std::{path::PathBuf, process::ExitCode};
use tokio::io::{AsyncWriteExt, stdin, stdout};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

/// Longest accepted line in bytes, equal to the bridge's frame limit.
const LINE: usize = 16 << 20;

pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let code = runtime.block_on(serve());
    // The thread that reads standard input may never come back.
    runtime.shutdown_background();
    code
}

async fn serve() -> anyhow::Result<ExitCode> {
    let home = surroundings::data_folder()?;
    let mut signals = Interrupts::listen()?;
    let (ours, address) = match running(&home) {
        Some(address) => (None, address),
        None => {
            let bridge = start(home.clone()).await?;
            let address = bridge.address();
            (Some(bridge), address)
        }
    };
    let ended = tokio::select! {
        ended = relay(address, &home) => ended,
        () = signals.next() => Ok(()),
    };
    if let Some(bridge) = ours {
        bridge.shutdown().await;
    }
    ended.map(|()| ExitCode::SUCCESS)
}

/// Starts a bridge on a free port that lives as long as the editor.
async fn start(home: PathBuf) -> anyhow::Result<Bridge> {
    let root = std::env::current_dir().context("the current folder is gone")?;
    let root = Workspace::open(&root).map_or(root, |workspace| workspace.root().to_owned());
    let network = NetworkConfig { lan: Some(false), ..NetworkConfig::default() };
    let ios = Some(IosAccess::Off);
    let config = BridgeConfig { home, port: 0, root, ios, network, history: HistoryRoots::from_env() };
    let bridge = Bridge::start_with(config, surroundings::providers).await?;
    bridge.notices().iter().for_each(|notice| output::warn(notice));
    Ok(bridge)
}

/// Carries frames both ways until the editor or the bridge ends.
async fn relay(address: std::net::SocketAddr, home: &std::path::Path) -> anyhow::Result<()> {
    let (mut to_bridge, mut from_bridge) = bridge::dial(address, home).await?.split();
    let mut lines = FramedRead::new(stdin(), LinesCodec::new_with_max_length(LINE));
    let mut editor = stdout();
    loop {
        tokio::select! {
            line = lines.next() => match line {
                Some(Ok(line)) if line.trim().is_empty() => {}
                Some(Ok(line)) => to_bridge.send(Message::text(named_on_purpose(line))).await?,
                Some(Err(LinesCodecError::MaxLineLengthExceeded)) => {
                    anyhow::bail!("a line on standard input has more than {LINE} bytes")
                }
                Some(Err(error)) => return Err(error).context("cannot read standard input"),
                None => {
                    to_bridge.close().await?;
                    return Ok(());
                }
            },
            frame = from_bridge.next() => match frame {
                Some(Ok(Message::Text(text))) => {
                    editor.write_all(text.as_bytes()).await?;
                    editor.write_all(b"\n").await?;
                    editor.flush().await?;
                }
                Some(Ok(Message::Close(_))) | None => anyhow::bail!("OpenAgents has ended"),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error).context("the connection to OpenAgents broke"),
            },
        }
    }
}

/// Marks the workspace of a `session/new` as chosen by a person, which makes it known.
fn named_on_purpose(line: String) -> String {
    if !line.contains("session/new") {
        return line;
    }
    match serde_json::from_str::<Value>(&line) {
        Ok(mut frame) if frame["method"] == "session/new" && frame["params"].is_object() => {
            let meta = &mut frame["params"]["_meta"];
            if !meta.is_object() {
                *meta = json!({});
            }
            if !meta["openagents"].is_object() {
                meta["openagents"] = json!({});
            }
            meta["openagents"]["open"] = true.into();
            frame.to_string()
        }
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_new_session_is_touched() {
        let rows = [
            (r#"{"method":"session/new","params":{"cwd":"/a"}}"#, true),
            (r#"{"method":"session/new","params":{"cwd":"/a","_meta":null}}"#, true),
            (r#"{"method":"session/new","params":[]}"#, false),
            (r#"{"method":"session/prompt","params":{"text":"session/new"}}"#, false),
            ("session/new {", false),
        ];
        for (line, touched) in rows {
            let sent = named_on_purpose(line.to_owned());
            match touched {
                true => {
                    let frame: Value = serde_json::from_str(&sent).unwrap();
                    assert_eq!(frame["params"]["_meta"]["openagents"]["open"], true, "{line}");
                    assert_eq!(frame["params"]["cwd"], "/a");
                }
                false => assert_eq!(sent, line),
            }
        }
    }
}
