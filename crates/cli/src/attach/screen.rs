//! A session in a terminal: explorations are shown as by `explore`, turns as by `agent`, and prompts with their sender.

use super::{approvals::Approvals, link::Link};
use crate::{
    agent, explore,
    output::{self, BAD, FAINT, STRONG, rows, said},
};
use indicatif::{ProgressBar, ProgressStyle};
use openagents_core::model::Activity;
use serde_json::Value;
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
            turn: agent::TurnScreen::of_a_log(),
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

    pub(super) fn attached(&mut self, connection: String, attached: &Value) {
        self.ours.insert(connection);
        self.approvals.replace(&attached["approvals"]);
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
                bar.0.set_message(format!("{BAD}{}{BAD:#} · Enter tries now", told(&link)));
                Ok(())
            }
            _ if is_new => self.aside(&format!("{FAINT}{}{FAINT:#}", told(&link))),
            _ => Ok(()),
        }
    }

    pub(super) fn show(&mut self, params: &Value) -> anyhow::Result<()> {
        let update = &params["update"];
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let meta = &update["_meta"]["openagents"];
        let of_a_delegate = params["_meta"]["openagents"]["childSessionId"].is_string();
        if meta["approval"].is_object() {
            return self.approval(&meta["approval"]);
        }
        match kind {
            "user_message_chunk" => {
                let said = said(&update["content"], "text");
                self.prompt.clone_from(&said);
                if self.is_ours(meta) {
                    return Ok(());
                }
                self.heading(&format!("\n{STRONG}› {said}{STRONG:#}"))
            }
            "plan" => self.plan(params),
            "session_info_update" if update["title"].is_string() && !of_a_delegate => {
                let title = said(update, "title");
                // A title that repeats the beginning of the prompt adds nothing.
                match self.prompt.starts_with(title.trim_end_matches('…')) {
                    true => Ok(()),
                    false => self.aside(&format!("{FAINT}{title}{FAINT:#}")),
                }
            }
            "current_mode_update" if !of_a_delegate => {
                let mode = said(update, "currentModeId");
                self.aside(&format!("{FAINT}{mode} answers{FAINT:#}"))
            }
            // The summary repeats the findings.
            "agent_message_chunk" if self.exploration.is_some() && meta["findings"].is_object() => Ok(()),
            "agent_message_chunk" if self.exploration.is_some() || meta["summary"].is_object() => {
                self.end_exploration(params)
            }
            "tool_call" | "tool_call_update" => match &mut self.exploration {
                Some((_, screen, _)) if !of_a_delegate => screen.show(params),
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

    pub(super) fn queue(&mut self, queued: &Value) -> anyhow::Result<()> {
        match queued.as_array().map_or(0, Vec::len) {
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

    fn is_ours(&self, meta: &Value) -> bool {
        self.interactive && meta["connection"].as_str().is_some_and(|id| self.ours.contains(id))
    }

    fn plan(&mut self, params: &Value) -> anyhow::Result<()> {
        let update = &params["update"];
        let meta = &update["_meta"]["openagents"];
        let entries = rows(update, "entries");
        let explores = entries
            .iter()
            .any(|entry| entry["_meta"]["openagents"]["tool"].as_str().is_some_and(|tool| !tool.is_empty()));
        if !explores {
            return self.steps(entries);
        }
        let id = meta["planId"].as_str().unwrap_or_default();
        let goes_on = self.exploration.as_ref().is_some_and(|(known, _, _)| known == id);
        if !goes_on {
            self.turn.part()?;
            self.exploration = None;
            // The steps of a finished exploration have been shown, or came in a snapshot.
            if meta["state"] == "running" {
                self.exploration =
                    Some((id.to_owned(), explore::RunScreen::new(), explore::Outcome::default()));
            }
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
    fn steps(&mut self, entries: &[Value]) -> anyhow::Result<()> {
        let done = entries.iter().filter(|entry| entry["status"] == "completed").count();
        let now = entries.iter().find(|entry| entry["status"] == "in_progress");
        let now = now.and_then(|entry| entry["content"].as_str()).map(output::printable);
        let now = now.map(|now| format!(": {now}")).unwrap_or_default();
        self.turn.note(&format!("{FAINT}plan {done} of {}{now}{FAINT:#}", entries.len()));
        Ok(())
    }

    fn end_exploration(&mut self, params: &Value) -> anyhow::Result<()> {
        let (mut screen, mut outcome) = match self.exploration.take() {
            Some((_, screen, outcome)) => (screen, outcome),
            None => (explore::RunScreen::new(), explore::Outcome::default()),
        };
        outcome.add(params);
        screen.end(&outcome)
    }

    fn approval(&mut self, approval: &Value) -> anyhow::Result<()> {
        if let Some(over) = self.approvals.hear(approval) {
            self.aside(&format!("{FAINT}{over}{FAINT:#}"))?;
        }
        if self.link == Some(Link::Live) { self.ask() } else { Ok(()) }
    }

    /// Shows pending approvals that were not shown yet.
    fn ask(&mut self) -> anyhow::Result<()> {
        let id = |approval: &Value| approval["id"].as_str().unwrap_or_default().to_owned();
        let new: Vec<Value> =
            self.approvals.pending().iter().filter(|row| !self.shown.contains(&id(row))).cloned().collect();
        for approval in new {
            self.shown.insert(id(&approval));
            for line in self.approvals.put(&approval) {
                self.heading(&line)?;
            }
            if self.interactive {
                self.heading(&format!("{FAINT}Type a number and Enter.{FAINT:#}"))?;
            }
        }
        Ok(())
    }

    /// Prints a line that belongs to the session.
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

/// Describes the link.
pub(super) fn told(link: &Link) -> String {
    match link {
        Link::CatchingUp(1) => "catching up 1 update".to_owned(),
        Link::CatchingUp(left) => format!("catching up {left} updates"),
        Link::Live => "live".to_owned(),
        Link::Offline { since, again_in, why } => {
            let again = match again_in {
                0 => "trying again now".to_owned(),
                seconds => format!("trying again in {seconds} s"),
            };
            format!("offline since {} ({}); {again}", output::clock(*since), output::printable(why))
        }
    }
}
