//! Requests that wait for approval.

use openagents_connection::pass::{Pass, Who};
use openagents_sessions::store::now_ms;
use openagents_wire::Scope;
use std::{collections::HashMap, net::IpAddr, sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::DropGuard;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A device that knows the code requests a token.
    Pair,
    /// An iOS app requests access for its address.
    Ios,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Allowed,
    Declined,
    Expired,
    /// Evicted by newer requests; the app may ask again.
    Displaced,
}

/// A request as shown to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestInfo {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) address: IpAddr,
    /// For an iOS app, the address of ours that it connects to.
    pub(crate) at: Option<IpAddr>,
    /// The digits shown on both screens: `482 913`.
    pub(crate) compare: Option<String>,
    pub(crate) session: Option<String>,
}

impl RequestInfo {
    pub(crate) fn app(&self) -> Option<PhoneAddress> {
        let at = self.at.filter(|_| self.kind == Kind::Ios)?;
        Some(PhoneAddress { phone: self.address, at })
    }
}

#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: String,
    pub(crate) info: RequestInfo,
    /// Milliseconds since the epoch.
    pub(crate) asked_at: i64,
    pub(crate) expires: Deadline,
    outcome: watch::Sender<Option<Outcome>>,
}

#[derive(Debug, Clone)]
pub struct OutcomeReceiver(watch::Receiver<Option<Outcome>>);

impl OutcomeReceiver {
    pub(crate) fn resolved(outcome: Outcome) -> Self {
        Self(watch::channel(Some(outcome)).1)
    }

    /// Resolves when the request is answered or times out.
    pub async fn recv(&mut self) -> Outcome {
        let ended = self.0.wait_for(Option::is_some).await;
        ended.ok().and_then(|outcome| *outcome).unwrap_or(Outcome::Expired)
    }

    pub fn get(&self) -> Option<Outcome> {
        *self.0.borrow()
    }
}

/// Pending requests, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Requests(Vec<Request>);

impl Requests {
    /// Adds a request that expires after `timeout`. Returns its id and a receiver for the outcome.
    pub(crate) fn add(&mut self, info: RequestInfo, timeout: Duration) -> (String, OutcomeReceiver) {
        let (outcome, receiver) = watch::channel(None);
        let (id, asked_at) = (uuid::Uuid::new_v4().to_string(), now_ms());
        let expires = Deadline::after(timeout);
        self.0.push(Request { id: id.clone(), info, asked_at, expires, outcome });
        (id, OutcomeReceiver(receiver))
    }

    pub(crate) fn pending(&self) -> &[Request] {
        &self.0
    }

    /// Returns a request that has not expired.
    pub(crate) fn get(&self, id: &str) -> Option<&Request> {
        self.0.iter().find(|request| request.id == id && !request.expires.is_over())
    }

    /// Returns the outcome of the pending request of an app, after adding the session if it has none.
    pub(crate) fn find_app(
        &mut self,
        address: PhoneAddress,
        session: Option<&str>,
    ) -> Option<OutcomeReceiver> {
        let known = |request: &&mut Request| request.info.app() == Some(address);
        let request = self.0.iter_mut().find(known)?;
        if request.info.session.is_none() {
            request.info.session = session.map(str::to_owned);
        }
        Some(OutcomeReceiver(request.outcome.subscribe()))
    }

    /// Ends a request and notifies its receivers. Returns `None` if it is not pending.
    pub(crate) fn end(&mut self, id: &str, outcome: Outcome) -> Option<Request> {
        let known = self.0.iter().position(|request| request.id == id)?;
        let request = self.0.remove(known);
        request.outcome.send_replace(Some(outcome));
        Some(request)
    }

    pub(crate) fn expire(&mut self) -> Vec<Request> {
        let expired: Vec<Request> = self.0.extract_if(.., |request| request.expires.is_over()).collect();
        for request in &expired {
            request.outcome.send_replace(Some(Outcome::Expired));
        }
        expired
    }
}

