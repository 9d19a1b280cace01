//! What a GGUF file says about itself, read from its header alone.
//!
//! A file may come from anywhere, so nothing is allocated from a length that it claims, the header is read up to
//! [`HEADER_BYTES`] and what is not needed (the vocabulary above all) is passed over. The format:
//! <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>.

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

/// Bytes of a header at the most. Those of models with 200,000 tokens and their merges have about 15 MiB.
pub const HEADER_BYTES: u64 = 64 << 20;

/// What a GGUF file says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// `gpt-oss`, `llama`: how its layers are to be computed.
    pub architecture: String,
    /// The model's name, where the file has one.
    pub name: Option<String>,
    /// `MXFP4`, `Q4_1`: how most weights are kept.
    pub quantisation: Option<&'static str>,
    /// The template in Jinja that makes a prompt of messages.
    pub chat_template: Option<String>,
    /// Tokens that it was trained for.
    pub context_length: Option<u64>,
    /// Layers.
    pub layers: u64,
    /// Values of keys and of values that attention keeps for one token, over all layers.
    pub cached_values: u64,
    /// Tokens that the layers with a sliding window look back.
    pub sliding_window: Option<u64>,
    /// Tokens of the vocabulary.
    pub vocabulary: Option<u64>,
    /// Bytes of the file.
    pub file_bytes: u64,
}

impl Header {
    /// Reads the header and checks that the file has all its tensors.
    pub fn read(path: &Path) -> Result<Self, GgufError> {
        let unreadable = |error: std::io::Error| GgufError::Unreadable(path.to_owned(), error.to_string());
        let no_file = || GgufError::Unreadable(path.to_owned(), "it is not a file".to_owned());
        // What is no file may do something when it is opened.
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

    /// Returns bytes that attention keeps for one token in half precision, when no layer forgets (`swa_full`).
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

/// Does not wait for a writer, should a pipe have taken the file's place.
fn open(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    options.open(path)
}

/// Why a file cannot be used as a model: one sentence with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GgufError {
    /// It cannot be read.
    #[error("{}: {}", .0.display(), .1)]
    Unreadable(PathBuf, String),
    /// It is something else.
    #[error("{} is not a GGUF file, whatever its name says; choose another file or download the model again", .0.display())]
    NotGguf(PathBuf),
    /// It has a version that nobody writes any more, does not write yet, or writes on other machines.
    #[error("{} is a GGUF file of version {}, and only 2 and 3 (little endian) can be read; get another build of the model", .0.display(), .1)]
    Version(PathBuf, u32),
    /// The end is missing.
    #[error("{} is cut off: it has {have} of {needed} bytes or more; copy or download it again", .path.display())]
    CutOff {
        /// The file.
        path: PathBuf,
        /// Bytes that are there.
        have: u64,
        /// Bytes that its tensors need.
        needed: u64,
    },
    /// The header contradicts itself.
    #[error("{} is damaged ({what}); download it again or choose another file", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// It is no model that can answer.
    #[error("{} is {what} and cannot answer by itself; choose the file of a chat model", .path.display())]
    NoModel {
        /// The file.
        path: PathBuf,
        /// What it is.
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
