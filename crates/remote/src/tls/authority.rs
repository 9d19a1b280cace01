//! This computer's certificate authority. A phone that has installed it trusts the certificates it signs.
//!
//! It is stored in the folder `tls` of the data folder. An unusable one is moved aside, never overwritten: phones may
//! trust it, and its owner may have a copy.
//!
//! It signs only server certificates, and name constraints limit their names to `.local` names, private addresses, and
//! the addresses that were served when the authority was created. A stolen key cannot be used to impersonate a bank to
//! a phone that trusts the authority, or to sign mail. To replace the authority, the user moves the folder away.

use super::{
    files::{self, AuthorityError},
    leaf::{Constraints, LEAST, Leaf, Names, fingerprint, seconds},
};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData, SanType,
};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};
use time::OffsetDateTime;

const FOLDER: &str = "tls";
const AUTHORITY: [&str; 2] = ["ca.pem", "ca.key"];
const LEAF: [&str; 2] = ["leaf.pem", "leaf.key"];

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const AUTHORITY_LIFE: Duration = Duration::from_secs(3652 * DAY.as_secs());
/// Apple devices reject certificates that are valid for more than 398 days.
const LEAF_LIFE: Duration = Duration::from_secs(397 * DAY.as_secs());
/// Certificates are backdated by this, because the clocks of phones may differ from ours.
const AGO: Duration = DAY;

pub struct Authority {
    folder: PathBuf,
    pem: String,
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
    constraints: Constraints,
    /// Seconds since the epoch.
    begins: i64,
    ends: i64,
}

impl Authority {
    /// Reads the authority of the data folder, or creates one for `computer` and `names`. Also returns a notice if an
    /// unusable authority was moved aside. Blocks.
    pub fn open(
        home: &Path,
        computer: &str,
        names: &Names,
        now: SystemTime,
    ) -> Result<(Self, Option<String>), AuthorityError> {
        let folder = home.join(FOLDER);
        let [certificate, key] = AUTHORITY.map(|name| folder.join(name));
        let why = match (files::read_certificate_file(&certificate)?, files::read_certificate_file(&key)?) {
            (None, None) => None,
            (Some(pem), Some(key)) => match Self::parse(&folder, pem, &key) {
                Some(authority) if seconds(now + LEAST) <= authority.ends => return Ok((authority, None)),
                Some(_) => Some("has expired"),
                None => Some("is damaged"),
            },
            _ => Some("is incomplete"),
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
        Ok((Self::make(&folder, computer, names, now)?, notice))
    }

    fn make(folder: &Path, computer: &str, names: &Names, now: SystemTime) -> Result<Self, AuthorityError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let constraints = Constraints::permitting(names);
        params.custom_extensions = vec![constraints.extension()];
        params.distinguished_name = rcgen::DistinguishedName::new();
        // A common name has at most 64 characters.
        let name = format!("OpenAgents on {computer}");
        let name: String = name.chars().filter(|sign| !sign.is_control()).take(64).collect();
        params.distinguished_name.push(DnType::CommonName, name);
        params.distinguished_name.push(DnType::OrganizationName, "OpenAgents");
        let (begins, ends) = (seconds(now) - AGO.as_secs().cast_signed(), seconds(now + AUTHORITY_LIFE));
        params.not_before = OffsetDateTime::from_unix_timestamp(begins)?;
        params.not_after = OffsetDateTime::from_unix_timestamp(ends)?;
        let certificate = params.self_signed(&key)?;
        let pem = certificate.pem();
        files::write_certificate_file(&folder.join(AUTHORITY[1]), &key.serialize_pem())?;
        files::write_certificate_file(&folder.join(AUTHORITY[0]), &pem)?;
        let certificate = certificate.der().clone();
        let issuer = Issuer::new(params, key);
        Ok(Self { folder: folder.to_owned(), pem, certificate, issuer, constraints, begins, ends })
    }

    /// Parses a certificate and its key. `None` if they are damaged, do not match, or have no name constraints.
    fn parse(folder: &Path, pem: String, key: &str) -> Option<Self> {
        let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?.into_owned();
        let key = KeyPair::from_pem(key).ok()?;
        let (constraints, begins, ends) = {
            let (_, read) = x509_parser::parse_x509_certificate(&certificate).ok()?;
            if !read.is_ca() || read.public_key().raw != key.subject_public_key_info() {
                return None;
            }
            read.verify_signature(None).ok()?;
            let constraints = Constraints::parse(read.name_constraints().ok()??.value);
            let validity = read.validity();
            (constraints, validity.not_before.timestamp(), validity.not_after.timestamp())
        };
        let issuer = Issuer::from_ca_cert_der(&certificate, key).ok()?;
        Some(Self { folder: folder.to_owned(), pem, certificate, issuer, constraints, begins, ends })
    }

