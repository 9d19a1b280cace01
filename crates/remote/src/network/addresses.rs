//! The reachable addresses of this computer, and its names on the network.

use crate::{prefix::Prefix, tls::leaf::Names};
use if_addrs::{IfAddr, Interface};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    net::IpAddr,
};

pub const LOCAL: &str = ".local";
const MAX_SERVED: usize = 32;

/// Prefixes of virtual interfaces for containers and VMs on this computer.
const INSIDE: [&str; 8] = ["docker", "br-", "veth", "virbr", "vmnet", "cni", "lxc", "podman"];

/// Prefixes of tunnels: the other end is not on the local network.
const TUNNELS: [&str; 10] = ["utun", "tun", "tap", "wg", "ppp", "ipsec", "tailscale", "zt", "gif", "stf"];

/// The served addresses, each with the peers that may connect to it; `None` means any peer.
pub type Served = BTreeMap<IpAddr, Option<Prefix>>;

/// Returns the served addresses of this computer: its private addresses, for peers on the same network, and its
/// addresses among `chosen`, for any peer.
pub fn served_addresses(chosen: &BTreeSet<IpAddr>) -> io::Result<Served> {
    let interfaces = if_addrs::get_if_addrs()?;
    Ok(interfaces.iter().filter_map(|interface| served_address(interface, chosen)).take(MAX_SERVED).collect())
}

fn served_address(interface: &Interface, chosen: &BTreeSet<IpAddr>) -> Option<(IpAddr, Option<Prefix>)> {
    let address = interface.ip();
    if !interface.is_oper_up() || !is_unicast(address) {
        return None;
    }
    if chosen.contains(&address.to_canonical()) {
        return Some((address, None));
    }
    let is_of = |names: &[&str]| names.iter().any(|prefix| interface.name.starts_with(prefix));
    if is_of(&INSIDE) || is_of(&TUNNELS) || interface.is_p2p || !is_private(address) {
        return None;
    }
    let length = match &interface.addr {
        IfAddr::V4(v4) => v4.prefixlen,
        IfAddr::V6(v6) => v6.prefixlen,
    };
    Some((address, Some(Prefix::new(address, length))))
}

/// Returns whether an address can be served. Link-local addresses need a scope id and are not supported.
pub(crate) fn is_unicast(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let is_special = match address {
        IpAddr::V4(v4) => v4.is_broadcast() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    !(is_special || address.is_unspecified() || address.is_loopback() || address.is_multicast())
}

fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_private(),
        IpAddr::V6(v6) => v6.is_unique_local(),
    }
}

/// Returns the `.local` name of this computer, or `None` if its name has no valid characters.
pub fn local_name(computer: &str) -> Option<String> {
    let label = label(computer);
    (!label.is_empty()).then(|| format!("{label}{LOCAL}"))
}

/// Returns a name as a host name label: lower case, with hyphens for other characters.
pub(crate) fn label(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    let short: String = plain.trim_matches('-').chars().take(50).collect();
    short.trim_matches('-').to_owned()
}

