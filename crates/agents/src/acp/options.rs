//! The options of a session, and the requests that set them.
//!
//! An agent reports them as `configOptions`, or as `modes` and `models`. They are read from the raw JSON, since agents
//! leave out members that the protocol requires, and `models` are in no schema.

use crate::{
    asking::{AskingLevel, MODE},
    limits::{OPTION_ID, OPTION_LABEL, OPTION_VALUES, OPTION_WORDS, OPTIONS_BYTES, SESSION_OPTIONS},
    output::one_line,
};
use openagents_core::{
    text::clip_bytes,
    update::{OptionValue, SelectValue, SessionOption, Setting},
};
use serde_json::{Value, json};
use std::collections::HashSet;

/// The options of one session.
#[derive(Debug)]
pub(crate) struct SessionOptions {
    asks: AskingLevel,
    options: Vec<Known>,
}

#[derive(Debug, Clone)]
struct Known {
    option: SessionOption,
    set_by: SetBy,
}

/// The request that sets an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SetBy {
    ConfigOption,
    Mode,
    /// In no schema; Gemini CLI has it.
    Model,
}

/// Members of updates and responses that report options.
const STATED_IN: [&str; 5] = ["configOptions", "models", "modes", "currentModeId", "modeId"];

impl SessionOptions {
    pub(crate) fn new(asks: AskingLevel) -> Self {
        Self { asks, options: Vec::new() }
    }

    pub(crate) fn all(&self) -> Vec<SessionOption> {
        self.options.iter().map(|known| known.option.clone()).collect()
    }

    pub(crate) fn find(&self, is_it: impl Fn(&SessionOption) -> bool) -> Option<&SessionOption> {
        self.options.iter().map(|known| &known.option).find(|option| is_it(option))
    }

    /// Applies an update, or a response to a request that opens a session or sets an option. Returns whether the
    /// options have changed.
    pub(crate) fn apply(&mut self, reply: &Value) -> bool {
        // Most updates are pieces of text.
        if !STATED_IN.iter().any(|member| reply.get(member).is_some()) {
            return false;
        }
        let before = self.all();
        if let Some(stated) = reply["configOptions"].as_array() {
            self.replace(stated);
        } else if reply["models"].is_object() {
            let models = &reply["models"];
            let values = list(&models["availableModels"], "modelId", &mut OPTIONS_BYTES.clone());
            self.patch("model", SetBy::Model, models["currentModelId"].as_str(), values);
        }
        // Options are preferred: an agent may report its mode both ways, in one reply. An example in the protocol's
        // documentation has `modeId`.
        let has_mode =
            self.options.iter().any(|known| known.set_by == SetBy::ConfigOption && is_mode(&known.option));
        if !(has_mode && reply["configOptions"].is_array()) {
            let modes = if reply["modes"].is_object() { &reply["modes"] } else { reply };
            let current = modes["currentModeId"].as_str().or_else(|| modes["modeId"].as_str());
            self.patch(
                MODE,
                SetBy::Mode,
                current,
                list(&modes["availableModes"], "id", &mut OPTIONS_BYTES.clone()),
            );
        }
        for known in &mut self.options {
            judge(self.asks, &mut known.option);
        }
        self.all() != before
    }

    fn replace(&mut self, stated: &[Value]) {
        let before = std::mem::take(&mut self.options);
        let mut left = OPTIONS_BYTES;
        for option in stated {
            let Some(mut option) = read(option, &mut left) else { continue };
            if self.options.len() == SESSION_OPTIONS || self.find(|known| known.id == option.id).is_some() {
                continue;
            }
            let known = before.iter().find(|known| known.option.id == option.id);
            if let (Setting::Select { values, .. }, Some(Setting::Select { values: known, .. })) =
                (&mut option.setting, known.map(|known| &known.option.setting))
                && values.is_empty()
            {
                values.clone_from(known);
            }
            self.options.push(Known { option, set_by: SetBy::ConfigOption });
        }
        // The asking level may depend on a mode that is reported elsewhere.
        if !self.options.iter().any(|known| is_mode(&known.option)) {
            self.options.extend(before.into_iter().filter(|known| known.set_by == SetBy::Mode));
        }
    }

