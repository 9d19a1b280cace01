//! One ACP connection: incoming frames, outgoing session updates.

use super::{
    approvals::PermissionRequests, calls::Methods, editor_options::EditorOptions, from_wire, to_wire,
};
use crate::acp::services::Services;
use openagents_connection::{
    inspect::Peer,
    mailbox::Closing,
    outbox::dialect::{Dialect, Out},
    pass::{Pass, Who},
    rpc::{self, Incoming},
    serve::{self as connection, ConnectionControl, ConnectionOptions, FrameHandler},
    socket::Socket,
};
use openagents_core::{
    approval::{Approval, ApprovalSubject},
    model::Activity,
    update::SessionUpdate,
};
use openagents_remote::devices::registry::ConnectionLease;
use openagents_sessions::{Folded, ListNews, QueueState, Session, store::Stored};
use openagents_wire::{
    ActivityParams, Method, QueueParams, Scope, SessionRef, SessionsParams, SnapshotParams, methods,
};
use std::{borrow::Cow, sync::Arc};
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_util::sync::CancellationToken;

/// Maximum bytes of a frame on the ACP endpoint.
pub(crate) const ACP_FRAME: usize = 16 << 20;

/// The parts of an authenticated connection.
pub(crate) struct Opening {
    pub(crate) peer: Arc<Peer>,
    pub(crate) lease: Arc<ConnectionLease>,
    /// Cancelled to end the connection.
    pub(crate) cut: CancellationToken,
    /// Cancelled when its listener closes.
    pub(crate) closing: CancellationToken,
}

/// Serves an authenticated connection until it ends.
pub(crate) async fn serve(services: Arc<Services>, socket: Socket, opening: Opening) {
    let Opening { peer, lease, cut, closing } = opening;
    let options = ConnectionOptions {
        peer: peer.clone(),
        frame_limit: ACP_FRAME,
        binary: false,
        control: Arc::new(ConnectionControl { cut, ..ConnectionControl::default() }),
        pass: lease.pass.clone(),
        closing,
        held: Vec::new(),
    };
    let (requests, editor) = (Arc::new(PermissionRequests::default()), Arc::new(EditorOptions::default()));
    let dialect = Acp { requests: requests.clone(), options: editor.clone(), pass: lease.pass.clone() };
    connection::serve((&services.inspector, &services.sessions), socket, options, dialect, |outbox| {
        AcpHandler {
            peer: peer.clone(),
            methods: Methods::new(services.clone(), peer, outbox, (requests, editor), lease),
        }
    })
    .await;
}

struct AcpHandler {
    peer: Arc<Peer>,
    methods: Methods,
}

impl FrameHandler for AcpHandler {
    fn cancels(text: &str) -> Option<String> {
        match rpc::parse(text) {
            Ok(Incoming::Notification { method, params } | Incoming::Request { method, params, .. }) => {
                from_wire::cancelled(&method, params)
            }
            _ => None,
        }
    }

    async fn frame(&mut self, text: &str, _cancelled: bool) -> Result<(), Closing> {
        let parsed = rpc::parse(text);
        let about_inspection = match &parsed {
            Ok(Incoming::Request { method, .. } | Incoming::Notification { method, .. }) => {
                method == methods::Inspect::NAME
            }
            _ => false,
        };
        if !about_inspection {
            self.methods.services.inspector.record_in(&self.peer, text);
        }
        match parsed {
            Ok(Incoming::Request { id, method, params }) => self.methods.request(id, &method, params).await,
            Ok(Incoming::Notification { method, params }) => self.methods.notification(&method, params).await,
            Ok(Incoming::Response { id, result }) => {
                if let Some(id) = id {
                    self.methods.response(&id, result).await;
                }
            }
            Err(malformed) => {
                let text = rpc::error(malformed.id.as_ref(), &malformed.fault);
                self.methods.send(Out::Text(text)).await;
            }
        }
        Ok(())
    }
}

/// Sends every update unchanged.
struct Acp {
    requests: Arc<PermissionRequests>,
    options: Arc<EditorOptions>,
    pass: Arc<Pass>,
}

