//! The networks behind the served addresses. This computer may have the same address on different networks.

use openagents_sessions::store::now_ms;
use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    time::Duration,
};
use tokio::time::Instant;

/// Unlike the monotonic clock, the wall clock keeps running while the computer sleeps. If it has advanced by more than
/// this in comparison, the computer slept.
const ASLEEP: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Link {
    interface: String,
    gateway: Option<IpAddr>,
    hardware: Option<String>,
}

impl Link {
    /// Returns whether `now` is another network. Facts that are not known on both sides are ignored.
    fn differs(&self, now: &Self) -> bool {
        let differ = |own: Option<&str>, other: Option<&str>| own.zip(other).is_some_and(|(a, b)| a != b);
        let gateways = [self.gateway, now.gateway].map(|gateway| gateway.map(|gateway| gateway.to_string()));
        self.interface != now.interface
            || differ(gateways[0].as_deref(), gateways[1].as_deref())
            || differ(self.hardware.as_deref(), now.hardware.as_deref())
    }

    /// Updates the link but keeps facts that are no longer known, because the system forgets idle gateways.
    fn update(&mut self, now: Self) {
        self.interface = now.interface;
        self.gateway = now.gateway.or(self.gateway);
        self.hardware = now.hardware.or_else(|| self.hardware.take());
    }
}

#[derive(Debug, Default)]
pub struct Links {
    known: BTreeMap<IpAddr, Link>,
    /// The time of the last read on both clocks; the wall clock in milliseconds since the epoch.
    seen: Option<(Instant, i64)>,
}

impl Links {
    /// Returns a predicate: whether the network of one of our addresses may have changed since the last call (see
    /// [`Links::changed`]), or the address is no longer served.
    pub fn elsewhere(
        &mut self,
        served: &BTreeSet<IpAddr>,
        now: BTreeMap<IpAddr, Link>,
    ) -> impl Fn(IpAddr) -> bool {
        let changed = self.changed(served, now);
        move |at| !served.contains(&at) || changed.contains(&at)
    }

    /// Returns the `served` addresses whose network may have changed since the last call: those with another gateway or
    /// interface, or all of them if the computer slept.
    fn changed(&mut self, served: &BTreeSet<IpAddr>, now: BTreeMap<IpAddr, Link>) -> BTreeSet<IpAddr> {
        let slept = self.slept(Instant::now(), now_ms());
        self.known.retain(|address, _| served.contains(address));
        let mut changed = BTreeSet::new();
        for (address, link) in now.into_iter().filter(|(address, _)| served.contains(address)) {
            let known = self.known.entry(address).or_insert_with(|| link.clone());
            if known.differs(&link) {
                changed.insert(address);
                *known = link;
            } else {
                known.update(link);
            }
        }
        if slept { served.clone() } else { changed }
    }

    fn slept(&mut self, now: Instant, wall: i64) -> bool {
        let Some((before, wall_before)) = self.seen.replace((now, wall)) else { return false };
        let passed = u64::try_from(wall.saturating_sub(wall_before)).unwrap_or_default();
        Duration::from_millis(passed) > now.duration_since(before) + ASLEEP
    }
}

/// Reads the networks of this computer's IPv4 addresses; the app does not support IPv6. Blocks.
pub fn read_links() -> BTreeMap<IpAddr, Link> {
    let (routes, neighbours) = read_tables();
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    let link = |interface: if_addrs::Interface| {
        let gateway = routes.iter().find(|(name, _)| *name == interface.name).map(|(_, gateway)| *gateway);
        let hardware = gateway.and_then(|gateway| neighbours.get(&gateway).cloned());
        (interface.ip(), Link { interface: interface.name, gateway, hardware })
    };
    interfaces.into_iter().filter(|interface| interface.ip().is_ipv4()).map(link).collect()
}

/// Gateways by interface, and hardware addresses of neighbours.
type Tables = (Vec<(String, IpAddr)>, BTreeMap<IpAddr, String>);

