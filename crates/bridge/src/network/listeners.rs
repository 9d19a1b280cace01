//! Opens and closes the ports of the network as the switches, the addresses and the certificate change.
//!
//! Looked at every few seconds rather than told by the operating system: one small call that is the same everywhere,
//! made only while something is switched on, finds a new address as soon as a person would notice, and is the moment
//! for the other things that have to be looked at again: a port that was taken, a certificate that ends.

use super::{
    Network,
    accept::{self, Gate},
    addresses,
    authority::{Authority, AuthorityError},
    leaf::{Leaf, Names},
    mdns::Announcer,
    state::{NetworkState, OpenListener},
    switches::Switches,
};
use crate::{IosAccess, http::Listener, machine, shared::Shared};
use openagents_sessions::run_blocking;
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, PoisonError},
    time::{Duration, SystemTime},
};
use tokio::{net::TcpListener, task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

/// How often the network is looked at while something is served.
const EVERY: Duration = Duration::from_secs(5);
/// How often a certificate that could not be made is tried again.
const AGAIN: Duration = Duration::from_secs(60);

/// The open ports of the network.
pub(crate) struct Listeners {
    shared: Arc<Shared>,
    network: Arc<Network>,
    /// Cancelled when nobody new is let in.
    accepting: CancellationToken,
    open: BTreeMap<(Listener, SocketAddr), Open>,
    /// Of the encrypted listener; picked once.
    web_port: u16,
    authority: Option<Arc<Authority>>,
    leaf: Option<Leaf>,
    /// What happened to an authority that could not be used.
    notice: Option<String>,
    /// Why there is no certificate, and since when.
    failed: Option<(String, Instant)>,
    announcer: Announcer,
    /// Where the iOS app was served last.
    apps: BTreeSet<IpAddr>,
}

struct Open {
    gate: Gate,
    task: JoinHandle<()>,
}

impl std::fmt::Debug for Listeners {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Listeners").field("open", &self.open.keys()).finish_non_exhaustive()
    }
}

impl Listeners {
    pub(crate) fn new(shared: Arc<Shared>, accepting: CancellationToken) -> Self {
        let network = shared.network.clone();
        let web_port = network.config.port;
        Self {
            shared,
            network,
            accepting,
            open: BTreeMap::new(),
            web_port,
            authority: None,
            leaf: None,
            notice: None,
            failed: None,
            announcer: Announcer::default(),
            apps: BTreeSet::new(),
        }
    }

    /// Keeps the ports as they should be until nobody new is let in any more.
    pub(crate) async fn run(mut self) {
        let accepting = self.accepting.clone();
        let mut switches = self.network.switches.subscribe();
        loop {
            let serves = self.network.switches.borrow().serves();
            tokio::select! {
                () = accepting.cancelled() => break,
                changed = switches.changed() => if changed.is_err() { break },
                () = tokio::time::sleep(EVERY), if serves => {}
            }
            self.look().await;
        }
        self.announcer.stop().await;
        for (_, open) in std::mem::take(&mut self.open) {
            let _ = open.task.await;
        }
    }

    /// Opens what should be open and closes what should not.
    pub(crate) async fn look(&mut self) {
        let switches = self.network.switches.borrow().clone();
        let mut problems = Vec::new();
        let addresses = match self.addresses(&switches) {
            Ok(addresses) => addresses,
            Err(error) => {
                problems.push(format!("The addresses of this computer cannot be read: {error}."));
                self.open.keys().map(|(_, address)| address.ip()).collect()
            }
        };
        if switches.serves() && addresses.is_empty() && problems.is_empty() {
            problems.push("This computer has no network address just now.".to_owned());
        }
        if switches.lan {
            problems.extend(
                self.certify(addresses::certified(&addresses, machine::name(), &switches.names)).await,
            );
        }
        let has_certificate = self.network.tls().is_some();
        let mut wanted = BTreeSet::new();
        if switches.lan && has_certificate {
            wanted.extend(addresses.iter().map(|address| (Listener::Web, *address)));
        }
        if switches.ios == IosAccess::Ask {
            // The app knows no other addresses.
            let v4 = addresses.iter().filter(|address| address.is_ipv4());
            wanted.extend(v4.map(|address| (Listener::App, *address)));
        }
        self.close(&wanted).await;
        self.end_apps_elsewhere(&wanted);
        for (kind, address) in wanted {
            problems.extend(self.bind(kind, address).await);
        }
        let mut state = self.state(&switches);
        if self.network.config.announce {
            problems.extend(self.announcer.announce(&state).await);
        }
        state.problem = (!problems.is_empty()).then(|| problems.join(" "));
        self.network.publish(state);
        self.network.settled.send_replace(switches.change);
    }

    fn addresses(&self, switches: &Switches) -> io::Result<BTreeSet<IpAddr>> {
        match &self.network.config.addresses {
            _ if !switches.serves() => Ok(BTreeSet::new()),
            Some(addresses) => Ok(addresses.iter().copied().collect()),
            None => addresses::of_this_computer(),
        }
    }

    /// Sees to it that there is a certificate for `names`. Returns what a person should know.
    async fn certify(&mut self, names: Names) -> Option<String> {
        let now = SystemTime::now();
        if !self.leaf.as_ref().is_some_and(|leaf| leaf.does(&names, now)) {
            let failed_lately = self.failed.as_ref().filter(|(_, at)| at.elapsed() < AGAIN);
            if let Some((why, _)) = failed_lately {
                return Some(why.clone());
            }
            self.failed = None;
            if let Err(error) = self.make_certificate(names, now).await {
                tracing::warn!(%error, "there is no certificate for the network");
                let why = format!("The network cannot be served encrypted: {error}.");
                self.failed = Some((why.clone(), Instant::now()));
                return Some(why);
            }
        }
        let too_early = self.authority.as_ref().and_then(|authority| authority.too_early(now));
        too_early.or_else(|| self.notice.clone())
    }

