//! The last frames of every connection, for the debug panel. Kept in memory only, never logged.

use openagents_sessions::{Wake, Watchers, store::now_ms};
use openagents_wire as wire;
use parking_lot::Mutex;
use serde_json::Value;
use std::{collections::VecDeque, sync::Arc};
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Frames kept while a client watches, and bytes of their text; the oldest are dropped first.
const WATCHED: (usize, usize) = (2000, 32 << 20);
/// The same limits while no client watches: enough to show how a problem began.
const UNWATCHED: (usize, usize) = (200, 1 << 20);
const FRAME_BYTES: usize = 64 << 10;
/// Maximum bytes of the answer to `_openagents/inspect`, which holds the newest frames that fit.
const ANSWER: usize = 8 << 20;

/// The end of the method whose frames hold what a user types to log in: `_openagents/agents/login_type`, also if a
/// client escapes the slashes.
const LOGIN_TYPE: &str = "login_type";

/// Shown instead of such a frame.
const HIDDEN_INPUT: &str = r#"{"method":"_openagents/agents/login_type","params":"…"}"#;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    In,
    Out,
}

#[derive(Debug)]
pub struct Peer {
    pub id: Arc<str>,
    pub(crate) endpoint: &'static str,
    client: Mutex<Arc<str>>,
}

impl Peer {
    pub fn new(endpoint: &'static str) -> Arc<Self> {
        let id = uuid::Uuid::new_v4().to_string().into();
        Arc::new(Self { id, endpoint, client: Mutex::new("".into()) })
    }

    /// Sets the client's name, from `initialize`.
    pub fn introduce(&self, client: &str) {
        *self.client.lock() = openagents_core::text::prefix(client, 200).into();
    }

    pub fn client(&self) -> Arc<str> {
        self.client.lock().clone()
    }
}

#[derive(Debug)]
pub struct Frame {
    n: u64,
    ts: i64,
    connection: Arc<str>,
    endpoint: &'static str,
    client: Arc<str>,
    direction: Direction,
    bytes: usize,
    json: Utf8Bytes,
}

impl Frame {
    /// Returns the number of the frame: 1, 2, 3 … within one process.
    pub(crate) fn number(&self) -> u64 {
        self.n
    }

    pub fn to_wire(&self) -> wire::Frame {
        // Parsed lazily: most frames are never viewed.
        let (method, id) = method_and_id(&self.json);
        let direction = match self.direction {
            Direction::In => "in",
            Direction::Out => "out",
        };
        wire::Frame {
            n: self.n,
            ts: self.ts,
            connection: self.connection.to_string(),
            endpoint: self.endpoint.to_owned(),
            client: self.client.to_string(),
            direction: direction.to_owned(),
            bytes: self.bytes,
            json: self.json.as_str().to_owned(),
            method,
            id,
        }
    }
}

#[derive(serde::Deserialize)]
struct Peek {
    method: Option<String>,
    id: Option<Value>,
}

fn method_and_id(text: &str) -> (Option<String>, Option<Value>) {
    // A truncated frame is not valid JSON; take the method from its start.
    serde_json::from_str::<Peek>(text)
        .map_or_else(|_| (quoted_after(text, "\"method\":"), None), |p| (p.method, p.id))
}

fn quoted_after(text: &str, key: &str) -> Option<String> {
    let rest = text.split_once(key)?.1.trim_start().strip_prefix('"')?;
    Some(rest.split_once('"')?.0.to_owned())
}

#[derive(Debug, Default)]
pub struct Inspector(Mutex<Ring>);

#[derive(Debug, Default)]
struct Ring {
    last: u64,
    bytes: usize,
    frames: VecDeque<Arc<Frame>>,
    watchers: Watchers,
}

impl Inspector {
    pub fn record_in(&self, peer: &Peer, text: &str) {
        // What a user types to log in may be a password.
        let shown = if text.contains(LOGIN_TYPE) { HIDDEN_INPUT } else { text };
        let kept = openagents_core::text::prefix(shown, FRAME_BYTES).into();
        self.record(peer, Direction::In, std::iter::once((text.len(), kept)));
    }

    /// Records frames sent to a client. Short texts are shared, not copied.
    pub fn record_out(&self, peer: &Peer, texts: &[Utf8Bytes]) {
        let keep = |text: &Utf8Bytes| match text.len() > FRAME_BYTES {
            true => (text.len(), openagents_core::text::prefix(text, FRAME_BYTES).into()),
            false => (text.len(), text.clone()),
        };
        self.record(peer, Direction::Out, texts.iter().map(keep));
    }

