//! The address that a peer is counted by.

use std::net::{IpAddr, Ipv6Addr};

/// Returns the address to count by: the /64 network of a global IPv6 address, since one host may use all of it. Other
/// addresses stand for themselves.
pub(crate) fn one_address(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_unique_local() && !address.is_unicast_link_local() => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        one => one,
    }
}
