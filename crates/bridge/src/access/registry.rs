//! Everybody who may come in, and everybody who would like to.

use super::{
    AccessRequest, AppAccess, Asking, ConnectionLease, Kind, Pass, Scope, Who,
    apps::{self, Apps},
    audit::Refusals,
    deadline::Deadline,
    device_rows::{self, DeviceRow},
    pairing::{Grant, Pairing},
    requests::{Outcome, Requests, Waiting},
};
use crate::{feed::Feed, limits::ConnectionSlot, network::Network};
use openagents_sessions::store::{Store, now_ms};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    fmt,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};
use subtle::ConstantTimeEq;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tokio_util::task::TaskTracker;

/// A device that stays connected is noted this often.
const NOTED_EVERY: Duration = Duration::from_secs(60);

/// Devices without a token that wait for an answer at the same time.
const POLLS: usize = 16;

/// The devices, and those who watch them.
pub(crate) struct Devices {
    pub(super) store: Store,
    pub(super) network: Arc<Network>,
    pub(super) refusals: Refusals,
    /// Held while something changes that is stored as well.
    pub(super) changing: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    polls: Arc<Semaphore>,
    local: Arc<Pass>,
    feed: Arc<Feed>,
    changed: Box<dyn Fn() + Send + Sync>,
    /// Writing that nobody waits for, until the bridge ends.
    tasks: TaskTracker,
    me: Weak<Self>,
}

impl fmt::Debug for Devices {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Devices").finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// The oldest first.
    pub(super) devices: Vec<Device>,
    pub(super) pairing: Pairing,
    pub(super) requests: Requests,
    pub(super) apps: Apps,
}

impl State {
    fn request_access(
        &mut self,
        address: IpAddr,
        name: &str,
        session: Option<String>,
    ) -> Option<AccessRequest> {
        // A person may have answered since it looked at the door. To ask again would cut whoever is in by now.
        match self.apps.door(address) {
            AppAccess::Open(_) => return Some(AccessRequest::over(Outcome::Allowed)),
            AppAccess::Shut => return Some(AccessRequest::over(Outcome::Declined)),
            AppAccess::Ask => {}
        }
        if let Some(waiting) = self.requests.of_app(address, session.as_deref()) {
            return Some(waiting);
        }
        let waiting =
            self.requests.waiting().iter().filter(|request| request.asking.kind == Kind::Ios).count();
        if waiting >= apps::ACCESS_REQUESTS {
            return None;
        }
        let asking = Asking { kind: Kind::Ios, name: clean_name(name), address, compare: None, session };
        Some(self.requests.ask(asking, apps::PATIENCE).1)
    }
}

/// A paired device.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) row: DeviceRow,
    pub(super) pass: Arc<Pass>,
    pub(super) connections: usize,
    /// When the store was told last that it is there.
    noted: Option<Instant>,
}

impl Device {
    pub(super) fn new(row: DeviceRow) -> Self {
        let pass = Pass::new(Who::Device(row.id.as_str().into()), row.scope, &row.name);
        Self { row, pass, connections: 0, noted: None }
    }
}

impl Devices {
    /// Begins with the devices of the store. `tasks` are waited for when the bridge ends.
    pub(crate) fn new(
        store: Store,
        known: Vec<DeviceRow>,
        network: Arc<Network>,
        tasks: TaskTracker,
    ) -> Arc<Self> {
        let watched = network.clone();
        let devices = Arc::new_cyclic(|me: &Weak<Self>| {
            let mut changed: Box<dyn Fn() + Send + Sync> = Box::new(|| {});
            let shown = me.clone();
            let snapshot = move || shown.upgrade().map_or(Value::Null, |devices| devices.snapshot());
            let feed = Feed::new("_openagents/devices", Scope::Admin, snapshot, |on_change| {
                changed = Box::new(move || on_change());
            });
            let devices = known.into_iter().map(Device::new).collect();
            let state = Mutex::new(State { devices, ..State::default() });
            let (local, me) = (Pass::local(), me.clone());
            Self {
                store,
                network,
                refusals: Refusals::default(),
                changing: tokio::sync::Mutex::default(),
                state,
                polls: Arc::new(Semaphore::new(POLLS)),
                local,
                feed,
                changed,
                tasks,
                me,
            }
        });
        let me = devices.me.clone();
        watched.watch(Arc::new(move || {
            if let Some(devices) = me.upgrade() {
                devices.changed();
            }
        }));
        devices
    }

