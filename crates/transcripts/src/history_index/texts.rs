//! Where the texts of passages are stored, for the snippets of results. For line-based logs, the line's byte offset.
//! Another file would have to be read as a whole for one line, and a page of results has dozens: its texts are stored,
//! compressed.

use super::passages::{self, Kind, PassageText, Passages};
use crate::history::{Event, History, SearchText, TextFit, Transcript};
use openagents_core::{budget::Budget, text};
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

/// Bytes of text in a stored block: finding a line takes longer in larger blocks, and smaller ones compress worse.
const BLOCK: usize = 8 << 10;
/// The same for a block in the log, where the tool output between the lines is read too: usually eight times as much.
const LOGGED: usize = 1 << 10;
/// Compression level of zstd: the default.
const LEVEL: i32 = 3;
/// Maximum bytes of a decompressed block: the file may be damaged.
const LARGEST: usize = 1 << 20;
const SNIPPET: usize = 160;

#[derive(Debug, PartialEq)]
pub(super) enum Text {
    Kept(Vec<PassageText>),
    /// In the log: that line or an earlier one, and its byte offset.
    Logged(u64, u64),
}

impl Text {
    /// Returns the passages in a line of a session; none if its log has changed, or the budget is spent.
    pub(super) fn passages(
        self,
        history: &History,
        session: &Transcript,
        line: u64,
        budget: &Budget,
    ) -> Vec<PassageText> {
        let (first, offset) = match self {
            Self::Kept(passages) => return passages,
            Self::Logged(..) if budget.spent() => return Vec::new(),
            Self::Logged(first, offset) => (first, offset),
        };
        let events = history.line_events(session, (first, offset), line, budget);
        let passages = events.unwrap_or_default().into_iter().filter_map(|event| {
            Some(PassageText::new(
                event.line,
                Kind::of_event(&event.kind)?,
                &event.readable_text(),
                &event.files,
            ))
        });
        passages.collect()
    }
}

/// Stores the locations of the texts in `read`, for a session.
pub(super) fn store(transaction: &Transaction<'_>, session: i64, read: &Passages) -> rusqlite::Result<()> {
    // A decoder may return to an earlier line; then the later block counts.
    let mut insert = transaction
        .prepare_cached("INSERT OR REPLACE INTO texts (place, offset, lines) VALUES (?1, ?2, ?3)")?;
    let mut rest = read.texts.as_slice();
    while let Some(first) = rest.first() {
        let begins = read.offsets.binary_search_by_key(&first.line, |(line, _)| *line);
        let offset = begins.ok().and_then(|at| read.offsets.get(at)).map(|(_, offset)| *offset);
        let (mut size, most) = (0, if offset.is_some() { LOGGED } else { BLOCK });
        // Whole lines.
        let lines = rest.chunk_by(|a, b| a.line == b.line).take_while(|line| {
            let fits = size < most;
            size += line.iter().map(|passage| passage.text.len()).sum::<usize>();
            fits
        });
        let (block, after) = rest.split_at(lines.map(<[PassageText]>::len).sum());
        rest = after;
        let Some(place) = passages::place_of(session, first.line, Kind::Title) else { break };
        let lines = if offset.is_some() { None } else { packed(block) };
        insert.execute(params![place, offset, lines])?;
    }
    Ok(())
}

pub(super) fn find(reader: &Connection, session: i64, line: u64) -> rusqlite::Result<Option<Text>> {
    let Some(place) = passages::place_of(session, line, Kind::Title) else { return Ok(None) };
    let mut block = reader.prepare_cached(
        "SELECT place, offset, lines FROM texts WHERE place BETWEEN ?1 AND ?2 ORDER BY place DESC LIMIT 1",
    )?;
    let text = |row: &rusqlite::Row<'_>| {
        let (_, first, _) = passages::parts(row.get(0)?);
        Ok(match row.get(1)? {
            Some(offset) => Text::Logged(first, offset),
            None => {
                let passages =
                    row.get::<_, Option<Vec<u8>>>(2)?.map(|block| unpacked(&block)).unwrap_or_default();
                Text::Kept(passages.into_iter().filter(|passage| passage.line == line).collect())
            }
        })
    };
    block.query_row([passages::first(session), place], text).optional()
}

fn packed(block: &[PassageText]) -> Option<Vec<u8>> {
    zstd::bulk::compress(&serde_json::to_vec(block).ok()?, LEVEL).ok()
}

fn unpacked(block: &[u8]) -> Vec<PassageText> {
    let json = zstd::bulk::decompress(block, LARGEST);
    json.ok().and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default()
}

