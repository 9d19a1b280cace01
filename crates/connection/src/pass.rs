//! The credentials of a connection.

use crate::feed::Feed;
use openagents_wire::{Access, DeviceName, Scope, methods};
use parking_lot::Mutex;
use std::{
    net::IpAddr,
    sync::{Arc, OnceLock},
};
use tokio_util::sync::CancellationToken;

/// The owner of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Who {
    /// The local user, who can read the token file.
    Local,
    Device(Arc<str>),
    /// An iOS app without a token, allowed by its address.
    App(IpAddr),
}

/// Owner and scope, shared by all connections of a device. Checked on every call, so that changes apply at once.
#[derive(Debug)]
pub struct Pass {
    pub who: Who,
    granted: Arc<Mutex<Granted>>,
    /// Cancelled when the device is revoked; its sockets close.
    pub revoked: CancellationToken,
    feed: Arc<Feed>,
}

#[derive(Debug)]
struct Granted {
    scope: Scope,
    name: String,
}

impl Pass {
    /// The pass of the local user, with [`Scope::Admin`].
    pub fn local() -> Arc<Self> {
        Self::new(Who::Local, Scope::Admin, computer_name())
    }

    pub fn new(who: Who, scope: Scope, name: &str) -> Arc<Self> {
        let granted = Arc::new(Mutex::new(Granted { scope, name: name.to_owned() }));
        let (owner, shared) = (who.clone(), granted.clone());
        let snapshot = move || access(&owner, &shared.lock());
        let feed = Feed::new::<methods::AccessChanged>(Scope::View, snapshot);
        Arc::new(Self { who, granted, revoked: CancellationToken::new(), feed })
    }

    pub fn scope(&self) -> Scope {
        self.granted.lock().scope
    }

    /// Returns whether the pass is valid and its scope includes `needed`.
    pub fn may(&self, needed: Scope) -> bool {
        !self.is_revoked() && self.scope() >= needed
    }

    pub fn name(&self) -> String {
        self.granted.lock().name.clone()
    }

    pub fn set_scope(&self, scope: Scope) {
        self.granted.lock().scope = scope;
        self.feed.changed();
    }

    pub fn rename(&self, name: &str) {
        self.granted.lock().name = name.to_owned();
        self.feed.changed();
    }

    pub fn access(&self) -> Access {
        access(&self.who, &self.granted.lock())
    }

    pub fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    pub fn is_revoked(&self) -> bool {
        self.revoked.is_cancelled()
    }
}

fn access(who: &Who, Granted { scope, name }: &Granted) -> Access {
    let device = match who {
        Who::Device(id) => Some(DeviceName { id: id.to_string(), name: name.clone() }),
        Who::Local | Who::App(_) => None,
    };
    Access { scope: *scope, device }
}

/// Returns the first label of this computer's host name, or "your computer".
pub fn computer_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let label = host.split('.').next().unwrap_or_default();
        if label.is_empty() { "your computer".to_owned() } else { label.to_owned() }
    })
}
