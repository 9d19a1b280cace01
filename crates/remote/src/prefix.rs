//! A range of addresses.

use std::net::IpAddr;

/// The addresses that begin with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    pub fn new(address: IpAddr, length: u8) -> Self {
        Self { address: address.to_canonical(), length }
    }

    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    pub(crate) fn length(&self) -> u8 {
        self.length
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        let length = u32::from(self.length);
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differ = own.to_bits() ^ other.to_bits();
                differ.checked_shr(32_u32.saturating_sub(length)).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differ = own.to_bits() ^ other.to_bits();
                differ.checked_shr(128_u32.saturating_sub(length)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_contains_its_members() {
        for (address, length, other, expected) in [
            ("192.168.1.5", 24, "192.168.1.77", true),
            ("192.168.1.5", 24, "192.168.2.5", false),
            ("192.168.1.5", 24, "::ffff:192.168.1.77", true),
            ("192.168.1.5", 32, "192.168.1.5", true),
            ("192.168.1.5", 32, "192.168.1.4", false),
            ("192.168.1.5", 0, "203.0.113.9", true),
            ("10.0.0.1", 8, "10.255.0.9", true),
            ("10.0.0.1", 8, "11.0.0.1", false),
            ("fd00::2", 64, "fd00::9", true),
            ("fd00::2", 64, "fd00:0:0:1::9", false),
            ("fd00::2", 128, "fd00::2", true),
            ("fd00::2", 0, "2001:db8::1", true),
            ("fd00::2", 64, "192.168.1.5", false),
        ] {
            let prefix = Prefix::new(address.parse().unwrap(), length);
            assert_eq!(prefix.contains(other.parse().unwrap()), expected, "{address}/{length} {other}");
        }
    }
}