    /// Returns what the person at this machine comes in with.
    pub(crate) fn local(&self) -> Arc<Pass> {
        self.local.clone()
    }

    /// Returns what the device with this token comes in with.
    pub(crate) fn admit(&self, token: &str) -> Option<Arc<Pass>> {
        let hash = token_hash(token);
        let mut state = self.state();
        // All of them, so that the time says nothing.
        let is_its = |device: &&Device| bool::from(device.row.token_hash.ct_eq(&hash));
        let found = state.devices.iter().filter(is_its).fold(None, |_, device| Some(device))?;
        let pass = (!found.pass.is_revoked()).then(|| found.pass.clone())?;
        if let Who::Device(id) = &pass.who {
            state.pairing.came_in(id);
        }
        Some(pass)
    }

    /// Notes a connection that was let in.
    pub(crate) fn enter(
        &self,
        pass: Arc<Pass>,
        address: IpAddr,
        place: ConnectionSlot,
    ) -> Option<Arc<ConnectionLease>> {
        Some(ConnectionLease::begin(self.me.upgrade()?, pass, address, place))
    }

    /// Returns what an address finds at the door of the iOS app when people are asked.
    pub(crate) fn app(&self, address: IpAddr) -> AppAccess {
        self.state().apps.door(address.to_canonical())
    }

    /// Asks a person whether the iOS app at `address`, which calls itself `name` and wants `session`, may come in. `None`
    /// when too many are waiting. An app that knocks again waits for the same answer, and may say then which session it
    /// wants; an allowed one finds [`AppDoor::Open`].
    pub(crate) fn request_access(
        &self,
        address: IpAddr,
        name: &str,
        session: Option<String>,
    ) -> Option<AccessRequest> {
        let waiting = self.state().request_access(address.to_canonical(), name, session)?;
        if waiting.ended().is_none() {
            self.tidy_after(apps::PATIENCE);
            self.changed();
        }
        Some(waiting)
    }

    /// Returns what the device that asks with this secret waits for.
    pub(super) fn waits(&self, secret: &str) -> Option<Waiting> {
        self.state().pairing.waits(secret)
    }

    /// Returns how that ended, and its token until it has come in.
    pub(super) fn fetch(&self, secret: &str) -> Option<(Outcome, Option<Grant>)> {
        self.state().pairing.fetch(secret)
    }

    /// Takes a place among those who wait without a token.
    pub(super) fn poll(&self) -> Option<OwnedSemaphorePermit> {
        self.polls.clone().try_acquire_owned().ok()
    }

    pub(crate) fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    pub(super) fn changed(&self) {
        (self.changed)();
    }

    pub(super) fn arrived(&self, pass: &Pass, address: IpAddr) {
        if let Who::Device(id) = &pass.who {
            if let Some(device) = self.state().devices.iter_mut().find(|device| *device.row.id == **id) {
                device.connections += 1;
            }
            self.seen(id, address, false);
            self.changed();
        }
    }

    pub(super) fn left(&self, pass: &Pass, address: IpAddr) {
        if let Who::Device(id) = &pass.who {
            if let Some(device) = self.state().devices.iter_mut().find(|device| *device.row.id == **id) {
                device.connections = device.connections.saturating_sub(1);
            }
            self.seen(id, address, true);
            self.changed();
        }
    }

    /// Notes that a device is there; in the store not more often than it has to be, or when it leaves.
    pub(super) fn seen(&self, id: &str, address: IpAddr, leaves: bool) {
        let (now, seen, at) = (Instant::now(), now_ms(), address.to_string());
        {
            let mut state = self.state();
            let Some(device) = state.devices.iter_mut().find(|device| device.row.id == id) else { return };
            let is_due = device.noted.is_none_or(|noted| now.duration_since(noted) >= NOTED_EVERY);
            (device.row.last_seen_ts, device.row.last_address) = (Some(seen), Some(at.clone()));
            if !is_due && !leaves {
                return;
            }
            device.noted = Some(now);
        }
        let id = id.to_owned();
        self.write(move |store| device_rows::saw(store, &id, seen, &at));
    }

