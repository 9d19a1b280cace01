//! Answers by OpenAgents itself. The facts are fixed texts and need no model.

mod spoken;
mod texts;

use crate::route::{Situation, Topic};
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, Conversation, PromptOutcome, end_turn},
    model::LanguageModel,
    update::{AgentMessage, Decision, Findings, Inline, RunState, SessionUpdate, new_id},
};
use std::sync::Arc;

/// A prompt that OpenAgents answers itself.
#[derive(Debug, Clone, Copy)]
pub struct InlineQuestion<'a> {
    /// The user's prompt.
    pub prompt: &'a str,
    /// Topic of a fixed answer; `None` for a question.
    pub topic: Option<&'a Topic>,
    /// Why it is answered here.
    pub decision: &'a Decision,
    /// The available agents.
    pub situation: &'a Situation,
    /// History of the session.
    pub transcript: &'a Conversation,
}

/// Answers with a fixed text or with findings.
///
/// `model` is a ready local model, if any; `find` searches for places that answer the prompt. Emits exactly one ending
/// message, within 100 ms of a cancel; no tool is called.
pub fn answer(
    question: &InlineQuestion<'_>,
    model: Option<&Arc<dyn LanguageModel>>,
    find: &dyn Fn() -> Option<Findings>,
    emit: &(dyn Fn(AgentEvent) + Sync),
    cancel: &CancellationToken,
) -> PromptOutcome {
    let InlineQuestion { prompt, topic, decision, situation, transcript } = *question;
    let end = |text| end_turn(emit, RunState::Complete, text);
    let text = match topic {
        Some(Topic::Greeting) => texts::GREETING.to_owned(),
        Some(Topic::Thanks) => texts::THANKS.to_owned(),
        Some(Topic::Identity) => texts::IDENTITY.to_owned(),
        Some(Topic::Capabilities) => texts::capabilities(situation),
        Some(Topic::Delegates) => texts::delegates(situation),
        Some(Topic::Agent(target)) => texts::agent(target, situation),
        Some(Topic::Title) => {
            let spoken = model.and_then(|model| spoken::speak(prompt, transcript, model, emit, cancel));
            return spoken.unwrap_or_else(|| end(texts::title(transcript)));
        }
        None => {
            let found = find().unwrap_or_default();
            let asks = decision.inline != Some(Inline::Guidance);
            let answers = asks && !found.findings.is_empty();
            if asks || !found.findings.is_empty() {
                let text = show(emit, &found, prompt, answers);
                if answers {
                    return PromptOutcome::new(RunState::Complete, text);
                }
            }
            if asks { texts::unexplained(situation) } else { texts::guidance(decision, situation) }
        }
    };
    end(text)
}

/// Emits the findings for a prompt and returns the text. `ended`: the findings are the answer.
pub fn show(emit: &(dyn Fn(AgentEvent) + Sync), found: &Findings, prompt: &str, ended: bool) -> String {
    let text = found.message(prompt);
    emit(AgentEvent::Update(SessionUpdate::AgentMessage(AgentMessage {
        text: text.clone(),
        message_id: Some(new_id()),
        findings: Some(found.clone()),
        ended,
        ..AgentMessage::default()
    })));
    text
}

#[cfg(test)]
mod tests;
