//! A short answer from a model, without tools.

use super::question::InlineQuestion;
use crate::{
    CancellationToken,
    agent::{
        answer::{self, Answer, Broken},
        event::{AgentEvent, CANCELLED, CUT_OFF, PromptOutcome, end_turn, say_last},
    },
    model::{
        Availability, LanguageModel, Message, ModelError, ModelOptions, ModelRequest, ReasoningEffort,
        StopReason,
    },
    update::RunState,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Token limit of a short answer.
const TOKENS: u32 = 200;

/// Time limit of a short answer.
const TIME: Duration = Duration::from_secs(60);

/// Characters of session history in the request.
const BEFORE: usize = 6_000;

const INSTRUCTIONS: &str = "You speak for OpenAgents, a companion of coding agents, in the first person plural (\"we\"). \
    Answer in Markdown, in a few plain sentences, at most a hundred words. You cannot see files here and you call nothing: \
    where the answer depends on the project, say so. Do not invent.";

/// Runs `model`. Returns `None` if it fails before any output.
pub(super) fn speak(
    question: &InlineQuestion<'_>,
    model: &Arc<dyn LanguageModel>,
    emit: &(dyn Fn(AgentEvent) + Sync),
    cancel: &CancellationToken,
) -> Option<PromptOutcome> {
    if !model.capabilities().local || model.availability() != Availability::Ready {
        return None;
    }
    let mut messages = question.transcript.messages(BEFORE);
    messages.push(Message::User { text: question.prompt.to_owned() });
    let options =
        ModelOptions { max_tokens: Some(TOKENS), effort: ReasoningEffort::Low, ..ModelOptions::default() };
    let request =
        ModelRequest { instructions: INSTRUCTIONS.to_owned(), messages, tools: Vec::new(), options };
    let said_something = std::sync::atomic::AtomicBool::new(false);
    let listen = |event: AgentEvent| {
        if matches!(event, AgentEvent::Update(_)) {
            said_something.store(true, std::sync::atomic::Ordering::SeqCst);
        }
        emit(event);
    };
    let answered = answer::ask(model, request, None, Instant::now() + TIME, cancel, &listen);
    emit(AgentEvent::Activity(None));
    let end = |state, text| Some(end_turn(emit, state, text));
    match answered {
        Ok(Answer { message, stop: StopReason::MaxTokens, usage, .. }) => {
            let postscript = format!("{CUT_OFF}: the limit of {TOKENS} tokens was reached.");
            say_last(emit, &postscript, usage);
            Some(PromptOutcome { state: RunState::Complete, text: message.text, usage, cut_off: true })
        }
        Ok(Answer { message, usage, .. }) if message.calls.is_empty() && !message.text.trim().is_empty() => {
            Some(PromptOutcome { state: RunState::Complete, text: message.text, usage, cut_off: false })
        }
        Err(Broken::Model(ModelError::Cancelled)) => end(RunState::Cancelled, CANCELLED.to_owned()),
        Ok(_) => None,
        Err(_) if !said_something.load(std::sync::atomic::Ordering::SeqCst) => None,
        Err(Broken::Model(error)) => end(RunState::Failed, format!("❌ {error}")),
        Err(Broken::OutOfTime) => {
            let seconds = TIME.as_secs();
            end(RunState::Failed, format!("❌ no whole answer within {seconds} seconds"))
        }
    }
}
