//! `openagents explore`: runs an exploration on the bridge and shows its progress.

mod outcome;
mod run;
mod screen;

pub(crate) use outcome::Outcome;
pub(crate) use run::Run;
pub(crate) use screen::RunScreen;

use crate::{args, bridge::Refused, output, runtime, signals::Interrupts, surroundings};
use openagents_orchestration::explore::{CANCELLED, PlannerChoice};
use serde_json::json;
use std::process::ExitCode;

pub(crate) fn run(arguments: &args::Explore) -> anyhow::Result<ExitCode> {
    runtime::run(explore(arguments))
}

async fn explore(arguments: &args::Explore) -> anyhow::Result<ExitCode> {
    let mut signals = Interrupts::listen()?;
    let home = surroundings::data_folder()?;
    // Absolute, because the bridge would resolve it in its own directory. The run reports a missing root.
    let root = std::path::absolute(&arguments.path).unwrap_or_else(|_| arguments.path.clone());
    let planner = match arguments.planner {
        args::Planner::Auto => PlannerChoice::Auto,
        args::Planner::Heuristic => PlannerChoice::Heuristic,
        args::Planner::Model => PlannerChoice::Model,
    };
    let begun = tokio::select! {
        begun = Run::begin(&home, root, &arguments.goals, planner) => Some(begun),
        () = signals.next() => None,
    };
    let mut screen = (!arguments.json).then(RunScreen::new);
    let (outcome, stopped) = match begun {
        Some(Ok(run)) => run.follow(&mut screen, &mut signals).await?,
        Some(Err(error)) => (Outcome::refused(format!("❌ {}", error.downcast::<Refused>()?)), false),
        None => (Outcome::refused(CANCELLED.to_owned()), true),
    };
    match &mut screen {
        Some(screen) => screen.end(&outcome)?,
        None => output::json_line(&json!({"final": outcome.report()}))?,
    }
    Ok(match outcome.state() {
        "complete" => ExitCode::SUCCESS,
        _ if stopped => ExitCode::from(130),
        _ => ExitCode::FAILURE,
    })
}
