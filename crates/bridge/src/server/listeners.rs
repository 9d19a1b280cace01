//! Opens and closes network ports as the switches, the addresses and the certificate change.
//!
//! Addresses are polled rather than watched: the call is cheap, works the same everywhere, and each poll also retries a
//! busy port and renews an expiring certificate.

use super::{accept, accept::Gate, state::Server};
use openagents_connection::pass;
use openagents_remote::{
    network::{
        addresses::{self, Served},
        links::{self, Links},
        mdns::Announcer,
        state::{Network, NetworkState},
        switches::Switches,
    },
    prefix::Prefix,
    tls::{
        authority::Authority,
        files::AuthorityError,
        leaf::{Leaf, Names},
    },
};
use openagents_sessions::run_blocking;
use openagents_wire::{IosAccess, Listener, OpenListener};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::{net::TcpListener, task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

/// Polling interval while something is served.
const EVERY: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_secs(60);

pub(crate) struct Listeners {
    server: Arc<Server>,
    network: Arc<Network>,
    accepting: CancellationToken,
    open: BTreeMap<(Listener, SocketAddr), Open>,
    web_port: u16,
    authority: Option<Arc<Authority>>,
    leaf: Option<Leaf>,
    notice: Option<String>,
    failed: Option<(String, Instant)>,
    announcer: Announcer,
    /// The networks on which iOS apps are allowed.
    links: Links,
}

/// The ports to open, and the peers that may connect to each; `None` means any peer.
type Wanted = BTreeMap<(Listener, IpAddr), Option<Prefix>>;

struct Open {
    gate: Gate,
    task: JoinHandle<()>,
}

impl Listeners {
    pub(crate) fn new(server: Arc<Server>, accepting: CancellationToken) -> Self {
        let network = server.services.network.clone();
        let web_port = network.config.port;
        Self {
            server,
            network,
            accepting,
            open: BTreeMap::new(),
            web_port,
            authority: None,
            leaf: None,
            notice: None,
            failed: None,
            announcer: Announcer::default(),
            links: Links::default(),
        }
    }

    /// Keeps the open ports up to date until `accepting` is cancelled.
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
            self.update().await;
        }
        self.announcer.stop().await;
        for (_, open) in std::mem::take(&mut self.open) {
            let _ = open.task.await;
        }
    }

    /// Opens and closes ports to match the switches.
    pub(crate) async fn update(&mut self) {
        let switches = self.network.switches.borrow().clone();
        let mut problems = Vec::new();
        let addresses = match self.addresses(&switches) {
            Ok(addresses) => addresses,
            Err(error) => {
                problems.push(format!("The addresses of this computer cannot be read: {error}."));
                self.open.iter().map(|((_, address), open)| (address.ip(), open.gate.members)).collect()
            }
        };
        if switches.serves() && addresses.is_empty() && problems.is_empty() {
            problems.push("This computer has no address on a private network.".to_owned());
        }
        if switches.lan {
            problems.extend(
                self.certify(addresses::certificate_names(addresses.keys().copied(), pass::computer_name()))
                    .await,
            );
        }
        let has_certificate = self.network.tls().is_some();
        let mut wanted = BTreeMap::new();
        if switches.lan && has_certificate {
            wanted.extend(addresses.iter().map(|(address, members)| ((Listener::Web, *address), *members)));
        }
        if switches.ios == IosAccess::Ask {
            // The app supports IPv4 only.
            let v4 = addresses.iter().filter(|(address, _)| address.is_ipv4());
            wanted.extend(v4.map(|(address, members)| ((Listener::App, *address), *members)));
        }
        self.close_unwanted(&wanted).await;
        self.end_apps_elsewhere(&wanted).await;
        for ((kind, address), members) in wanted {
            problems.extend(self.bind(kind, address, members).await);
        }
        let mut state = self.state(&switches);
        if self.network.config.announce {
            problems.extend(self.announcer.announce(&state).await);
        }
        state.problem = (!problems.is_empty()).then(|| problems.join(" "));
        self.network.publish(state);
        self.network.settled.send_replace(switches.change);
    }

    fn addresses(&self, switches: &Switches) -> io::Result<Served> {
        match &self.network.config.addresses {
            _ if !switches.serves() => Ok(Served::new()),
            Some(addresses) => Ok(addresses.iter().map(|address| (*address, None)).collect()),
            None => addresses::served_addresses(&switches.addresses),
        }
    }

    /// Ensures that there is a certificate for `names`. Returns a problem to show to the user, if any.
    async fn certify(&mut self, names: Names) -> Option<String> {
        let now = SystemTime::now();
        let permitted = |authority: &Arc<Authority>| authority.permitted(&names);
        let needed = self.authority.as_ref().map_or_else(|| names.clone(), permitted);
        if !self.leaf.as_ref().is_some_and(|leaf| leaf.covers(&needed, now)) {
            let failed_lately = self.failed.as_ref().filter(|(_, at)| at.elapsed() < AGAIN);
            if let Some((why, _)) = failed_lately {
                return Some(why.clone());
            }
            self.failed = None;
            if let Err(error) = self.make_certificate(names.clone(), now).await {
                tracing::warn!(%error, "could not create the network certificate");
                let why = format!("Encrypted access couldn't start: {error}.");
                self.failed = Some((why.clone(), Instant::now()));
                return Some(why);
            }
        }
        let clock_warning = self.authority.as_ref().and_then(|authority| authority.clock_warning(now));
        let outside = self.authority.as_ref().and_then(|authority| authority.outside_notice(&names));
        clock_warning.or(outside).or_else(|| self.notice.clone())
    }

    async fn make_certificate(&mut self, names: Names, now: SystemTime) -> Result<(), AuthorityError> {
        let (home, known) = (self.network.home.clone(), self.authority.clone());
        let made = run_blocking(move || {
            let (authority, notice) = match known {
                Some(known) => (known, None),
                None => {
                    let (authority, notice) = Authority::open(&home, pass::computer_name(), &names, now)?;
                    (Arc::new(authority), notice)
                }
            };
            Ok((authority.clone(), notice, authority.leaf(&names, now)))
        });
        let (authority, notice, leaf) =
            made.await.unwrap_or_else(|| Err(AuthorityError::Make("interrupted".to_owned())))?;
        if let Some(notice) = notice {
            tracing::warn!("{notice}");
            self.notice = Some(notice);
        }
        // The authority itself may have expired, so it is reopened next time.
        let leaf = leaf.inspect_err(|_| self.authority = None)?;
        self.authority = Some(authority.clone());
        let config = leaf.server_config().map_err(|error| AuthorityError::Make(error.to_string()))?;
        *self.network.tls.lock() = Some((authority, config));
        self.leaf = Some(leaf);
        Ok(())
    }

    async fn close_unwanted(&mut self, wanted: &Wanted) {
        let is_wanted = |(kind, address): &(Listener, SocketAddr), open: &Open| {
            wanted.get(&(*kind, address.ip())) == Some(&open.gate.members)
        };
        let unwanted = self.open.iter().filter(|(listener, open)| !is_wanted(listener, open));
        let unwanted: Vec<_> = unwanted.map(|(listener, _)| *listener).collect();
        for listener in unwanted {
            if let Some(open) = self.open.remove(&listener) {
                open.gate.close();
                let _ = open.task.await;
            }
        }
    }

    /// Ends the access of iOS apps whose network may have changed, because another device may now have their address.
    /// The network may have changed if our address that they connect to is gone or has another gateway, or if this
    /// computer slept.
    async fn end_apps_elsewhere(&mut self, wanted: &Wanted) {
        let devices = &self.server.services.devices;
        if !devices.has_apps() {
            self.links = Links::default();
            return;
        }
        let is_app = |(kind, _): &&(Listener, IpAddr)| *kind == Listener::App;
        let served: BTreeSet<IpAddr> = wanted.keys().filter(is_app).map(|(_, address)| *address).collect();
        let elsewhere =
            self.links.elsewhere(&served, run_blocking(links::read_links).await.unwrap_or_default());
        let here = self.network.loopback.ip();
        devices.end_apps(|at| at != here && elsewhere(at));
    }

    /// Opens a port unless it is open. Returns the problem if it cannot be opened.
    async fn bind(&mut self, kind: Listener, address: IpAddr, members: Option<Prefix>) -> Option<String> {
        if self.open.keys().any(|(known, bound)| *known == kind && bound.ip() == address) {
            return None;
        }
        let port = if kind == Listener::App { self.network.loopback.port() } else { self.web_port };
        let wanted = SocketAddr::from((address, port));
        // The loopback listener serves this address already.
        if wanted == self.network.loopback {
            return None;
        }
        let bound = TcpListener::bind(wanted).await.and_then(|bound| Ok((bound.local_addr()?, bound)));
        let (bound, listener) = match bound {
            Ok(bound) => bound,
            Err(error) => return Some(bind_problem(kind, wanted, &error)),
        };
        if kind == Listener::Web {
            self.web_port = bound.port();
        }
        let gate = Gate {
            kind,
            members,
            accepting: self.accepting.child_token(),
            closing: self.server.closing.child_token(),
        };
        let task = tokio::spawn(accept::listen(listener, gate.clone(), self.server.clone()));
        tracing::info!(?kind, address = %bound, "listening on the network");
        self.open.insert((kind, bound), Open { gate, task });
        None
    }

    fn state(&self, switches: &Switches) -> NetworkState {
        let loopback = OpenListener { kind: Listener::Loopback, address: self.network.loopback };
        let open = self.open.keys().map(|(kind, address)| OpenListener { kind: *kind, address: *address });
        let leaf = self.leaf.as_ref().filter(|_| switches.lan);
        let local = addresses::local_name(pass::computer_name()).filter(|_| switches.serves());
        NetworkState {
            lan: switches.lan,
            ios: switches.ios,
            computer: pass::computer_name().to_owned(),
            listeners: std::iter::once(loopback).chain(open).collect(),
            fingerprint: leaf.and(self.authority.as_ref()).map(|authority| authority.fingerprint()),
            certificate_until: leaf.map(Leaf::until),
            problem: None,
            fixed: switches.is_fixed(),
            hosts: local.into_iter().chain(switches.names.iter().cloned()).collect(),
        }
    }
}

fn bind_problem(kind: Listener, wanted: SocketAddr, error: &io::Error) -> String {
    if error.kind() != io::ErrorKind::AddrInUse {
        return format!("OpenAgents cannot listen on {wanted}: {error}.");
    }
    let (port, address) = (wanted.port(), wanted.ip());
    let remedy = if kind == Listener::Web { ", or choose another with --lan-port" } else { "" };
    format!("Port {port} of {address} is in use by another program; OpenAgents tries again{remedy}.")
}
