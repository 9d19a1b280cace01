//! Finds the heading and the first sentence of a README among badges, logos and tables of contents.

use super::Said;
use regex::Regex;
use std::sync::LazyLock;

/// Characters of a sentence at the most.
const SENTENCE_CHARS: usize = 200;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Readme {
    pub(super) heading: Option<String>,
    pub(super) sentence: Option<Said>,
}

pub(super) fn read(text: &str, path: &str) -> Readme {
    let mut readme = Readme::default();
    let mut paragraph: Option<(u64, String)> = None;
    let lines: Vec<&str> = text.lines().collect();
    let (mut fenced, mut comment, mut front_matter) = (false, false, lines.first() == Some(&"---"));
    for (index, line) in lines.iter().enumerate() {
        let raw = line.trim();
        if front_matter {
            front_matter = index == 0 || raw != "---";
            continue;
        }
        if comment || raw.starts_with("<!--") {
            comment = !raw.contains("-->");
            continue;
        }
        if raw.starts_with("```") || raw.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        let under = lines.get(index + 1).map(|next| next.trim()).unwrap_or_default();
        let underlined =
            under.len() >= 3 && (under.chars().all(|c| c == '=') || under.chars().all(|c| c == '-'));
        let heading =
            raw.strip_prefix('#').map(|rest| rest.trim_matches(['#', ' '])).or(underlined.then_some(raw));
        let html_heading = raw.starts_with("<h1").then_some(raw);
        if let Some(heading) = heading.or(html_heading).filter(|_| !fenced) {
            if paragraph.is_some() {
                break;
            }
            let heading = plain(heading);
            if readme.heading.is_none() && !heading.is_empty() {
                readme.heading = Some(heading);
            }
            continue;
        }
        let prose = if fenced { String::new() } else { plain(raw) };
        match &mut paragraph {
            Some(_) if raw.is_empty() => break,
            Some((_, so_far)) => {
                so_far.push(' ');
                so_far.push_str(&prose);
            }
            None if is_prose(raw, &prose) => paragraph = Some((index as u64 + 1, prose)),
            None => {}
        }
    }
    readme.sentence =
        paragraph.map(|(line, text)| Said { text: first_sentence(&text), path: path.to_owned(), line });
    readme
}

/// A line that begins a paragraph: words, not badges, rules, lists, tables or a row of links.
fn is_prose(raw: &str, plain: &str) -> bool {
    let list = raw.starts_with(['|', '-', '*', '+', '=', '~', ':']) && !raw.starts_with("**");
    let numbered = raw
        .split_once(['.', ')'])
        .is_some_and(|(n, _)| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()));
    let directive = raw.starts_with("..") || raw.starts_with("[![") || raw.starts_with("[!");
    let links = raw.matches("](").count();
    let words = plain.split_whitespace().count();
    !list && !numbered && !directive && words >= 3 && links * 4 <= words
}

/// Strips Markdown and HTML, keeps the words.
pub(super) fn plain(text: &str) -> String {
    static MARKUP: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        let rules = [
            (r"!\[[^\]]*\]\([^)]*\)|!\[[^\]]*\]\[[^\]]*\]", ""),
            (r"\[([^\]]*)\]\([^)]*\)|\[([^\]]+)\]\[[^\]]*\]", "$1$2"),
            (r"</?[A-Za-z][^>]*>|<!--.*?-->", " "),
            (r"`{1,2}([^`_]*(?:_[^`]*)?)(?:`_|`{1,2})", "$1"),
            (r"\*\*([^*]+)\*\*|__([^_]+)__", "$1$2"),
            (r"(^|\W)[*_]([^*_]+)[*_](\W|$)", "$1$2$3"),
            (r"^>\s*", ""),
            (r"\s+", " "),
        ];
        rules.into_iter().filter_map(|(rule, with)| Some((Regex::new(rule).ok()?, with))).collect()
    });
    let mut text =
        text.replace("&nbsp;", " ").replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">");
    for (rule, with) in MARKUP.iter() {
        text = rule.replace_all(&text, *with).into_owned();
    }
    text.trim().to_owned()
}

/// Cuts behind the first full stop that ends a sentence.
pub(super) fn first_sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
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
    crate::text::cut_at_word(sentence, SENTENCE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_heading_and_the_first_sentence() {
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
            ("", None, None),
            ("# Only\n", Some("Only"), None),
        ];
        for (text, heading, sentence) in rows {
            let readme = read(text, "README.md");
            assert_eq!(readme.heading.as_deref(), heading, "{text}");
            let found = readme.sentence.map(|said| (said.text, said.line));
            assert_eq!(found, sentence.map(|(text, line)| (text.to_owned(), line)), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*", lines in "([#>*`<\\[\\]()! .é\n-]|word){0,60}") {
            read(&text, "README");
            read(&lines, "README");
        }
    }
}
