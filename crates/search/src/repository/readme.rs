//! Finds the heading and the first paragraphs of a README between badges, logos and tables of contents.

use openagents_core::{
    text::{cut_at_word, is_listed, one_line, prefix},
    update::Evidence,
};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Characters of a heading; longer ones are slogans.
const HEADING: usize = 60;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Readme {
    pub(super) heading: Option<String>,
    pub(super) sentence: Option<Description>,
    /// The sentence is complete and precedes any code, so it introduces the project.
    pub(super) introduces: bool,
    /// The first paragraphs of prose; quotations only if there is nothing else.
    pub(super) paragraphs: Vec<Paragraph>,
}

/// A paragraph of prose, without markup.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Paragraph {
    pub(crate) text: String,
    /// First and last line, from 1.
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// Maximum paragraphs that are returned, and that are read to find the one that defines the project.
const PARAGRAPHS: usize = 3;
const READ: usize = 12;

/// Reads Markdown; good enough for headings and paragraphs of reStructuredText and plain text. `name` is what the project
/// is called elsewhere.
pub(super) fn parse(text: &str, path: &str, name: Option<&str>) -> Readme {
    let mut readme = Readme::default();
    let (mut block, mut code_seen, mut quotes) = (Block::default(), false, 0_usize);
    let (mut prose, mut quoted) = (Vec::new(), Vec::new());
    for (event, range) in
        Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS)
            .into_offset_iter()
    {
        match event {
            Event::Start(Tag::CodeBlock(_)) => code_seen = true,
            Event::Start(Tag::Heading { .. } | Tag::Paragraph | Tag::HtmlBlock) => {
                block = Block::at(range.start, &block)
            }
            Event::Start(Tag::List(_) | Tag::Table(_) | Tag::MetadataBlock(_)) => block.nested += 1,
            Event::End(TagEnd::List(_) | TagEnd::Table | TagEnd::MetadataBlock(_)) => {
                block.nested = block.nested.saturating_sub(1);
            }
            Event::Start(Tag::Image { .. }) => block.images += 1,
            Event::End(TagEnd::Image) => block.images = block.images.saturating_sub(1),
            Event::Start(Tag::Link { .. }) => block.links += 1,
            Event::End(TagEnd::Link) => block.links = block.links.saturating_sub(1),
            Event::Text(words) | Event::Code(words) => block.add(&words),
            Event::SoftBreak | Event::HardBreak | Event::InlineHtml(_) => block.add(" "),
            Event::Html(html) => block.html.push_str(&html),
            Event::End(TagEnd::Heading(_)) => {
                let heading = block.text();
                let is_name = !heading.ends_with('?') && (1..=HEADING).contains(&heading.chars().count());
                if readme.heading.is_none() && prose.is_empty() && is_name {
                    readme.heading = Some(heading);
                }
            }
            Event::Start(Tag::BlockQuote(_)) => quotes += 1,
            Event::End(TagEnd::BlockQuote(_)) => quotes = quotes.saturating_sub(1),
            Event::End(TagEnd::Paragraph | TagEnd::HtmlBlock) if block.is_prose() => {
                let line = |at: usize| text[..at].matches('\n').count() as u64 + 1;
                let end = block.start + text[block.start..range.end].trim_end().len();
                let paragraph = Paragraph { text: block.text(), start: line(block.start), end: line(end) };
                if quotes > 0 { &mut quoted } else { &mut prose }.push((paragraph, code_seen));
                if prose.len() == READ {
                    break;
                }
            }
            _ => {}
        }
    }
    // A slogan, thanks or news may come before "NAME is …".
    if let Some(at) = prose.iter().position(|(paragraph, _)| readme.is_defined_by(&paragraph.text, name)) {
        prose[..=at].rotate_right(1);
    }
    if prose.is_empty() {
        prose.extend(quoted.into_iter().next());
    }
    if let Some((paragraph, code_seen)) = prose.first() {
        readme.introduce(paragraph, path, *code_seen);
    }
    readme.paragraphs = prose.into_iter().take(PARAGRAPHS).map(|(paragraph, _)| paragraph).collect();
    readme
}

