//! Reads an agent's questions: `elicitation/create`, a form or an address to open.

use crate::{
    limits::{FORM_BYTES, FORM_CHOICES, FORM_FIELDS, OPTION_ID, URL_BYTES},
    output::one_line,
};
use openagents_core::{
    approval::{FieldKind, Form, FormChoice, FormField},
    text::clip_bytes,
};
use serde_json::Value;
use std::{collections::HashSet, net::IpAddr};

/// Reads the params of `elicitation/create`. An error says why the question cannot be shown.
pub(super) fn form(params: &Value) -> Result<Form, String> {
    let message = clip_bytes(params["message"].as_str().unwrap_or_default(), FORM_BYTES);
    if params["mode"] == "url" {
        let url = params["url"].as_str().and_then(safe_address);
        let url = url.ok_or_else(|| "its link is not safe to open".to_owned())?;
        return Ok(Form { message, fields: Vec::new(), url: Some(url) });
    }
    let schema = &params["requestedSchema"];
    let Some(properties) = schema["properties"].as_object() else {
        return Err("it has no form".to_owned());
    };
    if properties.len() > FORM_FIELDS || schema.to_string().len() > FORM_BYTES {
        return Err("its form is too long".to_owned());
    }
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut fields = Vec::new();
    for (name, stated) in properties {
        let is_required = required.contains(&name.as_str());
        let Some(kind) = kind(stated) else {
            if is_required {
                let title = title(name, stated);
                return Err(format!("its field “{title}” has an unsupported type"));
            }
            continue;
        };
        fields.push(FormField {
            name: name.clone(),
            title: title(name, stated),
            description: stated["description"].as_str().map(|text| clip_bytes(text, FORM_BYTES)),
            required: is_required,
            secret: is_secret(name) || stated.pointer("/_meta/codex/isSecret") == Some(&Value::Bool(true)),
            kind,
        });
    }
    Ok(Form { message, fields, url: None })
}

fn title(name: &str, stated: &Value) -> String {
    stated["title"].as_str().and_then(one_line).or_else(|| one_line(name)).unwrap_or_default()
}

fn kind(stated: &Value) -> Option<FieldKind> {
    let default = &stated["default"];
    Some(match stated["type"].as_str()? {
        "string" => match choices(stated)? {
            Some(choices) => {
                let default = default.as_str().filter(|default| offers(&choices, default));
                FieldKind::Choice { default: default.map(str::to_owned), choices }
            }
            None => FieldKind::Text { default: default.as_str().map(str::to_owned) },
        },
        "boolean" => FieldKind::Boolean { default: default.as_bool().unwrap_or_default() },
        number @ ("number" | "integer") => FieldKind::Number {
            integer: number == "integer",
            minimum: stated["minimum"].as_f64(),
            maximum: stated["maximum"].as_f64(),
            default: default.as_f64(),
        },
        "array" => {
            let choices = choices(&stated["items"])??;
            let picked = default.as_array().into_iter().flatten().filter_map(Value::as_str);
            let default = picked.filter(|it| offers(&choices, it)).map(str::to_owned).collect();
            FieldKind::Choices { choices, default }
        }
        _ => return None,
    })
}

fn offers(choices: &[FormChoice], value: &str) -> bool {
    choices.iter().any(|choice| choice.value == value)
}

/// Reads the values of a field: `Some(None)` if it takes any text, `None` if they cannot be shown.
#[expect(clippy::option_option, reason = "a field without choices is not a field with bad ones")]
fn choices(stated: &Value) -> Option<Option<Vec<FormChoice>>> {
    let plain = stated["enum"].as_array();
    let titled = stated["oneOf"].as_array().or_else(|| stated["anyOf"].as_array());
    let Some(values) = plain.or(titled) else { return Some(None) };
    if values.len() > FORM_CHOICES {
        return None;
    }
    let names = stated["enumNames"].as_array();
    let choice = |(at, stated): (usize, &Value)| {
        let value =
            stated.as_str().or_else(|| stated["const"].as_str()).filter(|it| it.len() <= OPTION_ID)?;
        let title = names.and_then(|names| names.get(at)?.as_str()).or_else(|| stated["title"].as_str());
        Some(FormChoice {
            value: value.to_owned(),
            title: title.and_then(one_line).unwrap_or_else(|| value.to_owned()),
            description: stated["description"].as_str().map(str::to_owned),
        })
    };
    let mut seen = HashSet::new();
    let choices = values.iter().enumerate().filter_map(choice);
    Some(Some(choices.filter(|choice| seen.insert(choice.value.clone())).collect()))
}

/// Whether a field's name sounds as if its value should not be in a log.
fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    ["password", "passphrase", "secret", "token", "api_key", "apikey", "credential"]
        .iter()
        .any(|word| name.contains(word))
}

