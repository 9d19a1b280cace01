//! A turn in a terminal: the answer on standard output as it comes, everything else beside it.

use crate::{output, words};
use anstyle::{AnsiColor, Effects, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use openagents_core::model::{Activity, Usage};
use serde_json::Value;
use std::{
    collections::HashMap,
    io::{IsTerminal, Write},
    time::Duration,
};

const BAD: Style = AnsiColor::Red.on_default();
const FAINT: Style = Style::new().effects(Effects::DIMMED);

/// Characters of the arguments of a call.
const ARGUMENTS: usize = 100;

pub(super) struct Screen {
    /// What the model is doing; drawn on standard error where that is a terminal.
    bar: Option<ProgressBar>,
    watched: bool,
    /// Names of the calls, by id.
    calls: HashMap<String, String>,
    message: Option<String>,
    /// The answer does not stand at the beginning of a line.
    inside_a_line: bool,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self {
            bar: None,
            watched: std::io::stderr().is_terminal(),
            calls: HashMap::new(),
            message: None,
            inside_a_line: false,
        }
    }

    pub(super) fn activity(&mut self, activity: Option<Activity>) {
        let percent = |progress: f32| (progress * 100.0).round();
        let text = match activity {
            Some(Activity::Waiting) => "Waiting".to_owned(),
            Some(Activity::Loading { progress }) => format!("Loading {} %", percent(progress)),
            Some(Activity::ReadingPrompt { progress }) => format!("Reading prompt {} %", percent(progress)),
            Some(Activity::Generating { tokens: 0, .. }) => "Answering".to_owned(),
            Some(Activity::Generating { tokens, tokens_per_second }) => {
                format!("{tokens} tokens, {tokens_per_second:.1} tokens/s")
            }
            None => return self.clear(),
        };
        // Below half a line of the answer there is no room for it.
        if !self.watched || self.inside_a_line {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        bar.set_message(text);
    }

    pub(super) fn show(&mut self, params: &Value) -> anyhow::Result<()> {
        let update = &params["update"];
        let text = update["content"]["text"].as_str().unwrap_or_default();
        let id = update["toolCallId"].as_str().unwrap_or_default();
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => self.say(update["messageId"].as_str(), text)?,
            Some("agent_thought_chunk") => {
                self.beside(&format!("{FAINT}{}{FAINT:#}", output::printable(text)))
            }
            Some("tool_call") => {
                let name = output::printable(update["title"].as_str().unwrap_or_default());
                let arguments = output::printable(&update["rawInput"].to_string());
                let arguments = output::first_words(&arguments, ARGUMENTS);
                self.beside(&format!("→ {name} {FAINT}{arguments}{FAINT:#}"));
                self.calls.insert(id.to_owned(), name);
            }
            Some("tool_call_update") => {
                let error = update["_meta"]["openagents"]["error"].as_str();
                let name = self.calls.get(id).map(String::as_str).unwrap_or_default();
                match (update["status"].as_str(), error) {
                    (_, Some(error)) => self.beside(&format!("  {BAD}{}{BAD:#}", output::printable(error))),
                    (Some("completed"), _) => {
                        let said = output::printable(&words::result(name, &update["rawOutput"]));
                        self.beside(&format!("  {FAINT}{said}{FAINT:#}"));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends the line of the answer and tells the figures.
    pub(super) fn end(&mut self, usage: Option<Usage>) -> anyhow::Result<()> {
        self.clear();
        self.end_line()?;
        if let Some(usage) = usage {
            let Usage { tokens, tokens_per_second, first_token_ms, .. } = usage;
            self.beside(&format!(
                "{FAINT}{tokens} tokens, {tokens_per_second:.1} tokens/s, the first after {first_token_ms} ms{FAINT:#}"
            ));
        }
        Ok(())
    }

    fn say(&mut self, message: Option<&str>, text: &str) -> anyhow::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.clear();
        if self.message.as_deref() != message && self.message.is_some() {
            self.end_line()?;
        }
        self.message = message.map(str::to_owned);
        let mut out = std::io::stdout().lock();
        out.write_all(steady(text).as_bytes())?;
        out.flush()?;
        self.inside_a_line = !text.ends_with('\n');
        Ok(())
    }

    fn end_line(&mut self) -> anyhow::Result<()> {
        if std::mem::take(&mut self.inside_a_line) {
            writeln!(std::io::stdout().lock())?;
        }
        Ok(())
    }

    /// Tells a person who watches; in a script the answer is all.
    fn beside(&mut self, line: &str) {
        self.clear();
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

/// The text with its lines and tabs, and with nothing in it that can steer a terminal.
fn steady(text: &str) -> String {
    let harmless = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    text.chars().map(|c| if harmless(c) { c } else { ' ' }).collect()
}

#[cfg(test)]
mod tests {
    use super::steady;

    #[test]
    fn an_answer_cannot_steer_the_terminal() {
        assert_eq!(steady("a\tb\n\u{1b}[2Jc\r\u{9b}1m"), "a\tb\n [2Jc  1m");
    }
}
