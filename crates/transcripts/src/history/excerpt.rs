//! The lines around a match, as the user would read them.

use super::{
    event::{Event, EventKind},
    json::is_blob,
    pattern::Pattern,
    query::{SearchMatch, SearchQuery},
    transcript::Transcript,
};

#[derive(Clone, Copy)]
pub(super) struct Position {
    event: usize,
    /// Byte offset of the matching line in the event's text.
    start: usize,
    /// Byte offset of the match in that line; `None` if the tool's name matched.
    at: Option<usize>,
}

impl Position {
    /// Returns the position of a byte offset in an event's text.
    pub(super) fn at(event: usize, text: &str, at: usize) -> Self {
        let start = text[..at].rfind('\n').map_or(0, |before| before + 1);
        Self { event, start, at: Some(at - start) }
    }

    /// Returns the beginning of the first event with a text.
    pub(super) fn begin(events: &[Event]) -> Option<Self> {
        let event = events.iter().position(|event| !event.text.trim().is_empty())?;
        Some(Self { event, start: 0, at: Some(0) })
    }
}

pub(super) fn place(events: &[Event], pattern: &Pattern) -> Option<Position> {
    events.iter().enumerate().find_map(|(event, said)| {
        let mut start = 0;
        for line in said.text.split('\n') {
            if let Some(at) = pattern.find(line)
                && !is_blob(line)
            {
                return Some(Position { event, start, at: Some(at) });
            }
            start += line.len() + 1;
        }
        let named = matches!(&said.kind, EventKind::ToolCall { name } if pattern.find(name).is_some());
        named.then_some(Position { event, start: 0, at: None })
    })
}

/// Returns a match in line `line_number` with its context inside the same line of the log.
pub(super) fn excerpt(
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
        None => (said(event).next().unwrap_or_default(), 0),
    };
    let mut hit = SearchMatch {
        session_id: transcript.id.clone(),
        provider: transcript.provider,
        line_number,
        line: shortened(&line, at, query.line_chars),
        before: vec![],
        after: vec![],
    };
    let earlier = events[..place.event].iter().flat_map(said).chain(lines_of(&text[..place.start]));
    fill_before(&mut hit, earlier, query);
    let rest = lines_of(text.get(end + 1..).unwrap_or_default());
    fill_after(&mut hit, rest.chain(events[place.event + 1..].iter().flat_map(said)), query);
    hit
}

/// Returns an event's text by line, with its tool's name first; titles are not included.
pub(super) fn said(event: &Event) -> impl Iterator<Item = String> + '_ {
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
pub(super) fn fill_before(hit: &mut SearchMatch, lines: impl Iterator<Item = String>, query: &SearchQuery) {
    let mut lines: Vec<String> = lines.collect();
    let room = query.context - hit.before.len();
    lines.drain(..lines.len().saturating_sub(room));
    lines.iter_mut().for_each(|line| *line = shortened(line, 0, query.line_chars));
    lines.append(&mut hit.before);
    hit.before = lines;
}

/// Appends the first of the `lines` to the context of a match that has too little.
pub(super) fn fill_after(hit: &mut SearchMatch, lines: impl Iterator<Item = String>, query: &SearchQuery) {
    let room = query.context - hit.after.len();
    hit.after.extend(lines.take(room).map(|line| shortened(&line, 0, query.line_chars)));
}

/// Truncates a line to `chars` characters that include the one at byte `at`.
pub(super) fn shortened(line: &str, at: usize, chars: usize) -> String {
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
    fn keeps_the_match_in_sight() {
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
