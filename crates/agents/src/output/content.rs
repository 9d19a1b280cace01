//! Call content, within the limits of our log.

use crate::limits::{DIFF_SIDE, SHOWN_TEXT, TITLE_CHARS};
use openagents_core::{
    text::{clip_bytes, line},
    update::ToolContent,
    visible::escaped,
};

/// Returns display text on one line, with invisible characters escaped, because every client shows it next to our own
/// text. `None` if empty.
pub(crate) fn one_line(text: &str) -> Option<String> {
    Some(escaped(&line(text, TITLE_CHARS)).into_owned()).filter(|line| !line.is_empty())
}

/// Text content, truncated at the end.
pub(crate) fn text(text: &str) -> ToolContent {
    ToolContent::Text { text: clip_bytes(text, SHOWN_TEXT) }
}

/// Terminal content: a command and the end of its output.
pub(crate) fn terminal(id: &str, command: &str, output: &str, exit_code: Option<i32>) -> ToolContent {
    let from = output.ceil_char_boundary(output.len().saturating_sub(SHOWN_TEXT));
    ToolContent::Terminal {
        terminal_id: id.to_owned(),
        command: Some(command.to_owned()),
        output: output[from..].to_owned(),
        truncated: from > 0,
        exit_code,
        signal: None,
    }
}

/// A diff. For long texts, the common lines at both ends are dropped; the changed part
/// is truncated if it is still long.
pub(crate) fn diff(path: String, old_text: Option<String>, new_text: String) -> ToolContent {
    let old = old_text.as_deref().unwrap_or_default();
    let is_long = |old: &str, new: &str| old.len() > DIFF_SIDE || new.len() > DIFF_SIDE;
    if !is_long(old, &new_text) {
        return ToolContent::Diff { path, old_text, new_text, truncated: false };
    }
    let (old, new) = without_common_lines(old, &new_text);
    let truncated = is_long(old, new);
    let (old, new_text) = (clip_bytes(old, DIFF_SIDE), clip_bytes(new, DIFF_SIDE));
    ToolContent::Diff { path, old_text: old_text.map(|_| old), new_text, truncated }
}

/// Drops the lines that both texts begin and end with.
fn without_common_lines<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    let same = |(old, new): &(&str, &str)| old == new;
    let pairs = old.split_inclusive('\n').zip(new.split_inclusive('\n'));
    let start: usize = pairs.take_while(same).map(|(line, _)| line.len()).sum();
    let (old, new) = (&old[start..], &new[start..]);
    let pairs = old.split_inclusive('\n').rev().zip(new.split_inclusive('\n').rev());
    let end: usize = pairs.take_while(same).map(|(line, _)| line.len()).sum();
    (&old[..old.len() - end], &new[..new.len() - end])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: the title of a call could show its end first.
    #[test]
    fn a_title_hides_and_reorders_nothing() {
        let title = one_line("Read\n gpj.\u{202e}sr\u{200b} \u{1b}[2Jnow");
        assert_eq!(title.as_deref(), Some("Read gpj.\\u{202e}sr\\u{200b} [2Jnow"));
    }

    #[test]
    fn a_long_file_shows_its_change_and_not_its_beginning() {
        let same = "the same line\n".repeat(DIFF_SIDE / 10);
        let (old, new) = (format!("{same}old\n{same}"), format!("{same}new\n{same}"));
        let rows = [
            (Some(old), new.clone(), Some("old\n"), "new\n", false),
            (Some("a\nb\n".to_owned()), "a\nc\n".to_owned(), Some("a\nb\n"), "a\nc\n", false),
            (Some(same.clone()), same.clone(), Some(""), "", false),
            (Some(same.clone()), format!("{same}end"), Some(""), "end", false),
        ];
        for (old, new, old_shown, new_shown, cut) in rows {
            let ToolContent::Diff { old_text, new_text, truncated, .. } = diff("a".to_owned(), old, new)
            else {
                panic!("a change is a change");
            };
            assert_eq!((old_text.as_deref(), new_text.as_str(), truncated), (old_shown, new_shown, cut));
        }
        let ToolContent::Diff { old_text: None, new_text, truncated: true, .. } =
            diff("a".to_owned(), None, new)
        else {
            panic!("a new file has no old text");
        };
        assert_eq!(new_text.len(), DIFF_SIDE + "…".len());
    }
}