    /// Sets the current value and the values of the mode or the model, as far as they are stated.
    fn patch(&mut self, category: &str, set_by: SetBy, current: Option<&str>, stated: Vec<SelectValue>) {
        let current = current.filter(|current| current.len() <= OPTION_ID);
        if current.is_none() && stated.is_empty() {
            return;
        }
        let is_it = |it: &SessionOption| it.category.as_deref() == Some(category) || it.id == category;
        let known = self.options.iter_mut().find(|known| is_it(&known.option));
        match known.map(|known| &mut known.option.setting) {
            Some(Setting::Select { current: value, values }) => {
                if let Some(current) = current {
                    current.clone_into(value);
                }
                if !stated.is_empty() {
                    *values = stated;
                }
            }
            Some(Setting::Boolean { .. }) => {}
            None => {
                let name = if category == MODE { "Mode" } else { "Model" };
                let option = SessionOption {
                    id: category.to_owned(),
                    name: name.to_owned(),
                    description: None,
                    category: Some(category.to_owned()),
                    decides_asking: false,
                    setting: Setting::Select {
                        current: current.unwrap_or_default().to_owned(),
                        values: stated,
                    },
                };
                self.options.push(Known { option, set_by });
            }
        }
    }

    /// Applies a response to a request that set an option. Agents that report nothing have set it.
    pub(crate) fn apply_set(&mut self, id: &str, value: &OptionValue, answer: &Value) {
        let is_reported = answer["configOptions"].is_array();
        if !is_reported && let Some(known) = self.options.iter_mut().find(|known| known.option.id == id) {
            known.option.set(value);
        }
        self.apply(answer);
    }

    /// Returns the method and the params of the request that sets an option. One that the agent has not reported is set
    /// as a config option, or as its mode.
    pub(crate) fn set_request(&self, session: &str, id: &str, value: &OptionValue) -> (&'static str, Value) {
        let known = self.options.iter().find(|known| known.option.id == id);
        let unknown = if id == MODE { SetBy::Mode } else { SetBy::ConfigOption };
        match known.map_or(unknown, |known| known.set_by) {
            SetBy::Mode => ("session/set_mode", json!({"sessionId": session, "modeId": value})),
            SetBy::Model => ("session/set_model", json!({"sessionId": session, "modelId": value})),
            SetBy::ConfigOption => {
                let mut params = json!({"sessionId": session, "configId": id, "value": value});
                if matches!(value, OptionValue::Switch(_)) {
                    params["type"] = "boolean".into();
                }
                ("session/set_config_option", params)
            }
        }
    }
}

fn is_mode(option: &SessionOption) -> bool {
    option.id == MODE || option.category.as_deref() == Some(MODE)
}

/// Adds what the agent asks with each value.
fn judge(asks: AskingLevel, option: &mut SessionOption) {
    option.decides_asking = asks.depends_on(option);
    let levels: Vec<_> = match &option.setting {
        Setting::Select { values, .. } => values.iter().map(|it| asks.of(option, &it.value)).collect(),
        Setting::Boolean { .. } => return,
    };
    if let Setting::Select { values, .. } = &mut option.setting {
        values.iter_mut().zip(levels).for_each(|(value, level)| value.asks = level);
    }
}

/// Reads an option. `None` if it has no id or no value, or is of an unknown type.
fn read(stated: &Value, left: &mut usize) -> Option<SessionOption> {
    let id = stated["id"].as_str().filter(|id| !id.is_empty() && id.len() <= OPTION_ID)?;
    let setting = match stated["type"].as_str() {
        Some("boolean") => Setting::Boolean { current: stated["currentValue"].as_bool()? },
        // Some agents leave the type out.
        Some("select") | None => {
            let current = stated["currentValue"].as_str().filter(|current| current.len() <= OPTION_ID)?;
            Setting::Select { current: current.to_owned(), values: list(&stated["options"], "value", left) }
        }
        Some(_) => return None,
    };
    let category = stated["category"].as_str().filter(|category| category.len() <= OPTION_ID);
    Some(SessionOption {
        id: id.to_owned(),
        name: words(&stated["name"], OPTION_LABEL).unwrap_or_else(|| id.to_owned()),
        description: words(&stated["description"], OPTION_WORDS),
        category: category.or((id == MODE).then_some(MODE)).map(str::to_owned),
        decides_asking: false,
        setting,
    })
}

