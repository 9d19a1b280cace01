//! The MCP server: its tools and their calls.

use super::tools::{self, McpTool};
use openagents_core::{CancellationToken, workspace::Workspace};
use openagents_tools::tool::ToolError;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
        ErrorCode, Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Maximum number of concurrent calls, so that an agent cannot occupy every core; further calls wait.
const CALLS: usize = 2;

/// Serves the tools of one workspace to one client.
#[derive(Clone)]
pub(super) struct Server {
    workspace: Arc<Workspace>,
    history: Arc<dyn Fn() -> bool + Send + Sync>,
    slots: Arc<Semaphore>,
}

impl Server {
    /// Offers the sessions of `workspace` only while `history` returns true; `history` may read the settings.
    pub(super) fn new(workspace: Arc<Workspace>, history: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { workspace, history: Arc::new(history), slots: Arc::new(Semaphore::new(CALLS)) }
    }

    fn offered(&self) -> impl Iterator<Item = McpTool> {
        let history = (self.history)();
        McpTool::ALL.into_iter().filter(move |tool| history || !tool.reads_history())
    }

    /// Runs a tool on a blocking thread once a slot is free. A cancel also ends the wait.
    async fn run(
        &self,
        tool: McpTool,
        arguments: Value,
        cancel: CancellationToken,
    ) -> Result<CallToolResult, ToolError> {
        let slot = tokio::select! {
            slot = Arc::clone(&self.slots).acquire_owned() => slot,
            () = cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        let (workspace, history) = (Arc::clone(&self.workspace), Arc::clone(&self.history));
        let work = move || {
            // Held until the work ends, which may be after the caller stopped waiting.
            let _slot = slot;
            tool.call(&workspace, history(), arguments, &cancel)
        };
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
            tracing::error!(%error, tool = tool.name(), "a tool has failed");
            Err(ToolError::ExecutionFailed(
                "internal error; see standard error of `openagents mcp`".to_owned(),
            ))
        })
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let about = Implementation::new("openagents", env!("CARGO_PKG_VERSION")).with_title("OpenAgents");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(about)
            .with_instructions(tools::instructions(self.workspace.name(), (self.history)()))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.offered().map(McpTool::describe).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.offered().find(|tool| tool.name() == request.name) else {
            let names: Vec<_> = self.offered().map(McpTool::name).collect();
            return Err(ErrorData::invalid_params(tools::no_such_tool(&request.name, &names), None));
        };
        let arguments = request.arguments.map_or(Value::Null, Value::Object);
        let called = self.run(tool, arguments, context.ct).await;
        // The model may correct its call.
        let failure = |error: ToolError| CallToolResult::error(vec![ContentBlock::text(error.to_string())]);
        Ok(called.unwrap_or_else(failure).into())
    }

    /// Handles requests that the library does not know, and those with unreadable parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == "tools/call" {
            let message = tools::malformed_call(request.params.as_ref());
            return Err(ErrorData::invalid_params(message, None));
        }
        let message = format!("no such method: {}", tools::shown(&request.method));
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn server(history: bool) -> (tempfile::TempDir, Server) {
        let keep = tempfile::tempdir().unwrap();
        let root = keep.path().join("proj");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("net.rs"), "pub fn follow_redirects() {}\n").unwrap();
        let workspace = Arc::new(Workspace::open(&root).unwrap());
        (keep, Server::new(workspace, move || history))
    }

    #[test]
    fn history_tools_need_history_flag() {
        for (history, expected) in [
            (false, &["overview", "find"][..]),
            (true, &["overview", "find", "sessions_search", "session_read", "usage"]),
        ] {
            let (_keep, server) = server(history);
            assert_eq!(server.offered().map(McpTool::name).collect::<Vec<_>>(), expected);
            let about = server.get_info().instructions.unwrap();
            assert_eq!(about.contains("sessions_search"), history, "{about}");
        }
    }

    #[test]
    fn tools_are_marked_read_only() {
        for tool in McpTool::ALL.map(McpTool::describe) {
            let hints = tool.annotations.unwrap();
            assert_eq!(
                (hints.read_only_hint, hints.open_world_hint),
                (Some(true), Some(false)),
                "{}",
                tool.name
            );
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
        }
    }

    #[tokio::test]
    async fn cancelled_call_finds_nothing() {
        let (_keep, server) = server(false);
        let arguments = json!({"question": "follow_redirects"});
        let cancel = CancellationToken::new();
        let found = server.run(McpTool::Find, arguments.clone(), cancel.clone()).await.unwrap();
        assert_eq!(found.structured_content.unwrap()["findings"][0]["path"], "net.rs");
        cancel.cancel();
        assert_eq!(server.run(McpTool::Find, arguments, cancel).await, Err(ToolError::Cancelled));
    }

    #[tokio::test]
    async fn cancel_ends_wait_for_slot() {
        let (_keep, server) = server(false);
        let _busy = server.slots.acquire_many(CALLS as u32).await.unwrap();
        let cancel = CancellationToken::new();
        let waiting = server.run(McpTool::Find, json!({"question": "x"}), cancel.clone());
        let (ended, ()) = tokio::join!(waiting, async { cancel.cancel() });
        assert_eq!(ended, Err(ToolError::Cancelled));
    }
}
