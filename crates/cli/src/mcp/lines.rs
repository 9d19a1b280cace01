//! The lines between the client and the library. The library answers messages that it understands and ignores the rest.
//!
//! Here every request gets one response, including lines that are not JSON, invalid requests, batches, and requests
//! before the handshake. Lone surrogates become U+FFFD.

use openagents_core::json_text;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{io, sync::Arc};
use tokio::{
    io::{
        AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
        BufReader, DuplexStream,
    },
    sync::{Mutex as AsyncMutex, oneshot},
    task::JoinHandle,
};

/// Maximum size of a line in bytes, as in the library.
const LINE: u64 = 16 << 20;

/// Size of the buffers between the tasks and the library, in bytes.
const BUFFER: usize = 64 << 10;

/// The newest version with batches. The next one removed them
/// (<https://modelcontextprotocol.io/specification/2025-06-18/changelog>).
const LAST_WITH_BATCHES: &str = "2025-03-26";

/// The `_meta` key with the version of a request without a handshake
/// (<https://modelcontextprotocol.io/specification/2026-07-28/basic>).
const INLINE_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

// Codes of JSON-RPC 2.0 (<https://www.jsonrpc.org/specification#error_object>).
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

pub(super) struct LibrarySide {
    pub(super) input: DuplexStream,
    pub(super) output: DuplexStream,
    /// Ends when everything is written.
    pub(super) writer: JoinHandle<io::Result<()>>,
}

/// Connects the library to a client. The library's input ends with the client's.
pub(super) fn connect(
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> LibrarySide {
    let (to_library, library_input) = tokio::io::duplex(BUFFER);
    let (library_output, from_library) = tokio::io::duplex(BUFFER);
    let output = Arc::new(AsyncMutex::new(output));
    let open = Arc::new(Mutex::new(Open::default()));
    let requests = Requests {
        open: Arc::clone(&open),
        output: Arc::clone(&output),
        library: to_library,
        version: None,
        begun: false,
    };
    tokio::spawn(async move {
        if let Err(error) = requests.read_all(BufReader::new(input)).await {
            tracing::debug!(%error, "the client's input has ended");
        }
    });
    let writer = tokio::spawn(write_responses(from_library, open, output));
    LibrarySide { input: library_input, output: library_output, writer }
}

/// Requests that wait for responses of the library.
#[derive(Default)]
struct Open {
    /// The handshake: its id, and the receiver of the agreed version.
    handshake: Option<(Value, oneshot::Sender<Option<String>>)>,
    batches: Vec<Batch>,
}

#[derive(Default)]
struct Batch {
    /// Ids without a response yet.
    waiting: Vec<Value>,
    responses: Vec<Value>,
}

impl Open {
    /// Returns the message to write after a response: the response, a whole batch, or nothing yet.
    fn respond(&mut self, response: Value) -> Option<Value> {
        let id = &response["id"];
        if self.handshake.as_ref().is_some_and(|(handshake, _)| handshake == id)
            && let Some((_, version)) = self.handshake.take()
        {
            let _ = version.send(response["result"]["protocolVersion"].as_str().map(str::to_owned));
        }
        let waits = |batch: &Batch| batch.waiting.contains(id);
        let Some(batch) = self.batches.iter_mut().find(|batch| waits(batch)) else { return Some(response) };
        batch.waiting.retain(|waiting| waiting != id);
        batch.responses.push(response);
        self.take_whole_batch()
    }

    /// Removes a cancelled request, which gets no response. Returns the batch if it is now complete.
    fn cancel(&mut self, id: &Value) -> Option<Value> {
        self.batches.iter_mut().for_each(|batch| batch.waiting.retain(|waiting| waiting != id));
        self.take_whole_batch()
    }

    fn take_whole_batch(&mut self) -> Option<Value> {
        let at = self.batches.iter().position(|batch| batch.waiting.is_empty())?;
        let Batch { responses, .. } = self.batches.swap_remove(at);
        (!responses.is_empty()).then_some(Value::Array(responses))
    }
}

async fn write_responses<W: AsyncWrite + Unpin>(
    library: DuplexStream,
    open: Arc<Mutex<Open>>,
    output: Arc<AsyncMutex<W>>,
) -> io::Result<()> {
    let (mut library, mut line) = (BufReader::new(library), Vec::new());
    while library.read_until(b'\n', &mut line).await? > 0 {
        let message: Value = serde_json::from_slice(&line)?;
        let is_response = message.get("method").is_none();
        let written = if is_response { open.lock().respond(message) } else { Some(message) };
        if let Some(message) = written {
            write_line(&output, &message).await?;
        }
        line.clear();
    }
    // The other requests of these batches were abandoned.
    let batches = std::mem::take(&mut *open.lock()).batches;
    for Batch { responses, .. } in batches {
        write_line(&output, &Value::Array(responses)).await?;
    }
    Ok(())
}

async fn write_line<W: AsyncWrite + Unpin>(output: &AsyncMutex<W>, message: &Value) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}

#[derive(Debug, PartialEq)]
enum Message {
    Request {
        id: Value,
        method: String,
    },
    /// A notification, or the response to a request of the library.
    Other {
        method: String,
    },
    /// An invalid message; holds the error to respond with.
    Invalid(Value),
}

