//! Chooses the agent for a task: the named one or a fitting one. A named agent is never replaced.

use super::delegator::Delegator;
use crate::{
    agent::{HistoryRead, SessionContext},
    route::{self, Candidate, Situation, Worker},
};
use openagents_core::{
    agent_ids::{CLAUDE_CODE, LOCAL_MODEL},
    model::Availability,
    update::Target,
};

/// The reason given to a model that may not delegate off this machine.
const STAYS_HERE: &str = "this conversation has read sessions of other folders, which stay on this computer; the user can \
                          hand the task over in a new session";

/// The choice of an agent.
pub(super) enum Chosen {
    /// Starts without approval.
    Starts(Candidate),
    /// The user must choose one of these, best first.
    Asks(Vec<Candidate>),
}

/// Returns the choice, or the reason why there is none.
pub(super) fn choose(
    wanted: &str,
    delegator: &dyn Delegator,
    context: &SessionContext<'_>,
) -> Result<Chosen, String> {
    let mut situation = delegator.situation();
    keep_history_here(&mut situation, context);
    if context.caller.is_some() && route::is_talk(context.prompt, &situation) {
        return Err("This is small talk, not a task; answer it directly".to_owned());
    }
    let wanted = match wanted {
        "auto" => None,
        wanted => Some(named(wanted, &situation, context)?),
    };
    if let Some(wanted) = &wanted
        && (context.caller.is_none() || wanted.local)
    {
        return Ok(Chosen::Starts(wanted.clone()));
    }
    // A delegating agent does not get its own task back.
    situation.candidates.retain(|candidate| Some(candidate.id.as_str()) != context.caller);
    let target = wanted.as_ref().and_then(|wanted| Target::of_mode(&wanted.id));
    let found = |target: &Target| situation.find(target).cloned();
    match route::worker(target.as_ref(), &situation) {
        Worker::Starts(target) => found(&target).map(Chosen::Starts),
        Worker::Asks(target) => Some(Chosen::Asks(situation.offered(target.as_ref()))),
        Worker::Unavailable => None,
    }
    .ok_or_else(|| match context.read {
        HistoryRead::Everywhere => format!("No agent on this computer can be chosen; {STAYS_HERE}"),
        HistoryRead::Nothing | HistoryRead::Workspace => {
            format!("No agent can be chosen; {}", available(&situation))
        }
    })
}

/// A model that has read past sessions may repeat them in a task. Sessions of the workspace leave this machine only
/// after the user has seen the text; those of other workspaces never do.
fn keep_history_here(situation: &mut Situation, context: &SessionContext<'_>) {
    if context.caller.is_none() || context.read == HistoryRead::Nothing {
        return;
    }
    situation.allows_external = false;
    let chosen = situation.workspace_agent.take();
    let is_local = |target: &Target| situation.find(target).is_some_and(|agent| agent.local);
    situation.workspace_agent = chosen.filter(is_local);
    if context.read == HistoryRead::Everywhere {
        for agent in situation.candidates.iter_mut().filter(|agent| !agent.local) {
            agent.availability = Availability::Unavailable(STAYS_HERE.to_owned());
        }
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
        return Err(format!("No agent has the id {wanted}; {}", available(situation)));
    };
    if let Some(reason) = candidate.obstacle() {
        return Err(format!("{} is not available: {reason}; {}", candidate.name, available(situation)));
    }
    if Some(id) == context.caller {
        return Err(format!("{} is already working on this and must do it itself", candidate.name));
    }
    Ok(candidate.clone())
}

fn available(situation: &Situation) -> String {
    let ids: Vec<_> = situation.ready().map(|candidate| candidate.id.as_str()).collect();
    match ids.as_slice() {
        [] => "none is available: `openagents doctor` says what to install".to_owned(),
        ids => format!("available are {}", ids.join(", ")),
    }
}
