//! Reads the header of a GGUF file.
//!
//! Files are untrusted: claimed lengths are never allocated, the header is read up to 64 MiB, and unneeded parts (mainly
//! the vocabulary) are skipped. The format:
//! <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>.

mod bounded;
mod header;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use crate::gguf::bounded::{Fault, GgufError};
pub use header::Header;