pub(crate) const ALLOWED: Duration = Duration::from_secs(12 * 60 * 60);
pub(crate) const BLOCKED_FOR: Duration = Duration::from_secs(10 * 60);
pub(crate) const APPROVAL_TIMEOUT: Duration = Duration::from_secs(60);
pub(crate) const ACCESS_REQUESTS: usize = 16;
/// Maximum number of blocked addresses that are kept.
const MAX_BLOCKED: usize = 1024;

#[derive(Debug, Clone)]
pub enum AppAccess {
    Allowed(Arc<Pass>),
    /// Recently declined, or its request timed out.
    Blocked,
    /// Needs approval: [`crate::devices::Devices::request_access`].
    Ask,
}

/// The address of a phone, and the address of ours that it connects to. On another network of this computer, the same
/// phone address may belong to another device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhoneAddress {
    pub phone: IpAddr,
    pub(crate) at: IpAddr,
}

impl PhoneAddress {
    pub fn new(phone: IpAddr, at: IpAddr) -> Self {
        Self { phone: phone.to_canonical(), at: at.to_canonical() }
    }
}

#[derive(Debug)]
pub(crate) struct App {
    pub(crate) pass: Arc<Pass>,
    /// Milliseconds since the epoch.
    pub(crate) allowed_at: i64,
    pub(crate) until: Deadline,
    /// Revokes the pass on drop, which closes its connections.
    _revoked: DropGuard,
}

/// Allowed and blocked iOS apps. They have no token, so they are allowed by address. An address is not an identity, so
/// access is temporary.
#[derive(Debug, Default)]
pub(crate) struct Apps {
    allowed: HashMap<PhoneAddress, App>,
    blocked: HashMap<PhoneAddress, Deadline>,
}

impl Apps {
    pub(crate) fn access(&self, address: PhoneAddress) -> AppAccess {
        match (self.allowed.get(&address), self.blocked.get(&address)) {
            (Some(app), _) if !app.until.is_over() => AppAccess::Allowed(app.pass.clone()),
            (_, Some(until)) if !until.is_over() => AppAccess::Blocked,
            _ => AppAccess::Ask,
        }
    }

    pub(crate) fn allow(&mut self, address: PhoneAddress, name: &str, scope: Scope) {
        self.blocked.remove(&address);
        let allowed_at = openagents_sessions::store::now_ms();
        let pass = Pass::new(Who::App(address.phone), scope, name);
        let (_revoked, until) = (pass.revoked.clone().drop_guard(), Deadline::after(ALLOWED));
        self.allowed.insert(address, App { pass, allowed_at, until, _revoked });
    }

    pub(crate) fn block(&mut self, address: PhoneAddress) {
        if self.blocked.len() >= MAX_BLOCKED {
            self.blocked.retain(|_, until| !until.is_over());
        }
        if self.blocked.len() < MAX_BLOCKED {
            self.blocked.insert(address, Deadline::after(BLOCKED_FOR));
        }
    }

    /// Closes the connections of a phone on all of our addresses, and blocks it, because the app reconnects every
    /// second. Returns its name.
    pub(crate) fn revoke(&mut self, phone: IpAddr) -> Option<String> {
        let known: Vec<PhoneAddress> =
            self.allowed.keys().filter(|address| address.phone == phone).copied().collect();
        let mut name = None;
        for address in known {
            name = self.allowed.remove(&address).map(|app| app.pass.name());
            self.block(address);
        }
        name
    }

    pub(crate) fn passes(&self, phone: IpAddr) -> Vec<Arc<Pass>> {
        let its = self.allowed.iter().filter(|(address, _)| address.phone == phone);
        its.map(|(_, app)| app.pass.clone()).collect()
    }

    /// Closes the connections to our addresses whose network may have changed; the apps may ask again. Returns whether
    /// any were closed.
    pub(crate) fn end_at(&mut self, is_elsewhere: impl Fn(IpAddr) -> bool) -> bool {
        let before = self.allowed.len();
        self.allowed.retain(|address, _| !is_elsewhere(address.at));
        self.allowed.len() < before
    }

