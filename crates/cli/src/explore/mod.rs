//! `openagents explore`: runs an exploration on the bridge and shows its progress.

mod outcome;
mod remote;
mod screen;

pub(crate) use outcome::Outcome;
pub(crate) use screen::RunScreen;

use crate::{args, output, signals::Interrupts, surroundings};
use openagents_core::{CancellationToken, explore::PlannerChoice};
use remote::{AskedExploration, RunNews};
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};
use tokio::sync::mpsc;

/// Capacity of the update queue.
const QUEUE: usize = 1024;

pub(crate) fn run(arguments: &args::Explore) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let code = runtime.block_on(explore(arguments));
    // A tool stuck on a dead file system must not block the exit.
    runtime.shutdown_background();
    code
}

async fn explore(arguments: &args::Explore) -> anyhow::Result<ExitCode> {
    let cancel = CancellationToken::new();
    let (sender, news) = mpsc::channel(QUEUE);
    // Absolute, because the bridge would resolve it in its own directory. The run reports a missing root.
    let root = std::path::absolute(&arguments.path).unwrap_or_else(|_| arguments.path.clone());
    let planner = match arguments.planner {
        args::Planner::Auto => PlannerChoice::Auto,
        args::Planner::Heuristic => PlannerChoice::Heuristic,
        args::Planner::Model => PlannerChoice::Model,
    };
    let asked = AskedExploration { root, goals: arguments.goals.clone(), planner };
    remote::start(&surroundings::data_folder()?, asked, cancel.clone(), sender)?;
    let mut screen = (!arguments.json).then(RunScreen::new);
    let (outcome, stopped) = follow(Outcome::default(), news, &mut screen, &cancel).await?;
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

/// Follows a run on a bridge. Dropping it does not stop the run.
pub(crate) struct Watch {
    news: mpsc::Receiver<RunNews>,
    outcome: Outcome,
    cancel: CancellationToken,
}

impl Watch {
    /// Asks the running bridge to explore `root`, and waits until the run has started.
    pub(crate) async fn begin(home: &Path, root: PathBuf) -> anyhow::Result<Self> {
        let cancel = CancellationToken::new();
        let (sender, mut news) = mpsc::channel(QUEUE);
        let asked = AskedExploration { root, goals: Vec::new(), planner: PlannerChoice::default() };
        remote::start(home, asked, cancel.clone(), sender)?;
        let mut outcome = Outcome::default();
        match news.recv().await {
            Some(RunNews::Started { session_id, plan_id }) => outcome.begin(session_id, plan_id),
            Some(RunNews::Notice(reason) | RunNews::Refused(reason)) => anyhow::bail!(reason),
            Some(RunNews::Update(_)) | None => anyhow::bail!("the exploration did not start"),
        }
        Ok(Self { news, outcome, cancel })
    }

    pub(crate) fn session_id(&self) -> &str {
        self.outcome.session_id()
    }

    /// Shows the run in the terminal until its end.
    pub(crate) async fn show(self) -> anyhow::Result<()> {
        let mut screen = Some(RunScreen::new());
        let (outcome, _) = follow(self.outcome, self.news, &mut screen, &self.cancel).await?;
        screen.map_or(Ok(()), |mut screen| screen.end(&outcome))
    }
}

/// Shows updates until the run is over; returns whether a person stopped it. The second Ctrl-C does not wait.
async fn follow(
    mut outcome: Outcome,
    mut news: mpsc::Receiver<RunNews>,
    screen: &mut Option<RunScreen>,
    cancel: &CancellationToken,
) -> anyhow::Result<(Outcome, bool)> {
    let mut interrupts = 0;
    let mut signals = Interrupts::listen()?;
    while !outcome.is_over() && interrupts < 2 {
        tokio::select! {
            heard = news.recv() => match heard {
                None => break,
                Some(RunNews::Started { session_id, plan_id }) => outcome.begin(session_id, plan_id),
                Some(RunNews::Refused(reason)) => outcome.refuse(&reason),
                Some(RunNews::Notice(text)) => output::warn(&text),
                Some(RunNews::Update(params)) => {
                    outcome.add(&params);
                    match screen {
                        Some(screen) => screen.show(&params)?,
                        None => output::json_line(&params)?,
                    }
                }
            },
            () = signals.next() => {
                interrupts += 1;
                cancel.cancel();
            }
        }
    }
    Ok((outcome, interrupts > 0))
}
