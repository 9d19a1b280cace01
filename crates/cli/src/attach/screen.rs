//! A session in a terminal: explorations are shown as by `explore`, turns as by `agent`, and prompts with their sender.

use super::{approvals::Approvals, link::Link};
use crate::{
    agent, explore,
    output::{self, BAD, FAINT, STRONG},
    words::text,
};
use agent_client_protocol_schema::{
    MaybeUndefined,
    v1::{Plan, PlanEntry, PlanEntryStatus, SessionInfoUpdate, SessionUpdate},
};
use indicatif::{ProgressBar, ProgressStyle};
use openagents_core::{approval::Approval, model::Activity, update::RunState};
use openagents_wire::{EntryMeta, PlanMeta, PromptMeta, SpeechMeta, ToolMeta, UpdateParams, ours};
use std::{collections::HashSet, io::IsTerminal, mem::discriminant};

pub(super) struct SessionScreen {
    turn: agent::TurnScreen,
    /// The running exploration and its id.
    exploration: Option<(String, explore::RunScreen, explore::Outcome)>,
    approvals: Approvals,
    /// Approvals already shown.
    shown: HashSet<String>,
    /// Ids of our connections. Prompts typed here are on the screen already.
    ours: HashSet<String>,
    /// The last prompt.
    prompt: String,
    /// The user can answer at this terminal.
    interactive: bool,
    link: Option<Link>,
    /// Standard error is a terminal.
    watched: bool,
    offline: Option<Cleared>,
}

/// A status line that is cleared on drop.
struct Cleared(ProgressBar);

impl Drop for Cleared {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl SessionScreen {
    pub(super) fn new(interactive: bool) -> Self {
        Self {
            turn: agent::TurnScreen::for_log(),
            exploration: None,
            approvals: Approvals::default(),
            shown: HashSet::new(),
            ours: HashSet::new(),
            prompt: String::new(),
            interactive,
            link: None,
            watched: std::io::stderr().is_terminal(),
            offline: None,
        }
    }

    pub(super) fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    pub(super) fn attached(&mut self, connection: String, approvals: Vec<Approval>) {
        self.ours.insert(connection);
        self.approvals.replace(approvals);
    }

    /// Shows the state of the link when it changes; continuously while offline.
    pub(super) fn link(&mut self, link: Link) -> anyhow::Result<()> {
        let before = self.link.replace(link.clone());
        let is_new = before.as_ref().map(discriminant) != Some(discriminant(&link));
        match &link {
            Link::Live => {
                self.offline = None;
                if is_new && before.is_some() {
                    self.aside(&format!("{FAINT}live{FAINT:#}"))?;
                }
                self.ask()
            }
            Link::Offline { .. } if self.watched && self.exploration.is_none() => {
                if is_new {
                    self.turn.part()?;
                }
                let bar = self.offline.get_or_insert_with(|| Cleared(ProgressBar::new_spinner()));
                bar.0.set_style(ProgressStyle::with_template("{msg}")?);
                bar.0.set_message(format!("{BAD}{}{BAD:#} · Enter tries now", link.describe()));
                Ok(())
            }
            _ if is_new => self.aside(&format!("{FAINT}{}{FAINT:#}", link.describe())),
            _ => Ok(()),
        }
    }

    pub(super) fn show(&mut self, params: &UpdateParams) -> anyhow::Result<()> {
        let is_delegate = params.ours().child_session_id.is_some();
        match &params.update {
            SessionUpdate::UserMessageChunk(chunk) => {
                let prompt = output::printable(text(chunk));
                self.prompt.clone_from(&prompt);
                match self.is_ours(&ours(chunk.meta.as_ref())) {
                    true => Ok(()),
                    false => self.heading(&format!("\n{STRONG}› {prompt}{STRONG:#}")),
                }
            }
            SessionUpdate::Plan(plan) => self.plan(plan, params),
            SessionUpdate::SessionInfoUpdate(SessionInfoUpdate {
                title: MaybeUndefined::Value(title),
                ..
            }) if !is_delegate => {
                let title = output::printable(title);
                // A title that repeats the beginning of the prompt adds nothing.
                match self.prompt.starts_with(title.trim_end_matches('…')) {
                    true => Ok(()),
                    false => self.aside(&format!("{FAINT}{title}{FAINT:#}")),
                }
            }
            SessionUpdate::CurrentModeUpdate(mode) if !is_delegate => {
                let mode = output::printable(&mode.current_mode_id.0);
                self.aside(&format!("{FAINT}{mode} answers{FAINT:#}"))
            }
            SessionUpdate::AgentMessageChunk(chunk) => {
                let SpeechMeta { summary, findings, is_overview, .. } = ours(chunk.meta.as_ref());
                match self.exploration.is_some() {
                    // The summary repeats both.
                    true if findings.is_some() || is_overview => Ok(()),
                    false if summary.is_none() => self.turn.show(params),
                    _ => self.end_exploration(params),
                }
            }
            SessionUpdate::ToolCallUpdate(update)
                if let ToolMeta { approval: Some(approval), .. } = ours(update.meta.as_ref()) =>
            {
                self.approval(approval)
            }
            SessionUpdate::ToolCall(_) | SessionUpdate::ToolCallUpdate(_) => match &mut self.exploration {
                Some((_, screen, _)) if !is_delegate => screen.show(params),
                _ => self.turn.show(params),
            },
            _ => self.turn.show(params),
        }
    }