    pub fn permitted(&self, names: &Names) -> Names {
        self.constraints.permitted(names)
    }

    /// Returns a sentence about those of `names` that the authority may not sign for, if there are any.
    pub fn outside_notice(&self, names: &Names) -> Option<String> {
        let Names { addresses, hosts } = self.permitted(names);
        let addresses = names.addresses.difference(&addresses).map(ToString::to_string);
        let outside: Vec<String> = addresses.chain(names.hosts.difference(&hosts).cloned()).collect();
        (!outside.is_empty()).then(|| {
            format!(
                "The certificate can't cover {}: the certificate authority is limited to private networks and to what was \
                 served when it was made. To make a new one, which phones have to install again, quit OpenAgents and move \
                 {} away.",
                outside.join(", "),
                self.folder.display()
            )
        })
    }

    /// Returns the stored certificate if it covers the permitted ones of `names` and does not expire soon, otherwise a
    /// new one. Blocks.
    pub fn leaf(&self, names: &Names, now: SystemTime) -> Result<Leaf, AuthorityError> {
        let names = &self.permitted(names);
        let [certificate, key] = LEAF.map(|name| self.folder.join(name));
        if let (Some(pem), Some(key)) =
            (files::read_certificate_file(&certificate)?, files::read_certificate_file(&key)?)
        {
            match Leaf::parse(&pem, &key, &self.certificate) {
                Some(leaf) if leaf.covers(names, now) => return Ok(leaf),
                Some(_) => tracing::info!("renewing the certificate"),
                None => tracing::warn!("the certificate is damaged; creating a new one"),
            }
        }
        let (pem, new_key) = self.sign(names, now)?;
        let leaf = Leaf::parse(&pem, &new_key, &self.certificate);
        let leaf = leaf.ok_or_else(|| AuthorityError::Make("it cannot be read again".to_owned()))?;
        if !leaf.lasts(now) {
            return Err(AuthorityError::Expired);
        }
        files::write_certificate_file(&key, &new_key)?;
        files::write_certificate_file(&certificate, &pem)?;
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

    /// Returns a warning if the clock is set to before the authority's validity period.
    pub fn clock_warning(&self, now: SystemTime) -> Option<String> {
        (seconds(now) < self.begins).then(|| {
            "This computer's clock is set to before its certificate authority was created; phones won't trust it \
            until the clock is correct."
                .to_owned()
        })
    }

    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// Returns the SHA-256 of the certificate, as phones show it before installation: `AB:CD:…`.
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.certificate)
    }

    pub(crate) fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustls::client::danger::ServerCertVerifier;
    use std::{
        fs,
        sync::{Arc, LazyLock},
        time::UNIX_EPOCH,
    };
    use x509_parser::prelude::*;

    fn names(addresses: &[&str]) -> Names {
        Names {
            addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
            hosts: ["localhost", "mac.local"].map(str::to_owned).into(),
        }
    }

    fn open(home: &Path, now: SystemTime) -> (Authority, Option<String>) {
        Authority::open(home, "Ada's Mac", &names(&[]), now).unwrap()
    }

    fn file(home: &Path, name: &str) -> PathBuf {
        home.join(FOLDER).join(name)
    }

    #[test]
    fn certificates_have_expected_contents() {
        let home = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let (authority, notice) = open(home.path(), now);
        assert_eq!(notice, None);
        let wanted = names(&["192.168.1.5", "fd00::2"]);
        let leaf = authority.leaf(&wanted, now).unwrap();
        assert!(leaf.covers(&wanted, now));
        let pem = fs::read(file(home.path(), "leaf.pem")).unwrap();
        let der = CertificateDer::from_pem_slice(&pem).unwrap();
        let (_, read) = parse_x509_certificate(&der).unwrap();
        assert!(!read.is_ca());
        assert!(read.extended_key_usage().unwrap().unwrap().value.server_auth);
        let life = read.validity().not_after.timestamp() - read.validity().not_before.timestamp();
        assert!(life <= 398 * DAY.as_secs().cast_signed(), "{life}");
        assert!(leaf.until() > (seconds(now) + 390 * DAY.as_secs().cast_signed()) * 1000);
        let print = leaf.fingerprint();
        assert!(print.len() == 32 * 3 - 1 && print == print.to_uppercase(), "{print}");
        let (_, read) = parse_x509_certificate(authority.certificate()).unwrap();
        assert!(read.is_ca());
        let usage = read.extended_key_usage().unwrap().unwrap().value;
        assert!(usage.server_auth && !usage.client_auth && !usage.email_protection && !usage.code_signing);
        assert_eq!(
            read.subject().iter_common_name().next().unwrap().as_str().unwrap(),
            "OpenAgents on Ada's Mac"
        );
        for name in AUTHORITY.iter().chain(&LEAF) {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(file(home.path(), name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }

    #[test]
    fn authority_signs_only_private_and_served_names() {
        let home = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let (authority, _) =
            Authority::open(home.path(), "mac", &names(&["192.168.1.5", "100.101.102.103"]), now).unwrap();
        let (_, read) = parse_x509_certificate(authority.certificate()).unwrap();
        assert!(read.name_constraints().unwrap().unwrap().critical);
        for (address, permitted) in [
            ("10.0.0.7", true),
            ("172.31.0.1", true),
            ("172.32.0.1", false),
            ("192.168.9.9", true),
            ("127.0.0.2", true),
            ("fd00::2", true),
            ("100.101.102.103", true),
            ("100.101.102.104", false),
            ("203.0.113.9", false),
            ("2001:db8::1", false),
        ] {
            let wanted = names(&[address]);
            let leaf = authority.leaf(&wanted, now).unwrap();
            assert_eq!(leaf.covers(&wanted, now), permitted, "{address}");
            let notice = authority.outside_notice(&wanted);
            assert_eq!(notice.is_some_and(|notice| notice.contains(address)), !permitted, "{address}");
            // Clients agree.
            let verify = |certificate: &CertificateDer<'_>, name: &str| verify(&authority, certificate, name);
            let pem = fs::read(file(home.path(), "leaf.pem")).unwrap();
            let own = CertificateDer::from_pem_slice(&pem).unwrap();
            assert_eq!(verify(&own, address), permitted, "{address}");
            assert!(verify(&own, "mac.local"));
            let forced = authority.sign(&wanted, now).unwrap().0;
            let forced = CertificateDer::from_pem_slice(forced.as_bytes()).unwrap();
            assert_eq!(verify(&forced, address), permitted, "{address}");
        }
        let bank = Names { hosts: ["bank.example".to_owned()].into(), ..Names::default() };
        assert_eq!(authority.permitted(&bank), Names::default());
        // The constraints are the same after a restart.
        let (authority, _) = open(home.path(), now);
        assert_eq!(authority.permitted(&bank), Names::default());
        assert_eq!(authority.permitted(&names(&["100.101.102.103"])), names(&["100.101.102.103"]));
    }

    /// Returns whether a client that trusts the authority accepts the certificate for the server `name`.
    fn verify(authority: &Authority, certificate: &CertificateDer<'_>, name: &str) -> bool {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(authority.certificate().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = rustls::client::WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let name = rustls::pki_types::ServerName::try_from(name.to_owned()).unwrap();
        let now = rustls::pki_types::UnixTime::now();
        verifier.build().unwrap().verify_server_cert(certificate, &[], &name, &[], now).is_ok()
    }

    #[test]
    fn authority_signs_no_email_or_uri() {
        let home = tempfile::tempdir().unwrap();
        let (authority, _) = open(home.path(), SystemTime::now());
        let text = |text: &str| rcgen::string::Ia5String::try_from(text).unwrap();
        for (name, accepted) in [
            (None, true),
            (Some(SanType::DnsName(text("other.local"))), true),
            (Some(SanType::Rfc822Name(text("ada@bank.example"))), false),
            (Some(SanType::Rfc822Name(text("ada@mac.local"))), false),
            (Some(SanType::URI(text("https://bank.example/"))), false),
            (Some(SanType::URI(text("spiffe://bank.example/pay"))), false),
        ] {
            let mut params = CertificateParams::default();
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            let shown = format!("{name:?}");
            params.subject_alt_names =
                [SanType::DnsName(text("mac.local"))].into_iter().chain(name).collect();
            let signed = params.signed_by(&KeyPair::generate().unwrap(), &authority.issuer).unwrap();
            assert_eq!(verify(&authority, signed.der(), "mac.local"), accepted, "{shown}");
        }
    }

    #[test]
    fn authority_without_constraints_is_moved_aside() {
        let local = rcgen::NameConstraints {
            permitted_subtrees: vec![rcgen::GeneralSubtree::DnsName("local".to_owned())],
            excluded_subtrees: Vec::new(),
        };
        for (constraints, is_kept) in [(None, false), (Some(local), true)] {
            let home = tempfile::tempdir().unwrap();
            let now = SystemTime::now();
            let (mut params, key) = (CertificateParams::default(), KeyPair::generate().unwrap());
            params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Constrained(0));
            params.name_constraints = constraints;
            params.not_after = OffsetDateTime::from_unix_timestamp(seconds(now + AUTHORITY_LIFE)).unwrap();
            let other = params.self_signed(&key).unwrap();
            fs::create_dir(home.path().join(FOLDER)).unwrap();
            fs::write(file(home.path(), "ca.pem"), other.pem()).unwrap();
            fs::write(file(home.path(), "ca.key"), key.serialize_pem()).unwrap();
            let (authority, notice) = open(home.path(), now);
            assert_eq!((notice.is_none(), authority.certificate() == other.der()), (is_kept, is_kept));
        }
    }

    #[test]
    fn leaf_is_renewed_when_needed() {
        let home = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let at_home = names(&["192.168.1.5"]);
        let first = open(home.path(), now).0.leaf(&at_home, now).unwrap().fingerprint();
        // Every case starts with the same files.
        let kept = LEAF.map(|name| fs::read(file(home.path(), name)).unwrap());
        let damage = |name: &'static str| move |home: &Path| fs::write(file(home, name), "no PEM").unwrap();
        let remove = |name: &'static str| move |home: &Path| fs::remove_file(file(home, name)).unwrap();
        let nothing = |_: &Path| {};
        type Change = Box<dyn Fn(&Path)>;
        let cases: [(&str, Change, &[&str], SystemTime, bool); 9] = [
            ("nothing changed", Box::new(nothing), &["192.168.1.5"], now, true),
            ("an address went away", Box::new(nothing), &[], now, true),
            ("a new address", Box::new(nothing), &["192.168.1.5", "10.0.0.7"], now, false),
            ("31 days before its end", Box::new(nothing), &[], now + LEAF_LIFE - AGO - DAY * 31, true),
            ("29 days before its end", Box::new(nothing), &[], now + LEAF_LIFE - AGO - DAY * 29, false),
            ("the clock jumped back two days", Box::new(nothing), &[], now - DAY * 2, false),
            ("damaged", Box::new(damage("leaf.pem")), &[], now, false),
            ("its key is damaged", Box::new(damage("leaf.key")), &[], now, false),
            ("its key is gone", Box::new(remove("leaf.key")), &[], now, false),
        ];
        for (what, change, addresses, now, same) in cases {
            for (name, bytes) in LEAF.iter().zip(&kept) {
                fs::write(file(home.path(), name), bytes).unwrap();
            }
            change(home.path());
            let (authority, notice) = open(home.path(), now);
            assert_eq!(notice, None, "{what}");
            let wanted = names(addresses);
            let leaf = authority.leaf(&wanted, now).unwrap();
            assert!(leaf.covers(&wanted, now), "{what}");
            assert_eq!(leaf.fingerprint() == first, same, "{what}");
            // A new certificate is stored and reused.
            assert_eq!(
                open(home.path(), now).0.leaf(&wanted, now).unwrap().fingerprint(),
                leaf.fingerprint()
            );
        }
    }

    #[test]
    fn unusable_authority_is_moved_aside_with_notice() {
        let other = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        open(other.path(), now);
        let other_key = fs::read(file(other.path(), "ca.key")).unwrap();
        type Change<'a> = Box<dyn Fn(&Path) + 'a>;
        let write = |name: &'static str, bytes: &'static [u8]| -> Change<'_> {
            Box::new(move |home| fs::write(file(home, name), bytes).unwrap())
        };
        let expired = now + AUTHORITY_LIFE - AGO;
        let cases: [(&str, Change<'_>, SystemTime, &str); 7] = [
            ("no PEM", write("ca.pem", b"hello"), now, "is damaged"),
            ("no text", write("ca.key", &[0xff; 100]), now, "is damaged"),
            ("empty", write("ca.pem", b""), now, "is damaged"),
            ("far too long", write("ca.pem", &[b'a'; 100_000]), now, "is damaged"),
            (
                "another key",
                Box::new(|home| fs::write(file(home, "ca.key"), &other_key).unwrap()),
                now,
                "is damaged",
            ),
            (
                "a file is gone",
                Box::new(|home| fs::remove_file(file(home, "ca.key")).unwrap()),
                now,
                "is incomplete",
            ),
            ("at its end", Box::new(|_| {}), expired, "has expired"),
        ];
        for (what, change, now, why) in cases {
            let home = tempfile::tempdir().unwrap();
            let (first, _) = open(home.path(), SystemTime::now());
            change(home.path());
            let before = fs::read(file(home.path(), "ca.pem")).unwrap();
            let (second, notice) = open(home.path(), now);
            let aside = file(home.path(), &format!("ca.pem.damaged-{}", seconds(now)));
            assert_eq!(
                notice.as_deref(),
                Some(&*format!(
                    "The certificate authority of this computer {why}; it was moved to {} and a new one was made. \
                     Phones that had installed it must install it again.",
                    aside.display()
                )),
                "{what}"
            );
            assert_eq!(fs::read(aside).unwrap(), before, "{what}");
            assert_ne!(second.certificate(), first.certificate(), "{what}");
            assert_eq!(open(home.path(), now).0.certificate(), second.certificate(), "{what}");
        }
    }

    #[test]
    fn unusable_tls_folder_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(FOLDER), "a file").unwrap();
        let error =
            Authority::open(home.path(), "mac", &names(&[]), SystemTime::now()).err().unwrap().to_string();
        let file = file(home.path(), "ca.pem");
        assert!(
            error.starts_with(&format!("cannot read the certificate file {}: ", file.display())),
            "{error}"
        );
    }

    #[test]
    fn early_clock_gives_a_warning() {
        let home = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let (authority, _) = open(home.path(), now);
        assert_eq!(authority.clock_warning(now), None);
        let (authority, notice) = open(home.path(), UNIX_EPOCH);
        assert_eq!(notice, None);
        assert!(authority.clock_warning(UNIX_EPOCH).is_some());
        assert!(authority.leaf(&names(&[]), UNIX_EPOCH).unwrap().covers(&names(&[]), UNIX_EPOCH));
    }

    /// Regression: a new certificate was made every few seconds, each as short-lived as the one before.
    #[test]
    fn late_clock_makes_no_expired_certificate() {
        let home = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let (authority, _) = open(home.path(), now);
        authority.leaf(&names(&[]), now).unwrap();
        let kept = fs::read(file(home.path(), "leaf.pem")).unwrap();
        let ahead = now + AUTHORITY_LIFE;
        assert!(matches!(authority.leaf(&names(&[]), ahead), Err(AuthorityError::Expired)));
        assert_eq!(fs::read(file(home.path(), "leaf.pem")).unwrap(), kept);
        // Reopening makes a new authority.
        let (authority, notice) = open(home.path(), ahead);
        assert!(notice.is_some() && authority.leaf(&names(&[]), ahead).unwrap().covers(&names(&[]), ahead));
    }

    static FILES: LazyLock<(CertificateDer<'static>, Vec<String>)> = LazyLock::new(|| {
        let home = tempfile::tempdir().unwrap();
        let (authority, _) = open(home.path(), SystemTime::now());
        authority.leaf(&names(&["192.168.1.5"]), SystemTime::now()).unwrap();
        let files =
            AUTHORITY.iter().chain(&LEAF).map(|name| fs::read_to_string(file(home.path(), name)).unwrap());
        (authority.certificate().clone(), files.collect())
    });

    proptest! {
        #[test]
        fn certificate_parsers_never_panic(
            which in 0usize..4,
            at in 30usize..700,
            with in "[A-Za-z0-9+/]{1,4}",
            whole in proptest::option::weighted(0.1, ".*"),
        ) {
            let (certificate, mut files) = FILES.clone();
            let file = &mut files[which];
            let range = at.min(file.len())..(at + with.len()).min(file.len());
            file.replace_range(range, &with);
            if let Some(whole) = whole {
                *file = whole;
            }
            let [pem, key, leaf, leaf_key] = files.try_into().unwrap();
            let _ = Authority::parse(Path::new(""), pem, &key);
            let _ = Leaf::parse(&leaf, &leaf_key, &certificate);
        }
    }
}
