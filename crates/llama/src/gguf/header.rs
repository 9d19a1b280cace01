//! The facts about a model file that this program needs.

use super::bounded::{Bounded, Fault, GgufError};
use crate::limits::{
    HEADER_BYTES, HEADER_DEPTH, HEADER_KEY, HEADER_NUMBERS, HEADER_PAIRS, HEADER_TEXT, TENSORS,
};
use std::{
    collections::BTreeMap,
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
    pub fn from_file(path: &Path) -> Result<Self, GgufError> {
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
        let metadata = Metadata::parse(&mut input)?;
        let data_bytes = data_bytes(&mut input, tensors)?;
        let alignment = metadata.alignment()?;
        let start = input.position().next_multiple_of(alignment);
        let needed = start.checked_add(data_bytes).ok_or(Fault::Malformed("its tensors have no end"))?;
        if file_bytes < needed {
            return Err(Fault::CutOff { have: file_bytes, needed });
        }
        Self::from_metadata(&metadata, file_bytes)
    }

    fn from_metadata(metadata: &Metadata, file_bytes: u64) -> Result<Self, Fault> {
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
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    options.open(path)
}

/// Types of values, as specified.
const STRING: u32 = 8;
const ARRAY: u32 = 9;

#[derive(Debug)]
enum Value {
    Number(u64),
    Text(String),
    Numbers(Vec<u64>),
}

/// The key-value pairs of a header that are needed; the rest is skipped.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    kept: BTreeMap<String, Value>,
}

impl Metadata {
    pub(super) fn parse<R: Read>(input: &mut Bounded<R>) -> Result<Self, Fault> {
        let pairs = input.u64()?;
        if pairs > HEADER_PAIRS {
            return Err(Fault::Malformed("its header has too many entries"));
        }
        let mut metadata = Self::default();
        for _ in 0..pairs {
            let key = input.string(HEADER_KEY)?;
            let kind = input.u32()?;
            if !is_needed(&key) {
                skip_value(input, kind, 0)?;
            } else if let Some(value) = read_value(input, kind)? {
                metadata.kept.insert(key, value);
            }
        }
        Ok(metadata)
    }

    /// Alignment of tensors in bytes, a power of two.
    pub(super) fn alignment(&self) -> Result<u64, Fault> {
        match self.number("general.alignment").unwrap_or(32) {
            alignment if alignment.is_power_of_two() && alignment <= 1 << 20 => Ok(alignment),
            _ => Err(Fault::Malformed("its alignment is not a power of two")),
        }
    }

    /// KV heads × (key size + value size) over all layers; missing sizes are the embedding divided by the heads.
    pub(super) fn cached_values(&self, architecture: &str, layers: u64) -> u64 {
        let own = |key: &str| format!("{architecture}.{key}");
        let heads = self.per_layer(&own("attention.head_count"), layers).unwrap_or_default();
        let most_heads = heads.iter().copied().max().unwrap_or_default();
        let share = self.number(&own("embedding_length")).unwrap_or_default().checked_div(most_heads);
        let size = |key: &str| self.number(&own(key)).or(share).unwrap_or_default();
        let both = size("attention.key_length").saturating_add(size("attention.value_length"));
        let cached = self.per_layer(&own("attention.head_count_kv"), layers).unwrap_or(heads);
        cached.iter().fold(0_u64, |sum, heads| sum.saturating_add(heads.saturating_mul(both)))
    }

    fn per_layer(&self, key: &str, layers: u64) -> Option<Vec<u64>> {
        match self.kept.get(key)? {
            Value::Number(number) => Some(vec![*number; usize::try_from(layers.min(HEADER_NUMBERS)).ok()?]),
            Value::Numbers(numbers) => Some(numbers.clone()),
            Value::Text(_) => None,
        }
    }

