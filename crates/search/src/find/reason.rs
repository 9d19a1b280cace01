//! Writes the reason for a finding.

use super::{
    matcher::Fit,
    query::{FindQuery, Origin},
    score::{RankedChunk, RankedFile},
};

/// Maximum number of names quoted in a reason.
const NAMES: usize = 4;

/// Longest quoted name in bytes; longer runs are data.
const NAME: usize = 48;

/// Returns one line: the matched names, the words of the question that they match, and the definition.
pub(super) fn why(file: &RankedFile, chunk: &RankedChunk, query: &FindQuery) -> String {
    let mut names: Vec<(String, Option<&str>)> = Vec::new();
    for at in &chunk.matched {
        let alternative = &query.alternatives[*at as usize];
        let hits = chunk.hits.iter().filter(|hit| hit.alternative == *at && hit.fit != Fit::Inside);
        let Some(name) = hits.map(|hit| name_at(&file.text, hit.at)).find(|name| name.len() <= NAME) else {
            continue;
        };
        if name.is_empty() || names.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            continue;
        }
        let asked = &query.concepts[alternative.concept].word;
        // A name that contains the word needs no explanation.
        let is_plain = alternative.origin == Origin::Phrase
            || name.to_lowercase().contains(&alternative.stem) && asked.starts_with(&alternative.stem);
        names.push((name.to_owned(), (!is_plain).then_some(asked.as_str())));
        if names.len() == NAMES {
            break;
        }
    }
    let named = |(name, asked): &(String, Option<&str>)| match asked {
        Some(asked) if !name.to_lowercase().contains(&asked.to_lowercase()) => {
            format!("`{name}` for “{asked}”")
        }
        _ => format!("`{name}`"),
    };
    let mut parts = Vec::new();
    if chunk.is_named && !chunk.symbol.is_empty() {
        parts.push(format!("defines `{}`", chunk.symbol));
    }
    let defined = |name: &&(String, Option<&str>)| !(chunk.is_named && name.0 == chunk.symbol);
    let names: Vec<String> = names.iter().filter(defined).map(named).collect();
    if !names.is_empty() {
        parts.push(format!("has {}", names.join(", ")));
    }
    if parts.is_empty() {
        parts.push("its path matches".to_owned());
    }
    parts.join("; ")
}

/// Returns the identifier around a byte offset.
fn name_at(text: &[u8], at: usize) -> &str {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    let start = text[..at].iter().rposition(|byte| !is_part(byte)).map_or(0, |before| before + 1);
    let end = text[at..].iter().position(|byte| !is_part(byte)).map_or(text.len(), |after| at + after);
    std::str::from_utf8(&text[start..end]).unwrap_or_default()
}
