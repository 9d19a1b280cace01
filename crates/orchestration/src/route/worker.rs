//! Chooses the agent for work: the configured one, the local model, or the one that the user picks.

use super::situation::Situation;
use openagents_core::update::{Decision, Inline, Target};

/// The choice of an agent for work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Worker {
    /// Starts without approval.
    Starts(Target),
    /// The user chooses; this agent is offered first.
    Asks(Option<Target>),
    /// No agent is available.
    Unavailable,
}

/// Returns the choice for work; `proposed` is named by a prompt or a model.
pub(crate) fn worker(proposed: Option<&Target>, situation: &Situation) -> Worker {
    let is_local = |target: &Target| situation.find(target).is_some_and(|candidate| candidate.local);
    let chosen = situation.workspace_agent.as_ref().filter(|chosen| situation.is_ready(chosen));
    if let Some(proposed) = proposed.filter(|proposed| situation.is_ready(proposed)) {
        let starts = is_local(proposed) || situation.allows_external || chosen == Some(proposed);
        return if starts { Worker::Starts(proposed.clone()) } else { Worker::Asks(Some(proposed.clone())) };
    }
    // A named agent is never replaced by another one.
    if proposed.is_none() {
        let mut local = situation
            .ready()
            .filter(|candidate| candidate.local)
            .filter_map(|candidate| Target::of_mode(&candidate.id));
        let outside = [Target::Codex, Target::Claude].into_iter().filter(|_| situation.allows_external);
        let starts = chosen
            .cloned()
            .or_else(|| Some(Target::Gptoss).filter(|target| situation.is_ready(target)))
            .or_else(|| local.find(|target| matches!(target, Target::Custom(_))))
            .or_else(|| outside.into_iter().find(|target| situation.is_ready(target)));
        if let Some(target) = starts {
            return Worker::Starts(target);
        }
    }
    match situation.ready().any(|candidate| Target::of_mode(&candidate.id).is_some()) {
        true => Worker::Asks(None),
        false => Worker::Unavailable,
    }
}

/// Decides the route of a prompt that asks for work, with a reason.
pub(super) fn decide(proposed: Option<&Target>, situation: &Situation) -> Decision {
    let missing = proposed.filter(|proposed| !situation.is_ready(proposed));
    let obstacle = |target: &Target| {
        let reason = situation.obstacle(target).unwrap_or_default();
        format!("{} is not available: {reason}.", situation.name(target))
    };
    match worker(proposed, situation) {
        Worker::Starts(target) => {
            let name = situation.name(&target);
            let reason = if situation.workspace_agent.as_ref() == Some(&target) {
                format!("You chose {name} for work in this folder.")
            } else if proposed.is_some() {
                format!("You named {name}.")
            } else if target == Target::Gptoss {
                format!("{name} on this computer does the work.")
            } else {
                format!("{name} does the work: {}", obstacle(&Target::Gptoss))
            };
            let instead = proposed.is_none()
                && target != Target::Gptoss
                && situation.workspace_agent.as_ref() != Some(&target);
            Decision { reason, instead_of: instead.then_some(Target::Gptoss), ..Decision::for_target(target) }
        }
        Worker::Asks(target) => {
            let reason = missing.map_or_else(|| "This is work for an agent.".to_owned(), obstacle);
            let (target, instead_of) = (target.unwrap_or(Target::Inline), missing.cloned());
            Decision { inline: Some(Inline::Card), reason, instead_of, target }
        }
        Worker::Unavailable => {
            let wanted = proposed.cloned().unwrap_or(Target::Gptoss);
            let obstacle = obstacle(&wanted);
            let reason = format!("This needs a model or an agent, and none is ready. {obstacle}");
            Decision { instead_of: Some(wanted), ..Decision::inline(Inline::Guidance, reason) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::{route, situation::Candidate};
    use openagents_core::model::Availability;

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
        let candidates = all.into_iter().map(candidate).collect();
        Situation { candidates, allows_external, workspace_agent: None }
    }

    #[test]
    fn work_is_recognised() {
        let (code, named) = ("Write a parser for the log format", "Ask Codex to write a parser");
        let always = |id: &str, ready: &[&str]| Situation {
            workspace_agent: Target::of_mode(id),
            ..situation(ready, false)
        };
        let rows = [
            (code, situation(&["gptoss_20b", "codex"], true), "gptoss"),
            (code, situation(&["codex", "claude-code"], true), "codex"),
            (code, situation(&["claude-code"], true), "claude"),
            (code, situation(&["custom:gem"], true), "inline card"),
            (code, situation(&["codex", "custom:ollama"], true), "custom:ollama"),
            // No work leaves this machine unless the user chooses so.
            (code, situation(&["codex", "claude-code"], false), "inline card"),
            (code, Situation::default(), "inline guidance"),
            (named, situation(&["codex"], false), "codex card"),
            (named, situation(&["codex"], true), "codex"),
            (named, situation(&["gptoss_20b", "claude-code"], true), "inline card"),
            (named, situation(&[], true), "inline guidance"),
            ("@codex write a parser", situation(&["codex"], false), "codex"),
            ("@codex write a parser", situation(&["claude-code"], true), "inline guidance"),
            ("use gemini to fix it", situation(&["custom:gem"], false), "custom:gem card"),
            ("use ollama to fix it", situation(&["custom:ollama"], false), "custom:ollama"),
            (code, always("claude-code", &["claude-code", "gptoss_20b"]), "claude"),
            (code, always("claude-code", &["gptoss_20b"]), "gptoss"),
            (named, always("claude-code", &["claude-code", "codex"]), "codex card"),
            (named, always("codex", &["codex"]), "codex"),
            ("where is it used?", always("codex", &["codex"]), "inline find"),
            ("where is it used?", Situation::default(), "inline find"),
            ("hello", Situation::default(), "inline answer"),
        ];
        for (prompt, situation, expected) in rows {
            let decision = route(prompt, &situation).decision;
            let inline = decision
                .inline
                .map(|inline| format!(" {}", serde_json::to_value(inline).unwrap().as_str().unwrap()));
            let target = format!("{}{}", String::from(decision.target.clone()), inline.unwrap_or_default());
            assert_eq!(target, expected, "{prompt}: {decision:?}");
            assert!(decision.reason.ends_with('.') && !decision.reason.contains(".."), "{}", decision.reason);
        }
    }
}
