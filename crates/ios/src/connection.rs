//! One connection of the app, from access check to close.

use crate::{
    from_wire::{self, IosCall},
    methods::{IosClient, IosMethods},
    pending::{self, Allowed},
    phone::{NAMED, Phone, Position},
    projection::{self, Projection, Shown, View},
    services::Services,
    to_wire::{self, Role},
};
use hyper::upgrade::OnUpgrade;
use openagents_connection::{
    admission::unauthenticated::{Caller, Unauthenticated},
    inspect::Peer,
    limits::UNAUTHENTICATED_FRAME,
    mailbox::Closing,
    outbox::{
        dialect::{Dialect, Out, Outbox},
        pump::PAGE,
    },
    pass::{self, Pass, Who},
    rpc::{self, Incoming},
    serve::{self as connection, ConnectionOptions},
    socket::{self, Socket},
};
use openagents_remote::devices::requests::{AppAccess, PhoneAddress};
use openagents_sessions::{Session, store::Stored};
use openagents_wire::{IosAccess, Scope};
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_util::sync::CancellationToken;

/// Maximum bytes of a frame.
const IOS_FRAME: usize = 1 << 20;

/// A reader that is more updates behind than this gets its backlog folded.
const BEHIND: u64 = 2 * PAGE as u64;

const CLOSED: &str = "Access for the OpenAgents iOS app is off. Enable it on the desktop, or with --ios ask.";

#[derive(Debug)]
pub struct Entry {
    /// `None`: approval is needed.
    pass: Option<Arc<Pass>>,
    /// Cancelled when the setting for iOS access changes.
    switched: CancellationToken,
}

/// Returns the access of the calling app, or the reason for refusing it.
pub fn check_access(services: &Services, caller: &Caller) -> Result<Entry, String> {
    let switched = services.network.ios_changes();
    let access = match services.network.ios() {
        IosAccess::Off => return Err(CLOSED.to_owned()),
        IosAccess::Allow => AppAccess::Allowed(Pass::new(Who::App(caller.address), Scope::Prompt, "")),
        IosAccess::Ask => services.devices.app_access(PhoneAddress::new(caller.address, caller.at)),
    };
    let pass = match access {
        AppAccess::Allowed(pass) => Some(pass),
        AppAccess::Ask => None,
        AppAccess::Blocked => {
            return Err(format!(
                "{} has not allowed this phone. Ask again in 10 minutes.",
                pass::computer_name()
            ));
        }
    };
    Ok(Entry { pass, switched })
}

pub async fn serve(services: Arc<Services>, upgrade: OnUpgrade, caller: Caller, entry: Entry) {
    let peer = Peer::new("ios");
    let Entry { pass, switched } = entry;
    let opening = async {
        let mut socket = Socket::WebSocket(Box::new(socket::open(upgrade, IOS_FRAME).await?));
        match pass {
            Some(pass) => Some((socket, Allowed { pass, held: Vec::new() })),
            None => match pending::wait_for_approval(&services, &mut socket, &peer, &caller).await {
                Ok(allowed) => Some((socket, allowed)),
                Err(closing) => {
                    if closing.is_some() {
                        socket.close(closing.as_ref()).await;
                    }
                    None
                }
            },
        }
    };
    let opened = tokio::select! {
        opened = opening => opened,
        () = caller.unauthenticated.expired() => None,
        () = switched.cancelled() => None,
        () = caller.closing.cancelled() => None,
    };
    let Some((socket, Allowed { pass, held })) = opened else { return };
    let phone = Arc::new(Phone::new(&peer));
    let live = services.resumes.register(caller.address, pass.clone(), phone.clone());
    // Dropped last, so that a connection that waits for the end finds the saved position.
    let _ended = live.end();
    let greeted = !held.is_empty();
    let control = live.control.clone();
    let options = ConnectionOptions {
        peer: peer.clone(),
        frame_limit: IOS_FRAME,
        binary: true,
        control,
        pass: pass.clone(),
        closing: caller.closing.clone(),
        held,
    };
    let dialect = Ios::new(phone.clone());
    let handler = |outbox: Outbox| {
        live.set_outbox(outbox.clone());
        let client = IosClient { pass: pass.clone(), peer: peer.clone(), address: caller.address, greeted };
        IosHandler {
            peer: peer.clone(),
            unauthenticated: Some(caller.unauthenticated.clone()),
            methods: IosMethods::new(services.clone(), client, phone.clone(), live.clone(), outbox),
        }
    };
    let serving =
        connection::serve((&services.inspector, &services.sessions), socket, options, dialect, handler);
    let closing = async {
        switched.cancelled().await;
        live.control.cut.cancel();
        std::future::pending().await
    };
    let ended = tokio::select! {
        ended = serving => Some(ended),
        () = caller.unauthenticated.expired() => None,
        () = closing => None,
    };
    match ended {
        Some(false) => {
            if let Some(position) = phone.position() {
                services.resumes.save_position(&live, position);
            }
        }
        Some(true) if phone.has_position() => services.resumes.forget(&live),
        _ => {}
    }
}

/// Handles the app's frames. Everything before `initialize` is ignored; nothing is sent before its answer.
struct IosHandler {
    peer: Arc<Peer>,
    unauthenticated: Option<Unauthenticated>,
    methods: IosMethods,
}

