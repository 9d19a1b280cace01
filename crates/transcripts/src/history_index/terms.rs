//! The words of the index, for looking up the beginning of a word.

use rusqlite::{Connection, Transaction, params};
use std::collections::{HashMap, HashSet};

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

/// Words with one beginning.
pub(super) struct Begun {
    /// The most frequent ones.
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
pub(super) fn has(beginning: &str) -> bool {
    let letters = beginning.chars().count();
    letters <= LONGEST && (letters < OF_ID || !beginning.contains(|letter: char| letter.is_ascii_digit()))
}

fn is_word(word: &str) -> bool {
    word.chars().count() <= LONGEST && word.bytes().filter(u8::is_ascii_digit).count() <= DIGITS
}
