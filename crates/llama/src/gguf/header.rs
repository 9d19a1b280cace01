//! The facts about a model file that this program needs.

use super::{
    bounded::Bounded,
    error::{Fault, GgufError},
    metadata::Metadata,
    tensors,
};
use crate::limits::HEADER_BYTES;
use std::{
    fs::File,
    io::{BufReader, Read},
    path::Path,
};

/// The header of a GGUF file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The model architecture: `gpt-oss`, `llama`.
    pub architecture: String,
    /// The model's name, if the file has one.
    pub name: Option<String>,
    /// The Jinja template that renders messages into a prompt.
    pub chat_template: Option<String>,
    /// The trained context length in tokens.
    pub context_length: Option<u64>,
    /// Key and value elements cached per token, summed over all layers.
    pub cached_values: u64,
    /// File size in bytes.
    pub file_bytes: u64,
}

impl Header {
    /// Reads the header and checks that the file contains all tensors.
    pub fn read(path: &Path) -> Result<Self, GgufError> {
        Self::read_file(path).map_err(|fault| GgufError { path: path.to_owned(), fault })
    }

    fn read_file(path: &Path) -> Result<Self, Fault> {
        let no_file = || Fault::Unreadable("it is not a file".to_owned());
        // Opening a special file may have side effects.
        if !std::fs::metadata(path)?.is_file() {
            return Err(no_file());
        }
        let file = open(path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(no_file());
        }
        Self::parse(BufReader::with_capacity(1 << 16, file), about.len())
    }

    /// Returns the bytes of KV cache per token in half precision, with all layers cached in full (`swa_full`).
    ///
    /// gpt-oss-20b: 24 layers × 8 heads × (64 + 64) values × 2 bytes = 48 KiB.
    pub fn cache_bytes_per_token(&self) -> u64 {
        self.cached_values.saturating_mul(2)
    }

    pub(super) fn parse(file: impl Read, file_bytes: u64) -> Result<Self, Fault> {
        let mut input = Bounded::new(file, file_bytes, HEADER_BYTES);
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
        let needed = start.checked_add(data_bytes).ok_or(Fault::Malformed("its tensors have no end"))?;
        if file_bytes < needed {
            return Err(Fault::CutOff { have: file_bytes, needed });
        }
        Self::of(&metadata, file_bytes)
    }

    fn of(metadata: &Metadata, file_bytes: u64) -> Result<Self, Fault> {
        match metadata.text("general.type") {
            Some("adapter") => return Err(Fault::NoModel("an adapter for another model")),
            Some("mmproj") => return Err(Fault::NoModel("the part of a model that sees pictures")),
            _ => {}
        }
        if metadata.number("split.count").is_some_and(|parts| parts > 1) {
            return Err(Fault::NoModel("one part of a model that was split"));
        }
        let architecture = metadata.text("general.architecture").filter(|name| !name.is_empty());
        let architecture = architecture.ok_or(Fault::Malformed("its header names no architecture"))?;
        let own = |key: &str| metadata.number(&format!("{architecture}.{key}"));
        Ok(Self {
            architecture: architecture.to_owned(),
            name: metadata.text("general.name").filter(|name| !name.trim().is_empty()).map(str::to_owned),
            chat_template: metadata.text("tokenizer.chat_template").map(str::to_owned),
            context_length: own("context_length"),
            cached_values: metadata.cached_values(architecture, own("block_count").unwrap_or_default()),
            file_bytes,
        })
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
