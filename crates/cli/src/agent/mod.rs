//! `openagents agent`: a model answers a prompt, with the tools of an exploration.

mod screen;
mod turn;

use crate::{
    args,
    bridge::refusal,
    output::{self, Usage},
    signals::{self, Interrupts},
    surroundings, trust,
};
use anyhow::Context;
use openagents_agents::openai::{Endpoint, OpenAi};
use openagents_core::{
    agent::{CANCELLED, PromptOutcome},
    agent_ids::LOCAL_MODEL,
    approval::Approval,
    model::{NamedModel, PromptOptions},
    trust::{NOT_NOW, TRUST},
    update::RunState,
};
pub(crate) use screen::TurnScreen;
use serde_json::json;
use std::{
    io::{IsTerminal, Read},
    process::ExitCode,
};
use tokio::io::{AsyncBufReadExt, BufReader};
use turn::{AskedPrompt, Turn, TurnNews};

/// Longest prompt in bytes. Longer text belongs in a file of the workspace.
const PROMPT: u64 = 1 << 20;

pub(crate) fn run(arguments: &args::Agent) -> anyhow::Result<ExitCode> {
    let asked = AskedPrompt {
        prompt: prompt(&arguments.prompt)?,
        root: std::path::absolute(&arguments.root).unwrap_or_else(|_| arguments.root.clone()),
        options: PromptOptions {
            model: read_choice(arguments)?,
            temperature: arguments.temperature,
            max_tokens: arguments.max_tokens,
            question: false,
        },
    };
    asked.options.check().map_err(output::Usage)?;
    signals::run(ask(asked, arguments.json))
}

/// `openagents ask`: answers a question with search findings, worded by a model if one is ready.
pub(crate) fn ask_question(arguments: &args::Ask) -> anyhow::Result<ExitCode> {
    let asked = AskedPrompt {
        prompt: prompt(&arguments.question)?,
        root: std::path::absolute(&arguments.path).unwrap_or_else(|_| arguments.path.clone()),
        options: PromptOptions { question: true, ..PromptOptions::default() },
    };
    signals::run(ask(asked, arguments.json))
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
    let mut signals = Interrupts::listen()?;
    let home = surroundings::data_folder()?;
    let mut screen = (!json).then(TurnScreen::new);
    let begun = tokio::select! {
        begun = Turn::begin(&home, asked) => begun,
        () = signals.next() => return finish(screen, None, &ended(RunState::Cancelled, CANCELLED), true),
    };
    let mut turn = match begun {
        Ok(turn) => turn,
        Err(error) => {
            output::warn(&refusal(error)?);
            return finish(screen, None, &ended(RunState::Failed, ""), false);
        }
    };
    let mut is_interrupted = false;
    let outcome = loop {
        tokio::select! {
            news = turn.next() => match (news, &mut screen) {
                (Ok(TurnNews::Update(_, update)), Some(screen)) => screen.show(&update)?,
                (Ok(TurnNews::Update(params, _)), None) => output::json_line(&params)?,
                (Ok(TurnNews::Activity(activity)), Some(screen)) => screen.activity(activity),
                (Ok(TurnNews::Activity(_)), None) => {}
                (Ok(TurnNews::Trust(approval)), screen) => {
                    if let Some(screen) = screen {
                        screen.part()?;
                    }
                    let option = if json { None } else { ask_for_trust(&approval, &mut signals).await? };
                    match option {
                        Some(option) => turn.answer(&approval, option).await?,
                        None => {
                            let folder = trust::folder(&approval);
                            output::warn(&format!(
                                "an agent starts only in a folder that you trust: `openagents workspaces trust {folder}`"
                            ));
                            turn.cancel().await?;
                        }
                    }
                }
                (Ok(TurnNews::Ended(state)), _) => break turn.outcome(state),
                (Err(error), _) => {
                    output::warn(&format!("{error:#}"));
                    break turn.outcome(RunState::Failed);
                }
            },
            // The second Ctrl-C does not wait for the end of the turn.
            () = signals.next() => match std::mem::replace(&mut is_interrupted, true) {
                true => break ended(RunState::Cancelled, CANCELLED),
                // If this fails, the next update fails too.
                false => drop(turn.cancel().await),
            },
        }
    };
    finish(screen, Some(turn.session_id()), &outcome, is_interrupted)
}

/// Asks at the terminal whether to trust a folder. `None` without a terminal, and on Ctrl-C.
async fn ask_for_trust(
    approval: &Approval,
    signals: &mut Interrupts,
) -> anyhow::Result<Option<&'static str>> {
    if !std::io::stdin().is_terminal() {
        return Ok(None);
    }
    trust::question(approval).iter().for_each(|line| output::aside(line));
    if approval.options.iter().all(|option| option.id != TRUST) {
        return Ok(Some(NOT_NOW));
    }
    output::put_question("Trust it?")?;
    let mut typed = BufReader::new(tokio::io::stdin()).lines();
    let answer = tokio::select! {
        line = typed.next_line() => line?,
        () = signals.next() => return Ok(None),
    };
    Ok(Some(if output::is_yes(&answer.unwrap_or_default()) { TRUST } else { NOT_NOW }))
}

fn finish(
    screen: Option<TurnScreen>,
    session_id: Option<&str>,
    outcome: &PromptOutcome,
    is_interrupted: bool,
) -> anyhow::Result<ExitCode> {
    match screen {
        Some(mut screen) => screen.end(outcome)?,
        None => output::json_line(&json!({"final": {
            "status": outcome.state.as_str(),
            "session_id": session_id,
            "message": outcome.text,
            "usage": outcome.usage,
        }}))?,
    }
    Ok(match outcome.state {
        RunState::Complete => ExitCode::SUCCESS,
        _ if is_interrupted => ExitCode::from(130),
        _ => ExitCode::FAILURE,
    })
}

fn ended(state: RunState, text: &str) -> PromptOutcome {
    PromptOutcome::new(state, text.to_owned())
}

/// Prefix of a model behind an OpenAI-compatible address.
const OPENAI: &str = "openai:";

/// Returns the model that answers instead of the local one in use; `None` if none is named.
fn read_choice(arguments: &args::Agent) -> Result<Option<NamedModel>, Usage> {
    let base_url = arguments.base_url.as_deref();
    let key_variable = arguments.key_variable.as_deref();
    let named = arguments.model.as_ref().and_then(|model| model.to_str());
    if let Some(name) = named.and_then(|named| named.strip_prefix(OPENAI)) {
        // Reports a bad address before anything starts.
        OpenAi::new(Endpoint::named(name, base_url, key_variable))
            .map_err(|error| Usage(error.to_string()))?;
        return Ok(Some(NamedModel::Server {
            name: name.to_owned(),
            base_url: base_url.map(str::to_owned),
            key_variable: key_variable.map(str::to_owned),
        }));
    }
    if base_url.is_some() {
        return Err(Usage(format!("--base-url is for --model {OPENAI}NAME")));
    }
    if key_variable.is_some() {
        return Err(Usage(format!("--key-variable is for --model {OPENAI}NAME")));
    }
    let Some(model) = &arguments.model else { return Ok(None) };
    if named.is_some_and(|named| named == "gptoss" || named == LOCAL_MODEL) {
        return Ok(None);
    }
    let shown = model.display();
    match model.canonicalize() {
        Ok(file) if file.is_file() => Ok(Some(NamedModel::File(file))),
        _ => {
            let others = format!("a server's model is {OPENAI}NAME, the local one is gptoss");
            Err(Usage(format!("--model {shown}: no such file; {others}")))
        }
    }
}
