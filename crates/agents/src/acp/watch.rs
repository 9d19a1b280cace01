//! Watches the options of a session that decide what the agent asks, so that only a client can lower them.

use super::options::SessionOptions;
use crate::asking::LevelSetting;
use openagents_core::update::{OptionValue, SessionOption, Setting};

/// The values of an option that can only be off or on.
const SWITCH: [&str; 2] = ["off", "on"];

/// Returns a value with the agent's name for it: `“Manual” (default)`.
pub(crate) fn named(option: Option<&SessionOption>, value: &str) -> String {
    let values = match option.map(|option| &option.setting) {
        Some(Setting::Select { values, .. }) => values.as_slice(),
        _ => &[],
    };
    let name = values.iter().find(|known| known.value == value).map(|known| known.name.trim());
    match name {
        Some(name) if !name.is_empty() && !name.eq_ignore_ascii_case(value) => format!("“{name}” ({value})"),
        _ => format!("“{value}”"),
    }
}

/// A change after which the agent asks less often than the user chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lowered {
    pub(crate) setting: &'static LevelSetting,
    pub(crate) value: String,
    pub(crate) back_to: String,
}

/// The asking level of one session, from when it was first set.
#[derive(Debug)]
pub(crate) struct Watch {
    settings: Vec<Watched>,
}

#[derive(Debug)]
struct Watched {
    setting: &'static LevelSetting,
    last: Option<String>,
    /// The value that a client chose over ours.
    chosen: Option<String>,
}

impl Watch {
    pub(crate) fn new(settings: &'static [LevelSetting], options: &SessionOptions) -> Self {
        let watched =
            |setting| Watched { setting, last: current(setting, options).map(str::to_owned), chosen: None };
        Self { settings: settings.iter().map(watched).collect() }
    }

    /// Compares the options with the last ones. If a new value makes the agent ask less, it counts as the client's
    /// choice when `may_change_approval_mode` is set; otherwise it is returned, to be set back.
    pub(crate) fn check(&mut self, options: &SessionOptions, may_change_approval_mode: bool) -> Vec<Lowered> {
        let mut lowered = Vec::new();
        for watched in &mut self.settings {
            let setting = watched.setting;
            let Some(value) = current(setting, options) else { continue };
            let before = watched.last.replace(value.to_owned());
            if setting.asks_with(value) {
                watched.chosen = None;
            } else if watched.chosen.as_deref() != Some(value) && before.as_deref() != Some(value) {
                if may_change_approval_mode {
                    watched.chosen = Some(value.to_owned());
                } else {
                    let back_to = watched.chosen.clone().unwrap_or_else(|| setting.asks.to_owned());
                    lowered.push(Lowered { setting, value: value.to_owned(), back_to });
                }
            }
        }
        lowered
    }

    /// Records that a client chose a value, which is about to be set. Returns the client's choice until now, for
    /// [`Watch::unchoose`].
    pub(crate) fn choose(&mut self, option: &SessionOption, value: &OptionValue) -> Option<String> {
        let watched = self.settings.iter_mut().find(|watched| watched.setting.is_for(option))?;
        let chosen = chosen(watched.setting, value);
        std::mem::replace(&mut watched.chosen, chosen)
    }

    /// Takes a choice back that the agent refused, unless a client has chosen something else since.
    pub(crate) fn unchoose(&mut self, option: &SessionOption, refused: &OptionValue, before: Option<String>) {
        if let Some(watched) = self.settings.iter_mut().find(|watched| watched.setting.is_for(option))
            && watched.chosen == chosen(watched.setting, refused)
        {
            watched.chosen = before;
        }
    }
}

/// Returns what a client chose with a value, over a value with which the agent asks.
fn chosen(setting: &LevelSetting, value: &OptionValue) -> Option<String> {
    let value = match value {
        OptionValue::Select(value) => value,
        OptionValue::Switch(on) => SWITCH[usize::from(*on)],
    };
    (!setting.asks_with(value)).then(|| value.to_owned())
}

