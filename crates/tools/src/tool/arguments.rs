//! Validates the arguments of a call against the schema of their type and deserializes them.

use super::output::ToolError;
use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind},
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Maximum number of reported faults per call.
const FAULTS: usize = 3;

/// Maximum length of a fault in characters: it may quote the input.
const FAULT: usize = 300;

/// Parses arguments, with names in camel or snake case; missing arguments count as empty. The error lists faults by
/// field.
pub fn parse_arguments<T: DeserializeOwned + JsonSchema>(given: Value) -> Result<T, ToolError> {
    let schema = schemars::schema_for!(T).to_value();
    let arguments = Value::Object(with_our_names(members(given)?, &schema));
    // Without a validator, deserialization still finds faults, one at a time.
    if let Ok(validator) = jsonschema::validator_for(&schema) {
        let faults = validator.iter_errors(&arguments).take(FAULTS).map(|error| describe_fault(&error));
        let faults: Vec<String> = faults.collect();
        if !faults.is_empty() {
            return Err(invalid(faults.join("; ")));
        }
    }
    serde_json::from_value(arguments).map_err(|error| invalid(error.to_string()))
}

fn members(given: Value) -> Result<Map<String, Value>, ToolError> {
    // A model's malformed arguments arrive as text.
    let garbled = given.as_str().and_then(|text| serde_json::from_str::<Value>(text).err());
    match (given, garbled) {
        (Value::Object(members), _) => Ok(members),
        (Value::Null, _) => Ok(Map::new()),
        (_, Some(error)) => Err(invalid(format!("the arguments are not valid JSON: {error}"))),
        _ => Err(invalid("the arguments are not a JSON object".to_owned())),
    }
}

/// Maps names to the spelling of the schema: a model may write `session_id` for `sessionId`.
fn with_our_names(given: Map<String, Value>, schema: &Value) -> Map<String, Value> {
    let plain = |name: &str| name.replace('_', "").to_lowercase();
    let known = schema.get("properties").and_then(Value::as_object);
    let ours = |name: String, given: &[String]| {
        let same = |known: &&String| plain(known) == plain(&name) && !given.contains(known);
        let is_known = known.is_some_and(|known| known.contains_key(&name));
        let ours = known.filter(|_| !is_known).and_then(|known| known.keys().find(same));
        ours.cloned().unwrap_or(name)
    };
    let names: Vec<String> = given.keys().cloned().collect();
    given.into_iter().map(|(name, value)| (ours(name, &names), value)).collect()
}

fn invalid(reason: String) -> ToolError {
    ToolError::InvalidParameters(reason)
}

fn describe_fault(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().as_str().trim_start_matches('/').replace('/', ".");
    let what: String = match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let dot = if place.is_empty() { "" } else { "." };
            return format!("{place}{dot}{name} is missing");
        }
        // The null branch of an optional field adds no information.
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            let shown =
                context.iter().flatten().map(describe_kind).filter(|what| !what.ends_with(" is not a null"));
            shown.collect::<Vec<_>>().join(" or ")
        }
        _ => describe_kind(error),
    };
    let what: String = what.chars().take(FAULT).collect();
    if place.is_empty() { what } else { format!("{place}: {what}") }
}

fn describe_kind(error: &ValidationError<'_>) -> String {
    let ValidationErrorKind::Type { kind } = error.kind() else { return error.to_string() };
    let types = match kind {
        TypeKind::Single(single) => single.to_string(),
        // `null` is valid for optional fields but not worth suggesting.
        TypeKind::Multiple(several) => {
            let shown = several.iter().map(|one| one.to_string()).filter(|one| one != "null");
            shown.collect::<Vec<_>>().join(" or ")
        }
    };
    let given: String = error.instance().to_string().chars().take(FAULT / 2).collect();
    let article = if types.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
    format!("{given} is not {article} {types}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct Example {
        session_id: String,
        max_results: Option<u64>,
        names: Option<Vec<String>>,
        sort: Option<Sort>,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Sort {
        Up,
        Down,
    }

    fn parse(given: Value) -> Result<Example, String> {
        parse_arguments(given).map_err(|error| error.to_string())
    }

    #[test]
    fn fault_names_its_field() {
        let rows = [
            (json!({}), "sessionId is missing"),
            (Value::Null, "sessionId is missing"),
            (json!({"sessionId": 7}), "sessionId: 7 is not a string"),
            (json!({"sessionId": "a", "maxResults": "five"}), r#"maxResults: "five" is not an integer"#),
            (json!({"sessionId": "a", "maxResults": -1}), "maxResults: -1 is less than the minimum of 0"),
            (json!({"sessionId": "a", "names": ["b", 1]}), "names.1: 1 is not a string"),
            (json!({"sessionId": "a", "sort": "left"}), r#"sort: "left" is not one of "up" or "down""#),
            (json!({"maxResults": "x", "names": 1}), "; "),
            (json!(["a"]), "the arguments are not a JSON object"),
            (json!("{\"sessionId\": "), "the arguments are not valid JSON: EOF while parsing"),
            (json!("7"), "the arguments are not a JSON object"),
        ];
        for (given, part) in rows {
            let error = parse(given.clone()).unwrap_err();
            assert!(error.starts_with("Invalid parameters: ") && error.contains(part), "{given}: {error}");
        }
    }

    #[test]
    fn fault_quote_is_bounded() {
        let error = parse(json!({"sessionId": "a", "sort": "x".repeat(100_000)})).unwrap_err();
        assert!(error.len() < 1_000, "{} bytes", error.len());
    }

    #[test]
    fn argument_names_accept_every_spelling() {
        let expected =
            Example { session_id: "a".to_owned(), max_results: Some(3), names: None, sort: Some(Sort::Up) };
        for given in [
            json!({"session_id": "a", "max_results": 3, "sort": "up", "other": 1}),
            json!({"sessionId": "a", "MaxResults": 3, "sort": "up", "names": null}),
            json!({"sessionId": "a", "session_id": "b", "max_results": 3, "sort": "up"}),
        ] {
            assert_eq!(parse(given.clone()).as_ref(), Ok(&expected), "{given}");
        }
    }

    /// The tools of an exploration, as models see them.
    #[test]
    fn every_tool_schema_compiles() {
        for tool in crate::builtin::registry().iter() {
            assert!(jsonschema::validator_for(&tool.schema().to_value()).is_ok(), "{}", tool.name());
        }
    }
}
