//! Reads a plan that a model wrote as text, one step a line. Nothing fails: what is not understood is dropped and
//! counted.

use super::OpKind;
use crate::history::Provider;
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

/// What a text plan gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextPlan {
    /// The steps, neither de-duplicated nor cut.
    pub ops: Vec<OpKind>,
    /// Lines with words in them that were not understood.
    pub dropped: usize,
}

/// Lines that a read step takes when the text names none.
const DEFAULT_SPAN: (u64, u64) = (1, 100);

/// Reads a plan. Numbering, bullets, quotation marks, case and form (call, JSON, prose) do not matter.
pub fn parse_text_plan(text: &str) -> TextPlan {
    let mut plan = TextPlan::default();
    for line in text.lines().map(without_decoration).filter(|line| line.chars().any(char::is_alphanumeric)) {
        match Line::new(line).op() {
            Some(op) => plan.ops.push(op),
            None => plan.dropped += 1,
        }
    }
    plan
}

/// Strips numbering, bullets, emphasis and the commas of a JSON list.
fn without_decoration(line: &str) -> &str {
    static LEAD: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)^(?:step\s+\d+\s*[:.)-]|\d+\s*[.):]|[-*•–+>#]+|\[[ x]?\])\s*").ok()
    });
    let mut rest = line.trim().trim_end_matches([',', ';']);
    while let Some(found) = LEAD.as_ref().and_then(|lead| lead.find(rest)).filter(|found| !found.is_empty()) {
        rest = rest[found.end()..].trim_start();
    }
    let rest = rest.trim_matches('*').trim();
    // A whole step set as code.
    let inside = rest.strip_prefix('`').and_then(|inside| inside.strip_suffix('`'));
    inside.filter(|inside| !inside.contains('`')).unwrap_or(rest)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Verb {
    SessionList,
    SessionSearch,
    SessionRead,
    SessionAnalyze,
    ListDir,
    ReadSpan,
    Grep,
}

/// One line, taken apart.
struct Line<'a> {
    /// Words and quoted texts, in order.
    tokens: Vec<Token<'a>>,
    /// What stands in quotation marks, in order.
    quoted: Vec<&'a str>,
    /// The words outside of quotation marks.
    words: Vec<&'a str>,
    /// Parameters of a JSON form.
    json: Option<Value>,
}

