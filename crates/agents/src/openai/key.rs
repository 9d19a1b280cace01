//! The source of an endpoint's key. Keys are never stored in our files.
//!
//! Keys come from the environment and, on macOS, also from the login keychain, since a program started from the Dock
//! lacks the shell's variables. Uses `security-framework`, which TLS needs there anyway; a cross-platform crate would
//! bring D-Bus to Linux, where a headless machine has no such store.

/// The keychain service of the keys; the account is the name of the environment variable.
#[cfg(target_os = "macos")]
const SERVICE: &str = "OpenAgents";

/// The source of a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum KeySource {
    /// The server needs no key.
    #[default]
    None,
    /// An environment variable; on macOS also the keychain item of the service
    /// `OpenAgents` with this name as the account.
    Variable(String),
    /// A key passed in by the caller.
    Given(Secret),
}

/// A key, redacted in `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key; `None` if it is only whitespace.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    pub(super) fn hide_in(&self, text: &str) -> String {
        text.replace(&self.0, "…")
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret")
    }
}

impl KeySource {
    /// Reads the key. May block on the user: macOS asks before a program reads another program's item.
    pub(super) fn read(&self) -> Option<Secret> {
        match self {
            Self::None => None,
            Self::Variable(name) => from_environment(name).or_else(|| from_keychain(name)),
            Self::Given(secret) => Some(secret.clone()),
        }
    }

    /// Returns whether there is a key, without prompting the user.
    pub(super) fn is_there(&self) -> bool {
        match self {
            Self::None => false,
            Self::Variable(name) => from_environment(name).is_some() || is_in_keychain(name),
            Self::Given(_) => true,
        }
    }

    /// Returns the remedy for a missing or wrong key, as a clause.
    pub(super) fn remedy(&self) -> String {
        match self {
            Self::None => "name the variable that holds its key".to_owned(),
            Self::Given(_) => "give it another key".to_owned(),
            Self::Variable(name) if cfg!(target_os = "macos") => format!(
                "set {name} to its key, or keep the key with `security add-generic-password -U -s OpenAgents -a {name} -w`"
            ),
            Self::Variable(name) => format!("set {name} to its key"),
        }
    }
}

fn from_environment(name: &str) -> Option<Secret> {
    Secret::new(&std::env::var(name).ok()?)
}

#[cfg(target_os = "macos")]
fn from_keychain(name: &str) -> Option<Secret> {
    let bytes = security_framework::passwords::get_generic_password(SERVICE, name).ok()?;
    Secret::new(std::str::from_utf8(&bytes).ok()?)
}

/// Requests only the attributes, which needs no confirmation.
#[cfg(target_os = "macos")]
fn is_in_keychain(name: &str) -> bool {
    use security_framework::item::{ItemClass, ItemSearchOptions};
    let mut search = ItemSearchOptions::new();
    search.class(ItemClass::generic_password()).service(SERVICE).account(name).load_attributes(true);
    search.search().is_ok_and(|found| !found.is_empty())
}

#[cfg(not(target_os = "macos"))]
fn from_keychain(_name: &str) -> Option<Secret> {
    None
}

#[cfg(not(target_os = "macos"))]
fn is_in_keychain(_name: &str) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_has_no_key() {
        let given = KeySource::Given(Secret::new(" sk-123 \n").unwrap());
        assert_eq!(format!("{given:?}"), "Given(Secret)");
        assert_eq!(given.read().unwrap().expose(), "sk-123");
        assert_eq!(Secret::new(" \n"), None);
    }

    #[test]
    fn an_unset_variable_is_not_a_key() {
        for name in ["OPENAGENTS_TEST_NO_SUCH_KEY", "", "A=B", "A\0B"] {
            let source = KeySource::Variable(name.to_owned());
            assert!(source.read().is_none() && !source.is_there(), "{name:?}");
        }
        let path = KeySource::Variable("PATH".to_owned());
        assert!(path.read().is_some() && path.is_there());
    }
}
