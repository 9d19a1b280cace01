//! Browser tabs of the local user.
//!
//! A tab exchanges the token of the current bridge start, which is part of the opened URL, for two others:
//!
//! - The *tab token* connects, and stays valid after a restart so that a page can reconnect. It is held only in the
//!   memory of the page. Its SHA-256 is stored, as for a device; with it the bridge proves itself to the page
//!   ([`crate::token`]) before the page sends the token.
//! - The *reload token* is kept by the browser for page reloads and is valid only for another exchange. It is invalid
//!   after a restart, because a program on the port of a crashed bridge could read it with its own page.

use crate::token::{hash, new_token};
use openagents_connection::fault::Fault;
use openagents_core::model::SettingsStore;
use openagents_sessions::run_blocking;
use serde::Serialize;
use std::sync::Arc;
use subtle::ConstantTimeEq;

const SETTING: &str = "tabs";
/// Maximum number of bridge starts whose tab tokens are valid. A page from an older start must be opened again.
const MAX_STARTS: usize = 16;

/// The tokens that the tabs of one bridge start share; the answer to the exchange.
#[derive(Serialize)]
pub struct TabTokens {
    pub(crate) token: String,
    pub(crate) reload: String,
}

pub struct Tabs {
    store: Arc<dyn SettingsStore>,
    own: TabTokens,
    /// The SHA-256 hashes of the valid tab tokens, oldest first; the token of this start is last.
    hashes: Vec<[u8; 32]>,
    is_stored: tokio::sync::Mutex<bool>,
}

impl Tabs {
    /// Creates the tokens of this start and reads the stored hashes of earlier ones. Blocks. Fails if the operating
    /// system returns no random numbers.
    pub fn load(store: Arc<dyn SettingsStore>) -> Result<Self, getrandom::Error> {
        let own = TabTokens { token: new_token()?, reload: new_token()? };
        let stored = store.get(SETTING).unwrap_or_else(|error| {
            tracing::warn!(%error, "could not read the tokens of browser tabs");
            None
        });
        let mut hashes: Vec<[u8; 32]> =
            stored.and_then(|stored| serde_json::from_value(stored).ok()).unwrap_or_default();
        hashes.drain(..(hashes.len() + 1).saturating_sub(MAX_STARTS));
        hashes.push(hash(&own.token));
        Ok(Self { store, own, hashes, is_stored: tokio::sync::Mutex::new(false) })
    }

    /// Returns the tokens of this start. They are stored on the first call, so that a start without tabs does not
    /// displace older tokens.
    pub async fn tokens(&self) -> Result<&TabTokens, Fault> {
        let mut is_stored = self.is_stored.lock().await;
        if !*is_stored {
            let (store, value) = (self.store.clone(), serde_json::to_value(&self.hashes).unwrap_or_default());
            let written =
                run_blocking(move || store.set(SETTING, value).map_err(|error| error.to_string())).await;
            written.unwrap_or_else(|| Err("interrupted".to_owned())).map_err(Fault::internal)?;
            *is_stored = true;
        }
        Ok(&self.own)
    }

    /// Compares with every token, so that the timing reveals nothing.
    pub fn is_tab_token(&self, token: &str) -> bool {
        let hash = hash(token);
        self.hashes.iter().fold(false, |known, own| known | bool::from(own.ct_eq(&hash)))
    }

    /// Compares in constant time.
    pub fn is_reload_token(&self, token: &str) -> bool {
        self.own.reload.as_bytes().ct_eq(token.as_bytes()).into()
    }

    pub(crate) fn hashes(&self) -> impl Iterator<Item = [u8; 32]> {
        self.hashes.iter().copied().chain([hash(&self.own.reload)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::tables::open_store;
    use crate::settings::Settings;

    #[tokio::test]
    async fn tab_token_outlives_reload_token() {
        let home = tempfile::tempdir().unwrap();
        let store: Arc<dyn SettingsStore> =
            Arc::new(Settings::new(open_store(home.path()).unwrap(), home.path()));
        let tabs = Tabs::load(store.clone()).unwrap();
        let TabTokens { token, reload } = tabs.tokens().await.unwrap();
        assert!(
            tabs.is_tab_token(token)
                && !tabs.is_tab_token(reload)
                && !tabs.is_tab_token(&token[1..])
                && !tabs.is_tab_token("")
        );
        assert!(tabs.is_reload_token(reload) && !tabs.is_reload_token(token) && !tabs.is_reload_token(""));
        assert!(tabs.hashes().eq([hash(token), hash(reload)]));
        let again = Tabs::load(store.clone()).unwrap();
        assert!(again.is_tab_token(token) && !again.is_tab_token(reload) && !again.is_reload_token(reload));
        assert!(!again.hashes().any(|known| known == hash(reload)), "nor can it be a key of a proof");
        let stored = store.get(SETTING).unwrap().unwrap().to_string();
        assert!(!stored.contains(token) && !stored.contains(reload), "{stored}");
    }

    #[tokio::test]
    async fn oldest_tab_token_makes_room() {
        let home = tempfile::tempdir().unwrap();
        let store: Arc<dyn SettingsStore> =
            Arc::new(Settings::new(open_store(home.path()).unwrap(), home.path()));
        let start = || Tabs::load(store.clone()).unwrap();
        let mut tokens = Vec::new();
        for _ in 0..MAX_STARTS {
            let tabs = start();
            tokens.push(tabs.tokens().await.unwrap().token.clone());
            // Two starts without a tab.
            start();
            start();
        }
        let last = start();
        assert!(!last.is_tab_token(&tokens[0]) && tokens[1..].iter().all(|token| last.is_tab_token(token)));
        assert_eq!(last.hashes.len(), MAX_STARTS);
    }

    /// Earlier versions kept these tokens in the browser.
    #[test]
    fn former_tab_tokens_are_invalid() {
        let home = tempfile::tempdir().unwrap();
        let store: Arc<dyn SettingsStore> =
            Arc::new(Settings::new(open_store(home.path()).unwrap(), home.path()));
        let former = serde_json::json!([{"token_hash": hash("former"), "seen": 1_764_000_000_000_i64}]);
        store.set(SETTING, former).unwrap();
        assert!(!Tabs::load(store).unwrap().is_tab_token("former"));
    }
}
