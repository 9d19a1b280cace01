//! Syntax highlighting: marks comments, strings, keywords and so on with CSS classes. The page defines the colours.

use pulldown_cmark_escape::escape_html_body_text;
use std::{sync::OnceLock, time::Instant};
use syntect::{
    parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet},
    util::LinesWithEndings,
};

/// Maximum bytes of code that are highlighted; longer code is most likely a dump.
pub(super) const CODE: usize = 64 << 10;
/// Maximum bytes of a line that is highlighted; longer lines are most likely minified code.
pub(super) const LINE: usize = 2_000;

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

pub(super) fn classes() -> impl Iterator<Item = &'static str> {
    CLASSES.iter().map(|(_, class)| *class).filter(|class| !class.is_empty())
}

/// Returns code as HTML, without the surrounding element. `None` if the language is unknown. After `until`, the rest is
/// left plain.
pub(super) fn highlight(language: &str, code: &str, until: Instant) -> Option<String> {
    let (set, scopes) = syntaxes();
    let syntax = find_syntax(set, language)?;
    let mut html = String::with_capacity(code.len() * 3);
    let (mut state, mut stack) = (ParseState::new(syntax), ScopeStack::new());
    let mut done = 0;
    for line in LinesWithEndings::from(code) {
        let is_plain = done + line.len() > CODE || line.len() > LINE || Instant::now() > until;
        // Stop at a line that cannot be parsed, because the state of the following lines depends on it.
        let Some(ops) = (!is_plain).then(|| state.parse_line(line, set).ok()).flatten() else { break };
        let mut from = 0;
        for (at, op) in ops {
            push_span(&mut html, line.get(from..at).unwrap_or_default(), class(scopes, &stack));
            from = at;
            stack.apply(&op).ok()?;
        }
        push_span(&mut html, line.get(from..).unwrap_or_default(), class(scopes, &stack));
        done += line.len();
    }
    push_span(&mut html, &code[done..], "");
    Some(html)
}

/// Loads the languages, which takes a moment the first time.
pub(super) fn load() {
    syntaxes();
}

type Scopes = Vec<(Scope, &'static str)>;

/// Returns the languages that bat knows (those of Sublime Text, TypeScript, TOML, Swift and others), and the scopes.
fn syntaxes() -> &'static (SyntaxSet, Scopes) {
    static LOADED: OnceLock<(SyntaxSet, Scopes)> = OnceLock::new();
    LOADED.get_or_init(|| {
        let scopes = CLASSES.iter().filter_map(|(name, class)| Some((Scope::new(name).ok()?, *class)));
        (two_face::syntax::extra_newlines(), scopes.collect())
    })
}

fn find_syntax<'a>(set: &'a SyntaxSet, language: &str) -> Option<&'a SyntaxReference> {
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

fn class(scopes: &Scopes, stack: &ScopeStack) -> &'static str {
    let of = |scope: &Scope| scopes.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope));
    stack.as_slice().iter().rev().find_map(of).map_or("", |(_, class)| *class)
}

fn push_span(html: &mut String, text: &str, class: &str) {
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
