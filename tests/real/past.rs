//! Other agents' sessions, as a client of the server sees them.

use anyhow::{Context as _, Result, ensure};
use openagents_e2e::server::Client;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Rows of a page of the list.
const PAGE: usize = 200;

/// A session's row and all its updates.
#[derive(Debug, PartialEq)]
pub(crate) struct PastSession {
    pub(crate) row: Value,
    pub(crate) updates: Vec<Value>,
}

impl PastSession {
    /// Reads a session from its first line to its last one.
    pub(crate) async fn read(client: &mut Client, provider: &str, id: &str) -> Result<Self> {
        let (mut from, mut updates) = (json!(0), Vec::new());
        loop {
            let query = json!({"provider": provider, "id": id, "from": from});
            let part = client.request("_openagents/history/read", query).await?;
            ensure!(part["omitted"] == 0, "{part}");
            updates.extend(part["updates"].as_array().context("updates")?.iter().cloned());
            if part["to"] == part["size"] {
                return Ok(Self { row: part["session"].clone(), updates });
            }
            ensure!(part["to"] != from, "{part}");
            from = part["to"].clone();
        }
    }
}

/// Returns the rows of all listed sessions of an agent, by id.
pub(crate) async fn listed(client: &mut Client, provider: &str) -> Result<BTreeMap<String, Value>> {
    let (mut after, mut rows) = (Value::Null, BTreeMap::new());
    loop {
        let mut query = json!({"limit": PAGE, "filter": {"provider": provider}});
        if !after.is_null() {
            query["after"] = after.clone();
        }
        let page = client.request("_openagents/history/list", query).await?;
        for row in page["sessions"].as_array().context("sessions")? {
            let id = row["id"].as_str().context("an id")?.to_owned();
            after = json!({"provider": provider, "id": id});
            rows.insert(id, row.clone());
        }
        if page["more"] != true {
            return Ok(rows);
        }
    }
}

/// Returns the ids of the sessions in which the index finds a word.
pub(crate) async fn found_by_word(client: &mut Client, word: &str) -> Result<Vec<String>> {
    let found = client.request("_openagents/sessions/search", json!({"query": word})).await?;
    let hits = found["sessions"].as_array().context("sessions")?;
    hits.iter().map(|hit| Ok(hit["id"].as_str().context("an id")?.to_owned())).collect()
}
