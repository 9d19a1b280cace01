//! Calls without a recipient: arguments written as if they were the answer.

use super::names::Names;
use crate::chat::arguments;
use openagents_core::model::ToolSpec;
use serde_json::{Map, Value};

/// Evidence that a call was meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// Ends with `<|call|>` or is declared as JSON: the arguments may identify the tool by their shape.
    Call,
    /// Is in a place where no answer can be. As above, but must be pure JSON.
    Place,
    /// Could be an answer in JSON: must be pure JSON and name the tool.
    None,
}

/// Returns the tool and its arguments.
///
/// The text must be one object: either `{"name": TOOL, "arguments": {…}}` with an offered tool, or, if a call was
/// meant, arguments that match exactly one tool by name, presence and type.
pub(super) fn call(
    text: &str,
    evidence: Evidence,
    tools: &[ToolSpec],
    names: &Names,
) -> Option<(String, Value)> {
    let object = match evidence {
        Evidence::Call => arguments::parse(text),
        Evidence::Place | Evidence::None => arguments::strict(text),
    };
    let object = object.filter(|object| !object.is_empty())?;
    if let Some(named) = named(&object, names) {
        return Some(named);
    }
    if evidence == Evidence::None {
        return None;
    }
    let mut fitting = tools.iter().filter(|tool| fits(&object, &tool.parameters));
    match (fitting.next(), fitting.next()) {
        (Some(tool), None) => Some((tool.name.clone(), Value::Object(object))),
        _ => None,
    }
}

fn named(object: &Map<String, Value>, names: &Names) -> Option<(String, Value)> {
    let name = names.known(object.get("name")?.as_str()?)?;
    let arguments = object.get("arguments").or_else(|| object.get("parameters"))?;
    let arguments = match arguments {
        Value::Object(arguments) => arguments.clone(),
        Value::String(text) => arguments::parse(text)?,
        _ => return None,
    };
    (object.len() == 2).then_some((name, Value::Object(arguments)))
}

fn fits(object: &Map<String, Value>, schema: &Value) -> bool {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return false };
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    required.filter_map(Value::as_str).all(|name| object.contains_key(name))
        && object.iter().all(|(name, value)| properties.get(name).is_some_and(|schema| is_of(value, schema)))
}

fn is_of(value: &Value, schema: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("null") => value.is_null(),
        _ => true,
    };
    match schema.get("type") {
        Some(Value::Array(names)) => names.iter().any(is),
        Some(name) => is(name),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_plausible_calls_are_found() {
        let tool =
            |name: &str, parameters| ToolSpec { name: name.into(), description: String::new(), parameters };
        let tools = [
            tool(
                "fs.list_dir",
                json!({"properties": {"path": {"type": "string"}, "depth": {"type": "integer"}}}),
            ),
            tool(
                "grep",
                json!({"properties": {"pattern": {"type": "string"}, "path": {}}, "required": ["pattern"]}),
            ),
            tool("glob", json!({"properties": {"pattern": {"type": "string"}}, "required": ["pattern"]})),
        ];
        let names = Names::of(&tools);
        let rows = [
            (r#"{"path":"."}"#, Evidence::Call, Some(("fs.list_dir", json!({"path": "."})))),
            (r#"{"path":"."}"#, Evidence::None, None),
            (r#"{"path":"."}"#, Evidence::Place, Some(("fs.list_dir", json!({"path": "."})))),
            (r#"{"path":"."} there"#, Evidence::Place, None),
            (r#"{"path":"."} there"#, Evidence::Call, Some(("fs.list_dir", json!({"path": "."})))),
            (r#"{"path":1}"#, Evidence::Call, None),
            (r#"{"depth":1.5}"#, Evidence::Call, None),
            (r#"{"pattern":"a"}"#, Evidence::Call, None),
            (
                r#"{"pattern":"a","path":"."}"#,
                Evidence::Call,
                Some(("grep", json!({"pattern": "a", "path": "."}))),
            ),
            (r#"{"other":1}"#, Evidence::Call, None),
            ("{}", Evidence::Call, None),
            (
                r#"{"name":"functions.fs_list_dir","arguments":{"path":"a"}}"#,
                Evidence::None,
                Some(("fs.list_dir", json!({"path": "a"}))),
            ),
            (r#"{"name":"glob","arguments":"{}"}"#, Evidence::None, Some(("glob", json!({})))),
            (r#"{"name":"rm","arguments":{}}"#, Evidence::None, None),
            (r#"{"name":"glob","arguments":{},"more":1}"#, Evidence::None, None),
            ("The answer is 42", Evidence::Call, None),
        ];
        for (text, evidence, expected) in rows {
            let expected = expected.map(|(name, arguments)| (name.to_owned(), arguments));
            assert_eq!(call(text, evidence, &tools, &names), expected, "{text} {evidence:?}");
        }
    }
}
