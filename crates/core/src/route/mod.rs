//! Routes a prompt when a person leaves the choice to OpenAgents.
//!
//! Small talk gets a fixed answer, a question gets findings, and work goes to a model on this machine. **Architecture
//! invariant:** text alone never starts an agent off this machine. Only `@agent`, the workspace's agent and
//! [`Situation::allows_external`] do; everything else is [`Inline::Card`], where a person decides.

#[cfg(test)]
mod corpus_tests;
mod named;
mod phrases;
mod prompt;
mod situation;
mod talk;
mod worker;

pub use situation::{Candidate, Situation};
pub use talk::Topic;
pub(crate) use worker::{Worker, worker};

use crate::update::{Decision, Inline, Target};
use named::Names;
use phrases::Phrases;
use prompt::{Prompt, Sentence};
use std::sync::LazyLock;

static WORK: LazyLock<Phrases> = LazyLock::new(|| Phrases::read("work"));
static KNOWS: LazyLock<Phrases> = LazyLock::new(|| Phrases::read("knows"));

/// A routed prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route<'p> {
    /// The target and the reason.
    pub decision: Decision,
    /// Topic of a fixed answer: set with [`Inline::Answer`].
    pub topic: Option<Topic>,
    /// The prompt without a leading `@agent`.
    pub prompt: &'p str,
}

/// Routes a prompt by its words alone; fast.
pub fn route<'p>(prompt: &'p str, situation: &Situation) -> Route<'p> {
    let names = Names::of(situation);
    if let Some((target, rest)) = names.mention(prompt) {
        return Route { decision: mentioned(target, situation), topic: None, prompt: rest };
    }
    let read = Prompt::read(prompt);
    let topic = talk::topic(&read, &names);
    let decision = match &topic {
        Some(topic) => inline(Inline::Answer, topic.reason().to_owned()),
        None => match work(&read, &names) {
            Some(proposed) => worker::decide(proposed.as_ref(), situation),
            None => question(),
        },
    };
    Route { decision, topic, prompt }
}

/// Returns the route of a question.
pub fn question() -> Decision {
    let reason = "Questions are answered by what is found in this folder and its past sessions.";
    inline(Inline::Find, reason.to_owned())
}

/// Returns whether a prompt is small talk or about OpenAgents and its agents.
pub(crate) fn is_talk(prompt: &str, situation: &Situation) -> bool {
    talk::topic(&Prompt::read(prompt), &Names::of(situation)).is_some()
}

/// Returns the agent proposed for work, or `Some(None)` if none is named; `None` for a question.
fn work(prompt: &Prompt, names: &Names) -> Option<Option<Target>> {
    let mut requests =
        prompt.sentences.iter().filter(|sentence| KNOWS.strip_start(&sentence.request).is_none());
    let proposed = requests.clone().find_map(|sentence| names.proposed(sentence));
    (proposed.is_some() || requests.any(is_work)).then_some(proposed)
}

fn is_work(sentence: &Sentence) -> bool {
    let request = sentence.request.as_str();
    // A single word does not describe work.
    let says_what = request.split_whitespace().nth(1).is_some() || !request.is_ascii();
    says_what && KNOWS.strip_start(request).is_none() && WORK.are_in(request)
}

fn mentioned(target: Target, situation: &Situation) -> Decision {
    let name = situation.name(&target);
    match situation.obstacle(&target) {
        None => Decision { reason: format!("You chose {name}."), ..decision(target) },
        Some(obstacle) => {
            let reason = format!("{name} is not available: {obstacle}.");
            Decision { instead_of: Some(target), ..inline(Inline::Guidance, reason) }
        }
    }
}

fn decision(target: Target) -> Decision {
    Decision { target, inline: None, reason: String::new(), instead_of: None }
}

fn inline(inline: Inline, reason: String) -> Decision {
    Decision { inline: Some(inline), reason, ..decision(Target::Inline) }
}
