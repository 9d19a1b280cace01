//! Parses citations in a line of a model's answer: `path:12`, `path:12-40`, `path#L12`, `codex session 1234:7`.

use openagents_core::{terms::is_unspaced, text::is_listed, update::Place, visible::code_span};
use regex::Regex;
use std::{ops::Range, sync::LazyLock};

/// A citation in a line of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Citation {
    /// Byte range in the line.
    pub(super) range: Range<usize>,
    pub(super) target: CitationTarget,
    /// First and last line of each cited span, from 1.
    pub(super) spans: Vec<(u64, u64)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CitationTarget {
    /// The path as written; may be outside of the workspace.
    File(String),
    Session {
        provider: Option<String>,
        /// The session id, or its beginning.
        id: String,
    },
}

/// Line numbers after a path or a session: `:12`, `:12-40`, `:L12`, `:12:5` with a column, `:12,40`, `#L12-L40`.
static LINES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?::L?|#L)((?:\d{1,7}(?:C\d+)?(?:[-–]L?\d{1,7}(?:C\d+)?)?)(?:,L?\d{1,7}(?:[-–]L?\d{1,7})?)*)(?::\d{1,5})?").ok()
});

/// A session id before line numbers, with an optional agent name or the word "session" in front.
static SESSION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let agent = r"(?:\b(codex|claude(?:[-_ ]code)?)[ :/]+)?";
    Regex::new(&format!(r"(?i){agent}(\bsessions?[ :#`]+)?([0-9a-z][\w-]{{3,63}})$")).ok()
});

static UUID: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$").ok());

/// Extensions of citable files. A name with another extension counts as a path only if the file exists.
const EXTENSIONS: &str = "\
    adoc|asm|astro|bash|bat|bazel|bzl|c|cc|cfg|cjs|clj|cmake|conf|cpp|cs|css|csv|cxx|dart|ex|exs|f90|\
    fish|go|gradle|graphql|groovy|h|hpp|hs|html|hxx|ini|ipynb|java|jl|js|json|json5|jsonc|jsonl|jsx|kt|\
    kts|less|lock|log|lua|m|md|mdx|mjs|ml|mm|mts|nim|nix|patch|php|pl|plist|pm|proto|ps1|py|pyi|r|rb|\
    rst|rs|sass|scala|scss|sh|snap|sol|sql|svelte|svg|swift|tcl|tf|toml|ts|tsv|tsx|txt|v|vue|xml|yaml|\
    yml|zig|zsh";

/// Known file names without an extension.
const NAMES: &str = "\
    Makefile|Dockerfile|LICENSE|README|CHANGELOG|Justfile|Gemfile|Rakefile|Procfile|Jenkinsfile|\
    CODEOWNERS|Brewfile";

/// Returns whether a text may contain a citation; cheap.
pub(super) fn may_cite(text: &str) -> bool {
    LINES.as_ref().is_some_and(|lines| lines.is_match(text))
}

/// Returns the citations of a line. `known` are places that were found; `exists` checks the workspace.
pub(super) fn citations(line: &str, known: &[Place], exists: &dyn Fn(&str) -> bool) -> Vec<Citation> {
    let Some(lines) = LINES.as_ref() else { return Vec::new() };
    let mut end_of_last = 0;
    let mut found: Vec<Citation> = Vec::new();
    for captures in lines.captures_iter(line) {
        let (Some(suffix), Some(numbers)) = (captures.get(0), captures.get(1)) else { continue };
        if goes_on(&line[suffix.end()..]) {
            continue;
        }
        let before = &line[end_of_last..suffix.start()];
        let target =
            known_file(before, known).or_else(|| session(before, known)).or_else(|| file(before, exists));
        if let Some((length, target)) = target {
            let range = suffix.start() - length..suffix.end();
            end_of_last = range.end;
            found.push(Citation { range, target, spans: spans(numbers.as_str()) });
        }
    }
    found
}

/// Returns whether a number is part of something else: `1.25`, `80/path`, `12px`.
fn goes_on(rest: &str) -> bool {
    let mut letters = rest.chars();
    match letters.next() {
        Some('.') => letters.next().is_some_and(|next| next.is_ascii_digit()),
        Some('/' | '_') => letters.next().is_some_and(char::is_alphanumeric),
        // In languages without spaces, text continues right after the number.
        Some(next) => next.is_alphanumeric() && !is_unspaced(next),
        None => false,
    }
}

fn spans(numbers: &str) -> Vec<(u64, u64)> {
    let number = |text: &str| -> Option<u64> {
        let text = text.trim_start_matches('L');
        text.split('C').next()?.parse().ok()
    };
    let span = |part: &str| {
        let (start, end) = part.split_once(['-', '–']).unwrap_or((part, part));
        Some((number(start)?, number(end)?))
    };
    numbers.split(',').filter_map(span).collect()
}