impl connection::FrameHandler for IosHandler {
    fn cancels(text: &str) -> Option<String> {
        match rpc::parse(text) {
            Ok(Incoming::Notification { method, params } | Incoming::Request { method, params, .. }) => {
                match from_wire::parse_call(&method, &params) {
                    Ok(IosCall::Cancel { session_id }) => Some(session_id),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    async fn frame(&mut self, text: &str, cancelled: bool) -> Result<(), Closing> {
        self.methods.services().inspector.record_in(&self.peer, text);
        if self.unauthenticated.is_some() && text.len() > UNAUTHENTICATED_FRAME {
            return Err(Closing::too_big(UNAUTHENTICATED_FRAME));
        }
        match rpc::parse(text) {
            Ok(Incoming::Request { id, method, params }) => {
                let call = from_wire::parse_call(&method, &params);
                if let Ok(IosCall::Initialize { client }) = &call {
                    self.peer.introduce(client);
                    if let Some(unauthenticated) = self.unauthenticated.take() {
                        unauthenticated.release();
                    }
                }
                if self.unauthenticated.is_none() {
                    self.methods.request(&id, call, cancelled).await;
                }
            }
            Ok(Incoming::Notification { method, params }) if self.unauthenticated.is_none() => {
                if let Ok(call @ IosCall::Cancel { .. }) = from_wire::parse_call(&method, &params)
                    && self.methods.authorize(&call).await.is_ok()
                    && let IosCall::Cancel { session_id } = call
                {
                    self.methods.cancel(&session_id).await;
                }
            }
            Ok(_) => {}
            Err(malformed) if self.unauthenticated.is_none() => {
                let text = rpc::error(malformed.id.as_ref(), &malformed.fault);
                self.methods.send(Out::Text(text)).await;
            }
            Err(_) => {}
        }
        Ok(())
    }
}

pub(super) struct Ios {
    phone: Arc<Phone>,
    sessions: HashMap<Arc<str>, Projection>,
    /// The phone's position after each unwritten frame of the page: the last update that it has seen in full, and how
    /// many bytes of the next update's text it has seen.
    page: VecDeque<(u64, usize)>,
}

impl Ios {
    pub(super) fn new(phone: Arc<Phone>) -> Self {
        Self { phone, sessions: HashMap::new(), page: VecDeque::new() }
    }

    /// Encodes the frames of a page; `end` is the phone's position after it.
    fn frames(&mut self, session: &Session, shown: Vec<Shown>, end: (u64, usize)) -> Vec<Utf8Bytes> {
        self.page = shown.iter().map(|shown| (shown.covers, shown.part)).collect();
        self.page.pop_back();
        self.page.push_back(end);
        let frame = |shown: Shown| {
            rpc::notification("session/update", &to_wire::note(session.id(), shown.update)).into()
        };
        shown.into_iter().map(frame).collect()
    }
}

impl Dialect for Ios {
    const IN_PAGES: bool = false;
    /// The named sessions plus the one being named, because [`IosMethods`] itself leaves the oldest.
    const FOLLOWS: usize = NAMED + 1;

    fn project(&mut self, session: &Session, page: &[Arc<Stored>], behind: u64) -> Vec<Utf8Bytes> {
        let sessions = &mut self.sessions;
        let (own, view, fold_to, seen) = self.phone.with(|state| {
            if sessions.len() > NAMED {
                sessions.retain(|id, _| state.named.iter().any(|named| named.session.id() == id));
            }
            let view = View { modes: state.sets_modes, progress: true };
            let fold_to = state.fold_to.as_ref().filter(|(id, _)| id == session.id()).map(|(_, seq)| *seq);
            let seen = state.taken.as_ref().filter(|taken| taken.session_id == *session.id());
            (state.own.clone(), view, fold_to, seen.map(Position::seen))
        });
        let is_backlog = page.first().zip(fold_to).is_some_and(|(first, to)| first.seq <= to);
        let is_own = |id: &str| own.iter().any(|known| **known == *id);
        let projection = self.sessions.entry(session.id().clone()).or_insert_with(|| Projection::after(seen));
        let mut shown = Vec::new();
        let mut push = |stored: &Arc<Stored>| projection.push(stored, view, &is_own, &mut shown);
        if is_backlog || behind > BEHIND {
            projection::fold(page).iter().for_each(&mut push);
        } else {
            page.iter().for_each(&mut push);
        }
        projection.last = page.last().map_or(projection.last, |last| last.seq);
        let held_back = projection.held_back().map(|held| (held.seq.saturating_sub(1), held.part));
        let end = held_back.unwrap_or((projection.last, 0));
        self.frames(session, shown, end)
    }

    fn rest(&mut self, session: &Session) -> Vec<Utf8Bytes> {
        let Some(projection) = self.sessions.get_mut(session.id()) else {
            self.page.clear();
            return Vec::new();
        };
        let mut shown = Vec::new();
        projection.rest(&mut shown);
        let end = (projection.last, 0);
        self.frames(session, shown, end)
    }

    fn written(&mut self, session: &Session) {
        if let Some(position) = self.page.pop_front() {
            self.phone.wrote(session, position);
        }
    }

    fn scope(&self) -> Scope {
        Scope::Prompt
    }

    fn failed(&mut self, session: &Session, message: &str) -> String {
        let update = to_wire::chunk(Role::Agent, &format!("❌ {message}"));
        rpc::notification("session/update", &to_wire::note(session.id(), update))
    }
}
