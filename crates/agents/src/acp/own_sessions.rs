//! The sessions that an agent keeps itself: listed, and deleted there. The agent is started for it, without a session.

use super::{
    AcpAgent,
    live::Live,
    opening::{Opening, Stop},
};
use crate::{
    limits::{LIST_SESSIONS, OPTION_ID, SESSION_PAGES, SESSION_ROWS},
    output::one_line,
};
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, AgentHost, OwnSession},
    approval::{ApprovalOutcome, ApprovalRequest, Approvals},
};
use serde_json::{Value, json};
use std::{path::Path, time::Instant};

/// Stops the agent when it is dropped, also after a panic.
struct Stopped<'a>(&'a Live, &'a str);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.0.connection.stop(format!("{} is not needed any more", self.1));
    }
}

/// What opencode calls a session that has no prompt yet; it lists these too.
const EMPTY: &str = "New session - ";

/// Nothing is asked or shown without a session.
struct NoHost;

impl AgentHost for NoHost {
    fn emit(&self, _: AgentEvent) {}

    fn remember(&self, _: &str) {}
}

impl Approvals for NoHost {
    fn ask(&self, _: ApprovalRequest, _: &CancellationToken) -> ApprovalOutcome {
        ApprovalOutcome::Cancelled
    }
}

impl AcpAgent {
    /// Returns the agent's sessions in a workspace, newest first. Blocks for up to 10 s, and while the agent starts.
    pub(super) fn list_own_sessions(
        &self,
        workspace: &Path,
        cancel: &CancellationToken,
    ) -> Result<Vec<OwnSession>, String> {
        self.without_session(workspace, cancel, |opening, can| {
            if !can["list"].is_object() {
                return Err(Stop::Failed(format!("{} can't list its sessions", self.config.name)));
            }
            let (mut all, mut params) = (Vec::new(), json!({"cwd": workspace}));
            for _ in 0..SESSION_PAGES {
                let answer = opening.call("session/list", &params)?;
                add_rows(&mut all, &answer, workspace);
                match &answer["nextCursor"] {
                    Value::String(next) if all.len() < SESSION_ROWS && Instant::now() < opening.deadline => {
                        params["cursor"] = next.as_str().into();
                    }
                    _ => break,
                }
            }
            all.sort_by_key(|session| std::cmp::Reverse(session.updated_at));
            Ok(all)
        })
    }

    pub(super) fn delete_own(
        &self,
        workspace: &Path,
        id: &str,
        cancel: &CancellationToken,
    ) -> Result<(), String> {
        self.without_session(workspace, cancel, |opening, can| {
            if !can["delete"].is_object() {
                let name = &self.config.name;
                return Err(Stop::Failed(format!("{name} can't delete a session; do it in its own app")));
            }
            opening.call("session/delete", &json!({"sessionId": id})).map(drop)
        })
    }

    /// Starts the agent, lets `work` call it, and stops it. `work` also gets what the agent can do with sessions.
    fn without_session<T>(
        &self,
        workspace: &Path,
        cancel: &CancellationToken,
        work: impl FnOnce(&Opening<'_>, &Value) -> Result<T, Stop>,
    ) -> Result<T, String> {
        let (name, command) = (&self.config.name, (self.config.command)());
        // Every listing starts a process.
        let Some(_one) = self.own_sessions.try_lock() else {
            return Err(format!(
                "{name} is already listing or deleting its sessions; try again when it has ended"
            ));
        };
        let live = Live::start(&self.config, &command, workspace, &self.groups)
            .map_err(|error| format!("{name}: cannot start {}: {error}", command.program.display()))?;
        let _stopped = Stopped(&live, name);
        let mut opening = Opening {
            config: &self.config,
            live: &live,
            host: &NoHost,
            cancel,
            deadline: Instant::now() + self.config.timeouts.start,
            tools: &[],
            environment: &command.environment,
        };
        let done = opening.introduce().and_then(|can| {
            opening.deadline = Instant::now() + LIST_SESSIONS;
            work(&opening, &can)
        });
        done.map_err(|stop| match stop {
            Stop::Cancelled => "cancelled".to_owned(),
            Stop::Failed(why) => why,
        })
    }
}

/// Adds the rows of a page that can be shown.
fn add_rows(all: &mut Vec<OwnSession>, page: &Value, workspace: &Path) {
    for row in page["sessions"].as_array().into_iter().flatten() {
        let id = row["sessionId"].as_str().filter(|id| !id.is_empty() && id.len() <= OPTION_ID);
        let is_here = row["cwd"].as_str().is_none_or(|cwd| is_same_folder(Path::new(cwd), workspace));
        let title = row["title"].as_str().and_then(one_line);
        let is_empty = title.as_deref().is_some_and(|title| title.starts_with(EMPTY));
        let Some(id) = id.filter(|id| is_here && !is_empty && all.iter().all(|known| known.id != *id)) else {
            continue;
        };
        if all.len() == SESSION_ROWS {
            break;
        }
        let updated_at = row["updatedAt"].as_str().and_then(|at| at.parse::<jiff::Timestamp>().ok());
        all.push(OwnSession {
            id: id.to_owned(),
            title,
            updated_at: updated_at.map(jiff::Timestamp::as_millisecond),
        });
    }
}

fn is_same_folder(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_leniently() {
        let long = "x".repeat(1 << 20);
        let page = json!({"sessions": [
            {"sessionId": "a", "cwd": "/w", "title": "Fix\nit", "updatedAt": "2026-11-25T22:02:25.876Z"},
            {"sessionId": "b", "cwd": "/elsewhere"},
            {"sessionId": "c", "title": "New session - 2026-11-25T22:02:25.876Z"},
            {"sessionId": "d", "cwd": 7, "title": {}, "updatedAt": "yesterday"},
            {"sessionId": "a", "title": "twice"},
            {"sessionId": ""}, {"sessionId": 7}, {"sessionId": long}, {}, "text", null,
        ]});
        let mut all = Vec::new();
        add_rows(&mut all, &page, Path::new("/w"));
        let row = |id: &str, title: Option<&str>, updated_at| OwnSession {
            id: id.to_owned(),
            title: title.map(str::to_owned),
            updated_at,
        };
        assert_eq!(all, [row("a", Some("Fix it"), Some(1_795_644_145_876)), row("d", None, None)]);
        for page in [Value::Null, json!({"sessions": 7}), json!([])] {
            add_rows(&mut all, &page, Path::new("/w"));
        }
        let many: Vec<_> = (0..3 * SESSION_ROWS).map(|n| json!({"sessionId": n.to_string()})).collect();
        add_rows(&mut all, &json!({"sessions": many}), Path::new("/w"));
        assert_eq!(all.len(), SESSION_ROWS);
    }
}
