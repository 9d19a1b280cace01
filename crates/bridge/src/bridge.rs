//! Starting and stopping a bridge.

use crate::{
    acp::{
        past_sessions::{PastSessions, StoredHistory},
        services::{Managed, Services},
        sessions,
    },
    error::BridgeError,
    instance::InstanceLock,
    server::{
        accept::{self, Gate},
        listeners::Listeners,
        state::{BackOff, Remotes, Server},
    },
};
use openagents_connection::{
    admission::{self, Limits},
    inspect::Inspector,
};
use openagents_core::model::SettingsStore;
use openagents_remote::{
    devices::{
        registry::Devices,
        tables::{DeviceRow, load_devices, open_store},
        tabs::Tabs,
    },
    network::{
        state::{Network, NetworkState},
        switches::{NetworkConfig, OpenOnNetwork, Switches},
    },
    settings::Settings,
    token::Token,
};
use openagents_sessions::{Providers, SessionRegistry, TurnExecutor, run_blocking, store::Store};
use openagents_transcripts::{
    cache::TranscriptCache,
    history::{History, HistoryRoots, ListingCache},
    history_index::HistoryIndex,
    keep::{KeepSettings, Keeper, KeptCopies},
    usage::UsageStore,
};
use openagents_wire::{IosAccess, Listener};
use std::{
    fmt, io,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::TcpListener,
    task::JoinHandle,
    time::{Instant, sleep, timeout, timeout_at},
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

/// Configuration of a bridge.
#[derive(Debug, Clone)]
pub struct BridgeConfig {
    /// The data folder, which holds the database, the token and the address.
    pub home: PathBuf,
    /// Loopback port; 0 picks one.
    pub port: u16,
    /// The server's own workspace: always admitted, shown to the iOS app, and the fallback of the iOS endpoint.
    pub root: PathBuf,
    /// Access to the iOS endpoint. `None`: as set by the user.
    pub ios: Option<IosAccess>,
    pub network: NetworkConfig,
    /// Folders in which other agents keep their transcripts.
    pub history: HistoryRoots,
    /// Whether the bridge only serves a command and hands the data folder over to a permanent bridge.
    pub temporary: bool,
}

/// Resources that a bridge offers to its providers.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Transcripts of other agents.
    pub history: Arc<History>,
    /// Copies of them; `None` if the store cannot be opened.
    pub keeper: Option<Arc<Keeper>>,
    pub settings: Arc<dyn SettingsStore>,
    /// The data folder.
    pub home: PathBuf,
    /// The folder of installed agents in it.
    pub packages: PathBuf,
}

/// Time limit of a shutdown, apart from writing the last updates to the store. Anything still running after that is
/// abandoned, so that a user who quits does not wait for an agent.
const SHUTDOWN: Duration = Duration::from_millis(4_500);
/// The part of [`SHUTDOWN`] for running turns, which end within 100 ms of a cancel. After that, agents are stopped
/// together with their turns.
const TURNS: Duration = Duration::from_secs(1);
/// The minimum part of [`SHUTDOWN`] for sending the last updates to clients.
const CLIENTS: Duration = Duration::from_millis(500);

/// Time limit for closing the index of other agents' transcripts, which may be in the middle of a rebuild. The index is
/// only a cache.
const CLOSING: Duration = Duration::from_millis(500);

/// Time that a temporary bridge waits for another client.
const UNUSED: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(50);

/// A running bridge. Dropping it without [`Bridge::shutdown`] stops it at once, without waiting for turns or clients.
pub struct Bridge {
    address: SocketAddr,
    pub(crate) server: Arc<Server>,
    store: Store,
    notices: Vec<String>,
    instance: InstanceLock,
    accepting: CancellationToken,
    listeners: [JoinHandle<()>; 2],
    _guards: [DropGuard; 3],
}

