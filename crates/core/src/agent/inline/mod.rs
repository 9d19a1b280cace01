//! Answers that OpenAgents gives itself: identity, capabilities, agents, findings, installation. The facts are fixed
//! texts and need no model.

mod question;
mod spoken;
mod texts;

pub use question::InlineQuestion;

use super::event::{AgentEvent, PromptOutcome, end_turn};
use crate::{
    CancellationToken,
    model::LanguageModel,
    route::Topic,
    update::{AgentMessage, Findings, Inline, RunState, SessionUpdate, new_id},
};
use std::sync::Arc;

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
    let end = |text| end_turn(emit, RunState::Complete, text);
    let text = match question.topic {
        Some(Topic::Greeting) => texts::greeting(),
        Some(Topic::Thanks) => texts::thanks(),
        Some(Topic::Identity) => texts::identity(),
        Some(Topic::Capabilities) => texts::capabilities(question.situation),
        Some(Topic::Delegates) => texts::delegates(question.situation),
        Some(Topic::Agent(target)) => texts::agent(target, question.situation),
        Some(Topic::Title) => {
            let spoken = model.and_then(|model| spoken::speak(question, model, emit, cancel));
            return spoken.unwrap_or_else(|| end(texts::title(question.transcript)));
        }
        None => {
            let found = find().unwrap_or_default();
            let asks = question.decision.inline != Some(Inline::Guidance);
            let answers = asks && !found.findings.is_empty();
            if asks || !found.findings.is_empty() {
                let text = show(emit, &found, question.prompt, answers);
                if answers {
                    return PromptOutcome::new(RunState::Complete, text);
                }
            }
            if asks { texts::unexplained(question.situation) } else { texts::guidance(question) }
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
