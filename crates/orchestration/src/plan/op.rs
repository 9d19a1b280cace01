//! One planned step.

use openagents_core::{json_text::with_whole_characters, update::new_id, workspace::Workspace};
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
pub enum OpKind {
    /// Lists past sessions.
    SessionList {
        provider: Option<Provider>,
        top_k: Option<usize>,
    },
    /// Searches past sessions.
    SessionSearch {
        pattern: String,
        provider: Option<Provider>,
    },
    SessionRead {
        session_id: String,
        provider: Provider,
    },
    /// Sums up past sessions; without ids the recent ones of this workspace.
    SessionAnalyze {
        #[serde(default)]
        session_ids: Vec<String>,
        provider: Option<Provider>,
    },
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

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct JsonPlan {
    /// The steps, neither de-duplicated nor truncated.
    pub(super) ops: Vec<OpKind>,
    /// Number of objects that are not a step.
    pub(super) dropped: usize,
}

/// Parses every JSON object in a text and ignores the rest; never fails.
pub(super) fn parse_json_plan(text: &str) -> JsonPlan {
    let mut plan = JsonPlan::default();
    let text = with_whole_characters(text);
    let mut rest = &*text;
    while let Some(at) = rest.find('{') {
        rest = &rest[at..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else {
            rest = &rest[1..];
            continue;
        };
        rest = &rest[values.byte_offset()..];
        match OpKind::deserialize(&value) {
            Ok(op) => plan.ops.push(op),
            Err(error) => {
                tracing::debug!(%error, %value, "not a step");
                plan.dropped += 1;
            }
        }
    }
    plan
}

/// Maximum number of steps; an analysis of the sessions may be added.
const MAX_OPS: usize = 5;

/// Normalises paths, drops duplicates, keeps the first [`MAX_OPS`] steps and appends an analysis if sessions are used.
/// A path outside of the workspace is kept, so that its step fails with an error that names it.
pub(crate) fn normalise(kinds: Vec<OpKind>, workspace: &Workspace) -> Vec<Op> {
    let mut kept: Vec<OpKind> = Vec::new();
    for mut kind in kinds {
        make_path_relative(&mut kind, workspace);
        if kept.len() < MAX_OPS && !kept.contains(&kind) {
            kept.push(kind);
        }
    }
    let analyzes = kept.iter().any(|kind| matches!(kind, OpKind::SessionAnalyze { .. }));
    if !analyzes && kept.iter().any(OpKind::is_session_op) {
        kept.push(OpKind::analyze_recent());
    }
    let mut ops: Vec<Op> = Vec::new();
    for kind in kept {
        let mut op = Op::new(kind);
        // Clients identify steps by their text, so equal texts are numbered.
        match ops.iter().filter(|other| other.kind.entry_text() == op.text).count() {
            0 => {}
            same => op.text = format!("{} ({})", op.text, same + 1),
        }
        ops.push(op);
    }
    ops
}

fn make_path_relative(kind: &mut OpKind, workspace: &Workspace) {
    let relative = |path: &mut String| {
        if let Ok(resolved) = workspace.resolve(path) {
            *path = Workspace::shown(&resolved);
        }
    };
    match kind {
        OpKind::ListDir { path, .. } | OpKind::ReadSpan { path, .. } => relative(path),
        OpKind::Grep { path_prefix, .. } => {
            if let Some(prefix) = path_prefix {
                relative(prefix);
            }
            path_prefix.take_if(|prefix| prefix == ".");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_op_describes_itself() {
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
    fn op_hash_is_stable_and_covers_parameters() {
        // Result of Python's xxhash for {"arguments":{"caseInsensitive":false,"pattern":"x"},"tool":"search.grep"}.
        assert_eq!(OpKind::grep("x").hash(), 2_911_707_074);
        assert_ne!(OpKind::grep("x").hash(), OpKind::grep("y").hash());
    }
}

#[cfg(test)]
mod json_tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        parse_json_plan(text).ops.iter().map(OpKind::entry_text).collect()
    }

    #[test]
    fn all_seven_ops_are_parsed() {
        let text = r#"Here is the plan:
            [{"op": "sessionList", "provider": "claude-code"},
             {"op": "sessionSearch", "pattern": "TODO"},
             {"op": "sessionRead", "sessionId": "abc123", "provider": "codex"},
             {"op": "sessionAnalyze"},
             {"op": "readSpan", "path": "README.md", "startLine": 1, "endLine": 50},
             {"op": "grep", "pattern": "import", "pathPrefix": "src"},
             {"op": "listDir", "path": "src"}]"#;
        let expected = [
            "List 20 claude-code sessions",
            "Search 'TODO' in all sessions",
            "Read session abc1… (codex)",
            "Analyze recent sessions",
            "Read README.md:1-50",
            "Search 'import' in src",
            "List directory src",
        ];
        assert_eq!(shown(text), expected);
    }

    #[test]
    fn invalid_ops_are_dropped_and_counted() {
        let text = r#"{"op":"grep","pattern":"x"} {"op":"dance"} {"op":"grep"} {broken {"op":"readSpan","path":"a"}"#;
        let plan = parse_json_plan(text);
        assert_eq!(plan.dropped, 2);
        assert_eq!(shown(text), ["Search 'x' in workspace", "Read a:1-100"]);
    }

    proptest::proptest! {
        #[test]
        fn plan_accepts_any_text(text in "(?s).{0,200}") {
            parse_json_plan(&text);
        }
    }
}

#[cfg(test)]
mod normalise_tests {
    use super::*;
    use openagents_tools::builtin::testing::Bench;

    fn texts(kinds: Vec<OpKind>) -> Vec<String> {
        let bench = Bench::with(&[("src/a", "")]);
        normalise(kinds, &bench.workspace).into_iter().map(|op| op.text).collect()
    }

    #[test]
    fn plan_keeps_five_distinct_ops() {
        let list = |path: &str| OpKind::ListDir { path: path.into(), depth: 0 };
        let kinds =
            vec![list("/workspace/src"), list("src"), list("."), list("a"), list("b"), list("c"), list("d")];
        let kept = ["src", ".", "a", "b", "c"].map(|path| format!("List directory {path}"));
        assert_eq!(texts(kinds), kept);
    }

    #[test]
    fn session_ops_add_one_analysis() {
        let list = OpKind::SessionList { provider: None, top_k: None };
        assert_eq!(texts(vec![list.clone()]), ["List 20 sessions", "Analyze recent sessions"]);
        let both = vec![OpKind::analyze_recent(), list];
        assert_eq!(texts(both), ["Analyze recent sessions", "List 20 sessions"]);
        assert_eq!(texts(vec![OpKind::grep("x")]), ["Search 'x' in workspace"]);
    }

    #[test]
    fn ops_with_same_text_are_both_kept() {
        let read = |session_id: &str| OpKind::SessionRead {
            session_id: session_id.into(),
            provider: openagents_transcripts::history::Provider::Codex,
        };
        let expected =
            ["Read session 0199… (codex)", "Read session 0199… (codex) (2)", "Analyze recent sessions"];
        assert_eq!(texts(vec![read("0199a"), read("0199b"), read("0199a")]), expected);
    }

    #[test]
    fn prefix_outside_workspace_is_kept_to_fail() {
        let grep = |prefix: &str| OpKind::Grep {
            pattern: "x".into(),
            path_prefix: Some(prefix.into()),
            case_insensitive: false,
        };
        let expected = ["Search 'x' in workspace", "Search 'x' in src", "Search 'x' in /etc"];
        assert_eq!(texts(vec![grep("/workspace"), grep("proj/src/"), grep("/etc")]), expected);
    }
}
