//! Renders messages into a prompt. Markers are pushed by id and everything else goes through [`Vocabulary::text`], so
//! text from the user, a tool or a model can't become a marker.

use super::names::{self, CALL, CHANNEL, CONSTRAIN, END, MESSAGE, Names, START};
use crate::{
    chat::{ChatError, Vocabulary},
    limits::{TYPE_BYTES, TYPE_DEPTH},
};
use openagents_core::model::{AssistantMessage, Message, ModelRequest, ToolSpec};
use serde_json::{Map, Value};
use std::fmt::Write;

pub(super) fn render(
    request: &ModelRequest,
    date: &str,
    vocabulary: &dyn Vocabulary,
) -> Result<Vec<i32>, ChatError> {
    names::check_vocabulary(vocabulary)?;
    let names = Names::for_tools(&request.tools);
    let mut prompt = Prompt { vocabulary, names, tokens: Vec::new() };
    prompt.message("system", None, &system(request, date), END);
    let developer = developer(request, &prompt.names);
    if !developer.is_empty() {
        prompt.message("developer", None, &developer, END);
    }
    // Reasoning is sent back only during its own turn.
    let turn = request.messages.iter().rposition(|message| matches!(message, Message::User { .. }));
    for (at, message) in request.messages.iter().enumerate() {
        match message {
            Message::User { text } => prompt.message("user", None, text, END),
            Message::Assistant(message) => prompt.answer(message, turn.is_none_or(|turn| at > turn)),
            Message::Tool { name, text, .. } => {
                let role = format!("functions.{} to=assistant", prompt.names.wire(name));
                prompt.message(&role, Some("commentary"), text, END);
            }
        }
    }
    prompt.tokens.push(START);
    prompt.text("assistant");
    Ok(prompt.tokens)
}

struct Prompt<'a> {
    vocabulary: &'a dyn Vocabulary,
    names: Names,
    tokens: Vec<i32>,
}

impl Prompt<'_> {
    fn text(&mut self, text: &str) {
        self.tokens.extend(self.vocabulary.text(text));
    }

    fn header(&mut self, role: &str, channel: Option<&str>) {
        self.tokens.push(START);
        self.text(role);
        if let Some(channel) = channel {
            self.tokens.push(CHANNEL);
            self.text(channel);
        }
    }

    fn body(&mut self, text: &str, end: i32) {
        self.tokens.push(MESSAGE);
        self.text(text);
        self.tokens.push(end);
    }

    fn message(&mut self, role: &str, channel: Option<&str>, text: &str, end: i32) {
        self.header(role, channel);
        self.body(text, end);
    }

    /// A model ends its answer with `<|return|>`; in the prompt it is `<|end|>`.
    fn answer(&mut self, message: &AssistantMessage, thoughts: bool) {
        // Text before a call is not the final answer.
        let channel = if message.calls.is_empty() { "final" } else { "commentary" };
        let reasoning = if thoughts { message.reasoning.for_template() } else { "" };
        let parts =
            [("analysis", reasoning), ("commentary", message.preamble.as_str()), (channel, &message.text)];
        for (channel, text) in parts {
            if !text.is_empty() {
                self.message("assistant", Some(channel), text, END);
            }
        }
        for call in &message.calls {
            let role = format!("assistant to=functions.{}", self.names.wire(&call.name));
            self.header(&role, Some("commentary"));
            self.text(" ");
            self.tokens.push(CONSTRAIN);
            self.text("json");
            match &call.arguments {
                // Kept as the model wrote them, because they could not be parsed.
                Value::String(text) => self.body(text, CALL),
                arguments => self.body(&arguments.to_string(), CALL),
            }
        }
    }
}

fn system(request: &ModelRequest, date: &str) -> String {
    let effort = request.options.effort.as_str();
    let mut text = format!(
        "You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06\nCurrent date: {date}\n\n\
         Reasoning: {effort}\n\n\
         # Valid channels: analysis, commentary, final. Channel must be included for every message."
    );
    if !request.tools.is_empty() {
        text.push_str("\nCalls to these tools must go to the commentary channel: 'functions'.");
    }
    text
}

