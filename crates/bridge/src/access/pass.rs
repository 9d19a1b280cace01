//! What a connection was let in with.

use super::Scope;
use crate::feed::Feed;
use serde_json::{Value, json};
use std::{
    fmt,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio_util::sync::CancellationToken;

/// Who a connection belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    /// Whoever reads the token file: the person at this machine.
    Local,
    /// A device that was paired, by its id.
    Device(Arc<str>),
    /// An iOS app without a token, which a person allowed by its address.
    App(IpAddr),
}

/// Looked at for every call, so that a change counts at once. All connections of a device share one.
pub(crate) struct Pass {
    pub(crate) who: Who,
    granted: Arc<Mutex<Granted>>,
    /// Cancelled when the device is revoked; its sockets end.
    pub(crate) revoked: CancellationToken,
    feed: Arc<Feed>,
    changed: Box<dyn Fn() + Send + Sync>,
}

#[derive(Debug)]
struct Granted {
    scope: Scope,
    /// As a person named it.
    name: String,
}

impl fmt::Debug for Pass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Pass")
            .field("who", &self.who)
            .field("scope", &self.scope())
            .finish_non_exhaustive()
    }
}

impl Pass {
    /// The person at this machine may do all.
    pub(crate) fn local() -> Arc<Self> {
        Self::new(Who::Local, Scope::Admin, crate::machine::name())
    }

    pub(crate) fn new(who: Who, scope: Scope, name: &str) -> Arc<Self> {
        let granted = Arc::new(Mutex::new(Granted { scope, name: name.to_owned() }));
        let mut changed: Box<dyn Fn() + Send + Sync> = Box::new(|| {});
        let feed = {
            let (who, granted) = (who.clone(), granted.clone());
            let snapshot = move || access(&who, &lock(&granted));
            Feed::new("_openagents/access", Scope::View, snapshot, |on_change| {
                changed = Box::new(move || on_change())
            })
        };
        Arc::new(Self { who, granted, revoked: CancellationToken::new(), feed, changed })
    }

    pub(crate) fn scope(&self) -> Scope {
        lock(&self.granted).scope
    }

    /// Returns whether its connections may do what needs this scope.
    pub(crate) fn may(&self, needed: Scope) -> bool {
        !self.is_revoked() && self.scope() >= needed
    }

    pub(crate) fn name(&self) -> String {
        lock(&self.granted).name.clone()
    }

    /// Changes what its connections may do from now on, and tells them.
    pub(crate) fn change(&self, scope: Scope) {
        lock(&self.granted).scope = scope;
        (self.changed)();
    }

    /// Gives it another name, and tells its connections.
    pub(crate) fn rename(&self, name: &str) {
        lock(&self.granted).name = name.to_owned();
        (self.changed)();
    }

    /// Returns what its connections may do, and as whom: the params of `_openagents/access`.
    pub(crate) fn access(&self) -> Value {
        access(&self.who, &lock(&self.granted))
    }

    /// Tells its connections when that changes.
    pub(crate) fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// Returns whether it was revoked.
    pub(crate) fn is_revoked(&self) -> bool {
        self.revoked.is_cancelled()
    }
}

fn lock(granted: &Mutex<Granted>) -> MutexGuard<'_, Granted> {
    granted.lock().unwrap_or_else(PoisonError::into_inner)
}

fn access(who: &Who, granted: &Granted) -> Value {
    let device = match who {
        Who::Device(id) => json!({"id": id, "name": granted.name}),
        Who::Local | Who::App(_) => Value::Null,
    };
    json!({"scope": granted.scope, "device": device})
}