/// Matches a known path, which may contain any characters.
fn known_file(before: &str, known: &[Place]) -> Option<(usize, CitationTarget)> {
    let paths = known.iter().filter_map(|place| match place {
        Place::File { path } => Some(path),
        Place::Session { .. } => None,
    });
    // As it is, and as a prompt writes it.
    let written = paths.flat_map(|path| [(path, path.clone()), (path, code_span(path))]);
    let ends = |(_, written): &(&String, String)| {
        let rest = before.strip_suffix(written.as_str());
        rest.is_some_and(|rest| !rest.ends_with(|c: char| is_path(c) && !is_unspaced(c)))
    };
    let (path, written) = written.filter(ends).max_by_key(|(_, written)| written.len())?;
    Some((written.len(), CitationTarget::File(path.clone())))
}

fn session(before: &str, known: &[Place]) -> Option<(usize, CitationTarget)> {
    let captures = SESSION.as_ref()?.captures(before)?;
    let id = captures.get(3)?;
    let provider = captures.get(1).map(|provider| provider.as_str().to_owned());
    let is_found = known.iter().any(|place| match place {
        Place::Session { session_id, .. } => {
            session_id == id.as_str() || id.len() >= 6 && session_id.starts_with(id.as_str())
        }
        Place::File { .. } => false,
    });
    let is_called_one = captures.get(2).is_some() || provider.is_some();
    let is_named = is_called_one && id.len() >= 6 && id.as_str().contains(|c: char| c.is_ascii_digit());
    // An id attached to other characters belongs to a path.
    let is_whole =
        !before[..id.start()].ends_with(|c: char| is_path(c) && !is_unspaced(c) && c != ':') || is_called_one;
    let is_uuid = UUID.as_ref().is_some_and(|uuid| uuid.is_match(id.as_str()));
    if !is_whole || !(is_found || is_named || is_uuid) {
        return None;
    }
    let begin = captures.get(1).or(captures.get(2)).unwrap_or(id).start();
    Some((before.len() - begin, CitationTarget::Session { provider, id: id.as_str().to_owned() }))
}

fn file(before: &str, exists: &dyn Fn(&str) -> bool) -> Option<(usize, CitationTarget)> {
    let mut path = path_at_end(before);
    let is_url = word_at_end(before).split_once("://").is_some_and(|(scheme, _)| scheme != "file");
    if is_url || path.starts_with("//") {
        return None;
    }
    if !exists(&written(path)) {
        // In languages without spaces, words are written right before the path.
        let glued = path.char_indices().rfind(|(_, letter)| is_unspaced(*letter));
        if let Some((at, letter)) = glued
            && let tail = &path[at + letter.len_utf8()..]
            && tail.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/')
        {
            path = tail;
        }
        path = path.trim_start_matches(['@', '-', '_', '+']);
    }
    is_file(path, exists).then(|| (path.len(), CitationTarget::File(written(path))))
}

/// Returns whether a text is a file path and not a host, a time or a name with a number.
fn is_file(path: &str, exists: &dyn Fn(&str) -> bool) -> bool {
    if !path.contains(char::is_alphabetic) || path.ends_with(['/', '\\']) {
        return false;
    }
    let path = written(path);
    let name = path.rsplit('/').next().unwrap_or(&path);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    let has_extension = extension.is_some_and(|extension| is_listed(&extension, EXTENSIONS));
    let is_rooted = path.starts_with('.') || path.starts_with('~') || path.starts_with('/');
    has_extension
        || is_listed(name, NAMES)
        || is_rooted
            && path.trim_start_matches(['.', '~', '/']).contains(char::is_alphabetic)
            && path.contains('/')
        || exists(&path)
        || path.split_once('/').is_some_and(|(folder, _)| exists(folder))
}

/// Returns a path with `/` between its components.
fn written(path: &str) -> String {
    path.replace('\\', "/")
}

fn word_at_end(text: &str) -> &str {
    let begins = |c: char| c.is_whitespace() || is_bracket(c);
    text.rsplit(begins).next().unwrap_or(text)
}

/// Returns the longest suffix that can be a path, with brackets around whole folders: `app/(shop)/[id]/page.tsx`.
fn path_at_end(text: &str) -> &str {
    let mut begin = text.len();
    while let Some(letter) = text[..begin].chars().next_back() {
        let next = text[begin..].chars().next();
        let at = begin - letter.len_utf8();
        let is_drive = letter == ':' && next.is_some_and(|next| next == '\\' || next == '/');
        if is_path(letter) || is_drive {
            begin = at;
        } else if let (Some(open), Some('/')) = (opening(letter), next)
            && let Some(opened) = text[..at].rfind(open)
            && text[..opened].ends_with('/')
            && !text[opened..at].contains(char::is_whitespace)
        {
            begin = opened;
        } else {
            break;
        }
    }
    let path = &text[begin..];
    match path.rsplit_once(':') {
        Some((drive, rest)) if drive.len() != 1 && drive != "file" => rest,
        _ => path,
    }
}

fn opening(letter: char) -> Option<char> {
    match letter {
        ')' => Some('('),
        ']' => Some('['),
        _ => None,
    }
}

fn is_bracket(letter: char) -> bool {
    "`()[]{}<>（）【】「」『』〈〉《》".contains(letter)
}

