//! Splits a file into chunks: definitions with their comments, and the text between them.

use crate::definition::{is_c_like, name};

/// Maximum number of lines in a chunk; longer definitions are split evenly.
const LINES: usize = 60;

/// Maximum number of lines in a chunk joined from loose lines and short definitions that belong together.
const JOINED: usize = 25;

/// Maximum number of lines scanned in a definition; longer ones are generated.
const DEFINITION_LINES: usize = 2000;

/// Maximum number of comment and attribute lines joined to the definition below.
const ABOVE: usize = 30;

/// Width of a tab when comparing indentation.
const TAB: usize = 4;

/// A run of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk<'a> {
    /// First line, from 0.
    pub(super) start: usize,
    /// Last line, inclusive.
    pub(super) end: usize,
    /// The innermost definition around the lines; empty if there is none.
    pub(super) symbol: &'a str,
    /// The definition around that one.
    pub(super) parent: &'a str,
    /// The line with the symbol's name, from 0, which may be before the chunk; the first line without a symbol.
    pub(super) head: usize,
}

struct Definition<'a> {
    start: usize,
    /// The line with the name.
    head: usize,
    end: usize,
    name: &'a str,
}

/// Splits a text into chunks that cover it. `is_code` is false for prose and data, which have no definitions.
pub(super) fn chunks<'a>(lines: &[&'a str], extension: &str, is_code: bool) -> Vec<Chunk<'a>> {
    let definitions = if is_code { definitions(lines, extension) } else { Vec::new() };
    // Definitions are ordered by first line, so the last one that contains a line is the innermost.
    let mut owners: Vec<Option<usize>> = vec![None; lines.len()];
    for (at, definition) in definitions.iter().enumerate() {
        owners[definition.start..=definition.end].fill(Some(at));
    }
    let mut chunks: Vec<Chunk<'a>> = Vec::new();
    let mut start = 0;
    while start < lines.len() {
        let owner = owners[start];
        let length = owners[start..].iter().take_while(|other| **other == owner).count();
        let (symbol, parent) = owner.map_or(("", ""), |at| names(&definitions, at));
        let part = length.div_ceil(length.div_ceil(LINES));
        for from in (start..start + length).step_by(part) {
            let end = (from + part).min(start + length) - 1;
            let head = owner.map_or(from, |at| definitions[at].head);
            add(&mut chunks, Chunk { start: from, end, symbol, parent, head });
        }
        start += length;
    }
    chunks
}

fn names<'a>(definitions: &[Definition<'a>], at: usize) -> (&'a str, &'a str) {
    let inner = &definitions[at];
    let around = definitions[..at].iter().rev();
    let around = around.into_iter().find(|outer| outer.start <= inner.start && outer.end >= inner.end);
    (inner.name, around.map_or("", |outer| outer.name))
}

/// Adds a chunk, or joins it with the previous one: parts of one definition, or a few loose lines and their successor.
fn add<'a>(chunks: &mut Vec<Chunk<'a>>, chunk: Chunk<'a>) {
    if let Some(last) = chunks.last_mut() {
        let few = last.end - last.start < 4;
        let belongs = last.symbol == chunk.symbol
            || few && chunk.symbol.is_empty()
            || last.symbol.is_empty() && last.end - last.start < 3;
        if belongs && chunk.end - last.start < JOINED {
            last.end = chunk.end;
            if last.symbol.is_empty() {
                (last.symbol, last.parent, last.head) = (chunk.symbol, chunk.parent, chunk.head);
            }
            return;
        }
    }
    chunks.push(chunk);
}

fn definitions<'a>(lines: &[&'a str], extension: &str) -> Vec<Definition<'a>> {
    let c_like = is_c_like(extension);
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = name(line, extension) else { continue };
        let end = last_line(lines, at, c_like);
        if end == at && line.trim_end().ends_with(';') && extension != "rs" {
            continue;
        }
        found.push(Definition { start: first_line(lines, at, c_like), head: at, end, name });
    }
    found
}

/// Returns the last line of the block that starts at `at`: deeper indentation and closing brackets.
fn last_line(lines: &[&str], at: usize, c_like: bool) -> usize {
    let column = indentation(lines[at]);
    let (mut end, mut has_body) = (at, false);
    for (line, text) in lines.iter().enumerate().skip(at + 1).take(DEFINITION_LINES) {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            continue;
        }
        let here = indentation(text);
        if here > column {
            (end, has_body) = (line, true);
            continue;
        }
        let closes = trimmed.starts_with(['{', '}', ')', ']']);
        let heads_on = !has_body && trimmed.starts_with("where");
        // The arguments of a C function may continue on the next line.
        let c_arguments = c_like && !has_body && line < at + 3 && !trimmed.ends_with(';');
        if here < column || !(closes || heads_on || c_arguments) {
            break;
        }
        end = line;
        if trimmed.starts_with('}') && !trimmed.ends_with('{') {
            break;
        }
    }
    end
}

