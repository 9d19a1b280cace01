//! The target of a search: a regular expression, or text as it was typed.

use super::{
    event::{Event, EventKind},
    excerpt::{Position, place},
    indexed::{QueryWord, query_words},
    pattern::Pattern,
    query::{PatternKind, SearchQuery},
    transcript::Transcript,
    typed::{SearchText, TextFit},
    word_index::is_words,
};
use std::borrow::Cow;

pub(super) enum Wanted {
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

impl Wanted {
    /// Parses a query; the error is one sentence.
    pub(super) fn new(query: &SearchQuery) -> Result<Self, String> {
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
    pub(super) fn words(&self) -> &[QueryWord] {
        match self {
            Self::Expression { words, .. } => words,
            Self::Typed { whole_logs: true, .. } => &[],
            Self::Typed { text, .. } => text.words(),
        }
    }

    /// Returns the words of the best matches, if an index finds these faster than all matches.
    pub(super) fn exact_words(&self) -> Option<&[QueryWord]> {
        match self {
            Self::Typed { text, whole_logs: false } => text.exact_words(),
            _ => None,
        }
    }

    /// Returns whether every line that an index lists matches.
    pub(super) fn is_answered_by_index(&self) -> bool {
        match self {
            Self::Expression { .. } => true,
            Self::Typed { text, .. } => text.is_sure(),
        }
    }

    pub(super) fn typed(&self) -> Option<&SearchText> {
        match self {
            Self::Expression { .. } => None,
            Self::Typed { text, .. } => Some(text),
        }
    }

    /// Returns false only if no text in this line of a log can match.
    pub(super) fn may_match(&self, line: &[u8]) -> bool {
        match self {
            Self::Expression { whole, .. } => whole.may_match(line),
            Self::Typed { text, .. } => text.may_match(line),
        }
    }

    /// Returns the events of a line that are searched, with their texts as they are searched.
    pub(super) fn searched(&self, events: Vec<Event>, transcript: &Transcript) -> Vec<Event> {
        let Self::Typed { whole_logs, .. } = self else { return events };
        // Exactly what the index contains, so that an answer does not depend on whether there is one.
        let is_indexed = |event: &Event| {
            event.kind.is_indexed() && !event.copied && (transcript.subagent || !event.sidechain)
        };
        let events = events.into_iter().filter(|event| *whole_logs || is_indexed(event));
        let said = events.map(|mut event| {
            if let Cow::Owned(said) = event.said() {
                event.text = said;
            }
            if let EventKind::ToolCall { name } = &event.kind
                && *whole_logs
            {
                event.text = format!("{name}: {}", event.text);
            }
            event
        });
        said.collect()
    }

    /// Returns the best match in the events of a line that was found by reading its log.
    pub(super) fn place(&self, events: &[Event]) -> Option<(Position, TextFit)> {
        match self {
            Self::Expression { whole, .. } => place(events, whole).map(|place| (place, TextFit::Exact)),
            Self::Typed { text, .. } => {
                let (event, at, fit) = text.find(events)?;
                Some((Position::at(event, &events[event].text, at), fit))
            }
        }
    }

    /// Returns the best match in the events of a line that the index lists.
    pub(super) fn place_of_indexed(&self, events: &[Event]) -> Option<(Position, TextFit)> {
        let Self::Expression { whole, word, .. } = self else { return self.place(events) };
        let found = place(events, whole)
            .or_else(|| place(events, word.as_ref()?))
            // The words of an index are folded.
            .or_else(|| Position::begin(events));
        Some((found?, TextFit::Exact))
    }

    /// Returns how well a title matches. Titles are those that the list shows, not those in an index.
    pub(super) fn fit_of_title(&self, transcript: &Transcript) -> Option<TextFit> {
        self.typed()?.fit(transcript.title.as_deref()?)
    }
}