    pub(super) fn number(&self, key: &str) -> Option<u64> {
        match self.kept.get(key)? {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match self.kept.get(key)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Keys of the architecture begin with its name, which may come later in the file.
fn is_needed(key: &str) -> bool {
    const WHOLE: [&str; 6] = [
        "general.alignment",
        "general.architecture",
        "general.name",
        "general.type",
        "split.count",
        "tokenizer.chat_template",
    ];
    const ENDS: [&str; 7] = [
        ".block_count",
        ".context_length",
        ".embedding_length",
        ".attention.head_count",
        ".attention.head_count_kv",
        ".attention.key_length",
        ".attention.value_length",
    ];
    key.len() <= 128 && (WHOLE.contains(&key) || ENDS.iter().any(|end| key.ends_with(end)))
}

fn read_value<R: Read>(input: &mut Bounded<R>, kind: u32) -> Result<Option<Value>, Fault> {
    match kind {
        STRING => Ok(Some(Value::Text(input.string(HEADER_TEXT)?))),
        ARRAY => read_array(input),
        _ => {
            let number = input.unsigned(bytes_of(kind)?)?;
            Ok(is_unsigned(kind).then_some(Value::Number(number)))
        }
    }
}

fn read_array<R: Read>(input: &mut Bounded<R>) -> Result<Option<Value>, Fault> {
    let kind = input.u32()?;
    let length = input.u64()?;
    if is_unsigned(kind) && length <= HEADER_NUMBERS {
        let bytes = bytes_of(kind)?;
        let numbers: Result<_, _> = (0..length).map(|_| input.unsigned(bytes)).collect();
        return Ok(Some(Value::Numbers(numbers?)));
    }
    skip_items(input, kind, length, 1)?;
    Ok(None)
}

fn skip_value<R: Read>(input: &mut Bounded<R>, kind: u32, depth: u32) -> Result<(), Fault> {
    match kind {
        STRING => input.skip_string(),
        ARRAY if depth < HEADER_DEPTH => {
            let kind = input.u32()?;
            let length = input.u64()?;
            skip_items(input, kind, length, depth + 1)
        }
        ARRAY => Err(Fault::Malformed("its header has nested arrays")),
        _ => input.skip(bytes_of(kind)?),
    }
}

/// Every item has at least a byte, so the limit of the header bounds the loop.
fn skip_items<R: Read>(input: &mut Bounded<R>, kind: u32, length: u64, depth: u32) -> Result<(), Fault> {
    if kind == STRING || kind == ARRAY {
        for _ in 0..length {
            skip_value(input, kind, depth)?;
        }
        return Ok(());
    }
    let bytes = bytes_of(kind)?.checked_mul(length);
    input.skip(bytes.ok_or(Fault::Malformed("an array in its header has no end"))?)
}

fn bytes_of(kind: u32) -> Result<u64, Fault> {
    match kind {
        0 | 1 | 7 => Ok(1),
        2 | 3 => Ok(2),
        4..=6 => Ok(4),
        10..=12 => Ok(8),
        _ => Err(Fault::Malformed("its header has a type of value that does not exist")),
    }
}

/// Includes signed types: the values are never negative.
fn is_unsigned(kind: u32) -> bool {
    matches!(kind, 0..=5 | 10 | 11)
}

/// Maximum dimensions of a tensor, as in ggml.
const DIMENSIONS: u32 = 4;

pub(super) fn data_bytes<R: Read>(input: &mut Bounded<R>, tensors: u64) -> Result<u64, Fault> {
    const ENDLESS: Fault = Fault::Malformed("a tensor has no end");
    if tensors > TENSORS {
        return Err(Fault::Malformed("it has too many tensors"));
    }
    let mut end = 0;
    for _ in 0..tensors {
        input.skip_string()?;
        let dimensions = input.u32()?;
        if dimensions > DIMENSIONS {
            return Err(Fault::Malformed("a tensor has more than 4 dimensions"));
        }
        let mut values = 1_u64;
        for _ in 0..dimensions {
            values = values.checked_mul(input.u64()?).ok_or(ENDLESS)?;
        }
        let kind = input.u32()?;
        let offset = input.u64()?;
        let bytes = match block_size(kind) {
            Some((block_values, block_bytes)) => {
                values.div_ceil(block_values).checked_mul(block_bytes).ok_or(ENDLESS)?
            }
            // A type of a newer llama.cpp: its size is unknown, only its offset counts.
            None => 0,
        };
        end = end.max(offset.checked_add(bytes).ok_or(ENDLESS)?);
    }
    Ok(end)
}

/// Elements and bytes per block, by `ggml_type`; from the sizes asserted in ggml's `ggml-common.h`.
fn block_size(kind: u32) -> Option<(u64, u64)> {
    Some(match kind {
        0 | 26 => (1, 4),
        1 | 25 | 30 => (1, 2),
        2 | 20 => (32, 18),
        3 => (32, 20),
        6 => (32, 22),
        7 => (32, 24),
        8 => (32, 34),
        9 => (32, 36),
        10 => (256, 84),
        11 | 21 => (256, 110),
        12 => (256, 144),
        13 => (256, 176),
        14 => (256, 210),
        15 => (256, 292),
        16 | 35 => (256, 66),
        17 => (256, 74),
        18 => (256, 98),
        19 => (256, 50),
        22 => (256, 82),
        23 => (256, 136),
        24 => (1, 1),
        27 | 28 => (1, 8),
        29 => (256, 56),
        34 => (256, 54),
        39 => (32, 17),
        40 => (64, 36),
        41 => (128, 18),
        42 => (64, 18),
        _ => return None,
    })
}
