//! Where a phone waits that nobody has allowed yet. It is answered at once, else it would come back for ever; everything
//! else that it says is held, and heard when a person has allowed it.
//!
//! One that was not allowed is told so once, where a person sees it, and then hears nothing: its socket stays, because
//! the app comes back every second when it is cut.

use super::{
    from_wire::{self, Call},
    to_wire::{self, Voice},
};
use crate::{
    access::{AccessRequest, AppAccess, Outcome, Pass},
    http::Caller,
    inspect::Line,
    limits::{UNAUTHENTICATED_FRAME, one_address},
    machine,
    rpc::{self, Incoming},
    shared::Shared,
    transport::{Closing, Socket},
};
use futures::{SinkExt, StreamExt};
use openagents_sessions::prune;
use serde_json::{Value, json};
use std::{
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, interval_at};
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};
use tokio_util::sync::CancellationToken;

/// Frames that are held of one phone, and their bytes.
const HELD: usize = 64;
const HELD_BYTES: usize = 1 << 20;
/// Phones that wait, or were not allowed, in all and of one address.
const SLOTS: usize = 64;
const SLOTS_PER_ADDRESS: usize = 8;
/// Bytes of a session's id that a person is told.
const SESSION: usize = 100;
/// How often a phone that waits has to show that it lives, and how often it may miss that.
const PING_EVERY: Duration = Duration::from_secs(20);
const MISSES: u32 = 2;

/// Who waits, the longest first.
#[derive(Debug, Default)]
pub(crate) struct PendingConnections(Mutex<Vec<Taken>>);

#[derive(Debug)]
struct Taken {
    address: IpAddr,
    /// Nobody allowed it: it waits for nothing any more.
    refused: bool,
    /// Cancelled when somebody else needs the place.
    evicted: CancellationToken,
}

/// A place on the pending, until it is dropped.
#[derive(Debug)]
struct Slot<'a> {
    pending: &'a PendingConnections,
    evicted: CancellationToken,
}

impl PendingConnections {
    /// Where all places are taken, the one that was refused and is there for longest makes room.
    fn slot(&self, address: IpAddr) -> Option<Slot<'_>> {
        let address = one_address(address);
        let mut taken = self.lock();
        let its = taken.iter().filter(|known| known.address == address).count();
        let gives_way =
            |known: &Taken| known.refused && (its < SLOTS_PER_ADDRESS || known.address == address);
        if taken.len() >= SLOTS || its >= SLOTS_PER_ADDRESS {
            let place = taken.iter().position(gives_way)?;
            taken.remove(place).evicted.cancel();
        }
        let evicted = CancellationToken::new();
        taken.push(Taken { address, refused: false, evicted: evicted.clone() });
        Some(Slot { pending: self, evicted })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Taken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot<'_> {
    fn refuse(&self) {
        let mut taken = self.pending.lock();
        taken.iter_mut().filter(|known| known.evicted == self.evicted).for_each(|known| known.refused = true);
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.pending.lock().retain(|known| known.evicted != self.evicted);
    }
}

/// A phone that was allowed.
pub(super) struct Allowed {
    pub(super) pass: Arc<Pass>,
    /// What it said meanwhile. The first frame is `initialize`, which has its answer.
    pub(super) held: Vec<Utf8Bytes>,
}

/// Lets a phone wait for a person. Returns what it comes in with, or how its socket is to be closed: `None` when it is
/// over.
pub(super) async fn wait(
    shared: &Shared,
    socket: &mut Socket,
    line: &Line,
    caller: &Caller,
) -> Result<Allowed, Option<Closing>> {
    let slot = shared.pending.slot(caller.address);
    let slot = slot.ok_or_else(|| Some(too_many()))?;
    let mut waiting = Waiting {
        shared,
        socket,
        line,
        slot: &slot,
        address: caller.address,
        held: Vec::new(),
        bytes: 0,
        named: false,
        refused: false,
        told: false,
    };
    let mut request_access = None;
    let mut pings = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    let mut misses = 0;
    loop {
        let answered = async {
            match &mut request_access {
                Some(request_access) => AccessRequest::outcome(request_access).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            message = waiting.socket.next() => {
                misses = 0;
                if let Some(name) = waiting.hear(message).await? {
                    caller.unauthenticated.leave();
                    request_access = shared.devices.request_access(caller.address, &name, None);
                    if request_access.is_none() {
                        waiting.refuse().await?;
                    }
                }
            }
            outcome = answered => {
                request_access = None;
                if outcome == Outcome::Allowed && let AppAccess::Open(pass) = shared.devices.app(caller.address) {
                    return Ok(Allowed { pass, held: waiting.held });
                }
                waiting.refuse().await?;
            }
            () = slot.evicted.cancelled() => return Err(Some(too_many())),
            _ = pings.tick() => {
                misses += 1;
                if misses > MISSES {
                    return Err(None);
                }
                waiting.pass(Message::Ping(Default::default())).await?;
            }
        }
    }
}

struct Waiting<'a> {
    shared: &'a Shared,
    socket: &'a mut Socket,
    line: &'a Line,
    slot: &'a Slot<'a>,
    address: IpAddr,
    held: Vec<Utf8Bytes>,
    bytes: usize,
    /// The person who is asked knows which session it wants.
    named: bool,
    /// A person said no, or nothing.
    refused: bool,
    told: bool,
}

