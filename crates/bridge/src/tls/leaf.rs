//! The server certificate: its names, validity and renewal.

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
use x509_parser::extensions::GeneralName;

/// A certificate with less validity left is renewed.
pub(crate) const LEAST: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The names of this computer that a certificate covers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) addresses: BTreeSet<IpAddr>,
    pub(crate) hosts: BTreeSet<String>,
}

/// A server certificate signed by our authority, and its key.
pub(crate) struct Leaf {
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
            (names(&read)?, validity.not_before.timestamp(), validity.not_after.timestamp())
        };
        let leaf = Self { certificate, key, names, begins, ends };
        leaf.server_config().ok()?;
        Some(leaf)
    }

    /// Returns whether the certificate covers `names` and is valid now and for at least [`LEAST`].
    pub(crate) fn does(&self, names: &Names, now: SystemTime) -> bool {
        let Names { addresses, hosts } = &self.names;
        addresses.is_superset(&names.addresses) && hosts.is_superset(&names.hosts) && self.lasts(now)
    }

    /// Returns whether the certificate is valid now and for at least [`LEAST`].
    pub(crate) fn lasts(&self, now: SystemTime) -> bool {
        self.begins <= seconds(now) && seconds(now + LEAST) <= self.ends
    }

    /// Returns when the certificate expires, in milliseconds since the epoch.
    pub(crate) fn until(&self) -> i64 {
        self.ends.saturating_mul(1000)
    }

    /// Returns the SHA-256 of the certificate.
    #[cfg(test)]
    pub(crate) fn fingerprint(&self) -> String {
        fingerprint(&self.certificate)
    }

    /// Returns the TLS configuration: HTTP/2 and HTTP/1.1, no client certificates.
    pub(crate) fn server_config(&self) -> Result<Arc<ServerConfig>, rustls::Error> {
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

fn names(certificate: &x509_parser::certificate::X509Certificate<'_>) -> Option<Names> {
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
