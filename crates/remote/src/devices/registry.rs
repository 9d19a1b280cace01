//! The registry of devices, iOS apps and their pending requests.

use super::{
    audit_rows::Refusals,
    pairing::Pairing,
    requests::{
        self, AppAccess, Apps, Deadline, Kind, Outcome, OutcomeReceiver, PhoneAddress, RequestInfo, Requests,
    },
    tables::{self, DeviceRow},
    tabs::Tabs,
};
use crate::{
    network::state::Network,
    token::{hash, key_id},
};
use openagents_connection::{
    admission::ConnectionSlot,
    feed::Feed,
    pass::{Pass, Who},
};
use openagents_sessions::{
    run_blocking,
    store::{Store, StoreError, now_ms},
};
use openagents_wire::{Scope, methods};
use parking_lot::{Mutex, MutexGuard};
use std::{
    net::IpAddr,
    sync::{Arc, Weak},
    time::Duration,
};
use subtle::ConstantTimeEq;
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::task::TaskTracker;

/// Interval at which the last-seen time of a connected device is stored.
const STORE_SEEN_EVERY: Duration = Duration::from_secs(60);

/// Maximum number of concurrent polls of devices without a token.
const POLLS: usize = 16;

pub struct Devices {
    pub(crate) store: Store,
    pub(crate) network: Arc<Network>,
    pub(crate) refusals: Refusals,
    /// Serialises changes to state that is also stored.
    pub(crate) changing: tokio::sync::Mutex<()>,
    state: Mutex<DevicesState>,
    pub polls: Semaphore,
    pub local: Arc<Pass>,
    pub tabs: Tabs,
    feed: Arc<Feed>,
    /// Background writes, awaited when the bridge stops.
    tasks: TaskTracker,
    me: Weak<Self>,
}

impl Devices {
    /// Creates the registry from the stored devices. The owner of `tasks` awaits them when the bridge stops.
    pub fn new(
        store: Store,
        known: Vec<DeviceRow>,
        tabs: Tabs,
        network: Arc<Network>,
        tasks: TaskTracker,
    ) -> Arc<Self> {
        let devices = known.into_iter().map(Device::new).collect();
        let state = Mutex::new(DevicesState { devices, ..DevicesState::default() });
        Arc::new_cyclic(|me: &Weak<Self>| {
            let weak = me.clone();
            let snapshot = move || weak.upgrade().map(|devices| devices.snapshot()).unwrap_or_default();
            let feed = Feed::new::<methods::DevicesChanged>(Scope::Admin, snapshot);
            network.watch(feed.notifier());
            Self {
                store,
                network,
                refusals: Refusals::default(),
                changing: tokio::sync::Mutex::default(),
                state,
                polls: Semaphore::new(POLLS),
                local: Pass::local(),
                tabs,
                feed,
                tasks,
                me: me.clone(),
            }
        })
    }

    pub fn authenticate(&self, token: &str) -> Option<Arc<Pass>> {
        let hash = hash(token);
        let mut state = self.state();
        // Compares with every device, so that the timing reveals nothing.
        let is_its = |device: &&Device| bool::from(device.row.token_hash.ct_eq(&hash));
        let found = state.devices.iter().filter(is_its).fold(None, |_, device| Some(device))?;
        let pass = (!found.pass.is_revoked()).then(|| found.pass.clone())?;
        if let Who::Device(id) = &pass.who {
            state.pairing.connected(id);
        }
        Some(pass)
    }

    /// Returns the SHA-256 of the token of a tab or a device that has this [`key_id`].
    pub fn token_hash(&self, id: &str) -> Option<[u8; 32]> {
        let has_id = |hash: &[u8; 32]| key_id(hash) == id;
        let state = self.state();
        let valid = state.devices.iter().filter(|device| !device.pass.is_revoked());
        let found = valid.map(|device| device.row.token_hash).find(has_id);
        drop(state);
        found.or_else(|| self.tabs.hashes().find(has_id))
    }

    /// Returns the access of an address to the iOS endpoint under [`openagents_wire::IosAccess::Ask`].
    pub fn app_access(&self, address: PhoneAddress) -> AppAccess {
        self.state().apps.access(address)
    }

    /// Files an access request for the iOS app `name` at `address`, which wants `session`. Evicts the oldest pending
    /// request when there are too many. Another call for the same address joins the pending request and may add the
    /// session.
    pub fn request_access(
        &self,
        address: PhoneAddress,
        name: &str,
        session: Option<String>,
    ) -> OutcomeReceiver {
        let (outcome, is_new) = self.state().request_access(address, name, session);
        if is_new {
            self.run_later(requests::APPROVAL_TIMEOUT, Self::expire);
        }
        if outcome.get().is_none() {
            self.changed();
        }
        outcome
    }

