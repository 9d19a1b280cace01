//! Read access of models and agents: one table, and the switches that the user sets in it.
//!
//! | | model on this machine | model elsewhere | hosted agent |
//! |---|---|---|---|
//! | files of the workspace | yes | yes | yes |
//! | history of the workspace | yes | switch | switch |
//! | history of other workspaces | switch | never | never |
//!
//! Every switch is off by default. The table is applied when tools are handed out: a reader gets a [`History`] with
//! only what it may read, so that tools need no checks.

use crate::tool::Toolbox;
use openagents_core::model::{LanguageModel, SettingsError, SettingsStore};
use openagents_transcripts::history::History;
use serde::{Deserialize, Serialize};
use std::{path::Path, sync::Arc};

/// The key of [`ReadingRules`] among the settings.
pub const READING_SETTINGS: &str = "privacy";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reader {
    /// A model on this machine, or behind a literal loopback address; it is unknown where a server there forwards
    /// prompts.
    Local,
    /// A model behind any other address. Names are not resolved: only `localhost` counts as this machine.
    Elsewhere,
    /// An agent with its own loop, such as Codex, and every client of `openagents mcp`.
    Hosted,
}

/// A kind of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readable {
    Files,
    /// Past sessions that ran in the workspace or in another worktree of its repository.
    History,
    /// All other past sessions.
    OtherHistory,
}

/// A cell of the table that the user can switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadingSwitch {
    /// Models on this machine read the history of other workspaces.
    LocalOtherHistory,
    ElsewhereHistory,
    HostedHistory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadingRule {
    /// Allowed; there is no switch.
    Always,
    /// Allowed while this switch is on.
    Switch(ReadingSwitch),
    /// Not allowed; there is no switch.
    Never,
}

/// The switches of the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ReadingRules {
    /// See [`ReadingSwitch::LocalOtherHistory`].
    pub local_other_history: bool,
    /// See [`ReadingSwitch::ElsewhereHistory`].
    pub elsewhere_history: bool,
    /// See [`ReadingSwitch::HostedHistory`].
    pub hosted_history: bool,
}

impl Reader {
    /// Every reader, in the order of the table's columns.
    pub const ALL: [Self; 3] = [Self::Local, Self::Elsewhere, Self::Hosted];

    pub fn for_model(model: &dyn LanguageModel) -> Self {
        if model.capabilities().local { Self::Local } else { Self::Elsewhere }
    }

    /// Returns the reader kind of a delegate of `self`: one on this machine inherits the limits of `self`, which gets its
    /// answer.
    pub fn delegating(self, to: Self) -> Self {
        if to == Self::Local { self } else { to }
    }
}

impl Readable {
    /// Everything readable, in the order of the table's rows.
    pub const ALL: [Self; 3] = [Self::Files, Self::History, Self::OtherHistory];
}

impl ReadingSwitch {
    pub const ALL: [Self; 3] = [Self::LocalOtherHistory, Self::ElsewhereHistory, Self::HostedHistory];

    /// Returns its name in commands: `local-other-history`.
    pub fn name(self) -> &'static str {
        match self {
            Self::LocalOtherHistory => "local-other-history",
            Self::ElsewhereHistory => "elsewhere-history",
            Self::HostedHistory => "hosted-history",
        }
    }
}

/// Returns the rule of a cell of the table.
pub fn reading_rule(reader: Reader, what: Readable) -> ReadingRule {
    match (what, reader) {
        (Readable::Files, _) | (Readable::History, Reader::Local) => ReadingRule::Always,
        (Readable::History, Reader::Elsewhere) => ReadingRule::Switch(ReadingSwitch::ElsewhereHistory),
        (Readable::History, Reader::Hosted) => ReadingRule::Switch(ReadingSwitch::HostedHistory),
        (Readable::OtherHistory, Reader::Local) => ReadingRule::Switch(ReadingSwitch::LocalOtherHistory),
        (Readable::OtherHistory, Reader::Elsewhere | Reader::Hosted) => ReadingRule::Never,
    }
}

impl ReadingRules {
    /// Reads the stored switches. A switch that cannot be read is off. Blocks.
    pub fn stored(settings: &dyn SettingsStore) -> Self {
        let stored = settings.get(READING_SETTINGS).and_then(|stored| {
            let read =
                |value| serde_json::from_value(value).map_err(|error| SettingsError(error.to_string()));
            stored.map(read).transpose()
        });
        let failed = |error: &SettingsError| tracing::warn!(%error, "could not read the privacy settings");
        stored.inspect_err(failed).ok().flatten().unwrap_or_default()
    }

    /// Returns whether `reader` may read `what`.
    pub fn allows(&self, reader: Reader, what: Readable) -> bool {
        match reading_rule(reader, what) {
            ReadingRule::Always => true,
            ReadingRule::Switch(switch) => self.is_on(switch),
            ReadingRule::Never => false,
        }
    }

