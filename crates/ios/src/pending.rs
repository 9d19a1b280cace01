//! Connections that wait for approval. `initialize` is answered at once, because the app would reconnect forever
//! otherwise. All other frames are held until the connection is allowed.
//!
//! A refused connection gets the refusal once, in a session, and is then ignored. Its socket stays open, because the
//! app reconnects every second after it is closed.

use crate::services::Services;
use crate::{
    from_wire::{self, IosCall},
    to_wire::{self, Role},
};
use futures::{SinkExt, StreamExt};
use openagents_connection::{
    admission::{
        queue::{QueueSlot, SlotKind},
        unauthenticated::Caller,
    },
    inspect::Peer,
    limits::UNAUTHENTICATED_FRAME,
    mailbox::Closing,
    pass::{self, Pass},
    rpc::{self, Incoming},
    socket::Socket,
};
use openagents_core::text::prefix;
use openagents_remote::devices::requests::{AppAccess, Outcome, OutcomeReceiver, PhoneAddress};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, interval_at};
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};

/// Maximum number of held frames of one connection, and of their bytes.
const HELD: usize = 64;
const HELD_BYTES: usize = 1 << 20;
const SESSION: usize = 100;
/// Interval of pings, and the maximum number of unanswered pings.
const PING_EVERY: Duration = Duration::from_secs(20);
const MISSES: u32 = 2;

pub(super) struct Allowed {
    pub(super) pass: Arc<Pass>,
    /// Frames received while it waited. The first is `initialize`, already answered.
    pub(super) held: Vec<Utf8Bytes>,
}

/// Waits for approval. An error holds the reason to close the socket with, or `None` if the socket is closed already or
/// dead.
pub(super) async fn wait_for_approval(
    services: &Services,
    socket: &mut Socket,
    peer: &Peer,
    caller: &Caller,
) -> Result<Allowed, Option<Closing>> {
    let slot = services.pending.take(caller.address, SlotKind::Evictable);
    let slot = slot.ok_or_else(|| Some(too_many()))?;
    let mut connection = PendingConnection {
        services,
        socket,
        peer,
        slot: &slot,
        address: PhoneAddress::new(caller.address, caller.at),
        held: Vec::new(),
        bytes: 0,
        named: false,
        refused: false,
        notified: false,
    };
    let mut request: Option<OutcomeReceiver> = None;
    let mut pings = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    let mut misses = 0;
    loop {
        let answered = async {
            match &mut request {
                Some(request) => request.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            message = connection.socket.next() => {
                misses = 0;
                if let Some(name) = connection.receive(message).await? {
                    caller.unauthenticated.release();
                    slot.set_kind(SlotKind::Kept);
                    request = Some(services.devices.request_access(connection.address, &name, None));
                }
            }
            outcome = answered => {
                request = None;
                if outcome == Outcome::Allowed
                    && let AppAccess::Allowed(pass) = services.devices.app_access(connection.address)
                {
                    return Ok(Allowed { pass, held: connection.held });
                }
                if outcome == Outcome::Displaced {
                    // The app reconnects and asks again.
                    return Err(Some(too_many()));
                }
                connection.refuse().await?;
            }
            () = slot.evicted.cancelled() => return Err(Some(too_many())),
            _ = pings.tick() => {
                misses += 1;
                if misses > MISSES {
                    return Err(None);
                }
                connection.send(Message::Ping(Default::default())).await?;
            }
        }
    }
}

struct PendingConnection<'a> {
    services: &'a Services,
    socket: &'a mut Socket,
    peer: &'a Peer,
    slot: &'a QueueSlot,
    address: PhoneAddress,
    held: Vec<Utf8Bytes>,
    bytes: usize,
    /// The access request names the session that the app wants.
    named: bool,
    refused: bool,
    notified: bool,
}

