//! Availability of Foundation Models.

use serde::{Deserialize, Serialize};

/// The first version of macOS with the framework.
const FIRST_VERSION: u32 = 26;

/// Facts that decide whether the helper program is worth starting. Only the framework knows the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Value of [`std::env::consts::OS`]: `macos`.
    pub os: String,
    /// `26.1`, if known.
    pub version: Option<String>,
    /// Value of [`std::env::consts::ARCH`]: `aarch64`.
    pub arch: String,
}

/// The reason the model is not available, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Unavailability {
    #[serde(rename = "not_macos")]
    #[error("Foundation Models are part of macOS; this is not a Mac")]
    NotMacOs,
    #[error("Foundation Models need macOS {FIRST_VERSION}, but this is {version}; update macOS")]
    OsTooOld { version: String },
    #[error(
        "Foundation Models need a Mac with Apple silicon, and the version of this app that is made for it"
    )]
    NotAppleSilicon,
    #[error("this Mac does not support Apple Intelligence")]
    NotEligible,
    #[error("Apple Intelligence is off; switch it on in System Settings, Apple Intelligence & Siri")]
    NotEnabled,
    #[error("the model of Apple Intelligence is not ready yet. macOS is downloading it; try again later")]
    NotReady,
    /// A reason added by a later macOS.
    #[error("Foundation Models are not available, and macOS gives no reason")]
    #[serde(other)]
    Unknown,
}

impl Facts {
    /// Reads the facts of this machine. Cheap.
    pub fn of_this_machine() -> Self {
        let version = if cfg!(target_os = "macos") { sysinfo::System::os_version() } else { None };
        Self { os: std::env::consts::OS.to_owned(), version, arch: std::env::consts::ARCH.to_owned() }
    }

    /// Returns why this machine can't be supported; `None` if the framework has to be asked.
    pub fn unavailability(&self) -> Option<Unavailability> {
        if self.os != "macos" {
            return Some(Unavailability::NotMacOs);
        }
        if self.arch != "aarch64" {
            return Some(Unavailability::NotAppleSilicon);
        }
        let version = self.version.as_deref().unwrap_or_default();
        let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
        // An unknown version may be new enough, so the framework is asked.
        match major {
            Some(major) if major < FIRST_VERSION => {
                Some(Unavailability::OsTooOld { version: version.to_owned() })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_macos_26_on_apple_silicon_is_supported() {
        let old = |version: &str| Some(Unavailability::OsTooOld { version: version.to_owned() });
        let rows = [
            ("linux", None, "x86_64", Some(Unavailability::NotMacOs)),
            ("windows", Some("26.0"), "aarch64", Some(Unavailability::NotMacOs)),
            ("macos", Some("26.0"), "x86_64", Some(Unavailability::NotAppleSilicon)),
            ("macos", Some("15.7.1"), "aarch64", old("15.7.1")),
            ("macos", Some("9"), "aarch64", old("9")),
            ("macos", Some("26.0"), "aarch64", None),
            ("macos", Some("27"), "aarch64", None),
            ("macos", Some("Tahoe"), "aarch64", None),
            ("macos", None, "aarch64", None),
        ];
        for (os, version, arch, expected) in rows {
            let facts =
                Facts { os: os.to_owned(), version: version.map(str::to_owned), arch: arch.to_owned() };
            assert_eq!(facts.unavailability(), expected, "{facts:?}");
        }
    }

    #[test]
    fn reasons_have_no_full_stop() {
        let reasons = [
            Unavailability::NotMacOs,
            Unavailability::OsTooOld { version: "15.7".to_owned() },
            Unavailability::NotAppleSilicon,
            Unavailability::NotEligible,
            Unavailability::NotEnabled,
            Unavailability::NotReady,
            Unavailability::Unknown,
        ];
        let sentences: Vec<_> = reasons.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(sentences.join("\n"));
        for reason in &reasons {
            let line = serde_json::to_string(reason).unwrap();
            assert_eq!(&serde_json::from_str::<Unavailability>(&line).unwrap(), reason, "{line}");
        }
        let later: Unavailability = serde_json::from_str(r#"{"reason":"on_the_moon"}"#).unwrap();
        assert_eq!(later, Unavailability::Unknown);
    }
}
