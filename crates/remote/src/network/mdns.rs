//! Announces this computer over mDNS. No secrets: no token, no TXT records.

use super::{addresses::label, state::NetworkState};
use mdns_sd::{IfKind, ServiceDaemon, ServiceInfo};
use openagents_sessions::run_blocking;
use openagents_wire::Listener;
use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

/// The clear-text service that the iOS app browses for. The app defines the name.
const APP: &str = "_openagents._tcp.local.";
/// The encrypted service: the page and ACP.
const WEB: &str = "_openagents-web._tcp.local.";
const GOOD_BYE: Duration = Duration::from_secs(1);
const INSTANCE: usize = 63;

#[derive(Default)]
pub struct Announcer {
    announced: Vec<Record>,
    daemon: Option<ServiceDaemon>,
}

impl Announcer {
    /// Announces the ports of `state` and withdraws the others. Returns the problem if that fails.
    pub async fn announce(&mut self, state: &NetworkState) -> Option<String> {
        let records = records(state);
        if records == self.announced {
            return None;
        }
        self.stop().await;
        if records.is_empty() {
            return None;
        }
        match start_daemon(&records) {
            Ok(daemon) => {
                (self.daemon, self.announced) = (Some(daemon), records);
                None
            }
            Err(error) => {
                tracing::warn!(%error, "could not announce the services");
                Some(format!("This computer cannot be found by name on the network: {error}."))
            }
        }
    }

    pub async fn stop(&mut self) {
        self.announced.clear();
        let Some(daemon) = self.daemon.take() else { return };
        run_blocking(move || {
            if let Ok(ended) = daemon.shutdown() {
                // On a timeout the daemon still ends by itself.
                let _ = ended.recv_timeout(GOOD_BYE);
            }
        })
        .await;
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Record {
    service: &'static str,
    instance: String,
    host: String,
    addresses: BTreeSet<IpAddr>,
    port: u16,
}

/// Returns the services to announce for the open ports. The app does not support IPv6.
fn records(state: &NetworkState) -> Vec<Record> {
    let record = |service, kind, wanted: fn(&SocketAddr) -> bool| {
        let open: Vec<SocketAddr> = state.addresses(kind).filter(wanted).collect();
        let port = open.first()?.port();
        let label = label(&state.computer);
        Some(Record {
            service,
            instance: openagents_core::text::prefix(&state.computer, INSTANCE).to_owned(),
            // A host name of our own, because the system answers for the computer's name.
            host: format!("{label}{}openagents.local.", if label.is_empty() { "" } else { "-" }),
            addresses: open.iter().map(SocketAddr::ip).collect(),
            port,
        })
    };
    let app = record(APP, Listener::App, SocketAddr::is_ipv4);
    let web = record(WEB, Listener::Web, |_| true);
    app.into_iter().chain(web).collect()
}

impl Record {
    fn info(&self) -> Result<ServiceInfo, mdns_sd::Error> {
        let addresses: Vec<IpAddr> = self.addresses.iter().copied().collect();
        let mut info =
            ServiceInfo::new(self.service, &self.instance, &self.host, &addresses[..], self.port, None)?;
        info.set_interfaces(addresses.into_iter().map(IfKind::Addr).collect());
        Ok(info)
    }
}

fn start_daemon(records: &[Record]) -> Result<ServiceDaemon, mdns_sd::Error> {
    let daemon = ServiceDaemon::new()?;
    let registered = records.iter().try_for_each(|record| daemon.register(record.info()?));
    if registered.is_err() {
        let _ = daemon.shutdown();
    }
    registered.map(|()| daemon)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mdns_sd::ServiceEvent;
    use openagents_wire::{IosAccess, OpenListener};

    fn state(computer: &str, listeners: &[(Listener, &str)]) -> NetworkState {
        let open = |(kind, address): &(Listener, &str)| OpenListener {
            kind: *kind,
            address: address.parse().unwrap(),
        };
        NetworkState {
            lan: true,
            ios: IosAccess::Ask,
            computer: computer.to_owned(),
            listeners: listeners.iter().map(open).collect(),
            fingerprint: None,
            certificate_until: None,
            problem: None,
            fixed: false,
            hosts: Vec::new(),
        }
    }

    #[test]
    fn records_match_open_ports() {
        let loopback = (Listener::Loopback, "127.0.0.1:9099");
        assert_eq!(records(&state("mac", &[loopback])), []);
        let only_v6 = [loopback, (Listener::App, "[fd00::2]:9099")];
        assert_eq!(records(&state("mac", &only_v6)), []);
        let both = [
            loopback,
            (Listener::Web, "192.168.1.5:9443"),
            (Listener::Web, "[fd00::2]:9443"),
            (Listener::App, "192.168.1.5:9099"),
            (Listener::App, "[fd00::2]:9099"),
        ];
        let announced = records(&state("Ada's Mac", &both));
        let brief: Vec<_> =
            announced.iter().map(|r| (r.service, &*r.host, r.addresses.len(), r.port)).collect();
        assert_eq!(
            brief,
            [
                ("_openagents._tcp.local.", "ada-s-mac-openagents.local.", 1, 9099),
                ("_openagents-web._tcp.local.", "ada-s-mac-openagents.local.", 2, 9443),
            ]
        );
        for record in &announced {
            assert_eq!(record.instance, "Ada's Mac");
            let info = record.info().unwrap();
            assert_eq!(info.get_properties().len(), 0);
        }
        assert_eq!(records(&state("", &both))[0].host, "openagents.local.");
        assert!(records(&state(&"ü".repeat(100), &both))[0].info().is_ok());
    }

    /// Uses the real network of this machine, with looped-back multicast.
    #[tokio::test]
    async fn announced_services_are_found_and_withdrawn() {
        let all = if_addrs::get_if_addrs().unwrap().iter().map(if_addrs::Interface::ip).collect();
        let addresses = crate::network::addresses::served_addresses(&all).unwrap();
        let address = addresses.into_keys().find(IpAddr::is_ipv4).expect("a network");
        let name = format!("test {}", uuid::Uuid::new_v4());
        let address_and_port = SocketAddr::from((address, 9099)).to_string();
        let mut announcer = Announcer::default();
        assert_eq!(announcer.announce(&state(&name, &[(Listener::App, &address_and_port)])).await, None);
        let browser = ServiceDaemon::new().unwrap();
        let events = browser.browse(APP).unwrap();
        let until = move |wanted: fn(&ServiceEvent, &str) -> bool, name: String| {
            let events = events.clone();
            run_blocking(move || {
                loop {
                    let event = events.recv_timeout(Duration::from_secs(60)).expect("an event in time");
                    if wanted(&event, &name) {
                        return event;
                    }
                }
            })
        };
        let found = |event: &ServiceEvent, name: &str| match event {
            ServiceEvent::ServiceResolved(info) => info.get_fullname().starts_with(name),
            _ => false,
        };
        let Some(ServiceEvent::ServiceResolved(info)) = until(found, name.clone()).await else { panic!() };
        assert_eq!((info.get_port(), info.get_properties().len()), (9099, 0));
        assert_eq!(info.get_addresses_v4().into_iter().map(IpAddr::V4).collect::<Vec<_>>(), [address]);
        assert_eq!(announcer.announce(&state(&name, &[])).await, None);
        let gone = |event: &ServiceEvent, name: &str| match event {
            ServiceEvent::ServiceRemoved(_, fullname) => fullname.starts_with(name),
            _ => false,
        };
        until(gone, name).await.unwrap();
        let _ = browser.shutdown();
    }
}
