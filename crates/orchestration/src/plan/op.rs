//! One planned step.

use openagents_core::update::new_id;
use openagents_transcripts::history::Provider;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use xxhash_rust::xxh32::xxh32;

/// A step with an id.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Op {
    /// UUID; also the globally unique id of the tool call.
    pub(crate) id: String,
    pub(crate) kind: OpKind,
    /// Description for the user; unique within a plan.
    pub(crate) text: String,
}

impl Op {
    /// Creates a step with a new id.
    pub(crate) fn new(kind: OpKind) -> Self {
        let text = kind.entry_text();
        Self { id: new_id(), kind, text }
    }
}

/// The kinds of steps and their parameters. An absent parameter means the tool's default.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(tag = "op", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the parameters are those of the tools of the same name")]
pub enum OpKind {
    /// Lists past sessions.
    SessionList { provider: Option<Provider>, top_k: Option<usize> },
    /// Searches past sessions.
    SessionSearch { pattern: String, provider: Option<Provider> },
    /// Reads one past session.
    SessionRead { session_id: String, provider: Provider },
    /// Sums up past sessions; without ids the recent ones of this workspace.
    SessionAnalyze {
        #[serde(default)]
        session_ids: Vec<String>,
        provider: Option<Provider>,
    },
    /// Lists a directory.
    ListDir {
        path: String,
        #[serde(default)]
        depth: usize,
    },
    /// Reads lines of a file.
    ReadSpan {
        path: String,
        #[serde(default = "first_line")]
        start_line: u64,
        #[serde(default = "last_line")]
        end_line: u64,
    },
    /// Searches the code.
    Grep {
        pattern: String,
        path_prefix: Option<String>,
        #[serde(default)]
        case_insensitive: bool,
    },
}

/// Default first line of a step that reads a file.
fn first_line() -> u64 {
    1
}

fn last_line() -> u64 {
    100
}

impl OpKind {
    /// Returns an analysis of the recent sessions of the workspace.
    pub fn analyze_recent() -> Self {
        Self::SessionAnalyze { session_ids: Vec::new(), provider: None }
    }

    /// Returns a search of the code for `pattern`.
    pub fn grep(pattern: impl Into<String>) -> Self {
        Self::Grep { pattern: pattern.into(), path_prefix: None, case_insensitive: false }
    }

    /// Returns whether the step uses past sessions.
    pub fn is_session_op(&self) -> bool {
        self.tool().starts_with("session.")
    }

    /// Returns the name of the tool that runs the step.
    pub fn tool(&self) -> &'static str {
        match self {
            Self::SessionList { .. } => "session.list",
            Self::SessionSearch { .. } => "session.search",
            Self::SessionRead { .. } => "session.read",
            Self::SessionAnalyze { .. } => "session.analyze",
            Self::ListDir { .. } => "fs.list_dir",
            Self::ReadSpan { .. } => "content.get_span",
            Self::Grep { .. } => "search.grep",
        }
    }

    /// Returns the description of the step that is shown in the plan.
    pub fn entry_text(&self) -> String {
        let whose = |provider: &Option<Provider>| provider.map_or("all", Provider::as_str);
        match self {
            Self::SessionList { provider, top_k, .. } => {
                let whose = provider.map(|provider| format!("{} ", provider.as_str())).unwrap_or_default();
                format!("List {} {whose}sessions", top_k.unwrap_or(20))
            }
            Self::SessionSearch { pattern, provider, .. } => {
                format!("Search '{pattern}' in {} sessions", whose(provider))
            }
            Self::SessionRead { session_id, provider, .. } => {
                let short: String = session_id.chars().take(4).collect();
                format!("Read session {short}… ({})", provider.as_str())
            }
            Self::SessionAnalyze { session_ids, .. } if session_ids.is_empty() => {
                "Analyze recent sessions".to_owned()
            }
            Self::SessionAnalyze { session_ids, .. } => format!("Analyze {} sessions", session_ids.len()),
            Self::ListDir { path, .. } => format!("List directory {path}"),
            Self::ReadSpan { path, start_line, end_line, .. } => {
                format!("Read {path}:{start_line}-{end_line}")
            }
            Self::Grep { pattern, path_prefix, .. } => {
                format!("Search '{pattern}' in {}", path_prefix.as_deref().unwrap_or("workspace"))
            }
        }
    }

    /// Returns the arguments of the tool call; absent parameters are left out.
    pub fn arguments(&self) -> Map<String, Value> {
        let Ok(Value::Object(all)) = serde_json::to_value(self) else { return Map::new() };
        let empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        all.into_iter().filter(|(name, value)| name != "op" && !empty(value)).collect()
    }

    /// Returns xxh32 (seed 0) of the canonical JSON: compact, keys sorted, `{"arguments":{…},"tool":"…"}`.
    pub fn hash(&self) -> u32 {
        let arguments = self.arguments();
        let mut pairs: Vec<_> = arguments.iter().collect();
        pairs.sort_unstable_by_key(|(key, _)| *key);
        let fields: Vec<_> = pairs.iter().map(|(key, value)| format!("{}:{value}", json!(key))).collect();
        let canonical = format!("{{\"arguments\":{{{}}},\"tool\":\"{}\"}}", fields.join(","), self.tool());
        xxh32(canonical.as_bytes(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_says_what_it_does() {
        let rows: [(OpKind, &str, &str); 8] = [
            (OpKind::SessionList { provider: None, top_k: Some(20) }, "List 20 sessions", r#"{"topK":20}"#),
            (
                OpKind::SessionSearch { pattern: "x".into(), provider: Some(Provider::Codex) },
                "Search 'x' in codex sessions",
                r#"{"pattern":"x","provider":"codex"}"#,
            ),
            (
                OpKind::SessionRead { session_id: "12345".into(), provider: Provider::Codex },
                "Read session 1234… (codex)",
                r#"{"provider":"codex","sessionId":"12345"}"#,
            ),
            (OpKind::analyze_recent(), "Analyze recent sessions", "{}"),
            (
                OpKind::SessionAnalyze { session_ids: vec!["a".into(), "b".into()], provider: None },
                "Analyze 2 sessions",
                r#"{"sessionIds":["a","b"]}"#,
            ),
            (
                OpKind::ListDir { path: "src".into(), depth: 0 },
                "List directory src",
                r#"{"depth":0,"path":"src"}"#,
            ),
            (
                OpKind::ReadSpan { path: "README.md".into(), start_line: 1, end_line: 50 },
                "Read README.md:1-50",
                r#"{"endLine":50,"path":"README.md","startLine":1}"#,
            ),
            (OpKind::grep("x"), "Search 'x' in workspace", r#"{"caseInsensitive":false,"pattern":"x"}"#),
        ];
        for (kind, text, arguments) in rows {
            assert_eq!(kind.entry_text(), text);
            assert_eq!(Value::Object(kind.arguments()), serde_json::from_str::<Value>(arguments).unwrap());
        }
    }

    #[test]
    fn the_hash_is_the_same_in_every_process_and_differs_with_the_parameters() {
        // Result of Python's xxhash for {"arguments":{"caseInsensitive":false,"pattern":"x"},"tool":"search.grep"}.
        assert_eq!(OpKind::grep("x").hash(), 2_911_707_074);
        assert_ne!(OpKind::grep("x").hash(), OpKind::grep("y").hash());
    }
}
