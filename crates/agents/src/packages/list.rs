//! The list of packages on offer, in the format of the ACP registry
//! (<https://github.com/agentclientprotocol/registry/blob/main/FORMAT.md>).

use super::npm::{NODE, NODE_BYTES};
use crate::limits::{FETCH_LIST, LIST_BYTES};
use openagents_core::agent::PackageOffer;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The address of the newest list.
pub(crate) const REGISTRY: &str = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json";

/// The entries of [`REGISTRY`] for the built-in agents, in the versions that were tested, and their day.
const SHIPPED: (&str, &str) = ("2026-11-28", include_str!("registry-2026-11-28.json"));

/// The packages on offer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct List {
    /// `2026-11-28`.
    pub(crate) date: String,
    /// By the id in the registry.
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// Without its version.
    name: String,
    version: String,
    publisher: String,
    license: String,
}

/// A list on disk.
#[derive(Serialize, Deserialize)]
struct Saved {
    date: String,
    registry: Value,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ListError {
    #[error(
        "The list of agents could not be fetched from {REGISTRY} ({0}). Check the connection, then try again."
    )]
    Fetch(String),
    #[error("The list of agents at {REGISTRY} cannot be read ({0}). Update OpenAgents, then try again.")]
    Format(String),
}

impl List {
    /// The saved list, or the one that ships with this version if that is newer.
    pub(crate) fn load(saved: Option<&[u8]>) -> Self {
        let shipped = Self::parse(SHIPPED.0, SHIPPED.1.as_bytes()).unwrap_or_default();
        let saved = saved.and_then(|bytes| {
            let Saved { date, registry } = serde_json::from_slice(bytes).ok()?;
            Self::from_value(&date, &registry).ok()
        });
        saved.filter(|saved| saved.date > shipped.date).unwrap_or(shipped)
    }

    fn parse(date: &str, json: &[u8]) -> Result<Self, ListError> {
        let value = serde_json::from_slice(json).map_err(|error| ListError::Format(error.to_string()))?;
        Self::from_value(date, &value)
    }

    /// Skips entries without an npm package in one exact version.
    fn from_value(date: &str, registry: &Value) -> Result<Self, ListError> {
        let version = registry["version"].as_str().unwrap_or_default();
        if version.split('.').next() != Some("1") {
            return Err(ListError::Format(format!("its version is \"{version}\"")));
        }
        let agents = registry["agents"].as_array().map(Vec::as_slice).unwrap_or_default();
        let entries =
            agents.iter().filter_map(|agent| Some((agent["id"].as_str()?.to_owned(), Entry::read(agent)?)));
        Ok(Self { date: date.to_owned(), entries: entries.collect() })
    }

    /// Fetches the newest list. Returns it with its form on disk.
    pub(crate) async fn fetch(address: &str) -> Result<(Self, Vec<u8>), ListError> {
        let failed = |error: reqwest::Error| ListError::Fetch(error.without_url().to_string());
        // Only the first call in a process has an effect.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let user_agent = concat!("openagents/", env!("CARGO_PKG_VERSION"));
        let client = reqwest::Client::builder().user_agent(user_agent).timeout(FETCH_LIST);
        let client = client.build().map_err(failed)?;
        let mut response =
            client.get(address).send().await.and_then(reqwest::Response::error_for_status).map_err(failed)?;
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if bytes.len() + chunk.len() > LIST_BYTES {
                return Err(ListError::Format(format!("it has more than {LIST_BYTES} bytes")));
            }
            bytes.extend_from_slice(&chunk);
        }
        let format = |error: serde_json::Error| ListError::Format(error.to_string());
        let registry = serde_json::from_slice(&bytes).map_err(format)?;
        let date = jiff::Zoned::now().date().to_string();
        let list = Self::from_value(&date, &registry)?;
        let saved = serde_json::to_vec(&Saved { date, registry }).map_err(format)?;
        Ok((list, saved))
    }

    /// The offer for an id of the registry. `bytes` is about its size on disk.
    pub(crate) fn offer(&self, id: &str, bytes: u64) -> Option<PackageOffer> {
        let Entry { name, version, publisher, license } = self.entries.get(id)?.clone();
        let node = NODE.map(|(name, version)| format!("{name}@{version}"));
        let (package, node_bytes) = (format!("{name}@{version}"), NODE_BYTES);
        Some(PackageOffer { package, version, publisher, license, bytes, node, node_bytes })
    }
}

