//! What a model gives a tool, against the tool's schema.

use super::ToolError;
use jsonschema::{
    ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind},
};
use serde_json::{Map, Value};

/// Faults of one call that are told; the rest shows when these are put right.
const FAULTS: usize = 3;

/// Characters of one fault: it may quote what was given.
const FAULT: usize = 300;

/// The schema of a tool's arguments, compiled.
#[derive(Debug)]
pub(crate) struct Arguments {
    /// `None` where the schema itself makes no sense: then the tool alone checks.
    validator: Option<Validator>,
    names: Vec<String>,
}

impl Arguments {
    pub(crate) fn of(schema: &Value) -> Self {
        let validator = jsonschema::validator_for(schema);
        let validator =
            validator.map_err(|error| tracing::warn!(%error, "a tool's schema does not compile")).ok();
        let properties = schema.get("properties").and_then(Value::as_object);
        let names = properties.map(|properties| properties.keys().cloned().collect()).unwrap_or_default();
        Self { validator, names }
    }

    /// Returns the arguments with the names that the schema has, or what is wrong with them: each fault with its field.
    pub(crate) fn read(&self, given: &Value) -> Result<Map<String, Value>, ToolError> {
        let members = match given {
            Value::Object(members) => members,
            Value::String(text) => return Err(broken(text)),
            _ => return Err(invalid("the arguments are no JSON object".to_owned())),
        };
        let members = self.with_our_names(members);
        let Some(validator) = &self.validator else { return Ok(members) };
        let value = Value::Object(members);
        let faults: Vec<String> =
            validator.iter_errors(&value).take(FAULTS).map(|error| tell(&error)).collect();
        match value {
            Value::Object(members) if faults.is_empty() => Ok(members),
            _ => Err(invalid(faults.join("; "))),
        }
    }

    /// A model may write `session_id` for `sessionId`: the words are the same.
    fn with_our_names(&self, members: &Map<String, Value>) -> Map<String, Value> {
        let plain = |name: &str| name.replace('_', "").to_lowercase();
        let ours = |name: &String| {
            let is_known = self.names.contains(name);
            let same = |known: &&String| plain(known) == plain(name) && !members.contains_key(known.as_str());
            self.names.iter().find(same).filter(|_| !is_known).unwrap_or(name).clone()
        };
        members.iter().map(|(name, value)| (ours(name), value.clone())).collect()
    }
}

fn invalid(reason: String) -> ToolError {
    ToolError::InvalidParameters(reason)
}

fn broken(text: &str) -> ToolError {
    invalid(match serde_json::from_str::<Value>(text) {
        Err(error) => format!("the arguments are no valid JSON: {error}"),
        Ok(_) => "the arguments are no JSON object".to_owned(),
    })
}

/// Says which field is wrong, and how.
fn tell(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().as_str().trim_start_matches('/').replace('/', ".");
    let what: String = match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            return if place.is_empty() {
                format!("{name} is missing")
            } else {
                format!("{place}.{name} is missing")
            };
        }
        // "May be left out, else one of these": the first half says nothing.
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            let told = context.iter().flatten().map(tell_what).filter(|what| !what.ends_with(" is no null"));
            told.collect::<Vec<_>>().join(" or ")
        }
        _ => tell_what(error),
    };
    let what: String = what.chars().take(FAULT).collect();
    if place.is_empty() { what } else { format!("{place}: {what}") }
}

fn tell_what(error: &ValidationError<'_>) -> String {
    let ValidationErrorKind::Type { kind } = error.kind() else { return error.to_string() };
    let types = match kind {
        TypeKind::Single(single) => single.to_string(),
        // A field that may be left out may be null; nobody means to say that.
        TypeKind::Multiple(several) => {
            let told = several.iter().map(|one| one.to_string()).filter(|one| one != "null");
            told.collect::<Vec<_>>().join(" or ")
        }
    };
    let given: String = error.instance().to_string().chars().take(FAULT / 2).collect();
    format!("{given} is no {types}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::{JsonSchema, schema_for};
    use serde_json::json;

    #[derive(JsonSchema)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Example {
        session_id: String,
        max_results: Option<u64>,
        names: Option<Vec<String>>,
        sort: Option<Sort>,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[expect(dead_code, reason = "only its schema is used")]
    enum Sort {
        Up,
        Down,
    }

    fn read(given: Value) -> Result<Value, String> {
        let arguments = Arguments::of(&schema_for!(Example).to_value());
        arguments.read(&given).map(Value::Object).map_err(|error| error.to_string())
    }

    #[test]
    fn every_fault_names_its_field() {
        let rows = [
            (json!({}), "sessionId is missing"),
            (json!({"sessionId": 7}), "sessionId: 7 is no string"),
            (json!({"sessionId": "a", "maxResults": "five"}), r#"maxResults: "five" is no integer"#),
            (json!({"sessionId": "a", "maxResults": -1}), "maxResults: -1 is less than the minimum of 0"),
            (json!({"sessionId": "a", "names": ["b", 1]}), "names.1: 1 is no string"),
            (json!({"sessionId": "a", "sort": "left"}), r#"sort: "left" is not one of "up" or "down""#),
            (json!({"maxResults": "x", "names": 1}), "; "),
            (json!(["a"]), "the arguments are no JSON object"),
            (json!("{\"sessionId\": "), "the arguments are no valid JSON: EOF while parsing"),
            (json!("7"), "the arguments are no JSON object"),
        ];
        for (given, part) in rows {
            let error = read(given.clone()).unwrap_err();
            assert!(error.starts_with("Invalid parameters: ") && error.contains(part), "{given}: {error}");
        }
    }

    #[test]
    fn a_fault_does_not_quote_a_whole_file() {
        let error = read(json!({"sessionId": "a", "sort": "x".repeat(100_000)})).unwrap_err();
        assert!(error.len() < 1_000, "{} bytes", error.len());
    }

    #[test]
    fn names_are_known_in_every_spelling() {
        let read = read(json!({"session_id": "a", "max_results": 3, "other": 1}));
        assert_eq!(read.unwrap(), json!({"sessionId": "a", "maxResults": 3, "other": 1}));
    }

    /// The tools of an exploration, as models call them.
    #[test]
    fn every_schema_of_ours_compiles() {
        for tool in crate::builtin::registry().iter() {
            assert!(Arguments::of(&tool.schema().to_value()).validator.is_some(), "{}", tool.name());
        }
    }
}