impl Acp {
    /// Returns the options for an editor after a change of the agent or of its options.
    fn options(&self, session: &Session, update: &SessionUpdate) -> Option<Utf8Bytes> {
        let params = self.options.after(self.requests.client(), session.id(), &session.mode(), update)?;
        Some(rpc::notification("session/update", &params).into())
    }
}

impl Dialect for Acp {
    const IN_PAGES: bool = true;
    const FOLLOWS: usize = 64;

    fn scope(&self) -> Scope {
        self.pass.scope()
    }

    fn project(&mut self, session: &Session, page: &[Arc<Stored>], _behind: u64) -> Vec<Utf8Bytes> {
        let client = self.requests.client();
        let frame = |stored: &Arc<Stored>| {
            let update = client.shown(&stored.update)?;
            let encode = || {
                let params = to_wire::session_update(session.id(), stored.seq, stored.ts, &update);
                rpc::notification("session/update", &params)
            };
            if let Cow::Owned(_) = update {
                return Some(encode().into());
            }
            let encoded = stored.encoded.get_or_encode(encode);
            Some(Utf8Bytes::try_from(encoded).unwrap_or_else(|_| encode().into()))
        };
        let all = page.iter().flat_map(|stored| match self.options(session, &stored.update) {
            Some(options) if matches!(stored.update, SessionUpdate::Mode(_)) => {
                [frame(stored), Some(options)]
            }
            Some(options) => [Some(options), None],
            None => [frame(stored), None],
        });
        all.flatten().collect()
    }

    fn activity(&mut self, session: &Session, activity: Option<Activity>) -> Option<String> {
        let params = ActivityParams { session_id: session.id().to_string(), activity };
        Some(rpc::event::<methods::ActivityChanged>(&params))
    }

    fn approvals(&mut self, session: &Session, pending: &[Approval]) -> Vec<String> {
        let may_answer =
            |approval: &&Approval| approval.subject == ApprovalSubject::Action || self.pass.who == Who::Local;
        let pending: Vec<_> = pending.iter().filter(may_answer).cloned().collect();
        self.requests.update(session.id(), &pending, self.pass.scope())
    }

    fn folded(&mut self, session: &Session, page: &[Folded]) -> Vec<Utf8Bytes> {
        let frame =
            |folded: &Folded| rpc::notification("session/update", &to_wire::folded(session.id(), folded));
        let client = self.requests.client();
        let shown = |folded: &Folded| {
            Some(match client.shown(&folded.update)? {
                Cow::Borrowed(_) => frame(folded).into(),
                Cow::Owned(update) => frame(&Folded { update, ..folded.clone() }).into(),
            })
        };
        let shown = |folded: &Folded| self.options(session, &folded.update).or_else(|| shown(folded));
        page.iter().filter_map(shown).collect()
    }

    fn fold_ends(&mut self, session: &Session, seq: u64) -> Option<String> {
        let params = SnapshotParams { session_id: session.id().to_string(), seq };
        Some(rpc::event::<methods::SnapshotEnded>(&params))
    }

    fn queue(&mut self, session: &Session, waits: &QueueState) -> Option<String> {
        Some(rpc::event::<methods::QueueChanged>(&QueueParams {
            session_id: session.id().to_string(),
            queued: to_wire::queued(&waits.queued),
            running: waits.running,
        }))
    }

    fn left(&mut self, session: &Session) -> Option<String> {
        Some(rpc::event::<methods::Detached>(&SessionRef { session_id: session.id().to_string() }))
    }

    fn sessions(&mut self, news: &ListNews) -> Option<String> {
        Some(rpc::event::<methods::SessionsChanged>(&SessionsParams {
            sessions: news.changed.iter().map(to_wire::session_row).collect(),
            removed: news.removed.iter().map(|id| id.to_string()).collect(),
            reset: news.reset,
        }))
    }

    fn failed(&mut self, session: &Session, message: &str) -> String {
        rpc::notification("session/update", &to_wire::store_failed(session.id(), message))
    }
}
