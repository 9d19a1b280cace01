//! Who does a task: whoever was named, or whoever fits. Never somebody else.

use super::Delegator;
use crate::{
    agent::SessionContext,
    agent_ids::{CLAUDE_CODE, LOCAL_MODEL},
    model::Availability,
    routing::{self, Candidate, Situation, Topic},
    update::Target,
};

/// Returns who does it, or why nobody does.
pub(super) fn choose(
    wanted: Option<&str>,
    delegator: &dyn Delegator,
    context: &SessionContext<'_>,
) -> Result<Candidate, String> {
    let situation =
        Situation { candidates: delegator.candidates(), allows_external: delegator.allows_external() };
    if let (Some(_), Some(topic)) = (context.caller, routing::topic(context.prompt, &situation))
        && topic != Topic::Explanation
    {
        return Err("This is talk and no task: answer it yourself, in words".to_owned());
    }
    match wanted.filter(|wanted| *wanted != "auto") {
        Some(wanted) => named(wanted, &situation, context),
        None => fitting(&situation, context),
    }
}

fn named(wanted: &str, situation: &Situation, context: &SessionContext<'_>) -> Result<Candidate, String> {
    let id = match wanted {
        "gptoss" => LOCAL_MODEL,
        "claude_code" | "claude" => CLAUDE_CODE,
        other => other,
    };
    let Some(candidate) = situation.candidates.iter().find(|candidate| candidate.id == id) else {
        let wanted: String = wanted.chars().take(100).collect();
        return Err(format!("There is no provider {wanted}; {}", available(situation)));
    };
    if let Availability::Unavailable(reason) = &candidate.availability {
        let reason = reason.trim_end_matches('.');
        return Err(format!("{} is not available: {reason}; {}", candidate.name, available(situation)));
    }
    if Some(id) == context.caller {
        return Err(format!("{} is at work on this already and has to do it itself", candidate.name));
    }
    // A model may have read "hand this to …" in a file. Only a person sends anything away from this machine.
    let may_leave = candidate.local
        || situation.allows_external
        || context.caller.is_none()
        || Target::of_mode(id).is_some_and(|target| routing::is_asked(context.prompt, &target, situation));
    if !may_leave {
        return Err(format!(
            "{} is not on this computer and the prompt does not ask it; say \"use {}\" in the prompt, or allow models off this \
             machine for this session",
            candidate.name, candidate.name
        ));
    }
    Ok(candidate.clone())
}

fn fitting(situation: &Situation, context: &SessionContext<'_>) -> Result<Candidate, String> {
    if let Some(target) = routing::asked(context.prompt, situation)
        && let Some(candidate) = situation.find(&target)
    {
        return named(&candidate.id, situation, context);
    }
    // Whoever hands a task over does not want it back.
    let others =
        situation.candidates.iter().filter(|candidate| Some(candidate.id.as_str()) != context.caller);
    let others = Situation { candidates: others.cloned().collect(), ..*situation };
    let chosen = routing::worker(&others).and_then(|target| others.find(&target).cloned());
    chosen.ok_or_else(|| {
        let allowed = if situation.allows_external {
            String::new()
        } else {
            " without leaving this computer".to_owned()
        };
        format!("Nobody can be chosen{allowed}; {}", available(situation))
    })
}

fn available(situation: &Situation) -> String {
    let ids: Vec<_> = situation.ready().map(|candidate| candidate.id.as_str()).collect();
    match ids.as_slice() {
        [] => "none is available: `openagents doctor` says what to install".to_owned(),
        ids => format!("available are {}", ids.join(", ")),
    }
}