#[cfg(target_os = "linux")]
fn read_tables() -> Tables {
    let file = |path| std::fs::read_to_string(path).unwrap_or_default();
    (linux_routes(&file("/proc/net/route")), linux_neighbours(&file("/proc/net/arp")))
}

#[cfg(not(target_os = "linux"))]
fn read_tables() -> Tables {
    let run = |program, arguments: &[&str]| {
        let output = std::process::Command::new(program).args(arguments).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    };
    let routes = run("/usr/sbin/netstat", &["-rn", "-f", "inet"]);
    (mac_routes(&routes), mac_neighbours(&run("/usr/sbin/arp", &["-an"])))
}

#[cfg(any(test, target_os = "linux"))]
fn linux_routes(table: &str) -> Vec<(String, IpAddr)> {
    let route = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [interface, "00000000", gateway, _, _, _, _, "00000000", ..] = columns[..] else { return None };
        let gateway = u32::from_str_radix(gateway, 16).ok().filter(|gateway| *gateway != 0)?;
        Some((interface.to_owned(), IpAddr::from(gateway.to_ne_bytes())))
    };
    table.lines().filter_map(route).collect()
}

#[cfg(any(test, target_os = "linux"))]
fn linux_neighbours(table: &str) -> BTreeMap<IpAddr, String> {
    let neighbour = |line: &str| {
        let mut columns = line.split_whitespace();
        let (address, hardware) = (columns.next()?.parse().ok()?, columns.nth(2)?);
        (hardware != "00:00:00:00:00:00").then(|| (address, hardware.to_owned()))
    };
    table.lines().filter_map(neighbour).collect()
}

#[cfg(any(test, not(target_os = "linux")))]
fn mac_routes(table: &str) -> Vec<(String, IpAddr)> {
    let route = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let ["default", gateway, _, interface, ..] = columns[..] else { return None };
        Some((interface.to_owned(), gateway.parse().ok()?))
    };
    table.lines().filter_map(route).collect()
}

