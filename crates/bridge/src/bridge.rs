//! A bridge from its start to its end.

use crate::{
    BridgeConfig, BridgeError,
    access::Devices,
    address::Tenancy,
    agents::AgentsDesk,
    auth::{BackOff, Token},
    guard::Hosts,
    http::Listener,
    ios::{Porch, Resumes},
    limits::{self, Limits},
    models::ModelsDesk,
    network::{self, Gate, Listeners, Network, NetworkState},
    sessions::{Explore, Hub, beside},
    shared::Shared,
    store::{DeviceRow, Store},
    transport::Remotes,
};
use openagents_core::{
    agent::Agents,
    explore::Explorer,
    history::History,
    model::{LanguageModel, LocalModels, SettingsStore},
};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    sync::Arc,
    time::Duration,
};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

/// What a bridge has for those who explore and answer.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The logs of other agents.
    pub history: Arc<History>,
    /// What a person chose.
    pub settings: Arc<dyn SettingsStore>,
}

/// Those who explore and answer.
#[derive(Debug, Clone)]
pub struct Providers {
    /// Runs explorations.
    pub explorer: Arc<dyn Explore>,
    /// The models on this machine; with them comes the mode `gptoss_20b`.
    pub models: Option<Arc<dyn LocalModels>>,
    /// The agents of this machine; with them come their modes, and the choice between them.
    pub agents: Option<Arc<dyn Agents>>,
    /// The model that answers in a moment and decides unclear cases: Foundation Models, where there are any.
    pub foundation: Option<Arc<dyn LanguageModel>>,
}

/// How long clients have for the last words.
const GOOD_BYE: Duration = Duration::from_secs(5);

impl Providers {
    /// Explores by rules; no model answers.
    pub fn rules(history: Arc<History>) -> Self {
        Self {
            explorer: Arc::new(Explorer::heuristic(history)),
            models: None,
            agents: None,
            foundation: None,
        }
    }

    /// The models on this machine answer, and plan explorations where that is asked for: the one that answers in a moment
    /// before the one that has to be loaded.
    pub fn local(
        history: Arc<History>,
        models: Option<Arc<dyn LocalModels>>,
        foundation: Option<Arc<dyn LanguageModel>>,
    ) -> Self {
        let planners = foundation.iter().cloned().chain(models.iter().map(|models| models.model())).collect();
        let explorer = Explorer { models: planners, ..Explorer::heuristic(history) };
        Self { explorer: Arc::new(explorer), models, agents: None, foundation }
    }
}

/// A running bridge. Dropping it without [`Bridge::shutdown`] stops it without waiting for anybody; what is stored
/// stays stored.
#[derive(Debug)]
pub struct Bridge {
    address: SocketAddr,
    shared: Arc<Shared>,
    store: Store,
    tenancy: Tenancy,
    accepting: CancellationToken,
    listeners: [JoinHandle<()>; 2],
    /// Stop the tasks when this is dropped.
    _guards: [DropGuard; 3],
}

impl Bridge {
    /// Opens the store, binds the port and serves until [`Bridge::shutdown`].
    pub async fn start(config: BridgeConfig) -> Result<Self, BridgeError> {
        Self::start_with(config, |around| Providers::rules(around.history)).await
    }

