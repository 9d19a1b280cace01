//! What an update says, in words: its text, and a tool's result as `12 matches in 4 files`.

use agent_client_protocol_schema::v1::{ContentBlock, ContentChunk};
use openagents_core::update::Cut;
use serde_json::Value;

/// Returns the text of a chunk; empty if it is another kind of content.
pub(crate) fn text(chunk: &ContentChunk) -> &str {
    match &chunk.content {
        ContentBlock::Text(content) => &content.text,
        _ => "",
    }
}

pub(crate) fn result(tool: &str, output: &Value) -> String {
    let list = |key: &str| output.get(key).and_then(Value::as_array).map_or(0, Vec::len);
    let number = |key: &str| output.get(key).and_then(Value::as_u64).unwrap_or_default();
    match tool {
        "session.list" => format!("{} of {} sessions", list("sessions"), number("total_count")),
        "session.search" => {
            let sessions = distinct(output, "sessionId");
            format!("{} in {}", count(number("totalMatches"), "match"), count(sessions, "session"))
        }
        "session.read" => count(list("events") as u64, "event"),
        "session.analyze" => count(list("goalPatterns") as u64, "goal"),
        "fs.list_dir" => count(output.as_array().map_or(0, Vec::len) as u64, "entry"),
        "content.get_span" => {
            let path = output.get("path").and_then(Value::as_str).unwrap_or_default();
            format!("{path} · lines {}–{}", number("start_line"), number("end_line"))
        }
        "search.grep" => {
            format!(
                "{} in {}",
                count(number("total_matches"), "match"),
                count(distinct(output, "path"), "file")
            )
        }
        "fm.analysis" => output.get("source").and_then(Value::as_str).unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}

/// Describes what was left out of a result, one clause per cut.
pub(crate) fn cut(cut: &Cut) -> Vec<String> {
    let mut clauses = Vec::new();
    if cut.timed_out {
        clauses.push("the time limit was reached before everything was searched".to_owned());
    } else if cut.truncated {
        clauses.push("a limit was reached: there is more than shown".to_owned());
    }
    if cut.omitted > 0 {
        clauses.push(format!("{} skipped", count(cut.omitted, "item")));
    }
    clauses
}

fn distinct(output: &Value, key: &str) -> u64 {
    let matches = output.get("matches").and_then(Value::as_array).into_iter().flatten();
    let names: std::collections::BTreeSet<_> = matches.filter_map(|hit| hit.get(key)?.as_str()).collect();
    names.len() as u64
}

/// Returns `1 match` or `2 matches`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = match noun {
        "match" => "matches".to_owned(),
        "entry" => "entries".to_owned(),
        _ => format!("{noun}s"),
    };
    if number == 1 { format!("1 {noun}") } else { format!("{number} {plural}") }
}

#[cfg(test)]
mod tests {
    use super::result;
    use serde_json::json;

    #[test]
    fn each_tool_result_has_words() {
        let rows = [
            ("session.list", json!({"sessions": [1, 2], "total_count": 9}), "2 of 9 sessions"),
            (
                "session.search",
                json!({"matches": [{"sessionId": "a"}, {"sessionId": "a"}], "totalMatches": 2}),
                "2 matches in 1 session",
            ),
            ("session.read", json!({"events": [1]}), "1 event"),
            ("session.analyze", json!({"goalPatterns": []}), "0 goals"),
            ("fs.list_dir", json!(["a"]), "1 entry"),
            ("content.get_span", json!({"path": "a", "start_line": 1, "end_line": 5}), "a · lines 1–5"),
            ("search.grep", json!({"matches": [{"path": "a"}], "total_matches": 1}), "1 match in 1 file"),
            ("unknown", json!(null), ""),
        ];
        for (tool, output, expected) in rows {
            assert_eq!(result(tool, &output), expected);
        }
    }
}
