//! The server certificate: its names, validity and renewal.

use crate::prefix::Prefix;
use rcgen::{CidrSubnet, CustomExtension};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeSet,
    net::IpAddr,
    sync::Arc,
    time::{Duration, SystemTime},
};
use x509_parser::extensions::{GeneralName, NameConstraints};
use yasna::{DERWriterSeq, Tag};

/// A certificate with less validity left is renewed.
pub(crate) const LEAST: Duration = Duration::from_secs(30 * 24 * 60 * 60);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    pub(crate) addresses: BTreeSet<IpAddr>,
    pub(crate) hosts: BTreeSet<String>,
}

pub struct Leaf {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    names: Names,
    /// Seconds since the epoch.
    begins: i64,
    ends: i64,
}

impl Leaf {
    /// Parses a certificate and its key. `None` if they are damaged, do not match, or have another issuer.
    pub(crate) fn parse(pem: &str, key: &str, authority: &CertificateDer<'_>) -> Option<Self> {
        let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?.into_owned();
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).ok()?;
        let (names, begins, ends) = {
            let (_, issuer) = x509_parser::parse_x509_certificate(authority).ok()?;
            let (_, read) = x509_parser::parse_x509_certificate(&certificate).ok()?;
            read.verify_signature(Some(issuer.public_key())).ok()?;
            let validity = read.validity();
            (subject_names(&read)?, validity.not_before.timestamp(), validity.not_after.timestamp())
        };
        let leaf = Self { certificate, key, names, begins, ends };
        leaf.server_config().ok()?;
        Some(leaf)
    }

    /// Returns whether the certificate covers `names` and is valid now and for at least [`LEAST`].
    pub fn covers(&self, names: &Names, now: SystemTime) -> bool {
        let Names { addresses, hosts } = &self.names;
        addresses.is_superset(&names.addresses) && hosts.is_superset(&names.hosts) && self.lasts(now)
    }

    /// Returns whether the certificate is valid now and for at least [`LEAST`].
    pub(crate) fn lasts(&self, now: SystemTime) -> bool {
        self.begins <= seconds(now) && seconds(now + LEAST) <= self.ends
    }

    /// Returns when the certificate expires, in milliseconds since the epoch.
    pub fn until(&self) -> i64 {
        self.ends.saturating_mul(1000)
    }

    #[cfg(test)]
    pub(crate) fn fingerprint(&self) -> String {
        fingerprint(&self.certificate)
    }

    /// Returns the TLS configuration: HTTP/2 and HTTP/1.1, no client certificates.
    pub fn server_config(&self) -> Result<Arc<ServerConfig>, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// Returns the SHA-256 of a certificate in upper-case hexadecimal with colons.
pub(crate) fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let bytes: Vec<String> = Sha256::digest(certificate).iter().map(|byte| format!("{byte:02X}")).collect();
    bytes.join(":")
}

fn subject_names(certificate: &x509_parser::certificate::X509Certificate<'_>) -> Option<Names> {
    let mut names = Names::default();
    for name in &certificate.subject_alternative_name().ok()??.value.general_names {
        match name {
            GeneralName::DNSName(host) => drop(names.hosts.insert((*host).to_owned())),
            GeneralName::IPAddress(bytes) => {
                let v4 = <[u8; 4]>::try_from(*bytes).map(IpAddr::from).ok();
                let v6 = || <[u8; 16]>::try_from(*bytes).map(IpAddr::from).ok();
                names.addresses.insert(v4.or_else(v6)?);
            }
            _ => {}
        }
    }
    Some(names)
}

/// Returns seconds since the epoch; negative before it.
pub(crate) fn seconds(time: SystemTime) -> i64 {
    jiff::Timestamp::try_from(time).map_or(i64::MAX, jiff::Timestamp::as_second)
}

/// `id-ce-nameConstraints` of RFC 5280.
const EXTENSION: [u64; 4] = [2, 5, 29, 30];

/// The tags of `GeneralName` in RFC 5280.
const EMAIL: u64 = 1;
const DNS: u64 = 2;
const URI: u64 = 6;
const ADDRESS: u64 = 7;

