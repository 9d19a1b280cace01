//! The parts of a bridge that client calls use: among them the models and the agents of this machine, which clients
//! list, watch and change with commands, and the table of [`openagents_tools::reading`], with its switches.

use crate::acp::{past_sessions::PastSessions, prepared_files::PreparedFiles};
use openagents_connection::{fault::Fault, feed::Feed, inspect::Inspector, rpc};
use openagents_core::{
    agent::{AgentCommand, Agents, AgentsSnapshot, CustomKind},
    model::{LocalModels, ModelCommand, SettingsStore},
};
use openagents_remote::{devices::registry::Devices, network::state::Network};
use openagents_search::{files::FileNames, symbols::Symbols};
use openagents_sessions::{SessionRegistry, TurnExecutor, run_blocking};
use openagents_tools::reading::{
    READING_SETTINGS, Readable, Reader, ReadingRule, ReadingRules, ReadingSwitch, reading_rule,
};
use openagents_wire::{Event, PrivacyCell, PrivacyChange, PrivacyRow, PrivacySnapshot, Scope, methods};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use tokio_util::task::TaskTracker;

/// Shared by all connections.
pub(crate) struct Services {
    pub(crate) sessions: Arc<SessionRegistry>,
    pub(crate) turns: Arc<TurnExecutor>,
    pub(crate) inspector: Arc<Inspector>,
    pub(crate) models: Option<Arc<Managed<ModelCommand>>>,
    pub(crate) agents: Option<Arc<Managed<AgentCommand>>>,
    /// For the terminals in which the user logs in.
    pub(crate) logins: Option<Arc<dyn Agents>>,
    pub(crate) privacy: Arc<Managed<PrivacyChange>>,
    pub(crate) past_sessions: Arc<PastSessions>,
    pub(crate) prepared_files: Arc<PreparedFiles>,
    pub(crate) trust: Arc<Feed>,
    pub(crate) devices: Arc<Devices>,
    pub(crate) network: Arc<Network>,
    pub(crate) files: Arc<FileNames>,
    pub(crate) symbols: Arc<Symbols>,
    pub(crate) ios: Arc<openagents_ios::services::Services>,
    /// Answers that wait for the end of a turn, awaited when the bridge stops.
    pub(crate) answers: TaskTracker,
}

type Run<C> = dyn Fn(C) -> Result<(), Fault> + Send + Sync;
type Act = dyn Fn() + Send + Sync;

/// Placeholder for a hidden argument; also used for other hidden values.
const HIDDEN: &str = "…";

/// State that commands of type `C` change, and its feed.
pub(crate) struct Managed<C> {
    feed: Arc<Feed>,
    run: Arc<Run<C>>,
    refresh: Arc<Act>,
    shut_down: Box<Act>,
}

impl<C: Send + 'static> Managed<C> {
    pub(crate) fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// Rescans and returns the snapshot: files may have been added by hand.
    pub(crate) async fn fresh_snapshot(&self) -> Value {
        let refresh = self.refresh.clone();
        run_blocking(move || refresh()).await;
        self.feed.snapshot()
    }

    pub(crate) async fn command(&self, command: C) -> Result<Value, Fault> {
        let run = self.run.clone();
        let done = run_blocking(move || run(command)).await;
        done.unwrap_or_else(|| Err(Fault::internal("The command was interrupted.")))?;
        Ok(self.feed.snapshot())
    }

    pub(crate) fn shut_down(&self) {
        (self.shut_down)();
    }
}

impl Managed<ModelCommand> {
    pub(crate) fn models(models: Arc<dyn LocalModels>) -> Arc<Self> {
        let [source, run, refresh, shut_down] = [(); 4].map(|()| models.clone());
        let snapshot = move |_| source.snapshot();
        Arc::new(Self {
            feed: feed::<methods::ModelsChanged>(snapshot, |on_change| models.watch(on_change)),
            run: Arc::new(move |command| run.command(command).map_err(Fault::from)),
            refresh: Arc::new(move || refresh.refresh()),
            shut_down: Box::new(move || shut_down.shut_down()),
        })
    }
}

impl Managed<AgentCommand> {
    pub(crate) fn agents(agents: Arc<dyn Agents>) -> Arc<Self> {
        let [source, run, shut_down] = [(); 3].map(|()| agents.clone());
        let snapshot = move |scope| match scope {
            Scope::Admin => source.snapshot(),
            _ => without_arguments(source.snapshot()),
        };
        Arc::new(Self {
            feed: feed::<methods::AgentsChanged>(snapshot, |on_change| agents.watch(on_change)),
            run: Arc::new(move |command| run.command(command).map_err(Fault::from)),
            refresh: Arc::new(|| {}),
            shut_down: Box::new(move || shut_down.shut_down()),
        })
    }
}

