//! The calls that change no session.

use super::{
    abilities::Abilities,
    answer::Answer,
    calls::{Methods, now},
    to_wire,
};
use agent_client_protocol_schema::{
    ProtocolVersion,
    v1::{
        AgentCapabilities, Implementation, InitializeRequest, InitializeResponse, ListSessionsRequest,
        ListSessionsResponse, PromptCapabilities, SessionCapabilities, SessionCloseCapabilities,
        SessionDeleteCapabilities, SessionForkCapabilities, SessionListCapabilities,
        SessionResumeCapabilities,
    },
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use openagents_connection::{
    fault::Fault,
    pass::{self, Who},
    rpc,
};
use openagents_core::{CancellationToken, agent::ImageBytes, budget::Budget, workspace::WorkspaceError};
use openagents_search::symbols::Symbol;
use openagents_sessions::{Wanted, run_blocking, store::Store};
use openagents_wire::{
    self as wire, ConnectionMeta, FindFiles, FoundFiles, FoundSymbol, ImageData, ListMeta, LoginScreenQuery,
    ReadImage, UpdatePage, UpdateQuery, WorkspaceInfo, WorkspacesResult, methods,
};
use std::{path::Path, time::Duration};

/// Maximum number of sessions per page of `session/list`.
const PAGE: usize = 50;
/// Maximum number of files that are found, and time to list those of a folder.
const FILES: usize = 50;
const FILES_WITHIN: Duration = Duration::from_secs(2);
/// The same for definitions. The files that are not read by then are read with the next key.
const SYMBOLS: usize = 20;
const SYMBOLS_WITHIN: Duration = Duration::from_millis(400);
/// Maximum wait for a change of a login's screen.
const LOGIN_WAIT: Duration = Duration::from_secs(10);
/// Default and maximum bytes of one page of `_openagents/update`.
const TEXT: usize = 256 << 10;
const TEXT_MAX: usize = 4 << 20;

impl Methods {
    pub(super) fn initialize(&self, request: &InitializeRequest) -> Answer {
        let is_device = matches!(self.lease.pass.who, Who::Device(_));
        if let Some(client) = request.client_info.as_ref().filter(|_| !is_device) {
            self.peer.introduce(client.title.as_deref().unwrap_or(&client.name));
        }
        self.requests.introduce(Abilities::of(&request.client_capabilities));
        let access = self.lease.pass.access();
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new())
            .delete(SessionDeleteCapabilities::new())
            .fork(SessionForkCapabilities::new());
        let prompts = PromptCapabilities::new().image(true).embedded_context(true);
        let info = Implementation::new("openagents", env!("CARGO_PKG_VERSION"));
        let response = InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(
                AgentCapabilities::new()
                    .load_session(true)
                    .prompt_capabilities(prompts)
                    .session_capabilities(sessions),
            )
            .agent_info(info.title("OpenAgents Desktop".to_owned()))
            .meta(wire::meta(&ConnectionMeta {
                connection: self.peer.id.to_string(),
                root: self.services.sessions.default_workspace().map(shown),
                computer: pass::computer_name().to_owned(),
                access: access.clone(),
            }));
        Answer::AndWatch(rpc::value(&response), self.lease.pass.feed().clone(), rpc::value(&access))
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
        let ListMeta { watch, children } = wire::ours(request.meta.as_ref());
        // Start watching before reading the list, so that no change is missed.
        let watch = watch.then(|| sessions.watch_list(Wanted { cwd: request.cwd.clone(), children }));
        let mut rows = sessions.list(PAGE + 1, after, request.cwd, children).await?;
        let more = rows.len() > PAGE;
        rows.truncate(PAGE);
        let next = rows.last().filter(|_| more).map(|last| format!("{}:{}", last.row.last_ts, last.row.id));
        let rows = rows.iter().map(to_wire::session_row).collect();
        let list = rpc::value(&ListSessionsResponse::new(rows).next_cursor(next));
        Ok(match watch {
            Some(watch) => Answer::AndWatchList(list, watch),
            None => Answer::Now(list),
        })
    }

    /// Waits for a change of the terminal in which the user logs in to an agent.
    pub(super) fn login_screen(
        &self,
        LoginScreenQuery { id, since }: LoginScreenQuery,
    ) -> Result<Answer, Fault> {
        let terminal = self.services.logins.as_ref().and_then(|agents| agents.login(&id));
        let terminal = terminal.ok_or_else(|| {
            Fault::not_found(format!("No login is running for {id}. Choose \"Log in\" in Settings → Agents."))
        })?;
        Ok(Answer::LaterUnrecorded(Box::pin(async move {
            let screen = run_blocking(move || terminal.screen(since, LOGIN_WAIT)).await;
            let screen = screen.ok_or_else(|| Fault::internal("The terminal could not be read."))?;
            Ok(rpc::value(&screen))
        })))
    }

    /// Lists files whose path, and definitions whose name match what a user types.
    pub(super) async fn find_files(
        &self,
        FindFiles { session_id, query }: FindFiles,
    ) -> Result<Answer, Fault> {
        let (session, services) = (self.session(&session_id).await?, self.services.clone());
        let find = move || {
            let budget = Budget::within(FILES_WITHIN, &CancellationToken::new());
            let (root, names) = (session.cwd(), &services.files);
            let files = names.matching(root, &query, FILES, &budget)?;
            let symbols =
                services.symbols.matching(root, &query, SYMBOLS, names, &budget.sooner(SYMBOLS_WITHIN))?;
            Ok::<_, WorkspaceError>((files, symbols))
        };
        let found =
            run_blocking(find).await.ok_or_else(|| Fault::internal("The files could not be listed."))?;
        let (files, symbols) = found.map_err(|error| Fault::invalid_params(format!("{error}.")))?;
        let symbol = |Symbol { name, path, line }| FoundSymbol { name, path, line };
        let symbols = symbols.into_iter().map(symbol).collect();
        now::<methods::FilesFind>(FoundFiles { files, symbols })
    }

    /// Returns a part of an update's whole text.
    pub(super) async fn update(&self, query: UpdateQuery) -> Result<Answer, Fault> {
        let sessions = &self.services.sessions;
        let UpdateQuery { session_id, seq, offset, limit } = query;
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
        now::<methods::ReadUpdate>(UpdatePage {
            session_id,
            seq,
            ts: stored.ts,
            offset: start,
            total: text.len(),
            text: text[start..end].to_owned(),
            next_offset: (end < text.len()).then_some(end),
        })
    }

    /// Returns an image of a prompt.
    pub(super) async fn read_image(
        &self,
        ReadImage { session_id, hash }: ReadImage,
    ) -> Result<Answer, Fault> {
        let read = move |store: &Store| store.image(&session_id, &hash);
        let image = self.services.sessions.with_store(read).await?;
        let ImageBytes { mime_type, bytes } =
            image.ok_or_else(|| Fault::not_found("This session does not have that image."))?;
        now::<methods::ImagesRead>(ImageData { mime_type, data: BASE64_STANDARD.encode(bytes) })
    }

    pub(super) async fn workspaces(&self) -> Result<Answer, Fault> {
        let sessions = &self.services.sessions;
        let workspaces = sessions.workspaces().await.into_iter().map(|row| WorkspaceInfo {
            path: shown(&row.path),
            name: row.name,
            last_active: row.last_active_ms,
            sessions: row.sessions,
        });
        let workspaces = workspaces.collect();
        now::<methods::Workspaces>(WorkspacesResult {
            workspaces,
            root: sessions.default_workspace().map(shown),
        })
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn read_cursor(cursor: &str) -> Option<(i64, String)> {
    let (ts, id) = cursor.split_once(':')?;
    Some((ts.parse().ok()?, id.to_owned()))
}
