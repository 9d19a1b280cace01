//! Reads the passages of one session.

use crate::history::{Event, EventKind, History, Provider, TitleRank, TouchedFile, Transcript, index_words};
use openagents_core::{CancellationToken, budget::Budget, text::prefix};
use serde::{Deserialize, Serialize};
use std::{io, time::Duration};

/// Maximum bytes of text indexed per session.
pub(super) const TEXT: u64 = 256 << 10;
/// Maximum bytes of a passage; longer ones are dumps.
const PASSAGE: usize = 16 << 10;
/// Marks passages that continue past these bytes: a character that no word of a text contains.
pub(super) const CONTINUES: &str = "\u{f8ff}";
/// Bytes of a log read at once. Most logs are one part: each part starts by determining which lines count.
const PART: u64 = 4 << 20;
/// Number of newer sessions after which a session with new lines gets a new key: with more, a search finds those lines
/// too late.
const RECENT: i64 = 500;
/// Time limit per session.
const TIME: Duration = Duration::from_secs(60);

/// The state of a session when it was indexed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Indexed {
    pub(super) key: i64,
    pub(super) size: u64,
    pub(super) updated_at: i64,
    pub(super) upto: u64,
    pub(super) bytes: u64,
    pub(super) title: Option<String>,
}

/// A session whose current state is not indexed.
pub(super) struct Stale {
    pub(super) row: Transcript,
    pub(super) known: Option<Indexed>,
    /// Its new key, if it is read from the beginning.
    pub(super) key: i64,
}

/// The passages that were read from a session, or from its new lines.
pub(super) struct Passages {
    /// Their words.
    pub(super) passages: Vec<(u64, Kind, String)>,
    pub(super) texts: Vec<PassageText>,
    /// Numbers and offsets of lines, if the log is a file of lines.
    pub(super) offsets: Vec<(u64, u64)>,
    pub(super) goes_on: bool,
    pub(super) upto: u64,
    pub(super) bytes: u64,
    /// The rest is not indexed.
    pub(super) cut: bool,
}

/// Reads a session from the beginning, or from where indexing stopped; fails if its log cannot be read. Blocks.
pub(super) fn read_passages(
    history: &History,
    Stale { row, known, key }: &Stale,
    cancel: &CancellationToken,
) -> io::Result<Passages> {
    // A log that only grows is read from where indexing stopped, unless many sessions are newer than its passages.
    let budget = Budget::within(TIME, cancel);
    let before = known
        .as_ref()
        .filter(|it| appends(row.provider) && row.size >= it.upto && it.upto > 0 && key - it.key < RECENT)
        .filter(|it| !history.undoes_before(row, it.upto, &budget));
    let (upto, bytes) = before.map_or((0, 0), |known| (known.upto, known.bytes));
    let mut read = Passages {
        passages: Vec::new(),
        texts: Vec::new(),
        offsets: Vec::new(),
        goes_on: before.is_some(),
        upto,
        bytes,
        cut: false,
    };
    let budget = Budget::within(TIME, cancel);
    while read.bytes < TEXT {
        let part = history.indexed_part(row, read.upto, PART, &budget)?;
        // Lines that far into the log are not numbered.
        if part.events.iter().any(|event| event.line == 0) {
            read.cut = true;
            break;
        }
        let mut last = None;
        let mut stopped = None;
        let counted = |event: &&Event| !event.copied && !event.sidechain && !event.undone;
        for event in part.events.iter().filter(counted) {
            let Some(kind) = Kind::of_event(&event.kind) else { continue };
            // A line is indexed as a whole.
            if read.bytes >= TEXT && last != Some(event.line) {
                stopped = Some(event.line);
                break;
            }
            last = Some(event.line);
            let whole = event.readable_text();
            let text = prefix(&whole, PASSAGE);
            read.bytes += text.len() as u64;
            let mut words = index_words(text);
            if text.len() < whole.len() {
                words.push_str(CONTINUES);
                words.push(' ');
            }
            add(&mut read.passages, event.line, kind, words);
            read.texts.push(PassageText::new(event.line, kind, text, &event.files));
        }
        if let Some(line) = stopped {
            // The part that is searched in the log starts there, or with this part.
            let offset = part.offsets.iter().find(|(other, _)| *other == line).map(|(_, offset)| *offset);
            read.upto = offset.unwrap_or(part.from);
            read.offsets.extend(part.offsets.into_iter().filter(|(other, _)| *other < line));
            read.cut = true;
            break;
        }
        read.offsets.extend(part.offsets);
        let ended = part.to <= read.upto || part.to >= part.size;
        read.upto = part.to.max(read.upto);
        if ended || budget.spent() {
            read.cut = !ended;
            break;
        }
    }
    read.cut |= read.bytes >= TEXT;
    Ok(read)
}

