//! What OpenAgents answers itself: who it is, what it can do, to whom it can hand work, what to install. The facts are
//! written down here and need no model; short explanations are a model's where one is at hand.

mod spoken;
mod texts;

use super::{AgentEvent, PromptOutcome, Transcript, say_last};
use crate::{
    CancellationToken,
    model::LanguageModel,
    routing::{Situation, Topic},
    update::{AgentMessage, Decision, Findings, Inline, RunState, SessionUpdate},
};
use std::sync::Arc;

/// A prompt that OpenAgents answers itself.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// What the person asks.
    pub prompt: &'a str,
    /// What they want to hear, as it was decided by their own words; an explanation where it was not.
    pub topic: Option<&'a Topic>,
    /// Why it is answered here.
    pub decision: &'a Decision,
    /// Who else is there.
    pub situation: &'a Situation,
    /// What was said in the session before.
    pub transcript: &'a Transcript,
}

/// Answers a [`Inline::Answer`] or an [`Inline::Guidance`]; an exploration is answered with the prompt as its goal.
///
/// `model` is one on this machine that is at hand, or `None`; `find` finds the places that answer the prompt. Tells `emit`
/// of exactly one ending message, within 100 ms of a cancel; no tool is called. What needs a model that is not there is
/// answered by what was found, with the ways to get a model below it.
pub fn answer(
    question: &Question<'_>,
    model: Option<&Arc<dyn LanguageModel>>,
    find: &dyn Fn() -> Option<Findings>,
    emit: &(dyn Fn(AgentEvent) + Sync),
    cancel: &CancellationToken,
) -> PromptOutcome {
    if question.decision.inline == Some(Inline::Guidance) {
        if let Some(found) = find().filter(|found| !found.findings.is_empty()) {
            show(emit, &found, question.prompt);
        }
        return say(emit, &texts::guidance(question));
    }
    let topic = question.topic.unwrap_or(&Topic::Explanation);
    let known = match topic {
        Topic::Greeting => texts::greeting(),
        Topic::Thanks => texts::thanks(),
        Topic::Identity => texts::identity(),
        Topic::Capabilities => texts::capabilities(question.situation),
        Topic::Delegates => texts::delegates(question.situation),
        Topic::Agent(target) => texts::agent(target, question.situation),
        Topic::Title | Topic::Explanation => {
            let spoken = model.and_then(|model| spoken::speak(question, model, emit, cancel));
            return spoken.unwrap_or_else(|| match topic {
                Topic::Title => say(emit, &texts::title(question.transcript)),
                _ => {
                    if let Some(found) = find() {
                        show(emit, &found, question.prompt);
                    }
                    say(emit, &texts::unexplained(question.situation))
                }
            });
        }
    };
    say(emit, &known)
}

/// Tells what was found for a prompt.
pub fn show(emit: &(dyn Fn(AgentEvent) + Sync), found: &Findings, prompt: &str) {
    emit(AgentEvent::Update(SessionUpdate::AgentMessage(AgentMessage {
        text: found.message(prompt),
        message_id: Some(uuid::Uuid::new_v4().to_string()),
        findings: Some(found.clone()),
        ..AgentMessage::default()
    })));
}

fn say(emit: &(dyn Fn(AgentEvent) + Sync), text: &str) -> PromptOutcome {
    say_last(emit, text, None);
    PromptOutcome { state: RunState::Complete, text: text.to_owned(), usage: None, cut_off: false }
}

#[cfg(test)]
mod tests;
