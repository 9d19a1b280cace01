//! The vocabulary of gpt-oss, o200k_harmony, in the form that a GGUF file needs.

use anyhow::{Context, Result, ensure};
use std::collections::HashMap;
use tiktoken_rs::{CoreBPE, Rank};

/// Number of tokens, including special and reserved ones.
pub(super) const TOKENS: u32 = 201_088;

/// Number of text tokens; the special ones follow.
const TEXT_TOKENS: u32 = 199_998;

/// GGUF's types for text tokens and for control tokens.
const NORMAL: i32 = 1;
const CONTROL: i32 = 3;

pub(super) struct Vocabulary {
    bpe: &'static CoreBPE,
    /// The bytes of every text token, by id.
    pieces: Vec<Vec<u8>>,
}

impl Vocabulary {
    pub(super) fn new() -> Result<Self> {
        let bpe = tiktoken_rs::o200k_harmony_singleton();
        let pieces = (0..TEXT_TOKENS).map(|id| bpe.decode_bytes(&[id])).collect::<Result<_, _>>();
        Ok(Self { bpe, pieces: pieces.context("the vocabulary has a gap")? })
    }

    /// Tokenizes text in which `<|markers|>` are special tokens.
    pub(super) fn encode(&self, text: &str) -> Vec<Rank> {
        self.bpe.encode_with_special_tokens(text)
    }

    /// Returns the single token for this text.
    pub(super) fn token(&self, text: &str) -> Result<Rank> {
        let tokens = self.encode(text);
        ensure!(tokens.len() == 1, "{text:?} is {} tokens and has to be one", tokens.len());
        Ok(tokens[0])
    }

    /// Returns the text of a token, for messages.
    pub(super) fn show(&self, token: Rank) -> String {
        String::from_utf8_lossy(&self.bpe.decode_bytes(&[token]).unwrap_or_default()).into_owned()
    }

    /// Returns every token in GGUF's letters, by id.
    pub(super) fn letters(&self) -> Result<Vec<String>> {
        let alphabet = alphabet();
        let text = self.pieces.iter().map(|piece| Ok(spell(&alphabet, piece)));
        let special = (TEXT_TOKENS..TOKENS).map(|id| Ok(String::from_utf8(self.bpe.decode_bytes(&[id])?)?));
        text.chain(special).collect()
    }

    /// Returns the type of every token, by id.
    pub(super) fn kinds() -> Vec<i32> {
        (0..TOKENS).map(|id| if id < TEXT_TOKENS { NORMAL } else { CONTROL }).collect()
    }

    /// Returns, for every token of two bytes or more, the two tokens whose merge produces it.
    pub(super) fn merges(&self) -> Result<Vec<String>> {
        let alphabet = alphabet();
        let ranks: HashMap<&[u8], u32> =
            (0..).zip(&self.pieces).map(|(id, piece)| (&piece[..], id)).collect();
        let mut merges = Vec::with_capacity(self.pieces.len());
        for (id, piece) in (0..).zip(&self.pieces).filter(|(_, piece)| piece.len() > 1) {
            let cut = last_merge(piece, id, &ranks)
                .with_context(|| format!("token {id} is no merge of two others"))?;
            merges.push(format!("{} {}", spell(&alphabet, &piece[..cut]), spell(&alphabet, &piece[cut..])));
        }
        Ok(merges)
    }
}

/// Merges the bytes of a token with the merges of lower rank until two pieces are left; returns where the second one
/// begins.
fn last_merge(piece: &[u8], id: u32, ranks: &HashMap<&[u8], u32>) -> Option<usize> {
    let rank = |bytes: &[u8]| ranks.get(bytes).copied().filter(|rank| *rank < id).unwrap_or(u32::MAX);
    let mut cuts: Vec<usize> = (0..=piece.len()).collect();
    // The rank of merging the pieces to the left and right of `cuts[i + 1]`.
    let mut merged: Vec<u32> = cuts.windows(3).map(|cut| rank(&piece[cut[0]..cut[2]])).collect();
    while cuts.len() > 3 {
        let (at, best) = merged.iter().copied().enumerate().min_by_key(|(_, rank)| *rank)?;
        if best == u32::MAX {
            return None;
        }
        cuts.remove(at + 1);
        merged.remove(at);
        if at > 0 {
            merged[at - 1] = rank(&piece[cuts[at - 1]..cuts[at + 1]]);
        }
        if at < merged.len() {
            merged[at] = rank(&piece[cuts[at]..cuts[at + 2]]);
        }
    }
    cuts.get(1).copied()
}

/// Returns GPT-2's letters for bytes: visible characters map to themselves, the others to U+0100 and up.
fn alphabet() -> Vec<char> {
    let mut others = '\u{100}'..;
    let letter = |byte: u8| match byte {
        b'!'..=b'~' | 0xa1..=0xac | 0xae.. => char::from(byte),
        _ => others.next().unwrap_or_default(),
    };
    (0..=255).map(letter).collect()
}

fn spell(alphabet: &[char], bytes: &[u8]) -> String {
    bytes.iter().map(|byte| alphabet[usize::from(*byte)]).collect()
}
