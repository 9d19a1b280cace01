//! The settings of a session that an agent offers: its model, its effort, its mode.

use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};
use ts_rs::TS;

/// A setting of a session that an agent offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOption {
    pub id: String,
    /// One line.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `mode`, `model`, `thought_level`, or another of the protocol's or the agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// It decides when the agent asks for approval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decides_asking: bool,
    #[serde(flatten)]
    pub setting: Setting,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Setting {
    Select {
        current: String,
        /// In the agent's order. Empty if it does not list them.
        values: Vec<SelectValue>,
    },
    Boolean {
        current: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectValue {
    pub value: String,
    /// One line.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Heading that it belongs under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<Asking>,
}

/// What an agent asks the user before it acts, with a value of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Asking {
    /// It only reads and plans.
    Plan,
    /// Before each edit and command.
    Ask,
    /// Before commands, but not before edits.
    Edits,
    /// When it, or a model, decides to.
    Auto,
    /// Nothing.
    Bypass,
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(untagged)]
pub enum OptionValue {
    Switch(bool),
    Select(String),
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(on) => f.write_str(if *on { "on" } else { "off" }),
            Self::Select(value) => f.write_str(value),
        }
    }
}

/// The values that clients chose for an agent's options, by the option's id.
pub type OptionChoices = BTreeMap<String, OptionValue>;

impl SessionOption {
    pub fn current(&self) -> OptionValue {
        match &self.setting {
            Setting::Select { current, .. } => OptionValue::Select(current.clone()),
            Setting::Boolean { current } => OptionValue::Switch(*current),
        }
    }

    /// Returns a value as one of this option's type: `on` and `off` are those of a switch.
    pub fn typed(&self, value: OptionValue) -> OptionValue {
        match (&self.setting, &value) {
            (Setting::Boolean { .. }, OptionValue::Select(name)) if name == "on" || name == "off" => {
                OptionValue::Switch(name == "on")
            }
            _ => value,
        }
    }

    /// Returns whether a value can be set, as far as is known.
    pub fn offers(&self, wanted: &OptionValue) -> bool {
        match (&self.setting, wanted) {
            (Setting::Select { values, .. }, OptionValue::Select(wanted)) => {
                values.is_empty() || values.iter().any(|known| known.value == *wanted)
            }
            (Setting::Boolean { .. }, OptionValue::Switch(_)) => true,
            _ => false,
        }
    }

    /// Sets the current value, if it is of the option's type.
    pub fn set(&mut self, value: &OptionValue) {
        match (&mut self.setting, value) {
            (Setting::Select { current, .. }, OptionValue::Select(value)) => current.clone_from(value),
            (Setting::Boolean { current }, OptionValue::Switch(value)) => *current = *value,
            _ => {}
        }
    }

    /// Sets the value with which the agent asks before each edit and command, as each session starts.
    pub fn start_asking(&mut self) {
        if self.decides_asking
            && let Setting::Select { current, values } = &mut self.setting
            && let Some(asks) = values.iter().find(|value| value.asks == Some(Asking::Ask))
        {
            current.clone_from(&asks.value);
        }
    }

    /// Returns what the agent asks with a value; `None` if that is unknown.
    pub fn asking(&self, value: &OptionValue) -> Option<Asking> {
        match (&self.setting, value) {
            (Setting::Select { values, .. }, OptionValue::Select(value)) => {
                values.iter().find(|known| known.value == *value)?.asks
            }
            _ => None,
        }
    }

    /// Returns whether the agent may ask less with a value than before each edit and command.
    pub fn may_lower(&self, value: &OptionValue) -> bool {
        self.decides_asking && !matches!(self.asking(value), Some(Asking::Ask | Asking::Plan))
    }

    /// Returns whether a value is kept for later sessions. One with which the agent decides what it asks counts for one
    /// session only.
    pub fn is_remembered(&self, value: &OptionValue) -> bool {
        !self.may_lower(value) || self.asking(value) == Some(Asking::Edits)
    }
}

