//! A turn in a terminal: the answer goes to standard output as it arrives, everything else to standard error.

use crate::{
    output::{self, BAD, FAINT, printable},
    words::{self, text},
};
use agent_client_protocol_schema::v1::{Meta, SessionUpdate, ToolCallStatus};
use indicatif::ProgressBar;
use openagents_core::{
    agent::{CANCELLED, PromptOutcome},
    model::{Activity, Usage},
    update::RunState,
};
use openagents_wire::{ToolMeta, UpdateParams, ours};
use serde_json::Value;
use std::{
    collections::HashMap,
    io::{IsTerminal, Write},
};

/// Maximum length of a call's arguments on the screen, in characters.
const ARGUMENTS: usize = 100;

pub(crate) struct TurnScreen {
    /// Activity of the model; drawn only if standard error is a terminal.
    bar: Option<ProgressBar>,
    watched: bool,
    /// Names of the calls, by id.
    calls: HashMap<String, String>,
    message: Option<String>,
    inside_a_line: bool,
    /// The current thought is not finished.
    inside_a_thought: bool,
    /// [`TurnScreen::end`] will be called, so a message that may be the failure reason can be held back.
    has_end: bool,
    /// Id and text of a message that may be a failure reason instead of an answer.
    held: Option<(Option<String>, String)>,
}

impl TurnScreen {
    /// A screen for one turn, up to its [`TurnScreen::end`].
    pub(crate) fn new() -> Self {
        Self { has_end: true, ..Self::for_log() }
    }

    pub(crate) fn for_log() -> Self {
        Self {
            bar: None,
            watched: std::io::stderr().is_terminal(),
            calls: HashMap::new(),
            message: None,
            inside_a_line: false,
            inside_a_thought: false,
            has_end: false,
            held: None,
        }
    }

    pub(crate) fn activity(&mut self, activity: Option<Activity>) {
        let percent = |progress: f32| (progress * 100.0).round();
        let text = match activity {
            Some(Activity::Waiting) => "Waiting".to_owned(),
            Some(Activity::Silent { seconds }) => format!("No sign of the agent for {seconds} s"),
            Some(Activity::Loading { progress }) => format!("Loading {} %", percent(progress)),
            Some(Activity::ReadingPrompt { progress }) => format!("Reading prompt {} %", percent(progress)),
            Some(Activity::Generating { tokens: 0, .. }) => "Answering".to_owned(),
            Some(Activity::Generating { tokens, tokens_per_second }) => {
                format!("{tokens} tokens, {tokens_per_second:.1} tokens/s")
            }
            None => return self.clear(),
        };
        // There is no room for the activity after an unfinished line of the answer.
        if !self.watched || self.inside_a_line || self.inside_a_thought {
            return;
        }
        self.bar.get_or_insert_with(output::spinner).set_message(text);
    }

