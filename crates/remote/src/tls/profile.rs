//! The certificate authority as an installable profile.

use super::{authority::Authority, leaf::fingerprint};
use sha2::{Digest, Sha256};

/// Paths of the profile for iOS and macOS, and of the bare certificate.
pub const PROFILE: &str = "/ca.mobileconfig";
pub const CERTIFICATE: &str = "/ca.pem";

pub const PROFILE_TYPE: &str = "application/x-apple-aspen-config";
pub const CERTIFICATE_TYPE: &str = "application/x-pem-file";

/// Returns a configuration profile that makes a phone trust the authority of `computer`. Its ids are stable, so that
/// reinstalling it replaces the old profile.
///
/// Its texts contain no fingerprint, because a profile of another authority could show ours. Users compare the one that
/// the phone computes: Settings → Profile Downloaded → More Details → the certificate.
pub(crate) fn profile(authority: &Authority, computer: &str) -> String {
    let base64: String = authority.pem().lines().filter(|line| !line.starts_with("-----")).collect();
    let print = fingerprint(authority.certificate());
    let id = |part: &str| {
        let hash = Sha256::digest(format!("{part} {print}"));
        let bytes: [u8; 16] = std::array::from_fn(|index| hash[index]);
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string().to_uppercase()
    };
    let (certificate, whole) = (id("certificate"), id("profile"));
    let name = escaped(computer);
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>PayloadContent</key>
  <array>
    <dict>
      <key>PayloadCertificateFileName</key><string>openagents.cer</string>
      <key>PayloadContent</key><data>{base64}</data>
      <key>PayloadDisplayName</key><string>OpenAgents on {name}</string>
      <key>PayloadIdentifier</key><string>com.openagents.desktop.authority.{certificate}</string>
      <key>PayloadType</key><string>com.apple.security.root</string>
      <key>PayloadUUID</key><string>{certificate}</string>
      <key>PayloadVersion</key><integer>1</integer>
    </dict>
  </array>
  <key>PayloadDisplayName</key><string>OpenAgents on {name}</string>
  <key>PayloadDescription</key><string>Lets this device open OpenAgents on {name} over an encrypted connection. Before you install it, compare the fingerprint of the certificate (More Details, then the certificate) with the one that {name} shows.</string>
  <key>PayloadIdentifier</key><string>com.openagents.desktop.{whole}</string>
  <key>PayloadRemovalDisallowed</key><false/>
  <key>PayloadType</key><string>Configuration</string>
  <key>PayloadUUID</key><string>{whole}</string>
  <key>PayloadVersion</key><integer>1</integer>
</dict>
</plist>
"#
    )
}

/// Escapes text for XML and removes control characters.
fn escaped(text: &str) -> String {
    let plain = text.replace(char::is_control, "").replace('&', "&amp;");
    let plain = plain.replace('<', "&lt;").replace('>', "&gt;");
    plain.replace('"', "&quot;").replace('\'', "&apos;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::leaf::Names;
    use std::time::SystemTime;

    #[test]
    fn profile_is_escaped_and_stable() {
        let home = tempfile::tempdir().unwrap();
        let (authority, _) =
            Authority::open(home.path(), "mac", &Names::default(), SystemTime::now()).unwrap();
        let shown = profile(&authority, "A & B's <\"Mac\">\u{7}");
        assert!(shown.contains("OpenAgents on A &amp; B&apos;s &lt;&quot;Mac&quot;&gt;<"), "{shown}");
        assert_eq!(shown, profile(&authority, "A & B's <\"Mac\">\u{7}"));
        // The same bytes as in the file, on one line.
        let base64: String = authority.pem().lines().filter(|line| !line.contains("CERT")).collect();
        assert!(shown.contains(&format!("<data>{base64}</data>")));
        // A text could show any fingerprint, so users must not compare one shown there.
        let print = fingerprint(authority.certificate());
        assert!(!shown.contains(&print) && !shown.contains(&print.replace(':', "")));
        assert!(shown.contains("More Details"));
    }
}
