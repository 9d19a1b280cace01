//! A certificate authority of this computer's own. A phone that has installed it trusts what it signs.
//!
//! It lies in the folder `tls` of the data folder. One that cannot be used is moved aside, never overwritten: phones
//! may trust it, and its owner may have a copy.

use super::{
    files::{self, Found},
    leaf::{Leaf, Names},
};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData, SanType,
};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use time::OffsetDateTime;

/// Folder of the certificates in the data folder.
const FOLDER: &str = "tls";
const AUTHORITY: [&str; 2] = ["ca.pem", "ca.key"];
const LEAF: [&str; 2] = ["leaf.pem", "leaf.key"];

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const AUTHORITY_LIFE: Duration = Duration::from_secs(3652 * DAY.as_secs());
/// Apple's phones take no certificate that is valid for more than 398 days.
const LEAF_LIFE: Duration = Duration::from_secs(397 * DAY.as_secs());
/// A certificate with less time left is made again.
pub(super) const LEAST: Duration = Duration::from_secs(30 * DAY.as_secs());
/// Clocks of phones differ from ours: certificates begin so long ago.
const AGO: Duration = DAY;

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthorityError {
    #[error("cannot read the certificate file {}: {reason}", path.display())]
    Read { path: PathBuf, reason: String },
    #[error("cannot write the certificate file {}: {reason}", path.display())]
    Write { path: PathBuf, reason: String },
    #[error("cannot make a certificate: {0}")]
    Make(String),
}

impl From<rcgen::Error> for AuthorityError {
    fn from(error: rcgen::Error) -> Self {
        Self::Make(error.to_string())
    }
}

impl From<time::error::ComponentRange> for AuthorityError {
    fn from(_: time::error::ComponentRange) -> Self {
        Self::Make("the clock of this computer shows no possible date".to_owned())
    }
}

/// Signs the certificates of this computer.
pub(crate) struct Authority {
    folder: PathBuf,
    pem: String,
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
    /// Seconds since the epoch.
    begins: i64,
    ends: i64,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Authority").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Authority {
    /// Reads the authority of the data folder, or makes one that bears the name `computer`. The sentence says what
    /// happened to one that could not be used. Blocks.
    pub(crate) fn open(
        home: &Path,
        computer: &str,
        now: SystemTime,
    ) -> Result<(Self, Option<String>), AuthorityError> {
        let folder = home.join(FOLDER);
        let [certificate, key] = AUTHORITY.map(|name| folder.join(name));
        let why = match (files::read(&certificate)?, files::read(&key)?) {
            (Found::Nothing, Found::Nothing) => None,
            (Found::Text(pem), Found::Text(key)) => match Self::parse(&folder, pem, &key, now) {
                Ok(authority) => return Ok((authority, None)),
                Err(why) => Some(why),
            },
            (Found::Nothing, _) | (_, Found::Nothing) => Some("is incomplete"),
            _ => Some(DAMAGED),
        };
        let notice = match why {
            None => None,
            Some(why) => {
                let aside = files::move_aside(&[&certificate, &key], seconds(now))?;
                Some(format!(
                    "The certificate authority of this computer {why}; it was moved to {} and a new one was made. \
                     Phones that had installed it must install it again.",
                    aside.display()
                ))
            }
        };
        Ok((Self::make(&folder, computer, now)?, notice))
    }