/// Reads values, which may be in groups, until they have used up the bytes that are `left`. `id` is the name of the
/// member that holds the value.
fn list(stated: &Value, id: &str, left: &mut usize) -> Vec<SelectValue> {
    let (mut values, mut seen) = (Vec::new(), HashSet::new());
    for entry in stated.as_array().into_iter().flatten() {
        let (group, members) = match entry["options"].as_array() {
            Some(members) => (words(&entry["name"], OPTION_LABEL), members.as_slice()),
            None => (None, std::slice::from_ref(entry)),
        };
        for member in members {
            // A value that is cut would be another one.
            let Some(value) = member[id].as_str().filter(|value| value.len() <= OPTION_ID) else { continue };
            if values.len() == OPTION_VALUES || !seen.insert(value) {
                continue;
            }
            let read = SelectValue {
                value: value.to_owned(),
                name: words(&member["name"], OPTION_LABEL).unwrap_or_else(|| value.to_owned()),
                description: words(&member["description"], OPTION_WORDS),
                group: group.clone(),
                asks: None,
            };
            let size = value.len() + read.name.len() + read.description.as_ref().map_or(0, String::len);
            match left.checked_sub(size) {
                Some(rest) => *left = rest,
                None => return values,
            }
            values.push(read);
        }
    }
    values
}

