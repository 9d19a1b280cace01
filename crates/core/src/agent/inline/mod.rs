//! What OpenAgents answers itself: who it is, what it can do, which agents there are, what was found, what to install.
//! The facts are written down here and need no model.

mod spoken;
mod texts;

use super::{AgentEvent, PromptOutcome, Transcript, say_last};
use crate::{
    CancellationToken,
    model::LanguageModel,
    route::{Situation, Topic},
    update::{AgentMessage, Decision, Findings, Inline, RunState, SessionUpdate},
};
use std::sync::Arc;

/// A prompt that OpenAgents answers itself.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// What the person asks.
    pub prompt: &'a str,
    /// What is answered in words; `None` for a question.
    pub topic: Option<&'a Topic>,
    /// Why it is answered here.
    pub decision: &'a Decision,
    /// Who else is there.
    pub situation: &'a Situation,
    /// What was said in the session before.
    pub transcript: &'a Transcript,
}

/// Answers in words, or by what is found.
///
/// `model` is one on this machine that is at hand, or `None`; `find` finds the places that answer the prompt. Tells `emit`
/// of exactly one ending message, within 100 ms of a cancel; no tool is called.
pub fn answer(
    question: &Question<'_>,
    model: Option<&Arc<dyn LanguageModel>>,
    find: &dyn Fn() -> Option<Findings>,
    emit: &(dyn Fn(AgentEvent) + Sync),
    cancel: &CancellationToken,
) -> PromptOutcome {
    let text = match question.topic {
        Some(Topic::Greeting) => texts::greeting(),
        Some(Topic::Thanks) => texts::thanks(),
        Some(Topic::Identity) => texts::identity(),
        Some(Topic::Capabilities) => texts::capabilities(question.situation),
        Some(Topic::Delegates) => texts::delegates(question.situation),
        Some(Topic::Agent(target)) => texts::agent(target, question.situation),
        Some(Topic::Title) => {
            let spoken = model.and_then(|model| spoken::speak(question, model, emit, cancel));
            return spoken.unwrap_or_else(|| say(emit, &texts::title(question.transcript)));
        }
        None => {
            let found = find().unwrap_or_default();
            let asks = question.decision.inline != Some(Inline::Guidance);
            let answers = asks && !found.findings.is_empty();
            if asks || !found.findings.is_empty() {
                let text = show(emit, &found, question.prompt, answers);
                if answers {
                    return PromptOutcome { state: RunState::Complete, text, usage: None, cut_off: false };
                }
            }
            if asks { texts::unexplained(question.situation) } else { texts::guidance(question) }
        }
    };
    say(emit, &text)
}

/// Tells what was found for a prompt, and returns the text. `ended`: it is the answer.
pub fn show(emit: &(dyn Fn(AgentEvent) + Sync), found: &Findings, prompt: &str, ended: bool) -> String {
    let text = found.message(prompt);
    emit(AgentEvent::Update(SessionUpdate::AgentMessage(AgentMessage {
        text: text.clone(),
        message_id: Some(uuid::Uuid::new_v4().to_string()),
        findings: Some(found.clone()),
        ended,
        ..AgentMessage::default()
    })));
    text
}

fn say(emit: &(dyn Fn(AgentEvent) + Sync), text: &str) -> PromptOutcome {
    say_last(emit, text, None);
    PromptOutcome { state: RunState::Complete, text: text.to_owned(), usage: None, cut_off: false }
}

#[cfg(test)]
mod tests;
