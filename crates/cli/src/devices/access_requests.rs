//! Announces each access request once.

use crate::output::{self, short};
use serde_json::Value;
use std::collections::HashSet;

#[derive(Debug, Default)]
pub(crate) struct AccessRequests {
    told: HashSet<String>,
}

impl AccessRequests {
    /// Returns a line for each request that was not announced before.
    pub(crate) fn news(&mut self, devices: &Value) -> Vec<String> {
        let requests = output::rows(devices, "requests");
        let ids = requests.iter().filter_map(|request| request["id"].as_str());
        self.told.retain(|told| ids.clone().any(|id| id == told));
        let mut news = Vec::new();
        for request in requests {
            let id = request["id"].as_str().unwrap_or_default();
            if self.told.insert(id.to_owned()) {
                news.push(format!("{}: `openagents devices allow {}`", who(request), short(id)));
            }
        }
        news
    }
}

/// Describes a request: `Pixel 9 at 192.168.1.7 asks to pair, compare-code 482 913`.
pub(crate) fn who(request: &Value) -> String {
    let said = |key: &str| output::said(request, key);
    let address = said("address");
    match (request["kind"].as_str(), request["compare"].as_str()) {
        (Some("ios"), _) if said("name").is_empty() => {
            format!("an OpenAgents iOS app at {address} asks for access")
        }
        (Some("ios"), _) => format!("{} at {address} asks for access", said("name")),
        (_, Some(code)) => {
            format!("{} at {address} asks to pair, compare-code {}", said("name"), output::printable(code))
        }
        _ => format!("{} at {address} asks to pair", said("name")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_request_is_announced_once_while_pending() {
        let phone = json!({"id": "0123456789", "kind": "pair", "name": "Pixel\u{1b}[2J", "address": "192.0.2.7",
            "compare": "482 913"});
        let app = json!({"id": "f", "kind": "ios", "name": "", "address": "192.0.2.8", "compare": null});
        let mut requests = AccessRequests::default();
        let both = json!({"requests": [phone, app]});
        insta::assert_snapshot!(requests.news(&both).join("\n"), @"
        Pixel\\u{1b}[2J at 192.0.2.7 asks to pair, compare-code 482 913: `openagents devices allow 01234567`
        an OpenAgents iOS app at 192.0.2.8 asks for access: `openagents devices allow f`
        ");
        assert!(requests.news(&both).is_empty());
        assert!(requests.news(&json!({"requests": []})).is_empty());
        assert_eq!(requests.news(&both).len(), 2, "a repeated request is announced again");
    }
}