/// Returns an address as a browser reads it, with an ASCII host; `None` if it may not be opened, or if its host is
/// easily mistaken.
fn safe_address(stated: &str) -> Option<String> {
    let is_odd = |sign: char| sign.is_control() || sign.is_whitespace() || sign == '\\';
    if stated.len() > URL_BYTES || stated.chars().any(is_odd) {
        return None;
    }
    let url = reqwest::Url::parse(stated).ok()?;
    let host = url.host_str()?.trim_matches(['[', ']']);
    let is_here = host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    let is_safe = url.scheme() == "https" || url.scheme() == "http" && is_here;
    let is_plain = url.username().is_empty() && url.password().is_none();
    (is_safe && is_plain).then(|| url.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ask(properties: Value, required: &[&str]) -> Result<Form, String> {
        form(&json!({"mode": "form", "message": "Which?", "requestedSchema":
            {"type": "object", "properties": properties, "required": required}}))
    }

    /// The questions of claude-agent-acp 0.101 and codex-acp 2.6.
    #[test]
    fn questions_of_real_agents_are_read() {
        let form = ask(
            json!({
                "question_0": {"type": "string", "title": "Database", "description": "Which database?",
                    "oneOf": [{"const": "SQLite", "title": "SQLite", "description": "One file"}]},
                "question_0_custom": {"type": "string", "title": "Other"},
                "question_1": {"type": "array", "title": "Features",
                    "items": {"anyOf": [{"const": "Auth", "title": "Auth"}, {"const": "Search", "title": "Search"}]}},
                "db_note": {"type": "string", "_meta": {"codex": {"isSecret": true}}},
            }),
            &["question_0"],
        );
        insta::assert_json_snapshot!(form.unwrap());
    }

    #[test]
    fn fields_of_every_kind_are_read() {
        let rows = [
            (json!({"type": "string"}), Some(FieldKind::Text { default: None })),
            (
                json!({"type": "string", "default": "x"}),
                Some(FieldKind::Text { default: Some("x".to_owned()) }),
            ),
            (json!({"type": "boolean", "default": true}), Some(FieldKind::Boolean { default: true })),
            (
                json!({"type": "integer", "minimum": 1, "maximum": 9, "default": 2}),
                Some(FieldKind::Number {
                    integer: true,
                    minimum: Some(1.0),
                    maximum: Some(9.0),
                    default: Some(2.0),
                }),
            ),
            (
                json!({"type": "string", "enum": ["a", 7, "a"], "enumNames": ["A"], "default": "a"}),
                Some(FieldKind::Choice {
                    choices: vec![FormChoice {
                        value: "a".to_owned(),
                        title: "A".to_owned(),
                        description: None,
                    }],
                    default: Some("a".to_owned()),
                }),
            ),
            (json!({"type": "array"}), None),
            (json!({"type": "array", "items": {"type": "string"}}), None),
            (json!({"type": "object"}), None),
            (json!({}), None),
            (json!("text"), None),
        ];
        for (stated, expected) in rows {
            assert_eq!(kind(&stated), expected, "{stated}");
        }
    }

    #[test]
    fn unknown_field_is_left_out_unless_required() {
        let fields = json!({"a": {"type": "string"}, "b": {"type": "object", "title": "Bee"}});
        assert_eq!(ask(fields.clone(), &["a"]).unwrap().fields.len(), 1);
        let why = "its field “Bee” has an unsupported type";
        assert_eq!(ask(fields, &["b"]), Err(why.to_owned()));
        let many: Value = (0..60).map(|n| (n.to_string(), json!({"type": "string"}))).collect();
        assert_eq!(ask(many, &[]), Err("its form is too long".to_owned()));
        assert_eq!(ask(Value::Null, &[]), Err("it has no form".to_owned()));
        assert_eq!(form(&Value::Null), Err("it has no form".to_owned()));
    }

    #[test]
    fn only_safe_addresses_are_opened() {
        let rows = [
            ("https://example.com/login?a=b", true),
            ("http://localhost:1455/callback", true),
            ("http://127.0.0.1:80/", true),
            ("http://[::1]/", true),
            ("http://example.com/", false),
            ("http://127.0.0.1.example.com/", false),
            ("javascript:alert(1)", false),
            ("file:///etc/passwd", false),
            ("https://", false),
            ("https://a b", false),
            ("https://evil.example\\@good.example/", false),
            ("https://good.example@evil.example/", false),
            ("", false),
        ];
        for (url, safe) in rows {
            let read = form(&json!({"mode": "url", "message": "Log in", "url": url}));
            assert_eq!(read.is_ok(), safe, "{url}");
        }
        assert_eq!(safe_address(&format!("https://example.com/{}", "a".repeat(5_000))), None);
        assert_eq!(safe_address("https://exämple.com").as_deref(), Some("https://xn--exmple-cua.com/"));
    }

    proptest::proptest! {
        #[test]
        fn form_never_panics(name in ".*", text in ".*", kind in "string|array|integer|boolean|x") {
            let stated = json!({name.clone(): {"type": kind, "title": text.clone(), "enum": [text.clone()], "items": {"enum": [text]}}});
            let _ = ask(stated, &[&name]);
        }
    }
}
