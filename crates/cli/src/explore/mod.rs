//! `openagents explore`: runs an exploration on the bridge and shows its progress.

mod drawing;
mod outcome;
mod screen;

use crate::{
    args,
    bridge::{reach, refusal, wire_path},
    output,
    signals::{self, Interrupts},
    surroundings,
};
use agent_client_protocol_schema::v1::CancelNotification;
use anyhow::Context;
use openagents_bridge::client::{Client, Incoming};
use openagents_orchestration::explore::CANCELLED;
use openagents_wire::{ExploreParams, Planner, UpdateParams, methods};
pub(crate) use outcome::Outcome;
pub(crate) use screen::RunScreen;
use serde::Deserialize;
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

pub(crate) fn run(arguments: &args::Explore) -> anyhow::Result<ExitCode> {
    signals::run(explore(arguments))
}

async fn explore(arguments: &args::Explore) -> anyhow::Result<ExitCode> {
    let mut signals = Interrupts::listen()?;
    let home = surroundings::data_folder()?;
    // Absolute, because the bridge would resolve it in its own directory. The run reports a missing root.
    let root = std::path::absolute(&arguments.path).unwrap_or_else(|_| arguments.path.clone());
    let planner = match arguments.planner {
        args::Planner::Auto => Planner::Auto,
        args::Planner::Heuristic => Planner::Heuristic,
        args::Planner::Model => Planner::Model,
    };
    let begun = tokio::select! {
        begun = Run::begin(&home, root, &arguments.goals, planner) => Some(begun),
        () = signals.next() => None,
    };
    let mut screen = (!arguments.json).then(RunScreen::new);
    let (outcome, stopped) = match begun {
        Some(Ok(run)) => run.follow(&mut screen, &mut signals).await?,
        Some(Err(error)) => (Outcome::refused(format!("❌ {}", refusal(error)?)), false),
        None => (Outcome::refused(CANCELLED.to_owned()), true),
    };
    match &mut screen {
        Some(screen) => screen.end(&outcome)?,
        None => output::json_line(&json!({"final": outcome.report()}))?,
    }
    if let Some(path) = arguments.map.as_ref().filter(|_| outcome.state() == "complete") {
        let map =
            outcome.summary().and_then(|summary| summary.overview.as_ref()).map(|overview| &overview.map);
        let map = map.filter(|map| !map.nodes.is_empty());
        let map = map.context("no map was drawn: the folder has no code in at least two files")?;
        std::fs::write(path, drawing::svg(map)).with_context(|| path.display().to_string())?;
    }
    Ok(match outcome.state() {
        "complete" => ExitCode::SUCCESS,
        _ if stopped => ExitCode::from(130),
        _ => ExitCode::FAILURE,
    })
}

/// A run that has started. Dropping it does not stop the run.
pub(crate) struct Run {
    bridge: Client,
    outcome: Outcome,
}

impl Run {
    /// Asks the bridge of the data folder `home` to explore `root`, and waits until the run has started.
    pub(crate) async fn begin(
        home: &Path,
        root: PathBuf,
        goals: &[String],
        planner: Planner,
    ) -> anyhow::Result<Self> {
        let root = wire_path(root)?.into();
        let explore = ExploreParams { root, goals: goals.to_vec(), planner, policy: None };
        let mut bridge = reach(home).await?;
        let outcome = Outcome::for_run(bridge.call::<methods::Explore>(explore).await?);
        Ok(Self { bridge, outcome })
    }

    pub(crate) fn session_id(&self) -> &str {
        self.outcome.session_id()
    }

    /// Shows the run in the terminal until its end.
    pub(crate) async fn show(self) -> anyhow::Result<()> {
        let mut screen = Some(RunScreen::new());
        let (outcome, _) = self.follow(&mut screen, &mut Interrupts::listen()?).await?;
        screen.map_or(Ok(()), |mut screen| screen.end(&outcome))
    }

    /// Shows updates until the run is over; without a screen, prints them as JSON. Returns whether the user stopped it.
    /// The second Ctrl-C does not wait.
    async fn follow(
        mut self,
        screen: &mut Option<RunScreen>,
        signals: &mut Interrupts,
    ) -> anyhow::Result<(Outcome, bool)> {
        let mut interrupts = 0;
        while !self.outcome.is_over() && interrupts < 2 {
            let message = tokio::select! {
                message = self.bridge.next() => message,
                () = signals.next() => {
                    interrupts += 1;
                    let cancel = CancelNotification::new(self.session_id().to_owned());
                    // If this fails, the next update fails too.
                    drop(self.bridge.notify("session/cancel", &cancel).await);
                    continue;
                }
            };
            let message = match message {
                Ok(message) => message,
                Err(error) => {
                    output::warn(&error.to_string());
                    break;
                }
            };
            let Incoming::Notification(method, params) = message else { continue };
            if method != "session/update" || params["sessionId"] != self.session_id() {
                continue;
            }
            // An update of another version may have a kind that is not known here.
            let Ok(update) = UpdateParams::deserialize(&params) else { continue };
            self.outcome.add(&update);
            match screen {
                Some(screen) => screen.show(&update)?,
                None => output::json_line(&params)?,
            }
        }
        Ok((self.outcome, interrupts > 0))
    }
}
