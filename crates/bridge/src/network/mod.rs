//! The network: what is served to other devices, under which certificate, and how they find it.
//!
//! **Architecture invariant:** nothing is bound to all addresses, and nothing beyond loopback is served before a person
//! has switched it on.

mod accept;
mod addresses;
mod authority;
mod files;
mod leaf;
mod listeners;
mod mdns;
mod profile;
mod state;
mod switches;

pub(crate) use accept::{Gate, listen};
pub(crate) use addresses::host_name;
pub(crate) use listeners::Listeners;
pub(crate) use profile::{CERTIFICATE, CERTIFICATE_TYPE, PROFILE, PROFILE_TYPE};
pub use state::{NetworkState, OpenListener};

use crate::{BridgeError, IosAccess, NetworkConfig, error::Fault, machine};
use authority::Authority;
use openagents_core::model::SettingsStore;
use openagents_sessions::run_blocking;
use rustls::ServerConfig;
use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};
pub(crate) use switches::Switch;
use switches::Switches;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How long a switch may take before whoever switched is told how everything stands.
const SETTLED: Duration = Duration::from_secs(10);

type OnChange = Arc<dyn Fn() + Send + Sync>;

/// What is switched on, what is served, and who wants to know.
pub(crate) struct Network {
    home: PathBuf,
    config: NetworkConfig,
    /// The bound loopback address; the clear port of the network has the same number.
    loopback: SocketAddr,
    store: Arc<dyn SettingsStore>,
    switches: watch::Sender<Switches>,
    /// The number of the last change of the switches that was carried out.
    settled: watch::Sender<u64>,
    state: Mutex<Arc<NetworkState>>,
    tls: RwLock<Option<Arc<ServerConfig>>>,
    authority: Mutex<Option<Arc<Authority>>>,
    watchers: Mutex<Vec<OnChange>>,
    /// Cancelled when the door of the iOS app is switched to something else.
    ios: Mutex<CancellationToken>,
}

impl std::fmt::Debug for Network {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Network").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Network {
    /// Reads what is switched on. Blocks.
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

    /// Returns what is switched on and what is served.
    pub(crate) fn state(&self) -> Arc<NetworkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// `on_change` is called whenever the state changes.
    pub(crate) fn watch(&self, on_change: OnChange) {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).push(on_change);
    }

    /// Returns who may use the door of the iOS app.
    pub(crate) fn ios(&self) -> IosAccess {
        self.switches.borrow().ios
    }

    /// Returns what is cancelled when that changes.
    pub(crate) fn ios_changes(&self) -> CancellationToken {
        self.ios.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the addresses that are served to others, and the names that this computer has.
    pub(crate) fn hosts(&self) -> (BTreeSet<IpAddr>, Vec<String>) {
        let state = self.state();
        (state.served().collect(), state.hosts.clone())
    }

    /// Switches what is served, keeps that, and waits until it is so.
    pub(crate) async fn switch(&self, switch: Switch) -> Result<(), Fault> {
        let switches = self.switches.borrow().changed(switch).map_err(Fault::busy)?;
        let (store, written) = (self.store.clone(), switches.clone());
        let written = run_blocking(move || written.write(&*store)).await;
        written.unwrap_or_else(|| Err("interrupted".to_owned())).map_err(Fault::internal)?;
        let change = switches.change;
        let before = self.switches.send_replace(switches.clone());
        if before.ios != switches.ios {
            let mut ios = self.ios.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *ios).cancel();
        }
        let mut settled = self.settled.subscribe();
        // Whoever waits longer is told by the feed.
        let _ = tokio::time::timeout(SETTLED, settled.wait_for(|settled| *settled >= change)).await;
        Ok(())
    }

    /// Returns how TLS is spoken now.
    pub(crate) fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.tls.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the authority's certificate as a text, and as a profile.
    pub(crate) fn installable(&self) -> Option<(String, String)> {
        let authority = self.authority.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        Some((authority.pem().to_owned(), profile::profile(&authority, machine::name())))
    }

    fn publish(&self, state: NetworkState) {
        {
            let mut known = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if **known == state {
                return;
            }
            *known = Arc::new(state);
        }
        let watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        watchers.iter().for_each(|changed| changed());
    }
}