    /// Writes beside everything else; a failure is no reason to stop anybody.
    pub(super) fn write(
        &self,
        write: impl FnOnce(&Store) -> Result<(), openagents_sessions::store::StoreError> + Send + 'static,
    ) {
        let store = self.store.clone();
        if tokio::runtime::Handle::try_current().is_ok() {
            self.tasks.spawn_blocking(move || {
                if let Err(error) = write(&store) {
                    tracing::warn!(%error, "what a device did was not noted");
                }
            });
        }
    }

    /// Does something after a while, unless the bridge has ended.
    pub(super) fn later(&self, wait: Duration, then: impl FnOnce(&Self) + Send + 'static) {
        let (me, deadline) = (self.me.clone(), Deadline::after(wait));
        tokio::spawn(async move {
            deadline.passed().await;
            if let Some(devices) = me.upgrade() {
                then(&devices);
            }
        });
    }

    /// Ends what is over by then.
    pub(super) fn tidy_after(&self, wait: Duration) {
        self.later(wait, Self::tidy);
    }

    fn tidy(&self) {
        let mut state = self.state();
        for request in state.requests.expire() {
            if request.asking.kind == Kind::Ios {
                state.apps.shut_out(request.asking.address);
            }
        }
        state.apps.expire();
        drop(state);
        self.changed();
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is kept of a token.
pub(super) fn token_hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Returns a name that fits into a line.
pub(super) fn clean_name(name: &str) -> String {
    let seen = name.chars().filter(|sign| !is_unseen(*sign));
    let shown: String = seen.map(|sign| if sign.is_control() { ' ' } else { sign }).collect();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = shown.chars().take(60).collect();
    if shown.is_empty() { "A device without a name".to_owned() } else { shown }
}

/// Returns whether a sign shows nothing itself, or turns around what is near: a name made of such could look like another.
/// Those of Unicode's category Cf, and the fillers.
fn is_unseen(sign: char) -> bool {
    matches!(sign,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}'
        | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hide_nothing_and_turn_nothing_around() {
        for (name, expected) in [
            ("  Anna's\nphone ", "Anna's phone"),
            ("Anna\u{202e}enohp", "Annaenohp"),
            ("An\u{200b}na\u{feff}", "Anna"),
            ("\u{2066}Anna\u{2069}", "Anna"),
            ("\u{200b}\u{3164}", "A device without a name"),
            ("Телефон Анны 📱", "Телефон Анны 📱"),
        ] {
            assert_eq!(clean_name(name), expected, "{name:?}");
        }
    }

    /// It came between the look at the door and the answer, and was asked about: that answer cut everybody who was in.
    #[test]
    fn an_app_that_knocks_just_after_it_was_answered_is_not_asked_about_again() {
        let (phone, other) = (IpAddr::from([192, 0, 2, 7]), IpAddr::from([192, 0, 2, 8]));
        let mut state = State::default();
        let first = state.request_access(phone, "Phone", None).unwrap();
        assert_eq!((first.ended(), state.requests.waiting().len()), (None, 1));
        let id = state.requests.waiting()[0].id.clone();
        state.apps.allow(phone, "Phone", Scope::Prompt);
        state.requests.end(&id, Outcome::Allowed);
        state.apps.shut_out(other);
        for (address, outcome) in [(phone, Outcome::Allowed), (other, Outcome::Declined)] {
            let late = state.request_access(address, "Phone", Some("session".to_owned())).unwrap();
            assert_eq!(late.ended(), Some(outcome));
        }
        assert!(state.requests.waiting().is_empty());
        let AppAccess::Open(pass) = state.apps.door(phone) else { panic!("it was allowed") };
        assert!(!pass.is_revoked());
    }
}