impl fmt::Debug for Bridge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Bridge").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Bridge {
    /// Opens the store, binds the port and serves until [`Bridge::shutdown`].
    pub async fn start(config: BridgeConfig) -> Result<Self, BridgeError> {
        Self::start_with(config, |surroundings| Providers::rules(surroundings.history)).await
    }

    /// Like [`Bridge::start`], with other providers. `providers` may block.
    pub async fn start_with(
        config: BridgeConfig,
        providers: impl FnOnce(Surroundings) -> Providers + Send + 'static,
    ) -> Result<Self, BridgeError> {
        let interrupted =
            BridgeError::NotWritable { path: config.home.clone(), reason: "interrupted".to_owned() };
        let opening = config.clone();
        let data = run_blocking(move || Data::open(&opening)).await.unwrap_or(Err(interrupted))?;
        admission::raise_file_handles();
        let (address, listener) = bind(config.port).await?;
        data.instance.announce(address, &data.token.text, config.temporary)?;
        let (store, notices) = (data.store.clone(), data.notices);
        let connections = TaskTracker::new();
        let network = Network::new(
            config.home.clone(),
            config.network.clone(),
            address,
            data.settings.clone(),
            data.switches,
        );
        let devices =
            Devices::new(store.clone(), data.devices, data.tabs, network.clone(), connections.clone());
        let past = run_blocking({
            let (config, settings) = (config.clone(), data.settings.clone());
            move || OpenedHistory::open(config, settings, data.transcripts)
        });
        let past = past.await.ok_or(BridgeError::Providers)?;
        let services =
            build_services(config, store.clone(), data.settings, past, devices, network, providers).await?;
        let server = Arc::new(Server {
            services: Arc::new(services),
            token: data.token,
            back_off: BackOff::default(),
            limits: Limits::default(),
            remotes: Remotes::default(),
            closing: CancellationToken::new(),
            connections,
        });
        let accepting = CancellationToken::new();
        let guards = [&accepting, server.services.sessions.stopping(), &server.closing]
            .map(|token| token.clone().drop_guard());
        let gate = Gate {
            kind: Listener::Loopback,
            members: None,
            accepting: accepting.clone(),
            closing: server.closing.clone(),
        };
        let mut network_listeners = Listeners::new(server.clone(), accepting.clone());
        network_listeners.update().await;
        let listeners = [
            tokio::spawn(accept::listen(listener, gate, server.clone())),
            tokio::spawn(network_listeners.run()),
        ];
        Ok(Self {
            address,
            server,
            store,
            notices,
            instance: data.instance,
            accepting,
            listeners,
            _guards: guards,
        })
    }

    /// Returns the bound loopback address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the token for local use until the bridge ends: 64 hexadecimal digits.
    pub fn token(&self) -> &str {
        &self.server.token.text
    }

    /// Returns the 0600 file that holds the token.
    pub fn token_file(&self) -> &Path {
        &self.server.token.file
    }

    /// Returns the address of the page, with the token in the fragment.
    pub fn page_url(&self) -> String {
        format!("http://{}/#token={}", self.address, self.token())
    }

    /// Returns the state of the network: listeners, names and certificate.
    pub fn network(&self) -> Arc<NetworkState> {
        self.server.services.network.state()
    }

    /// Returns notices about the start to show to the user, one sentence each.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Resolves two seconds after the last client has left or, once `wanted` has resolved, as soon as no turn is
    /// running.
    pub async fn until_unused(&self, wanted: impl Future<Output = ()>) {
        let unused = async {
            let mut since = Instant::now();
            while since.elapsed() < UNUSED {
                sleep(POLL).await;
                if !self.server.connections.is_empty() {
                    since = Instant::now();
                }
            }
        };
        let handed_over = async {
            wanted.await;
            while !self.server.services.turns.is_idle() || self.is_installing() {
                sleep(POLL).await;
            }
        };
        tokio::select! {
            () = unused => {}
            () = handed_over => {}
        }
    }

    /// Returns whether an agent is being installed.
    fn is_installing(&self) -> bool {
        let agents = self.server.services.logins.as_ref().map(|agents| agents.snapshot().agents);
        let mut packages = agents.into_iter().flatten().filter_map(|card| card.package);
        packages.any(|package| package.progress.is_some())
    }

    /// Stops running turns, stores their last updates, closes every socket, and releases the data folder.
    ///
    /// Takes 5 s at most, unless the disk is slow. A turn, an agent or a client that has not ended by then is abandoned
    /// until the process exits, and the data folder is released only then.
    pub async fn shutdown(self) {
        let deadline = Instant::now() + SHUTDOWN;
        self.instance.withdraw();
        self.accepting.cancel();
        let services = self.server.services.clone();
        let (listeners, turns) = (self.listeners, services.turns.clone());
        let mut turns =
            Box::pin(async move { tokio::join!(futures::future::join_all(listeners), turns.stop()).0 });
        let ended = timeout(TURNS, &mut turns).await;
        let stop = |what: fn(&Services)| {
            let services = services.clone();
            run_blocking(move || what(&services))
        };
        let providers = async {
            tokio::join!(
                stop(|services| services.agents.iter().for_each(|agents| agents.shut_down())),
                stop(|services| services.models.iter().for_each(|models| models.shut_down())),
            );
        };
        if timeout_at(deadline - CLIENTS, providers).await.is_err() {
            tracing::warn!("an agent or a model did not stop in time");
        }
        let ended = match ended {
            Ok(listeners) => Some(listeners),
            Err(_) => timeout_at(deadline - CLIENTS, turns).await.ok(),
        };
        match &ended {
            Some(listeners) => listeners.iter().filter_map(|ended| ended.as_ref().err()).for_each(|error| {
                tracing::warn!(%error, "listener task failed");
            }),
            None => tracing::warn!("a turn did not end in time"),
        }
        let answers = &self.server.services.answers;
        answers.close();
        if timeout_at(deadline - CLIENTS / 2, answers.wait()).await.is_err() {
            tracing::warn!("some clients did not take their last answers in time");
        }
        self.server.closing.cancel();
        self.server.connections.close();
        if timeout_at(deadline, self.server.connections.wait()).await.is_err() {
            tracing::warn!("some clients did not disconnect in time");
        }
        let past = services.past_sessions.clone();
        if timeout_at(deadline + CLOSING, run_blocking(move || past.close())).await.is_err() {
            tracing::warn!("the index of other agents' sessions was not closed in time");
        }
        let store = self.store;
        drop((services, self.server));
        run_blocking(move || {
            if let Err(error) = store.flush() {
                tracing::error!(%error, "the last updates were not stored");
            }
            // After this, a copy of the database file alone is complete.
            if let Err(error) = store.checkpoint() {
                tracing::warn!(%error, "the last updates are in the log beside the database");
            }
            drop(store);
        })
        .await;
        match ended {
            Some(_) => drop(self.instance),
            // The turn may still write, so the lock is kept until the process exits.
            None => std::mem::forget(self.instance),
        }
    }
}

