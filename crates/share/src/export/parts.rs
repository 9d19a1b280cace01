//! What the forms have in common: how much fits, and how outputs, times and changes are written.

use super::{document::Entry, options::ToolOutput};
use jiff::tz::TimeZone;

/// Maximum bytes of a Markdown or JSON file.
pub(super) const MARKDOWN_BYTES: usize = 32 << 20;
/// Maximum bytes of an HTML file.
pub(super) const HTML_BYTES: usize = 64 << 20;
/// The note in a file whose session was cut.
pub(super) const LEFT_OUT: &str = "The beginning is left out, because the session is too long for one file.";

/// Renders entries, the newest first, until there are `bytes`. Returns them in order, and the number of those left out.
pub(super) fn newest_within(
    entries: &[Entry],
    bytes: usize,
    render: impl Fn(&Entry) -> String,
) -> (Vec<String>, usize) {
    let mut room = bytes;
    let mut parts = Vec::new();
    for part in entries.iter().rev().map(render) {
        let Some(left) = room.checked_sub(part.len()) else { break };
        room = left;
        parts.push(part);
    }
    parts.reverse();
    let omitted = entries.len() - parts.len();
    (parts, omitted)
}

/// Returns the first 20 lines of an output, or all of it; `None` if none is wanted.
pub(super) fn shortened(output: &str, tools: ToolOutput) -> Option<String> {
    const LINES: usize = 20;
    const BYTES: usize = 4_000;
    let output = output.trim_end();
    match tools {
        ToolOutput::None => None,
        ToolOutput::Full => Some(output.to_owned()),
        ToolOutput::Short => {
            let end = output.match_indices('\n').nth(LINES - 1).map_or(output.len(), |(end, _)| end);
            let end = output.floor_char_boundary(end.min(BYTES));
            let rest = output[end..].lines().filter(|line| !line.is_empty()).count();
            Some(match rest {
                0 => output.to_owned(),
                1 => format!("{}\n… 1 more line", &output[..end]),
                rest => format!("{}\n… {rest} more lines", &output[..end]),
            })
        }
    }
}

/// Returns a time like `2026-11-24 14:02`.
pub(super) fn time(at: i64, zone: &TimeZone) -> Option<String> {
    let at = jiff::Timestamp::from_millisecond(at).ok()?.to_zoned(zone.clone());
    Some(at.strftime("%Y-%m-%d %H:%M").to_string())
}

/// Returns a change as lines that begin with `-`, `+` or a space.
pub(super) fn diff(old: &str, new: &str) -> String {
    /// Longer texts, in bytes, are shown as removed and added.
    const COMPARED: usize = 50_000;
    if old.len() + new.len() > COMPARED {
        let lines = |sign: char, text: &str| -> String {
            text.lines().map(|line| format!("{sign}{line}\n")).collect()
        };
        return lines('-', old) + &lines('+', new);
    }
    let changes = similar::TextDiff::from_lines(old, new);
    let mut written = String::new();
    for (at, group) in changes.grouped_ops(3).iter().enumerate() {
        if at > 0 {
            written.push_str("…\n");
        }
        for change in group.iter().flat_map(|op| changes.iter_changes(op)) {
            written.push(match change.tag() {
                similar::ChangeTag::Delete => '-',
                similar::ChangeTag::Insert => '+',
                similar::ChangeTag::Equal => ' ',
            });
            written.push_str(change.value().trim_end_matches(['\n', '\r']));
            written.push('\n');
        }
    }
    written
}
