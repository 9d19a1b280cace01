//! What a connection was let in with.

use super::Scope;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// Who a connection belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Who {
    /// Whoever reads the token file: the person at this machine.
    Local,
    /// A device that was paired, by its id.
    Device(Arc<str>),
}

/// Looked at for every call, so that a change counts at once. All connections of a device share one.
#[derive(Debug)]
pub(crate) struct Pass {
    pub(crate) who: Who,
    scope: Mutex<Scope>,
    /// Cancelled when the device is revoked; its sockets end.
    pub(crate) revoked: CancellationToken,
}

impl Pass {
    /// The person at this machine may do all.
    pub(crate) fn local() -> Arc<Self> {
        Self::new(Who::Local, Scope::Admin)
    }

    pub(crate) fn new(who: Who, scope: Scope) -> Arc<Self> {
        Arc::new(Self { who, scope: Mutex::new(scope), revoked: CancellationToken::new() })
    }

    pub(crate) fn scope(&self) -> Scope {
        *self.scope.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what its connections may do from now on.
    pub(crate) fn change(&self, scope: Scope) {
        *self.scope.lock().unwrap_or_else(PoisonError::into_inner) = scope;
    }
}