impl PendingConnection<'_> {
    /// Handles a message. Returns the client's name on its first `initialize`.
    async fn receive(
        &mut self,
        message: Option<Result<Message, tungstenite::Error>>,
    ) -> Result<Option<String>, Option<Closing>> {
        let text = match message {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Binary(bytes))) => {
                Utf8Bytes::try_from(bytes).map_err(|_| Some(Closing::not_text()))?
            }
            Some(Ok(Message::Close(_))) => return Err(None),
            Some(Ok(_)) => return Ok(None),
            Some(Err(tungstenite::Error::Capacity(_))) => {
                return Err(Some(Closing::too_big(UNAUTHENTICATED_FRAME)));
            }
            Some(Err(_)) | None => return Err(None),
        };
        if text.len() > UNAUTHENTICATED_FRAME {
            return Err(Some(Closing::too_big(UNAUTHENTICATED_FRAME)));
        }
        if self.refused {
            self.notify(&text).await?;
            return Ok(None);
        }
        if self.held.is_empty() {
            return self.initialize(text).await;
        }
        self.bytes += text.len();
        if self.held.len() >= HELD || self.bytes > HELD_BYTES {
            let reason = "Too much data before this phone was allowed.".to_owned();
            return Err(Some(Closing { code: 1008, reason }));
        }
        if !self.named
            && let Some(Target::Session(session)) = target(&text)
        {
            self.named = true;
            let _ = self.services.devices.request_access(
                self.address,
                &self.peer.client(),
                Some(prefix(&session, SESSION).to_owned()),
            );
        }
        self.held.push(text);
        Ok(None)
    }

    /// Answers `initialize`, without the workspace; everything before it is ignored.
    async fn initialize(&mut self, text: Utf8Bytes) -> Result<Option<String>, Option<Closing>> {
        let Ok(Incoming::Request { id, method, params }) = rpc::parse(&text) else { return Ok(None) };
        let Ok(IosCall::Initialize { client }) = from_wire::parse_call(&method, &params) else {
            return Ok(None);
        };
        self.peer.introduce(&client);
        self.held.push(text);
        self.write_frame(rpc::response(&id, &to_wire::initialized(None))).await?;
        Ok(Some(client))
    }

    /// Reports the refusal in the session that the app asked for last, and drops the held frames.
    async fn refuse(&mut self) -> Result<(), Option<Closing>> {
        self.refused = true;
        self.slot.set_kind(SlotKind::Evictable);
        let held = std::mem::take(&mut self.held);
        tracing::info!(address = %self.address.phone, "an iOS app was not allowed");
        for text in held.iter().rev() {
            self.notify(text).await?;
        }
        Ok(())
    }

    /// Reports the refusal once, in the session that a frame refers to.
    async fn notify(&mut self, text: &str) -> Result<(), Option<Closing>> {
        let Some(target) = target(text).filter(|_| !self.notified) else { return Ok(()) };
        self.notified = true;
        let session = match target {
            Target::Session(session) => session,
            // The app shows nothing without a session, so it gets one that is not stored.
            Target::New { answer, session } => {
                self.write_frame(answer).await?;
                session
            }
        };
        let sentence =
            format!("❌ {} has not allowed this phone. Ask again in 10 minutes.", pass::computer_name());
        let note = to_wire::note(&session, to_wire::chunk(Role::Agent, &sentence));
        self.write_frame(rpc::notification("session/update", &note)).await
    }

    async fn write_frame(&mut self, text: String) -> Result<(), Option<Closing>> {
        let text = Utf8Bytes::from(text);
        self.services.inspector.record_out(self.peer, std::slice::from_ref(&text));
        self.send(Message::Text(text)).await
    }

    async fn send(&mut self, message: Message) -> Result<(), Option<Closing>> {
        let sent = tokio::time::timeout(PING_EVERY, self.socket.send(message)).await;
        sent.ok().and_then(Result::ok).ok_or(None)
    }
}

fn too_many() -> Closing {
    Closing { code: 1013, reason: "Too many phones are waiting.".to_owned() }
}

enum Target {
    Session(String),
    New { answer: String, session: String },
}

fn target(text: &str) -> Option<Target> {
    let (id, method, params) = match rpc::parse(text).ok()? {
        Incoming::Request { id, method, params } => (Some(id), method, params),
        Incoming::Notification { method, params } => (None, method, params),
        Incoming::Response { .. } => return None,
    };
    let new = |mut result: Value| {
        let session = uuid::Uuid::new_v4().to_string();
        result["session_id"] = session.as_str().into();
        Some(Target::New { answer: rpc::response(id.as_ref()?, &result), session })
    };
    match from_wire::parse_call(&method, &params).ok()? {
        IosCall::NewSession => new(json!({})),
        IosCall::Explore { .. } => {
            new(json!({"plan_id": uuid::Uuid::new_v4().to_string(), "status": "started"}))
        }
        call => call.session_id().map(|session| Target::Session(session.to_owned())),
    }
}