impl Readme {
    /// Returns whether a paragraph says what the project is: "NAME is …".
    fn is_defined_by(&self, text: &str, name: Option<&str>) -> bool {
        let words = |text: &str| -> Vec<String> {
            let letters = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            text.split_whitespace().map(letters).filter(|word| !word.is_empty() && word != "the").collect()
        };
        let text = words(prefix(text, HEADING * 4));
        self.heading.as_deref().into_iter().chain(name).map(words).any(|name| {
            let rest = text.strip_prefix(name.as_slice()).unwrap_or_default();
            let is_verb =
                |word: &String| is_listed(word, "is|are|lets|provides|sends|helps|makes|allows|offers|aims");
            // "NAME is written in Python" says something else.
            let is_state =
                |word: &String| word.ends_with("ed") || is_listed(word, "written|available|built|made|free");
            !name.is_empty() && rest.first().is_some_and(is_verb) && !rest.get(1).is_some_and(is_state)
        })
    }

    fn introduce(&mut self, paragraph: &Paragraph, path: &str, code_seen: bool) {
        let text = first_sentence(&paragraph.text);
        self.introduces = !code_seen && (text.ends_with(['.', '!']) || text.contains(" is "));
        self.sentence = Some(Description { text, path: path.to_owned(), line: paragraph.start });
    }
}

/// A heading or a paragraph being collected.
#[derive(Debug, Default)]
struct Block {
    start: usize,
    words: String,
    linked: usize,
    /// Depth of enclosing lists, tables and front matter.
    nested: usize,
    images: usize,
    links: usize,
    html: String,
}

impl Block {
    fn at(start: usize, around: &Self) -> Self {
        Self { start, nested: around.nested, ..Self::default() }
    }

    fn add(&mut self, words: &str) {
        if self.images == 0 {
            self.words.push_str(words);
            if self.links > 0 {
                self.linked += words.len();
            }
        }
    }

    fn text(&self) -> String {
        let html = without_tags(&self.html);
        self.words.split_whitespace().chain(html.split_whitespace()).collect::<Vec<_>>().join(" ")
    }

    /// Returns whether it is prose: not a row of links, a list, or a directive of reStructuredText.
    fn is_prose(&self) -> bool {
        let text = self.text();
        let directive = text.starts_with("..") || text.starts_with(':') || text.contains("]:");
        let words = text.split(' ').filter(|word| word.chars().filter(|c| c.is_alphabetic()).count() > 1);
        let addresses: usize = text.split(' ').filter(|word| word.contains("://")).map(str::len).sum();
        let least = if text.ends_with('.') { 2 } else { 3 };
        let lower = text.to_lowercase();
        let is_thanks = [
            "special thanks",
            "sponsors",
            "sponsored by",
            "sponsor this",
            "donate",
            "backers",
            " funding platform",
            "patreon",
            "tidelift",
        ]
        .iter()
        .any(|word| lower.contains(word));
        let is_caption = text.ends_with(':') && text.chars().count() <= HEADING;
        let is_menu = text.chars().filter(|c| matches!(c, '•' | '·' | '|')).count() > 1;
        self.nested == 0
            && !directive
            && !is_menu
            && !is_thanks
            && !is_caption
            && words.count() >= least
            && (self.linked + addresses) * 2 < text.len()
    }
}

fn without_tags(html: &str) -> String {
    let mut parts = html.split('<');
    let first = parts.next();
    let others = parts.filter_map(|part| Some(part.split_once('>')?.1));
    first.into_iter().chain(others).collect::<Vec<_>>().join(" ").replace("&nbsp;", " ")
}

/// Cuts after the first full stop that ends a sentence.
pub(crate) fn first_sentence(text: &str) -> String {
    let text = one_line(text);
    let abbreviation = |head: &str| {
        let last = head.rsplit(' ').next().unwrap_or_default().trim_start_matches('(').to_ascii_lowercase();
        matches!(last.as_str(), "e.g" | "i.e" | "etc" | "vs" | "approx" | "cf" | "mr" | "dr" | "st" | "no")
    };
    let ends = text.match_indices(['.', '!', '?']).map(|(at, _)| at);
    let end = ends.into_iter().find(|at| {
        let behind = &text[at + 1..];
        (behind.is_empty() || behind.starts_with(' ')) && !abbreviation(&text[..*at])
    });
    let sentence = end.map_or(text.as_str(), |end| &text[..=end]);
    cut_at_word(sentence, SENTENCE)
}