/// The text of a line around a match.
#[derive(Debug, PartialEq)]
pub(super) struct Snippet {
    pub(super) fit: TextFit,
    pub(super) kind: &'static str,
    pub(super) text: Option<String>,
}

/// Returns the text of a line around the first match, or the file that its call touched and whose path matches, as seen
/// from `cwd`; `None` if nothing in the line matches.
pub(super) fn snippet(passages: &[PassageText], wanted: &SearchText, cwd: Option<&Path>) -> Option<Snippet> {
    let touched = |(path, edited): &(String, bool)| Some((wanted.fit(path)?, path.clone(), *edited));
    if let Some((fit, path, edited)) = passages.iter().flat_map(|passage| &passage.files).find_map(touched) {
        let near = cwd.and_then(|cwd| Path::new(&path).strip_prefix(cwd).ok()).unwrap_or(Path::new(&path));
        let done = if edited { "edited" } else { "read" };
        return Some(Snippet { fit, kind: "file", text: Some(format!("{}, {done}", near.display())) });
    }
    let events: Vec<Event> = passages.iter().cloned().map(PassageText::event).collect();
    let (at, offset, fit) = wanted.find(&events)?;
    let (kind, text) = (passages[at].kind, &passages[at].text);
    let from = text.floor_char_boundary(offset.saturating_sub(SNIPPET / 3));
    let before = if from > 0 { "…" } else { "" };
    Some(Snippet {
        fit,
        kind: kind.name(),
        text: Some(format!("{before}{}", text::line(&text[from..], SNIPPET))),
    })
}

/// Maximum number of words to which a beginning expands: the most frequent ones.
const MOST: usize = 64;
/// Maximum number of letters and of digits in a stored word. Longer ones, and those with more digits, are hashes and
/// ids.
const LONGEST: usize = 32;
const DIGITS: usize = 4;
/// Minimum number of letters in the beginning of a hash or an id.
const OF_ID: usize = 6;

/// Counts the words of sessions that are stored together.
#[derive(Debug, Default)]
pub(super) struct Terms {
    /// The words that have a row, with the number of sessions that are not counted in it yet, and how often sessions
    /// had been forgotten when it was seen: forgetting a session also removes the rows of words that only it contains.
    counts: HashMap<String, (u64, u64)>,
}

impl Terms {
    /// Adds the words of a session's passages. New words are inserted right away, so that those of a stored session are
    /// always found.
    pub(super) fn add<'a>(
        &mut self,
        transaction: &Transaction<'_>,
        texts: impl Iterator<Item = &'a str>,
        forgotten: u64,
    ) -> rusqlite::Result<()> {
        let words: HashSet<&str> =
            texts.flat_map(str::split_ascii_whitespace).filter(|word| is_word(word)).collect();
        let mut insert =
            transaction.prepare_cached("INSERT OR IGNORE INTO terms (term, sessions) VALUES (?1, 0)")?;
        for word in words {
            match self.counts.get_mut(word) {
                Some((count, seen)) if *seen == forgotten => *count += 1,
                known => {
                    insert.execute([word])?;
                    let count = known.map_or(0, |(count, _)| *count);
                    self.counts.insert(word.to_owned(), (count + 1, forgotten));
                }
            }
        }
        Ok(())
    }

    pub(super) fn store(self, writer: &mut Connection) -> rusqlite::Result<()> {
        let transaction = writer.transaction()?;
        let mut count =
            transaction.prepare_cached("UPDATE terms SET sessions = sessions + ?2 WHERE term = ?1")?;
        for (term, (sessions, _)) in self.counts {
            count.execute(params![term, sessions])?;
        }
        drop(count);
        transaction.commit()
    }
}

/// Forgets the words that no session contains any more.
pub(super) fn forget_unused(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    // No word contains a quote.
    transaction.execute_batch(
        "DELETE FROM terms WHERE NOT EXISTS (SELECT 1 FROM words WHERE words MATCH '\"' || term || '\"')",
    )
}

pub(super) struct Begun {
    pub(super) words: Vec<String>,
    /// There may be more.
    pub(super) is_cut: bool,
}

/// Returns the most frequent words that begin with `beginning`.
pub(super) fn beginning_with(reader: &Connection, beginning: &str) -> rusqlite::Result<Begun> {
    let mut statement = reader.prepare_cached(
        "SELECT term FROM terms WHERE term >= ?1 AND term < ?2 ORDER BY sessions DESC LIMIT ?3",
    )?;
    let behind = format!("{beginning}\u{10ffff}");
    let words = statement.query_map(params![beginning, behind, MOST], |row| row.get(0))?;
    let words = words.collect::<rusqlite::Result<Vec<String>>>()?;
    Ok(Begun { is_cut: words.len() == MOST, words })
}

