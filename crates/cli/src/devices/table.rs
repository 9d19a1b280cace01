//! Formats devices, requests, the network and the audit log for a terminal.

use crate::output::{self, FAINT, columns, rows, said, short};
use serde_json::Value;
use std::collections::HashSet;

/// Returns the lines of `openagents devices list`.
pub(super) fn devices(snapshot: &Value, now: i64) -> Vec<String> {
    let devices: Vec<_> = rows(snapshot, "devices").iter().map(|row| device(row, now)).collect();
    let mut lines = columns(&devices);
    if lines.is_empty() {
        lines.push("No paired devices. Run `openagents pair` to add one.".to_owned());
    }
    let requests = rows(snapshot, "requests");
    if !requests.is_empty() {
        lines.push(format!("\n{FAINT}Pending requests{FAINT:#}"));
    }
    for request in requests {
        let id = request["id"].as_str().unwrap_or_default();
        let left = left(request["expiresAt"].as_i64().unwrap_or_default(), now);
        lines.push(format!("{}  {}, {left} left", output::printable(short(id)), who(request)));
    }
    let apps = rows(snapshot, "apps");
    if !apps.is_empty() {
        lines.push(format!("\n{FAINT}OpenAgents iOS apps{FAINT:#}"));
    }
    for app in apps {
        let until = left(app["until"].as_i64().unwrap_or_default(), now);
        lines.push(format!("{}  allowed for {until}", said(app, "address")));
    }
    lines
}

fn device(row: &Value, now: i64) -> Vec<String> {
    let connections = row["connections"].as_u64().unwrap_or_default();
    let seen = match (connections, row["lastSeen"].as_i64()) {
        (0, None) => "never seen".to_owned(),
        (0, Some(then)) => format!("seen {}", ago(then, now)),
        (1, _) => "connected".to_owned(),
        (many, _) => format!("connected {many} times"),
    };
    let paired = format!("paired {}", ago(row["createdAt"].as_i64().unwrap_or_default(), now));
    let id = output::printable(short(row["id"].as_str().unwrap_or_default()));
    vec![id, said(row, "name"), said(row, "scope"), seen, said(row, "address"), paired]
}

/// Returns the lines of `openagents devices network`.
pub(super) fn network(snapshot: &Value) -> Vec<String> {
    let network = &snapshot["network"];
    let on = |on: bool| if on { "on" } else { "off" };
    let fixed = if network["fixed"] == true { " (set on the command line)" } else { "" };
    let mut facts = vec![
        vec!["Network".to_owned(), format!("{}{fixed}", on(network["lan"] == true))],
        vec!["iOS app".to_owned(), said(network, "ios")],
    ];
    for listener in rows(network, "listeners") {
        let address = said(listener, "address");
        let what = match listener["kind"].as_str() {
            Some("web") => format!("https://{address}  page and ACP"),
            Some("app") => format!("ws://{address}  the iOS app, unencrypted"),
            _ => format!("http://{address}  this computer only"),
        };
        facts.push(vec!["Listens".to_owned(), what]);
    }
    if let Some(fingerprint) = network["fingerprint"].as_str() {
        facts.push(vec!["Certificate".to_owned(), output::printable(fingerprint)]);
    }
    if let Some(problem) = network["problem"].as_str() {
        facts.push(vec!["Problem".to_owned(), output::printable(problem)]);
    }
    columns(&facts)
}

/// Returns the lines of `openagents devices audit`.
pub(super) fn audit(audit: &Value, now: i64) -> Vec<String> {
    let entries = rows(audit, "entries");
    if entries.is_empty() {
        return vec!["No audit entries.".to_owned()];
    }
    let row = |row: &Value| {
        let detail = match &row["detail"] {
            Value::Null => String::new(),
            Value::String(text) => output::printable(text),
            other => output::printable(&other.to_string()),
        };
        let ago = output::age(row["ts"].as_i64().unwrap_or_default(), now);
        vec![ago, said(row, "name"), said(row, "address"), said(row, "action"), detail]
    };
    columns(&entries.iter().map(row).collect::<Vec<_>>())
}

/// Returns the remaining time: `4 min`, `30 s`, `11 h`.
pub(crate) fn left(until: i64, now: i64) -> String {
    let seconds = (until - now).max(0) / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3_600),
    }
}

fn ago(then: i64, now: i64) -> String {
    match output::age(then, now).as_str() {
        "now" => "now".to_owned(),
        age => format!("{age} ago"),
    }
}

// Announces each access request once.

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

    const NOW: i64 = 1_762_336_800_000;

    fn plain(lines: &[String]) -> String {
        anstream::adapter::strip_str(&lines.join("\n")).to_string()
    }

    #[test]
    fn every_device_has_a_line() {
        let snapshot = json!({
            "devices": [
                {"id": "0123456789ab", "name": "Pixel 9", "scope": "approve", "createdAt": NOW - 200_000_000,
                    "lastSeen": NOW, "address": "192.0.2.7", "connections": 2},
                {"id": "abc", "name": "Old\u{7} one", "scope": "view", "createdAt": NOW, "lastSeen": null,
                    "address": null, "connections": 0},
            ],
            "requests": [{"id": "r1", "kind": "ios", "name": "", "address": "192.0.2.9", "compare": null,
                "askedAt": NOW, "expiresAt": NOW + 59_000, "sessionId": null}],
            "apps": [{"address": "192.0.2.8", "allowedAt": NOW, "until": NOW + 12 * 3_600_000}],
        });
        insta::assert_snapshot!(plain(&devices(&snapshot, NOW)), @"
        01234567  Pixel 9       approve  connected 2 times  192.0.2.7  paired 2d ago
        abc       Old\\u{7} one  view     never seen                    paired now

        Pending requests
        r1  an OpenAgents iOS app at 192.0.2.9 asks for access, 59 s left

        OpenAgents iOS apps
        192.0.2.8  allowed for 12 h
        ");
        insta::assert_snapshot!(plain(&devices(&json!({"devices": []}), NOW)), @"No paired devices. Run `openagents pair` to add one.");
    }

    #[test]
    fn the_network_is_shown() {
        let snapshot = json!({"network": {"lan": true, "ios": "ask", "fixed": true, "listeners": [
            {"kind": "loopback", "address": "127.0.0.1:9099"}, {"kind": "web", "address": "192.0.2.2:9443"},
            {"kind": "app", "address": "192.0.2.2:9099"}], "fingerprint": "AB:CD", "problem": "It rains."}});
        insta::assert_snapshot!(plain(&network(&snapshot)), @"
        Network      on (set on the command line)
        iOS app      ask
        Listens      http://127.0.0.1:9099  this computer only
        Listens      https://192.0.2.2:9443  page and ACP
        Listens      ws://192.0.2.2:9099  the iOS app, unencrypted
        Certificate  AB:CD
        Problem      It rains.
        ");
    }

    #[test]
    fn audit_entries_are_shown_in_columns() {
        let entries = json!({"entries": [
            {"id": 2, "ts": NOW - 60_000, "device": "a", "name": "Pixel 9", "address": "192.0.2.7",
                "action": "session/prompt", "detail": {"sessionId": "s"}},
            {"id": 1, "ts": NOW - 90_000_000, "device": null, "name": "", "address": "192.0.2.7",
                "action": "wrong_code", "detail": null},
        ]});
        insta::assert_snapshot!(plain(&audit(&entries, NOW)), @r#"
        1m  Pixel 9  192.0.2.7  session/prompt  {"sessionId":"s"}
        1d           192.0.2.7  wrong_code
        "#);
    }
}

#[cfg(test)]
mod access_requests_tests {
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
