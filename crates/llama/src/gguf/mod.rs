//! Reads the header of a GGUF file.
//!
//! Files are untrusted: claimed lengths are never allocated, the header is read up to [`HEADER_BYTES`], and unneeded
//! parts (mainly the vocabulary) are skipped. The format: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>.

mod bounded;
mod metadata;
mod tensors;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use bounded::{Bounded, Fault};
use metadata::Metadata;
use std::{
    fs::File,
    io::{BufReader, Read},
    path::{Path, PathBuf},
};

/// Maximum bytes of a header. Models with 200,000 tokens and their merges have about 15 MiB.
pub const HEADER_BYTES: u64 = 64 << 20;

/// The header of a GGUF file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The model architecture: `gpt-oss`, `llama`.
    pub architecture: String,
    /// The model's name, if the file has one.
    pub name: Option<String>,
    /// The type of most weights: `MXFP4`, `Q4_1`.
    pub quantisation: Option<&'static str>,
    /// The Jinja template that renders messages into a prompt.
    pub chat_template: Option<String>,
    /// The trained context length in tokens.
    pub context_length: Option<u64>,
    /// Layers.
    pub layers: u64,
    /// Key and value elements cached per token, summed over all layers.
    pub cached_values: u64,
    /// Window size in tokens of layers with sliding-window attention.
    pub sliding_window: Option<u64>,
    /// Vocabulary size in tokens.
    pub vocabulary: Option<u64>,
    /// File size in bytes.
    pub file_bytes: u64,
}

impl Header {
    /// Reads the header and checks that the file contains all tensors.
    pub fn read(path: &Path) -> Result<Self, GgufError> {
        let unreadable = |error: std::io::Error| GgufError::Unreadable(path.to_owned(), error.to_string());
        let no_file = || GgufError::Unreadable(path.to_owned(), "it is not a file".to_owned());
        // Opening a special file may have side effects.
        if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
            return Err(no_file());
        }
        let file = open(path).map_err(unreadable)?;
        let about = file.metadata().map_err(unreadable)?;
        if !about.is_file() {
            return Err(no_file());
        }
        Self::parse(BufReader::with_capacity(1 << 16, file), about.len())
            .map_err(|fault| fault.of(path, about.len()))
    }

    /// Returns the bytes of KV cache per token in half precision, with all layers cached in full (`swa_full`).
    ///
    /// gpt-oss-20b: 24 layers × 8 heads × (64 + 64) values × 2 bytes = 48 KiB.
    pub fn cache_bytes_per_token(&self) -> u64 {
        self.cached_values.saturating_mul(2)
    }

    fn parse(file: impl Read, file_bytes: u64) -> Result<Self, Fault> {
        let mut input = Bounded::new(file, HEADER_BYTES);
        let mut magic = [0; 4];
        if !input.fill(&mut magic)? || &magic != b"GGUF" {
            return Err(Fault::NotGguf);
        }
        match input.u32()? {
            2 | 3 => {}
            version => return Err(Fault::Version(version)),
        }
        let tensors = input.u64()?;
        let metadata = Metadata::read(&mut input)?;
        let data_bytes = tensors::data_bytes(&mut input, tensors)?;
        let alignment = metadata.alignment()?;
        let start = input.position().next_multiple_of(alignment);
        let whole = start.checked_add(data_bytes).ok_or(Fault::Malformed("its tensors have no end"))?;
        if file_bytes < whole {
            return Err(Fault::CutOff { needed: whole });
        }
        metadata.header(file_bytes)
    }
}

/// Does not block if the file was replaced by a pipe.
fn open(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    options.open(path)
}

/// The reason a file cannot be used as a model: one sentence with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GgufError {
    /// The file cannot be read.
    #[error("{}: {}", .0.display(), .1)]
    Unreadable(PathBuf, String),
    /// Not a GGUF file.
    #[error("{} is not a GGUF file, whatever its name says; choose another file or download the model again", .0.display())]
    NotGguf(PathBuf),
    /// An unsupported version or byte order.
    #[error("{} is a GGUF file of version {}, but only 2 and 3 (little endian) are supported; get another build of the model", .0.display(), .1)]
    Version(PathBuf, u32),
    /// The file is truncated.
    #[error("{} is cut off: it has {have} of at least {needed} bytes; copy or download it again", .path.display())]
    CutOff {
        /// The file.
        path: PathBuf,
        /// Actual size in bytes.
        have: u64,
        /// Bytes needed for its tensors.
        needed: u64,
    },
    /// The header is invalid.
    #[error("{} is damaged ({what}); download it again or choose another file", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The mistake.
        what: &'static str,
    },
    /// Not a complete chat model.
    #[error("{} is {what} and cannot answer by itself; choose the file of a chat model", .path.display())]
    NoModel {
        /// The file.
        path: PathBuf,
        /// The actual content.
        what: &'static str,
    },
}

impl Fault {
    fn of(self, path: &Path, have: u64) -> GgufError {
        let path = path.to_owned();
        match self {
            Self::Io(reason) => GgufError::Unreadable(path, reason),
            Self::NotGguf => GgufError::NotGguf(path),
            Self::Version(version) => GgufError::Version(path, version),
            Self::CutOff { needed } => GgufError::CutOff { path, have, needed },
            Self::Malformed(what) => GgufError::Malformed { path, what },
            Self::NoModel(what) => GgufError::NoModel { path, what },
        }
    }
}
