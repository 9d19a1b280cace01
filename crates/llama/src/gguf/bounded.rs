//! Reads little-endian numbers and strings from a stream, up to a limit of bytes.

use std::{
    io::{self, Read, Take},
    path::PathBuf,
};

pub(super) struct Bounded<R> {
    input: Take<R>,
    file_bytes: u64,
    limit: u64,
}

impl<R: Read> Bounded<R> {
    pub(super) fn new(input: R, file_bytes: u64, limit: u64) -> Self {
        Self { input: input.take(limit), file_bytes, limit }
    }

    pub(super) fn position(&self) -> u64 {
        self.limit - self.input.limit()
    }

    /// Fills a buffer; returns false at the end of the input.
    pub(super) fn fill(&mut self, into: &mut [u8]) -> Result<bool, Fault> {
        match self.input.read_exact(into) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        if self.fill(&mut bytes)? { Ok(bytes) } else { Err(self.ended(N as u64)) }
    }

    pub(super) fn u32(&mut self) -> Result<u32, Fault> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, Fault> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(super) fn unsigned(&mut self, bytes: u64) -> Result<u64, Fault> {
        let mut wide = [0; 8];
        let narrow = usize::try_from(bytes).ok().and_then(|bytes| wide.get_mut(..bytes));
        let narrow = narrow.ok_or(Fault::Malformed("a number has more than 8 bytes"))?;
        if !self.fill(narrow)? {
            return Err(self.ended(bytes));
        }
        Ok(u64::from_le_bytes(wide))
    }

    /// Reads a string of up to `most` bytes; allocates only for data actually read.
    pub(super) fn string(&mut self, most: u64) -> Result<String, Fault> {
        let length = self.u64()?;
        if length > most {
            return Err(Fault::Malformed("a text in its header is too long"));
        }
        let mut bytes = Vec::new();
        let read = (&mut self.input).take(length).read_to_end(&mut bytes)?;
        if (read as u64) < length {
            return Err(self.ended(length));
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(super) fn skip(&mut self, bytes: u64) -> Result<(), Fault> {
        let skipped = io::copy(&mut (&mut self.input).take(bytes), &mut io::sink())?;
        if skipped < bytes { Err(self.ended(bytes - skipped)) } else { Ok(()) }
    }

    pub(super) fn skip_string(&mut self) -> Result<(), Fault> {
        let length = self.u64()?;
        self.skip(length)
    }

    /// Returns the reason there is no more data: our limit, or the end of the file.
    fn ended(&self, wanted: u64) -> Fault {
        if self.input.limit() < wanted {
            Fault::Malformed("its header is longer than 64 MiB")
        } else {
            Fault::CutOff { have: self.file_bytes, needed: self.position().saturating_add(wanted) }
        }
    }
}

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
    #[error(": {0}")]
    Unreadable(String),
    #[error(" is not a GGUF file, whatever its name says; choose another file or download the model again")]
    NotGguf,
    #[error(
        " is a GGUF file of version {0}, but only 2 and 3 (little endian) are supported; get another build of the model"
    )]
    Version(u32),
    #[error(" is cut off: it has {have} of at least {needed} bytes; copy or download it again")]
    CutOff { have: u64, needed: u64 },
    #[error(" is damaged ({0}); download it again or choose another file")]
    Malformed(&'static str),
    #[error(" is {0} and cannot answer by itself; choose the file of a chat model")]
    NoModel(&'static str),
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}