    /// Like [`Bridge::start`], with others that explore and answer. `providers` may block.
    pub async fn start_with(
        config: BridgeConfig,
        providers: impl FnOnce(Surroundings) -> Providers + Send + 'static,
    ) -> Result<Self, BridgeError> {
        let home = config.home.clone();
        let (tenancy, token, store, known) = beside(move || open(&home)).await.unwrap_or_else(|| {
            Err(BridgeError::NotWritable { path: config.home.clone(), reason: "interrupted".to_owned() })
        })?;
        for notice in store.notices() {
            tracing::warn!("{notice}");
        }
        limits::raise_file_handles();
        let listener = bind(config.port).await?;
        let address = listener.local_addr().map_err(|error| listen_error(config.port, &error))?;
        tenancy.announce(address)?;
        let (home, network, ios) = (config.home.clone(), config.network, config.ios);
        let settings: Arc<dyn SettingsStore> = Arc::new(store.clone());
        let network = beside(move || Network::open(home, network, ios, address, settings)).await;
        let network = network.ok_or(BridgeError::Providers)??;
        let history = Arc::new(History::new(config.history, store.transcript_index()));
        let around = Surroundings { history: history.clone(), settings: Arc::new(store.clone()) };
        let providers = beside(move || providers(around)).await;
        let providers = providers.ok_or(BridgeError::Providers)?;
        let models = providers.models.clone().map(ModelsDesk::new);
        let agents = providers.agents.clone().map(AgentsDesk::new);
        let root = config.root.canonicalize().unwrap_or(config.root);
        let (hosts, connections) = (Hosts::following(&network), TaskTracker::new());
        let devices = Devices::new(store.clone(), known, network.clone(), connections.clone());
        let shared = Arc::new(Shared {
            hub: Hub::new(store.clone(), providers, history, root),
            inspector: Arc::default(),
            models,
            agents,
            devices,
            hosts,
            token,
            back_off: BackOff::default(),
            limits: Limits::default(),
            port: address.port(),
            network,
            resumes: Resumes::default(),
            remotes: Remotes::default(),
            porch: Porch::default(),
            closing: CancellationToken::new(),
            connections,
        });
        let accepting = CancellationToken::new();
        let guards =
            [&accepting, shared.hub.stopping(), &shared.closing].map(|token| token.clone().drop_guard());
        let gate =
            Gate { kind: Listener::Loopback, accepting: accepting.clone(), closing: shared.closing.clone() };
        let mut others = Listeners::new(shared.clone(), accepting.clone());
        others.look().await;
        let listeners =
            [tokio::spawn(network::listen(listener, gate, shared.clone())), tokio::spawn(others.run())];
        Ok(Self { address, shared, store, tenancy, accepting, listeners, _guards: guards })
    }

    /// Returns the bound loopback address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the token for local use: 64 hexadecimal digits.
    pub fn token(&self) -> &str {
        &self.shared.token.text
    }

    /// Returns the 0600 file that holds the token.
    pub fn token_file(&self) -> &Path {
        &self.shared.token.file
    }

    /// Returns the address of the page, with the token in the fragment.
    pub fn page_url(&self) -> String {
        format!("http://{}/#token={}", self.address, self.token())
    }

    /// Returns what is served to other devices, and under which certificate.
    pub fn network(&self) -> Arc<NetworkState> {
        self.shared.network.state()
    }

    /// Returns what a person should know about the start, one sentence each.
    pub fn notices(&self) -> &[String] {
        self.store.notices()
    }

    /// Ends running turns, stores their last updates, closes every socket, and gives the data folder back.
    pub async fn shutdown(self) {
        self.accepting.cancel();
        for listener in self.listeners {
            if let Err(error) = listener.await {
                tracing::warn!(%error, "a listener ended badly");
            }
        }
        self.shared.hub.stop().await;
        if let Some(agents) = self.shared.agents.clone() {
            beside(move || agents.shut_down()).await;
        }
        if let Some(models) = self.shared.models.clone() {
            beside(move || models.shut_down()).await;
        }
        self.shared.closing.cancel();
        self.shared.connections.close();
        if tokio::time::timeout(GOOD_BYE, self.shared.connections.wait()).await.is_err() {
            tracing::warn!("some clients did not say good-bye in time");
        }
        let store = self.store;
        drop(self.shared);
        beside(move || {
            if let Err(error) = store.flush() {
                tracing::error!(%error, "the last updates were not stored");
            }
            drop(store);
        })
        .await;
        drop(self.tenancy);
    }
}

fn open(home: &Path) -> Result<(Tenancy, Token, Store, Vec<DeviceRow>), BridgeError> {
    let tenancy = Tenancy::take(home)?;
    let token = Token::load(home)?;
    let store = Store::open(home)?;
    let devices = store.devices()?;
    Ok((tenancy, token, store, devices))
}

async fn bind(port: u16) -> Result<TcpListener, BridgeError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|error| listen_error(port, &error))
}

fn listen_error(port: u16, error: &io::Error) -> BridgeError {
    match error.kind() {
        io::ErrorKind::AddrInUse => BridgeError::PortBusy(port),
        _ => BridgeError::Listen {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            reason: error.to_string(),
        },
    }
}