/// What a bridge reads from its data folder before it binds a port.
struct Data {
    instance: InstanceLock,
    token: Token,
    store: Store,
    notices: Vec<String>,
    devices: Vec<DeviceRow>,
    tabs: Tabs,
    settings: Arc<dyn SettingsStore>,
    switches: Switches,
    transcripts: Arc<dyn ListingCache>,
}

impl Data {
    /// Locks and opens the data folder. Blocks.
    fn open(config: &BridgeConfig) -> Result<Self, BridgeError> {
        let home = &config.home;
        let failed = |error: &dyn fmt::Display| BridgeError::NotWritable {
            path: home.clone(),
            reason: error.to_string(),
        };
        let instance = InstanceLock::take(home, config.temporary)?;
        let token = Token::create(home).map_err(|error| failed(&error))?;
        let store = open_store(home)?;
        let devices = load_devices(&store)?;
        let settings = Settings::new(store.clone(), home);
        let lost = settings.separate_history().unwrap_or_else(|error| {
            tracing::error!(%error, "could not separate the settings of other agents' sessions");
            None
        });
        let settings: Arc<dyn SettingsStore> = Arc::new(settings);
        let switches = Switches::load(&*settings, &config.network, config.ios)
            .map_err(|OpenOnNetwork| BridgeError::OpenOnNetwork)?;
        let tabs = Tabs::load(settings.clone()).map_err(|error| failed(&error))?;
        let notices: Vec<String> = store.notices().iter().cloned().chain(lost.map(str::to_owned)).collect();
        for notice in &notices {
            tracing::warn!("{notice}");
        }
        let transcripts = TranscriptCache::open(home);
        Ok(Self { instance, token, store, notices, devices, tabs, settings, switches, transcripts })
    }
}

/// Binds the loopback port; 0 picks one.
async fn bind(port: u16) -> Result<(SocketAddr, TcpListener), BridgeError> {
    let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let bound = TcpListener::bind(wanted).await.and_then(|bound| Ok((bound.local_addr()?, bound)));
    bound.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => BridgeError::PortBusy(port),
        _ => BridgeError::Listen { address: wanted, reason: error.to_string() },
    })
}

/// The transcripts of other agents, with their index where one can be opened.
struct OpenedHistory {
    history: Arc<History>,
    index: Option<Arc<HistoryIndex>>,
    usage: Option<UsageStore>,
    keeper: Option<Arc<Keeper>>,
    stored: StoredHistory,
}

