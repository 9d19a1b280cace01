//! `openagents acp`: OpenAgents as the agent of an editor, over standard input and output.
//!
//! Passes frames through unparsed, line by line, between the editor and the bridge. An editor therefore sees the same
//! as every other client.

use crate::{
    bridge::reach_socket,
    signals::{self, Interrupts},
    surroundings,
};
use anyhow::Context;
use futures::{SinkExt, StreamExt};
use openagents_core::json_text::with_whole_characters;
use serde_json::{Value, json};
use std::{path::Path, process::ExitCode};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, stdin, stdout},
    net::TcpStream,
};
use tokio_tungstenite::{WebSocketStream, tungstenite::Message};
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, FramedRead};

type Socket = WebSocketStream<TcpStream>;

/// Longest accepted line in bytes, equal to the bridge's frame limit.
const LINE: usize = 16 << 20;

pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let home = surroundings::data_folder()?;
    signals::run(async {
        let mut signals = Interrupts::listen()?;
        let relayed = tokio::select! {
            relayed = relay(&home) => relayed,
            () = signals.next() => Ok(()),
        };
        relayed.map(|()| ExitCode::SUCCESS)
    })
}

/// Carries frames both ways until the editor ends. If the bridge ends because the app takes its place or is restarted,
/// the next bridge gets the same `initialize`, and the editor does not notice.
async fn relay(home: &Path) -> anyhow::Result<()> {
    let mut editor = Editor {
        lines: FramedRead::new(stdin(), lines()),
        output: stdout(),
        greeting: Greeting::default(),
        unsent: None,
    };
    let mut bridge = reach_socket(home).await?;
    while editor.talk_to(bridge).await? == Ended::Bridge {
        bridge = editor.greeting.repeat(reach_socket(home).await?).await?;
    }
    Ok(())
}

struct Editor<R, W> {
    lines: FramedRead<R, AnyDelimiterCodec>,
    output: W,
    greeting: Greeting,
    /// The line being sent, kept for the next bridge in case this one ends meanwhile.
    unsent: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Editor,
    Bridge,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Editor<R, W> {
    /// Copies frames in both directions concurrently, so that a slow reader blocks only its own direction.
    async fn talk_to<S>(&mut self, bridge: WebSocketStream<S>) -> anyhow::Result<Ended>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let Self { lines, output, greeting, unsent } = self;
        let (mut to_bridge, mut from_bridge) = bridge.split();
        let up = async {
            loop {
                if unsent.is_none() {
                    match lines.next().await {
                        Some(Ok(line)) => {
                            let line = readable(&line);
                            if line.trim().is_empty() {
                                continue;
                            }
                            let line = named_on_purpose(line);
                            greeting.sent(&line);
                            *unsent = Some(line);
                        }
                        Some(Err(AnyDelimiterCodecError::MaxChunkLengthExceeded)) => {
                            anyhow::bail!("a line on standard input has more than {LINE} bytes")
                        }
                        Some(Err(error)) => return Err(error).context("cannot read standard input"),
                        None => {
                            to_bridge.close().await?;
                            return Ok(Ended::Editor);
                        }
                    }
                }
                let Some(line) = unsent.clone() else { continue };
                if to_bridge.send(Message::text(line)).await.is_err() {
                    return Ok(Ended::Bridge);
                }
                *unsent = None;
            }
        };
        let down = async {
            while let Some(Ok(frame)) = from_bridge.next().await {
                match frame {
                    Message::Text(text) => {
                        output.write_all(text.as_bytes()).await?;
                        output.write_all(b"\n").await?;
                        output.flush().await?;
                    }
                    Message::Close(_) => break,
                    _ => {}
                }
            }
            anyhow::Ok(())
        };
        tokio::pin!(up, down);
        tokio::select! {
            ended = &mut up => {
                let ended = ended?;
                if ended == Ended::Bridge {
                    // Finishes the current line to the editor, so that none is left half written.
                    down.await?;
                }
                Ok(ended)
            }
            ended = &mut down => ended.map(|()| Ended::Bridge),
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

    /// Sends `initialize` to a bridge, and drops the response: the editor already has one.
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
        anyhow::bail!("OpenAgents exited during the handshake")
    }
}

fn lines() -> AnyDelimiterCodec {
    AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), b"\n".to_vec(), LINE)
}

/// Returns a line as text that the bridge can parse: without a byte order mark, and with U+FFFD for lone surrogates.
fn readable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line));
    with_whole_characters(&text).into_owned()
}

/// Marks the workspace of a `session/new` as chosen by the user, which makes it known.
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
    use tokio::io::{AsyncReadExt, duplex};
    use tokio_tungstenite::tungstenite::protocol::Role;

    /// Regression: nothing was read from a bridge that did not read, and both waited for each other.
    #[tokio::test]
    async fn relay_survives_bridge_that_waits_for_its_reader() {
        let (bridge, remote) = duplex(1 << 10);
        let (mut typing, stdin) = duplex(1 << 20);
        let (stdout, mut screen) = duplex(1 << 20);
        let bridge = WebSocketStream::from_raw_socket(bridge, Role::Client, None).await;
        let mut remote = WebSocketStream::from_raw_socket(remote, Role::Server, None).await;
        let mut editor = Editor {
            lines: FramedRead::new(stdin, lines()),
            output: stdout,
            greeting: Greeting::default(),
            unsent: None,
        };
        // More than fits into the buffers, in both directions.
        let long = "x".repeat(64 << 10);
        typing.write_all(format!("{long}\n").as_bytes()).await.unwrap();
        let served = async {
            for _ in 0..8 {
                remote.send(Message::text("y".repeat(8 << 10))).await.unwrap();
            }
            let Some(Ok(Message::Text(text))) = remote.next().await else { panic!("no line") };
            drop(typing);
            // Reads until the connection is closed.
            while remote.next().await.is_some_and(|frame| frame.is_ok()) {}
            text.to_string()
        };
        let both = async { tokio::join!(editor.talk_to(bridge), served) };
        let (ended, text) = tokio::time::timeout(std::time::Duration::from_secs(60), both).await.unwrap();
        assert_eq!((ended.unwrap(), text), (Ended::Editor, long));
        drop(editor);
        let mut shown = String::new();
        screen.read_to_string(&mut shown).await.unwrap();
        assert_eq!(shown.len(), 8 * ((8 << 10) + 1));
    }

    #[test]
    fn relay_replaces_half_characters_and_byte_order_mark() {
        let rows: [(&[u8], &str); 4] = [
            (b"\xef\xbb\xbf{\"a\":1}\r", "{\"a\":1}\r"),
            (br#"{"text":"cut \ud83d"}"#, r#"{"text":"cut \ufffd"}"#),
            (b"{\"text\":\"cut \xf0\x9f\"}", "{\"text\":\"cut \u{fffd}\"}"),
            (br#"{"text":"\ud83d\ude00"}"#, r#"{"text":"\ud83d\ude00"}"#),
        ];
        for (line, expected) in rows {
            assert_eq!(readable(line), expected);
        }
    }

    #[test]
    fn relay_changes_only_new_sessions() {
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