/// Reads `arp -an`: `? (192.168.1.1) at 0:11:22:33:44:55 on en0 ifscope [ethernet]`.
#[cfg(any(test, not(target_os = "linux")))]
fn mac_neighbours(table: &str) -> BTreeMap<IpAddr, String> {
    let neighbour = |line: &str| {
        let (_, rest) = line.split_once('(')?;
        let (address, rest) = rest.split_once(") at ")?;
        let hardware = rest.split_whitespace().next().filter(|hardware| hardware.contains(':'))?;
        Some((address.parse().ok()?, hardware.to_owned()))
    };
    table.lines().filter_map(neighbour).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 168, 1, 5));

    fn link(interface: &str, gateway: Option<[u8; 4]>, hardware: Option<&str>) -> Link {
        let gateway = gateway.map(IpAddr::from);
        Link { interface: interface.to_owned(), gateway, hardware: hardware.map(str::to_owned) }
    }

    #[tokio::test(start_paused = true)]
    async fn links_detect_another_network() {
        let router = Some([192, 168, 1, 1]);
        let home = link("en0", router, Some("0:11:22:33:44:55"));
        for (what, now, expected) in [
            ("nothing changed", home.clone(), false),
            ("another router with the same address", link("en0", router, Some("0:aa:bb:cc:dd:ee")), true),
            ("another gateway", link("en0", Some([192, 168, 1, 254]), None), true),
            ("another interface", link("en1", router, Some("0:11:22:33:44:55")), true),
            ("the system forgot the router", link("en0", router, None), false),
            ("no default route any more", link("en0", None, None), false),
        ] {
            let (mut links, served) = (Links::default(), BTreeSet::from([HOME]));
            assert_eq!(links.changed(&served, BTreeMap::from([(HOME, home.clone())])), BTreeSet::new());
            // Connecting a VPN does not affect it.
            let vpn = IpAddr::from([10, 8, 0, 2]);
            let both = BTreeMap::from([(HOME, home.clone()), (vpn, link("utun4", None, None))]);
            assert_eq!(links.changed(&BTreeSet::from([HOME, vpn]), both), BTreeSet::new(), "{what}");
            let changed = links.changed(&served, BTreeMap::from([(HOME, now)]));
            assert_eq!(changed.contains(&HOME), expected, "{what}");
        }
        // Facts that the system forgot are still compared with the next ones.
        let (mut links, served) = (Links::default(), BTreeSet::from([HOME]));
        for (now, expected) in [
            (home.clone(), false),
            (link("en0", router, None), false),
            (link("en0", router, Some("0:aa:bb:cc:dd:ee")), true),
            (link("en0", router, Some("0:aa:bb:cc:dd:ee")), false),
        ] {
            assert_eq!(!links.changed(&served, BTreeMap::from([(HOME, now)])).is_empty(), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn links_change_after_sleep() {
        let mut links = Links::default();
        let now = Instant::now();
        assert!(!links.slept(now, 0));
        assert!(!links.slept(now + Duration::from_secs(5), 5_000));
        assert!(!links.slept(now + Duration::from_secs(10), 14_000));
        assert!(links.slept(now + Duration::from_secs(15), 40_000));
        assert!(!links.slept(now + Duration::from_secs(20), 45_000));
        // The clock was set back.
        assert!(!links.slept(now + Duration::from_secs(25), 0));
    }

    #[tokio::test(start_paused = true)]
    async fn elsewhere_covers_gone_rerouted_and_slept() {
        let away = IpAddr::from([10, 8, 0, 2]);
        let served = BTreeSet::from([HOME]);
        let at = |router: u8| BTreeMap::from([(HOME, link("en0", Some([192, 168, 1, router]), None))]);
        let mut links = Links::default();
        for (router, expected) in [(1, false), (1, false), (2, true), (2, false)] {
            let elsewhere = links.elsewhere(&served, at(router));
            assert_eq!((elsewhere(HOME), elsewhere(away)), (expected, true));
        }
        links.seen = Some((Instant::now(), now_ms() - 60_000));
        assert!(links.elsewhere(&served, at(2))(HOME));
        assert!(!links.elsewhere(&served, at(2))(HOME));
    }

    #[test]
    fn system_tables_are_parsed() {
        let routes = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
            tun0\t00000000\t00000000\t0001\t0\t0\t50\t00000000\t0\t0\t0\n\
            wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n\
            wlan0\t0001A8C0\t00000000\t0001\t0\t0\t600\t00FFFFFF\t0\t0\t0\n";
        let router = IpAddr::from([192, 168, 1, 1]);
        assert_eq!(linux_routes(routes), [("wlan0".to_owned(), router)]);
        let neighbours = "IP address       HW type     Flags       HW address            Mask     Device\n\
            192.168.1.1      0x1         0x2         00:11:22:33:44:55     *        wlan0\n\
            192.168.1.9      0x1         0x0         00:00:00:00:00:00     *        wlan0\n";
        assert_eq!(linux_neighbours(neighbours), BTreeMap::from([(router, "00:11:22:33:44:55".to_owned())]));
        let routes = "Routing tables\n\nInternet:\n\
            Destination        Gateway            Flags               Netif Expire\n\
            default            link#22            UCSg                utun4\n\
            default            192.168.1.1        UGScIg                en0\n\
            127                127.0.0.1          UCS                   lo0\n";
        assert_eq!(mac_routes(routes), [("en0".to_owned(), router)]);
        let neighbours = "? (192.168.1.1) at 0:11:22:33:44:55 on en0 ifscope [ethernet]\n\
            ? (192.168.1.9) at (incomplete) on en0 ifscope [ethernet]\n";
        assert_eq!(mac_neighbours(neighbours), BTreeMap::from([(router, "0:11:22:33:44:55".to_owned())]));
    }
}