#[derive(Debug, Clone, Copy)]
enum Token<'a> {
    Word(&'a str),
    Quoted(&'a str),
}

impl<'a> Line<'a> {
    fn new(line: &'a str) -> Self {
        let json = line.find('{').zip(line.rfind('}')).filter(|(open, close)| open < close);
        let json = json.and_then(|(open, close)| {
            serde_json::from_str::<Value>(&line[open..=close]).ok().map(|value| (open, value))
        });
        let (prose, json) = match json {
            Some((open, value)) => (&line[..open], Some(value)),
            None => (line, None),
        };
        let tokens = tokens(prose);
        let quoted = |token: &Token<'a>| if let Token::Quoted(text) = token { Some(*text) } else { None };
        let word = |token: &Token<'a>| if let Token::Word(text) = token { Some(*text) } else { None };
        Self {
            quoted: tokens.iter().filter_map(quoted).collect(),
            words: tokens.iter().filter_map(word).collect(),
            tokens,
            json,
        }
    }

    fn op(&self) -> Option<OpKind> {
        let verb = self.verb()?;
        let provider = self.provider();
        Some(match verb {
            Verb::SessionList => OpKind::SessionList {
                provider,
                top_k: self.number(&["topk", "limit", "count"]).or_else(|| self.count()).map(|n| n as usize),
                since: self.number(&["since"]).map(|n| n as i64),
            },
            Verb::SessionSearch => OpKind::SessionSearch {
                pattern: self.pattern()?,
                provider,
                session_ids: self.strings("sessionids"),
                max_results: self.number(&["maxresults"]).map(|n| n as usize),
                context_lines: self.number(&["contextlines"]).map(|n| n as usize),
            },
            Verb::SessionRead => OpKind::SessionRead {
                session_id: self.text(&["sessionid", "id", "session"]).or_else(|| self.session_id())?,
                provider: provider.unwrap_or(Provider::ClaudeCode),
                start_line: self.number(&["startline"]),
                end_line: self.number(&["endline"]),
                max_events: self.number(&["maxevents"]).map(|n| n as usize),
            },
            Verb::SessionAnalyze => OpKind::SessionAnalyze {
                session_ids: self.strings("sessionids"),
                provider,
                metrics: self.strings("metrics"),
            },
            Verb::ListDir => OpKind::ListDir {
                path: self
                    .text(&["path", "dir", "directory"])
                    .or_else(|| self.path())
                    .unwrap_or_else(|| ".".into()),
                depth: self.number(&["depth"]).unwrap_or(0) as usize,
            },
            Verb::ReadSpan => {
                let path = self.text(&["path", "file"]).or_else(|| self.path())?;
                let (path, inline) = split_inline_span(&path);
                let (start, end) = self.span().or(inline).unwrap_or(DEFAULT_SPAN);
                OpKind::ReadSpan {
                    path: path.to_owned(),
                    start_line: self.number(&["startline", "start"]).unwrap_or(start).max(1),
                    end_line: self.number(&["endline", "end"]).unwrap_or(end),
                    context: self.number(&["context"]),
                }
            }
            Verb::Grep => OpKind::Grep {
                pattern: self.pattern()?,
                path_prefix: self.text(&["pathprefix", "path"]).or_else(|| self.behind_in()),
                case_insensitive: self.flag("caseinsensitive"),
                max_results: self.number(&["maxresults"]).map(|n| n as usize),
                context_lines: self.number(&["contextlines"]).map(|n| n as usize),
            },
        })
    }

    fn verb(&self) -> Option<Verb> {
        let named = self.text(&["op", "operation", "tool", "kind", "type", "name", "action"]);
        if let Some(verb) = named.as_deref().and_then(verb_by_name) {
            return Some(verb);
        }
        let first = self.words.first()?;
        let pair = self.words.get(1).map(|second| format!("{first}{second}"));
        if let Some(verb) = verb_by_name(first).or_else(|| pair.as_deref().and_then(verb_by_name)) {
            return Some(verb);
        }
        let about_sessions = self.words.iter().any(|word| {
            matches!(
                word.to_ascii_lowercase().as_str(),
                "session" | "sessions" | "conversations" | "transcripts"
            )
        });
        self.words.iter().take(4).find_map(|word| match word.to_ascii_lowercase().as_str() {
            "list" | "ls" | "enumerate" if about_sessions => Some(Verb::SessionList),
            "list" | "ls" | "enumerate" => Some(Verb::ListDir),
            "search" | "find" | "look" if about_sessions => Some(Verb::SessionSearch),
            "search" | "find" | "look" => Some(Verb::Grep),
            "read" | "open" | "view" | "show" if about_sessions => Some(Verb::SessionRead),
            "read" | "open" | "view" | "show" => Some(Verb::ReadSpan),
            "analyze" | "analyse" | "summarize" | "summarise" if about_sessions => Some(Verb::SessionAnalyze),
            _ => None,
        })
    }

    fn provider(&self) -> Option<Provider> {
        let named = self.text(&["provider"]).and_then(|name| Provider::parse(&name));
        named.or_else(|| self.words.iter().find_map(|word| Provider::parse(word)))
    }

    fn pattern(&self) -> Option<String> {
        let named = self.text(&["pattern", "query", "regex", "text"]);
        let quoted = || self.quoted.first().map(|text| (*text).to_owned());
        let prose = || {
            let glue = [
                "for",
                "in",
                "the",
                "all",
                "pattern",
                "sessions",
                "session",
                "codex",
                "claude-code",
                "claude",
            ];
            let ends = |word: &&&str| !word.eq_ignore_ascii_case("in");
            let words = self.words.iter().skip(1).take_while(ends);
            words.copied().find(|word| !glue.contains(&word.to_ascii_lowercase().as_str())).map(str::to_owned)
        };
        named.or_else(quoted).or_else(prose).filter(|pattern| !pattern.is_empty())
    }

    /// The word behind the last `in`: `grep "x" in src`.
    fn behind_in(&self) -> Option<String> {
        let at = self.words.iter().rposition(|word| word.eq_ignore_ascii_case("in"))?;
        let behind = self.words[at + 1..].iter();
        let path =
            behind.copied().find(|word| !matches!(word.to_ascii_lowercase().as_str(), "the" | "files"));
        path.or_else(|| self.quoted.get(1).copied()).map(str::to_owned)
    }

    /// The first thing that can be a path: quoted, or a word that is neither verb nor glue nor number.
    fn path(&self) -> Option<String> {
        if let Some(quoted) = self.quoted.first() {
            return Some((*quoted).to_owned());
        }
        const GLUE: [&str; 20] = [
            "list",
            "ls",
            "read",
            "open",
            "view",
            "show",
            "listdir",
            "readspan",
            "the",
            "file",
            "files",
            "directory",
            "dir",
            "folder",
            "lines",
            "line",
            "from",
            "to",
            "of",
            "path",
        ];
        let is_glue = |word: &str| {
            let lower = word.to_ascii_lowercase();
            let is_span = lower.trim_start_matches('l').starts_with(|c: char| c.is_ascii_digit());
            GLUE.contains(&lower.as_str())
                || verb_by_name(word).is_some()
                || is_span && span_of(word).is_some()
        };
        let number = |word: &str| word.chars().all(|c| c.is_ascii_digit());
        self.words.iter().copied().find(|word| !is_glue(word) && !number(word)).map(str::to_owned)
    }

    fn span(&self) -> Option<(u64, u64)> {
        span_of(&self.words.join(" "))
    }

    fn count(&self) -> Option<u64> {
        self.words.iter().find_map(|word| word.parse().ok())
    }

    fn session_id(&self) -> Option<String> {
        let glue =
            ["session", "id", "read", "the", "with", "from", "in", "show", "open", "view", "sessionread"];
        let is_id = |word: &&str| {
            let lower = word.to_ascii_lowercase();
            !glue.contains(&lower.as_str())
                && Provider::parse(word).is_none()
                && verb_by_name(word).is_none()
                && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
        };
        self.quoted.first().copied().or_else(|| self.words.iter().copied().find(is_id)).map(str::to_owned)
    }

    /// A JSON parameter, whatever the case and separators of its key.
    fn parameter(&self, name: &str) -> Option<&Value> {
        let object = self.json.as_ref()?.as_object()?;
        let nested = ["parameters", "params", "arguments", "args", "input"];
        let inner = nested.iter().filter_map(|key| object.get(*key)?.as_object());
        inner.chain([object]).find_map(|object| {
            object
                .iter()
                .find(|(key, value)| plain(key) == name && !value.is_object())
                .map(|(_, value)| value)
        })
    }

    fn text(&self, names: &[&str]) -> Option<String> {
        let mut values = names.iter().filter_map(|name| self.parameter(name)?.as_str().map(str::to_owned));
        let inline = || names.iter().find_map(|name| self.inline(name));
        values.find(|text| !text.is_empty()).or_else(inline)
    }

    /// `pathPrefix: src` in a call that is not JSON.
    fn inline(&self, name: &str) -> Option<String> {
        let is_key =
            |token: &Token<'_>| matches!(token, Token::Word(w) if w.ends_with(':') && plain(w) == name);
        let at = self.tokens.iter().position(is_key)?;
        let (Token::Word(text) | Token::Quoted(text)) = self.tokens.get(at + 1)?;
        Some((*text).to_owned())
    }

    fn number(&self, names: &[&str]) -> Option<u64> {
        let value = names.iter().find_map(|name| self.parameter(name));
        let number = value.and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()));
        number.or_else(|| names.iter().find_map(|name| self.inline(name)?.parse().ok()))
    }

    fn strings(&self, name: &str) -> Vec<String> {
        let list = self.parameter(name).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|value| value.as_str().map(str::to_owned)).collect()
    }

    fn flag(&self, name: &str) -> bool {
        self.parameter(name).and_then(Value::as_bool).unwrap_or_default()
            || self.inline(name).is_some_and(|word| word.eq_ignore_ascii_case("true"))
    }
}

