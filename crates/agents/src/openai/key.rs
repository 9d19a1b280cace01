//! Where the key of an endpoint is. Never in our files.
//!
//! The environment everywhere; on macOS the login keychain as well, because a program that is started from the Dock has
//! no variables of a shell. Through `security-framework`, which TLS brings along there; a crate for every platform's
//! store would bring D-Bus to Linux, where a machine without a desktop has no such store.

/// The service under which a key is kept in the keychain; the account is the name of the variable.
#[cfg(target_os = "macos")]
const SERVICE: &str = "OpenAgents";

/// Where a key is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum KeySource {
    /// The server wants none.
    #[default]
    None,
    /// A variable of the environment; on macOS also the keychain item of the service `OpenAgents` with this account.
    Variable(String),
    /// Whoever made the endpoint has it.
    Given(Secret),
}

/// A key. Its `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key; `None` if there is nothing but white space.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// Returns the key, for the header that carries it.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    /// Takes the key out of a text that others may read.
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
    /// Reads the key. May wait for a person: macOS asks whether a program may see an item that another one made.
    pub(super) fn read(&self) -> Option<Secret> {
        match self {
            Self::None => None,
            Self::Variable(name) => from_environment(name).or_else(|| from_keychain(name)),
            Self::Given(secret) => Some(secret.clone()),
        }
    }

    /// Returns whether there is a key, without asking anybody.
    pub(super) fn is_there(&self) -> bool {
        match self {
            Self::None => false,
            Self::Variable(name) => from_environment(name).is_some() || is_in_keychain(name),
            Self::Given(_) => true,
        }
    }

    /// Returns what to do so that there is a key, or the right one: a clause.
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

/// Asks for the attributes alone: those are shown without a question.
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
    fn a_key_is_in_no_debug_output() {
        let given = KeySource::Given(Secret::new(" sk-123 \n").unwrap());
        assert_eq!(format!("{given:?}"), "Given(Secret)");
        assert_eq!(given.read().unwrap().expose(), "sk-123");
        assert_eq!(Secret::new(" \n"), None);
    }

    #[test]
    fn a_variable_that_is_not_set_is_no_key() {
        for name in ["OPENAGENTS_TEST_NO_SUCH_KEY", "", "A=B", "A\0B"] {
            let source = KeySource::Variable(name.to_owned());
            assert!(source.read().is_none() && !source.is_there(), "{name:?}");
        }
        let path = KeySource::Variable("PATH".to_owned());
        assert!(path.read().is_some() && path.is_there());
    }
}
