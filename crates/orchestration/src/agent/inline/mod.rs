//! Answers by OpenAgents itself, without a model.

use crate::route::{self, Situation};
use openagents_core::{
    agent::{AgentEvent, PromptOutcome, end_turn},
    update::{AgentMessage, Decision, Findings, Inline, RunState, SessionUpdate, Target, new_id},
};

/// A prompt that OpenAgents answers itself.
#[derive(Debug, Clone, Copy)]
pub struct InlineQuestion<'a> {
    pub prompt: &'a str,
    /// Why it is answered here.
    pub decision: &'a Decision,
    /// The available agents.
    pub situation: &'a Situation,
}

/// Answers with facts of this installation or with findings, and calls no tool.
///
/// `find` searches for places that answer the prompt. Emits exactly one ending message.
pub fn answer(
    question: &InlineQuestion<'_>,
    find: &dyn Fn() -> Option<Findings>,
    emit: &(dyn Fn(AgentEvent) + Sync),
) -> PromptOutcome {
    let InlineQuestion { prompt, decision, situation } = *question;
    let end = |text| end_turn(emit, RunState::Complete, text);
    if decision.inline == Some(Inline::Answer) {
        return end(about(prompt, situation));
    }
    let found = find().unwrap_or_default();
    let asks = decision.inline != Some(Inline::Guidance);
    let answers = asks && !found.findings.is_empty();
    if asks || !found.findings.is_empty() {
        let text = show(emit, &found, prompt, answers);
        if answers {
            return PromptOutcome::new(RunState::Complete, text);
        }
    }
    end(if asks { unexplained(situation) } else { guidance(decision, situation) })
}

/// Answers small talk and questions about OpenAgents and its agents with what is ready here, in two sentences. It speaks
/// in the first person plural: several agents are behind every answer.
fn about(prompt: &str, situation: &Situation) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let settings = "Settings → Agents and Settings → Models list";
    let ready = match ready_names(situation) {
        Some(ready) => format!("Ready here: {ready}; {settings} the others"),
        None => format!("No agent and no model is ready yet; {settings} what can be set up"),
    };
    let state = match route::named(prompt, situation)
        .map(|named| (situation.name(&named), situation.obstacle(&named)))
    {
        None => ready,
        Some((name, None)) => format!("{name} is ready here"),
        Some((name, Some(obstacle))) if obstacle.starts_with(&name) => format!("{obstacle} ({ready})"),
        Some((name, Some(obstacle))) => format!("{name} is not available: {obstacle} ({ready})"),
    };
    format!(
        "We are OpenAgents {version}: we find what is in this folder and in its past sessions without a network, and \
         hand work over to the agent or model that you pick beside the prompt. {state}."
    )
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

fn unexplained(situation: &Situation) -> String {
    format!("A model on this computer, or an agent, could look further.\n\n{}", ways(situation, None))
}

fn guidance(decision: &Decision, situation: &Situation) -> String {
    format!("{}\n\n{}", decision.reason, ways(situation, decision.instead_of.as_ref()))
}

/// Lists what the user can do about it.
fn ways(situation: &Situation, wanted: Option<&Target>) -> String {
    let mut ways = Vec::new();
    let wants_an_agent =
        matches!(wanted, Some(Target::Codex | Target::Claude | Target::Known(_) | Target::Custom(_)));
    if wants_an_agent {
        ways.push(
            "Run `openagents doctor`, or open Settings → Agents: both say what to install or to sign in to."
                .to_owned(),
        );
    } else {
        ways.push("Download gpt-oss 20B in Settings → Models (12 GB, once), or add a model file.".to_owned());
    }
    if let Some(names) = ready_names(situation) {
        ways.push(format!("Pick an agent beside the prompt: {names}."));
    } else if !wants_an_agent {
        ways.push("Install an agent such as Codex or Claude Code; `openagents doctor`, or Settings → Agents, says how.".to_owned());
    }
    let ways: Vec<_> = ways.iter().map(|way| format!("- {way}")).collect();
    format!("What you can do:\n\n{}", ways.join("\n"))
}

/// Joins the names of the ready agents; `None` if there are none.
fn ready_names(situation: &Situation) -> Option<String> {
    let names: Vec<_> = situation.ready().map(|candidate| candidate.name.as_str()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests;