impl OpenedHistory {
    /// Opens the index. Blocks.
    fn open(
        config: BridgeConfig,
        settings: Arc<dyn SettingsStore>,
        transcripts: Arc<dyn ListingCache>,
    ) -> Self {
        let stored = StoredHistory::load(&*settings);
        let index = HistoryIndex::open(&config.home)
            .inspect_err(|error| tracing::warn!(%error, "other agents' sessions are not indexed"))
            .ok()
            .map(Arc::new);
        let usage = UsageStore::open(&config.home)
            .inspect_err(|error| tracing::warn!(%error, "tokens are not counted"))
            .ok();
        let history = History::new(config.history, transcripts);
        history.exclude(stored.settings.excluded.clone());
        history.follow_moved(stored.settings.moved.clone());
        let history = match &index {
            Some(index) => history.with_words(index.clone()),
            None => history,
        };
        let kept = KeptCopies::open(&config.home)
            .inspect_err(|error| tracing::warn!(%error, "no sessions are kept, and kept ones are not shown"))
            .ok();
        let history = Arc::new(match &kept {
            Some(copies) => history.with_copies(copies.clone()),
            None => history,
        });
        let keep = KeepSettings::stored(&*settings)
            .inspect_err(|error| tracing::error!(%error, "could not read the settings of kept copies; nothing is kept"))
            .unwrap_or_default();
        // Without the exclusions, everything would count as excluded and be erased.
        let kept = kept.filter(|_| stored.is_known());
        let keeper = kept.map(|copies| Keeper::start(copies, history.clone(), keep, !config.temporary));
        Self { history, index, usage, keeper, stored }
    }
}

async fn build_services(
    config: BridgeConfig,
    store: Store,
    settings: Arc<dyn SettingsStore>,
    past: OpenedHistory,
    devices: Arc<Devices>,
    network: Arc<Network>,
    providers: impl FnOnce(Surroundings) -> Providers + Send + 'static,
) -> Result<Services, BridgeError> {
    let OpenedHistory { history, index, usage, keeper, stored } = past;
    let (home, packages) = (config.home.clone(), config.home.join("agents"));
    let surroundings = Surroundings {
        history: history.clone(),
        keeper: keeper.clone(),
        settings: settings.clone(),
        home,
        packages,
    };
    let providers = run_blocking(move || providers(surroundings)).await.ok_or(BridgeError::Providers)?;
    let models = providers.models.clone().map(Managed::models);
    let logins = providers.agents.clone();
    let agents = logins.clone().map(Managed::agents);
    let root = config.root.canonicalize().unwrap_or(config.root);
    let sessions = SessionRegistry::new(store, history.clone(), root);
    let turns = TurnExecutor::new(sessions.clone(), settings.clone(), providers);
    let inspector = Arc::new(Inspector::default());
    let ios = openagents_ios::services::Services::new(
        sessions.clone(),
        turns.clone(),
        inspector.clone(),
        devices.clone(),
        network.clone(),
    );
    let labels = sessions.labels().clone();
    Ok(Services {
        trust: sessions::feed(&sessions),
        prepared_files: Arc::default(),
        past_sessions: PastSessions::new(
            history,
            index,
            (usage, keeper),
            labels,
            settings.clone(),
            stored,
            !config.temporary,
        ),
        sessions,
        turns,
        inspector,
        models,
        agents,
        logins,
        privacy: Managed::privacy(settings),
        devices,
        network,
        files: Arc::default(),
        symbols: Arc::default(),
        ios,
        answers: TaskTracker::new(),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use openagents_remote::network::switches::NetworkConfig;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Starts a bridge with a temporary data folder that serves only this computer.
    pub(crate) async fn started() -> (Bridge, tempfile::TempDir) {
        let home = tempfile::tempdir().unwrap();
        let config = BridgeConfig {
            home: home.path().join("data"),
            port: 0,
            root: home.path().to_owned(),
            ios: None,
            network: NetworkConfig { announce: false, ..NetworkConfig::default() },
            history: Default::default(),
            temporary: false,
        };
        (Bridge::start(config).await.unwrap(), home)
    }

    /// Regression: the last answers raced with the end of their connections.
    #[tokio::test]
    async fn shutdown_sends_last_answers_before_closing() {
        let (bridge, _home) = started().await;
        let is_sent = Arc::new(AtomicBool::new(false));
        let (sent, server) = (is_sent.clone(), bridge.server.clone());
        // An answer to a client that is slow to take it.
        bridge.server.services.answers.spawn(async move {
            server.services.sessions.stopping().cancelled().await;
            sleep(Duration::from_millis(300)).await;
            sent.store(!server.closing.is_cancelled(), Ordering::SeqCst);
        });
        bridge.shutdown().await;
        assert!(is_sent.load(Ordering::SeqCst));
    }
}