impl Managed<PrivacyChange> {
    pub(crate) fn privacy(settings: Arc<dyn SettingsStore>) -> Arc<Self> {
        let source = settings.clone();
        let feed = Feed::new::<methods::PrivacyChanged>(Scope::View, move || privacy_table(&*source));
        let (changed, changing) = (feed.notifier(), Mutex::new(()));
        let run = move |change| {
            let _order = changing.lock();
            set_switch(&*settings, &change)?;
            changed();
            Ok(())
        };
        let (refresh, shut_down) = (Arc::new(|| {}), Box::new(|| {}));
        Arc::new(Self { feed, run: Arc::new(run), refresh, shut_down })
    }
}

/// Hides the arguments of programs that the user added, because one may be a key. For clients that may not change them.
fn without_arguments(mut snapshot: AgentsSnapshot) -> AgentsSnapshot {
    for agent in &mut snapshot.settings.custom {
        if let CustomKind::Acp { args, .. } = &mut agent.kind {
            args.iter_mut().for_each(|argument| HIDDEN.clone_into(argument));
        }
    }
    snapshot
}

fn feed<E: Event>(
    snapshot: impl Fn(Scope) -> E::Params + Send + Sync + 'static,
    watch: impl FnOnce(Arc<Act>),
) -> Arc<Feed> {
    let feed = Feed::by_scope::<E>(Scope::View, snapshot);
    watch(feed.notifier());
    feed
}

/// Rules that cannot be read from the settings count as not allowed.
pub(crate) fn privacy_table(settings: &dyn SettingsStore) -> PrivacySnapshot {
    let rules = ReadingRules::stored(settings);
    let cell = |what: Readable, reader: Reader| PrivacyCell {
        reader: name(&reader),
        allowed: rules.allows(reader, what),
        switch: match reading_rule(reader, what) {
            ReadingRule::Switch(switch) => Some(switch.name().to_owned()),
            ReadingRule::Always | ReadingRule::Never => None,
        },
    };
    let row =
        |what| PrivacyRow { what: name(&what), cells: Reader::ALL.map(|reader| cell(what, reader)).into() };
    PrivacySnapshot { rows: Readable::ALL.map(row).into() }
}

/// Returns the name of an enum without fields.
fn name(value: &impl Serialize) -> String {
    rpc::value(value).as_str().unwrap_or_default().to_owned()
}

/// Sets a switch. Not atomic: callers serialise changes.
pub(crate) fn set_switch(settings: &dyn SettingsStore, change: &PrivacyChange) -> Result<(), Fault> {
    let switch =
        ReadingSwitch::ALL.into_iter().find(|switch| switch.name() == change.switch).ok_or_else(|| {
            let known = ReadingSwitch::ALL.map(ReadingSwitch::name).join(", ");
            let name = openagents_core::text::prefix(&change.switch, 100);
            Fault::invalid_params(format!("Unknown switch {name}. Known switches: {known}."))
        })?;
    let mut rules = ReadingRules::stored(settings);
    rules.set(switch, change.on);
    settings.set(READING_SETTINGS, rpc::value(&rules)).map_err(|error| Fault::internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::model::SettingsError;
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
    fn privacy_table_wire_format() {
        let table = serde_json::to_value(privacy_table(&Memory::default())).unwrap();
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
    fn set_switch_changes_one_switch_by_name() {
        let settings = Memory::default();
        let change = |params: Value| serde_json::from_value::<PrivacyChange>(params);
        let set = |params: Value| set_switch(&settings, &change(params).unwrap()).unwrap();
        set(json!({"switch": "hosted-history", "on": true}));
        set(json!({"switch": "local-other-history", "on": true}));
        set(json!({"switch": "hosted-history", "on": false}));
        assert_eq!(
            ReadingRules::stored(&settings),
            ReadingRules { local_other_history: true, ..ReadingRules::default() }
        );
        let everything = change(json!({"switch": "everything", "on": true})).unwrap();
        let wrong = set_switch(&settings, &everything).unwrap_err().message;
        assert!(wrong.contains("Unknown switch everything. Known switches: local-other-history"), "{wrong}");
        settings.set(READING_SETTINGS, json!("nonsense")).unwrap();
        assert_eq!(ReadingRules::stored(&settings), ReadingRules::default());
    }
}
