//! From what a prompt wants to who answers, among those who are there.

use super::{Situation, rules::Wish};
use crate::{
    model::Availability,
    update::{Decision, Inline, Target},
};

pub(super) fn choose(wish: Wish, situation: &Situation) -> Decision {
    match wish {
        Wish::Talk(topic) => inline(Inline::Answer, topic.reason().to_owned(), None),
        Wish::Explore(reason) => inline(Inline::Explore, reason.to_owned(), None),
        Wish::Unclear => inline(
            Inline::Explore,
            "It is not clear what is wanted, so the folder and its past sessions are looked through."
                .to_owned(),
            None,
        ),
        Wish::Named(target) => named(target, situation),
        Wish::Work(work) => {
            let subject = work.subject();
            let Some(target) = worker(situation) else {
                let obstacle = situation.obstacle(&Target::Gptoss).unwrap_or_default();
                let reason = format!(
                    "{subject} needs a model, and {} is not available: {obstacle}.",
                    situation.name(&Target::Gptoss)
                );
                return inline(Inline::Guidance, reason, Some(Target::Gptoss));
            };
            let name = situation.name(&target);
            if target == Target::Gptoss {
                return decision(target, format!("{subject} is work for {name} on this computer."), None);
            }
            let instead = situation.name(&Target::Gptoss);
            let obstacle = situation.obstacle(&Target::Gptoss).unwrap_or_default();
            let reason = format!("{subject} goes to {name} because {instead} is not available: {obstacle}.");
            decision(target, reason, Some(Target::Gptoss))
        }
    }
}

/// Whoever was named, or nobody: another agent would see what it was not meant to see.
fn named(target: Target, situation: &Situation) -> Decision {
    let name = situation.name(&target);
    match situation.obstacle(&target) {
        None => decision(target, format!("You asked {name} to do it."), None),
        Some(obstacle) => inline(
            Inline::Guidance,
            format!("{name} was asked and is not available: {obstacle}."),
            Some(target),
        ),
    }
}

/// The local model; else an agent that a person added and that keeps everything on this machine; else, where the session
/// allows it, Codex and Claude Code.
pub(crate) fn worker(situation: &Situation) -> Option<Target> {
    let is_ready = |target: &Target| situation.obstacle(target).is_none();
    let local = || {
        let added = situation.candidates.iter().filter(|candidate| candidate.local);
        let mut ready = added.filter(|candidate| candidate.availability == Availability::Ready);
        ready.find_map(|candidate| {
            Target::of_mode(&candidate.id).filter(|target| matches!(target, Target::Custom(_)))
        })
    };
    let outside = || {
        let allowed = [Target::Codex, Target::Claude].into_iter().filter(|_| situation.allows_external);
        allowed.into_iter().find(is_ready)
    };
    Some(Target::Gptoss).filter(is_ready).or_else(local).or_else(outside)
}

fn decision(target: Target, reason: String, instead_of: Option<Target>) -> Decision {
    Decision { target, inline: None, reason, instead_of }
}

fn inline(inline: Inline, reason: String, instead_of: Option<Target>) -> Decision {
    Decision { inline: Some(inline), instead_of, ..decision(Target::Inline, reason, None) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        CancellationToken,
        routing::{Candidate, Router},
    };

    fn situation(ready: &[&str], allows_external: bool) -> Situation {
        let candidate = |(id, name, local): (&str, &str, bool)| Candidate {
            id: id.to_owned(),
            name: name.to_owned(),
            local,
            availability: match ready.contains(&id) {
                true => Availability::Ready,
                false => Availability::Unavailable("it is not installed".to_owned()),
            },
        };
        let all = [
            ("gptoss_20b", "GPTOSS 20B", true),
            ("codex", "Codex", false),
            ("claude-code", "Claude Code", false),
            ("custom:gem", "Gemini", false),
            ("custom:ollama", "Ollama", true),
        ];
        Situation { candidates: all.into_iter().map(candidate).collect(), allows_external }
    }

    #[test]
    fn who_answers_when_the_one_that_is_wanted_is_not_there() {
        let (code, named) = ("Write a parser for the log format", "Ask Codex to write a parser");
        let rows = [
            (code, situation(&["gptoss_20b", "codex"], true), "gptoss", None),
            (code, situation(&["codex", "claude-code"], true), "codex", Some("gptoss")),
            (code, situation(&["claude-code"], true), "claude", Some("gptoss")),
            (code, situation(&["custom:gem"], true), "inline guidance", Some("gptoss")),
            (code, situation(&["codex", "custom:ollama"], true), "custom:ollama", Some("gptoss")),
            // Nothing leaves this machine unless the session allows it or the person names somebody.
            (code, situation(&["codex", "claude-code"], false), "inline guidance", Some("gptoss")),
            (code, Situation::default(), "inline guidance", Some("gptoss")),
            (named, situation(&["codex"], false), "codex", None),
            // Another one never takes its place.
            (named, situation(&["gptoss_20b", "claude-code"], true), "inline guidance", Some("codex")),
            ("use gemini to fix it", situation(&["custom:gem"], false), "custom:gem", None),
            ("where is it used?", Situation::default(), "inline explore", None),
            ("hello", Situation::default(), "inline answer", None),
        ];
        for (prompt, situation, expected, instead_of) in rows {
            let decision = Router::default().decide(prompt, &situation, &CancellationToken::new());
            let inline = decision
                .inline
                .map(|inline| format!(" {}", serde_json::to_value(inline).unwrap().as_str().unwrap()));
            let target = format!("{}{}", String::from(decision.target.clone()), inline.unwrap_or_default());
            let instead = decision.instead_of.clone().map(String::from);
            assert_eq!(
                (target.as_str(), instead.as_deref()),
                (expected, instead_of),
                "{prompt}: {decision:?}"
            );
            assert!(decision.reason.ends_with('.') && !decision.reason.contains(".."), "{}", decision.reason);
        }
    }
}
