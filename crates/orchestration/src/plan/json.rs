//! Parses the plan of a model: JSON objects with an `op`, in a list or in sequence.

use super::op::OpKind;
use openagents_core::json_text::with_whole_characters;
use serde::Deserialize;
use serde_json::Value;

/// A parsed plan.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        parse_json_plan(text).ops.iter().map(OpKind::entry_text).collect()
    }

    #[test]
    fn all_seven_kinds_are_read() {
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
    fn what_is_not_a_step_is_dropped_and_counted() {
        let text = r#"{"op":"grep","pattern":"x"} {"op":"dance"} {"op":"grep"} {broken {"op":"readSpan","path":"a"}"#;
        let plan = parse_json_plan(text);
        assert_eq!(plan.dropped, 2);
        assert_eq!(shown(text), ["Search 'x' in workspace", "Read a:1-100"]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "(?s).{0,200}") {
            parse_json_plan(&text);
        }
    }
}
