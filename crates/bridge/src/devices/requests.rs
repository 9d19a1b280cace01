//! Requests that wait for approval.

use super::{apps::PhoneAddress, deadline::Deadline};
use openagents_sessions::store::now_ms;
use std::{net::IpAddr, time::Duration};
use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A device that knows the code requests a token.
    Pair,
    /// An iOS app requests access for its address.
    Ios,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Allowed,
    Declined,
    /// Timed out.
    Expired,
    /// Evicted by newer requests; the app may ask again.
    Displaced,
}

/// A request as shown to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestInfo {
    pub(crate) kind: Kind,
    /// The name that the device gave.
    pub(crate) name: String,
    pub(crate) address: IpAddr,
    /// For an iOS app, the address of ours that it connects to.
    pub(crate) at: Option<IpAddr>,
    /// The digits shown on both screens: `482 913`.
    pub(crate) compare: Option<String>,
    /// The session that an app asked for.
    pub(crate) session: Option<String>,
}

impl RequestInfo {
    /// Returns the address of an iOS app.
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
pub(crate) struct OutcomeReceiver(watch::Receiver<Option<Outcome>>);

impl OutcomeReceiver {
    /// Creates a receiver that already has its outcome.
    pub(crate) fn resolved(outcome: Outcome) -> Self {
        Self(watch::channel(Some(outcome)).1)
    }

    /// Resolves when the request is answered or times out.
    pub(crate) async fn recv(&mut self) -> Outcome {
        let ended = self.0.wait_for(Option::is_some).await;
        ended.ok().and_then(|outcome| *outcome).unwrap_or(Outcome::Expired)
    }

    /// Returns the outcome if the request has ended.
    pub(crate) fn get(&self) -> Option<Outcome> {
        *self.0.borrow()
    }
}

/// Pending requests, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Requests(Vec<Request>);

impl Requests {
    /// Adds a request that expires after `timeout`. Returns its id.
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
    pub(crate) fn of_app(&mut self, address: PhoneAddress, session: Option<&str>) -> Option<OutcomeReceiver> {
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
