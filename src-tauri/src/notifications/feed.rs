//! A connection to the bridge that follows sessions and devices.

use super::notices::{Notice, Notices};
use anyhow::Context as _;
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use std::{collections::HashMap, net::Ipv4Addr, time::Duration};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, client::IntoClientRequest as _, http::HeaderValue},
};

/// Maximum silence before the connection counts as dead. The bridge sends a ping every 20 s.
const SILENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
enum Asked {
    Sessions,
    Devices,
    /// The approvals of this session.
    Approvals(String),
}

#[derive(Debug)]
pub(super) struct Feed {
    socket: WebSocketStream<TcpStream>,
    last_id: u64,
    asked: HashMap<u64, Asked>,
}

impl Feed {
    pub(super) async fn open(port: u16, token: &str) -> anyhow::Result<Self> {
        let mut request = format!("ws://127.0.0.1:{port}/acp").into_client_request()?;
        let bearer = HeaderValue::from_str(&format!("Bearer {token}"))?;
        request.headers_mut().insert("authorization", bearer);
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        let (socket, _) = tokio_tungstenite::client_async(request, stream).await?;
        let mut feed = Self { socket, last_id: 0, asked: HashMap::new() };
        let initialize = json!({"protocolVersion": 1,
            // The page answers approvals; this client only notifies.
            "clientCapabilities": {"_meta": {"openagents": {"approvals": true}}},
            "clientInfo": {"name": "openagents-notifications", "version": env!("CARGO_PKG_VERSION")}});
        feed.send("initialize", initialize).await?;
        feed.list().await?;
        feed.ask(Asked::Devices, "_openagents/devices/list", json!({"watch": true})).await?;
        Ok(feed)
    }

    /// Calls `post` for each new event, until the connection ends.
    pub(super) async fn follow(
        mut self,
        notices: &mut Notices,
        mut post: impl FnMut(Notice),
    ) -> anyhow::Result<()> {
        while self.step(notices, &mut post).await? {}
        Ok(())
    }

    /// Handles one message. Returns false at the end of the connection.
    async fn step(&mut self, notices: &mut Notices, post: &mut impl FnMut(Notice)) -> anyhow::Result<bool> {
        let next = tokio::time::timeout(SILENCE, self.socket.next()).await.context("no message for 60 s")?;
        let Some(message) = next.transpose()? else { return Ok(false) };
        let Message::Text(text) = message else { return Ok(true) };
        let frame: Value = serde_json::from_str(&text)?;
        let asked = frame["id"].as_u64().and_then(|id| self.asked.remove(&id));
        let result = &frame["result"];
        match (asked, frame["method"].as_str()) {
            (Some(Asked::Sessions), _) => self.sessions(&result["sessions"], notices, post).await?,
            (Some(Asked::Devices), _) => notices.devices(result).into_iter().for_each(post),
            (Some(Asked::Approvals(session)), _) => {
                notices.approvals(&result["approvals"]).into_iter().for_each(post);
                self.send("_openagents/detach", json!({"sessionId": session})).await?;
            }
            (None, Some("_openagents/sessions")) => {
                let params = &frame["params"];
                self.sessions(&params["sessions"], notices, post).await?;
                if params["reset"] == true {
                    self.list().await?;
                }
            }
            (None, Some("_openagents/devices")) => {
                notices.devices(&frame["params"]).into_iter().for_each(post);
            }
            _ => {}
        }
        Ok(true)
    }

    async fn sessions(
        &mut self,
        rows: &Value,
        notices: &mut Notices,
        post: &mut impl FnMut(Notice),
    ) -> anyhow::Result<()> {
        let news = notices.sessions(rows);
        news.notices.into_iter().for_each(post);
        for session in news.asking {
            // Attaches at the end of the log, since only the response is of interest.
            let params = json!({"sessionId": session, "since": u64::from(u32::MAX), "snapshot": false});
            self.ask(Asked::Approvals(session), "_openagents/attach", params).await?;
        }
        Ok(())
    }

    async fn list(&mut self) -> anyhow::Result<()> {
        let params = json!({"_meta": {"openagents": {"watch": true}}});
        self.ask(Asked::Sessions, "session/list", params).await
    }

    async fn ask(&mut self, what: Asked, method: &str, params: Value) -> anyhow::Result<()> {
        let id = self.send(method, params).await?;
        self.asked.insert(id, what);
        Ok(())
    }

    async fn send(&mut self, method: &str, params: Value) -> anyhow::Result<u64> {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.socket.send(Message::text(request.to_string())).await?;
        Ok(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_bridge::{Bridge, BridgeConfig, Explore, NetworkConfig, Providers};
    use openagents_core::{
        CancellationToken,
        update::{RunState, SessionUpdate, Summary},
    };
    use openagents_orchestration::explore::{ExploreOutcome, ExploreRequest};
    use openagents_transcripts::history::HistoryRoots;
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    /// An exploration that ends on request.
    #[derive(Debug, Default)]
    struct Held(AtomicBool);

    impl Explore for Held {
        fn explore(
            &self,
            _: &ExploreRequest,
            cancel: &CancellationToken,
            _: &(dyn Fn(SessionUpdate) + Sync),
        ) -> ExploreOutcome {
            while !self.0.load(Ordering::SeqCst) && !cancel.is_cancelled() {
                std::thread::park_timeout(Duration::from_millis(1));
            }
            let summary = Summary::default();
            ExploreOutcome { state: RunState::Complete, summary, ops: 0, message: String::new() }
        }
    }

    /// Works without the page, which may be suspended.
    #[tokio::test]
    async fn turn_end_on_a_bridge_is_announced() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("demo");
        std::fs::create_dir(&root).unwrap();
        let config = BridgeConfig {
            home: folder.path().join("home"),
            port: 0,
            root: root.clone(),
            ios: None,
            network: NetworkConfig { announce: false, ..NetworkConfig::default() },
            history: HistoryRoots::default(),
            temporary: false,
        };
        let held = Arc::new(Held::default());
        let explorer = held.clone();
        let providers = |_| Providers { explorer, models: None, agents: None, foundation: None };
        let bridge = Bridge::start_with(config, providers).await.unwrap();
        let mut feed = Feed::open(bridge.address().port(), bridge.token()).await.unwrap();
        let (mut notices, mut posted) = (Notices::default(), Vec::new());
        feed.send("_openagents/explore", json!({"root": root})).await.unwrap();
        while !notices.any_turn_runs() {
            assert!(feed.step(&mut notices, &mut |notice| posted.push(notice)).await.unwrap());
        }
        assert_eq!(posted, []);
        held.0.store(true, Ordering::SeqCst);
        while posted.is_empty() {
            assert!(feed.step(&mut notices, &mut |notice| posted.push(notice)).await.unwrap());
        }
        assert_eq!((posted[0].kind, posted[0].body.as_str()), ("turn", "Finished"));
        bridge.shutdown().await;
    }
}
