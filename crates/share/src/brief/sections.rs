//! The sections of a brief: their lines, how they are shortened, and how they are written.

use openagents_core::text;

/// Bytes below which a line is not cut further.
const SHORTEST: usize = 80;
/// Maximum characters of a failed command's output.
const OUTPUT: usize = 120;
/// Bytes of text per token, on average.
pub(super) const BYTES_PER_TOKEN: usize = 4;

/// A part of a brief.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) heading: &'static str,
    /// Which sections are dropped if there is no room: the highest first, 0 never.
    pub(super) rank: u8,
    pub(super) lines: Vec<Line>,
}

#[derive(Debug)]
pub(super) struct Line {
    pub(super) text: String,
    /// The line of the log.
    pub(super) line: u64,
    /// Maximum length in characters.
    pub(super) room: usize,
    /// Output of a command, shown below.
    pub(super) output: Option<String>,
}

/// Returns the end of a command's output, which says what failed.
pub(super) fn end_of(output: &str) -> &str {
    let start = output.char_indices().rev().nth(OUTPUT - 1).map_or(0, |(start, _)| start);
    let end = &output[start..];
    let first_word = if start == 0 { 0 } else { end.find(char::is_whitespace).unwrap_or(0) };
    end[first_word..].trim()
}

/// Drops lines until the brief fits: of the least important sections first, and the oldest ones first.
pub(super) fn shorten(head: &str, sections: &mut [Section], most: usize) -> usize {
    let mut left_out = 0;
    while write(head, sections, left_out).0.len() > most * BYTES_PER_TOKEN {
        let least = sections
            .iter_mut()
            .filter(|section| section.rank > 0 && !section.lines.is_empty())
            .max_by_key(|section| section.rank);
        let Some(section) = least else { break };
        let oldest = section.lines.iter().enumerate().min_by_key(|(_, line)| line.line).map(|(at, _)| at);
        section.lines.remove(oldest.unwrap_or_default());
        left_out += 1;
    }
    // What is never dropped is cut.
    while write(head, sections, left_out).0.len() > most * BYTES_PER_TOKEN {
        let longest =
            sections.iter_mut().flat_map(|section| &mut section.lines).max_by_key(|line| line.text.len());
        let Some(line) = longest.filter(|line| line.text.len() > SHORTEST) else { break };
        line.text = text::clip_bytes(&line.text, line.text.len() / 2);
    }
    left_out
}

/// Returns the text, and which of its lines quote which lines of the log.
pub(super) fn write(head: &str, sections: &[Section], left_out: usize) -> (String, Vec<(usize, u64)>) {
    let mut written = head.to_owned();
    let mut sources = Vec::new();
    for Section { heading, lines, .. } in sections.iter().filter(|section| !section.lines.is_empty()) {
        written.push_str(&format!("\n## {heading}\n"));
        for Line { text, line, output, .. } in lines {
            written.push_str(&format!("- {text} [{line}]\n"));
            sources.push((written.lines().count(), *line));
            if let Some(output) = output {
                written.push_str(&text::fenced(output));
                written.push('\n');
            }
        }
    }
    match left_out {
        0 => {}
        1 => written.push_str("\n(1 more line)\n"),
        more => written.push_str(&format!("\n({more} more lines)\n")),
    }
    (written, sources)
}