fn developer(request: &ModelRequest, names: &Names) -> String {
    let mut sections = Vec::new();
    if !request.instructions.is_empty() {
        sections.push(format!("# Instructions\n\n{}", request.instructions));
    }
    if !request.tools.is_empty() {
        let tools: Vec<_> = request.tools.iter().map(|tool| declaration(tool, names)).collect();
        sections.push(format!(
            "# Tools\n\n## functions\n\nnamespace functions {{\n\n{}\n}} // namespace functions",
            tools.join("\n")
        ));
    }
    sections.join("\n\n")
}

fn declaration(tool: &ToolSpec, names: &Names) -> String {
    let comment: String = tool.description.lines().map(|line| format!("// {line}\n")).collect();
    let name = names.wire(&tool.name);
    if tool.parameters.is_null() {
        return format!("{comment}type {name} = () => any;\n");
    }
    format!("{comment}type {name} = (_: {}) => any;\n", typescript(&tool.parameters))
}

/// Formats a JSON schema as a TypeScript type, exactly as in the model's training data.
pub(super) fn typescript(schema: &Value) -> String {
    Writer { root: schema, written: 0 }.type_of(schema, "", TYPE_DEPTH)
}

struct Writer<'a> {
    /// The schema that `#/…` references point into.
    root: &'a Value,
    /// Approximate bytes so far: references could multiply exponentially.
    written: usize,
}

