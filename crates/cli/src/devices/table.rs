//! Formats devices, requests, the network and the audit log for a terminal.

use crate::output::{self, FAINT, columns, printable, short};
use openagents_wire::{
    AuditPage, Device, DeviceRequest, DevicesSnapshot, IosAccess, Listener, NetworkState, RemoteAction,
};
use std::collections::HashSet;

pub(crate) trait Row {
    fn id(&self) -> &str;

    /// Returns its name, or its address, as printed.
    fn shown(&self) -> String;
}

impl Row for Device {
    fn id(&self) -> &str {
        &self.id
    }

    fn shown(&self) -> String {
        output::printable(if self.name.is_empty() {
            self.address.as_deref().unwrap_or_default()
        } else {
            &self.name
        })
    }
}

impl Row for DeviceRequest {
    fn id(&self) -> &str {
        &self.id
    }

    fn shown(&self) -> String {
        if self.name.is_empty() { self.address.to_string() } else { output::printable(&self.name) }
    }
}

/// Returns the lines of `openagents devices list`.
pub(super) fn devices(snapshot: &DevicesSnapshot, now: i64) -> Vec<String> {
    let devices: Vec<_> = snapshot.devices.iter().map(|row| device(row, now)).collect();
    let mut lines = columns(&devices);
    if lines.is_empty() {
        lines.push("No paired devices. Run `openagents pair` to add one.".to_owned());
    }
    if !snapshot.requests.is_empty() {
        lines.push(format!("\n{FAINT}Pending requests{FAINT:#}"));
    }
    for request in &snapshot.requests {
        let left = left(request.expires_at, now);
        lines.push(format!("{}  {}, {left} left", printable(short(&request.id)), who(request)));
    }
    if !snapshot.apps.is_empty() {
        lines.push(format!("\n{FAINT}OpenAgents iOS apps{FAINT:#}"));
    }
    for app in &snapshot.apps {
        lines.push(format!("{}  allowed for {}", app.address, left(app.until, now)));
    }
    lines
}

fn device(row: &Device, now: i64) -> Vec<String> {
    let seen = match (row.connections, row.last_seen) {
        (0, None) => "never seen".to_owned(),
        (0, Some(then)) => format!("seen {}", ago(then, now)),
        (1, _) => "connected".to_owned(),
        (many, _) => format!("{many} connections"),
    };
    let paired = format!("paired {}", ago(row.created_at, now));
    let address = printable(row.address.as_deref().unwrap_or_default());
    vec![
        printable(short(&row.id)),
        printable(&row.name),
        row.scope.as_str().to_owned(),
        seen,
        address,
        paired,
    ]
}

/// Returns the lines of `openagents devices network`.
pub(super) fn network(network: &NetworkState) -> Vec<String> {
    let fixed = if network.fixed { " (set on the command line)" } else { "" };
    let ios = match network.ios {
        IosAccess::Off => "off",
        IosAccess::Ask => "ask",
        IosAccess::Allow => "allow",
    };
    let mut facts = vec![
        vec!["Network".to_owned(), format!("{}{fixed}", if network.lan { "on" } else { "off" })],
        vec!["iOS app".to_owned(), ios.to_owned()],
    ];
    for listener in &network.listeners {
        let address = listener.address;
        let what = match listener.kind {
            Listener::Web => format!("https://{address}  page and ACP"),
            Listener::App => format!("ws://{address}  the iOS app, unencrypted"),
            Listener::Loopback => format!("http://{address}  this computer only"),
        };
        facts.push(vec!["Listens".to_owned(), what]);
    }
    for (name, fact) in [("Certificate", &network.fingerprint), ("Problem", &network.problem)] {
        facts.extend(fact.as_ref().map(|fact| vec![name.to_owned(), printable(fact)]));
    }
    columns(&facts)
}