/// Returns the normalised form of a host name, or `None` if it is invalid.
pub fn host_name(name: &str) -> Option<String> {
    let name = name.trim().trim_end_matches('.').to_ascii_lowercase();
    let is_label = |label: &str| {
        let ends = !label.starts_with('-') && !label.ends_with('-');
        (1..=63).contains(&label.len())
            && ends
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_address =
        name.rsplit('.').next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    (name.len() <= 253 && !is_address && name.split('.').all(is_label)).then_some(name)
}

/// Returns the names that the certificate must cover. Names on private networks are not included: they are covered by
/// the certificate of their proxy.
pub fn certificate_names(addresses: impl Iterator<Item = IpAddr>, computer: &str) -> Names {
    let own = local_name(computer).into_iter().chain(["localhost".to_owned()]);
    Names { addresses: addresses.collect(), hosts: own.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use if_addrs::{IfAddr, IfOperStatus, Ifv4Addr, Ifv6Addr};
    use std::net::Ipv6Addr;

    fn interface(name: &str, address: &str, oper_status: IfOperStatus) -> Interface {
        let addr = match address.parse().unwrap() {
            IpAddr::V4(ip) => IfAddr::V4(Ifv4Addr {
                ip,
                netmask: [255, 255, 255, 0].into(),
                prefixlen: 24,
                broadcast: None,
            }),
            IpAddr::V6(ip) => {
                IfAddr::V6(Ifv6Addr { ip, netmask: Ipv6Addr::UNSPECIFIED, prefixlen: 64, broadcast: None })
            }
        };
        Interface { name: name.to_owned(), addr, index: Some(1), oper_status, is_p2p: false }
    }

    #[test]
    fn served_address_filters_interfaces() {
        use IfOperStatus::{Unknown, Up};
        // Expected: whether the address is served by default, and whether it is served if the user chose it.
        for (name, address, status, expected) in [
            ("en0", "192.168.1.5", Up, [true, true]),
            ("en0", "10.0.0.7", Up, [true, true]),
            ("bridge0", "172.16.2.1", Up, [true, true]),
            ("en0", "fd00::2", Up, [true, true]),
            // Public addresses.
            ("en0", "203.0.113.9", Up, [false, true]),
            ("en0", "2001:db8::5", Up, [false, true]),
            // Private networks behind tunnels, and of containers.
            ("utun4", "100.101.102.103", Up, [false, true]),
            ("utun4", "10.8.0.2", Up, [false, true]),
            ("wg0", "fd00::2", Up, [false, true]),
            ("docker0", "172.17.0.1", Up, [false, true]),
            ("br-0a1b2c", "172.18.0.1", Up, [false, true]),
            ("veth12", "10.1.1.1", Up, [false, true]),
            ("en0", "fe80::1", Up, [false, false]),
            ("en0", "febf::1", Up, [false, false]),
            ("en0", "169.254.7.7", Up, [false, false]),
            ("en0", "192.168.1.5", Unknown, [false, false]),
            ("lo", "127.0.0.1", Up, [false, false]),
            ("lo", "::1", Up, [false, false]),
            ("lo", "::ffff:127.0.0.1", Up, [false, false]),
        ] {
            let (interface, chosen) =
                (interface(name, address, status), BTreeSet::from([address.parse().unwrap()]));
            let is_served =
                [&BTreeSet::new(), &chosen].map(|chosen| served_address(&interface, chosen).is_some());
            assert_eq!(is_served, expected, "{name} {address}");
        }
        let tunnel = Interface { is_p2p: true, ..interface("en9", "10.8.0.2", Up) };
        assert_eq!(served_address(&tunnel, &BTreeSet::new()), None);
    }

    #[test]
    fn served_address_limits_peers_to_its_network() {
        let here = interface("en0", "192.168.1.5", IfOperStatus::Up);
        let (_, members) = served_address(&here, &BTreeSet::new()).unwrap();
        let members = members.unwrap();
        for (peer, expected) in
            [("192.168.1.77", true), ("192.168.2.77", false), ("203.0.113.9", false), ("10.8.0.7", false)]
        {
            assert_eq!(members.contains(peer.parse().unwrap()), expected, "{peer}");
        }
        let chosen = BTreeSet::from([here.ip()]);
        assert_eq!(served_address(&here, &chosen), Some((here.ip(), None)));
    }

    #[test]
    fn local_and_host_names_are_normalised() {
        for (name, expected) in [
            ("mac", Some("mac.local")),
            ("Ada's MacBook Pro", Some("ada-s-macbook-pro.local")),
            ("büro_1", Some("b-ro-1.local")),
            ("--", None),
            ("", None),
        ] {
            assert_eq!(local_name(name).as_deref(), expected, "{name}");
        }
        assert_eq!(label(&"x-".repeat(100)).len(), 49);
        for (name, expected) in [
            ("Mac.Tail1234.ts.net.", Some("mac.tail1234.ts.net")),
            ("mac", Some("mac")),
            ("a b", None),
            ("evil.example;script-src *", None),
            ("-a.example", None),
            ("a..b", None),
            ("10.0.0.1", None),
            ("", None),
        ] {
            assert_eq!(host_name(name).as_deref(), expected, "{name}");
        }
        assert_eq!(host_name(&"a.".repeat(200)), None);
    }
}