    pub(crate) fn expire(&mut self) {
        self.allowed.retain(|_, app| !app.until.is_over());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.allowed.is_empty()
    }

    /// Returns the allowed phones, newest last. A phone that is allowed on several of our addresses is listed once.
    pub(crate) fn allowed(&self) -> Vec<(IpAddr, &App)> {
        let mut phones: HashMap<IpAddr, &App> = HashMap::new();
        for (address, app) in &self.allowed {
            let known = phones.entry(address.phone).or_insert(app);
            if known.allowed_at < app.allowed_at {
                *known = app;
            }
        }
        let mut phones: Vec<_> = phones.into_iter().collect();
        phones.sort_by_key(|(phone, app)| (app.allowed_at, *phone));
        phones
    }
}

const CHECK_EVERY: Duration = Duration::from_secs(10);

/// A deadline on two clocks; it passes when either clock reaches it. The monotonic clock stops during sleep, and the
/// wall clock can be set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    instant: Instant,
    /// Milliseconds since the epoch.
    pub(crate) at: i64,
}

impl Deadline {
    pub(crate) fn after(wait: Duration) -> Self {
        let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        Self { instant: Instant::now() + wait, at: now_ms().saturating_add(wait_ms) }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over_at(now_ms())
    }

    fn is_over_at(&self, now: i64) -> bool {
        self.instant <= Instant::now() || self.at <= now
    }

    /// Resolves when the deadline has passed, up to ten seconds late after sleep.
    pub(crate) async fn passed(&self) {
        while !self.is_over() {
            tokio::time::sleep_until(self.instant.min(Instant::now() + CHECK_EVERY)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn phone_is_not_allowed_on_another_network() {
        let mut apps = Apps::default();
        let [home, vpn] = [[192, 168, 1, 5], [10, 8, 0, 2]].map(IpAddr::from);
        let phone = PhoneAddress::new(IpAddr::from([192, 168, 1, 7]), home);
        assert!(!apps.end_at(|_| true));
        apps.allow(phone, "Phone", Scope::Prompt);
        let AppAccess::Allowed(pass) = apps.access(phone) else { panic!("it was allowed") };
        // The same phone address on another network.
        assert!(matches!(apps.access(PhoneAddress { at: vpn, ..phone }), AppAccess::Ask));
        // The end of the VPN changes nothing; the end of the home network revokes the pass.
        assert!(!apps.end_at(|at| at == vpn) && !pass.is_revoked());
        assert!(apps.end_at(|at| at == home) && pass.is_revoked());
        // Not blocked: approval is requested again.
        assert!(matches!(apps.access(phone), AppAccess::Ask));
    }

    #[tokio::test]
    async fn phone_on_two_addresses_is_one_phone() {
        let mut apps = Apps::default();
        let phone = IpAddr::from([192, 168, 1, 7]);
        let both = [[192, 168, 1, 5], [192, 168, 1, 6]].map(|at| PhoneAddress::new(phone, at.into()));
        both.iter().for_each(|address| apps.allow(*address, "Phone", Scope::Prompt));
        assert_eq!(apps.allowed().len(), 1);
        let passes = apps.passes(phone);
        assert_eq!(apps.revoke(phone).as_deref(), Some("Phone"));
        assert!(passes.len() == 2 && passes.iter().all(|pass| pass.is_revoked()));
        assert!(both.iter().all(|address| matches!(apps.access(*address), AppAccess::Blocked)));
    }

    #[tokio::test(start_paused = true)]
    async fn deadlines_pass_during_sleep() {
        let deadline = Deadline::after(Duration::from_secs(300));
        assert!(!deadline.is_over_at(deadline.at - 1));
        // Asleep: only the wall clock advanced.
        assert!(deadline.is_over_at(deadline.at));
        // The wall clock was set back.
        tokio::time::advance(Duration::from_secs(300)).await;
        assert!(deadline.is_over_at(0));
    }
}
