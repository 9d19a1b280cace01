//! Finds the sentence of a citation.

use super::{citation::Citation, words::Words};

/// Returns a line with its citations blanked out; all other bytes keep their positions.
pub(super) fn without(line: &str, citations: &[Citation]) -> String {
    let mut text = line.to_owned();
    for Citation { range, .. } in citations {
        text.replace_range(range.clone(), &" ".repeat(range.len()));
    }
    text
}

/// Appends a line. A line that starts an item, a heading or a paragraph ends the previous sentence.
pub(super) fn join(before: &mut String, line: &str) {
    let text = line.trim();
    let item = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let begins = text.is_empty()
        || text.starts_with(['-', '*', '+', '#', '>', '|', '•'])
        || item.len() < text.len() && item.starts_with(['.', ')']);
    before.push(if begins { '\n' } else { ' ' });
    before.push_str(line);
}

/// Returns the words that the citation at byte `at` of `line` must support: those of its sentence, plus the previous
/// sentence of the paragraph if the citation starts one. If there are none, the words of the last text or of the
/// question.
pub(super) fn words(before: &str, line: &str, at: usize, question: &str) -> Words {
    let mut text = before.to_owned();
    join(&mut text, line);
    let at = text.len() - line.len() + at;
    let mut sentences = Vec::new();
    let (mut start, mut letters) = (0, text.char_indices().peekable());
    while let Some((position, letter)) = letters.next() {
        let next = letters.peek().map(|(_, next)| *next);
        let ends = match letter {
            '.' | '!' | '?' => next.is_none_or(char::is_whitespace),
            '\n' | '。' | '！' | '？' => true,
            _ => false,
        };
        if ends {
            let end = position + letter.len_utf8();
            sentences.push(start..end);
            start = end;
        }
    }
    sentences.push(start..text.len());
    let own = sentences.iter().position(|sentence| sentence.contains(&at)).unwrap_or(sentences.len() - 1);
    let mut words = Words::extract(&text[sentences[own].clone()]);
    let leads = !text[sentences[own].start..at.max(sentences[own].start)].contains(char::is_alphanumeric);
    let begins_block = sentences[..own].last().is_none_or(|last| text[last.clone()].ends_with('\n'));
    if words.is_empty() || leads && !begins_block {
        let mut reply = sentences[..own].iter().rev().map(|sentence| Words::extract(&text[sentence.clone()]));
        words.add(reply.find(|words| !words.is_empty()).unwrap_or_default());
    }
    if words.is_empty() { Words::extract(question) } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citation_belongs_to_its_sentence() {
        let rows = [
            ("", "Policies follow redirects @. Timers wait.", "polici follow redirect"),
            ("", "Timers wait. Policies follow @ redirects.", "polici follow redirect"),
            ("", "Policies follow. (@)", "polici follow"),
            ("Policies follow:", "- @", "polici follow"),
            ("Policies", "follow @", "polici follow"),
            ("Policies follow", "- timers @", "timer"),
            ("", "@", "question"),
            ("Policies follow.", "- @: timers", "timer"),
            ("Policies follow.", "@ timers", "polici follow timer"),
        ];
        for (before, line, expected) in rows {
            let at = line.find('@').unwrap();
            let expected = expected.replace("polici", "policies").replace("redirect", "redirects");
            assert_eq!(
                words(before, &line.replace('@', " "), at, "question"),
                Words::extract(&expected),
                "{before} / {line}"
            );
        }
    }
}
