//! Browser tabs of the local user.
//!
//! A tab exchanges the token of the bridge's start for a token of its own, which is valid after a restart too: the page
//! goes on by itself. The SHA-256 is stored, as for a device; with it the bridge proves itself to the tab
//! ([`crate::base::proof`]) before it is sent the token.

use crate::base::{error::Fault, token::hash, token::new_token};
use openagents_core::model::SettingsStore;
use openagents_sessions::{run_blocking, store::now_ms};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// The setting's key.
const SETTING: &str = "tabs";
/// Most tabs; a new one replaces the one that connected longest ago.
const MOST: usize = 64;
/// A tab that has not connected for this time is forgotten, in milliseconds: 30 days.
const FORGET: i64 = 30 * 24 * 60 * 60 * 1000;
/// How often the time of the last connection is stored, in milliseconds: once an hour.
const STORE_SEEN_EVERY: i64 = 60 * 60 * 1000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Tab {
    token_hash: [u8; 32],
    /// Its last connection, in milliseconds since the epoch.
    seen: i64,
    /// The stored value of `seen`.
    #[serde(skip)]
    stored: i64,
}

/// The tabs that may connect, and their setting.
pub(crate) struct Tabs {
    store: Arc<dyn SettingsStore>,
    tabs: Mutex<Vec<Tab>>,
}

impl Tabs {
    /// Reads the stored tabs. Blocks.
    pub(crate) fn read(store: Arc<dyn SettingsStore>) -> Self {
        let stored = store.get(SETTING).unwrap_or_else(|error| {
            tracing::warn!(%error, "could not read the tokens of browser tabs");
            None
        });
        let mut tabs: Vec<Tab> =
            stored.and_then(|stored| serde_json::from_value(stored).ok()).unwrap_or_default();
        let now = now_ms();
        tabs.retain(|tab| now.saturating_sub(tab.seen) < FORGET);
        tabs.iter_mut().for_each(|tab| tab.stored = tab.seen);
        Self { store, tabs: Mutex::new(tabs) }
    }

    /// Adds a tab and returns its token, which is not stored.
    pub(crate) async fn add(&self) -> Result<String, Fault> {
        let token = new_token()?;
        let now = now_ms();
        {
            let mut tabs = self.tabs.lock();
            while tabs.len() >= MOST
                && let Some(oldest) = (0..tabs.len()).min_by_key(|index| tabs[*index].seen)
            {
                tabs.remove(oldest);
            }
            tabs.push(Tab { token_hash: hash(&token), seen: now, stored: now });
        }
        self.write().await?;
        Ok(token)
    }

    /// Returns whether a tab has this token. Compares all of them, so that the time reveals nothing.
    pub(crate) fn know(&self, token: &str) -> bool {
        let hash = hash(token);
        let mut tabs = self.tabs.lock();
        let is_its = |tab: &&mut Tab| bool::from(tab.token_hash.ct_eq(&hash));
        let Some(tab) = tabs.iter_mut().filter(is_its).fold(None, |_, tab| Some(tab)) else { return false };
        tab.seen = now_ms();
        true
    }

    /// Stores the times of the last connections, if that is due.
    pub(crate) async fn store_seen(&self) {
        let is_due = {
            let mut tabs = self.tabs.lock();
            let is_due = tabs.iter().any(|tab| tab.seen.saturating_sub(tab.stored) >= STORE_SEEN_EVERY);
            if is_due {
                tabs.iter_mut().for_each(|tab| tab.stored = tab.seen);
            }
            is_due
        };
        if is_due && let Err(error) = self.write().await {
            tracing::warn!(%error, "could not store when browser tabs connected");
        }
    }

    pub(crate) fn hashes(&self) -> Vec<[u8; 32]> {
        self.tabs.lock().iter().map(|tab| tab.token_hash).collect()
    }

    async fn write(&self) -> Result<(), Fault> {
        let tabs = self.tabs.lock().clone();
        let (store, value) = (self.store.clone(), serde_json::to_value(tabs).unwrap_or_default());
        let written =
            run_blocking(move || store.set(SETTING, value).map_err(|error| error.to_string())).await;
        written.unwrap_or_else(|| Err("interrupted".to_owned())).map_err(Fault::internal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::{settings::Settings, tables::open_store};

    #[tokio::test]
    async fn tabs_survive_a_restart_and_their_tokens_are_not_stored() {
        let home = tempfile::tempdir().unwrap();
        let store: Arc<dyn SettingsStore> = Arc::new(Settings(open_store(home.path()).unwrap()));
        let tabs = Tabs::read(store.clone());
        let token = tabs.add().await.unwrap();
        assert!(tabs.know(&token) && !tabs.know(&token[1..]) && !tabs.know(""));
        let again = Tabs::read(store.clone());
        assert!(again.know(&token));
        assert_eq!(again.hashes(), [hash(&token)]);
        let stored = store.get(SETTING).unwrap().unwrap().to_string();
        assert!(!stored.contains(&token), "{stored}");
    }

    #[tokio::test]
    async fn the_tab_that_connected_longest_ago_makes_room() {
        let home = tempfile::tempdir().unwrap();
        let store: Arc<dyn SettingsStore> = Arc::new(Settings(open_store(home.path()).unwrap()));
        let tabs = Tabs::read(store.clone());
        let [kept, old] = [tabs.add().await.unwrap(), tabs.add().await.unwrap()];
        tabs.tabs.lock()[1].seen -= 60_000;
        for _ in 2..=MOST {
            tabs.add().await.unwrap();
        }
        assert_eq!(tabs.hashes().len(), MOST);
        assert!(tabs.know(&kept) && !tabs.know(&old));
        // After a month without a connection.
        for tab in tabs.tabs.lock().iter_mut() {
            (tab.seen, tab.stored) = (tab.seen - FORGET, tab.stored - FORGET);
        }
        assert!(tabs.know(&kept));
        tabs.store_seen().await;
        assert_eq!(Tabs::read(store).hashes().len(), 1);
    }
}