pub(crate) fn current<'a>(setting: &LevelSetting, options: &'a SessionOptions) -> Option<&'a str> {
    match &options.find(|option| setting.is_for(option))?.setting {
        Setting::Select { current, .. } => Some(current),
        Setting::Boolean { current } => Some(SWITCH[usize::from(*current)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asking::AskingLevel;
    use openagents_core::update::Asking;
    use serde_json::{Value, json};

    const SETTINGS: &[LevelSetting] = &[
        LevelSetting::mode("default", &[("plan", Asking::Plan), ("acceptEdits", Asking::Edits)]),
        LevelSetting {
            id: "allow_all",
            asks: "off",
            others: &[("on", Asking::Bypass)],
            is_always_offered: false,
        },
    ];

    fn option(id: &str, current: &str, values: &[(&str, &str)]) -> Value {
        let values: Vec<_> =
            values.iter().map(|(value, name)| json!({"value": value, "name": name})).collect();
        json!({"id": id, "type": "select", "category": id, "currentValue": current, "options": values})
    }

    #[test]
    fn values_are_named_as_the_agent_does() {
        let mut options = SessionOptions::new(AskingLevel::ItsOwn);
        let values = [("default", "Manual"), ("yolo", "YOLO"), ("x", " ")];
        options.apply(&json!({"configOptions": [option("mode", "default", &values)]}));
        let mode = options.find(|option| option.id == "mode");
        let named = ["default", "yolo", "x", "new"].map(|value| named(mode, value));
        assert_eq!(named, ["“Manual” (default)", "“yolo”", "“x”", "“new”"]);
    }

    struct Session {
        options: SessionOptions,
        watch: Watch,
    }

    impl Session {
        fn new() -> Self {
            let mut options = SessionOptions::new(AskingLevel::Settings(SETTINGS));
            options.apply(&json!({"configOptions": [
                option("mode", "default", &[("default", "Manual"), ("auto", "Auto")]),
                option("allow_all", "off", &[])]}));
            let watch = Watch::new(SETTINGS, &options);
            Self { options, watch }
        }

        /// Applies an update; returns the settings to set back, with their previous values.
        fn take(&mut self, update: &Value, may_change_approval_mode: bool) -> Vec<(&'static str, String)> {
            self.options.apply(update);
            let lowered = self.watch.check(&self.options, may_change_approval_mode).into_iter();
            lowered.map(|lowered| (lowered.setting.id, lowered.back_to)).collect()
        }

        fn choose(&mut self, value: &str) -> Option<String> {
            let mode = self.options.find(|option| option.id == "mode").unwrap();
            self.watch.choose(mode, &OptionValue::Select(value.to_owned()))
        }
    }

    fn mode(value: &str) -> Value {
        json!({"sessionUpdate": "current_mode_update", "currentModeId": value})
    }

    #[test]
    fn watch_restores_values_no_client_chose() {
        let mut session = Session::new();
        let none = Vec::<(&str, String)>::new();
        for update in [mode("default"), mode("plan"), json!({"sessionUpdate": "usage_update", "used": 1})] {
            assert_eq!(session.take(&update, false), none);
        }
        let to_default = vec![("mode", "default".to_owned())];
        assert_eq!(session.take(&mode("auto"), false), to_default);
        // The same change is reported twice, as an option and as a mode.
        let again = json!({"configOptions": [option("mode", "auto", &[]), option("allow_all", "off", &[])]});
        assert_eq!(session.take(&again, false), none);
        assert_eq!(session.take(&mode("default"), false), none, "it was set back");
        assert_eq!(session.take(&mode("auto"), false), to_default, "it does it again");
        assert_eq!(session.take(&mode("default"), false), none);

        // A plan that the user approves.
        assert_eq!(session.take(&mode("acceptEdits"), true), none);
        assert_eq!(session.take(&mode("acceptEdits"), false), none);
        assert_eq!(session.take(&mode("auto"), false), [("mode", "acceptEdits".to_owned())]);
        // Choosing a value that asks again ends the client's earlier choice.
        assert_eq!(session.take(&mode("default"), false), none);
        assert_eq!(session.take(&mode("acceptEdits"), false), to_default);
    }

    #[test]
    fn watch_covers_every_setting() {
        let mut session = Session::new();
        let update = json!({"sessionUpdate": "config_option_update", "configOptions": [
            option("mode", "autopilot", &[]), option("allow_all", "on", &[])]});
        let expected = [("mode", "default".to_owned()), ("allow_all", "off".to_owned())];
        assert_eq!(session.take(&update, false), expected);
    }

    #[test]
    fn watch_accepts_what_a_client_chose() {
        let mut session = Session::new();
        assert_eq!(session.choose("auto"), None);
        // Codex reports the change before it answers the request.
        assert_eq!(session.take(&mode("auto"), false), []);
        assert_eq!(session.choose("yolo").as_deref(), Some("auto"));
        let mode_option = session.options.find(|option| option.id == "mode").unwrap().clone();
        let refused = |value: &str| OptionValue::Select(value.to_owned());
        session.watch.unchoose(&mode_option, &refused("acceptEdits"), Some("acceptEdits".to_owned()));
        session.watch.unchoose(&mode_option, &refused("yolo"), Some("auto".to_owned()));
        assert_eq!(session.take(&mode("yolo"), false), [("mode", "auto".to_owned())], "it refused that");
        assert_eq!(session.take(&mode("auto"), false), []);
        assert_eq!(session.choose("default").as_deref(), Some("auto"));
        assert_eq!(session.take(&mode("default"), false), []);
        assert_eq!(session.take(&mode("auto"), false), [("mode", "default".to_owned())]);
    }

    proptest::proptest! {
        #[test]
        fn watch_never_panics(text in ".*", key in "configOptions|modes|models|currentModeId|modeId") {
            let reply = json!({key.clone(): text.clone(), "modes": {key: [text.clone()]}, "configOptions": [{"id": "mode", "options": text}]});
            let _ = Session::new().take(&reply, false);
        }
    }
}
