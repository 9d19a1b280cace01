//! Errors of session requests.

use crate::store::StoreError;

/// The reason a session request failed. Each message is complete and human-readable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    #[error("{0}")]
    Invalid(String),
    #[error("{0} is not a known workspace")]
    UnknownWorkspace(String),
    #[error("no workspace is open; open a folder on the desktop first")]
    NoWorkspace,
    /// There is no such session, approval or prompt.
    #[error("{0}")]
    NotFound(String),
    /// The client may not do this.
    #[error("{0}")]
    Forbidden(String),
    /// An agent refused it, or did not answer.
    #[error("{0}")]
    Refused(String),
    /// Not possible now; may succeed later, or after something else has ended.
    #[error("{0}")]
    Busy(String),
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