impl Entry {
    fn read(agent: &Value) -> Option<Self> {
        let (name, version) = agent["distribution"]["npx"]["package"].as_str()?.rsplit_once('@')?;
        let text = |value: &Value| {
            let shown = value.as_str()?.chars().filter(|letter| !letter.is_control());
            Some(shown.take(100).collect::<String>()).filter(|text| !text.is_empty())
        };
        let authors = agent["authors"].as_array().map(Vec::as_slice).unwrap_or_default();
        let authors: Vec<_> = authors.iter().filter_map(text).take(5).collect();
        (is_package_name(name) && is_exact_version(version)).then(|| Self {
            name: name.to_owned(),
            version: version.to_owned(),
            publisher: if authors.is_empty() { "unknown".to_owned() } else { authors.join(", ") },
            license: text(&agent["license"]).unwrap_or_else(|| "unknown".to_owned()),
        })
    }
}

/// `name` or `@scope/name`, which cannot be taken for an option, a path or an address.
fn is_package_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
        part.bytes().all(known) && part.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
    };
    name.len() <= 214
        && match name.strip_prefix('@') {
            Some(scoped) => {
                scoped.split_once('/').is_some_and(|(scope, name)| is_part(scope) && is_part(name))
            }
            None => is_part(name),
        }
}

/// `1.2.3` or `1.2.3-preview.4`, also usable as the name of a folder; no range and no tag.
fn is_exact_version(version: &str) -> bool {
    let (numbers, suffix) = version.split_once(['-', '+']).unwrap_or((version, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b".-+".contains(&byte);
    version.len() <= 64
        && numbers.split('.').count() == 3
        && numbers.split('.').all(is_number)
        && !suffix.is_empty()
        && suffix.bytes().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known::KNOWN;
    use serde_json::json;

    fn list(agents: Value) -> List {
        List::from_value("2026-12-01", &json!({"version": "1.4.0", "agents": agents})).unwrap()
    }

    #[test]
    fn shipped_list_has_every_built_in_agent() {
        let shipped = List::load(None);
        for (registry, bytes) in KNOWN.iter().filter_map(|known| known.package()) {
            let offer = shipped.offer(registry, bytes).expect(registry);
            assert!(offer.package.ends_with(&format!("@{}", offer.version)), "{offer:?}");
            assert!(offer.publisher != "unknown" && offer.license != "unknown", "{offer:?}");
        }
        assert_eq!(shipped.date, SHIPPED.0);
    }

    #[test]
    fn list_skips_what_is_not_one_exact_npm_package() {
        let package = |package: &str| json!({"id": package, "distribution": {"npx": {"package": package}}});
        let good = ["a@1.2.3", "@a/b-c@1.2.3-preview.4", "a.b_c@10.20.30"];
        let bad = [
            "a",
            "a@latest",
            "a@^1.2.3",
            "a@1.2",
            "a@",
            "@1.2.3",
            "../a@1.2.3",
            "-g@1.2.3",
            "@a@1.2.3",
            "@/a@1.2.3",
            "a b@1.2.3",
            "a@1.2.3 -g",
            "a@1.2.3-",
            "a@1.2.3-../../x",
            "https://x/y@1.2.3",
            "@a/b/c@1.2.3",
            "A@1.2.3",
            "file:x@1.2.3",
            "a@npm:b@1.2.3",
        ];
        let mut agents: Vec<_> = good.iter().chain(&bad).map(|name| package(name)).collect();
        agents.extend([
            json!(7),
            json!({}),
            json!({"id": "x"}),
            json!({"id": "y", "distribution": {"uvx": {}}}),
        ]);
        let list = list(Value::from(agents));
        assert_eq!(
            list.entries.keys().map(String::as_str).collect::<std::collections::BTreeSet<_>>(),
            good.into()
        );
    }

    #[test]
    fn list_refuses_another_major_version() {
        for registry in
            [json!({}), json!([]), json!({"version": "2.0.0", "agents": []}), json!({"version": 1})]
        {
            assert!(
                matches!(List::from_value("2026-12-01", &registry), Err(ListError::Format(_))),
                "{registry}"
            );
        }
    }

    #[test]
    fn newer_saved_list_wins() {
        let saved = |date: &str| {
            let registry = json!({"version": "1.0.0", "agents": [
                {"id": "gemini", "authors": ["G\u{1b}[2J"], "distribution": {"npx": {"package": "g@9.9.9"}}}]});
            serde_json::to_vec(&json!({"date": date, "registry": registry})).unwrap()
        };
        let newer = List::load(Some(&saved("2100-01-01"))).offer("gemini", 5).unwrap();
        assert_eq!((newer.package.as_str(), newer.publisher.as_str(), newer.bytes), ("g@9.9.9", "G[2J", 5));
        for old in [&saved("2020-01-01")[..], b"{", b""] {
            assert_eq!(List::load(Some(old)), List::load(None));
        }
    }
}