    async fn make_certificate(&mut self, names: Names, now: SystemTime) -> Result<(), AuthorityError> {
        let (home, known) = (self.network.home.clone(), self.authority.clone());
        let made = run_blocking(move || {
            let (authority, notice) = match known {
                Some(known) => (known, None),
                None => {
                    let (authority, notice) = Authority::open(&home, machine::name(), now)?;
                    (Arc::new(authority), notice)
                }
            };
            Ok((authority.clone(), notice, authority.leaf(&names, now)))
        });
        let interrupted = || AuthorityError::Make("interrupted".to_owned());
        let (authority, notice, leaf) = made.await.unwrap_or_else(|| Err(interrupted()))?;
        if let Some(notice) = notice {
            tracing::warn!("{notice}");
            self.notice = Some(notice);
        }
        // Its own days may be over: it is looked at anew the next time.
        let leaf = leaf.inspect_err(|_| self.authority = None)?;
        self.authority = Some(authority.clone());
        *self.network.authority.lock().unwrap_or_else(PoisonError::into_inner) = Some(authority);
        let config = leaf.server_config().map_err(|error| AuthorityError::Make(error.to_string()))?;
        *self.network.tls.write().unwrap_or_else(PoisonError::into_inner) = Some(config);
        self.leaf = Some(leaf);
        Ok(())
    }

    /// Closes what is not wanted any more, its connections as well.
    async fn close(&mut self, wanted: &BTreeSet<(Listener, IpAddr)>) {
        let unwanted = |(kind, address): &&(Listener, SocketAddr)| !wanted.contains(&(*kind, address.ip()));
        let unwanted: Vec<_> = self.open.keys().filter(unwanted).copied().collect();
        for place in unwanted {
            if let Some(open) = self.open.remove(&place) {
                open.gate.close();
                let _ = open.task.await;
            }
        }
    }

    /// In another network, another phone has the address that was allowed. None at all is no other network: it is soon
    /// there again.
    fn end_apps_elsewhere(&mut self, wanted: &BTreeSet<(Listener, IpAddr)>) {
        let is_app = |(kind, _): &&(Listener, IpAddr)| *kind == Listener::App;
        let apps: BTreeSet<IpAddr> = wanted.iter().filter(is_app).map(|(_, address)| *address).collect();
        if apps.is_empty() || apps == self.apps {
            return;
        }
        if !std::mem::replace(&mut self.apps, apps).is_empty() {
            self.shared.devices.end_apps();
        }
    }

    /// Opens a port unless it is open. Returns why it cannot be.
    async fn bind(&mut self, kind: Listener, address: IpAddr) -> Option<String> {
        if self.open.keys().any(|(known, place)| *known == kind && place.ip() == address) {
            return None;
        }
        let port = if kind == Listener::App { self.network.loopback.port() } else { self.web_port };
        let place = SocketAddr::from((address, port));
        // Both kinds would wait at one door.
        if place == self.network.loopback {
            return None;
        }
        let bound = match TcpListener::bind(place).await.and_then(|bound| Ok((bound.local_addr()?, bound))) {
            Ok(bound) => bound,
            Err(error) => return Some(unbound(kind, place, &error)),
        };
        let (place, listener) = bound;
        if kind == Listener::Web {
            self.web_port = place.port();
        }
        let gate = Gate {
            kind,
            accepting: self.accepting.child_token(),
            closing: self.shared.closing.child_token(),
        };
        let task = tokio::spawn(accept::listen(listener, gate.clone(), self.shared.clone()));
        tracing::info!(?kind, %place, "served on the network");
        self.open.insert((kind, place), Open { gate, task });
        None
    }

    fn state(&self, switches: &Switches) -> NetworkState {
        let loopback = OpenListener { kind: Listener::Loopback, address: self.network.loopback };
        let open = self.open.keys().map(|(kind, address)| OpenListener { kind: *kind, address: *address });
        let leaf = self.leaf.as_ref().filter(|_| switches.lan);
        let local = addresses::local_name(machine::name()).filter(|_| switches.serves());
        NetworkState {
            lan: switches.lan,
            ios: switches.ios,
            computer: machine::name().to_owned(),
            listeners: std::iter::once(loopback).chain(open).collect(),
            fingerprint: leaf.and(self.authority.as_ref()).map(|authority| authority.fingerprint()),
            certificate_until: leaf.map(Leaf::until),
            problem: None,
            fixed: switches.is_fixed(),
            hosts: local.into_iter().chain(switches.names.iter().cloned()).collect(),
        }
    }
}

fn unbound(kind: Listener, place: SocketAddr, error: &io::Error) -> String {
    let (port, address) = (place.port(), place.ip());
    match (error.kind(), kind) {
        (io::ErrorKind::AddrInUse, Listener::Web) => format!(
            "Port {port} of {address} is in use by another program; OpenAgents tries again, or choose another with \
             --lan-port."
        ),
        (io::ErrorKind::AddrInUse, _) => {
            format!("Port {port} of {address} is in use by another program; OpenAgents tries again.")
        }
        _ => format!("OpenAgents cannot listen on {place}: {error}."),
    }
}
