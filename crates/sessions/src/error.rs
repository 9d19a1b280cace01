//! Why a session cannot do what it was asked for.

use crate::store::StoreError;

/// Why a request to a session was refused. Each text is complete, for a person to read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// An argument cannot be used.
    #[error("{0}")]
    Invalid(String),
    /// This folder is not a known workspace.
    #[error("{0} is not a known workspace")]
    UnknownWorkspace(String),
    /// The sessions have no workspace of their own, and none was named.
    #[error("no workspace is open; open a folder on the desktop first")]
    NoWorkspace,
    /// There is no such session, approval or prompt.
    #[error("{0}")]
    NotFound(String),
    /// It is possible later, or after something else was ended.
    #[error("{0}")]
    Busy(String),
    /// A fault of this program or this machine.
    #[error("{0}")]
    Internal(String),
}

impl SessionError {
    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid(reason.into())
    }

    pub(crate) fn not_found(what: impl Into<String>) -> Self {
        Self::NotFound(what.into())
    }

    pub(crate) fn busy(reason: impl Into<String>) -> Self {
        Self::Busy(reason.into())
    }

    pub(crate) fn internal(reason: impl Into<String>) -> Self {
        Self::Internal(reason.into())
    }
}

impl From<StoreError> for SessionError {
    fn from(error: StoreError) -> Self {
        Self::Internal(error.to_string())
    }
}
