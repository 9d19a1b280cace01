//! `openagents agent`: a model answers a prompt, with the tools of an exploration.

mod choice;
mod remote;
mod screen;

pub(crate) use screen::TurnScreen;

use crate::{args, output, signals::Interrupts, surroundings};
use anyhow::Context;
use openagents_core::{
    CancellationToken,
    agent::{CANCELLED, PromptOutcome},
    model::PromptOptions,
    update::RunState,
};
use remote::{AskedPrompt, TurnNews};
use serde_json::json;
use std::{io::Read, process::ExitCode};
use tokio::sync::mpsc;

/// Capacity of the update queue. A slow terminal blocks the model.
const QUEUE: usize = 256;

/// Longest prompt in bytes. Longer text belongs in a file of the workspace.
const PROMPT: u64 = 1 << 20;

pub(crate) fn run(arguments: &args::Agent) -> anyhow::Result<ExitCode> {
    let asked = AskedPrompt {
        prompt: prompt(&arguments.prompt)?,
        root: std::path::absolute(&arguments.root).unwrap_or_else(|_| arguments.root.clone()),
        options: PromptOptions {
            model: choice::read(arguments)?,
            temperature: arguments.temperature,
            max_tokens: arguments.max_tokens,
            question: false,
        },
    };
    asked.options.check().map_err(output::Usage)?;
    answer(asked, arguments.json)
}

/// `openagents ask`: answers a question with search findings, worded by a model if one is ready.
pub(crate) fn ask_question(arguments: &args::Ask) -> anyhow::Result<ExitCode> {
    let asked = AskedPrompt {
        prompt: prompt(&arguments.question)?,
        root: std::path::absolute(&arguments.path).unwrap_or_else(|_| arguments.path.clone()),
        options: PromptOptions { question: true, ..PromptOptions::default() },
    };
    answer(asked, arguments.json)
}

fn answer(asked: AskedPrompt, json: bool) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let code = runtime.block_on(ask(asked, json));
    // A tool stuck on a dead file system must not block the exit.
    runtime.shutdown_background();
    code
}

/// Returns the prompt; `-` reads standard input.
fn prompt(given: &str) -> anyhow::Result<String> {
    let mut bytes = given.as_bytes().to_vec();
    if given == "-" {
        bytes.clear();
        std::io::stdin().take(PROMPT + 1).read_to_end(&mut bytes).context("cannot read standard input")?;
    }
    // Checked before UTF-8: text cut at the limit may end inside a character.
    if bytes.len() as u64 > PROMPT {
        return Err(output::Usage(format!("a prompt may have at most {PROMPT} bytes")).into());
    }
    let text = String::from_utf8(bytes).map_err(|_| output::Usage("the prompt is not UTF-8".to_owned()))?;
    let text = text.trim().to_owned();
    if text.is_empty() {
        return Err(output::Usage("the prompt is empty".to_owned()).into());
    }
    Ok(text)
}

async fn ask(asked: AskedPrompt, json: bool) -> anyhow::Result<ExitCode> {
    let cancel = CancellationToken::new();
    let (sender, mut news) = mpsc::channel(QUEUE);
    remote::start(surroundings::data_folder()?, asked, cancel.clone(), sender);
    let mut screen = (!json).then(TurnScreen::new);
    let (mut interrupts, mut session_id, mut ended) = (0, None, None);
    let mut signals = Interrupts::listen()?;
    while ended.is_none() && interrupts < 2 {
        tokio::select! {
            heard = news.recv() => match (heard, &mut screen) {
                (None, _) => break,
                (Some(TurnNews::Notice(text)), _) => output::warn(&text),
                (Some(TurnNews::Started(id)), _) => session_id = Some(id),
                (Some(TurnNews::Ended(outcome)), _) => ended = Some(outcome),
                (Some(TurnNews::Update(params)), Some(screen)) => screen.show(&params)?,
                (Some(TurnNews::Update(params)), None) => output::json_line(&params)?,
                (Some(TurnNews::Activity(activity)), Some(screen)) => screen.activity(activity),
                (Some(TurnNews::Activity(_)), None) => {}
            },
            () = signals.next() => {
                interrupts += 1;
                cancel.cancel();
            }
        }
    }
    // The second Ctrl-C does not wait for the end of the turn.
    let outcome = ended.map_or_else(interrupted, |outcome| *outcome);
    let state = outcome.state;
    match &mut screen {
        Some(screen) => screen.end(&outcome)?,
        None => output::json_line(&json!({"final": {
            "status": state.as_str(),
            "session_id": session_id,
            "message": outcome.text,
            "usage": outcome.usage,
        }}))?,
    }
    Ok(match state {
        RunState::Complete => ExitCode::SUCCESS,
        _ if interrupts > 0 => ExitCode::from(130),
        _ => ExitCode::FAILURE,
    })
}

fn interrupted() -> PromptOutcome {
    PromptOutcome { state: RunState::Cancelled, text: CANCELLED.to_owned(), usage: None, cut_off: false }
}
