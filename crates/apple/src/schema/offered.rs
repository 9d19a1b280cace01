//! Our tools as offered to the framework, and their arguments on arrival.

use super::dynamic::{DynamicSchema, Inexpressible, Node, Presence, Property, Reason};
use crate::limits::{SHOWN_SCHEMA, VIOLATION_BYTES, VIOLATIONS};
use openagents_core::{json_text, model::ToolSpec, text::prefix};
use serde_json::{Value, json};

/// Added to the description of a tool behind the proxy.
pub const PROXY_NOTE: &str = "NOTE: Provide all arguments as a single JSON string.";

/// The only argument of a tool behind the proxy.
const PROXY_ARGUMENT: &str = "json";

/// One of our tools, as offered to Foundation Models.
#[derive(Debug, Clone)]
pub struct OfferedTool {
    pub name: String,
    pub description: String,
    pub arguments: Arguments,
    schema: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// Separate named arguments.
    Dynamic(DynamicSchema),
    /// A single JSON text, and the reason for it.
    Proxy(Inexpressible),
}

impl OfferedTool {
    /// Chooses the format of the arguments.
    pub fn new(spec: &ToolSpec) -> Self {
        let name = format!("{}_arguments", spec.name);
        let (arguments, description) = match DynamicSchema::from_json(&spec.parameters, &name) {
            Ok(dynamic) => (Arguments::Dynamic(dynamic), spec.description.clone()),
            Err(reason) => (Arguments::Proxy(reason), with_proxy_note(&spec.description)),
        };
        Self { name: spec.name.clone(), description, arguments, schema: spec.parameters.clone() }
    }

    /// Returns the same tool behind the proxy, for a dynamic schema that the framework rejects.
    pub fn behind_proxy(&self) -> Self {
        if matches!(self.arguments, Arguments::Proxy(_)) {
            return self.clone();
        }
        let reason = Inexpressible { at: "#".to_owned(), reason: Reason::Refused };
        Self {
            description: with_proxy_note(&self.description),
            arguments: Arguments::Proxy(reason),
            ..self.clone()
        }
    }

    /// Returns a shorter version: the first sentence of the description, and no descriptions of the arguments.
    pub fn brief(&self) -> Self {
        let sentence = first_sentence(&self.description);
        let (arguments, description) = match &self.arguments {
            Arguments::Dynamic(dynamic) => {
                (Arguments::Dynamic(dynamic.without_descriptions()), sentence.to_owned())
            }
            proxy if sentence.contains(PROXY_NOTE) => (proxy.clone(), sentence.to_owned()),
            proxy => (proxy.clone(), with_proxy_note(sentence)),
        };
        Self { arguments, description, ..self.clone() }
    }

    pub fn schema(&self) -> DynamicSchema {
        match &self.arguments {
            Arguments::Dynamic(dynamic) => dynamic.clone(),
            Arguments::Proxy(_) => DynamicSchema {
                root: Node::Object {
                    name: "json_arguments".to_owned(),
                    description: None,
                    properties: vec![Property {
                        name: PROXY_ARGUMENT.to_owned(),
                        description: Some(format!(
                            "A JSON string containing all arguments for the tool, matching its schema: {}",
                            schema_text(&self.schema)
                        )),
                        schema: Node::String,
                        presence: Presence::Required,
                    }],
                },
                definitions: Vec::new(),
            },
        }
    }

    /// Returns the arguments in the model's format, the inverse of [`OfferedTool::parse_arguments`].
    pub fn to_model_arguments(&self, arguments: &Value) -> Value {
        match &self.arguments {
            Arguments::Dynamic(_) => arguments.clone(),
            Arguments::Proxy(_) => json!({ PROXY_ARGUMENT: arguments.to_string() }),
        }
    }

    /// Parses the model's output into an object that matches the tool's own schema. An error is meant for the model.
    pub fn parse_arguments(&self, generated: Value) -> Result<Value, String> {
        let arguments = match &self.arguments {
            Arguments::Dynamic(dynamic) => dynamic.restore(generated),
            Arguments::Proxy(_) => unwrap_proxy(generated)?,
        };
        if !arguments.is_object() {
            return Err("Invalid parameters: the arguments are not a JSON object".to_owned());
        }
        // An invalid schema can't be checked; the tool validates its arguments itself.
        let Ok(validator) = jsonschema::validator_for(&self.schema) else { return Ok(arguments) };
        let violations: Vec<_> = validator
            .iter_errors(&arguments)
            .take(VIOLATIONS)
            .map(|error| {
                let (path, message) = (error.instance_path().to_string(), error.to_string());
                let place = if path.is_empty() { String::new() } else { format!("{path}: ") };
                format!("{place}{}", prefix(&message, VIOLATION_BYTES))
            })
            .collect();
        if violations.is_empty() {
            Ok(arguments)
        } else {
            Err(format!("Invalid parameters: {}", violations.join("; ")))
        }
    }
}

fn with_proxy_note(description: &str) -> String {
    format!("{description} {PROXY_NOTE}").trim_start().to_owned()
}

/// Extracts the arguments from the proxy.
fn unwrap_proxy(generated: Value) -> Result<Value, String> {
    let wrong = |what: &str| {
        Err(format!(
            "Invalid parameters: {what}; give one argument, {PROXY_ARGUMENT}, whose value is a JSON object as text"
        ))
    };
    let text = match generated {
        Value::Object(mut members) => match members.remove(PROXY_ARGUMENT) {
            Some(Value::String(text)) => text,
            // Accepted, as the meaning is clear.
            Some(object @ Value::Object(_)) => return Ok(object),
            Some(_) => return wrong(&format!("{PROXY_ARGUMENT} is not text")),
            None => return wrong(&format!("{PROXY_ARGUMENT} is missing")),
        },
        _ => return wrong("the arguments are not a JSON object"),
    };
    // Small models like to add a code fence.
    let bare = text.trim();
    let bare = bare.strip_prefix("```json").or_else(|| bare.strip_prefix("```")).unwrap_or(bare);
    let bare = bare.strip_suffix("```").unwrap_or(bare).trim();
    match json_text::from_str(bare) {
        Ok(object @ Value::Object(_)) => Ok(object),
        Ok(_) => wrong(&format!("{PROXY_ARGUMENT} is not a JSON object")),
        Err(error) => wrong(&format!("{PROXY_ARGUMENT} is not valid JSON ({error})")),
    }
}

/// Returns a schema in full or summarized.
fn schema_text(schema: &Value) -> String {
    let whole = schema.to_string();
    if whole.len() <= SHOWN_SCHEMA {
        return whole;
    }
    let required = schema.get("required").cloned().unwrap_or_else(|| json!([]));
    let keys =
        schema.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(key, value)| {
            let kind =
                value.get("type").map_or_else(|| "any".to_owned(), |kind| kind.to_string().replace('"', ""));
            format!("{key}: {kind}")
        });
    let keys = keys.collect::<Vec<_>>().join(", ");
    prefix(&format!("keys {keys}; required {required}"), SHOWN_SCHEMA).to_owned()
}

fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |end| &text[..=end])
}
