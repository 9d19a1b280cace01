//! The models and the agents of this machine, and their read access. Clients list and watch them, and change them with
//! commands.

use super::privacy::{self, PrivacyChange};
use crate::base::{error::Fault, feed::Feed, scope::Scope};
use openagents_core::{
    agent::{AgentCommand, Agents, AgentsSnapshot, CustomKind},
    model::{LocalModels, ModelCommand, SettingsStore},
};
use openagents_sessions::run_blocking;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

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

impl Managed<ModelCommand> {
    pub(crate) fn models(models: Arc<dyn LocalModels>) -> Arc<Self> {
        let [source, run, refresh, shut_down] = [(); 4].map(|()| models.clone());
        let snapshot = move |_| source.snapshot();
        Arc::new(Self {
            feed: feed("_openagents/models", snapshot, |on_change| models.watch(on_change)),
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
            feed: feed("_openagents/agents", snapshot, |on_change| agents.watch(on_change)),
            run: Arc::new(move |command| run.command(command).map_err(Fault::from)),
            refresh: Arc::new(|| {}),
            shut_down: Box::new(move || shut_down.shut_down()),
        })
    }
}

impl Managed<PrivacyChange> {
    pub(crate) fn privacy(settings: Arc<dyn SettingsStore>) -> Arc<Self> {
        let source = settings.clone();
        let snapshot = move || serde_json::to_value(privacy::table(&*source)).unwrap_or_default();
        let feed = Feed::new("_openagents/privacy", Scope::View, snapshot);
        let (changed, changing) = (feed.notifier(), Mutex::new(()));
        let run = move |change| {
            let _order = changing.lock();
            privacy::set(&*settings, change).map_err(|error| Fault::internal(error.to_string()))?;
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

fn feed<S: Serialize>(
    method: &'static str,
    snapshot: impl Fn(Scope) -> S + Send + Sync + 'static,
    watch: impl FnOnce(Arc<Act>),
) -> Arc<Feed> {
    let snapshot = move |scope| serde_json::to_value(snapshot(scope)).unwrap_or_default();
    let feed = Feed::by_scope(method, Scope::View, snapshot);
    watch(feed.notifier());
    feed
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

    /// Runs a command and returns the resulting snapshot.
    pub(crate) async fn command(&self, command: C) -> Result<Value, Fault> {
        let run = self.run.clone();
        let done = run_blocking(move || run(command)).await;
        done.unwrap_or_else(|| Err(Fault::internal("it was interrupted")))?;
        Ok(self.feed.snapshot())
    }

    /// Stops the background work. Blocks.
    pub(crate) fn shut_down(&self) {
        (self.shut_down)();
    }
}
