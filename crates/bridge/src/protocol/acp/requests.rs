//! The calls that change no session.

use super::{
    calls::{Answer, Methods, wire},
    from_wire, to_wire,
};
use crate::base::{config, error::Fault, pass::Who};
use agent_client_protocol_schema::{
    ProtocolVersion,
    v1::{
        AgentCapabilities, Implementation, InitializeRequest, InitializeResponse, ListSessionsRequest,
        ListSessionsResponse, SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities,
        SessionListCapabilities, SessionResumeCapabilities,
    },
};
use openagents_sessions::Wanted;
use serde_json::{Value, json};
use std::path::Path;

/// Maximum number of sessions per page of `session/list`.
const PAGE: usize = 50;
/// Default and maximum bytes of one page of `_openagents/update`.
const TEXT: usize = 256 << 10;
const TEXT_MAX: usize = 4 << 20;

impl Methods {
    pub(super) fn initialize(&self, request: &InitializeRequest) -> Answer {
        let is_device = matches!(self.lease.pass.who, Who::Device(_));
        if let Some(client) = request.client_info.as_ref().filter(|_| !is_device) {
            self.peer.introduce(client.title.as_deref().unwrap_or(&client.name));
        }
        let ours = request.client_capabilities.meta.as_ref().and_then(|meta| meta.get("openagents"));
        let approvals = ours.and_then(|ours| ours.get("approvals")).and_then(Value::as_bool);
        self.requests.client_reads_the_log(approvals.unwrap_or(false));
        let access = self.lease.pass.access();
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new())
            .delete(SessionDeleteCapabilities::new());
        let info = Implementation::new("openagents", env!("CARGO_PKG_VERSION"));
        let response = InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(AgentCapabilities::new().load_session(true).session_capabilities(sessions))
            .agent_info(info.title("OpenAgents Desktop".to_owned()))
            .meta(to_wire::meta(json!({
                "connection": self.peer.id,
                "root": self.services.sessions.default_workspace().map(Path::to_string_lossy),
                "computer": config::computer_name(),
                "scope": access["scope"],
                "device": access["device"],
            })));
        Answer::AndWatch(wire(&response), self.lease.pass.feed().clone(), access)
    }

    /// Lists sessions, and watches the list if the client requests it.
    pub(super) async fn list(&self, request: ListSessionsRequest) -> Result<Answer, Fault> {
        let sessions = &self.services.sessions;
        let after = match request.cursor.as_deref() {
            Some(cursor) => {
                Some(read_cursor(cursor).ok_or_else(|| Fault::invalid_params("The cursor is not ours."))?)
            }
            None => None,
        };
        let children = flag(&request, "children");
        // Start watching before reading the list, so that no change is missed.
        let watch = flag(&request, "watch")
            .then(|| sessions.watch_list(Wanted { cwd: request.cwd.clone(), children }));
        let mut rows = sessions.list(PAGE + 1, after, request.cwd, children).await?;
        let more = rows.len() > PAGE;
        rows.truncate(PAGE);
        let next = rows.last().filter(|_| more).map(|last| format!("{}:{}", last.row.last_ts, last.row.id));
        let rows = rows.iter().map(to_wire::session_row).collect();
        let list = wire(&ListSessionsResponse::new(rows).next_cursor(next));
        Ok(match watch {
            Some(watch) => Answer::AndWatchList(list, watch),
            None => Answer::Now(list),
        })
    }

    /// Returns a part of an update's whole text.
    pub(super) async fn update(&self, request: from_wire::Update) -> Result<Answer, Fault> {
        let sessions = &self.services.sessions;
        let from_wire::Update { session_id, seq, offset, limit } = request;
        let id = session_id.clone();
        let before =
            seq.checked_sub(1).ok_or_else(|| Fault::invalid_params("Updates are counted from 1."))?;
        let found = sessions.with_store(move |store| store.updates_after(&id, before, 1)).await?;
        let stored = found.into_iter().next().filter(|stored| stored.seq == seq);
        let stored =
            stored.ok_or_else(|| Fault::not_found(format!("There is no update {seq} in this session.")))?;
        let text = to_wire::whole_update(&session_id, seq, stored.ts, &stored.update).to_string();
        let start = text.floor_char_boundary(offset);
        let end = text.floor_char_boundary(start.saturating_add(limit.unwrap_or(TEXT).clamp(4, TEXT_MAX)));
        let mut page = json!({
            "sessionId": session_id,
            "seq": seq,
            "ts": stored.ts,
            "offset": start,
            "total": text.len(),
            "text": &text[start..end],
        });
        if end < text.len() {
            page["nextOffset"] = end.into();
        }
        Ok(Answer::Now(page))
    }

    pub(super) async fn workspaces(&self) -> Answer {
        let sessions = &self.services.sessions;
        let rows: Vec<Value> = sessions
            .workspaces()
            .await
            .into_iter()
            .map(|row| {
                json!({
                    "path": row.path.to_string_lossy(),
                    "name": row.name,
                    "lastActive": row.last_active_ms,
                    "sessions": row.sessions,
                })
            })
            .collect();
        Answer::Now(
            json!({"workspaces": rows, "root": sessions.default_workspace().map(Path::to_string_lossy)}),
        )
    }
}

fn flag(request: &ListSessionsRequest, name: &str) -> bool {
    let ours = request.meta.as_ref().and_then(|meta| meta.get("openagents"));
    ours.and_then(|ours| ours.get(name)).and_then(Value::as_bool).unwrap_or(false)
}

fn read_cursor(cursor: &str) -> Option<(i64, String)> {
    let (ts, id) = cursor.split_once(':')?;
    Some((ts.parse().ok()?, id.to_owned()))
}