    pub fn is_on(&self, switch: ReadingSwitch) -> bool {
        match switch {
            ReadingSwitch::LocalOtherHistory => self.local_other_history,
            ReadingSwitch::ElsewhereHistory => self.elsewhere_history,
            ReadingSwitch::HostedHistory => self.hosted_history,
        }
    }

    pub fn set(&mut self, switch: ReadingSwitch, on: bool) {
        *match switch {
            ReadingSwitch::LocalOtherHistory => &mut self.local_other_history,
            ReadingSwitch::ElsewhereHistory => &mut self.elsewhere_history,
            ReadingSwitch::HostedHistory => &mut self.hosted_history,
        } = on;
    }

    /// Returns the part of `history` that `reader` may read in `workspace`.
    pub fn history(&self, reader: Reader, history: &History, workspace: &Path) -> History {
        if !self.allows(reader, Readable::History) {
            History::empty()
        } else if !self.allows(reader, Readable::OtherHistory) {
            history.of_workspace(workspace)
        } else {
            history.clone()
        }
    }

    /// Returns the tools for `reader` in `workspace`. Their history is limited; tools that read only history are left
    /// out if `reader` may read none.
    pub fn toolbox(&self, reader: Reader, tools: &Toolbox, workspace: &Path) -> Toolbox {
        let mut registry = tools.registry.clone();
        if !self.allows(reader, Readable::History) {
            registry = registry.without(|tool| tool.reads_history());
        }
        let history = Arc::new(self.history(reader, &tools.history, workspace));
        Toolbox { history, registry, limits: tools.limits.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    const OFF: ReadingRules =
        ReadingRules { local_other_history: false, elsewhere_history: false, hosted_history: false };

    #[test]
    fn reading_rules_match_table() {
        use {Readable as What, Reader as Who};
        let on = ReadingRules { local_other_history: true, elsewhere_history: true, hosted_history: true };
        let table = [
            (What::Files, Who::Local, true, true),
            (What::Files, Who::Elsewhere, true, true),
            (What::Files, Who::Hosted, true, true),
            (What::History, Who::Local, true, true),
            (What::History, Who::Elsewhere, false, true),
            (What::History, Who::Hosted, false, true),
            (What::OtherHistory, Who::Local, false, true),
            (What::OtherHistory, Who::Elsewhere, false, false),
            (What::OtherHistory, Who::Hosted, false, false),
        ];
        assert_eq!(table.len(), What::ALL.len() * Who::ALL.len());
        for (what, who, by_default, switched_on) in table {
            assert_eq!(ReadingRules::default().allows(who, what), by_default, "{who:?} {what:?}");
            assert_eq!(on.allows(who, what), switched_on, "{who:?} {what:?}");
        }
    }

    #[test]
    fn switch_changes_only_its_own_cell() {
        for switch in ReadingSwitch::ALL {
            let mut rules = OFF;
            rules.set(switch, true);
            for reader in Reader::ALL {
                for what in Readable::ALL {
                    let is_its = reading_rule(reader, what) == ReadingRule::Switch(switch);
                    assert_eq!(rules.allows(reader, what), OFF.allows(reader, what) || is_its);
                }
            }
            rules.set(switch, false);
            assert_eq!(rules, OFF);
        }
    }

    #[test]
    fn unreadable_switches_are_off() {
        assert_eq!(serde_json::from_str::<ReadingRules>("{}").unwrap(), OFF);
        let one: ReadingRules = serde_json::from_str(r#"{"hostedHistory": true, "later": 1}"#).unwrap();
        assert_eq!(one, ReadingRules { hosted_history: true, ..OFF });
    }

    /// A model elsewhere must not read more through one on this machine.
    #[test]
    fn delegate_reads_no_more_than_its_caller() {
        for on in [false, true] {
            let rules = ReadingRules { local_other_history: on, elsewhere_history: on, hosted_history: on };
            for (from, to) in Reader::ALL.iter().flat_map(|from| Reader::ALL.map(|to| (*from, to))) {
                let delegate = from.delegating(to);
                for what in Readable::ALL {
                    let both = rules.allows(from, what) && rules.allows(to, what);
                    assert!(!rules.allows(delegate, what) || both, "{from:?} to {to:?}: {what:?}");
                }
            }
        }
    }

    #[test]
    fn toolbox_drops_history_tools_without_permission() {
        let tools = builtin::toolbox(Arc::new(History::empty()));
        let offered = |rules: ReadingRules, reader| {
            let tools = rules.toolbox(reader, &tools, Path::new("/w"));
            tools.registry.iter().filter(|tool| tool.name().starts_with("session.")).count()
        };
        assert_eq!(Reader::ALL.map(|reader| offered(OFF, reader)), [4, 0, 0]);
        assert_eq!(offered(ReadingRules { elsewhere_history: true, ..OFF }, Reader::Elsewhere), 4);
    }
}