impl Message {
    fn classify(message: &Value) -> Self {
        let given = message.get("id");
        let is_valid = |id: &Value| id.is_string() || id.is_i64();
        let id = given.filter(|id| is_valid(id)).cloned().unwrap_or(Value::Null);
        let method = message.get("method").map(|method| method.as_str().map(str::to_owned));
        let is_response = message.get("result").is_some() || message.get("error").is_some();
        let reason = match (method, given) {
            _ if !message.is_object() => "the message is not an object",
            _ if message["jsonrpc"] != "2.0" => "jsonrpc is not \"2.0\"",
            (Some(None), _) => "method is not a string",
            (Some(Some(_)), Some(given)) if !is_valid(given) => "id is not a string or an integer",
            (Some(Some(method)), Some(_)) => return Self::Request { id, method },
            (Some(Some(method)), None) => return Self::Other { method },
            (None, _) if is_response => return Self::Other { method: String::new() },
            (None, _) => "method is missing",
        };
        Self::Invalid(error(id, INVALID_REQUEST, reason))
    }
}

/// Reads the client's messages.
struct Requests<W> {
    open: Arc<Mutex<Open>>,
    output: Arc<AsyncMutex<W>>,
    library: DuplexStream,
    /// The agreed version; set after a handshake.
    version: Option<String>,
    /// The library has begun a session, with or without a handshake.
    begun: bool,
}

impl<W: AsyncWrite + Unpin> Requests<W> {
    async fn read_all(mut self, mut input: impl AsyncBufRead + Unpin) -> io::Result<()> {
        let mut line = Vec::new();
        while (&mut input).take(LINE).read_until(b'\n', &mut line).await? > 0 {
            if line.len() as u64 == LINE && !line.ends_with(b"\n") {
                skip_line(&mut input).await?;
                let reason = format!("the line is longer than {} MiB", LINE >> 20);
                write_line(&self.output, &error(Value::Null, INVALID_REQUEST, &reason)).await?;
            } else {
                self.line(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line)).await?;
            }
            line.clear();
        }
        Ok(())
    }

    async fn line(&mut self, line: &[u8]) -> io::Result<()> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(());
        }
        match json_text::from_slice(line) {
            Ok(Value::Array(messages)) => self.batch(messages).await,
            Ok(message) => match self.message(message).await? {
                Some(refusal) => write_line(&self.output, &refusal).await,
                None => Ok(()),
            },
            Err(why) => {
                let reason = format!("the line is not JSON: {why}");
                write_line(&self.output, &error(Value::Null, PARSE_ERROR, &reason)).await
            }
        }
    }

    async fn batch(&mut self, messages: Vec<Value>) -> io::Result<()> {
        let refusal = match &self.version {
            _ if messages.is_empty() => Some("the batch is empty".to_owned()),
            None => Some("a batch came before `initialize`, which is sent alone".to_owned()),
            Some(version) if version.as_str() > LAST_WITH_BATCHES => {
                Some(format!("MCP {version} has no batches; send each request on its own line"))
            }
            Some(_) => None,
        };
        if let Some(reason) = refusal {
            return write_line(&self.output, &error(Value::Null, INVALID_REQUEST, &reason)).await;
        }
        let mut batch = Batch::default();
        for message in &messages {
            match Message::classify(message) {
                Message::Request { id, .. } => batch.waiting.push(id),
                Message::Other { .. } => {}
                Message::Invalid(refusal) => batch.responses.push(refusal),
            }
        }
        let whole = {
            let mut open = self.open.lock();
            open.batches.push(batch);
            open.take_whole_batch()
        };
        if let Some(responses) = whole {
            write_line(&self.output, &responses).await?;
        }
        for message in
            messages.into_iter().filter(|message| !matches!(Message::classify(message), Message::Invalid(_)))
        {
            self.message(message).await?;
        }
        Ok(())
    }

    /// Passes a message on, or returns the error to respond with.
    async fn message(&mut self, message: Value) -> io::Result<Option<Value>> {
        let names_version = message["params"]["_meta"].get(INLINE_VERSION).is_some();
        match Message::classify(&message) {
            Message::Invalid(refusal) => return Ok(Some(refusal)),
            Message::Request { id, method } if method == "initialize" => {
                let (sender, version) = oneshot::channel();
                self.open.lock().handshake = Some((id, sender));
                self.pass_on(&message).await?;
                // Later messages depend on the version.
                self.version = version.await.ok().flatten().or(self.version.take());
                self.begun |= self.version.is_some();
                return Ok(None);
            }
            Message::Request { id, method } if !self.begun && method != "ping" => {
                if !names_version {
                    let reason = format!(
                        "{method} came before `initialize`; send that first, or name the protocol version in _meta with \
                         each request (MCP 2026-07-28)"
                    );
                    return Ok(Some(error(id, INVALID_REQUEST, &reason)));
                }
                // A discovery opens no session.
                self.begun = method != "server/discover";
            }
            // The library would exit.
            Message::Other { .. } if !self.begun => return Ok(None),
            Message::Other { method } if method == "notifications/cancelled" => {
                let whole = self.open.lock().cancel(&message["params"]["requestId"]);
                if let Some(responses) = whole {
                    write_line(&self.output, &responses).await?;
                }
            }
            Message::Request { .. } | Message::Other { .. } => {}
        }
        self.pass_on(&message).await.map(|()| None)
    }

    async fn pass_on(&mut self, message: &Value) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.library.write_all(&line).await
    }
}

async fn skip_line(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf().await?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(buffer.len(), |end| end + 1);
        let is_over = end.is_some() || buffer.is_empty();
        input.consume(length);
        if is_over {
            return Ok(());
        }
    }
}

fn error(id: Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
