//! Syntax highlighting: marks comments, strings, keywords and so on with CSS classes. The page defines the colours.

use pulldown_cmark_escape::escape_html_body_text;
use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};
use syntect::{
    parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet},
    util::LinesWithEndings,
};

/// Maximum bytes of code that are highlighted; longer code is most likely a dump.
const CODE: usize = 64 << 10;
/// Maximum bytes of a line that is highlighted; longer lines are most likely minified code.
const LINE: usize = 2_000;

/// The class of each scope prefix; the first match wins. The scope names are those of Sublime Text.
const CLASSES: [(&str, &str); 24] = [
    ("comment", "hl-comment"),
    ("constant.character.escape", "hl-constant"),
    ("string", "hl-string"),
    ("constant.numeric", "hl-number"),
    ("constant", "hl-constant"),
    ("keyword.operator", ""),
    ("keyword", "hl-keyword"),
    ("storage", "hl-keyword"),
    ("variable.language", "hl-keyword"),
    ("entity.name.function", "hl-function"),
    ("support.function", "hl-function"),
    ("variable.function", "hl-function"),
    ("entity.name.tag", "hl-tag"),
    ("entity.other.attribute-name", "hl-attribute"),
    ("entity.other.inherited-class", "hl-type"),
    ("entity.name.section", "hl-heading"),
    ("entity.name", "hl-type"),
    ("support.type", "hl-type"),
    ("support.class", "hl-type"),
    ("markup.heading", "hl-heading"),
    ("markup.inserted", "hl-inserted"),
    ("markup.deleted", "hl-deleted"),
    // Code inside strings.
    ("meta.interpolation", ""),
    ("meta.template.expression", ""),
];

/// Every class.
pub(super) fn classes() -> impl Iterator<Item = &'static str> {
    CLASSES.iter().map(|(_, class)| *class).filter(|class| !class.is_empty())
}

/// Returns code as HTML, without the surrounding element. `None` if the language is unknown. After `until`, the rest is
/// left plain.
pub(super) fn html(language: &str, code: &str, until: Instant) -> Option<String> {
    let (set, scopes) = loaded();
    let syntax = syntax(set, language)?;
    let mut html = String::with_capacity(code.len() * 3);
    let (mut state, mut stack) = (ParseState::new(syntax), ScopeStack::new());
    let mut done = 0;
    for line in LinesWithEndings::from(code) {
        let is_plain = done + line.len() > CODE || line.len() > LINE || Instant::now() > until;
        // Stop at a line that cannot be parsed, because the state of the following lines depends on it.
        let Some(ops) = (!is_plain).then(|| state.parse_line(line, set).ok()).flatten() else { break };
        let mut from = 0;
        for (at, op) in ops {
            push(&mut html, line.get(from..at).unwrap_or_default(), class(scopes, &stack));
            from = at;
            stack.apply(&op).ok()?;
        }
        push(&mut html, line.get(from..).unwrap_or_default(), class(scopes, &stack));
        done += line.len();
    }
    push(&mut html, &code[done..], "");
    Some(html)
}

/// Time limit for highlighting one message; the rest of its code is left plain.
pub(super) const TIME: Duration = Duration::from_millis(150);

type Scopes = Vec<(Scope, &'static str)>;

/// Returns the languages that bat knows (those of Sublime Text, TypeScript, TOML, Swift and others), and the scopes.
fn loaded() -> &'static (SyntaxSet, Scopes) {
    static LOADED: OnceLock<(SyntaxSet, Scopes)> = OnceLock::new();
    LOADED.get_or_init(|| {
        let scopes = CLASSES.iter().filter_map(|(name, class)| Some((Scope::new(name).ok()?, *class)));
        (two_face::syntax::extra_newlines(), scopes.collect())
    })
}

