//! The target of a search: a regular expression, or text as it was typed.

use super::{
    index_words::{QueryWord, query_words},
    query::{Pattern, PatternKind, SearchMatch, SearchQuery},
    typed::{SearchText, TextFit},
    word_index::is_words,
};
use crate::history::{
    log::{
        event::{Event, EventKind},
        json::is_blob,
    },
    transcript::Transcript,
};
use std::borrow::Cow;

#[derive(Debug)]
pub(crate) enum SearchTarget {
    Expression {
        whole: Pattern,
        /// Any of its words. A line that the index lists contains them in any order, and not necessarily the whole.
        word: Option<Pattern>,
        /// The words to look up in an index; empty if only the logs can be searched.
        words: Vec<QueryWord>,
    },
    Typed {
        text: SearchText,
        whole_logs: bool,
    },
}

impl SearchTarget {
    pub(crate) fn new(query: &SearchQuery) -> Result<Self, String> {
        let pattern = &query.pattern;
        if query.kind == PatternKind::Typed {
            let read = if query.whole_logs { SearchText::within_words } else { SearchText::new };
            let text = read(pattern);
            let text = text.ok_or_else(|| "the text is empty".to_owned())?;
            return Ok(Self::Typed { text, whole_logs: query.whole_logs });
        }
        let words = if is_words(pattern) { query_words(pattern) } else { Vec::new() };
        let forms: Vec<String> =
            words.iter().flat_map(|word| &word.forms).flatten().map(|word| regex::escape(word)).collect();
        let word = if forms.is_empty() { None } else { Pattern::new(&forms.join("|")).ok() };
        let words = if query.whole_logs { Vec::new() } else { words };
        Ok(Self::Expression { whole: Pattern::new(pattern)?, word, words })
    }

    /// Returns the words to look up in an index; empty if it cannot answer.
    pub(crate) fn words(&self) -> &[QueryWord] {
        match self {
            Self::Expression { words, .. } => words,
            Self::Typed { whole_logs: true, .. } => &[],
            Self::Typed { text, .. } => text.words(),
        }
    }

    /// Returns the words of the best matches, if an index finds these faster than all matches.
    pub(crate) fn exact_words(&self) -> Option<&[QueryWord]> {
        match self {
            Self::Typed { text, whole_logs: false } => text.exact_words(),
            _ => None,
        }
    }

    /// Returns whether every line that an index lists matches.
    pub(crate) fn is_answered_by_index(&self) -> bool {
        match self {
            Self::Expression { .. } => true,
            Self::Typed { text, .. } => text.is_sure(),
        }
    }

    pub(crate) fn typed(&self) -> Option<&SearchText> {
        match self {
            Self::Expression { .. } => None,
            Self::Typed { text, .. } => Some(text),
        }
    }

    pub(crate) fn may_match(&self, line: &[u8]) -> bool {
        match self {
            Self::Expression { whole, .. } => whole.may_match(line),
            Self::Typed { text, .. } => text.may_match(line),
        }
    }

    /// Returns the events of a line that are searched, with their texts as they are searched.
    pub(crate) fn searched(&self, events: Vec<Event>, transcript: &Transcript) -> Vec<Event> {
        let Self::Typed { whole_logs, .. } = self else { return events };
        // Exactly what the index contains, so that an answer does not depend on whether there is one.
        let is_indexed = |event: &Event| {
            event.kind.is_indexed() && !event.copied && (transcript.subagent || !event.sidechain)
        };
        let events = events.into_iter().filter(|event| *whole_logs || is_indexed(event));
        let searched = events.map(|mut event| {
            if let Cow::Owned(text) = event.readable_text() {
                event.text = text;
            }
            if let EventKind::ToolCall { name } = &event.kind
                && *whole_logs
            {
                event.text = format!("{name}: {}", event.text);
            }
            event
        });
        searched.collect()
    }

    /// Returns the best match in the events of a line that was found by reading its log.
    pub(crate) fn place(&self, events: &[Event]) -> Option<(Position, TextFit)> {
        match self {
            Self::Expression { whole, .. } => place(events, whole).map(|place| (place, TextFit::Exact)),
            Self::Typed { text, .. } => {
                let (event, at, fit) = text.find(events)?;
                Some((Position::at(event, &events[event].text, at), fit))
            }
        }
    }

    /// Returns the best match in the events of a line that the index lists.
    pub(crate) fn place_of_indexed(&self, events: &[Event]) -> Option<(Position, TextFit)> {
        let Self::Expression { whole, word, .. } = self else { return self.place(events) };
        let found = place(events, whole)
            .or_else(|| place(events, word.as_ref()?))
            // The words of an index are folded.
            .or_else(|| Position::begin(events));
        Some((found?, TextFit::Exact))
    }