    fn make(folder: &Path, computer: &str, now: SystemTime) -> Result<Self, AuthorityError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, common_name(&format!("OpenAgents on {computer}")));
        params.distinguished_name.push(DnType::OrganizationName, "OpenAgents");
        let (begins, ends) = (seconds(now) - AGO.as_secs().cast_signed(), seconds(now + AUTHORITY_LIFE));
        params.not_before = OffsetDateTime::from_unix_timestamp(begins)?;
        params.not_after = OffsetDateTime::from_unix_timestamp(ends)?;
        let certificate = params.self_signed(&key)?;
        let pem = certificate.pem();
        files::write(&folder.join(AUTHORITY[1]), &key.serialize_pem())?;
        files::write(&folder.join(AUTHORITY[0]), &pem)?;
        let certificate = certificate.der().clone();
        let issuer = Issuer::new(params, key);
        Ok(Self { folder: folder.to_owned(), pem, certificate, issuer, begins, ends })
    }

    fn parse(folder: &Path, pem: String, key: &str, now: SystemTime) -> Result<Self, &'static str> {
        let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|_| DAMAGED)?.into_owned();
        let key = KeyPair::from_pem(key).map_err(|_| DAMAGED)?;
        let (begins, ends) = {
            let (_, read) = x509_parser::parse_x509_certificate(&certificate).map_err(|_| DAMAGED)?;
            if !read.is_ca() || read.public_key().raw != key.subject_public_key_info() {
                return Err(DAMAGED);
            }
            read.verify_signature(None).map_err(|_| DAMAGED)?;
            (read.validity().not_before.timestamp(), read.validity().not_after.timestamp())
        };
        if ends < seconds(now + LEAST) {
            return Err("has expired");
        }
        let issuer = Issuer::from_ca_cert_der(&certificate, key).map_err(|_| DAMAGED)?;
        Ok(Self { folder: folder.to_owned(), pem, certificate, issuer, begins, ends })
    }

    /// Returns the certificate for `names`: the one that lies in the folder, or a new one where that does not do.
    /// Blocks.
    pub(crate) fn leaf(&self, names: &Names, now: SystemTime) -> Result<Leaf, AuthorityError> {
        let [certificate, key] = LEAF.map(|name| self.folder.join(name));
        if let (Found::Text(pem), Found::Text(key)) = (files::read(&certificate)?, files::read(&key)?)
            && let Some(leaf) = Leaf::parse(&pem, &key, &self.certificate)
            && leaf.does(names, now)
        {
            return Ok(leaf);
        }
        let (pem, new_key) = self.sign(names, now)?;
        let leaf = Leaf::parse(&pem, &new_key, &self.certificate);
        let leaf = leaf.ok_or_else(|| AuthorityError::Make("it cannot be read again".to_owned()))?;
        files::write(&key, &new_key)?;
        files::write(&certificate, &pem)?;
        Ok(leaf)
    }

    fn sign(&self, names: &Names, now: SystemTime) -> Result<(String, String), AuthorityError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "OpenAgents");
        let addresses = names.addresses.iter().copied().map(SanType::IpAddress);
        let hosts = names.hosts.iter().filter_map(|host| host.as_str().try_into().ok()).map(SanType::DnsName);
        params.subject_alt_names = addresses.chain(hosts).collect();
        let begins = seconds(now) - AGO.as_secs().cast_signed();
        let ends = (begins + LEAF_LIFE.as_secs().cast_signed()).min(self.ends);
        params.not_before = OffsetDateTime::from_unix_timestamp(begins)?;
        params.not_after = OffsetDateTime::from_unix_timestamp(ends)?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok((certificate.pem(), key.serialize_pem()))
    }

    /// Returns what is wrong with the clock, if the authority is not valid yet.
    pub(crate) fn too_early(&self, now: SystemTime) -> Option<String> {
        (seconds(now) < self.begins).then(|| {
            "The clock of this computer shows a day before its certificate authority was made; phones will not \
             trust it until the clock is right."
                .to_owned()
        })
    }

    /// Returns the certificate for installing.
    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    pub(crate) fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }
}

const DAMAGED: &str = "is damaged";

/// A common name has 64 signs at most.
fn common_name(name: &str) -> String {
    name.chars().filter(|sign| !sign.is_control()).take(64).collect()
}

/// Returns seconds since the epoch, fewer than none before it.
pub(super) fn seconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_secs().try_into().unwrap_or(i64::MAX),
        Err(before) => before.duration().as_secs().try_into().map_or(i64::MIN, |seconds: i64| -seconds),
    }
}
