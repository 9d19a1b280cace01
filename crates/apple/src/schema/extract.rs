//! Converts dynamic schemas, and the framework's own schemas, to JSON Schema.

use super::dynamic::{DynamicSchema, Node, Presence};
use crate::limits::FRAMEWORK_DEPTH;
use serde_json::{Map, Value, json};

impl DynamicSchema {
    /// Returns an equivalent JSON schema. [`DynamicSchema::from_json`] reads it back.
    pub fn to_json(&self) -> Value {
        let mut schema = node(&self.root);
        if let (Some(members), false) = (schema.as_object_mut(), self.definitions.is_empty()) {
            let named = |definition: &Node| Some((definition.name()?.to_owned(), node(definition)));
            members.insert(
                "$defs".to_owned(),
                Value::Object(self.definitions.iter().filter_map(named).collect()),
            );
        }
        schema
    }
}

fn node(schema: &Node) -> Value {
    let mut members = Map::new();
    let mut set = |key: &str, value: Value| drop(members.insert(key.to_owned(), value));
    match schema {
        Node::Object { name, description, properties } => {
            set("title", json!(name));
            if let Some(description) = description {
                set("description", json!(description));
            }
            set("type", json!("object"));
            let keys = properties.iter().map(|property| {
                let mut value = node(&property.schema);
                if property.presence == Presence::Nullable {
                    value = json!({"anyOf": [value, {"type": "null"}]});
                }
                if let (Some(members), Some(text)) = (value.as_object_mut(), &property.description) {
                    members.insert("description".to_owned(), json!(text));
                }
                (property.name.clone(), value)
            });
            set("properties", Value::Object(keys.collect()));
            let required = properties.iter().filter(|property| property.presence != Presence::Optional);
            set("required", required.map(|property| json!(property.name)).collect());
            set("additionalProperties", json!(false));
        }
        Node::AnyOf { name, description, choices } => {
            set("title", json!(name));
            if let Some(description) = description {
                set("description", json!(description));
            }
            set("anyOf", choices.iter().map(node).collect());
        }
        Node::Enum { name, choices } => {
            set("title", json!(name));
            set("type", json!("string"));
            set("enum", json!(choices));
        }
        Node::String => set("type", json!("string")),
        Node::Boolean => set("type", json!("boolean")),
        Node::Integer { minimum, maximum } => {
            set("type", json!("integer"));
            minimum.map(|bound| set("minimum", json!(bound)));
            maximum.map(|bound| set("maximum", json!(bound)));
        }
        Node::Number { minimum, maximum } => {
            set("type", json!("number"));
            minimum.map(|bound| set("minimum", json!(bound)));
            maximum.map(|bound| set("maximum", json!(bound)));
        }
        Node::Array { items, minimum, maximum } => {
            set("type", json!("array"));
            set("items", node(items));
            minimum.map(|bound| set("minItems", json!(bound)));
            maximum.map(|bound| set("maxItems", json!(bound)));
        }
        Node::Reference(name) => set("$ref", json!(format!("#/$defs/{name}"))),
    }
    Value::Object(members)
}

/// Converts a schema written by the framework, from a `@Generable` type or dynamic, into a plain JSON schema. The
/// separately stored order of the properties becomes their actual order.
pub fn from_framework(schema: &Value) -> Value {
    without_extensions(schema, FRAMEWORK_DEPTH)
}

fn without_extensions(schema: &Value, depth: usize) -> Value {
    match schema {
        _ if depth == 0 => Value::Bool(true),
        Value::Object(members) => {
            let order: Vec<_> = members
                .get("x-order")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let place = |key: &str| order.iter().position(|name| *name == key).unwrap_or(order.len());
            let kept = members.iter().filter(|(key, _)| !key.starts_with("x-")).map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    ("properties" | "$defs", Value::Object(named)) => {
                        let mut named: Vec<_> = named.iter().collect();
                        if key == "properties" {
                            named.sort_by_key(|(key, _)| place(key));
                        }
                        named
                            .into_iter()
                            .map(|(key, value)| (key.clone(), without_extensions(value, depth - 1)))
                            .collect()
                    }
                    // These keywords contain data, not schemas.
                    ("enum" | "const" | "default" | "examples" | "required", value) => value.clone(),
                    (_, value) => without_extensions(value, depth - 1),
                };
                (key.clone(), value)
            });
            Value::Object(kept.collect())
        }
        Value::Array(items) => items.iter().map(|item| without_extensions(item, depth - 1)).collect(),
        other => other.clone(),
    }
}
