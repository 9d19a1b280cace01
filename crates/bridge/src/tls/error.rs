//! Errors that leave this computer without a certificate.

use std::path::PathBuf;

/// An error that leaves this computer without a certificate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthorityError {
    #[error("cannot read the certificate file {}: {reason}", path.display())]
    Read { path: PathBuf, reason: String },
    #[error("cannot write the certificate file {}: {reason}", path.display())]
    Write { path: PathBuf, reason: String },
    #[error("the certificate authority has expired by this computer's clock")]
    Expired,
    #[error("cannot make a certificate: {0}")]
    Make(String),
}

impl From<rcgen::Error> for AuthorityError {
    fn from(error: rcgen::Error) -> Self {
        Self::Make(error.to_string())
    }
}

impl From<time::error::ComponentRange> for AuthorityError {
    fn from(_: time::error::ComponentRange) -> Self {
        Self::Make("this computer's clock is set to an invalid date".to_owned())
    }
}
