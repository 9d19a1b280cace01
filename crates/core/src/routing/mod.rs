//! Who answers a prompt when a person leaves the choice to OpenAgents.
//!
//! Rules over the prompt say what it wants; where they cannot tell, a model that is in memory may; then whoever is
//! available answers. **Architecture invariant:** nothing leaves this machine through the choice of a rule or a model: an
//! agent elsewhere is chosen only where a person asked it by name, beyond doubt, or the session allows it.

mod about_us;
mod asking;
mod choice;
#[cfg(test)]
mod corpus_tests;
mod explore;
mod named;
mod pattern;
mod prompt;
mod rules;
mod situation;
mod unclear;
mod work;

pub use about_us::Topic;
pub(crate) use choice::worker;
pub use situation::{Candidate, Situation};

use crate::{
    CancellationToken,
    model::LanguageModel,
    update::{Decision, Target},
};
use rules::Wish;
use std::sync::Arc;

/// Chooses who answers.
#[derive(Debug, Clone, Default)]
pub struct Router {
    /// Asked where the rules cannot tell, best first: the first that is on this machine and in memory. May be empty.
    pub models: Vec<Arc<dyn LanguageModel>>,
}

impl Router {
    /// Chooses. Takes no time, or 2 s at most where a model is asked; a cancel ends that within 100 ms.
    pub fn decide(&self, prompt: &str, situation: &Situation, cancel: &CancellationToken) -> Decision {
        let wish = match rules::wish(prompt, situation) {
            Wish::Unclear => unclear::ask(&self.models, prompt, cancel),
            clear => clear,
        };
        choice::choose(wish, situation)
    }
}

/// Returns what a prompt wants to hear where it is talk, by the rules alone.
pub fn topic(prompt: &str, situation: &Situation) -> Option<Topic> {
    match rules::wish(prompt, situation) {
        Wish::Talk(topic) => Some(topic),
        _ => None,
    }
}

/// Returns whether a person's words ask `target` to do something. A name alone asks nobody.
pub(crate) fn is_asked(prompt: &str, target: &Target, situation: &Situation) -> bool {
    rules::is_asked(prompt, target, situation)
}

/// Returns who is asked by name to do something.
pub(crate) fn asked(prompt: &str, situation: &Situation) -> Option<Target> {
    match rules::wish(prompt, situation) {
        Wish::Named(target) => Some(target),
        _ => None,
    }
}
