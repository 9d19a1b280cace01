//! Renders Markdown as sanitised HTML: pages need no Markdown code, and need not trust any text.

mod highlight;

use highlight::{classes, highlight};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd, html};
use pulldown_cmark_escape::{escape_html, escape_html_body_text};
use std::time::{Duration, Instant};

/// Longer texts, in bytes, are cut.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// Longer texts, in bytes, are shown as plain text.
const RENDERED_BYTES: usize = 256 << 10;
/// Texts with deeper nesting are shown as plain text: an HTML parser takes time quadratic in the depth.
const DEPTH: usize = 50;
/// Time limit for highlighting one message; the rest of its code is left plain. The first use of a language compiles its
/// patterns, which takes most of this time.
const HIGHLIGHT_TIME: Duration = Duration::from_millis(1_500);

/// Whether code is marked with classes for its colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    Highlighted,
    Plain,
}

/// Renders `text` without scripts, styles, images or raw HTML. Links open in a new tab.
pub fn to_html(text: &str, code: Code) -> String {
    let text = openagents_core::text::prefix(text, MAX_BYTES);
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
    match code {
        Code::Highlighted => html::push_html(&mut rendered, Highlighted { events, until: None }),
        Code::Plain => html::push_html(&mut rendered, events),
    }
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
    /// Set at the first block.
    until: Option<Instant>,
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
        // The first block of all waits for the languages.
        let until = *self.until.get_or_insert_with(|| {
            highlight::load();
            Instant::now() + HIGHLIGHT_TIME
        });
        match highlight(&language, &code, until) {
            Some(html) => block.push_str(&html),
            None => drop(escape_html_body_text(&mut block, &code)),
        }
        block.push_str("</code></pre>\n");
        Some(Event::Html(block.into()))
    }
}

/// Returns a text as it is; the first MiB of it.
pub fn plain_text(text: &str) -> String {
    let text = openagents_core::text::prefix(text, MAX_BYTES);
    let mut html = "<pre>".to_owned();
    html::push_html(&mut html, std::iter::once(Event::Text(text.into())));
    html + "</pre>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use highlight::{CODE, LINE};

    fn to_html(text: &str) -> String {
        super::to_html(text, Code::Highlighted)
    }

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
    fn markdown_renders_deep_nesting() {
        for deep in ["> ", "- ", "*a **b "] {
            let text = deep.repeat(RENDERED_BYTES / deep.len() - 16) + "<b>" + &"c** d*".repeat(8);
            let began = std::time::Instant::now();
            let html = to_html(&text);
            assert!(began.elapsed() < std::time::Duration::from_secs(60), "{deep} hangs");
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
