//! Network access for other devices: listeners, certificates and discovery.
//!
//! **Architecture invariant:** nothing binds to all addresses, and nothing beyond loopback is served until the user
//! switches it on.

use super::{state::NetworkState, switches::Switch, switches::Switches};
use crate::{
    base::{config::IosAccess, config::NetworkConfig, error::Fault, machine},
    tls::{authority::Authority, profile},
};
use openagents_core::model::SettingsStore;
use openagents_sessions::run_blocking;
use parking_lot::Mutex;
use rustls::ServerConfig;
use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};
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
    /// The authority, and the TLS configuration with a certificate that it has signed.
    pub(crate) tls: Mutex<Option<(Arc<Authority>, Arc<ServerConfig>)>>,
    watchers: Mutex<Vec<OnChange>>,
    /// Cancelled when the iOS access setting changes.
    ios: Mutex<CancellationToken>,
}

impl Network {
    pub(crate) fn new(
        home: PathBuf,
        config: NetworkConfig,
        loopback: SocketAddr,
        store: Arc<dyn SettingsStore>,
        switches: Switches,
    ) -> Arc<Self> {
        Arc::new(Self {
            home,
            config,
            loopback,
            store,
            switches: watch::Sender::new(switches),
            settled: watch::Sender::new(0),
            state: Mutex::default(),
            tls: Mutex::default(),
            watchers: Mutex::default(),
            ios: Mutex::default(),
        })
    }

    pub(crate) fn state(&self) -> Arc<NetworkState> {
        self.state.lock().clone()
    }

    pub(crate) fn watch(&self, on_change: OnChange) {
        self.watchers.lock().push(on_change);
    }

    pub(crate) fn ios(&self) -> IosAccess {
        self.switches.borrow().ios
    }

    /// Returns the token that is cancelled when the iOS access setting changes.
    pub(crate) fn ios_changes(&self) -> CancellationToken {
        self.ios.lock().clone()
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
            std::mem::take(&mut *self.ios.lock()).cancel();
        }
        let mut settled = self.settled.subscribe();
        // On a timeout the feed reports the result later.
        let _ = tokio::time::timeout(SETTLED, settled.wait_for(|settled| *settled >= change)).await;
        Ok(())
    }

    /// Returns the current TLS configuration; `None` without a certificate.
    pub(crate) fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.tls.lock().as_ref().map(|(_, config)| config.clone())
    }

    /// Returns the authority's certificate as PEM, and as a configuration profile.
    pub(crate) fn installable(&self) -> Option<(String, String)> {
        let (authority, _) = self.tls.lock().clone()?;
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
