//! An agent's questions as an editor gets them: `elicitation/create`, and its answer.

use openagents_core::approval::{Approval, FieldKind, Form, FormAnswers, FormChoice, FormField, OptionKind};
use serde_json::{Map, Value, json};

/// Returns the form of a pending question.
pub(super) fn form(approval: &Approval) -> Option<Form> {
    serde_json::from_value(approval.raw_input.clone()?).ok()
}

/// Returns the params of `elicitation/create`.
pub(super) fn elicitation(session_id: &str, approval: &Approval, form: &Form) -> Value {
    let message = if form.message.is_empty() { &approval.title } else { &form.message };
    let mut params = json!({"sessionId": session_id, "toolCallId": approval.call_id, "message": message});
    match &form.url {
        Some(url) => {
            params["mode"] = "url".into();
            (params["elicitationId"], params["url"]) = (approval.id.as_str().into(), url.as_str().into());
        }
        None => {
            params["mode"] = "form".into();
            params["requestedSchema"] = schema(&form.fields);
        }
    }
    params
}

/// The properties keep the order of the fields.
fn schema(fields: &[FormField]) -> Value {
    let properties: Map<_, _> = fields.iter().map(|field| (field.name.clone(), property(field))).collect();
    let required: Vec<_> = fields.iter().filter(|field| field.required).map(|field| &field.name).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

fn property(field: &FormField) -> Value {
    let choice = |FormChoice { value, title, description }: &FormChoice| {
        with(json!({"const": value, "title": title}), [("description", json!(description))])
    };
    let choices = |choices: &[FormChoice]| choices.iter().map(choice).collect::<Vec<_>>();
    let property = match &field.kind {
        FieldKind::Text { default } => with(json!({"type": "string"}), [("default", json!(default))]),
        FieldKind::Boolean { default } => json!({"type": "boolean", "default": default}),
        FieldKind::Number { integer, minimum, maximum, default } => {
            // Editors read the bounds of integers as integers.
            let number = |number: &Option<f64>| match number {
                Some(number) if *integer => json!(*number as i64),
                number => json!(number),
            };
            with(
                json!({"type": if *integer { "integer" } else { "number" }}),
                [("minimum", number(minimum)), ("maximum", number(maximum)), ("default", number(default))],
            )
        }
        FieldKind::Choice { choices: offered, default } => {
            with(json!({"type": "string", "oneOf": choices(offered)}), [("default", json!(default))])
        }
        FieldKind::Choices { choices: offered, default } => {
            json!({"type": "array", "items": {"anyOf": choices(offered)}, "default": default})
        }
    };
    with(property, [("title", json!(field.title)), ("description", json!(field.description))])
}

/// Adds members that are not null.
fn with<const N: usize>(mut object: Value, members: [(&str, Value); N]) -> Value {
    for (name, value) in members.into_iter().filter(|(_, value)| !value.is_null()) {
        object[name] = value;
    }
    object
}

/// Reads the answer to an elicitation: the chosen option of the approval, and the answers to its fields. Closing the
/// form in the editor declines, so that the agent continues without an answer.
pub(super) fn answer(
    approval_options: &[(String, OptionKind)],
    answer: &Value,
) -> Option<(String, FormAnswers)> {
    let accepts = match answer["action"].as_str()? {
        "accept" => true,
        "decline" | "cancel" => false,
        _ => return None,
    };
    let option = approval_options.iter().find(|(_, kind)| kind.denies() != accepts)?;
    let content = answer["content"].as_object().filter(|_| accepts).cloned();
    Some((option.0.clone(), content.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> Vec<FormField> {
        serde_json::from_value(json!([
            {"name": "db", "title": "Database", "description": "Which one?", "required": true, "type": "choice",
             "choices": [{"value": "SQLite", "title": "SQLite", "description": "One file"}], "default": "SQLite"},
            {"name": "parts", "title": "Parts", "type": "choices", "choices": [{"value": "a", "title": "A"}]},
            {"name": "port", "title": "Port", "type": "number", "integer": true, "minimum": 1.0},
            {"name": "note", "title": "Note", "type": "text"},
            {"name": "tls", "title": "TLS", "type": "boolean", "default": true},
        ]))
        .unwrap()
    }

    #[test]
    fn form_is_a_schema_again() {
        let schema = schema(&fields());
        let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["db", "parts", "port", "note", "tls"]);
        let expected = json!({
            "type": "object", "required": ["db"], "properties": {
                "db": {"type": "string", "oneOf": [{"const": "SQLite", "title": "SQLite", "description": "One file"}],
                    "default": "SQLite", "title": "Database", "description": "Which one?"},
                "parts": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "default": [],
                    "title": "Parts"},
                "port": {"type": "integer", "minimum": 1, "title": "Port"},
                "note": {"type": "string", "title": "Note"},
                "tls": {"type": "boolean", "default": true, "title": "TLS"},
            },
        });
        assert_eq!(schema, expected);
    }

    #[test]
    fn answers_choose_an_option() {
        let options =
            [("accept".to_owned(), OptionKind::AllowOnce), ("decline".to_owned(), OptionKind::RejectOnce)];
        let rows = [
            (
                json!({"action": "accept", "content": {"db": "SQLite"}}),
                Some(("accept", json!({"db": "SQLite"}))),
            ),
            (json!({"action": "accept"}), Some(("accept", json!({})))),
            (json!({"action": "decline", "content": {"db": "SQLite"}}), Some(("decline", json!({})))),
            (json!({"action": "cancel"}), Some(("decline", json!({})))),
            (json!({"action": "_later"}), None),
            (json!({}), None),
            (json!("accept"), None),
        ];
        for (sent, expected) in rows {
            let read = answer(&options, &sent).map(|(id, content)| (id, Value::Object(content)));
            assert_eq!(read, expected.map(|(id, content)| (id.to_owned(), content)), "{sent}");
        }
    }
}