    pub fn has_apps(&self) -> bool {
        !self.state().apps.is_empty()
    }

    /// Ends the access of iOS apps that connect to an address of ours whose network may have changed: the address of a
    /// phone may now belong to another device.
    pub fn end_apps(&self, is_elsewhere: impl Fn(IpAddr) -> bool) {
        if self.state().apps.end_at(is_elsewhere) {
            tracing::info!("network changed: iOS apps must be allowed again");
            self.changed();
        }
    }

    pub fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    pub(crate) fn changed(&self) {
        self.feed.changed();
    }

    /// Updates the last-seen time of a device and changes its number of connections by `change`. The time is stored
    /// once per [`STORE_SEEN_EVERY`], and when a connection ends.
    pub(crate) fn record_seen(&self, pass: &Pass, address: IpAddr, change: isize) {
        let Who::Device(id) = &pass.who else { return };
        let (now, seen, at) = (Instant::now(), now_ms(), address.to_string());
        let is_due = {
            let mut state = self.state();
            let Some(device) = state.devices.iter_mut().find(|device| *device.row.id == **id) else { return };
            device.connections = device.connections.saturating_add_signed(change);
            (device.row.last_seen_ts, device.row.last_address) = (Some(seen), Some(at.clone()));
            let is_old = |stored| now.duration_since(stored) >= STORE_SEEN_EVERY;
            let is_due = change < 0 || device.stored_at.is_none_or(is_old);
            if is_due {
                device.stored_at = Some(now);
            }
            is_due
        };
        if is_due {
            let id = id.clone();
            self.write_in_background(move |store| tables::set_last_seen(store, &id, seen, &at));
        }
        if change != 0 {
            self.changed();
        }
    }

    pub(super) async fn with_store<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = self.store.clone();
        run_blocking(move || run(&store)).await.unwrap_or(Err(StoreError::Closed))
    }

    /// Writes in the background. A failure is only logged.
    pub(crate) fn write_in_background(
        &self,
        write: impl FnOnce(&Store) -> Result<(), StoreError> + Send + 'static,
    ) {
        let store = self.store.clone();
        if tokio::runtime::Handle::try_current().is_ok() {
            self.tasks.spawn_blocking(move || {
                if let Err(error) = write(&store) {
                    tracing::warn!(%error, "device activity was not stored");
                }
            });
        }
    }

    pub(crate) fn run_later(&self, wait: Duration, then: impl FnOnce(&Self) + Send + 'static) {
        let (me, deadline) = (self.me.clone(), Deadline::after(wait));
        tokio::spawn(async move {
            deadline.passed().await;
            if let Some(devices) = me.upgrade() {
                then(&devices);
            }
        });
    }

    pub(super) fn expire(&self) {
        let mut state = self.state();
        for request in state.requests.expire() {
            if let Some(address) = request.info.app() {
                state.apps.block(address);
            }
        }
        state.apps.expire();
        drop(state);
        self.changed();
    }

    pub fn state(&self) -> MutexGuard<'_, DevicesState> {
        self.state.lock()
    }
}

#[derive(Default)]
pub struct DevicesState {
    /// Oldest first.
    pub(crate) devices: Vec<Device>,
    pub pairing: Pairing,
    pub(crate) requests: Requests,
    pub(crate) apps: Apps,
}

impl DevicesState {
    /// Returns a receiver for the outcome, and whether the request is new.
    fn request_access(
        &mut self,
        address: PhoneAddress,
        name: &str,
        session: Option<String>,
    ) -> (OutcomeReceiver, bool) {
        // The request may have been answered since the caller's check. Allowing the address again would close its
        // connections.
        match self.apps.access(address) {
            AppAccess::Allowed(_) => return (OutcomeReceiver::resolved(Outcome::Allowed), false),
            AppAccess::Blocked => return (OutcomeReceiver::resolved(Outcome::Declined), false),
            AppAccess::Ask => {}
        }
        if let Some(outcome) = self.requests.find_app(address, session.as_deref()) {
            return (outcome, false);
        }
        // Refusing the new request instead would let a device with many addresses keep out every phone.
        let pending = self.requests.pending().iter().filter(|request| request.info.kind == Kind::Ios);
        if pending.clone().count() >= requests::ACCESS_REQUESTS
            && let Some(oldest) = pending.map(|request| request.id.clone()).next()
        {
            self.requests.end(&oldest, Outcome::Displaced);
        }
        let info = RequestInfo {
            kind: Kind::Ios,
            name: clean_name(name),
            address: address.phone,
            at: Some(address.at),
            compare: None,
            session,
        };
        (self.requests.add(info, requests::APPROVAL_TIMEOUT).1, true)
    }
}

