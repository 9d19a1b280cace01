//! Renders Markdown to sanitised HTML, so that the page needs no Markdown code and need not trust any text.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd, html};
use pulldown_cmark_escape::{escape_html, escape_html_body_text};
use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};
use syntect::{
    parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet},
    util::LinesWithEndings,
};

/// Longer texts, in bytes, are cut.
const MAX_BYTES: usize = 1 << 20;
/// Longer texts, in bytes, are shown as plain text.
const RENDERED_BYTES: usize = 256 << 10;
/// Texts with deeper nesting are shown as plain text: an HTML parser takes time quadratic in the depth.
const DEPTH: usize = 50;
const RENDER_TIME: Duration = Duration::from_secs(2);
/// Time limit for highlighting one message; the rest of its code is left plain.
const HIGHLIGHT_TIME: Duration = Duration::from_millis(150);

/// Renders `text` on a blocking thread. Falls back to plain text when that takes too long.
pub(crate) async fn render(text: String) -> String {
    let text: std::sync::Arc<str> = text.into();
    let rendering = text.clone();
    let rendered = openagents_sessions::run_blocking(move || to_html(&rendering));
    match tokio::time::timeout(RENDER_TIME, rendered).await {
        Ok(Some(html)) => html,
        _ => plain_text(openagents_sessions::prune::head(&text, MAX_BYTES)),
    }
}

/// Renders `text` without scripts, styles, images or raw HTML. Links open in a new tab.
fn to_html(text: &str) -> String {
    let text = openagents_sessions::prune::head(text, MAX_BYTES);
    if text.len() > RENDERED_BYTES {
        return plain_text(text);
    }
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let (mut depth, mut deepest) = (0_usize, 0);
    let events = Parser::new_ext(text, options).map_while(|event| {
        match &event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
        (deepest <= DEPTH).then_some(match event {
            // Shown as text: a model that writes <b> means the characters.
            Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
            Event::SoftBreak => Event::HardBreak,
            other => other,
        })
    });
    let mut rendered = String::with_capacity(text.len() * 3 / 2);
    html::push_html(&mut rendered, Highlighted { events, until: Instant::now() + HIGHLIGHT_TIME });
    if deepest > DEPTH {
        return plain_text(text);
    }
    ammonia::Builder::default()
        .rm_tags(["img"])
        .add_tags(["input"])
        .add_tag_attributes("input", ["type", "checked", "disabled"])
        .add_tag_attributes("code", ["class"])
        .add_allowed_classes("span", classes())
        .url_schemes(["http", "https", "mailto"].into())
        .set_tag_attribute_value("a", "target", "_blank")
        .link_rel(Some("noopener noreferrer"))
        .clean(&rendered)
        .to_string()
}

/// Events whose code blocks are highlighted.
struct Highlighted<I> {
    events: I,
    until: Instant,
}

impl<'a, I: Iterator<Item = Event<'a>>> Iterator for Highlighted<I> {
    type Item = Event<'a>;

    fn next(&mut self) -> Option<Event<'a>> {
        let event = self.events.next()?;
        let Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) = event else { return Some(event) };
        let mut code = String::new();
        for event in self.events.by_ref() {
            match event {
                Event::Text(text) => code.push_str(&text),
                Event::End(TagEnd::CodeBlock) => break,
                _ => {}
            }
        }
        let mut block = "<pre><code".to_owned();
        if let Some(name) = language.split([' ', ',']).next().filter(|name| !name.is_empty()) {
            block.push_str(" class=\"language-");
            // Writing to a string does not fail.
            let _ = escape_html(&mut block, name);
            block.push('"');
        }
        block.push('>');
        match highlight(&language, &code, self.until) {
            Some(html) => block.push_str(&html),
            None => drop(escape_html_body_text(&mut block, &code)),
        }
        block.push_str("</code></pre>\n");
        Some(Event::Html(block.into()))
    }
}

fn plain_text(text: &str) -> String {
    let mut html = "<pre>".to_owned();
    html::push_html(&mut html, std::iter::once(Event::Text(text.into())));
    html + "</pre>\n"
}

// Syntax highlighting: marks comments, strings, keywords and so on with CSS classes. The page defines the colours.

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