// A sentence that describes a repository.

/// Characters of a sentence: two lines of a terminal.
const SENTENCE: usize = 200;

/// A sentence with its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    pub text: String,
    /// Relative to the workspace.
    pub path: String,
    /// From 1.
    pub line: u64,
}

impl Description {
    pub fn evidence(&self) -> Evidence {
        Evidence::File { path: self.path.clone(), line: self.line, text: self.text.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readme_heading_and_first_sentence_are_found() {
        let rows = [
            (
                "# ripgrep (rg)\n------------\nripgrep is a line-oriented search tool that recursively searches the\n\
                 current directory for a regex pattern. By default, it respects gitignore.\n",
                Some("ripgrep (rg)"),
                Some((
                    "ripgrep is a line-oriented search tool that recursively searches the current directory for a regex pattern.",
                    3,
                )),
            ),
            (
                "<p align=\"center\">\n  <img src=\"x.svg\">\n</p>\n\n[![CI](a)](b) [![npm](c)](d)\n\n# Vite ⚡\n\n\
                 > Next Generation *Frontend* Tooling\n\n- fast\n",
                Some("Vite ⚡"),
                Some(("Next Generation Frontend Tooling", 9)),
            ),
            (
                "requests\n========\n\n.. image:: x\n\n**Requests** is a simple, yet elegant, HTTP library (e.g. for APIs).\nMore.\n",
                Some("requests"),
                Some(("Requests is a simple, yet elegant, HTTP library (e.g. for APIs).", 6)),
            ),
            (
                "<!-- generated\nby a tool -->\n## App\n\n| a | b |\n\n1. one\n\nUse `cargo run` with [the docs](x) now, it is v1.2 ready.\n",
                Some("App"),
                Some(("Use cargo run with the docs now, it is v1.2 ready.", 9)),
            ),
            ("---\ntitle: x\n---\n# T\n\nBody has words here\n", Some("T"), Some(("Body has words here", 6))),
            (
                "# Serde JSON &emsp; [![Build Status]][actions]\n\n[Build Status]: https://x/y.svg\n[actions]: https://x\n\n\
                 **Serde is a framework for *ser*ializing data.**\n\n---\n",
                Some("Serde JSON"),
                Some(("Serde is a framework for serializing data.", 6)),
            ),
            (
                "<div align=\"center\">\n<h1>Thing</h1>\n<p>A thing that does things.</p>\n</div>\n",
                None,
                Some(("Thing A thing that does things.", 1)),
            ),
            (
                "# Cop\n\n> Role models are important. <br/>\n> -- Alex\n\nCop is a linter for Ruby.\n",
                Some("Cop"),
                Some(("Cop is a linter for Ruby.", 6)),
            ),
            (
                "# Thing\n\nThe fastest of all!\n\nOur sponsors are the best people:\n\nThe thing is a tool for cats.\n",
                Some("Thing"),
                Some(("The thing is a tool for cats.", 7)),
            ),
            (
                "# Thing\n\nIt counts cats.\n\nThing is written in Rust.\n",
                Some("Thing"),
                Some(("It counts cats.", 3)),
            ),
            ("", None, None),
            ("# Only\n", Some("Only"), None),
            ("## What is it?\n\nThing is a tool.\n", None, Some(("Thing is a tool.", 3))),
        ];
        for (text, heading, sentence) in rows {
            let readme = parse(text, "README.md", None);
            assert_eq!(readme.heading.as_deref(), heading, "{text}");
            let found = readme.sentence.map(|sentence| (sentence.text, sentence.line));
            assert_eq!(found, sentence.map(|(text, line)| (text.to_owned(), line)), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed(text in "\\PC*", lines in "([#>*`<\\[\\]()! .é\n-]|word){0,60}") {
            parse(&text, "README", None);
            parse(&lines, "README", None);
        }
    }
}
