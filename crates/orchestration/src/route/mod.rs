//! Routes a prompt when the user leaves the choice to OpenAgents.
//!
//! OpenAgents itself answers small talk, findings answer a question, and work goes to a model on this machine.
//! **Architecture invariant:** text alone never starts an agent off this machine. Only `@agent`, the workspace's agent
//! and [`Situation::allows_external`] do; everything else is [`Inline::Card`], where the user decides.

#[cfg(test)]
mod corpus_tests;
mod named;
mod phrases;
mod prompt;
mod situation;
mod talk;
mod work;
mod worker;

pub use crate::route::situation::{Candidate, Situation};
pub(crate) use worker::{Worker, worker};

use named::Names;
use openagents_core::update::{Decision, Inline, Target};
use prompt::Prompt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route<'p> {
    /// The target and the reason.
    pub decision: Decision,
    /// The prompt without a leading `@agent`.
    pub prompt: &'p str,
}

/// Routes a prompt by its words alone; fast.
pub fn route<'p>(prompt: &'p str, situation: &Situation) -> Route<'p> {
    let names = Names::for_situation(situation);
    if let Some((target, rest)) = names.mention(prompt) {
        return Route { decision: mentioned(target, situation), prompt: rest };
    }
    let parsed = Prompt::parse(prompt);
    let decision = if talk::is_talk(&parsed, &names) {
        let reason = "Small talk and questions about OpenAgents and its agents are answered by OpenAgents.";
        Decision::inline(Inline::Answer, reason.to_owned())
    } else {
        match work::work(&parsed, &names) {
            Some(proposed) => worker::decide(proposed.as_ref(), situation),
            None => question(),
        }
    };
    Route { decision, prompt }
}

pub fn question() -> Decision {
    let reason = "Questions are answered by what is found in this folder and its past sessions.";
    Decision::inline(Inline::Find, reason.to_owned())
}

/// Returns whether a prompt is small talk or about OpenAgents and its agents.
pub(crate) fn is_talk(prompt: &str, situation: &Situation) -> bool {
    talk::is_talk(&Prompt::parse(prompt), &Names::for_situation(situation))
}

/// Returns the agent that a prompt names first.
pub(crate) fn named(prompt: &str, situation: &Situation) -> Option<Target> {
    Names::for_situation(situation).first(&prompt.to_lowercase())
}

fn mentioned(target: Target, situation: &Situation) -> Decision {
    let name = situation.name(&target);
    match situation.obstacle(&target) {
        None => Decision { reason: format!("You chose {name}."), ..Decision::for_target(target) },
        Some(obstacle) => {
            let reason = format!("{name} is not available: {obstacle}.");
            Decision { instead_of: Some(target), ..Decision::inline(Inline::Guidance, reason) }
        }
    }
}