fn classes() -> impl Iterator<Item = &'static str> {
    CLASSES.iter().map(|(_, class)| *class).filter(|class| !class.is_empty())
}

/// Returns code as HTML, without the surrounding element. `None` if the language is unknown. After `until`, the rest is
/// left plain.
fn highlight(language: &str, code: &str, until: Instant) -> Option<String> {
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

/// Returns the class of the innermost scope that has one.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_renders_the_exploration_summary() {
        let text = "**Repository:** demo\n\n**Intent From Session History:**\nFix the parser.";
        assert_eq!(
            to_html(text),
            "<p><strong>Repository:</strong> demo</p>\n<p><strong>Intent From Session History:</strong><br>\n\
             Fix the parser.</p>\n"
        );
    }

    #[test]
    fn markdown_drops_active_content() {
        for (hostile, forbidden) in [
            ("<script>alert(1)</script>", "<script"),
            ("<img src=x onerror=alert(1)>", "<img"),
            ("![x](https://example.com/track.png)", "<img"),
            ("[x](javascript:alert(1))", "javascript:"),
            ("[x](data:text/html;base64,AAAA)", "data:"),
            ("<a href='https://example.com' onclick='x()'>x</a>", "<a href='"),
            ("```\"><script>alert(1)</script>\nx\n```", "<script"),
            ("<iframe src=https://example.com>", "<iframe"),
            ("<style>*{display:none}</style>", "<style"),
            ("<span class=\"dialog\">x</span>", "<span"),
            ("```rust\n</span></code><script>alert(1)</script>\n```", "<script"),
        ] {
            assert!(!to_html(hostile).contains(forbidden), "{hostile} gave {}", to_html(hostile));
        }
    }

    #[test]
    fn markdown_renders_deep_nesting_quickly() {
        for deep in ["> ", "- ", "*a **b "] {
            let text = deep.repeat(RENDERED_BYTES / deep.len() - 16) + "<b>" + &"c** d*".repeat(8);
            let began = std::time::Instant::now();
            let html = to_html(&text);
            assert!(began.elapsed() < std::time::Duration::from_secs(1), "{deep} took {:?}", began.elapsed());
            assert!(!html.contains("<b>") && html.ends_with('\n'), "{deep}");
        }
        let nested = |depth: usize| to_html(&("> ".repeat(depth) + "x<b>"));
        assert!(nested(DEPTH - 1).starts_with("<blockquote>"));
        assert!(
            nested(DEPTH).starts_with("<pre>&gt; &gt;") && nested(DEPTH).ends_with(" x&lt;b&gt;</pre>\n")
        );
    }

    #[test]
    fn markdown_shows_long_text_as_plain_text() {
        let html = to_html(&"**x** ".repeat(RENDERED_BYTES / 4));
        assert!(html.starts_with("<pre>**x** **x**") && html.len() > RENDERED_BYTES);
    }

    #[tokio::test]
    async fn render_equals_to_html() {
        assert_eq!(super::render("*x*".to_owned()).await, to_html("*x*"));
    }

    #[test]
    fn markdown_keeps_code_tables_and_links() {
        let html = to_html(
            "```rust\nlet x = 1 < 2;\n```\n\n|a|b|\n|-|-|\n|1|2|\n\n[x](https://example.com)\n\n- [x] done",
        );
        for part in [
            "<pre><code class=\"language-rust\"><span class=\"hl-keyword\">let</span> x = <span class=\"hl-number\">1</span> &lt; ",
            "<table>",
            "<a href=\"https://example.com\" target=\"_blank\" rel=\"noopener noreferrer\">x</a>",
            "type=\"checkbox\"",
        ] {
            assert!(html.contains(part), "{part} is missing in {html}");
        }
    }

    fn shown(language: &str, code: &str) -> Option<String> {
        highlight(language, code, Instant::now() + Duration::from_secs(60))
    }

    #[test]
    fn highlight_knows_common_languages() {
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
    fn highlight_marks_parts_with_classes() {
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
    fn highlight_leaves_long_and_late_code_plain() {
        let late = highlight("rust", "fn a() {}\n", Instant::now() - Duration::from_secs(1)).unwrap();
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
        fn highlight_preserves_any_code(code in "(?s).{0,200}") {
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
