//! A form with which an agent asks the user.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

/// The raw input of an approval whose subject is [`Question`](super::ApprovalSubject::Question).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Form {
    /// What the agent says above the form; may have several lines.
    pub message: String,
    /// In the agent's order.
    #[serde(default)]
    pub fields: Vec<FormField>,
    /// Address that the user is asked to open, instead of fields: `https`, or `http` on this computer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FormField {
    /// Its key in the answer.
    pub name: String,
    /// One line.
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// Its name sounds like a password or a key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    #[serde(flatten)]
    pub kind: FieldKind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FieldKind {
    Text {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<String>,
    },
    Number {
        /// Without a fraction.
        integer: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        minimum: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        maximum: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<f64>,
    },
    Boolean {
        default: bool,
    },
    /// One of these.
    Choice {
        choices: Vec<FormChoice>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<String>,
    },
    /// Any of these.
    Choices {
        choices: Vec<FormChoice>,
        #[serde(default)]
        default: Vec<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct FormChoice {
    pub value: String,
    /// One line.
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The answers to a form, by field.
pub type FormAnswers = Map<String, Value>;

impl Form {
    /// Checks answers, and returns them without those to unknown fields. An error is a sentence that names the field.
    pub fn check(&self, answers: &FormAnswers) -> Result<FormAnswers, String> {
        let mut checked = FormAnswers::new();
        for field in &self.fields {
            let title = &field.title;
            match answers.get(&field.name).filter(|answer| !answer.is_null()) {
                Some(answer) if field.kind.accepts(answer) => {
                    checked.insert(field.name.clone(), answer.clone());
                }
                Some(_) => return Err(format!("“{title}” does not accept that answer.")),
                None if field.required => return Err(format!("“{title}” needs an answer.")),
                None => {}
            }
        }
        Ok(checked)
    }
}

impl FieldKind {
    fn accepts(&self, answer: &Value) -> bool {
        let is_offered = |choices: &[FormChoice], answer: &Value| {
            answer.as_str().is_some_and(|answer| choices.iter().any(|choice| choice.value == answer))
        };
        match self {
            Self::Text { .. } => answer.is_string(),
            Self::Boolean { .. } => answer.is_boolean(),
            Self::Number { integer, minimum, maximum, .. } => answer.as_f64().is_some_and(|number| {
                (!integer || number.fract() == 0.0)
                    && minimum.is_none_or(|minimum| number >= minimum)
                    && maximum.is_none_or(|maximum| number <= maximum)
            }),
            Self::Choice { choices, .. } => is_offered(choices, answer),
            Self::Choices { choices, .. } => {
                answer.as_array().is_some_and(|all| all.iter().all(|answer| is_offered(choices, answer)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn form() -> Form {
        let fields = json!([
            {"name": "db", "title": "Database", "required": true, "type": "choice",
             "choices": [{"value": "SQLite", "title": "SQLite"}, {"value": "Postgres", "title": "Postgres"}]},
            {"name": "parts", "title": "Parts", "type": "choices", "choices": [{"value": "a", "title": "A"}]},
            {"name": "port", "title": "Port", "type": "number", "integer": true, "minimum": 1.0, "maximum": 65_535.0},
            {"name": "note", "title": "Note", "type": "text"},
            {"name": "tls", "title": "TLS", "type": "boolean", "default": true},
        ]);
        serde_json::from_value(json!({"message": "Which?", "fields": fields})).unwrap()
    }

    #[test]
    fn answers_are_checked_field_by_field() {
        let rows = [
            (json!({"db": "SQLite"}), Ok(json!({"db": "SQLite"}))),
            (json!({"db": "SQLite", "other": 1, "note": null}), Ok(json!({"db": "SQLite"}))),
            (
                json!({"db": "Postgres", "parts": ["a"], "port": 5432, "note": "", "tls": false}),
                Ok(json!({"db": "Postgres", "parts": ["a"], "port": 5432, "note": "", "tls": false})),
            ),
            (json!({}), Err("“Database” needs an answer.")),
            (json!({"db": "MySQL"}), Err("“Database” does not accept that answer.")),
            (json!({"db": "SQLite", "parts": "a"}), Err("“Parts” does not accept that answer.")),
            (json!({"db": "SQLite", "parts": ["b"]}), Err("“Parts” does not accept that answer.")),
            (json!({"db": "SQLite", "port": 0}), Err("“Port” does not accept that answer.")),
            (json!({"db": "SQLite", "port": 1.5}), Err("“Port” does not accept that answer.")),
            (json!({"db": "SQLite", "tls": "yes"}), Err("“TLS” does not accept that answer.")),
        ];
        for (answers, expected) in rows {
            let checked = form().check(answers.as_object().unwrap()).map(Value::Object);
            assert_eq!(checked, expected.map_err(str::to_owned), "{answers}");
        }
    }
}