fn words(stated: &Value, limit: usize) -> Option<String> {
    stated.as_str().and_then(one_line).map(|text| clip_bytes(&text, limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asking::LevelSetting;
    use openagents_core::update::Asking;

    const SETTINGS: &[LevelSetting] =
        &[LevelSetting::mode("default", &[("plan", Asking::Plan), ("yolo", Asking::Bypass)])];

    fn options(replies: &[Value]) -> SessionOptions {
        let mut options = SessionOptions::new(AskingLevel::Settings(SETTINGS));
        for reply in replies {
            options.apply(reply);
        }
        options
    }

    fn modes(current: &str, ids: &[&str]) -> Value {
        let modes: Vec<_> = ids.iter().map(|id| json!({"id": id, "name": id})).collect();
        json!({"currentModeId": current, "availableModes": modes})
    }

    fn option(id: &str, current: &str, values: &[&str]) -> Value {
        let values: Vec<_> = values.iter().map(|value| json!({"value": value, "name": value})).collect();
        json!({"id": id, "type": "select", "category": id, "currentValue": current, "options": values})
    }

    fn select(value: &str) -> OptionValue {
        OptionValue::Select(value.to_owned())
    }

    /// Responses to `session/new` from claude-agent-acp 0.101, gemini 0.61, copilot 1.0.102 and others, and updates.
    #[test]
    fn options_come_before_modes_and_models() {
        let both = json!({"modes": modes("plan", &["default", "auto"]), "configOptions": [
            option("model", "opus", &[]), option("mode", "auto", &["default", "auto"])]});
        let other =
            json!({"modes": modes("auto", &["default"]), "configOptions": [option("speed", "fast", &[])]});
        let groups = json!({"configOptions": [{"id": "permission-mode", "category": "mode", "currentValue": "default",
            "options": [{"group": "safe", "name": "Safe", "options": [{"value": "default", "name": "Default"}]}]}]});
        let update = json!({"sessionUpdate": "current_mode_update", "currentModeId": "yolo"});
        let documented = json!({"sessionUpdate": "current_mode_update", "modeId": "yolo"});
        let config = json!({"sessionUpdate": "config_option_update", "configOptions": [{"id": "mode", "currentValue": "plan"}]});
        // The current mode, whether `default` can be set, the method that sets it, and the option's id.
        let rows = [
            (vec![both], "auto", true, "session/set_config_option", "mode"),
            (vec![other.clone()], "auto", true, "session/set_mode", ""),
            (vec![groups.clone()], "default", true, "session/set_config_option", "permission-mode"),
            (vec![groups, update.clone()], "yolo", true, "session/set_config_option", "permission-mode"),
            (vec![json!({"modes": modes("a", &["a"])})], "a", false, "session/set_mode", ""),
            (vec![update.clone()], "yolo", true, "session/set_mode", ""),
            (vec![documented], "yolo", true, "session/set_mode", ""),
            (vec![config.clone()], "plan", true, "session/set_config_option", "mode"),
            (vec![json!({"modes": modes("a", &["a"])}), update], "yolo", false, "session/set_mode", ""),
            (
                vec![other, json!({"configOptions": [option("speed", "slow", &[])]})],
                "auto",
                true,
                "session/set_mode",
                "",
            ),
            (
                vec![json!({"modes": modes("a", &["a"])}), config],
                "plan",
                false,
                "session/set_config_option",
                "mode",
            ),
        ];
        for (replies, current, offers, method, id) in rows {
            let options = options(&replies);
            let mode = options.find(is_mode).unwrap_or_else(|| panic!("{replies:?}"));
            assert_eq!(
                (mode.current(), mode.offers(&select("default"))),
                (select(current), offers),
                "{replies:?}"
            );
            let (called, params) = options.set_request("s", &mode.id, &select("default"));
            assert_eq!(
                (called, params["configId"].as_str().unwrap_or_default()),
                (method, id),
                "{replies:?}"
            );
            assert!(mode.decides_asking);
        }
        let nothing = [
            json!({}),
            Value::Null,
            json!({"configOptions": []}),
            json!({"sessionUpdate": "plan", "entries": []}),
        ];
        for reply in nothing {
            assert_eq!(options(std::slice::from_ref(&reply)).all(), [], "{reply}");
        }
        assert_eq!(options(&[]).set_request("s", "mode", &select("default")).0, "session/set_mode");
        assert_eq!(options(&[]).set_request("s", "allow_all", &select("off")).0, "session/set_config_option");
    }

    #[test]
    fn models_without_options_are_an_option() {
        let models = json!({"models": {"currentModelId": "pro", "availableModels": [
            {"modelId": "pro", "name": "Pro", "description": "Slow"}, {"modelId": "flash"}, {"name": "none"}]},
            "modes": modes("yolo", &["default", "yolo"])});
        let mut read = options(std::slice::from_ref(&models));
        let rows: Vec<_> =
            read.all().into_iter().map(|it| (it.id.clone(), it.current(), it.decides_asking)).collect();
        assert_eq!(
            rows,
            [("model".to_owned(), select("pro"), false), ("mode".to_owned(), select("yolo"), true)]
        );
        let (method, params) = read.set_request("s", "model", &select("flash"));
        assert_eq!((method, params), ("session/set_model", json!({"sessionId": "s", "modelId": "flash"})));
        read.apply_set("model", &select("flash"), &json!({}));
        assert_eq!(read.all()[0].current(), select("flash"));
        assert_eq!(read.all()[1].asking(&select("yolo")), Some(Asking::Bypass));
        // Codex has both.
        let both =
            options(&[json!({"models": models["models"], "configOptions": [option("speed", "fast", &[])]})]);
        assert_eq!(both.all().len(), 1);
    }

    #[test]
    fn answer_replaces_all_options() {
        let mut read = options(&[
            json!({"configOptions": [option("model", "a", &["a", "b"]), option("effort", "low", &["low"])]}),
        ]);
        read.apply_set("model", &select("b"), &json!({"configOptions": [option("model", "b", &["a", "b"])]}));
        let rows: Vec<_> = read.all().into_iter().map(|it| (it.id.clone(), it.current())).collect();
        assert_eq!(rows, [("model".to_owned(), select("b"))], "the other model has no efforts");
        assert!(
            !read.apply(&json!({"configOptions": [option("model", "b", &["a", "b"])]})),
            "the same again"
        );
        let (_, params) = read.set_request("s", "fast", &OptionValue::Switch(true));
        assert_eq!(params, json!({"sessionId": "s", "configId": "fast", "value": true, "type": "boolean"}));
    }

    #[test]
    fn bad_options_are_skipped() {
        let read = options(&[json!({"configOptions": [
            7, {"id": "none"}, {"currentValue": "x"}, {"id": "", "currentValue": "x"},
            {"id": "slider", "type": "range", "currentValue": "x"},
            {"id": "fast", "type": "boolean", "currentValue": "yes"},
            {"id": "fast", "type": "boolean", "currentValue": true, "name": "Fast\nmode"},
            {"id": "fast", "type": "boolean", "currentValue": false},
            {"id": "x".repeat(1 << 20), "currentValue": "x"},
            {"id": "model", "currentValue": "m", "options": [{"value": 1}, {"value": "m"}, {"value": "m", "name": "again"}, null]},
        ]})]);
        let rows: Vec<_> =
            read.all().into_iter().map(|it| (it.id.clone(), it.name.clone(), it.current())).collect();
        assert_eq!(
            rows,
            [
                ("fast".to_owned(), "Fast mode".to_owned(), OptionValue::Switch(true)),
                ("model".to_owned(), "model".to_owned(), select("m")),
            ]
        );
    }

    #[test]
    fn options_are_bounded() {
        let many =
            |count: usize| -> Vec<String> { (0..count).map(|n| format!("{n}{}", "x".repeat(200))).collect() };
        let values = many(5_000);
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let stated: Vec<_> = (0..100).map(|n| option(&n.to_string(), "x", &values)).collect();
        let read = options(&[json!({"configOptions": stated})]);
        assert_eq!(read.all().len(), SESSION_OPTIONS);
        let bytes = serde_json::to_string(&read.all()).unwrap().len();
        assert!(bytes < 2 * OPTIONS_BYTES, "{bytes}");
    }
}