impl Writer<'_> {
    fn type_of(&mut self, schema: &Value, indent: &str, depth: usize) -> String {
        if depth == 0 || self.written > TYPE_BYTES {
            return "any".to_owned();
        }
        self.written += 8;
        let schema = &self.resolve(schema);
        if let Some(variants) = variants(schema) {
            return self.union_of(variants, indent, depth);
        }
        if let Some(or_null) = lone_variant(schema) {
            let kind = self.type_of(or_null, indent, depth - 1);
            return if kind.ends_with("null") { kind } else { kind + " | null" };
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array).filter(|values| !values.is_empty())
        {
            return join(values.iter().map(Value::to_string));
        }
        if let Some(value) = schema.get("const") {
            return value.to_string();
        }
        match schema.get("type") {
            Some(Value::Array(types)) => {
                let of = |name: &Value| self.named(name.as_str().unwrap_or_default(), schema, indent, depth);
                let types: Vec<_> = types.iter().map(of).collect();
                if types.is_empty() { "any".to_owned() } else { types.join(" | ") }
            }
            Some(Value::String(name)) => self.named(name, schema, indent, depth),
            _ if schema.get("properties").is_some() => self.named("object", schema, indent, depth),
            _ => "any".to_owned(),
        }
    }

    fn named(&mut self, name: &str, schema: &Value, indent: &str, depth: usize) -> String {
        match name {
            "object" => self.object(schema, indent, depth),
            "array" => match schema.get("items") {
                Some(items) => {
                    let item = self.type_of(items, indent, depth - 1);
                    if item.contains(" | ") && !item.ends_with('}') {
                        format!("({item})[]")
                    } else {
                        format!("{item}[]")
                    }
                }
                None => "Array<any>".to_owned(),
            },
            "number" | "integer" => "number".to_owned(),
            "string" | "boolean" | "null" => name.to_owned(),
            _ => "any".to_owned(),
        }
    }

    fn object(&mut self, schema: &Value, indent: &str, depth: usize) -> String {
        let mut text = String::new();
        comment(&mut text, indent, described(schema));
        text.push_str("{\n");
        let required: Vec<&str> = match schema.get("required").and_then(Value::as_array) {
            Some(names) => names.iter().filter_map(Value::as_str).collect(),
            None => Vec::new(),
        };
        for (key, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let property = &self.resolve(property);
            let mark = if required.contains(&key.as_str()) { "" } else { "?" };
            self.property(&mut text, &format!("{key}{mark}"), property, indent, depth);
            self.written += key.len();
        }
        text.push_str(indent);
        text.push('}');
        self.written += text.len() / 8;
        text
    }

    fn property(&mut self, text: &mut String, key: &str, property: &Value, indent: &str, depth: usize) {
        if let Some(title) = property.get("title").and_then(Value::as_str) {
            comment(text, indent, Some(title));
            let _ = writeln!(text, "{indent}//");
        }
        let description = described(property);
        let variants = variants(property);
        let told_by_first = variants.and_then(|variants| described(variants.first()?)) == description;
        let above = if variants.is_some() && told_by_first { None } else { description };
        if variants.is_none() {
            comment(text, indent, above);
        }
        let examples = property.get("examples").and_then(Value::as_array).into_iter().flatten();
        for (at, example) in examples.filter_map(Value::as_str).enumerate() {
            if at == 0 {
                comment(text, indent, Some("Examples:"));
            }
            comment(text, indent, Some(&format!("- \"{example}\"")));
        }
        let Some(variants) = variants else {
            let kind = nullable(property, self.type_of(property, &format!("{indent}    "), depth - 1));
            let default = default_of(property).map(|default| format!(" // {default}")).unwrap_or_default();
            let _ = writeln!(text, "{indent}{key}: {kind},{default}");
            return;
        };
        comment(text, indent, above);
        comment(text, indent, default_of(property).as_deref());
        let _ = writeln!(text, "{indent}{key}:");
        for (at, variant) in variants.iter().enumerate() {
            let variant = &self.resolve(variant);
            let kind = nullable(variant, self.type_of(variant, &format!("{indent}   "), depth - 1));
            let own =
                described(variant).filter(|own| Some(*own) != description && !(at == 0 && above.is_some()));
            let _ = writeln!(text, "{indent} | {kind}{}", trailing(own, variant));
        }
        let _ = writeln!(text, "{indent},");
    }

    fn union_of(&mut self, variants: &[Value], indent: &str, depth: usize) -> String {
        let mut text = String::new();
        for variant in variants {
            let variant = &self.resolve(variant);
            let kind = nullable(variant, self.type_of(variant, &format!("{indent}   "), depth - 1));
            let _ = write!(text, "\n{indent} | {kind}{}", trailing(described(variant), variant));
        }
        text
    }

    /// Resolves `$ref`; keywords next to it, such as a description, take precedence.
    fn resolve(&self, schema: &Value) -> Value {
        let mut merged = schema.clone();
        for _ in 0..TYPE_DEPTH {
            let Some(reference) = merged.get("$ref").and_then(Value::as_str) else { return merged };
            let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            let Some(target) = target.and_then(Value::as_object) else { break };
            let own = merged.as_object().into_iter().flatten().filter(|(key, _)| *key != "$ref");
            let mut next: Map<String, Value> = target.clone();
            next.extend(own.map(|(key, value)| (key.clone(), value.clone())));
            merged = Value::Object(next);
        }
        if merged.get("$ref").is_some() { Value::Object(Map::new()) } else { merged }
    }
}

/// The types of a union with at least two types other than `null`.
fn variants(schema: &Value) -> Option<&[Value]> {
    union(schema).filter(|variants| variants.iter().filter(|variant| !is_null(variant)).count() > 1)
}

/// The only other type of a union with `null`, which is written on one line.
fn lone_variant(schema: &Value) -> Option<&Value> {
    union(schema)?.iter().find(|variant| !is_null(variant))
}

fn union(schema: &Value) -> Option<&[Value]> {
    ["oneOf", "anyOf"].into_iter().find_map(|key| schema.get(key)?.as_array()).map(Vec::as_slice)
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null")
}

fn described(schema: &Value) -> Option<&str> {
    schema.get("description").and_then(Value::as_str)
}

fn nullable(schema: &Value, kind: String) -> String {
    let may_be_null = schema.get("nullable").and_then(Value::as_bool) == Some(true);
    if may_be_null && !kind.contains("null") { kind + " | null" } else { kind }
}