impl Waiting<'_> {
    /// Takes what the phone says. Returns its name when that was its first `initialize`.
    async fn hear(
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
            self.tell(&text).await?;
            return Ok(None);
        }
        if self.held.is_empty() {
            return self.greet(text).await;
        }
        self.bytes += text.len();
        if self.held.len() >= HELD || self.bytes > HELD_BYTES {
            let reason = "Too much was said before this phone was allowed.".to_owned();
            return Err(Some(Closing { code: 1008, reason }));
        }
        if !self.named
            && let Some(Asked::Session(session)) = asked(&text)
        {
            self.named = true;
            let _ = self.shared.devices.request_access(
                self.address,
                &self.line.client(),
                Some(prune::head(&session, SESSION).to_owned()),
            );
        }
        self.held.push(text);
        Ok(None)
    }

    /// Answers `initialize`; everything before it is ignored. Where the work lies is for those who were allowed.
    async fn greet(&mut self, text: Utf8Bytes) -> Result<Option<String>, Option<Closing>> {
        let Ok(Incoming::Request { id, method, params }) = rpc::parse(&text) else { return Ok(None) };
        let Ok(Call::Initialize { client }) = from_wire::call(&method, &params) else { return Ok(None) };
        self.line.introduce(&client);
        self.held.push(text);
        self.write(rpc::response(&id, &to_wire::initialized(None))).await?;
        Ok(Some(client))
    }

    /// Nobody allowed it: says so in the session that it asked for last, and forgets what it said.
    async fn refuse(&mut self) -> Result<(), Option<Closing>> {
        self.refused = true;
        self.slot.refuse();
        let held = std::mem::take(&mut self.held);
        tracing::info!(address = %self.address, "an iOS app was not allowed");
        for text in held.iter().rev() {
            self.tell(text).await?;
        }
        Ok(())
    }

    /// Says that it was not allowed in the session that a frame is about, once.
    async fn tell(&mut self, text: &str) -> Result<(), Option<Closing>> {
        let Some(asked) = asked(text).filter(|_| !self.told) else { return Ok(()) };
        self.told = true;
        let session = match asked {
            Asked::Session(session) => session,
            // It shows nothing before it has its session. This one is nowhere.
            Asked::New { answer, session } => {
                self.write(answer).await?;
                session
            }
        };
        let sentence = format!("❌ {} has not allowed this phone. Ask again in 10 minutes.", machine::name());
        let note = to_wire::note(&session, to_wire::chunk(Voice::Agent, &sentence));
        self.write(rpc::notification("session/update", &note)).await
    }

    async fn write(&mut self, text: String) -> Result<(), Option<Closing>> {
        let text = Utf8Bytes::from(text);
        self.shared.inspector.record_out(self.line, std::slice::from_ref(&text));
        self.pass(Message::Text(text)).await
    }

    async fn pass(&mut self, message: Message) -> Result<(), Option<Closing>> {
        let sent = tokio::time::timeout(PING_EVERY, self.socket.send(message)).await;
        sent.ok().and_then(Result::ok).ok_or(None)
    }
}

fn too_many() -> Closing {
    Closing { code: 1013, reason: "Too many phones are waiting.".to_owned() }
}

/// What a frame wants a session for.
enum Asked {
    Session(String),
    New { answer: String, session: String },
}

fn asked(text: &str) -> Option<Asked> {
    let (id, method, params) = match rpc::parse(text).ok()? {
        Incoming::Request { id, method, params } => (Some(id), method, params),
        Incoming::Notification { method, params } => (None, method, params),
        Incoming::Response { .. } => return None,
    };
    let new = |mut result: Value| {
        let session = uuid::Uuid::new_v4().to_string();
        result["session_id"] = session.as_str().into();
        Some(Asked::New { answer: rpc::response(id.as_ref()?, &result), session })
    };
    match from_wire::call(&method, &params).ok()? {
        Call::NewSession => new(json!({})),
        Call::Explore { .. } => {
            new(json!({"plan_id": uuid::Uuid::new_v4().to_string(), "status": "started"}))
        }
        call => call.session_id().map(|session| Asked::Session(session.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phone(n: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, n])
    }

    /// Their sockets stay, and nobody else could wait any more.
    #[test]
    fn who_was_refused_makes_room_for_who_waits() {
        let pending = PendingConnections::default();
        let mut of_one: Vec<_> = (0..SLOTS_PER_ADDRESS).map(|_| pending.slot(phone(0)).unwrap()).collect();
        assert!(pending.slot(phone(0)).is_none());
        let others: Vec<_> =
            (SLOTS_PER_ADDRESS..SLOTS).map(|n| pending.slot(phone(n as u8)).unwrap()).collect();
        assert!(pending.slot(phone(200)).is_none());
        // Only its own at an address that has its share.
        others[0].refuse();
        assert!(pending.slot(phone(0)).is_none());
        of_one[2].refuse();
        of_one[5].refuse();
        let again = pending.slot(phone(0)).unwrap();
        assert!(of_one[2].evicted.is_cancelled() && !of_one[5].evicted.is_cancelled());
        let next = pending.slot(phone(200)).unwrap();
        assert!(of_one[5].evicted.is_cancelled() && !others[0].evicted.is_cancelled());
        assert!(!again.evicted.is_cancelled() && !next.evicted.is_cancelled());
        of_one.clear();
        drop((others, again, next));
        assert!(pending.lock().is_empty());
    }
}
