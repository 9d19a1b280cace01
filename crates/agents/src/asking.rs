//! An agent's asking level: the session settings that make it ask before it acts.
//!
//! The settings are the protocol's `configOptions`, or its `modes` if an agent has no `configOptions`. They are read
//! from the raw JSON, since agents leave out members that the protocol requires.

use serde_json::{Value, json};

/// How an agent is made to ask before it acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskingLevel {
    /// By settings of each session, which the agent reports back.
    Settings(&'static [LevelSetting]),
    /// By environment variables of its process.
    Variables,
    /// Not at all: the agent decides when to ask.
    ItsOwn,
}

/// A setting of a session that decides what the agent asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelSetting {
    /// The setting's id: `mode`, `allow_all`.
    pub id: &'static str,
    /// The value that we set, with which the agent asks before it acts.
    pub asks: &'static str,
    /// Other values that let the agent do no more than `asks` does: `plan`.
    pub asks_too: &'static [&'static str],
    /// Whether every session offers the setting. If so, no prompt is sent without it;
    /// otherwise it is set where offered.
    pub is_always_offered: bool,
}

/// The id and category of a session's mode in `configOptions` and `modes`.
const MODE: &str = "mode";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    /// The id of the option; `None` if it is one of the `modes`.
    option: Option<String>,
    pub(crate) current: Option<String>,
    /// Values with their display names. Empty if the report does not list them.
    offered: Vec<(String, String)>,
}

impl LevelSetting {
    /// The session's mode, with the value that asks and the values that let the agent do no more.
    pub const fn mode(asks: &'static str, asks_too: &'static [&'static str]) -> Self {
        Self { id: MODE, asks, asks_too, is_always_offered: true }
    }

    /// Returns the setting's name for use in a sentence.
    pub(crate) fn word(&self) -> &'static str {
        if self.id == MODE { "mode" } else { self.id }
    }

    pub(crate) fn asks_with(&self, value: &str) -> bool {
        value == self.asks || self.asks_too.contains(&value)
    }

    /// Reads the setting from an update or a response such as the one to `session/new`. `None` if it is absent.
    pub(crate) fn report(&self, reply: &Value) -> Option<Report> {
        let is_it =
            |option: &&Value| option["id"] == self.id || self.id == MODE && option["category"] == MODE;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let option = reply["configOptions"].as_array().and_then(|options| options.iter().find(is_it));
        if let Some(option) = option {
            let id = option["id"].as_str().unwrap_or(self.id).to_owned();
            let offered = values(&option["options"]);
            return Some(Report { option: Some(id), current: text(&option["currentValue"]), offered });
        }
        if self.id != MODE {
            return None;
        }
        // An example in the protocol's documentation has `modeId`.
        let modes = if reply["modes"].is_object() { &reply["modes"] } else { reply };
        let current = text(&modes["currentModeId"]).or_else(|| text(&modes["modeId"]));
        let available = modes["availableModes"].as_array();
        if current.is_none() && available.is_none() {
            return None;
        }
        let name = |mode: &Value| Some((text(&mode["id"])?, text(&mode["name"]).unwrap_or_default()));
        let offered = available.into_iter().flatten().filter_map(name).collect();
        Some(Report { option: None, current, offered })
    }

    /// Returns the method and params of the request that sets a value. `report` is the session's latest report.
    pub(crate) fn set_request(
        &self,
        session: &str,
        report: Option<&Report>,
        value: &str,
    ) -> (&'static str, Value) {
        match report
            .map_or_else(|| (self.id != MODE).then(|| self.id.to_owned()), |report| report.option.clone())
        {
            Some(id) => {
                ("session/set_config_option", json!({"sessionId": session, "configId": id, "value": value}))
            }
            None => ("session/set_mode", json!({"sessionId": session, "modeId": value})),
        }
    }
}

fn values(options: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for option in options.as_array().into_iter().flatten() {
        match option["value"].as_str() {
            Some(value) => {
                found.push((value.to_owned(), option["name"].as_str().unwrap_or_default().to_owned()));
            }
            None if option["options"].is_array() => found.extend(values(&option["options"])),
            None => {}
        }
    }
    found
}

impl Report {
    /// Returns whether a value can be set, as far as is known.
    pub(crate) fn offers(&self, value: &str) -> bool {
        self.offered.is_empty() || self.offered.iter().any(|(offered, _)| offered == value)
    }

    /// Returns a value with the agent's name for it: `“Manual” (default)`.
    pub(crate) fn named(&self, value: &str) -> String {
        let name = self.offered.iter().find(|(offered, _)| offered == value).map(|(_, name)| name.trim());
        match name {
            Some(name) if !name.is_empty() && !name.eq_ignore_ascii_case(value) => {
                format!("“{name}” ({value})")
            }
            _ => format!("“{value}”"),
        }
    }