/// Orders options so that each can be set: the model first, because it decides which others there are, and the mode
/// last.
pub fn in_setting_order(options: &[SessionOption]) -> Vec<&SessionOption> {
    let mut ordered: Vec<_> = options.iter().collect();
    ordered.sort_by_key(|option| match option.category.as_deref() {
        _ if option.decides_asking => 2,
        Some("model") => 0,
        Some("mode") => 2,
        _ => 1,
    });
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn option(category: &str, decides_asking: bool, values: &[(&str, Option<Asking>)]) -> SessionOption {
        let value = |(value, asks): &(&str, Option<Asking>)| SelectValue {
            value: (*value).to_owned(),
            name: (*value).to_owned(),
            description: None,
            group: None,
            asks: *asks,
        };
        SessionOption {
            id: format!("the-{category}"),
            name: category.to_owned(),
            description: None,
            category: Some(category.to_owned()),
            decides_asking,
            setting: Setting::Select {
                current: values[0].0.to_owned(),
                values: values.iter().map(value).collect(),
            },
        }
    }

    fn select(value: &str) -> OptionValue {
        OptionValue::Select(value.to_owned())
    }

    #[test]
    fn only_values_that_are_known_to_ask_do_not_lower() {
        let mode = option(
            "mode",
            true,
            &[
                ("default", Some(Asking::Ask)),
                ("plan", Some(Asking::Plan)),
                ("edits", Some(Asking::Edits)),
                ("yolo", Some(Asking::Bypass)),
                ("new", None),
            ],
        );
        let rows = [
            ("default", false, true),
            ("plan", false, true),
            ("edits", true, true),
            ("yolo", true, false),
            ("new", true, false),
            ("other", true, false),
        ];
        for (value, lowers, is_remembered) in rows {
            let value = select(value);
            assert_eq!(
                (mode.may_lower(&value), mode.is_remembered(&value)),
                (lowers, is_remembered),
                "{value:?}"
            );
        }
        let model = option("model", false, &[("a", None)]);
        assert!(!model.may_lower(&select("b")) && model.is_remembered(&select("b")));
        let switch = SessionOption { setting: Setting::Boolean { current: false }, ..mode };
        assert!(switch.may_lower(&OptionValue::Switch(true)), "nothing is known about a switch");
    }

    #[test]
    fn option_takes_values_of_its_type() {
        let mut model = option("model", false, &[("a", None), ("b", None)]);
        let rows = [
            (select("b"), true, "b"),
            (select("c"), false, "c"),
            (OptionValue::Switch(true), false, "c"),
            (select("a"), true, "a"),
        ];
        for (value, is_offered, current) in rows {
            assert_eq!(model.offers(&value), is_offered, "{value:?}");
            model.set(&value);
            assert_eq!(model.current(), select(current));
        }
        let mut fast = SessionOption { setting: Setting::Boolean { current: false }, ..model };
        fast.set(&OptionValue::Switch(true));
        assert_eq!(fast.current(), OptionValue::Switch(true));
        assert!(!fast.offers(&select("true")));
        assert_eq!(fast.typed(select("off")), OptionValue::Switch(false));
        assert_eq!(fast.typed(select("no")), select("no"));
    }

    #[test]
    fn option_is_stored_with_its_values() {
        let mode = option("mode", true, &[("plan", Some(Asking::Plan))]);
        let stored = json!({"id": "the-mode", "name": "mode", "category": "mode", "decides_asking": true,
            "type": "select", "current": "plan", "values": [{"value": "plan", "name": "plan", "asks": "plan"}]});
        assert_eq!(serde_json::to_value(&mode).unwrap(), stored);
        assert_eq!(serde_json::from_value::<SessionOption>(stored).unwrap(), mode);
        let choices = json!({"fast": true, "model": "a"});
        let read: OptionChoices = serde_json::from_value(choices.clone()).unwrap();
        assert_eq!(read["fast"], OptionValue::Switch(true));
        assert_eq!(serde_json::to_value(read).unwrap(), choices);
    }

    #[test]
    fn model_is_set_first_and_mode_last() {
        let options = ["mode", "fast", "model", "thought_level"].map(|it| option(it, false, &[("a", None)]));
        let order: Vec<_> = in_setting_order(&options).iter().map(|it| it.name.as_str()).collect();
        assert_eq!(order, ["model", "fast", "thought_level", "mode"]);
    }
}
