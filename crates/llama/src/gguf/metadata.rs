//! The key-value pairs of a header: keeps the few that are needed and skips the rest.

use super::{bounded::Bounded, error::Fault};
use crate::limits::{HEADER_DEPTH, HEADER_KEY, HEADER_NUMBERS, HEADER_PAIRS, HEADER_TEXT};
use std::{collections::BTreeMap, io::Read};

/// Types of values, as specified.
const STRING: u32 = 8;
const ARRAY: u32 = 9;

#[derive(Debug)]
enum Value {
    Number(u64),
    Text(String),
    Numbers(Vec<u64>),
}

#[derive(Debug, Default)]
pub(super) struct Metadata {
    kept: BTreeMap<String, Value>,
}

impl Metadata {
    pub(super) fn read<R: Read>(input: &mut Bounded<R>) -> Result<Self, Fault> {
        let pairs = input.u64()?;
        if pairs > HEADER_PAIRS {
            return Err(Fault::Malformed("its header has too many entries"));
        }
        let mut metadata = Self::default();
        for _ in 0..pairs {
            let key = input.string(HEADER_KEY)?;
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

fn value<R: Read>(input: &mut Bounded<R>, kind: u32) -> Result<Option<Value>, Fault> {
    match kind {
        STRING => Ok(Some(Value::Text(input.string(HEADER_TEXT)?))),
        ARRAY => array(input),
        _ => {
            let number = input.unsigned(bytes_of(kind)?)?;
            Ok(is_unsigned(kind).then_some(Value::Number(number)))
        }
    }
}

fn array<R: Read>(input: &mut Bounded<R>) -> Result<Option<Value>, Fault> {
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

fn skip<R: Read>(input: &mut Bounded<R>, kind: u32, depth: u32) -> Result<(), Fault> {
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