/// A key or a name without case and separators: `path_prefix`, `pathPrefix:` and `path-prefix` are one.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
}

fn verb_by_name(name: &str) -> Option<Verb> {
    Some(match plain(name).as_str() {
        "sessionlist" | "listsessions" => Verb::SessionList,
        "sessionsearch" | "searchsessions" => Verb::SessionSearch,
        "sessionread" | "readsession" => Verb::SessionRead,
        "sessionanalyze" | "sessionanalyse" | "analyzesessions" => Verb::SessionAnalyze,
        "listdir" | "fslistdir" | "listdirectory" => Verb::ListDir,
        "readspan" | "contentgetspan" | "getspan" | "readfile" => Verb::ReadSpan,
        "grep" | "searchgrep" | "codegrep" | "rg" => Verb::Grep,
        _ => return None,
    })
}

fn clean_word(word: &str) -> &str {
    // A bare `.` or `..` is a path, not the end of a sentence.
    if matches!(word, "." | "..") {
        return word;
    }
    word.trim_matches(|c: char| "*`[]<>!?;,".contains(c)).trim_end_matches('.')
}

/// Splits a line into words and quoted texts.
fn tokens(line: &str) -> Vec<Token<'_>> {
    let words = |text| {
        let parts = str::split(text, |c: char| c.is_whitespace() || "(),=".contains(c));
        parts.map(clean_word).filter(|word| !word.is_empty()).map(Token::Word)
    };
    for (at, mark) in line.char_indices() {
        let close = match mark {
            '"' | '\'' | '`' => mark,
            '“' | '”' => '”',
            '‘' => '’',
            _ => continue,
        };
        // An apostrophe inside a word opens nothing.
        if mark == '\'' && line[..at].ends_with(char::is_alphanumeric) {
            continue;
        }
        if let Some((inside, rest)) = line[at + mark.len_utf8()..].split_once(close) {
            let before = words(&line[..at]);
            return before.chain([Token::Quoted(inside)]).chain(tokens(rest)).collect();
        }
    }
    words(line).collect()
}

/// `1-50`, `1..40`, `1..=40`, `L1-L5`, `1 to 50`.
fn span_of(text: &str) -> Option<(u64, u64)> {
    static SPAN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)(?:^|[\s:#(\[])L?(\d{1,9})\s*(?:-|–|—|\.\.=?|\s+to\s+|:)\s*L?(\d{1,9})\b").ok()
    });
    let found = SPAN.as_ref()?.captures(text)?;
    Some((found[1].parse().ok()?, found[2].parse().ok()?))
}

/// `README.md:1-50` is a path with its span.
fn split_inline_span(path: &str) -> (&str, Option<(u64, u64)>) {
    match path.split_once([':', '#']) {
        Some((file, behind)) if !file.is_empty() => match span_of(behind) {
            Some(span) => (file, Some(span)),
            None => (path, None),
        },
        _ => (path, None),
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
