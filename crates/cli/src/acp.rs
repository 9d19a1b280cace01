//! `openagents acp`: OpenAgents as the agent of an editor, over standard input and output.
//!
//! Frames pass through unparsed, in lines, between the editor and the bridge. An editor therefore sees what every other
//! client sees.

use crate::{bridge::reach_socket, runtime, signals::Interrupts, surroundings};
use anyhow::Context;
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::{path::Path, process::ExitCode};
use tokio::{
    io::{AsyncWriteExt, stdin, stdout},
    net::TcpStream,
};
use tokio_tungstenite::{WebSocketStream, tungstenite::Message};
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

type Socket = WebSocketStream<TcpStream>;

/// Longest accepted line in bytes, equal to the bridge's frame limit.
const LINE: usize = 16 << 20;

pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let home = surroundings::data_folder()?;
    runtime::run(async {
        let mut signals = Interrupts::listen()?;
        let relayed = tokio::select! {
            relayed = relay(&home) => relayed,
            () = signals.next() => Ok(()),
        };
        relayed.map(|()| ExitCode::SUCCESS)
    })
}

/// Carries frames both ways until the editor ends. If the bridge ends, because the app takes its place or is restarted,
/// the next one is greeted like the first; the editor does not notice.
async fn relay(home: &Path) -> anyhow::Result<()> {
    let mut lines = FramedRead::new(stdin(), LinesCodec::new_with_max_length(LINE));
    let mut editor = stdout();
    let mut greeting = Greeting::default();
    let mut bridge = reach_socket(home).await?;
    loop {
        tokio::select! {
            line = lines.next() => match line {
                Some(Ok(line)) if line.trim().is_empty() => {}
                Some(Ok(line)) => {
                    let line = named_on_purpose(line);
                    greeting.sent(&line);
                    if bridge.send(Message::text(line.clone())).await.is_err() {
                        bridge = greeting.repeat(reach_socket(home).await?).await?;
                        bridge.send(Message::text(line)).await?;
                    }
                }
                Some(Err(LinesCodecError::MaxLineLengthExceeded)) => {
                    anyhow::bail!("a line on standard input has more than {LINE} bytes")
                }
                Some(Err(error)) => return Err(error).context("cannot read standard input"),
                None => {
                    bridge.close(None).await?;
                    return Ok(());
                }
            },
            frame = bridge.next() => match frame {
                Some(Ok(Message::Text(text))) => {
                    editor.write_all(text.as_bytes()).await?;
                    editor.write_all(b"\n").await?;
                    editor.flush().await?;
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => bridge = greeting.repeat(reach_socket(home).await?).await?,
                Some(Ok(_)) => {}
            },
        }
    }
}

/// The editor's `initialize`, repeated for every further bridge.
#[derive(Debug, Default)]
struct Greeting(Option<(Value, String)>);

impl Greeting {
    fn sent(&mut self, line: &str) {
        if self.0.is_none()
            && let Ok(frame) = serde_json::from_str::<Value>(line)
            && frame["method"] == "initialize"
        {
            self.0 = Some((frame["id"].clone(), line.to_owned()));
        }
    }

    /// Greets a bridge, and drops its answer: the editor has one.
    async fn repeat(&self, mut bridge: Socket) -> anyhow::Result<Socket> {
        let Some((id, line)) = &self.0 else { return Ok(bridge) };
        bridge.send(Message::text(line.clone())).await?;
        while let Some(frame) = bridge.next().await {
            if let Message::Text(text) = frame?
                && serde_json::from_str::<Value>(&text).is_ok_and(|answer| answer["id"] == *id)
            {
                return Ok(bridge);
            }
        }
        anyhow::bail!("OpenAgents ended while it was being greeted")
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