/// Returns the lines of `openagents devices audit`.
pub(super) fn audit(audit: &AuditPage, now: i64) -> Vec<String> {
    if audit.entries.is_empty() {
        return vec!["No audit entries.".to_owned()];
    }
    let row = |RemoteAction { ts, name, address, action, detail, .. }: &RemoteAction| {
        let words = [name, address, action, detail].map(|word| printable(word));
        std::iter::once(output::age(*ts, now)).chain(words).collect()
    };
    columns(&audit.entries.iter().map(row).collect::<Vec<_>>())
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

/// Announces each access request once.
#[derive(Debug, Default)]
pub(crate) struct AccessRequests {
    announced: HashSet<String>,
}

impl AccessRequests {
    /// Returns a line for each request that was not announced before.
    pub(crate) fn news(&mut self, devices: &DevicesSnapshot) -> Vec<String> {
        let requests = &devices.requests;
        self.announced.retain(|id| requests.iter().any(|request| request.id == *id));
        let new = requests.iter().filter(|request| self.announced.insert(request.id.clone()));
        new.map(|request| format!("{}: `openagents devices allow {}`", who(request), short(&request.id)))
            .collect()
    }
}

/// Describes a request: `Pixel 9 at 192.168.1.7 asks to pair, compare-code 482 913`.
pub(crate) fn who(request: &DeviceRequest) -> String {
    let DeviceRequest { kind, name, address, compare, .. } = request;
    match (kind.as_str(), compare) {
        ("ios", _) if name.is_empty() => format!("an OpenAgents iOS app at {address} asks for access"),
        ("ios", _) => format!("{} at {address} asks for access", request.shown()),
        (_, Some(code)) => {
            format!("{} at {address} asks to pair, compare-code {}", printable(name), printable(code))
        }
        _ => format!("{} at {address} asks to pair", printable(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const NOW: i64 = 1_762_336_800_000;

    fn devices_of(snapshot: Value) -> DevicesSnapshot {
        serde_json::from_value(snapshot).unwrap()
    }

    fn plain(lines: &[String]) -> String {
        anstream::adapter::strip_str(&lines.join("\n")).to_string()
    }

    #[test]
    fn devices_list_has_line_per_device() {
        let snapshot = devices_of(json!({
            "devices": [
                {"id": "0123456789ab", "name": "Pixel 9", "scope": "approve", "createdAt": NOW - 200_000_000,
                    "lastSeen": NOW, "address": "192.0.2.7", "connections": 2},
                {"id": "abc", "name": "Old\u{7} one", "scope": "view", "createdAt": NOW, "lastSeen": null,
                    "address": null, "connections": 0},
            ],
            "requests": [{"id": "r1", "kind": "ios", "name": "", "address": "192.0.2.9", "compare": null,
                "askedAt": NOW, "expiresAt": NOW + 59_000, "sessionId": null}],
            "apps": [{"address": "192.0.2.8", "allowedAt": NOW, "until": NOW + 12 * 3_600_000}],
        }));
        insta::assert_snapshot!(plain(&devices(&snapshot, NOW)), @"
        01234567  Pixel 9       approve  2 connections  192.0.2.7  paired 2d ago
        abc       Old\\u{7} one  view     never seen                paired now

        Pending requests
        r1  an OpenAgents iOS app at 192.0.2.9 asks for access, 59 s left

        OpenAgents iOS apps
        192.0.2.8  allowed for 12 h
        ");
        insta::assert_snapshot!(plain(&devices(&DevicesSnapshot::default(), NOW)), @"No paired devices. Run `openagents pair` to add one.");
    }

    #[test]
    fn network_shows_listeners_and_problem() {
        let network: NetworkState =
            serde_json::from_value(json!({"lan": true, "ios": "ask", "fixed": true, "listeners": [
            {"kind": "loopback", "address": "127.0.0.1:9099"}, {"kind": "web", "address": "192.0.2.2:9443"},
            {"kind": "app", "address": "192.0.2.2:9099"}], "fingerprint": "AB:CD", "problem": "It rains."}))
            .unwrap();
        insta::assert_snapshot!(plain(&super::network(&network)), @"
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
    fn audit_is_shown_in_columns() {
        let entry = |ts, name: &str, action: &str, detail: &str| RemoteAction {
            ts,
            name: name.to_owned(),
            address: "192.0.2.7".to_owned(),
            action: action.to_owned(),
            detail: detail.to_owned(),
            ..RemoteAction::default()
        };
        let entries = vec![
            entry(NOW - 60_000, "Pixel 9", "session/prompt", "session 1"),
            entry(NOW - 90_000_000, "", "wrong_code", ""),
        ];
        let page = AuditPage { entries };
        insta::assert_snapshot!(plain(&audit(&page, NOW)), @"
        1m  Pixel 9  192.0.2.7  session/prompt  session 1
        1d           192.0.2.7  wrong_code
        ");
    }

    #[test]
    fn request_is_announced_once_while_pending() {
        let request = |id: &str, kind: &str, name: &str, address: &str, compare: Option<&str>| {
            json!({"id": id, "kind": kind, "name": name, "address": address, "compare": compare,
                "askedAt": NOW, "expiresAt": NOW, "sessionId": null})
        };
        let phone = request("0123456789", "pair", "Pixel\u{1b}[2J", "192.0.2.7", Some("482 913"));
        let app = request("f", "ios", "", "192.0.2.8", None);
        let mut requests = AccessRequests::default();
        let both = devices_of(json!({"requests": [phone, app]}));
        insta::assert_snapshot!(requests.news(&both).join("\n"), @"
        Pixel\\u{1b}[2J at 192.0.2.7 asks to pair, compare-code 482 913: `openagents devices allow 01234567`
        an OpenAgents iOS app at 192.0.2.8 asks for access: `openagents devices allow f`
        ");
        assert!(requests.news(&both).is_empty());
        assert!(requests.news(&DevicesSnapshot::default()).is_empty());
        assert_eq!(requests.news(&both).len(), 2, "a repeated request is announced again");
    }
}
