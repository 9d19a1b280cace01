//! A run on the bridge.

use super::{outcome::Outcome, screen::RunScreen};
use crate::{
    bridge::{Connection, reach, wire_path},
    output,
    signals::Interrupts,
};
use openagents_orchestration::explore::PlannerChoice;
use serde_json::json;
use std::path::{Path, PathBuf};

/// A run that has started. Dropping it does not stop the run.
pub(crate) struct Run {
    bridge: Connection,
    outcome: Outcome,
}

impl Run {
    /// Asks the bridge of the data folder `home` to explore `root`, and waits until the run has started.
    pub(crate) async fn begin(
        home: &Path,
        root: PathBuf,
        goals: &[String],
        planner: PlannerChoice,
    ) -> anyhow::Result<Self> {
        let explore = json!({"root": wire_path(root)?, "goals": goals, "planner": planner});
        let mut bridge = reach(home).await?;
        let begun = bridge.request("_openagents/explore", explore).await?;
        let id = |key: &str| begun[key].as_str().unwrap_or_default().to_owned();
        Ok(Self { bridge, outcome: Outcome::of(id("sessionId"), id("planId")) })
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
    pub(super) async fn follow(
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
                    let cancel = json!({"sessionId": self.session_id()});
                    // If this fails, the next update fails too.
                    drop(self.bridge.notify("session/cancel", cancel).await);
                    continue;
                }
            };
            let message = match message {
                Ok(message) => message,
                Err(error) => {
                    output::warn(&format!("{error:#}"));
                    break;
                }
            };
            let params = &message["params"];
            if message["method"] == "session/update" && params["sessionId"] == self.session_id() {
                self.outcome.add(params);
                match screen {
                    Some(screen) => screen.show(params)?,
                    None => output::json_line(params)?,
                }
            }
        }
        Ok((self.outcome, interrupts > 0))
    }
}
