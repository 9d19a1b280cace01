//! The session or delegate that an update belongs to.

use openagents_core::update::{Delegated, SessionUpdate};

/// The session itself if `None`, or a delegate by call id and session id.
pub(crate) type Scope = Option<(String, String)>;

pub(crate) fn scoped(update: &SessionUpdate) -> (Scope, &SessionUpdate) {
    match update {
        SessionUpdate::Delegated(Delegated { parent_call_id, child_session_id, update }) => {
            (Some((parent_call_id.clone(), child_session_id.clone())), update)
        }
        update => (None, update),
    }
}

pub(crate) fn unscoped(update: &SessionUpdate) -> &SessionUpdate {
    match update {
        SessionUpdate::Delegated(delegated) => &delegated.update,
        update => update,
    }
}

pub(crate) fn wrap(scope: &Scope, update: SessionUpdate) -> SessionUpdate {
    match scope.clone() {
        None => update,
        Some((parent_call_id, child_session_id)) => {
            SessionUpdate::Delegated(Delegated { parent_call_id, child_session_id, update: Box::new(update) })
        }
    }
}