    fn record(
        &self,
        peer: &Peer,
        direction: Direction,
        texts: impl ExactSizeIterator<Item = (usize, Utf8Bytes)>,
    ) {
        if texts.len() == 0 {
            return;
        }
        let (client, ts) = (peer.client(), now_ms());
        let mut ring = self.0.lock();
        for (bytes, json) in texts {
            ring.last += 1;
            ring.bytes += json.len();
            let (n, connection, client) = (ring.last, peer.id.clone(), client.clone());
            let frame = Frame { n, ts, connection, endpoint: peer.endpoint, client, direction, bytes, json };
            ring.frames.push_back(Arc::new(frame));
        }
        ring.watchers.wake();
        let (frames, bytes) = if ring.watchers.count() == 0 { UNWATCHED } else { WATCHED };
        while ring.frames.len() > frames || ring.bytes > bytes {
            let Some(oldest) = ring.frames.pop_front() else { break };
            ring.bytes -= oldest.json.len();
        }
    }

    /// Wakes `wake` on every frame from now on.
    pub(crate) fn watch(&self, wake: &Wake) {
        self.0.lock().watchers.add(wake);
    }

    /// Undoes [`watch`](Self::watch). Without watchers, fewer frames are kept.
    pub(crate) fn leave(&self, wake: &Wake) {
        self.0.lock().watchers.remove(wake);
    }

    /// Returns the frames after number `since` that are still in the ring, oldest first.
    pub(crate) fn after(&self, since: u64, limit: usize) -> Vec<Arc<Frame>> {
        let ring = self.0.lock();
        let first = ring.frames.front().map_or(0, |frame| frame.n);
        let skip = usize::try_from((since + 1).saturating_sub(first)).unwrap_or(usize::MAX);
        ring.frames.iter().skip(skip).take(limit).cloned().collect()
    }

    /// Returns the newest frames, oldest first, and the number of the last.
    pub fn snapshot(&self) -> (Vec<Arc<Frame>>, u64) {
        let ring = self.0.lock();
        let mut room = ANSWER;
        let mut frames: Vec<_> = ring
            .frames
            .iter()
            .rev()
            .take_while(|frame| {
                // JSON inside JSON: every quote becomes two bytes.
                let cost = frame.json.len() * 2 + 256;
                let fits = cost <= room;
                room = room.saturating_sub(cost);
                fits
            })
            .cloned()
            .collect();
        frames.reverse();
        (frames, ring.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_keeps_2000_frames_while_watched() {
        let (inspector, peer, wake) = (Inspector::default(), Peer::new("acp"), Wake::default());
        let record = |n| inspector.record_in(&peer, &format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"x"}}"#));
        (0..250).for_each(record);
        assert_eq!(inspector.snapshot().0.len(), 200);
        inspector.watch(&wake);
        (250..2500).for_each(record);
        let (frames, last) = inspector.snapshot();
        assert_eq!((frames.len(), frames[0].n, last), (2000, 501, 2500));
        assert_eq!(inspector.after(2498, 10).len(), 2);
        assert_eq!(inspector.after(0, 10)[0].n, 501);
        assert!(inspector.after(2500, 10).is_empty());
    }

    #[test]
    fn frame_has_method_id_and_client() {
        let (inspector, peer) = (Inspector::default(), Peer::new("ios"));
        peer.introduce("OpenAgents iOS");
        inspector.record_out(&peer, &[r#"{"jsonrpc":"2.0","id":"a","result":{}}"#.into()]);
        let long =
            format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":"{}"}}"#, "é".repeat(50_000));
        inspector.record_out(&peer, &[long.as_str().into()]);
        let wires: Vec<wire::Frame> = inspector.snapshot().0.iter().map(|frame| frame.to_wire()).collect();
        assert_eq!(wires[0].id, Some("a".into()));
        assert_eq!(wires[0].client, "OpenAgents iOS");
        assert_eq!(wires[0].direction, "out");
        assert_eq!(wires[1].method.as_deref(), Some("session/update"));
        assert_eq!(wires[1].bytes, long.len());
        assert!(wires[1].json.len() <= FRAME_BYTES);
    }

    #[test]
    fn ring_bounds_huge_frames() {
        let (inspector, peer, wake) = (Inspector::default(), Peer::new("acp"), Wake::default());
        let text = "x".repeat(1 << 20);
        let record = || (0..2000).for_each(|_| inspector.record_out(&peer, &[text.as_str().into()]));
        record();
        assert!(inspector.0.lock().bytes <= UNWATCHED.1);
        inspector.watch(&wake);
        record();
        assert!(inspector.0.lock().bytes <= WATCHED.1);
        assert!(inspector.snapshot().0.len() >= ANSWER / (FRAME_BYTES * 2 + 256));
        inspector.leave(&wake);
        record();
        assert!(inspector.0.lock().bytes <= UNWATCHED.1);
    }
}
