//! An agent's state and how prompts reach it.

use crate::{asking::AskingLevel, known::KnownAgent, login::LoginCommand, openai};
use openagents_core::{
    agent::{AgentCard, CustomAgent, CustomKind},
    agent_ids::CUSTOM_PREFIX,
    model::Availability,
    text::sentence,
};
use std::{collections::BTreeMap, path::PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    Known(&'static KnownAgent),
    Custom(CustomAgent),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reach {
    Acp { program: PathBuf, args: Vec<String>, env: BTreeMap<String, String>, cwd: Option<PathBuf> },
    Model(CustomAgent),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Diagnosis {
    pub(crate) card: AgentCard,
    pub(crate) reach: Option<Reach>,
    /// How the user logs in.
    pub(crate) login: Option<LoginCommand>,
    pub(super) trouble: Option<Trouble>,
}

impl Subject {
    pub(crate) fn id(&self) -> String {
        match self {
            Self::Known(known) => known.id.to_owned(),
            Self::Custom(custom) => format!("{CUSTOM_PREFIX}{}", custom.id),
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Known(known) => known.name.to_owned(),
            Self::Custom(custom) => custom.name.clone().unwrap_or_else(|| custom.id.clone()),
        }
    }

    /// Returns whether all data stays on this machine. Always false for a program.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Custom(CustomAgent { kind: CustomKind::Openai { base_url, model, .. }, .. }) => {
                openai::is_local(base_url, model)
            }
            Self::Known(_) | Self::Custom(_) => false,
        }
    }

    pub(crate) fn known(&self) -> Option<&'static KnownAgent> {
        match self {
            Self::Known(known) => Some(known),
            Self::Custom(_) => None,
        }
    }

    /// Returns whether the agent decides when to ask: a program for which we know no setting that makes it ask.
    pub(crate) fn decides_what_it_asks(&self) -> bool {
        match self {
            Self::Known(known) => known.asks == AskingLevel::ItsOwn,
            Self::Custom(_) => !self.is_model(),
        }
    }

    pub(crate) fn is_model(&self) -> bool {
        matches!(self, Self::Custom(CustomAgent { kind: CustomKind::Openai { .. }, .. }))
    }

    pub(crate) fn card(&self) -> AgentCard {
        AgentCard {
            id: self.id(),
            name: self.name(),
            local: self.is_local(),
            custom: matches!(self, Self::Custom(_)),
            decides_what_it_asks: self.decides_what_it_asks(),
            ..AgentCard::default()
        }
    }
}

impl Diagnosis {
    pub(super) fn new(subject: &Subject) -> Self {
        Self { card: subject.card(), reach: None, login: None, trouble: None }
    }

    pub(crate) fn availability(&self) -> Availability {
        match &self.trouble {
            _ if self.card.usable => Availability::Ready,
            Some(trouble) => Availability::Unavailable(trouble.to_string()),
            None => Availability::Unavailable(format!("{} cannot be reached", self.card.name)),
        }
    }

    pub(super) fn reached_by(&mut self, reach: Reach) {
        let transport = match reach {
            Reach::Acp { .. } => "acp",
            Reach::Model(_) => "openai",
        };
        self.card.transport = Some(transport.to_owned());
        self.card.usable = true;
        self.reach = Some(reach);
    }

    pub(super) fn fail(&mut self, trouble: Trouble) {
        self.card.usable = false;
        self.card.transport = None;
        self.note(trouble);
    }

    pub(super) fn note(&mut self, trouble: Trouble) {
        trouble.show(&mut self.card);
        self.trouble = Some(trouble);
    }
}

/// A problem and its remedy: two clauses without an initial capital or a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    problem: String,
    remedy: String,
}

impl Trouble {
    pub(crate) fn new(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { problem: problem.into(), remedy: remedy.into() }
    }

    pub(crate) fn show(&self, card: &mut AgentCard) {
        card.problem = Some(sentence(&self.problem));
        card.remedy = Some(sentence(&self.remedy));
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}; {}", self.problem, self.remedy)
    }
}