fn is_path(letter: char) -> bool {
    letter.is_alphanumeric() || "/\\._-+@~%#$&ー々".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> Vec<String> {
        let known = [
            Place::File { path: "my docs/the plan".to_owned() },
            Place::Session { provider: "codex".to_owned(), session_id: "abcd".to_owned() },
        ];
        let exists = |path: &str| ["run", "bin", "bin/start"].contains(&path);
        let citation = |citation: Citation| {
            let target = match citation.target {
                CitationTarget::File(path) => path,
                CitationTarget::Session { provider, id } => format!("{provider:?} {id}"),
            };
            let spans: Vec<_> = citation.spans.iter().map(|(start, end)| format!("{start}-{end}")).collect();
            format!("{}|{target}|{}", &line[citation.range], spans.join(","))
        };
        citations(line, &known, &exists).into_iter().map(citation).collect()
    }

    #[test]
    fn citations_are_found_in_each_form() {
        let rows = [
            ("See a/b.rs:12.", "a/b.rs:12|a/b.rs|12-12"),
            ("(`a/b.rs:12-40`)", "a/b.rs:12-40|a/b.rs|12-40"),
            ("[src/my-mod.test.ts:3–5]", "src/my-mod.test.ts:3–5|src/my-mod.test.ts|3-5"),
            ("src/a.rs#L12-L40,", "src/a.rs#L12-L40|src/a.rs|12-40"),
            ("a.rs#L12C3-L14C9", "a.rs#L12C3-L14C9|a.rs|12-14"),
            ("a.rs:L12", "a.rs:L12|a.rs|12-12"),
            ("a.rs:12:5 and", "a.rs:12:5|a.rs|12-12"),
            ("a.rs:12,40-41", "a.rs:12,40-41|a.rs|12-12,40-41"),
            ("**.github/workflows/ci.yml:7**", ".github/workflows/ci.yml:7|.github/workflows/ci.yml|7-7"),
            ("Makefile:12", "Makefile:12|Makefile|12-12"),
            ("`run:12`", "run:12|run|12-12"),
            ("bin/other:12", "bin/other:12|bin/other|12-12"),
            ("/etc/passwd:1 ../up:2", "/etc/passwd:1|/etc/passwd|1-1 ../up:2|../up|2-2"),
            (r"C:\src\main.rs:12", r"C:\src\main.rs:12|C:/src/main.rs|12-12"),
            (r"src\main.rs:12", r"src\main.rs:12|src/main.rs|12-12"),
            ("file:///x/a.rs:1", "file:///x/a.rs:1|file:///x/a.rs|1-1"),
            ("größe/straße.rs:3", "größe/straße.rs:3|größe/straße.rs|3-3"),
            ("処理はsrc/a.rs:12で行う", "src/a.rs:12|src/a.rs|12-12"),
            ("【src/a.rs:12】", "src/a.rs:12|src/a.rs|12-12"),
            ("see:src/a.rs:12", "src/a.rs:12|src/a.rs|12-12"),
            ("@src/a.rs:12", "src/a.rs:12|src/a.rs|12-12"),
            ("app/(shop)/[id]/page.tsx:4", "app/(shop)/[id]/page.tsx:4|app/(shop)/[id]/page.tsx|4-4"),
            ("(a.rs:1)/x a.rs:2", "a.rs:1|a.rs|1-1 a.rs:2|a.rs|2-2"),
            ("my docs/the plan:4", "my docs/the plan:4|my docs/the plan|4-4"),
            ("codex session 0199ab:7", r#"codex session 0199ab:7|Some("codex") 0199ab|7-7"#),
            ("In session `0199ab:7`", "session `0199ab:7|None 0199ab|7-7"),
            ("abcd:7-9", "abcd:7-9|None abcd|7-9"),
            ("claude-code:abcd:7", r#"claude-code:abcd:7|Some("claude-code") abcd|7-7"#),
            (
                "`0199a3b2-1111-2222-3333-444455556666:7`",
                "0199a3b2-1111-2222-3333-444455556666:7|None 0199a3b2-1111-2222-3333-444455556666|7-7",
            ),
        ];
        for (line, expected) in rows {
            assert_eq!(shown(line).join(" "), expected, "{line}");
        }
    }

    #[test]
    fn hosts_times_and_ratios_are_not_citations() {
        let rows = [
            "http://x:80 http://x.rs:80/a.rs:12 https://h/a.rs#L12 //cdn.js:80/x",
            "12:30 and 12:30:45, 2026-01-02T12:30:00Z, 16:9, 1/2:3",
            "localhost:8080 127.0.0.1:9099 example.com:443 user@host:22 [::1]:80",
            "nginx:1.25 library/nginx:1 a.rs:12px and/or:3 step:3 Note: 12 a::b:3",
            "owner/repo#12 #L12 :12 session:3 {port:80} x.rs: 12",
            "Result: 3:1, map[key:1] user.name:12",
        ];
        for line in rows {
            assert_eq!(shown(line), Vec::<String>::new(), "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed(text in "\\PC*", parts in "([a-z./\\\\:#L0-9`()\\[\\] é界-]|session|codex){0,60}") {
            shown(&text);
            shown(&parts);
        }
    }
}