fn syntax<'a>(set: &'a SyntaxSet, language: &str) -> Option<&'a SyntaxReference> {
    // For example ```rust,ignore and ```ts title="a.ts".
    let name = language.split([',', ' ', '{', ':']).next().filter(|name| !name.is_empty())?;
    let name = match name.to_ascii_lowercase().as_str() {
        "shell" | "console" | "zsh" => "bash".to_owned(),
        "jsonc" | "json5" | "jsonl" => "json".to_owned(),
        "golang" => "go".to_owned(),
        "jsx" | "mjs" | "cjs" => "js".to_owned(),
        other => other.to_owned(),
    };
    set.find_syntax_by_token(&name).filter(|syntax| syntax.name != "Plain Text")
}

/// Returns the class of the innermost scope that has one.
fn class(scopes: &Scopes, stack: &ScopeStack) -> &'static str {
    let of = |scope: &Scope| scopes.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope));
    stack.as_slice().iter().rev().find_map(of).map_or("", |(_, class)| *class)
}

fn push(html: &mut String, text: &str, class: &str) {
    if text.is_empty() {
        return;
    }
    let is_marked = !class.is_empty() && !text.trim().is_empty();
    if is_marked {
        html.push_str("<span class=\"");
        html.push_str(class);
        html.push_str("\">");
    }
    // Writing to a string does not fail.
    let _ = escape_html_body_text(&mut *html, text);
    if is_marked {
        html.push_str("</span>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(language: &str, code: &str) -> Option<String> {
        html(language, code, Instant::now() + Duration::from_secs(60))
    }

    #[test]
    fn languages_of_agents_are_known() {
        for language in [
            "rust",
            "rs",
            "ts",
            "typescript",
            "tsx",
            "js",
            "jsx",
            "python",
            "py",
            "go",
            "bash",
            "sh",
            "shell",
            "console",
            "json",
            "jsonc",
            "toml",
            "yaml",
            "html",
            "css",
            "svelte",
            "swift",
            "kotlin",
            "java",
            "c",
            "cpp",
            "ruby",
            "sql",
            "diff",
            "dockerfile",
            "makefile",
            "markdown",
            "rust,ignore",
            "ts title=\"a.ts\"",
        ] {
            assert!(shown(language, "x\n").is_some(), "{language}");
        }
        for language in ["", "no-such-language", "text", "plaintext"] {
            assert_eq!(shown(language, "x\n"), None, "{language}");
        }
    }

    #[test]
    fn parts_have_classes_and_nothing_is_lost() {
        let html = shown("rust", "// a <b>\nfn main() { let x = \"é&\"; }\n").unwrap();
        for part in [
            "<span class=\"hl-comment\">",
            "&lt;b&gt;",
            "<span class=\"hl-keyword\">fn</span>",
            "hl-function\">main",
        ] {
            assert!(html.contains(part), "{part} is missing in {html}");
        }
        let diff = shown("diff", "-a\n+b\n").unwrap();
        assert!(diff.contains("hl-deleted") && diff.contains("hl-inserted"), "{diff}");
    }

    #[test]
    fn long_lines_much_code_and_late_code_stay_plain() {
        let late = html("rust", "fn a() {}\n", Instant::now() - Duration::from_secs(1)).unwrap();
        assert_eq!(late, "fn a() {}\n");
        let long = format!("fn a() {{}}\nlet x = \"{}\";\n", "y".repeat(LINE));
        assert!(shown("rust", &long).unwrap().ends_with(&format!("let x = \"{}\";\n", "y".repeat(LINE))));
        let much = "fn a() {}\n".repeat(CODE / 10 + 5);
        let html = shown("rust", &much).unwrap();
        assert_eq!(html.matches("main").count(), 0);
        assert!(html.ends_with("\nfn a() {}\n"), "the end is plain");
    }

    proptest::proptest! {
        #[test]
        fn any_code_is_shown_whole(code in "(?s).{0,200}") {
            let html = shown("rust", &code).unwrap();
            let mut plain = String::new();
            let mut rest = html.as_str();
            while let Some(at) = rest.find('<') {
                plain.push_str(&rest[..at]);
                rest = &rest[at + rest[at..].find('>').unwrap() + 1..];
            }
            plain.push_str(rest);
            let plain = plain.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
            proptest::prop_assert_eq!(plain, code);
        }
    }
}
