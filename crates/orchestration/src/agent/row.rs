//! The row of a call in the session.

use openagents_core::{
    agent::{AgentEvent, end_call},
    model::CallRequest,
    update::{Location, SessionUpdate, ToolCall, ToolCallDetails, ToolCallStatus, ToolKind, new_id},
    workspace::Workspace,
};
use openagents_tools::tool::shown_name;
use serde_json::{Map, Value};

/// A row that this crate opened.
pub(super) struct Row<'a> {
    id: String,
    emit: &'a (dyn Fn(AgentEvent) + Sync),
}

impl<'a> Row<'a> {
    pub(super) fn open(
        emit: &'a (dyn Fn(AgentEvent) + Sync),
        call: &CallRequest,
        workspace: &Workspace,
    ) -> Self {
        // Models may repeat a call id; row ids must be unique.
        let id = new_id();
        emit(AgentEvent::Update(SessionUpdate::ToolCall(ToolCall {
            call_id: id.clone(),
            name: shown_name(&call.name).to_owned(),
            arguments: call.arguments.as_object().cloned().unwrap_or_else(Map::new),
            details: details(call, workspace),
            ..ToolCall::default()
        })));
        Self { id, emit }
    }

    pub(super) fn close(&self, status: ToolCallStatus) {
        end_call(self.emit, &self.id, status);
    }
}

pub(super) fn details(call: &CallRequest, workspace: &Workspace) -> ToolCallDetails {
    let kind = match call.name.as_str() {
        "search.grep" | "session.search" => Some(ToolKind::Search),
        "fs.list_dir" | "content.get_span" | "session.list" | "session.read" => Some(ToolKind::Read),
        "session.analyze" => Some(ToolKind::Think),
        _ => None,
    };
    // Arguments that are not an object are shown unchanged.
    let raw_input = Some(&call.arguments).filter(|given| !given.is_object()).cloned();
    ToolCallDetails {
        kind,
        raw_input,
        locations: location(call, workspace).into_iter().collect(),
        ..Default::default()
    }
}

/// Returns the location of a call. Only for tools that read the workspace: in other tools, a path may mean anything.
fn location(call: &CallRequest, workspace: &Workspace) -> Option<Location> {
    let keys: &[&str] = match call.name.as_str() {
        "fs.list_dir" | "content.get_span" => &["path"],
        "search.grep" => &["pathPrefix", "path_prefix"],
        _ => return None,
    };
    let argument = |keys: &[&str]| keys.iter().find_map(|key| call.arguments.get(*key));
    let path = workspace.resolve(argument(keys)?.as_str()?).ok()?;
    let path = match Workspace::shown(&path).as_str() {
        "." => workspace.root().to_path_buf(),
        inside => workspace.root().join(inside),
    };
    let line = argument(&["startLine", "start_line"]).and_then(Value::as_u64);
    let line = line.and_then(|line| u32::try_from(line).ok()).filter(|line| *line > 0);
    Some(Location { path: path.to_string_lossy().into_owned(), line })
}