/// The only permitted host of email addresses and URIs. No host has this name (RFC 2606), so permitting only it
/// excludes all email addresses and URIs. Without a permitted subtree, a kind of name is unlimited, and an excluded
/// subtree can name only one host, not all of them.
///
/// Directory names are not constrained. Clients do not read server names from them, and some (rustls, and clients
/// written in Go) reject every certificate of an authority that constrains them.
const NO_HOST: &str = "invalid";

/// The domain of mDNS host names, and the computer's own name for itself.
const HOSTS: [&str; 2] = ["local", "localhost"];

/// The private ranges, loopback, and the unique local addresses.
const RANGES: [([u8; 4], u8); 4] =
    [([10, 0, 0, 0], 8), ([172, 16, 0, 0], 12), ([192, 168, 0, 0], 16), ([127, 0, 0, 0], 8)];
const RANGE_V6: ([u8; 16], u8) = ([0xfc, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 7);

/// The permitted domains, including all names below them, and the permitted addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Constraints {
    domains: Vec<String>,
    ranges: Vec<Prefix>,
}

impl Constraints {
    /// Permits [`HOSTS`], private addresses, and `names`.
    pub(crate) fn permitting(names: &Names) -> Self {
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

    pub(crate) fn parse(extension: &NameConstraints<'_>) -> Self {
        let mut constraints = Self { domains: Vec::new(), ranges: Vec::new() };
        for subtree in extension.permitted_subtrees.iter().flatten() {
            match &subtree.base {
                GeneralName::DNSName(domain) => constraints.domains.push((*domain).to_owned()),
                GeneralName::IPAddress(bytes) => constraints.ranges.extend(parse_range(bytes)),
                _ => {}
            }
        }
        constraints
    }

    /// Returns the constraints as a critical certificate extension, encoded here because `rcgen` cannot write
    /// constraints on URIs.
    pub(crate) fn extension(&self) -> CustomExtension {
        let content = yasna::construct_der(|writer| {
            writer.write_sequence(|writer| {
                writer.next().write_tagged_implicit(Tag::context(0), |writer| {
                    writer.write_sequence(|permitted| {
                        self.domains.iter().for_each(|domain| subtree_of_text(permitted, DNS, domain));
                        self.ranges.iter().for_each(|range| subtree_of_range(permitted, range));
                        [EMAIL, URI].iter().for_each(|tag| subtree_of_text(permitted, *tag, NO_HOST));
                    });
                });
            });
        });
        let mut extension = CustomExtension::from_oid_content(&EXTENSION, content);
        extension.set_criticality(true);
        extension
    }

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

fn subtree_of_text(subtrees: &mut DERWriterSeq<'_>, tag: u64, text: &str) {
    let name = |writer: yasna::DERWriter<'_>| {
        writer.write_tagged_implicit(Tag::context(tag), |writer| writer.write_ia5_string(text));
    };
    subtrees.next().write_sequence(|writer| name(writer.next()));
}

fn subtree_of_range(subtrees: &mut DERWriterSeq<'_>, range: &Prefix) {
    let bytes = match CidrSubnet::from_addr_prefix(range.address(), range.length()) {
        CidrSubnet::V4(address, mask) => [address, mask].concat(),
        CidrSubnet::V6(address, mask) => [address, mask].concat(),
    };
    let name = |writer: yasna::DERWriter<'_>| {
        writer.write_tagged_implicit(Tag::context(ADDRESS), |writer| writer.write_bytes(&bytes));
    };
    subtrees.next().write_sequence(|writer| name(writer.next()));
}

fn parse_range(bytes: &[u8]) -> Option<Prefix> {
    let (address, mask) = bytes.split_at_checked(bytes.len() / 2)?;
    let length: u32 = mask.iter().map(|byte| byte.count_ones()).sum();
    let v4 = <[u8; 4]>::try_from(address).map(IpAddr::from).ok();
    let address = v4.or_else(|| <[u8; 16]>::try_from(address).map(IpAddr::from).ok())?;
    Some(Prefix::new(address, length.try_into().ok()?))
}
