//! A connection to the bridge that follows sessions and devices.

use super::notices::{Notice, Notices};
use agent_client_protocol_schema::v1::{ListSessionsRequest, ListSessionsResponse, SessionInfo};
use anyhow::Context as _;
use openagents_bridge::client::{Client, ClientError, Incoming};
use openagents_wire::{
    AttachParams, AttachResult, ClientMeta, DevicesSnapshot, ListMeta, Method as _, SessionRef, Watch, meta,
    methods,
};
use serde_json::from_value;
use std::{collections::HashMap, path::Path, time::Duration};

/// Maximum silence before the connection counts as dead. The bridge sends a ping every 20 s.
const SILENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
enum Asked {
    Sessions,
    Devices,
    Approvals(String),
}

#[derive(Debug)]
pub(super) struct Feed {
    client: Client,
    asked: HashMap<u64, Asked>,
}

impl Feed {
    /// Connects to the bridge that runs on the data folder `home`.
    pub(super) async fn open(home: &Path) -> anyhow::Result<Self> {
        let address = openagents_bridge::running(home).context("no bridge is running")?;
        // The page answers approvals; this client only notifies.
        let meta = ClientMeta { approvals: true, ..ClientMeta::default() };
        let client = Client::connect(address, home, "openagents-notifications", meta).await?;
        let mut feed = Self { client: client.dead_after(SILENCE), asked: HashMap::new() };
        feed.list().await?;
        let id = feed.client.ask(methods::DevicesList::NAME, &Watch { watch: true }).await?;
        feed.asked.insert(id, Asked::Devices);
        Ok(feed)
    }

    /// Calls `post` for each new event, until the connection ends.
    pub(super) async fn follow(
        mut self,
        notices: &mut Notices,
        mut post: impl FnMut(Notice),
    ) -> anyhow::Result<()> {
        loop {
            self.step(notices, &mut post).await?;
        }
    }

    /// Handles one message.
    async fn step(&mut self, notices: &mut Notices, post: &mut impl FnMut(Notice)) -> anyhow::Result<()> {
        let message = match self.client.next().await {
            // The session is gone.
            Err(ClientError::Refused(_)) => return Ok(()),
            message => message?,
        };
        if let Some(devices) = message.event::<methods::DevicesChanged>() {
            notices.devices(&devices).into_iter().for_each(&mut *post);
        } else if let Some(news) = message.event::<methods::SessionsChanged>() {
            self.sessions(&news.sessions, notices, post).await?;
            if news.reset {
                self.list().await?;
            }
        } else if let Incoming::Answer(id, result) = message {
            match self.asked.remove(&id) {
                Some(Asked::Sessions) => {
                    let list: ListSessionsResponse = from_value(result)?;
                    self.sessions(&list.sessions, notices, post).await?;
                }
                Some(Asked::Devices) => {
                    let devices: DevicesSnapshot = from_value(result)?;
                    notices.devices(&devices).into_iter().for_each(post);
                }
                Some(Asked::Approvals(session_id)) => {
                    let attached: AttachResult = from_value(result)?;
                    notices.approvals(&attached.approvals).into_iter().for_each(post);
                    self.client.ask(methods::Detach::NAME, &SessionRef { session_id }).await?;
                }
                None => {}
            }
        }
        Ok(())
    }

    async fn sessions(
        &mut self,
        rows: &[SessionInfo],
        notices: &mut Notices,
        post: &mut impl FnMut(Notice),
    ) -> anyhow::Result<()> {
        let news = notices.sessions(rows);
        news.notices.into_iter().for_each(post);
        for session_id in news.asking {
            // Attaches at the end of the log, since only the response is of interest.
            let (since, snapshot) = (u64::from(u32::MAX), Some(false));
            let attach = AttachParams { session_id: session_id.clone(), since, snapshot };
            let id = self.client.ask(methods::Attach::NAME, &attach).await?;
            self.asked.insert(id, Asked::Approvals(session_id));
        }
        Ok(())
    }

    async fn list(&mut self) -> anyhow::Result<()> {
        let list = ListSessionsRequest::new().meta(meta(&ListMeta { watch: true, children: false }));
        let id = self.client.ask("session/list", &list).await?;
        self.asked.insert(id, Asked::Sessions);
        Ok(())
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
        let home = folder.path().join("home");
        let config = BridgeConfig {
            home: home.clone(),
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
        let mut feed = Feed::open(&home).await.unwrap();
        let (mut notices, mut posted) = (Notices::default(), Vec::new());
        let explore = openagents_wire::ExploreParams { root, ..Default::default() };
        feed.client.ask(methods::Explore::NAME, &explore).await.unwrap();
        while !notices.any_turn_runs() {
            feed.step(&mut notices, &mut |notice| posted.push(notice)).await.unwrap();
        }
        assert_eq!(posted, []);
        held.0.store(true, Ordering::SeqCst);
        while posted.is_empty() {
            feed.step(&mut notices, &mut |notice| posted.push(notice)).await.unwrap();
        }
        assert_eq!((posted[0].kind, posted[0].body.as_str()), ("turn", "Finished"));
        bridge.shutdown().await;
    }
}
