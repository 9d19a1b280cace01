//! The address that a peer is counted by.

use std::net::{IpAddr, Ipv6Addr};

/// Returns the address to count by: for a global IPv6 address its /64 network, all of which one host may use.
pub(crate) fn one_address(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_unique_local() && !address.is_unicast_link_local() => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        one => one,
    }
}
