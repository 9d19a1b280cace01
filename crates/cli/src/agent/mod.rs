//! `openagents agent`: the model on this computer answers a prompt, with the tools of an exploration.

mod here;
mod screen;

use crate::{args, output, signals::Interrupts, surroundings};
use anyhow::Context;
use openagents_core::{
    CancellationToken,
    agent::PromptOutcome,
    model::{Activity, ModelSettings},
    update::RunState,
};
use screen::Screen;
use serde_json::{Value, json};
use std::{io::Read, path::PathBuf, process::ExitCode};
use tokio::sync::mpsc;

/// What a run tells; the end comes last.
#[derive(Debug)]
enum News {
    /// The params of a `session/update`.
    Update(Value),
    /// What the model is doing.
    Activity(Option<Activity>),
    /// Something that a person should know; goes to stderr.
    Notice(String),
    /// The id of the session, and how the turn ended.
    Ended(String, Box<PromptOutcome>),
}

/// What is asked.
#[derive(Debug)]
struct Asked {
    prompt: String,
    root: PathBuf,
    /// Used instead of the model in use.
    model: Option<PathBuf>,
    temperature: Option<f32>,
    max_tokens: Option<u32>,
}

/// Updates wait here while the terminal is slow; the model waits with them.
const QUEUE: usize = 256;

/// Bytes of a prompt. A longer one is a file, and belongs into the folder.
const PROMPT: u64 = 1 << 20;

pub(crate) fn run(arguments: &args::Agent) -> anyhow::Result<ExitCode> {
    let asked = Asked {
        prompt: prompt(&arguments.prompt)?,
        root: std::path::absolute(&arguments.root).unwrap_or_else(|_| arguments.root.clone()),
        model: arguments.model.clone(),
        temperature: arguments.temperature,
        max_tokens: arguments.max_tokens,
    };
    if let Some(model) = asked.model.as_ref().filter(|model| !model.is_file()) {
        let message = format!("--model {}: there is no such file", model.display());
        return Err(output::Usage(message).into());
    }
    let defaults = ModelSettings::default();
    let chosen = ModelSettings {
        temperature: asked.temperature.unwrap_or(defaults.temperature),
        max_tokens: asked.max_tokens,
        ..defaults
    };
    chosen.check().map_err(output::Usage)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let code = runtime.block_on(ask(asked, arguments.json));
    // A tool that hangs on a dead file system must not hold the exit up.
    runtime.shutdown_background();
    code
}

/// `-` reads standard input.
fn prompt(given: &str) -> anyhow::Result<String> {
    let mut text = given.to_owned();
    if given == "-" {
        text.clear();
        std::io::stdin().take(PROMPT + 1).read_to_string(&mut text).context("cannot read standard input")?;
    }
    let text = text.trim().to_owned();
    if text.is_empty() {
        return Err(output::Usage("the prompt is empty".to_owned()).into());
    }
    if text.len() as u64 > PROMPT {
        return Err(output::Usage(format!("a prompt may have {PROMPT} bytes at most")).into());
    }
    Ok(text)
}

async fn ask(asked: Asked, json: bool) -> anyhow::Result<ExitCode> {
    let cancel = CancellationToken::new();
    let (sender, mut news) = mpsc::channel(QUEUE);
    here::start(surroundings::data_folder()?, asked, cancel.clone(), sender);
    let mut screen = (!json).then(Screen::new);
    let (mut interrupts, mut ended) = (0, None);
    let mut signals = Interrupts::listen()?;
    while ended.is_none() && interrupts < 2 {
        tokio::select! {
            heard = news.recv() => match (heard, &mut screen) {
                (None, _) => break,
                (Some(News::Notice(text)), _) => output::warn(&text),
                (Some(News::Ended(session_id, outcome)), _) => ended = Some((session_id, outcome)),
                (Some(News::Update(params)), Some(screen)) => screen.show(&params)?,
                (Some(News::Update(params)), None) => output::json_line(&params)?,
                (Some(News::Activity(activity)), Some(screen)) => screen.activity(activity),
                (Some(News::Activity(_)), None) => {}
            },
            () = signals.next() => {
                interrupts += 1;
                cancel.cancel();
            }
        }
    }
    let state = ended.as_ref().map_or(RunState::Cancelled, |(_, outcome)| outcome.state);
    match (&mut screen, &ended) {
        (Some(screen), _) => screen.end(ended.as_ref().and_then(|(_, outcome)| outcome.usage))?,
        (None, Some((session_id, outcome))) => output::json_line(&json!({"final": {
            "status": state.as_str(),
            "session_id": session_id,
            "message": outcome.text,
            "usage": outcome.usage,
        }}))?,
        (None, None) => {}
    }
    Ok(match state {
        RunState::Complete => ExitCode::SUCCESS,
        _ if interrupts > 0 => ExitCode::from(130),
        _ => ExitCode::FAILURE,
    })
}
