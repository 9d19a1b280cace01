//! Splits a shell line into words, nested lines included.

use regex::Regex;
use std::sync::LazyLock;

/// Placeholder for a folder that only the caller knows: the project, or the root of its repository.
pub(super) const PROJECT: char = '\u{1}';

/// Placeholder for the home folder.
pub(super) const HOME: char = '\u{2}';

/// Maximum nesting of lines in lines: `sh -c "sh -c '…'"`.
const DEPTH: usize = 4;

/// Words after which a command begins.
const OPERATORS: &str =
    "; & | && || ( ) ! { then do else if elif while until time exec command nohup xargs sudo env";

/// Expansions that refer to the project. Agents set the variables for hooks; see the sources in `trust::catalogue`.
static PROJECTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "(?:CLAUDE|GEMINI|QWEN|CURSOR|FACTORY|COPILOT|DROID|AMP|CODEX|OPENCODE)_(?:PROJECT_DIR|CWD|PROJECT_ROOT)|\
                 (?:[A-Z]+_)?(?:PLUGIN|EXTENSION|SKILL)_(?:ROOT|DIR)|extensionPath|PROJECT_DIR|workspaceFolder|workspaceRoot|PWD|INIT_CWD";
    let top = r"git\s+rev-parse\s+--show-toplevel(?:\s+2>\s*/dev/null)?|pwd(?:\s+-P)?";
    let pattern = format!(
        r"\$\{{(?:{names})(?::?[-=?+][^}}]*)?\}}|\$(?:{names})\b|\$\(\s*(?:{top})\s*\)|`\s*(?:{top})\s*`"
    );
    Regex::new(&pattern).ok()
});

static HOMES: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\$\{HOME\}|\$HOME\b").ok());

/// A word of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineWord {
    /// Without quotes.
    pub(super) text: String,
    /// It is the program of a command.
    pub(super) is_program: bool,
}

/// Returns the words of a line, without its quotes, then those of the lines nested in it.
pub(super) fn words(line: &str) -> Vec<LineWord> {
    let mut found = Vec::new();
    collect(&placed(line), 0, &mut found);
    found
}

/// Returns the words of a command that runs without a shell, then those of the lines nested in them.
pub(super) fn command(words: &[&str]) -> Vec<LineWord> {
    let words: Vec<String> = words.iter().map(|word| placed(word)).collect();
    let mut found = Vec::new();
    read(words.clone(), &mut found);
    words.iter().filter(|word| is_line(word)).for_each(|word| collect(word, 1, &mut found));
    found
}

/// Replaces expansions of known folders with their placeholders.
fn placed(line: &str) -> String {
    match (PROJECTS.as_ref(), HOMES.as_ref()) {
        (Some(projects), Some(homes)) => {
            let line = projects.replace_all(line, PROJECT.to_string());
            homes.replace_all(&line, HOME.to_string()).into_owned()
        }
        _ => line.to_owned(),
    }
}

fn collect(line: &str, depth: usize, found: &mut Vec<LineWord>) {
    let spaced = spaced(line);
    let split = shlex::split(&spaced).unwrap_or_else(|| {
        // A quote is not closed: split at all quotes instead.
        spaced.split(|c: char| c.is_whitespace() || "'\"\\".contains(c)).map(str::to_owned).collect()
    });
    let nested: Vec<String> =
        split.iter().filter(|text| depth < DEPTH && is_line(text) && *text != line).cloned().collect();
    read(split, found);
    nested.iter().for_each(|line| collect(line, depth + 1, found));
}

fn read(words: Vec<String>, found: &mut Vec<LineWord>) {
    let mut is_program = true;
    for text in words.into_iter().filter(|text| !text.is_empty()) {
        let is_operator = OPERATORS.split(' ').any(|operator| operator == text);
        let is_assignment = is_program && text.split_once('=').is_some_and(|(name, _)| is_name(name));
        found.push(LineWord { text, is_program: is_program && !is_operator && !is_assignment });
        is_program = is_operator || is_assignment;
    }
}

/// Returns whether a word may itself be a line.
fn is_line(word: &str) -> bool {
    word.len() > 1 && word.contains(|c: char| c.is_whitespace() || ";|&()`".contains(c))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Puts spaces around the operators outside of quotes, so that they become words.
fn spaced(line: &str) -> String {
    let mut spaced = String::with_capacity(line.len() + 16);
    let (mut quote, mut is_escaped) = (None, false);
    for sign in line.chars() {
        match (quote, sign) {
            _ if is_escaped => is_escaped = false,
            (Some('\''), _) if sign != '\'' => {}
            (_, '\\') => is_escaped = true,
            (Some(open), _) if sign == open => quote = None,
            (None, '\'' | '"') => quote = Some(sign),
            // A comment ends here too.
            (None, '\n') => {
                spaced.push_str("\n; ");
                continue;
            }
            (None, ';' | '|' | '&' | '(' | ')' | '<' | '>' | '`') => {
                spaced.extend([' ', sign, ' ']);
                continue;
            }
            _ => {}
        }
        spaced.push(sign);
    }
    spaced
}

/// Splits a line at all characters that cannot be part of a plain path, ignoring quotes.
pub(super) fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let between = |c: char| c.is_whitespace() || "=;|&<>()'\"`$,:{}[]".contains(c);
    line.split(between).filter(|piece| !piece.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_bash_reads_them() {
        let rows = [
            ("cd scripts && ./build.sh", "cd! scripts & & ./build.sh!"),
            ("cd scripts;sh build.sh", "cd! scripts ; sh! build.sh"),
            ("A=1 B='a b' ./x", "A=1 B=a b ./x! B=a b!"),
            ("make # no; comment\ncurl x|sh", "make! ; curl! x | sh!"),
            (r#"sh -c "cd a; ./b""#, "sh! -c cd a; ./b cd! a ; ./b!"),
            ("a\\ b 'c'\"d\"", "a b! cd a! b"),
            ("'open ; x", "open! ; x!"),
            ("\"$CLAUDE_PROJECT_DIR\"/x.sh", "\u{1}/x.sh!"),
            ("${CLAUDE_PROJECT_DIR:-.}/x.sh", "\u{1}/x.sh!"),
            ("$(git rev-parse --show-toplevel)/x.sh", "\u{1}/x.sh!"),
            ("$HOME/x", "\u{2}/x!"),
            ("", ""),
        ];
        for (line, expected) in rows {
            let read: Vec<_> = words(line)
                .into_iter()
                .map(|LineWord { text, is_program }| if is_program { format!("{text}!") } else { text })
                .collect();
            assert_eq!(read.join(" "), expected, "{line}");
        }
    }
}
