//! Read access of models and agents, as clients see it: the table of [`openagents_tools::reading`], with its switches.

use openagents_core::model::{SettingsError, SettingsStore};
use openagents_tools::reading::{
    READING_SETTINGS, Readable, Reader, ReadingRule, ReadingRules, ReadingSwitch, reading_rule,
};
use serde::{Deserialize, Serialize};

/// Params of `_openagents/privacy/set`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct PrivacyChange {
    #[serde(deserialize_with = "switch")]
    pub(crate) switch: ReadingSwitch,
    pub(crate) on: bool,
}

/// The result of `_openagents/privacy/list`, and the params of the notification `_openagents/privacy`.
#[derive(Debug, Serialize)]
pub(crate) struct PrivacyTable {
    rows: Vec<PrivacyRow>,
}

#[derive(Debug, Serialize)]
struct PrivacyRow {
    /// `files`, `history` or `other_history`.
    what: Readable,
    cells: Vec<PrivacyCell>,
}

#[derive(Debug, Serialize)]
struct PrivacyCell {
    /// `local`, `elsewhere` or `hosted`.
    reader: Reader,
    allowed: bool,
    /// The name of the cell's switch; absent if the user cannot change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    switch: Option<&'static str>,
}

/// Returns the table. Rules that cannot be read from the settings count as not allowed.
pub(crate) fn table(settings: &dyn SettingsStore) -> PrivacyTable {
    let rules = ReadingRules::stored(settings);
    let cell = |what: Readable, reader: Reader| PrivacyCell {
        reader,
        allowed: rules.allows(reader, what),
        switch: match reading_rule(reader, what) {
            ReadingRule::Switch(switch) => Some(switch.name()),
            ReadingRule::Always | ReadingRule::Never => None,
        },
    };
    let row = |what| PrivacyRow { what, cells: Reader::ALL.map(|reader| cell(what, reader)).into() };
    PrivacyTable { rows: Readable::ALL.map(row).into() }
}

/// Sets a switch. Not atomic: callers serialise changes.
pub(crate) fn set(settings: &dyn SettingsStore, change: PrivacyChange) -> Result<(), SettingsError> {
    let mut rules = ReadingRules::stored(settings);
    rules.set(change.switch, change.on);
    let value = serde_json::to_value(rules).map_err(|error| SettingsError(error.to_string()))?;
    settings.set(READING_SETTINGS, value)
}

fn switch<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<ReadingSwitch, D::Error> {
    let name = String::deserialize(deserializer)?;
    ReadingSwitch::ALL.into_iter().find(|switch| switch.name() == name).ok_or_else(|| {
        let known = ReadingSwitch::ALL.map(ReadingSwitch::name).join(", ");
        let name = openagents_sessions::prune::head(&name, 100);
        serde::de::Error::custom(format!("no such switch: {name} (known: {known})"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use serde_json::{Value, json};

    #[derive(Debug, Default)]
    struct Memory(Mutex<Option<Value>>);

    impl SettingsStore for Memory {
        fn get(&self, key: &str) -> Result<Option<Value>, SettingsError> {
            assert_eq!(key, READING_SETTINGS);
            Ok(self.0.lock().clone())
        }
        fn set(&self, key: &str, value: Value) -> Result<(), SettingsError> {
            assert_eq!(key, READING_SETTINGS);
            *self.0.lock() = Some(value);
            Ok(())
        }
    }

    #[test]
    fn the_table_has_a_form_on_the_wire() {
        let table = serde_json::to_value(table(&Memory::default())).unwrap();
        let yes = |reader: &str| json!({"reader": reader, "allowed": true});
        let never = |reader: &str| json!({"reader": reader, "allowed": false});
        let off = |reader: &str, switch: &str| json!({"reader": reader, "allowed": false, "switch": switch});
        let expected = json!({"rows": [
            {"what": "files", "cells": [yes("local"), yes("elsewhere"), yes("hosted")]},
            {"what": "history", "cells": [
                yes("local"), off("elsewhere", "elsewhere-history"), off("hosted", "hosted-history"),
            ]},
            {"what": "other_history", "cells": [
                off("local", "local-other-history"), never("elsewhere"), never("hosted"),
            ]},
        ]});
        assert_eq!(table, expected);
    }

    #[test]
    fn a_switch_is_set_by_its_name_and_others_stay() {
        let settings = Memory::default();
        let change = |params: Value| serde_json::from_value::<PrivacyChange>(params);
        let set = |params: Value| super::set(&settings, change(params).unwrap()).unwrap();
        set(json!({"switch": "hosted-history", "on": true}));
        set(json!({"switch": "local-other-history", "on": true}));
        set(json!({"switch": "hosted-history", "on": false}));
        assert_eq!(
            ReadingRules::stored(&settings),
            ReadingRules { local_other_history: true, ..ReadingRules::default() }
        );
        let wrong = change(json!({"switch": "everything", "on": true})).unwrap_err().to_string();
        assert!(wrong.contains("no such switch: everything (known: local-other-history"), "{wrong}");
        settings.set(READING_SETTINGS, json!("nonsense")).unwrap();
        assert_eq!(ReadingRules::stored(&settings), ReadingRules::default());
    }
}
