//! Printing, and the usage error.

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use openagents_core::visible::escaped;
use serde::Serialize;
use std::{
    borrow::Cow,
    io::{IsTerminal, Write},
    time::Duration,
};

pub(crate) const OK: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
pub(crate) const FAINT: Style = Style::new().dimmed();
pub(crate) const STRONG: Style = Style::new().bold();

/// Bad usage: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// Prints one line of text; colours are dropped where unsupported.
pub(crate) fn line(text: impl std::fmt::Display) -> std::io::Result<()> {
    writeln!(anstream::stdout().lock(), "{text}")
}

/// Prints a warning on stderr; a closed stderr is ignored.
pub(crate) fn warn(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "openagents: {text}");
}

/// Prints a line on stderr unchanged.
pub(crate) fn aside(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Prints and flushes a piece of an answer, without terminal control characters.
pub(crate) fn piece(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(steady(text).as_bytes())?;
    out.flush()
}

/// Prints a file's text: unchanged, unless a terminal shows it.
pub(crate) fn whole(text: &str) -> std::io::Result<()> {
    if std::io::stdout().is_terminal() {
        return piece(text);
    }
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

pub(crate) fn json_line(value: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string(value)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", plain_json(text))?;
    Ok(out.flush()?)
}

/// Prints one JSON value, indented.
pub(crate) fn json_pretty(value: &impl Serialize) -> anyhow::Result<()> {
    writeln!(std::io::stdout().lock(), "{}", plain_json(serde_json::to_string_pretty(value)?))?;
    Ok(())
}

/// Returns JSON text of the same value with invisible characters escaped, as JSON does with most control characters:
/// the user may read it in a terminal. Such characters occur only in strings.
fn plain_json(text: String) -> String {
    if matches!(escaped(&text), Cow::Borrowed(_)) {
        return text;
    }
    let mut plain = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        // After a letter, a combining mark is visible.
        let is_plain = matches!(character, '\n' | ' '..='~')
            || matches!(escaped(&format!("a{character}")), Cow::Borrowed(_));
        match is_plain {
            true => plain.push(character),
            false => character
                .encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| plain.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    plain
}

/// Returns the text with its line breaks and tabs, without other control characters. Characters that reorder their
/// neighbours or draw nothing become visible escapes. Joiners and variation selectors stay, because emoji and some
/// scripts need them. All spaces stay, because models write them.
fn steady(text: &str) -> String {
    let mut steady = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => steady.push(character),
            '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}' => steady.extend(character.escape_unicode()),
            _ if character.is_control() => steady.push(' '),
            _ => steady.push(character),
        }
    }
    steady
}

/// Returns `text` on one line. Characters that could steer the terminal or mislead become visible escapes.
pub(crate) fn printable(text: &str) -> String {
    escaped(text).replace(['\n', '\t'], " ")
}

pub(crate) fn columns(rows: &[Vec<String>]) -> Vec<String> {
    aligned(rows, |_| false)
}

/// Returns rows as lines, with the columns for which `is_right` returns true aligned to the right.
pub(crate) fn aligned(rows: &[Vec<String>], is_right: impl Fn(usize) -> bool) -> Vec<String> {
    let width = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max();
    let line = |row: &Vec<String>| {
        let cell = |(at, cell): (usize, &String)| {
            let width = width(at).unwrap_or_default();
            if is_right(at) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        };
        row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Returns a line with a spinner on stderr; draws nothing if stderr is not a terminal.
pub(crate) fn spinner() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// Returns the first words, at most `characters` long.
pub(crate) fn first_words(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the beginning of an id, long enough to type: 8 characters.
pub(crate) fn short(id: &str) -> &str {
    id.char_indices().nth(8).map_or(id, |(end, _)| &id[..end])
}

/// Returns how long ago something was: `now`, `5m`, `3h`, `2d`, `6w`.
pub(crate) fn age(then_ms: i64, now_ms: i64) -> String {
    let minutes = (now_ms - then_ms).max(0) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes}m"),
        60..1_440 => format!("{}h", minutes / 60),
        1_440..20_160 => format!("{}d", minutes / 1_440),
        _ => format!("{}w", minutes / 10_080),
    }
}

/// Returns the local time of day: `14:05:09`.
pub(crate) fn clock(ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
    time.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M:%S").to_string()
}

/// Returns the current time in milliseconds since the epoch.
pub(crate) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// Asks a yes-or-no question. Fails if standard input is not a terminal; `flag` is the hint in the error.
pub(crate) fn ask(question: &str, flag: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(Usage(format!("cannot ask: standard input is not a terminal; {flag}")).into());
    }
    put_question(question)?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(is_yes(&answer))
}

/// Prints a question; the answer is typed on the same line. Input typed before the question is discarded.
pub(crate) fn put_question(question: &str) -> std::io::Result<()> {
    if let Err(error) = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush) {
        tracing::debug!(%error, "could not discard what was typed");
    }
    let mut err = anstream::stderr();
    write!(err, "{question} [y/N] ")?;
    err.flush()
}

pub(crate) fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn printed_json_escapes_and_keeps_its_value() {
        for text in ["a\u{202e}b\u{7f}c\u{e0041}", "cafe\u{301} 日本語 \"\\ \n\t\u{1b}", "plain"] {
            let value = serde_json::json!([text, {text: 1}]);
            for written in [value.to_string(), format!("{value:#}")] {
                let plain = plain_json(written);
                assert_eq!(escaped(&plain), plain);
                assert_eq!(serde_json::from_str::<Value>(&plain).unwrap(), value);
            }
        }
    }

    #[test]
    fn ages_are_short() {
        let rows = [(0, "now"), (59, "now"), (60, "1m"), (7_200, "2h"), (90_000, "1d"), (1_300_000, "2w")];
        for (seconds, expected) in rows {
            assert_eq!(age(0, seconds * 1000), expected);
        }
    }

    #[test]
    fn title_cannot_control_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\u{7}\nc\u{202e}d"), r"a\u{1b}[2Jb\u{7} c\u{202e}d");
    }

    #[test]
    fn answer_cannot_control_terminal() {
        assert_eq!(steady("a\tb\n\u{1b}[2Jc\r\u{9b}1m"), "a\tb\n [2Jc  1m");
        // Joiners of an emoji and unusual spaces stay.
        assert_eq!(steady("a\u{200b}b\u{3164}\u{a0}👩\u{200d}💻"), "a\\u{200b}b\\u{3164}\u{a0}👩\u{200d}💻");
        assert_eq!(steady("a\u{202e}b, 👩\u{200d}👧"), "a\\u{202e}b, 👩\u{200d}👧");
    }
}
