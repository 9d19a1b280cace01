//! What only a person can allow, and those who wait for it.

use super::deadline::Deadline;
use openagents_sessions::store::now_ms;
use std::{net::IpAddr, time::Duration};
use tokio::sync::watch;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A device that knows the code wants a token.
    Pair,
    /// An iOS app wants in by its address.
    Ios,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Allowed,
    Declined,
    /// Nobody answered in time.
    Expired,
}

/// Who asks, as a person sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asking {
    pub(crate) kind: Kind,
    /// As the device calls itself.
    pub(crate) name: String,
    pub(crate) address: IpAddr,
    /// Shown on both screens: `482 913`.
    pub(crate) compare: Option<String>,
    /// The session that an app asked for.
    pub(crate) session: Option<String>,
}

/// One request that waits.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) id: String,
    pub(super) asking: Asking,
    /// Milliseconds since the epoch.
    pub(super) asked_at: i64,
    pub(super) expires: Deadline,
    outcome: watch::Sender<Option<Outcome>>,
}

/// The end of a request, for those who wait for it.
#[derive(Debug, Clone)]
pub(crate) struct Waiting(watch::Receiver<Option<Outcome>>);

impl Waiting {
    /// Of what was answered before it was asked.
    pub(super) fn over(outcome: Outcome) -> Self {
        Self(watch::channel(Some(outcome)).1)
    }

    /// Resolves when a person has answered, or nobody did in time.
    pub(crate) async fn outcome(&mut self) -> Outcome {
        let ended = self.0.wait_for(Option::is_some).await;
        ended.ok().and_then(|outcome| *outcome).unwrap_or(Outcome::Expired)
    }

    /// Returns how it ended, once it has.
    pub(crate) fn ended(&self) -> Option<Outcome> {
        *self.0.borrow()
    }
}

/// Those that wait, oldest first.
#[derive(Debug, Default)]
pub(super) struct Requests(Vec<Request>);

impl Requests {
    /// Adds one that waits for `patience` at most.
    pub(super) fn ask(&mut self, asking: Asking, patience: Duration) -> (String, Waiting) {
        let (outcome, end) = watch::channel(None);
        let (id, asked_at) = (uuid::Uuid::new_v4().to_string(), now_ms());
        let expires = Deadline::after(patience);
        self.0.push(Request { id: id.clone(), asking, asked_at, expires, outcome });
        (id, Waiting(end))
    }

    pub(super) fn waiting(&self) -> &[Request] {
        &self.0
    }

    /// Returns one that still waits.
    pub(super) fn get(&self, id: &str) -> Option<&Request> {
        self.0.iter().find(|request| request.id == id && !request.expires.is_over())
    }

    /// Returns the end of an app's request that waits already, and notes the session that it wants.
    pub(super) fn of_app(&mut self, address: IpAddr, session: Option<&str>) -> Option<Waiting> {
        let known =
            |request: &&mut Request| request.asking.kind == Kind::Ios && request.asking.address == address;
        let request = self.0.iter_mut().find(known)?;
        if request.asking.session.is_none() {
            request.asking.session = session.map(str::to_owned);
        }
        Some(Waiting(request.outcome.subscribe()))
    }

    /// Ends one and tells those who wait. `None` when it does not wait any more.
    pub(super) fn end(&mut self, id: &str, outcome: Outcome) -> Option<Request> {
        let known = self.0.iter().position(|request| request.id == id)?;
        let request = self.0.remove(known);
        request.outcome.send_replace(Some(outcome));
        Some(request)
    }

    /// Ends those whose time is over.
    pub(super) fn expire(&mut self) -> Vec<Request> {
        let over: Vec<String> = self
            .0
            .iter()
            .filter(|request| request.expires.is_over())
            .map(|request| request.id.clone())
            .collect();
        over.iter().filter_map(|id| self.end(id, Outcome::Expired)).collect()
    }
}
