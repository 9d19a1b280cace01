//! The names and addresses that our authority may sign for.

use super::leaf::Names;
use crate::base::prefix::Prefix;
use rcgen::{CidrSubnet, GeneralSubtree};
use std::net::IpAddr;
use x509_parser::extensions::{GeneralName, NameConstraints};

/// The domain of mDNS host names, and the name of the computer itself.
const HOSTS: [&str; 2] = ["local", "localhost"];

/// The private ranges, and loopback.
const RANGES: [([u8; 4], u8); 4] =
    [([10, 0, 0, 0], 8), ([172, 16, 0, 0], 12), ([192, 168, 0, 0], 16), ([127, 0, 0, 0], 8)];
/// The unique local addresses.
const RANGE_V6: ([u8; 16], u8) = ([0xfc, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 7);

/// Permitted domains, with all names beneath them, and addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Constraints {
    domains: Vec<String>,
    ranges: Vec<Prefix>,
}

impl Constraints {
    /// Permits this computer's surroundings, and `names`.
    pub(crate) fn of(names: &Names) -> Self {
        let v4 = RANGES.iter().map(|(address, length)| Prefix::new(IpAddr::from(*address), *length));
        let v6 = Prefix::new(IpAddr::from(RANGE_V6.0), RANGE_V6.1);
        let mut constraints =
            Self { domains: HOSTS.map(str::to_owned).to_vec(), ranges: v4.chain([v6]).collect() };
        for address in &names.addresses {
            if !constraints.permits(*address) {
                let address = address.to_canonical();
                constraints.ranges.push(Prefix::new(address, if address.is_ipv4() { 32 } else { 128 }));
            }
        }
        for host in &names.hosts {
            if !constraints.permits_host(host) {
                constraints.domains.push(host.clone());
            }
        }
        constraints
    }

    /// Reads those of a certificate.
    pub(crate) fn read(extension: &NameConstraints<'_>) -> Self {
        let mut constraints = Self { domains: Vec::new(), ranges: Vec::new() };
        for subtree in extension.permitted_subtrees.iter().flatten() {
            match &subtree.base {
                GeneralName::DNSName(domain) => constraints.domains.push((*domain).to_owned()),
                GeneralName::IPAddress(bytes) => constraints.ranges.extend(range(bytes)),
                _ => {}
            }
        }
        constraints
    }

    pub(crate) fn extension(&self) -> rcgen::NameConstraints {
        let domains = self.domains.iter().cloned().map(GeneralSubtree::DnsName);
        let ranges =
            self.ranges.iter().map(|range| CidrSubnet::from_addr_prefix(range.address(), range.length()));
        let permitted_subtrees = domains.chain(ranges.map(GeneralSubtree::IpAddress)).collect();
        rcgen::NameConstraints { permitted_subtrees, excluded_subtrees: Vec::new() }
    }

    /// Returns those of `names` that are permitted.
    pub(crate) fn permitted(&self, names: &Names) -> Names {
        Names {
            addresses: names.addresses.iter().copied().filter(|address| self.permits(*address)).collect(),
            hosts: names.hosts.iter().filter(|host| self.permits_host(host)).cloned().collect(),
        }
    }

    fn permits(&self, address: IpAddr) -> bool {
        self.ranges.iter().any(|range| range.contains(address))
    }

    fn permits_host(&self, host: &str) -> bool {
        let is_of = |domain: &String| {
            host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        self.domains.iter().any(is_of)
    }
}

/// Reads an address and its mask.
fn range(bytes: &[u8]) -> Option<Prefix> {
    let (address, mask) = bytes.split_at_checked(bytes.len() / 2)?;
    let length: u32 = mask.iter().map(|byte| byte.count_ones()).sum();
    let v4 = <[u8; 4]>::try_from(address).map(IpAddr::from).ok();
    let address = v4.or_else(|| <[u8; 16]>::try_from(address).map(IpAddr::from).ok())?;
    Some(Prefix::new(address, length.try_into().ok()?))
}