#[derive(Debug)]
pub(crate) struct Device {
    /// The stored row. Its name and scope may be outdated; `pass` has the current ones.
    pub(crate) row: DeviceRow,
    pub(crate) pass: Arc<Pass>,
    pub(crate) connections: usize,
    /// When the last-seen time was last stored.
    stored_at: Option<Instant>,
}

impl Device {
    pub(crate) fn new(row: DeviceRow) -> Self {
        let pass = Pass::new(Who::Device(row.id.as_str().into()), row.scope, &row.name);
        Self { row, pass, connections: 0, stored_at: None }
    }
}

/// Returns a name without invisible characters, on one line, with at most 60 characters.
pub fn clean_name(name: &str) -> String {
    let visible = name.chars().filter(|character| !is_invisible(*character));
    let shown: String =
        visible.map(|character| if character.is_control() { ' ' } else { character }).collect();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = shown.chars().take(60).collect();
    if shown.is_empty() { "Unnamed device".to_owned() } else { shown }
}

/// Returns whether a character is invisible or reorders its neighbours: Unicode's category Cf, and the fillers.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}'
        | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// An authenticated connection. Dropping the last clone frees its slot and stores the device's last-seen time.
pub struct ConnectionLease {
    pub pass: Arc<Pass>,
    pub address: IpAddr,
    devices: Arc<Devices>,
    _slot: ConnectionSlot,
}

impl ConnectionLease {
    pub fn begin(devices: Arc<Devices>, pass: Arc<Pass>, address: IpAddr, slot: ConnectionSlot) -> Arc<Self> {
        devices.record_seen(&pass, address, 1);
        Arc::new(Self { pass, address, devices, _slot: slot })
    }

    pub fn touch(&self) {
        self.devices.record_seen(&self.pass, self.address, 0);
    }
}

impl Drop for ConnectionLease {
    fn drop(&mut self) {
        self.devices.record_seen(&self.pass, self.address, -1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_invisible_characters() {
        for (name, expected) in [
            ("  Anna's\nphone ", "Anna's phone"),
            ("Anna\u{202e}enohp", "Annaenohp"),
            ("An\u{200b}na\u{feff}", "Anna"),
            ("\u{2066}Anna\u{2069}", "Anna"),
            ("\u{200b}\u{3164}", "Unnamed device"),
            ("Телефон Анны 📱", "Телефон Анны 📱"),
        ] {
            assert_eq!(clean_name(name), expected, "{name:?}");
        }
    }

    #[test]
    fn late_access_request_gets_the_same_answer() {
        let (phone, other) = (app(7), app(8));
        let mut state = DevicesState::default();
        let (first, _) = state.request_access(phone, "Phone", None);
        assert_eq!((first.get(), state.requests.pending().len()), (None, 1));
        let id = state.requests.pending()[0].id.clone();
        state.apps.allow(phone, "Phone", Scope::Prompt);
        state.requests.end(&id, Outcome::Allowed);
        state.apps.block(other);
        for (address, outcome) in [(phone, Outcome::Allowed), (other, Outcome::Declined)] {
            let (late, is_new) = state.request_access(address, "Phone", Some("session".to_owned()));
            assert_eq!((late.get(), is_new), (Some(outcome), false));
        }
        assert!(state.requests.pending().is_empty());
        let AppAccess::Allowed(pass) = state.apps.access(phone) else { panic!("it was allowed") };
        assert!(!pass.is_revoked());
    }

    fn app(last: u8) -> PhoneAddress {
        PhoneAddress::new(IpAddr::from([192, 0, 2, last]), IpAddr::from([192, 0, 2, 1]))
    }

    #[test]
    fn request_flood_does_not_keep_out_a_phone() {
        let mut state = DevicesState::default();
        let many: Vec<_> = (10..)
            .take(requests::ACCESS_REQUESTS)
            .map(|n| state.request_access(app(n), "Crowd", None).0)
            .collect();
        let (phone, is_new) = state.request_access(app(7), "Phone", None);
        assert!(is_new && phone.get().is_none());
        assert_eq!(state.requests.pending().len(), requests::ACCESS_REQUESTS);
        let ended: Vec<_> = many.iter().map(OutcomeReceiver::get).collect();
        assert_eq!(ended[..2], [Some(Outcome::Displaced), None]);
        // Each later call of the same phone joins the pending request and starts nothing.
        let (again, is_new) = state.request_access(app(7), "Phone", Some("session".to_owned()));
        assert!(!is_new && again.get().is_none());
        assert_eq!(state.requests.pending().len(), requests::ACCESS_REQUESTS);
    }
}