/// Adds words to the passage of a line and a kind: a line is in the index once per kind.
fn add(passages: &mut Vec<(u64, Kind, String)>, line: u64, kind: Kind, words: String) {
    let of_line = passages.iter_mut().rev().take_while(|(other, ..)| *other == line);
    match of_line.into_iter().find(|(_, other, _)| *other == kind) {
        Some((.., text)) => text.push_str(&words),
        None => passages.push((line, kind, words)),
    }
}

/// Returns whether an agent only ever appends to a log. Other agents rewrite it, or parts of it.
pub(super) fn appends(provider: Provider) -> bool {
    matches!(
        provider,
        Provider::Codex
            | Provider::ClaudeCode
            | Provider::Copilot
            | Provider::Pi
            | Provider::OpenClaw
            | Provider::Droid
    )
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Title = 0,
    Prompt = 1,
    Answer = 2,
    Call = 3,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Title, Self::Prompt, Self::Answer, Self::Call];

    pub(super) fn stored(number: u8) -> Self {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number).unwrap_or(Self::Call)
    }

    /// Weight in the ranking: a title says best what a session is about.
    pub(super) fn weight(self) -> f64 {
        match self {
            Self::Title => 3.0,
            Self::Prompt => 2.0,
            Self::Answer => 1.0,
            Self::Call => 0.7,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Prompt => "prompt",
            Self::Answer => "answer",
            Self::Call => "call",
        }
    }

    pub(super) fn event(self) -> EventKind {
        match self {
            Self::Title => EventKind::Title(TitleRank::User),
            Self::Prompt => EventKind::Prompt,
            Self::Answer => EventKind::Assistant,
            Self::Call => EventKind::ToolCall { name: String::new() },
        }
    }

    pub(super) fn of_event(kind: &EventKind) -> Option<Self> {
        match kind {
            EventKind::Prompt => Some(Self::Prompt),
            EventKind::Assistant => Some(Self::Answer),
            EventKind::ToolCall { .. } => Some(Self::Call),
            _ => None,
        }
    }
}

/// Bits of the line: logs of more than four million lines are indexed up to there.
const LINE: u32 = 22;
const KIND: u32 = 2;

/// Returns the number of a passage; `None` for a line beyond what can be indexed. Newer sessions have larger keys, so
/// that the newest matches are found first.
pub(super) fn place_of(session: i64, line: u64, kind: Kind) -> Option<i64> {
    let line = i64::try_from(line).ok().filter(|line| *line < 1 << LINE)?;
    Some(first(session) | line << KIND | i64::from(kind as u8))
}

pub(super) fn parts(place: i64) -> (i64, u64, Kind) {
    let line = (place >> KIND) & ((1 << LINE) - 1);
    (place >> (LINE + KIND), line.unsigned_abs(), Kind::stored((place & ((1 << KIND) - 1)) as u8))
}

/// The first number that a passage of a session may have; those of the next session follow its last.
pub(super) fn first(session: i64) -> i64 {
    session << (LINE + KIND)
}

/// The text or the action in a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PassageText {
    pub(super) line: u64,
    pub(super) kind: Kind,
    pub(super) text: String,
    /// Files that it touched: their paths as logged, and whether each was changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) files: Vec<(String, bool)>,
}

impl PassageText {
    pub(super) fn new(line: u64, kind: Kind, text: &str, files: &[TouchedFile]) -> Self {
        let files = files.iter().map(|file| (file.path.clone(), file.edited)).collect();
        Self { line, kind, text: text.to_owned(), files }
    }

    pub(super) fn event(self) -> Event {
        Event::new(self.line, None, self.kind.event(), self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: only neighbours were joined, and the second answer of a line got the number of the first.
    #[test]
    fn line_has_one_passage_per_kind() {
        let mut passages = Vec::new();
        for (line, kind, words) in [
            (3, Kind::Answer, "before "),
            (4, Kind::Answer, "a "),
            (4, Kind::Call, "b "),
            (4, Kind::Answer, "c "),
        ] {
            add(&mut passages, line, kind, words.to_owned());
        }
        let expected = [(3, Kind::Answer, "before "), (4, Kind::Answer, "a c "), (4, Kind::Call, "b ")];
        assert_eq!(passages, expected.map(|(line, kind, words)| (line, kind, words.to_owned())));
    }

    #[test]
    fn place_round_trips() {
        for (session, line, kind) in
            [(1, 0, Kind::Title), (1, 1, Kind::Prompt), (70_000, (1 << LINE) - 1, Kind::Call)]
        {
            let place = place_of(session, line, kind).unwrap();
            assert_eq!(parts(place), (session, line, kind));
            assert!((first(session)..first(session + 1)).contains(&place));
        }
        assert_eq!(place_of(1, 1 << LINE, Kind::Answer), None);
    }
}