    pub(crate) fn show(&mut self, params: &UpdateParams) -> anyhow::Result<()> {
        match &params.update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                self.add(chunk.message_id.as_ref().map(|id| &*id.0), text(chunk))?;
            }
            SessionUpdate::AgentThoughtChunk(chunk) => self.think(text(chunk)),
            SessionUpdate::ToolCall(call) => {
                let name = printable(&call.title);
                let arguments = call.raw_input.as_ref().map(Value::to_string).unwrap_or_default();
                let arguments = output::first_words(&printable(&arguments), ARGUMENTS);
                self.note(&format!("→ {name} {FAINT}{arguments}{FAINT:#}"));
                self.calls.insert(call.tool_call_id.to_string(), name);
                // Calls in a snapshot are already over.
                self.show_result(
                    &call.tool_call_id.0,
                    call.status == ToolCallStatus::Completed,
                    call.raw_output.as_ref(),
                    call.meta.as_ref(),
                );
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let is_complete = update.fields.status == Some(ToolCallStatus::Completed);
                let output = update.fields.raw_output.as_ref();
                self.show_result(&update.tool_call_id.0, is_complete, output, update.meta.as_ref());
            }
            _ => {}
        }
        Ok(())
    }

    fn show_result(&mut self, id: &str, is_complete: bool, output: Option<&Value>, meta: Option<&Meta>) {
        let name = self.calls.get(id).map(String::as_str).unwrap_or_default();
        if let Some(error) = ours::<ToolMeta>(meta).error {
            self.note(&format!("  {BAD}{}{BAD:#}", printable(&error)));
        } else if is_complete {
            let result = printable(&words::result(name, output.unwrap_or(&Value::Null)));
            if !result.is_empty() {
                self.note(&format!("  {FAINT}{result}{FAINT:#}"));
            }
        }
    }

    /// Ends the answer and prints its figures, or why there is no answer.
    pub(crate) fn end(&mut self, outcome: &PromptOutcome) -> anyhow::Result<()> {
        let held = self.held.take();
        if outcome.state == RunState::Complete
            && let Some((id, text)) = held
        {
            self.say(id.as_deref(), &text)?;
        }
        self.clear();
        self.end_thought();
        self.end_line()?;
        if outcome.state != RunState::Complete && !outcome.text.is_empty() {
            let reason = outcome.text.strip_prefix("❌ ").unwrap_or(&outcome.text);
            output::warn(&printable(reason));
        }
        if let Some(usage) = outcome.usage {
            let Usage { tokens, tokens_per_second, first_token_ms, .. } = usage;
            self.note(&format!(
                "{FAINT}{tokens} tokens, {tokens_per_second:.1} tokens/s, the first after {first_token_ms} ms{FAINT:#}"
            ));
        }
        Ok(())
    }

    /// Prints a chunk, unless it looks like a failure reason: only the end of the turn shows which it is.
    fn add(&mut self, message: Option<&str>, text: &str) -> anyhow::Result<()> {
        if let Some((id, mut held)) = self.held.take() {
            if id.as_deref() == message {
                held.push_str(text);
                return if text.is_empty() {
                    self.held = Some((id, held));
                    Ok(())
                } else {
                    self.say(message, &held)
                };
            }
            self.say(id.as_deref(), &held)?;
        }
        let is_new = self.message.as_deref() != message;
        if is_new && self.has_end && (text.starts_with("❌ ") || text == CANCELLED) {
            self.held = Some((message.map(str::to_owned), text.to_owned()));
            return Ok(());
        }
        self.say(message, text)
    }

    /// Prints a piece of a thought on a terminal.
    fn think(&mut self, text: &str) {
        self.clear();
        if self.watched {
            let line_break = if std::mem::take(&mut self.inside_a_line) { "\n" } else { "" };
            let text = printable(text);
            let mut out = anstream::stderr().lock();
            let _ = write!(out, "{line_break}{FAINT}{text}{FAINT:#}");
            let _ = out.flush();
            self.inside_a_thought = true;
        }
    }

    fn end_thought(&mut self) {
        if std::mem::take(&mut self.inside_a_thought) {
            let _ = writeln!(anstream::stderr().lock());
        }
    }

    fn say(&mut self, message: Option<&str>, text: &str) -> anyhow::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.clear();
        self.end_thought();
        if self.message.as_deref() != message && self.message.is_some() {
            self.end_line()?;
        }
        self.message = message.map(str::to_owned);
        output::piece(text)?;
        self.inside_a_line = !text.ends_with('\n');
        Ok(())
    }

    /// Moves to the beginning of a line and starts a new message.
    pub(crate) fn part(&mut self) -> anyhow::Result<()> {
        self.clear();
        self.end_thought();
        self.message = None;
        self.end_line()
    }

    fn end_line(&mut self) -> anyhow::Result<()> {
        if std::mem::take(&mut self.inside_a_line) {
            writeln!(std::io::stdout().lock())?;
        }
        Ok(())
    }

    /// Prints a line on a terminal only; in a script, the output is only the answer.
    pub(crate) fn note(&mut self, line: &str) {
        self.clear();
        self.end_thought();
        if self.watched {
            let line_break = if std::mem::take(&mut self.inside_a_line) { "\n" } else { "" };
            let _ = writeln!(anstream::stderr().lock(), "{line_break}{line}");
        }
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
