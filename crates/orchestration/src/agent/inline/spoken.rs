//! A short answer from a model, without tools.

use crate::agent::{
    answer::{self, Broken},
    limits::{SPOKEN_HISTORY_CHARS, SPOKEN_TIME, SPOKEN_TOKENS},
};
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, CANCELLED, CUT_OFF, Conversation, PromptOutcome, end_turn, say_last},
    model::{
        Availability, LanguageModel, Message, ModelError, ModelOptions, ModelRequest, ReasoningEffort,
        StopReason,
    },
    update::RunState,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

const INSTRUCTIONS: &str = "You speak for OpenAgents, a companion of coding agents, in the first person plural (\"we\"). \
    Answer in Markdown, in a few plain sentences, at most a hundred words. You cannot see files here and you call nothing: \
    where the answer depends on the project, say so. Do not invent.";

/// Runs `model`; `None` if it fails before any output.
pub(super) fn speak(
    prompt: &str,
    transcript: &Conversation,
    model: &Arc<dyn LanguageModel>,
    emit: &(dyn Fn(AgentEvent) + Sync),
    cancel: &CancellationToken,
) -> Option<PromptOutcome> {
    if !model.capabilities().local || model.availability() != Availability::Ready {
        return None;
    }
    let mut messages = transcript.messages(SPOKEN_HISTORY_CHARS);
    messages.push(Message::User { text: prompt.to_owned() });
    let (max_tokens, effort) = (Some(SPOKEN_TOKENS), ReasoningEffort::Low);
    let options = ModelOptions { max_tokens, effort, ..ModelOptions::default() };
    let request =
        ModelRequest { instructions: INSTRUCTIONS.to_owned(), messages, tools: Vec::new(), options };
    let said_something = AtomicBool::new(false);
    let listen = |event: AgentEvent| {
        if matches!(event, AgentEvent::Update(_)) {
            said_something.store(true, Ordering::SeqCst);
        }
        emit(event);
    };
    let answered = answer::ask(model, request, None, Instant::now() + SPOKEN_TIME, cancel, &listen);
    emit(AgentEvent::Activity(None));
    let end = |state, text| Some(end_turn(emit, state, text));
    match answered {
        Ok(answer) => {
            let (text, usage, cut_off) =
                (answer.message.text, answer.usage, answer.stop == StopReason::MaxTokens);
            if cut_off {
                let postscript = format!("{CUT_OFF}: the limit of {SPOKEN_TOKENS} tokens was reached.");
                say_last(emit, RunState::Complete, &postscript, usage);
            } else if !answer.message.calls.is_empty() || text.trim().is_empty() {
                return None;
            }
            Some(PromptOutcome { state: RunState::Complete, text, usage, cut_off })
        }
        Err(Broken::Model(ModelError::Cancelled)) => end(RunState::Cancelled, CANCELLED.to_owned()),
        Err(_) if !said_something.load(Ordering::SeqCst) => None,
        Err(Broken::Model(error)) => end(RunState::Failed, format!("❌ {error}")),
        Err(Broken::OutOfTime) => {
            let seconds = SPOKEN_TIME.as_secs();
            end(RunState::Failed, format!("❌ no whole answer within {seconds} seconds"))
        }
    }
}
