//! The state of the network, as shown to clients and the command line.

use super::{addresses::LOCAL, switches::Switches};
use crate::{
    network::switches::NetworkConfig,
    tls::{authority::Authority, profile},
};
use openagents_connection::{fault::Fault, pass};
use openagents_core::model::SettingsStore;
use openagents_sessions::run_blocking;
use openagents_wire::{IosAccess, Listener, NetworkChange, OpenListener};
use parking_lot::Mutex;
use rustls::ServerConfig;
use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The switches and the open ports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkState {
    /// Whether network access to the page and ACP is on.
    pub lan: bool,
    /// The access of the iOS app.
    pub ios: IosAccess,
    pub computer: String,
    pub listeners: Vec<OpenListener>,
    /// SHA-256 of the authority's certificate, which phones install: `AB:CD:…`.
    pub fingerprint: Option<String>,
    /// When the certificate expires, in milliseconds since the epoch. It is renewed before then.
    pub certificate_until: Option<i64>,
    /// A problem to show to the user: one or more sentences.
    pub problem: Option<String>,
    /// Whether any switch was set on the command line; such switches cannot be changed.
    pub fixed: bool,
    /// The `.local` name of this computer, and its other names.
    pub hosts: Vec<String>,
}

impl NetworkState {
    pub fn addresses(&self, kind: Listener) -> impl Iterator<Item = SocketAddr> {
        let open = self.listeners.iter().filter(move |listener| listener.kind == kind);
        open.map(|listener| listener.address)
    }

    /// Returns the page's URLs for other devices, most likely to work first: `https://192.168.1.5:9443`.
    pub fn pages(&self) -> Vec<String> {
        let mut open: Vec<SocketAddr> = self.addresses(Listener::Web).collect();
        open.sort_by_key(|address| (address.is_ipv6(), *address));
        let (local, others): (Vec<&String>, Vec<&String>) =
            self.hosts.iter().partition(|host| host.ends_with(LOCAL));
        let port = open.first().map(SocketAddr::port);
        let v4 = open.iter().filter(|address| address.is_ipv4()).map(|address| format!("https://{address}"));
        let local =
            port.into_iter().flat_map(|port| local.iter().map(move |host| format!("https://{host}:{port}")));
        // A proxy for such a name terminates TLS on port 443.
        let others = others.iter().map(|host| format!("https://{host}"));
        let v6 = open.iter().filter(|address| address.is_ipv6()).map(|address| format!("https://{address}"));
        v4.chain(local).chain(others).chain(v6).collect()
    }
}

/// How long a switch request waits for the change to take effect.
const SETTLED: Duration = Duration::from_secs(10);

type OnChange = Arc<dyn Fn() + Send + Sync>;

/// The network switches, the served state and its watchers.
///
/// **Architecture invariant:** nothing binds to all addresses, and nothing beyond loopback is served until the user
/// switches it on.
pub struct Network {
    pub home: PathBuf,
    pub config: NetworkConfig,
    /// The bound loopback address; the clear-text port on the network has the same number.
    pub loopback: SocketAddr,
    store: Arc<dyn SettingsStore>,
    pub switches: watch::Sender<Switches>,
    /// The number of the last applied change of the switches.
    pub settled: watch::Sender<u64>,
    state: Mutex<Arc<NetworkState>>,
    pub tls: Mutex<Option<(Arc<Authority>, Arc<ServerConfig>)>>,
    watchers: Mutex<Vec<OnChange>>,
    ios: Mutex<CancellationToken>,
}

impl Network {
    pub fn new(
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

    pub fn state(&self) -> Arc<NetworkState> {
        self.state.lock().clone()
    }

    pub(crate) fn watch(&self, on_change: OnChange) {
        self.watchers.lock().push(on_change);
    }

    pub fn ios(&self) -> IosAccess {
        self.switches.borrow().ios
    }

    /// Returns the token that is cancelled when the iOS access setting changes.
    pub fn ios_changes(&self) -> CancellationToken {
        self.ios.lock().clone()
    }

    pub(crate) async fn switch(&self, switch: NetworkChange) -> Result<(), Fault> {
        let switches = self.switches.borrow().changed(switch).map_err(Fault::busy)?;
        let (store, written) = (self.store.clone(), switches.clone());
        let written = run_blocking(move || written.store(&*store)).await;
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
    pub fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.tls.lock().as_ref().map(|(_, config)| config.clone())
    }

    /// Returns the authority's certificate as PEM, and as a configuration profile.
    pub fn installable(&self) -> Option<(String, String)> {
        let (authority, _) = self.tls.lock().clone()?;
        Some((authority.pem().to_owned(), profile::profile(&authority, pass::computer_name())))
    }

    pub fn publish(&self, state: NetworkState) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_state_pages_and_wire_format() {
        let open = |kind, address: &str| OpenListener { kind, address: address.parse().unwrap() };
        let state = NetworkState {
            lan: true,
            ios: IosAccess::Ask,
            computer: "mac".to_owned(),
            listeners: vec![
                open(Listener::Loopback, "127.0.0.1:9099"),
                open(Listener::Web, "[fd00::2]:9443"),
                open(Listener::Web, "192.168.1.5:9443"),
                open(Listener::App, "192.168.1.5:9099"),
            ],
            fingerprint: Some("AB:CD".to_owned()),
            certificate_until: Some(7),
            problem: None,
            fixed: false,
            hosts: vec!["mac.local".to_owned(), "mac.tail1234.ts.net".to_owned()],
        };
        assert_eq!(
            state.pages(),
            [
                "https://192.168.1.5:9443",
                "https://mac.local:9443",
                "https://mac.tail1234.ts.net",
                "https://[fd00::2]:9443"
            ]
        );
    }
}