    pub(super) fn activity(&mut self, activity: Option<Activity>) {
        if self.exploration.is_none() {
            self.turn.activity(activity);
        }
    }

    pub(super) fn queue(&mut self, queued: usize) -> anyhow::Result<()> {
        match queued {
            0 => Ok(()),
            1 => self.aside(&format!("{FAINT}1 prompt queued{FAINT:#}")),
            many => self.aside(&format!("{FAINT}{many} prompts queued{FAINT:#}")),
        }
    }

    /// Shows why a request was refused.
    pub(super) fn refused(&mut self, reason: &str) -> anyhow::Result<()> {
        self.aside(&format!("{BAD}{}{BAD:#}", output::printable(reason)))
    }

    /// Restores the terminal.
    pub(super) fn end(&mut self) -> anyhow::Result<()> {
        self.turn.part()
    }

    fn is_ours(&self, meta: &PromptMeta) -> bool {
        self.interactive && meta.connection.as_ref().is_some_and(|id| self.ours.contains(id))
    }

    fn plan(&mut self, plan: &Plan, params: &UpdateParams) -> anyhow::Result<()> {
        let explores = |entry: &PlanEntry| !ours::<EntryMeta>(entry.meta.as_ref()).tool.is_empty();
        if !plan.entries.iter().any(explores) {
            self.steps(&plan.entries);
            return Ok(());
        }
        let PlanMeta { plan_id, state, .. } = ours(plan.meta.as_ref());
        let id = plan_id.unwrap_or_default();
        if self.exploration.as_ref().is_none_or(|(known, _, _)| *known != id) {
            self.turn.part()?;
            // The steps of a finished exploration have been shown, or came in a snapshot.
            let is_running = state == RunState::Running.as_str();
            self.exploration =
                is_running.then(|| (id, explore::RunScreen::new(), explore::Outcome::default()));
        }
        match &mut self.exploration {
            Some((_, screen, outcome)) => {
                outcome.add(params);
                screen.show(params)
            }
            None => Ok(()),
        }
    }

    /// Shows the progress of an agent's plan and its current step.
    fn steps(&mut self, entries: &[PlanEntry]) {
        let done = entries.iter().filter(|entry| entry.status == PlanEntryStatus::Completed).count();
        let now = entries.iter().find(|entry| entry.status == PlanEntryStatus::InProgress);
        let now = now.map(|entry| format!(": {}", output::printable(&entry.content))).unwrap_or_default();
        self.turn.note(&format!("{FAINT}plan {done} of {}{now}{FAINT:#}", entries.len()));
    }

    fn end_exploration(&mut self, params: &UpdateParams) -> anyhow::Result<()> {
        let (mut screen, mut outcome) = match self.exploration.take() {
            Some((_, screen, outcome)) => (screen, outcome),
            None => (explore::RunScreen::new(), explore::Outcome::default()),
        };
        outcome.add(params);
        screen.end(&outcome)
    }

    fn approval(&mut self, approval: Approval) -> anyhow::Result<()> {
        if let Some(over) = self.approvals.update(approval) {
            self.aside(&format!("{FAINT}{over}{FAINT:#}"))?;
        }
        if self.link == Some(Link::Live) { self.ask() } else { Ok(()) }
    }

    /// Shows pending approvals that were not shown yet.
    fn ask(&mut self) -> anyhow::Result<()> {
        let new: Vec<Approval> =
            self.approvals.pending().iter().filter(|row| !self.shown.contains(&row.id)).cloned().collect();
        for approval in new {
            self.shown.insert(approval.id.clone());
            for line in self.approvals.number(&approval) {
                self.heading(&line)?;
            }
            if self.interactive {
                self.heading(&format!("{FAINT}Type a number and Enter.{FAINT:#}"))?;
            }
        }
        Ok(())
    }

    fn heading(&mut self, line: &str) -> anyhow::Result<()> {
        self.turn.part()?;
        match &self.exploration {
            Some((_, screen, _)) => Ok(screen.above(line)?),
            None => Ok(output::line(line)?),
        }
    }

    /// Prints a line about the link or about the session itself.
    fn aside(&mut self, line: &str) -> anyhow::Result<()> {
        match &self.exploration {
            Some((_, screen, _)) => Ok(screen.above(line)?),
            None => {
                self.turn.part()?;
                output::aside(line);
                Ok(())
            }
        }
    }
}
