//! Network access for other devices: listeners, certificates and discovery.
//!
//! **Architecture invariant:** nothing binds to all addresses, and nothing beyond loopback is served until a person
//! switches it on.

use super::{state::NetworkState, switches::Switch, switches::Switches};
use crate::{
    base::{config::IosAccess, config::NetworkConfig, error::BridgeError, error::Fault, machine},
    tls::{authority::Authority, profile},
};
use openagents_core::model::SettingsStore;
use openagents_sessions::run_blocking;
use parking_lot::{Mutex, RwLock};
use rustls::ServerConfig;
use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How long a switch request waits for the change to take effect.
const SETTLED: Duration = Duration::from_secs(10);

type OnChange = Arc<dyn Fn() + Send + Sync>;

/// The network switches, the served state and its watchers.
pub(crate) struct Network {
    pub(crate) home: PathBuf,
    pub(crate) config: NetworkConfig,
    /// The bound loopback address; the clear-text port on the network has the same number.
    pub(crate) loopback: SocketAddr,
    store: Arc<dyn SettingsStore>,
    pub(crate) switches: watch::Sender<Switches>,
    /// The number of the last applied change of the switches.
    pub(crate) settled: watch::Sender<u64>,
    state: Mutex<Arc<NetworkState>>,
    pub(crate) tls: RwLock<Option<Arc<ServerConfig>>>,
    pub(crate) authority: Mutex<Option<Arc<Authority>>>,
    watchers: Mutex<Vec<OnChange>>,
    /// Cancelled when the access of the iOS app changes.
    ios: Mutex<CancellationToken>,
}

impl std::fmt::Debug for Network {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Network").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Network {
    /// Reads the switches. Blocks.
    pub(crate) fn open(
        home: PathBuf,
        config: NetworkConfig,
        ios: Option<IosAccess>,
        loopback: SocketAddr,
        store: Arc<dyn SettingsStore>,
    ) -> Result<Arc<Self>, BridgeError> {
        let switches = Switches::read(&*store, &config, ios)?;
        let state = NetworkState {
            lan: switches.lan,
            ios: switches.ios,
            computer: machine::name().to_owned(),
            listeners: Vec::new(),
            fingerprint: None,
            certificate_until: None,
            problem: None,
            fixed: switches.is_fixed(),
            hosts: Vec::new(),
        };
        Ok(Arc::new(Self {
            home,
            config,
            loopback,
            store,
            switches: watch::Sender::new(switches),
            settled: watch::Sender::new(0),
            state: Mutex::new(Arc::new(state)),
            tls: RwLock::default(),
            authority: Mutex::default(),
            watchers: Mutex::default(),
            ios: Mutex::default(),
        }))
    }

    /// Returns the switches and the open ports.
    pub(crate) fn state(&self) -> Arc<NetworkState> {
        self.state.lock().clone()
    }

    /// Calls `on_change` whenever the state changes.
    pub(crate) fn watch(&self, on_change: OnChange) {
        self.watchers.lock().push(on_change);
    }

    /// Returns the access of the iOS app.
    pub(crate) fn ios(&self) -> IosAccess {
        self.switches.borrow().ios
    }

    /// Returns the token that is cancelled when the access of the iOS app changes.
    pub(crate) fn ios_changes(&self) -> CancellationToken {
        self.ios.lock().clone()
    }

    /// Returns the addresses served to other devices, and the names of this computer.
    pub(crate) fn hosts(&self) -> (BTreeSet<IpAddr>, Vec<String>) {
        let state = self.state();
        (state.served().collect(), state.hosts.clone())
    }

    /// Stores a change of the switches and waits until it takes effect.
    pub(crate) async fn switch(&self, switch: Switch) -> Result<(), Fault> {
        let switches = self.switches.borrow().changed(switch).map_err(Fault::busy)?;
        let (store, written) = (self.store.clone(), switches.clone());
        let written = run_blocking(move || written.write(&*store)).await;
        written.unwrap_or_else(|| Err("interrupted".to_owned())).map_err(Fault::internal)?;
        let change = switches.change;
        let before = self.switches.send_replace(switches.clone());
        if before.ios != switches.ios {
            let mut ios = self.ios.lock();
            std::mem::take(&mut *ios).cancel();
        }
        let mut settled = self.settled.subscribe();
        // On a timeout the feed reports the result later.
        let _ = tokio::time::timeout(SETTLED, settled.wait_for(|settled| *settled >= change)).await;
        Ok(())
    }

    /// Returns the current TLS configuration; `None` without a certificate.
    pub(crate) fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.tls.read().clone()
    }

    /// Returns the authority's certificate as PEM, and as a configuration profile.
    pub(crate) fn installable(&self) -> Option<(String, String)> {
        let authority = self.authority.lock().clone()?;
        Some((authority.pem().to_owned(), profile::profile(&authority, machine::name())))
    }

    pub(crate) fn publish(&self, state: NetworkState) {
        {
            let mut known = self.state.lock();
            if **known == state {
                return;
            }
            *known = Arc::new(state);
        }
        let watchers = self.watchers.lock().clone();
        watchers.iter().for_each(|changed| changed());
    }
}