/// `default: 5`; enum values are written without quotes.
fn default_of(schema: &Value) -> Option<String> {
    let default = schema.get("default")?;
    let word = default.as_str().filter(|_| schema.get("enum").is_some());
    Some(word.map_or_else(|| format!("default: {default}"), |word| format!("default: {word}")))
}

fn trailing(description: Option<&str>, variant: &Value) -> String {
    let parts: Vec<_> = description.map(one_line).into_iter().chain(default_of(variant)).collect();
    if parts.is_empty() { String::new() } else { format!(" // {}", parts.join(" ")) }
}

fn comment(text: &mut String, indent: &str, comment: Option<&str>) {
    for line in comment.into_iter().flat_map(str::lines) {
        let _ = writeln!(text, "{indent}// {line}");
    }
}

fn one_line(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join(" ")
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn only(property: Value) -> String {
        let text = typescript(&json!({"type": "object", "properties": {"x": property}, "required": ["x"]}));
        text.trim_start_matches("{\n").trim_end_matches("\n}").to_owned()
    }

    #[test]
    fn typescript_renders_schemas() {
        let rows = [
            (json!({"type": "string"}), "x: string,"),
            (json!({"type": "integer", "default": 5}), "x: number, // default: 5"),
            (json!({"type": "string", "default": "a"}), "x: string, // default: \"a\""),
            (
                json!({"type": "string", "enum": ["a", "b"], "default": "a"}),
                "x: \"a\" | \"b\", // default: a",
            ),
            (json!({"type": ["string", "null"]}), "x: string | null,"),
            (json!({"type": "string", "nullable": true}), "x: string | null,"),
            (json!({"type": "array", "items": {"type": "integer"}}), "x: number[],"),
            (json!({"type": "array", "items": {"type": ["integer", "null"]}}), "x: (number | null)[],"),
            (json!({"type": "array"}), "x: Array<any>,"),
            (json!({"const": "fixed"}), "x: \"fixed\","),
            (json!({"enum": [1, "two", null]}), "x: 1 | \"two\" | null,"),
            (json!({"description": "one\ntwo", "type": "boolean"}), "// one\n// two\nx: boolean,"),
            (json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), "x: number | null,"),
            (json!({"oneOf": []}), "x: any,"),
            (json!(true), "x: any,"),
            (json!({"type": "surprise"}), "x: any,"),
            (json!({"type": []}), "x: any,"),
        ];
        for (schema, text) in rows {
            assert_eq!(only(schema.clone()), text, "{schema}");
        }
    }

    #[test]
    fn typescript_follows_references_and_ends_cycles() {
        let schema = json!({
            "type": "object",
            "properties": {
                "sort": {"$ref": "#/$defs/Sort", "description": "How"},
                "node": {"$ref": "#/$defs/Node"},
                "lost": {"$ref": "#/$defs/Lost"},
                "self": {"$ref": "#/properties/self"},
                "elsewhere": {"$ref": "https://example.org/schema"},
            },
            "$defs": {
                "Sort": {"type": "string", "enum": ["up", "down"]},
                "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}},
            },
        });
        let text = typescript(&schema);
        assert!(text.starts_with("{\n// How\nsort?: \"up\" | \"down\",\nnode?: {\n    next?: {\n"), "{text}");
        assert!(text.contains("next?: any,"), "{text}");
        assert!(text.ends_with("lost?: any,\nself?: any,\nelsewhere?: any,\n}"), "{text}");
    }

    #[test]
    fn typescript_bounds_multiplying_references() {
        let twice = |to: &str| {
            json!({"type": "object", "properties": {
                "a": {"$ref": to}, "b": {"$ref": to}, "c": {"$ref": to}, "d": {"$ref": to},
            }})
        };
        let schema = json!({"$ref": "#/$defs/Tree", "$defs": {"Tree": twice("#/$defs/Tree")}});
        assert!(typescript(&schema).len() < 40 * TYPE_BYTES);
    }
}
