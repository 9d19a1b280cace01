//! Responses to the client: results as data and text, and errors.

use openagents_core::update::Findings;
use openagents_tools::tool::ToolError;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

/// Longest name quoted in an error, in bytes. Models may invent names of any length.
const NAME: usize = 100;

/// Returns the server instructions for the client's model; some clients show nothing else until tools are requested.
pub(super) fn instructions(workspace: &str, history: bool) -> String {
    let question = "that answer a question (`find`)";
    if history {
        format!(
            "Finds the places in the code and the past agent sessions of {workspace} {question}; searches and reads these \
             sessions (`sessions_search`, `session_read`). Read-only."
        )
    } else {
        format!("Finds the places in the code of {workspace} {question}. Read-only.")
    }
}

/// Returns findings as data, and as the text that all our clients show.
pub(super) fn findings(findings: &Findings, question: &str) -> Result<CallToolResult, ToolError> {
    let failed = |error: serde_json::Error| ToolError::ExecutionFailed(error.to_string());
    let mut result = CallToolResult::success(vec![ContentBlock::text(findings.message(question))]);
    result.structured_content = Some(serde_json::to_value(findings).map_err(failed)?);
    Ok(result)
}

/// Returns the error for a tool that is not offered.
pub(super) fn no_such_tool(name: &str, offered: &[&str]) -> String {
    format!("no such tool: {} (there are: {})", shown(name), offered.join(", "))
}

/// Returns the error for unreadable parameters of a `tools/call`.
pub(super) fn malformed_call(params: Option<&Value>) -> String {
    let params = params.unwrap_or(&Value::Null);
    if !params["name"].is_string() {
        return "name is missing or not a string".to_owned();
    }
    match params.get("arguments") {
        Some(arguments) if !arguments.is_object() => "arguments is not a JSON object".to_owned(),
        _ => "invalid parameters".to_owned(),
    }
}

/// Returns the part of a name to quote in an error.
pub(super) fn shown(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_malformed_call_names_what_is_wrong() {
        let rows = [
            (None, "name is missing or not a string"),
            (Some(json!([])), "name is missing or not a string"),
            (Some(json!({"name": 1})), "name is missing or not a string"),
            (Some(json!({"name": "find", "arguments": [1]})), "arguments is not a JSON object"),
            (Some(json!({"name": "find", "_meta": 1})), "invalid parameters"),
        ];
        for (params, expected) in rows {
            assert_eq!(malformed_call(params.as_ref()), expected, "{params:?}");
        }
    }

    #[test]
    fn a_made_up_name_is_repeated_in_part() {
        assert!(no_such_tool(&"ä".repeat(10_000), &["find"]).len() < 200);
    }
}