    /// Returns how well a title matches. Titles are those that the list shows, not those in an index.
    pub(crate) fn fit_of_title(&self, transcript: &Transcript) -> Option<TextFit> {
        self.typed()?.fit(transcript.title.as_deref()?)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Position {
    event: usize,
    /// Byte offset of the matching line in the event's text.
    start: usize,
    at: Option<usize>,
}

impl Position {
    /// Returns the position of a byte offset in an event's text.
    pub(crate) fn at(event: usize, text: &str, at: usize) -> Self {
        let start = text[..at].rfind('\n').map_or(0, |before| before + 1);
        Self { event, start, at: Some(at - start) }
    }

    /// Returns the beginning of the first event with a text.
    pub(crate) fn begin(events: &[Event]) -> Option<Self> {
        let event = events.iter().position(|event| !event.text.trim().is_empty())?;
        Some(Self { event, start: 0, at: Some(0) })
    }
}

pub(crate) fn place(events: &[Event], pattern: &Pattern) -> Option<Position> {
    events.iter().enumerate().find_map(|(event, reply)| {
        let mut start = 0;
        for line in reply.text.split('\n') {
            if let Some(at) = pattern.find(line)
                && !is_blob(line)
            {
                return Some(Position { event, start, at: Some(at) });
            }
            start += line.len() + 1;
        }
        let named = matches!(&reply.kind, EventKind::ToolCall { name } if pattern.find(name).is_some());
        named.then_some(Position { event, start: 0, at: None })
    })
}

/// Returns a match in line `line_number` with its context inside the same line of the log.
pub(crate) fn excerpt(
    events: &[Event],
    place: Position,
    query: &SearchQuery,
    transcript: &Transcript,
    line_number: u64,
) -> SearchMatch {
    let event = &events[place.event];
    let text = &event.text;
    let end = text[place.start..].find('\n').map_or(text.len(), |end| place.start + end);
    let (line, at) = match place.at {
        Some(at) => (text[place.start..end].to_owned(), at),
        None => (shown_lines(event).next().unwrap_or_default(), 0),
    };
    let mut hit = SearchMatch {
        session_id: transcript.id.clone(),
        provider: transcript.provider,
        line_number,
        line: shortened(&line, at, query.line_chars),
        before: vec![],
        after: vec![],
    };
    let earlier = events[..place.event].iter().flat_map(shown_lines).chain(lines_of(&text[..place.start]));
    fill_before(&mut hit, earlier, query);
    let rest = lines_of(text.get(end + 1..).unwrap_or_default());
    fill_after(&mut hit, rest.chain(events[place.event + 1..].iter().flat_map(shown_lines)), query);
    hit
}

/// Returns an event's text by line, with its tool's name first; titles are not included.
pub(crate) fn shown_lines(event: &Event) -> impl Iterator<Item = String> + '_ {
    let text = if matches!(event.kind, EventKind::Title(_)) { "" } else { event.text.as_str() };
    let mut lines = lines_of(text);
    let head = match &event.kind {
        EventKind::ToolCall { name } => Some(match lines.next() {
            Some(first) => format!("{name}: {first}"),
            None => name.clone(),
        }),
        _ => None,
    };
    head.into_iter().chain(lines)
}

fn lines_of(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines().filter(|line| !line.trim().is_empty() && !is_blob(line)).map(str::to_owned)
}

/// Prepends the last of the `lines` to the context of a match that has too little.
pub(crate) fn fill_before(hit: &mut SearchMatch, lines: impl Iterator<Item = String>, query: &SearchQuery) {
    let mut lines: Vec<String> = lines.collect();
    let room = query.context - hit.before.len();
    lines.drain(..lines.len().saturating_sub(room));
    lines.iter_mut().for_each(|line| *line = shortened(line, 0, query.line_chars));
    lines.append(&mut hit.before);
    hit.before = lines;
}

/// Appends the first of the `lines` to the context of a match that has too little.
pub(crate) fn fill_after(hit: &mut SearchMatch, lines: impl Iterator<Item = String>, query: &SearchQuery) {
    let room = query.context - hit.after.len();
    hit.after.extend(lines.take(room).map(|line| shortened(&line, 0, query.line_chars)));
}

/// Truncates a line to `chars` characters that include the one at byte `at`.
pub(crate) fn shortened(line: &str, at: usize, chars: usize) -> String {
    if line.len() <= chars || line.chars().count() <= chars {
        return line.trim().to_owned();
    }
    let before = line[..at].chars().count();
    let skip = if before < chars * 3 / 4 { 0 } else { before - chars / 4 };
    let mut text: String = line.chars().skip(skip).take(chars).collect();
    if skip > 0 {
        text.insert(0, '…');
    }
    if line.chars().count() > skip + chars {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn shortened_keeps_match_visible() {
        let rows = [
            ("short", 0, 10, "short"),
            ("0123456789abc", 0, 10, "0123456789…"),
            ("0123456789abcdefghij", 18, 8, "…ghij"),
            ("ééééééééééxéééééééééé", 20, 4, "…éxéé…"),
        ];
        for (line, at, chars, expected) in rows {
            assert_eq!(shortened(line, at, chars), expected);
        }
    }
}
