//! The reachable addresses of this computer, and its names on the network.

use crate::tls::leaf::Names;
use if_addrs::Interface;
use std::{collections::BTreeSet, io, net::IpAddr};

/// The domain of mDNS host names.
pub(crate) const LOCAL: &str = ".local";
/// Maximum number of served addresses.
const MOST: usize = 32;

/// Prefixes of virtual interfaces for containers and VMs on this computer.
const INSIDE: [&str; 8] = ["docker", "br-", "veth", "virbr", "vmnet", "cni", "lxc", "podman"];

/// Returns the served addresses of this computer.
pub(crate) fn of_this_computer() -> io::Result<BTreeSet<IpAddr>> {
    let interfaces = if_addrs::get_if_addrs()?;
    let served = interfaces.iter().filter(|interface| is_served(interface)).map(Interface::ip);
    Ok(served.take(MOST).collect())
}

fn is_served(interface: &Interface) -> bool {
    let is_inside = INSIDE.iter().any(|prefix| interface.name.starts_with(prefix));
    interface.is_oper_up() && !is_inside && is_unicast(interface.ip())
}

/// Accepts private and global addresses; link-local ones need a scope id.
fn is_unicast(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let is_special = match address {
        IpAddr::V4(v4) => v4.is_broadcast() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    !(is_special || address.is_unspecified() || address.is_loopback() || address.is_multicast())
}

/// Returns the `.local` name of this computer, or `None` if its name has no valid characters.
pub(crate) fn local_name(computer: &str) -> Option<String> {
    let label = label(computer);
    (!label.is_empty()).then(|| format!("{label}{LOCAL}"))
}

/// Returns a name as a host name label: lower case, with hyphens for other characters.
pub(crate) fn label(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|sign| if sign.is_ascii_alphanumeric() { sign.to_ascii_lowercase() } else { '-' })
        .collect();
    let short: String = plain.trim_matches('-').chars().take(50).collect();
    short.trim_matches('-').to_owned()
}

/// Returns the normalised form of a host name, or `None` if it is invalid.
pub(crate) fn host_name(name: &str) -> Option<String> {
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

/// Returns the names that the certificate must cover.
pub(crate) fn certified(addresses: &BTreeSet<IpAddr>, computer: &str, names: &BTreeSet<String>) -> Names {
    let own = local_name(computer).into_iter().chain(["localhost".to_owned()]);
    Names { addresses: addresses.clone(), hosts: names.iter().cloned().chain(own).collect() }
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
    fn served_addresses() {
        use IfOperStatus::{Unknown, Up};
        for (name, address, status, expected) in [
            ("en0", "192.168.1.5", Up, true),
            ("en0", "10.0.0.7", Up, true),
            ("utun4", "100.101.102.103", Up, true),
            ("en0", "203.0.113.9", Up, true),
            ("en0", "2001:db8::5", Up, true),
            ("en0", "fd00::2", Up, true),
            ("en0", "fe80::1", Up, false),
            ("en0", "febf::1", Up, false),
            ("en0", "169.254.7.7", Up, false),
            ("en0", "192.168.1.5", Unknown, false),
            ("lo", "127.0.0.1", Up, false),
            ("lo", "::1", Up, false),
            ("lo", "::ffff:127.0.0.1", Up, false),
            ("docker0", "172.17.0.1", Up, false),
            ("br-0a1b2c", "172.18.0.1", Up, false),
            ("veth12", "10.1.1.1", Up, false),
            ("bridge0", "192.168.2.1", Up, true),
        ] {
            assert_eq!(is_served(&interface(name, address, status)), expected, "{name} {address}");
        }
    }

    #[test]
    fn names() {
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