    /// Returns the report after a value was set, for agents that don't report the change.
    pub(crate) fn with(before: Option<Self>, value: &str) -> Self {
        let before = before.unwrap_or(Self { option: None, current: None, offered: Vec::new() });
        Self { current: Some(value.to_owned()), ..before }
    }

    pub(crate) fn named_as(mut self, before: Option<&Self>) -> Self {
        if self.offered.is_empty()
            && let Some(before) = before
        {
            self.offered.clone_from(&before.offered);
        }
        if self.option.is_none() {
            self.option = before.and_then(|before| before.option.clone());
        }
        self
    }
}

/// A change after which the agent asks less often than the user chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lowered {
    pub(crate) setting: &'static LevelSetting,
    pub(crate) report: Report,
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
    last: Option<Report>,
    /// The value that a client chose over ours.
    chosen: Option<String>,
}

impl Watch {
    pub(crate) fn new(settings: impl IntoIterator<Item = (&'static LevelSetting, Option<Report>)>) -> Self {
        let watched = |(setting, last)| Watched { setting, last, chosen: None };
        Self { settings: settings.into_iter().map(watched).collect() }
    }

    /// Applies an update. If a new value makes the agent ask less, it counts as the client's choice when `may_change_approval_mode` is
    /// set; otherwise it is returned, to be set back.
    pub(crate) fn apply_update(&mut self, update: &Value, may_change_approval_mode: bool) -> Vec<Lowered> {
        let mut lowered = Vec::new();
        for watched in &mut self.settings {
            let setting = watched.setting;
            let Some(report) = setting.report(update) else { continue };
            let report = report.named_as(watched.last.as_ref());
            let before = watched.last.replace(report.clone()).and_then(|before| before.current);
            let Some(value) = report.current.clone() else { continue };
            if setting.asks_with(&value) {
                watched.chosen = None;
            } else if may_change_approval_mode {
                watched.chosen = Some(value);
            } else if watched.chosen.as_ref() != Some(&value) && before.as_ref() != Some(&value) {
                let back_to = watched.chosen.clone().unwrap_or_else(|| setting.asks.to_owned());
                lowered.push(Lowered { setting, report, back_to });
            }
        }
        lowered
    }

    pub(crate) fn has_set(&mut self, setting: &LevelSetting, value: &str) {
        for watched in self.settings.iter_mut().filter(|watched| watched.setting.id == setting.id) {
            watched.last = Some(Report::with(watched.last.take(), value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: LevelSetting = LevelSetting::mode("default", &["plan"]);
    const ALLOW_ALL: LevelSetting =
        LevelSetting { id: "allow_all", asks: "off", asks_too: &[], is_always_offered: false };

    fn modes(current: &str, ids: &[(&str, &str)]) -> Value {
        let modes: Vec<_> = ids.iter().map(|(id, name)| json!({"id": id, "name": name})).collect();
        json!({"currentModeId": current, "availableModes": modes})
    }

    fn option(id: &str, current: &str, values: &[(&str, &str)]) -> Value {
        let values: Vec<_> =
            values.iter().map(|(value, name)| json!({"value": value, "name": name})).collect();
        json!({"id": id, "type": "select", "category": id, "currentValue": current, "options": values})
    }

    /// Responses to `session/new` from claude-agent-acp 0.101, gemini 0.61, copilot 1.0.102 and others.
    #[test]
    fn report_reads_options_before_modes() {
        let claude = [("default", "Manual"), ("auto", "Auto")];
        let both = json!({"modes": modes("plan", &claude), "configOptions": [
            option("model", "opus", &[]), option("mode", "auto", &claude)]});
        let other = json!({"modes": modes("auto", &claude), "configOptions": [option("speed", "fast", &[])]});
        let groups = json!({"configOptions": [{"id": "permission-mode", "category": "mode", "currentValue": "default",
            "options": [{"group": "safe", "name": "Safe", "options": [{"value": "default", "name": "Default"}]}]}]});
        let update = json!({"sessionUpdate": "current_mode_update", "currentModeId": "yolo"});
        let documented = json!({"sessionUpdate": "current_mode_update", "modeId": "yolo"});
        let config = json!({"sessionUpdate": "config_option_update", "configOptions": [{"id": "mode", "currentValue": "plan"}]});
        // The current value, whether `default` can be set, the method that sets it, and the option id.
        let rows = [
            (both, Some("auto"), true, "session/set_config_option", "mode"),
            (other, Some("auto"), true, "session/set_mode", ""),
            (groups, Some("default"), true, "session/set_config_option", "permission-mode"),
            (json!({"modes": modes("a", &[("a", "A")])}), Some("a"), false, "session/set_mode", ""),
            (update, Some("yolo"), true, "session/set_mode", ""),
            (documented, Some("yolo"), true, "session/set_mode", ""),
            (config, Some("plan"), true, "session/set_config_option", "mode"),
        ];
        for (reply, current, offers, method, id) in rows {
            let report = PLAN.report(&reply).unwrap_or_else(|| panic!("{reply}"));
            assert_eq!((report.current.as_deref(), report.offers("default")), (current, offers), "{reply}");
            let (called, params) = PLAN.set_request("s", Some(&report), "default");
            assert_eq!((called, params["configId"].as_str().unwrap_or_default()), (method, id), "{reply}");
        }
        let nothing = [
            json!({}),
            Value::Null,
            json!({"configOptions": []}),
            json!({"sessionUpdate": "plan", "entries": []}),
        ];
        for reply in nothing {
            assert_eq!(PLAN.report(&reply), None, "{reply}");
        }
        assert_eq!(PLAN.set_request("s", None, "default").0, "session/set_mode");
        assert_eq!(ALLOW_ALL.set_request("s", None, "off").0, "session/set_config_option");
        assert_eq!(ALLOW_ALL.report(&json!({"modes": modes("a", &[])})), None);
    }

    #[test]
    fn report_names_values_as_the_agent_does() {
        let reply = json!({"modes": modes("auto", &[("default", "Manual"), ("yolo", "YOLO"), ("x", " ")])});
        let report = PLAN.report(&reply).unwrap();
        let named = ["default", "yolo", "x", "new"].map(|value| report.named(value));
        assert_eq!(named, ["“Manual” (default)", "“yolo”", "“x”", "“new”"]);
    }

    fn watch() -> Watch {
        let reply = json!({"configOptions": [
            option("mode", "default", &[("default", "Manual"), ("auto", "Auto")]), option("allow_all", "off", &[])]});
        Watch::new(
            [&PLAN, &ALLOW_ALL].map(|setting: &'static LevelSetting| (setting, setting.report(&reply))),
        )
    }

    fn mode(value: &str) -> Value {
        json!({"sessionUpdate": "current_mode_update", "currentModeId": value})
    }

    /// The settings to set back, with their previous values.
    fn back(
        watch: &mut Watch,
        update: &Value,
        may_change_approval_mode: bool,
    ) -> Vec<(&'static str, String)> {
        let lowered = watch.apply_update(update, may_change_approval_mode).into_iter();
        lowered.map(|lowered| (lowered.setting.id, lowered.back_to)).collect()
    }

    #[test]
    fn watch_restores_values_no_client_chose() {
        let mut watch = watch();
        let none = Vec::<(&str, String)>::new();
        for update in [mode("default"), mode("plan"), json!({"sessionUpdate": "usage_update", "used": 1})] {
            assert_eq!(back(&mut watch, &update, false), none);
        }
        let to_default = vec![("mode", "default".to_owned())];
        assert_eq!(back(&mut watch, &mode("auto"), false), to_default);
        // The same change is reported twice, as an option and as a mode.
        let again = json!({"configOptions": [option("mode", "auto", &[]), option("allow_all", "off", &[])]});
        assert_eq!(back(&mut watch, &again, false), none);
        watch.has_set(&PLAN, "default");
        assert_eq!(back(&mut watch, &mode("auto"), false), to_default, "it does it again");
        assert_eq!(back(&mut watch, &mode("default"), false), none);

        // A plan that the user approves.
        assert_eq!(back(&mut watch, &mode("acceptEdits"), true), none);
        assert_eq!(back(&mut watch, &mode("acceptEdits"), false), none);
        assert_eq!(back(&mut watch, &mode("auto"), false), [("mode", "acceptEdits".to_owned())]);
        // Choosing a value that asks again ends the client's earlier choice.
        assert_eq!(back(&mut watch, &mode("default"), false), none);
        assert_eq!(back(&mut watch, &mode("acceptEdits"), false), to_default);
    }

    #[test]
    fn watch_covers_every_setting() {
        let mut watch = watch();
        let update = json!({"sessionUpdate": "config_option_update", "configOptions": [
            option("mode", "autopilot", &[]), option("allow_all", "on", &[])]});
        let expected = [("mode", "default".to_owned()), ("allow_all", "off".to_owned())];
        assert_eq!(back(&mut watch, &update, false), expected);
    }

    proptest::proptest! {
        #[test]
        fn report_never_panics(text in ".*", key in "configOptions|modes|currentModeId|modeId") {
            let reply = json!({key.clone(): text.clone(), "modes": {key: [text.clone()]}, "configOptions": [{"id": "mode", "options": text}]});
            let _ = watch().apply_update(&reply, false);
        }
    }
}