/// Returns whether `beginning` can be looked up here, and is not that of a hash or an id.
pub(super) fn can_expand(beginning: &str) -> bool {
    let letters = beginning.chars().count();
    letters <= LONGEST && (letters < OF_ID || !beginning.contains(|letter: char| letter.is_ascii_digit()))
}

fn is_word(word: &str) -> bool {
    word.chars().count() <= LONGEST && word.bytes().filter(u8::is_ascii_digit).count() <= DIGITS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(line: u64, kind: Kind, text: &str) -> PassageText {
        PassageText::new(line, kind, text, &[])
    }

    #[test]
    fn snippet_surrounds_first_word_or_file() {
        let long = format!("{} The Parser fails {}", "before ".repeat(40), "after ".repeat(40));
        let mut edit = passage(3, Kind::Call, r#"{"path": "/w/src/parser.rs", "new": "x"}"#);
        edit.files = vec![("/w/README.md".to_owned(), false), ("/w/src/parser.rs".to_owned(), true)];
        let rows = [
            (
                vec![passage(1, Kind::Prompt, "Fix the parser")],
                "parser fix",
                Some(("prompt", "Fix the parser")),
            ),
            (
                vec![passage(1, Kind::Answer, "no"), passage(1, Kind::Call, "run it")],
                "run",
                Some(("call", "run it")),
            ),
            (vec![edit.clone()], "parser", Some(("file", "src/parser.rs, edited"))),
            (vec![edit.clone()], "readme", Some(("file", "README.md, read"))),
            (vec![edit], "new", Some(("call", r#"{"path": "/w/src/parser.rs", "new": "x"}"#))),
            (vec![passage(1, Kind::Prompt, "größe")], "grosse", None),
            (vec![passage(1, Kind::Prompt, "Gro\u{308}ße")], "GRÖSSE", Some(("prompt", "Gro\u{308}ße"))),
            (vec![passage(1, Kind::Prompt, "a [x] and x")], "[x]", Some(("prompt", "a [x] and x"))),
            (vec![passage(1, Kind::Prompt, "an x")], "[x]", None),
            (vec![], "parser", None),
        ];
        for (passages, query, expected) in rows {
            let found = snippet(&passages, &SearchText::new(query).unwrap(), Some(Path::new("/w")));
            let found = found.map(|found| (found.kind, found.text.unwrap()));
            assert_eq!(found, expected.map(|(kind, text)| (kind, text.to_owned())), "{query}");
        }
        let parser = SearchText::new("parser").unwrap();
        let text = snippet(&[passage(1, Kind::Prompt, &long)], &parser, None).unwrap().text.unwrap();
        assert!(text.starts_with('…') && text.contains("The Parser fails") && text.ends_with('…'), "{text}");
        assert!(text.chars().count() <= SNIPPET + 2, "{text}");
    }

    /// Regression: a second block of the same line failed, and so did every later update of the index.
    #[test]
    fn repeated_line_replaces_its_block() {
        let mut database = Connection::open_in_memory().unwrap();
        database
            .execute_batch(
                "CREATE TABLE texts (place INTEGER PRIMARY KEY, offset INTEGER, lines BLOB) STRICT",
            )
            .unwrap();
        for text in ["before", "after"] {
            let read = Passages {
                passages: vec![],
                texts: vec![
                    passage(0, Kind::Prompt, text),
                    passage(5, Kind::Prompt, text),
                    passage(5, Kind::Call, text),
                ],
                offsets: vec![],
                goes_on: true,
                upto: 0,
                bytes: 0,
                cut: false,
            };
            let transaction = database.transaction().unwrap();
            store(&transaction, 1, &read).unwrap();
            transaction.commit().unwrap();
        }
        let kept = Text::Kept(vec![passage(5, Kind::Prompt, "after"), passage(5, Kind::Call, "after")]);
        assert_eq!(find(&database, 1, 5).unwrap(), Some(kept));
        database.execute("UPDATE texts SET lines = NULL", []).unwrap();
        assert_eq!(find(&database, 1, 5).unwrap(), Some(Text::Kept(vec![])));
    }

    #[test]
    fn damaged_block_has_no_lines() {
        let block = [passage(1, Kind::Prompt, "Fix it")];
        assert_eq!(unpacked(&packed(&block).unwrap()), block);
        for bytes in [b"".as_slice(), b"no zstd", &zstd::bulk::compress(b"[{", 3).unwrap()] {
            assert_eq!(unpacked(bytes), []);
        }
    }
}
