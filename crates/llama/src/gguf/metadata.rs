//! The key-value pairs of a header: keeps the few that are needed and skips the rest.

use super::{Bounded, Fault, Header};
use std::{collections::BTreeMap, io::Read};

/// Maximum number of pairs; models have about 40.
const PAIRS: u64 = 65_536;
/// Maximum bytes of a key, as specified.
const KEY_BYTES: u64 = 65_535;
/// Maximum bytes of a text that is kept, mainly chat templates.
const TEXT_BYTES: u64 = 1 << 20;
/// Maximum numbers of an array that is kept: one per layer.
const NUMBERS: u64 = 4_096;
/// Maximum nesting of arrays.
const DEPTH: u32 = 4;

const STRING: u32 = 8;
const ARRAY: u32 = 9;

const TOKENS: &str = "tokenizer.ggml.tokens";

#[derive(Debug)]
enum Value {
    Number(u64),
    Text(String),
    Numbers(Vec<u64>),
    /// The length of a skipped array.
    Length(u64),
}

#[derive(Debug, Default)]
pub(super) struct Metadata {
    kept: BTreeMap<String, Value>,
}

impl Metadata {
    pub(super) fn read<R: Read>(input: &mut Bounded<R>) -> Result<Self, Fault> {
        let pairs = input.u64()?;
        if pairs > PAIRS {
            return Err(Fault::Malformed("its header has too many entries"));
        }
        let mut metadata = Self::default();
        for _ in 0..pairs {
            let key = input.string(KEY_BYTES)?;
            let kind = input.u32()?;
            if !is_needed(&key) {
                skip(input, kind, 0)?;
            } else if let Some(value) = value(input, kind)? {
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

    pub(super) fn header(&self, file_bytes: u64) -> Result<Header, Fault> {
        match self.text("general.type") {
            Some("adapter") => return Err(Fault::NoModel("an adapter for another model")),
            Some("mmproj") => return Err(Fault::NoModel("the part of a model that sees pictures")),
            _ => {}
        }
        if self.number("split.count").is_some_and(|parts| parts > 1) {
            return Err(Fault::NoModel("one part of a model that was split"));
        }
        let architecture = self.text("general.architecture").filter(|name| !name.is_empty());
        let architecture = architecture.ok_or(Fault::Malformed("its header names no architecture"))?;
        let own = |key: &str| self.number(&format!("{architecture}.{key}"));
        let layers = own("block_count").unwrap_or_default();
        Ok(Header {
            architecture: architecture.to_owned(),
            name: self.text("general.name").filter(|name| !name.trim().is_empty()).map(str::to_owned),
            quantisation: self.number("general.file_type").and_then(quantisation),
            chat_template: self.text("tokenizer.chat_template").map(str::to_owned),
            context_length: own("context_length"),
            layers,
            cached_values: self.cached_values(architecture, layers),
            sliding_window: own("attention.sliding_window"),
            vocabulary: match self.kept.get(TOKENS) {
                Some(Value::Length(length)) => Some(*length),
                _ => own("vocab_size"),
            },
            file_bytes,
        })
    }

    /// As in llama.cpp: KV heads × (key size + value size), summed over all layers; missing sizes are the embedding
    /// divided by the heads.
    fn cached_values(&self, architecture: &str, layers: u64) -> u64 {
        let own = |key: &str| format!("{architecture}.{key}");
        let heads = self.per_layer(&own("attention.head_count"), layers).unwrap_or_default();
        let most_heads = heads.iter().copied().max().unwrap_or_default();
        let share = self.number(&own("embedding_length")).unwrap_or_default().checked_div(most_heads);
        let size = |key: &str| self.number(&own(key)).or(share).unwrap_or_default();
        let both = size("attention.key_length").saturating_add(size("attention.value_length"));
        let cached = self.per_layer(&own("attention.head_count_kv"), layers).unwrap_or(heads);
        cached.iter().fold(0_u64, |sum, heads| sum.saturating_add(heads.saturating_mul(both)))
    }

    /// A number per layer, from a scalar or an array.
    fn per_layer(&self, key: &str, layers: u64) -> Option<Vec<u64>> {
        match self.kept.get(key)? {
            Value::Number(number) => Some(vec![*number; usize::try_from(layers.min(NUMBERS)).ok()?]),
            Value::Numbers(numbers) => Some(numbers.clone()),
            Value::Text(_) | Value::Length(_) => None,
        }
    }

    fn number(&self, key: &str) -> Option<u64> {
        match self.kept.get(key)? {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    fn text(&self, key: &str) -> Option<&str> {
        match self.kept.get(key)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Keys of the architecture begin with its name, which may come later in the file.
fn is_needed(key: &str) -> bool {
    const WHOLE: [&str; 8] = [
        "general.alignment",
        "general.architecture",
        "general.file_type",
        "general.name",
        "general.type",
        "split.count",
        "tokenizer.chat_template",
        TOKENS,
    ];
    const ENDS: [&str; 9] = [
        ".block_count",
        ".context_length",
        ".embedding_length",
        ".vocab_size",
        ".attention.head_count",
        ".attention.head_count_kv",
        ".attention.key_length",
        ".attention.value_length",
        ".attention.sliding_window",
    ];
    key.len() <= 128 && (WHOLE.contains(&key) || ENDS.iter().any(|end| key.ends_with(end)))
}

fn value<R: Read>(input: &mut Bounded<R>, kind: u32) -> Result<Option<Value>, Fault> {
    match kind {
        STRING => Ok(Some(Value::Text(input.string(TEXT_BYTES)?))),
        ARRAY => array(input).map(Some),
        _ => {
            let number = input.unsigned(bytes_of(kind)?)?;
            Ok(is_unsigned(kind).then_some(Value::Number(number)))
        }
    }
}

fn array<R: Read>(input: &mut Bounded<R>) -> Result<Value, Fault> {
    let kind = input.u32()?;
    let length = input.u64()?;
    if is_unsigned(kind) && length <= NUMBERS {
        let bytes = bytes_of(kind)?;
        let numbers: Result<_, _> = (0..length).map(|_| input.unsigned(bytes)).collect();
        return Ok(Value::Numbers(numbers?));
    }
    skip_items(input, kind, length, 1)?;
    Ok(Value::Length(length))
}

fn skip<R: Read>(input: &mut Bounded<R>, kind: u32, depth: u32) -> Result<(), Fault> {
    match kind {
        STRING => input.skip_string(),
        ARRAY if depth < DEPTH => {
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
            skip(input, kind, depth)?;
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

/// Names of `llama_ftype` in llama.cpp's `llama.h`.
fn quantisation(file_type: u64) -> Option<&'static str> {
    Some(match file_type {
        0 => "F32",
        1 => "F16",
        2 => "Q4_0",
        3 => "Q4_1",
        7 => "Q8_0",
        8 => "Q5_0",
        9 => "Q5_1",
        10 => "Q2_K",
        11 => "Q3_K_S",
        12 => "Q3_K_M",
        13 => "Q3_K_L",
        14 => "Q4_K_S",
        15 => "Q4_K_M",
        16 => "Q5_K_S",
        17 => "Q5_K_M",
        18 => "Q6_K",
        19 => "IQ2_XXS",
        20 => "IQ2_XS",
        21 => "Q2_K_S",
        22 => "IQ3_XS",
        23 => "IQ3_XXS",
        24 => "IQ1_S",
        25 => "IQ4_NL",
        26 => "IQ3_S",
        27 => "IQ3_M",
        28 => "IQ2_S",
        29 => "IQ2_M",
        30 => "IQ4_XS",
        31 => "IQ1_M",
        32 => "BF16",
        36 => "TQ1_0",
        37 => "TQ2_0",
        38 => "MXFP4",
        39 => "NVFP4",
        40 => "Q1_0",
        41 => "Q2_0",
        _ => return None,
    })
}
