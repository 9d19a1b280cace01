//! Files that cannot be used as a model.

use std::path::PathBuf;

/// The reason a file cannot be used as a model: one sentence with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{fault}", .path.display())]
pub struct GgufError {
    /// The file.
    pub path: PathBuf,
    /// Continues the sentence that the path begins.
    pub fault: Fault,
}

/// A fault in a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The file cannot be read.
    #[error(": {0}")]
    Unreadable(String),
    /// Not a GGUF file.
    #[error(" is not a GGUF file, whatever its name says; choose another file or download the model again")]
    NotGguf,
    /// An unsupported version or byte order.
    #[error(
        " is a GGUF file of version {0}, but only 2 and 3 (little endian) are supported; get another build of the model"
    )]
    Version(u32),
    /// The file is truncated.
    #[error(" is cut off: it has {have} of at least {needed} bytes; copy or download it again")]
    CutOff {
        /// Actual size in bytes.
        have: u64,
        /// Bytes needed for its tensors.
        needed: u64,
    },
    /// The header is invalid.
    #[error(" is damaged ({0}); download it again or choose another file")]
    Malformed(&'static str),
    /// Not a complete chat model.
    #[error(" is {0} and cannot answer by itself; choose the file of a chat model")]
    NoModel(&'static str),
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}
