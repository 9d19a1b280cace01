//! Markdown in, sanitised HTML out. Rendered here, once, so that the page needs no Markdown code and trusts no text.

use pulldown_cmark::{Event, Options, Parser, html};

/// Texts are cut here; what a person reads is never longer.
pub(crate) const MAX_BYTES: usize = 1 << 20;

/// Renders `text`. No scripts, no styles, no images from anywhere, no raw HTML; links open beside the page.
pub(crate) fn to_html(text: &str) -> String {
    let text = crate::prune::head(text, MAX_BYTES);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let events = Parser::new_ext(text, options).map(|event| match event {
        // Shown as it was written: a model that says <b> means the characters.
        Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
        Event::SoftBreak => Event::HardBreak,
        other => other,
    });
    let mut rendered = String::with_capacity(text.len() * 3 / 2);
    html::push_html(&mut rendered, events);
    ammonia::Builder::default()
        .rm_tags(["img"])
        .add_tags(["input"])
        .add_tag_attributes("input", ["type", "checked", "disabled"])
        .add_tag_attributes("code", ["class"])
        .url_schemes(["http", "https", "mailto"].into())
        .set_tag_attribute_value("a", "target", "_blank")
        .link_rel(Some("noopener noreferrer"))
        .clean(&rendered)
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::to_html;

    #[test]
    fn the_final_message_of_an_exploration() {
        let text = "**Repository:** demo\n\n**Intent From Session History:**\nFix the parser.";
        assert_eq!(
            to_html(text),
            "<p><strong>Repository:</strong> demo</p>\n<p><strong>Intent From Session History:</strong><br>\n\
             Fix the parser.</p>\n"
        );
    }

    #[test]
    fn nothing_active_comes_through() {
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
        ] {
            assert!(!to_html(hostile).contains(forbidden), "{hostile} gave {}", to_html(hostile));
        }
    }

    #[test]
    fn code_tables_and_links_stay() {
        let html = to_html(
            "```rust\nlet x = 1 < 2;\n```\n\n|a|b|\n|-|-|\n|1|2|\n\n[x](https://example.com)\n\n- [x] done",
        );
        for part in [
            "<code class=\"language-rust\">let x = 1 &lt; 2;",
            "<table>",
            "<a href=\"https://example.com\" target=\"_blank\" rel=\"noopener noreferrer\">x</a>",
            "type=\"checkbox\"",
        ] {
            assert!(html.contains(part), "{part} is missing in {html}");
        }
    }
}
