//! Fixed texts, in the first person plural: several agents are behind every answer.

use crate::{
    agent::{limits::TITLE_SOURCE_CHARS, title::of as first_words},
    route::{Candidate, Situation},
};
use openagents_core::{
    agent::Conversation,
    model::Message,
    update::{Decision, Target},
};

pub(super) const GREETING: &str =
    "Hello! We are OpenAgents. Ask where something is, what was worked on here, or what we can do.";

pub(super) const THANKS: &str = "You are welcome. We are here when you need us.";

pub(super) const IDENTITY: &str = "We are OpenAgents, the companion of the coding agents on this computer. We look through a project and what agents did \
     in it, answer with a model that runs here, and hand work over to the agents that you have.";

pub(super) fn capabilities(situation: &Situation) -> String {
    let model = match situation.obstacle(&Target::Gptoss) {
        None => format!("{} is ready", situation.name(&Target::Gptoss)),
        Some(obstacle) => format!("not now: {obstacle}; Settings → Models lists the downloads"),
    };
    format!(
        "We are OpenAgents. Yes, we help with code. In this folder we can:\n\n\
         - **Find** what is where in the files, and what was done in the past sessions of your agents. This needs no model.\n\
         - **Write and analyse** with a model on this computer: code, documentation, refactorings, plans ({model}).\n\
         - **Hand work over** to an agent: begin with its name (\"@codex …\") or pick it beside the prompt. Ready now: {}.\n\n\
         Nothing leaves this computer unless you pick an agent that works elsewhere, or allow it in Settings → Agents.",
        ready_names(situation).unwrap_or_else(|| "none; `openagents doctor` says what to install".to_owned())
    )
}

pub(super) fn delegates(situation: &Situation) -> String {
    if situation.candidates.is_empty() {
        return "No agents are available yet. `openagents doctor`, or Settings → Agents, lists the supported agents and how to \
                install them."
            .to_owned();
    }
    let lines: Vec<_> =
        situation.candidates.iter().map(|candidate| format!("- {}", describe(candidate))).collect();
    format!(
        "We can hand work over to these:\n\n{}\n\nBegin a prompt with a name (\"@codex …\") or pick one beside the prompt. \
         `openagents doctor`, or Settings → Agents, says more about each.",
        lines.join("\n")
    )
}

pub(super) fn agent(target: &Target, situation: &Situation) -> String {
    let name = situation.name(target);
    let what = match target {
        Target::Codex => {
            "is OpenAI's coding agent: it reads and changes files and runs commands in a project"
        }
        Target::Claude => {
            "is Anthropic's coding agent: it reads and changes files and runs commands in a project"
        }
        Target::Gptoss => {
            "is an open model that runs on this computer: it writes code and documents, analyses and plans"
        }
        Target::Known(_) => "is a supported coding agent",
        Target::Custom(_) => "is an agent added here",
        Target::Inline => "is what you are talking to",
    };
    let status = match situation.find(target) {
        Some(candidate) => describe(candidate),
        None => format!("**{name}** is not set up here; `openagents doctor` says how to install it"),
    };
    format!(
        "{name} {what}. {status}. Pick it beside the prompt, or begin a prompt with its name, to give it work."
    )
}

fn describe(candidate: &Candidate) -> String {
    let place = if candidate.local { ", on this computer" } else { "" };
    match candidate.obstacle() {
        None => format!("**{}** is ready{place}", candidate.name),
        Some(reason) => format!("**{}** is not available: {reason}", candidate.name),
    }
}

/// Joins the names of the ready agents; `None` if there are none.
fn ready_names(situation: &Situation) -> Option<String> {
    let names: Vec<_> = situation.ready().map(|candidate| candidate.name.as_str()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

pub(super) fn title(transcript: &Conversation) -> String {
    let messages = transcript.messages(TITLE_SOURCE_CHARS);
    let first = messages.iter().find_map(|message| match message {
        Message::User { text } => Some(text.as_str()),
        _ => None,
    });
    match first {
        Some(first) => format!(
            "**{}**\n\nTaken from the first prompt; a model on this computer could write a better title.",
            first_words(first)
        ),
        None => "Nothing was said in this session yet.".to_owned(),
    }
}

pub(super) fn unexplained(situation: &Situation) -> String {
    format!("A model on this computer, or an agent, could look further.\n\n{}", ways(situation, None))
}

pub(super) fn guidance(decision: &Decision, situation: &Situation) -> String {
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