/// Returns the first line of the comments and attributes above a definition; in C also of its return type.
fn first_line(lines: &[&str], at: usize, c_like: bool) -> usize {
    let above = |from: usize| {
        let belongs = |line: &&str| {
            let text = line.trim_start();
            text.starts_with("//")
                || text.starts_with(['*', '@'])
                || text.starts_with("/*")
                || text.starts_with('#') && !text.starts_with("#include")
        };
        from - lines[..from].iter().rev().take(ABOVE).take_while(|line| belongs(line)).count()
    };
    let start = above(at);
    let has_type = c_like
        && start == at
        && at > 0
        && !lines[at - 1].trim().is_empty()
        && indentation(lines[at - 1]) == 0
        && !lines[at - 1].starts_with(['}', '#']);
    if has_type { above(at - 1) } else { start }
}

fn indentation(line: &str) -> usize {
    line.chars()
        .map_while(|c| match c {
            ' ' => Some(1),
            '\t' => Some(TAB),
            _ => None,
        })
        .sum()
}

/// Returns whether a line belongs to a file's beginning: an import, or a part of a licence.
pub(super) fn is_prologue(line: &str) -> bool {
    let line = line.trim();
    let is_import = [
        "import ",
        "from ",
        "use ",
        "package ",
        "#include",
        "require ",
        "require_relative ",
        "using ",
        "<?php",
    ]
    .iter()
    .any(|start| line.starts_with(start));
    let is_comment = ["//", "*", "/*", "#", "--", ";"].iter().any(|mark| line.starts_with(mark));
    let lower = line.to_lowercase();
    let is_licence = is_comment
        && ["copyright", "licen", "spdx", "all rights reserved", "warrant"]
            .iter()
            .any(|word| lower.contains(word));
    is_import || is_licence
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str, extension: &str) -> Vec<String> {
        let lines: Vec<&str> = text.lines().collect();
        let shown = |chunk: &Chunk<'_>| {
            format!("{}-{} {}/{}", chunk.start + 1, chunk.end + 1, chunk.parent, chunk.symbol)
        };
        chunks(&lines, extension, true).iter().map(shown).collect()
    }

    fn body(lines: usize) -> String {
        "        x;\n".repeat(lines)
    }

    #[test]
    fn definition_includes_comments_and_attributes() {
        let text = format!(
            "use a;\nuse b;\n\n\n\n/// Follows.\n#[test]\nfn one() {{\n{}}}\n\nfn two() {{\n{}}}\n",
            body(30),
            body(30)
        );
        assert_eq!(shown(&text, "rs"), ["1-5 /", "6-39 /one", "40-40 /", "41-72 /two"]);
    }

    #[test]
    fn method_has_its_class() {
        let text = format!(
            "class Router:\n    size = 1\n\n    def match(self):\n{}\n    def add(self):\n{}",
            body(30),
            body(30)
        );
        assert_eq!(
            shown(&text, "py"),
            ["1-3 /Router", "4-34 Router/match", "35-35 /Router", "36-66 Router/add"]
        );
    }

    #[test]
    fn c_function_starts_at_its_type() {
        let text =
            format!("/* Reads. */\nstatic int\nread_it(struct a *b,\n    int c)\n{{\n{}}}\n", body(30));
        assert_eq!(shown(&text, "c"), ["1-36 /read_it"]);
    }

    #[test]
    fn long_definition_is_cut_evenly() {
        let text = format!("fn long() {{\n{}}}\n", body(148));
        assert_eq!(shown(&text, "rs"), ["1-50 /long", "51-100 /long", "101-150 /long"]);
    }

    proptest! {
        #[test]
        fn chunks_cover_every_line_once(lines in prop::collection::vec("[ \t]{0,6}(fn a\\(\\) \\{|\\}|def b\\(x\\):|x = 1;|// c|int|f\\(a\\)|)", 0..200), extension in "rs|py|c|js") {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let mut next = 0;
            for chunk in chunks(&lines, &extension, true) {
                prop_assert_eq!(chunk.start, next);
                prop_assert!(chunk.end >= chunk.start && chunk.end - chunk.start < LINES);
                next = chunk.end + 1;
            }
            prop_assert_eq!(next, lines.len());
        }
    }
}

#[cfg(test)]
mod definition_tests {
    use super::*;

    #[test]
    fn definitions_are_found_in_many_languages() {
        let rows = [
            ("pub(crate) async fn follow<T>(x: T) {", "rs", Some("follow")),
            ("impl<T: Read> Policy for Limited<T> {", "rs", Some("Limited")),
            ("    def redirect(self):", "py", Some("redirect")),
            ("func (r *Router) Add(method string) {", "go", Some("Add")),
            ("export const useProxy = (url) => {", "ts", Some("useProxy")),
            ("exports.handle = function (req) {", "js", Some("handle")),
            ("Route.prototype.dispatch = function () {", "js", Some("dispatch")),
            ("  matchPath(path) {", "js", Some("matchPath")),
            ("static int input_parse(struct ctx *c)", "c", Some("input_parse")),
            ("input_parse(c);", "c", None),
            ("    if (x) {", "js", None),
            ("  this.handle(x) {", "js", None),
            ("// fn commented() {", "rs", None),
            ("let x = 3;", "rs", None),
        ];
        for (line, extension, expected) in rows {
            assert_eq!(name(line, extension), expected, "{line}");
        }
    }
}
