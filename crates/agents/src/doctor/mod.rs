//! Finds out how an agent stands: whether it is there, which version, how prompts reach it, and what to do when they do
//! not.
//!
//! Three steps, each more costly: [`Doctor::look`] searches the PATH, [`Doctor::ask_version`] runs `--version`,
//! [`Doctor::introduce`] starts it and says `initialize`. Nothing here needs the network, and no step changes anything.

mod introduction;
mod package;
mod trouble;
mod version;

use crate::{
    custom::ModelAgent,
    known::{KnownAgent, Speaks},
    shell::Environment,
};
use openagents_core::{
    CancellationToken,
    agent::{AgentCard, AgentProvider as _, CUSTOM_PREFIX, CustomAgent, CustomKind},
    model::Availability,
};
use package::Package;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use trouble::Trouble;

/// An agent of the table, or one that a person added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    Known(&'static KnownAgent),
    Custom(CustomAgent),
}

/// How prompts reach an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reach {
    /// A program that speaks ACP.
    Acp { program: PathBuf, args: Vec<String>, env: BTreeMap<String, String>, cwd: Option<PathBuf> },
    /// The program of Codex or Claude Code without an adapter.
    CommandLine { program: PathBuf },
    /// A model behind an address.
    Model(CustomAgent),
}

/// How an agent stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Diagnosis {
    pub(crate) card: AgentCard,
    pub(crate) reach: Option<Reach>,
    trouble: Option<Trouble>,
}

/// Examines agents in an environment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Doctor<'a> {
    pub(crate) environment: &'a Environment,
    /// Ends every step at once.
    pub(crate) cancel: &'a CancellationToken,
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

    /// Returns whether nothing that it is told leaves this machine. Of a program nobody knows.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Custom(CustomAgent { kind: CustomKind::Openai { base_url, .. }, .. }) => {
                is_on_this_machine(base_url)
            }
            Self::Known(_) | Self::Custom(_) => false,
        }
    }

    /// Returns the command that logs in.
    pub(crate) fn log_in(&self) -> Option<&'static str> {
        match self {
            Self::Known(known) => Some(known.log_in),
            Self::Custom(_) => None,
        }
    }

    /// Returns whether it is a model, which has no loop of its own.
    pub(crate) fn is_model(&self) -> bool {
        matches!(self, Self::Custom(CustomAgent { kind: CustomKind::Openai { .. }, .. }))
    }

    /// Returns what is known before anybody has looked.
    pub(crate) fn card(&self) -> AgentCard {
        AgentCard {
            id: self.id(),
            name: self.name(),
            local: self.is_local(),
            custom: matches!(self, Self::Custom(_)),
            ..AgentCard::default()
        }
    }
}

fn is_on_this_machine(url: &str) -> bool {
    let host = reqwest::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.is_some_and(|host| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

impl Diagnosis {
    fn new(subject: &Subject) -> Self {
        Self { card: subject.card(), reach: None, trouble: None }
    }

    /// Returns whether prompts can be sent to it, and what to do when they cannot.
    pub(crate) fn availability(&self) -> Availability {
        match &self.trouble {
            _ if self.card.usable => Availability::Ready,
            Some(trouble) => Availability::Unavailable(trouble.to_string()),
            None => Availability::Unavailable(format!("{} cannot be reached", self.card.name)),
        }
    }

    fn reached_by(&mut self, reach: Reach) {
        let transport = match reach {
            Reach::Acp { .. } => "acp",
            Reach::CommandLine { .. } => "cli",
            Reach::Model(_) => "openai",
        };
        self.card.transport = Some(transport.to_owned());
        self.card.usable = true;
        self.reach = Some(reach);
    }

    /// Prompts do not reach it until this is seen to.
    fn fail(&mut self, trouble: Trouble) {
        self.card.usable = false;
        self.card.transport = None;
        self.note(trouble);
    }

    fn note(&mut self, trouble: Trouble) {
        trouble.show(&mut self.card);
        self.trouble = Some(trouble);
    }
}

impl Doctor<'_> {
    /// Looks for the program, and for its adapter.
    pub(crate) fn look(&self, subject: &Subject) -> Diagnosis {
        let mut diagnosis = Diagnosis::new(subject);
        match subject {
            Subject::Known(known) => self.look_for_known(known, &mut diagnosis),
            Subject::Custom(custom) => match crate::custom::check(custom) {
                Ok(()) => self.look_for_custom(custom, &mut diagnosis),
                Err(why) => diagnosis.fail(Trouble::new(why, "add it again")),
            },
        }
        diagnosis
    }

    fn look_for_known(&self, known: &KnownAgent, diagnosis: &mut Diagnosis) {
        let program = self.environment.find(known.program);
        diagnosis.card.program.clone_from(&program);
        let not_installed = || format!("the agent {} is not installed", known.name);
        match (&known.speaks, program) {
            (Speaks::Itself(args), Some(program)) => {
                let trouble = self.node_trouble(known.program, &program);
                let args = args.iter().map(|argument| (*argument).to_owned()).collect();
                diagnosis.reached_by(Reach::Acp { program, args, env: BTreeMap::new(), cwd: None });
                trouble.into_iter().for_each(|trouble| diagnosis.fail(trouble));
            }
            (Speaks::Itself(_), None) => {
                diagnosis.fail(Trouble::new(not_installed(), format!("run `{}`", known.install)));
            }
            (Speaks::Adapter { program: adapter, package }, program) => {
                let found = self.environment.find(adapter);
                let found = found.or_else(|| package::find_global(adapter, self.environment, self.cancel));
                match (found, program) {
                    (Some(found), program) => self.adapt(adapter, found, program, diagnosis),
                    (None, Some(program)) => {
                        diagnosis.reached_by(Reach::CommandLine { program });
                        let problem = format!(
                            "the ACP adapter {adapter} is not installed, and the command line cannot ask for permissions"
                        );
                        diagnosis.note(Trouble::new(problem, format!("run `npm install -g {package}`")));
                    }
                    (None, None) => {
                        let remedy = format!("run `{} {package}`", known.install);
                        diagnosis.fail(Trouble::new(not_installed(), remedy));
                    }
                }
            }
        }
    }

    /// An adapter brings along the agent that it drives, so the program itself need not be there.
    fn adapt(&self, name: &str, adapter: PathBuf, program: Option<PathBuf>, diagnosis: &mut Diagnosis) {
        let package = Package::of(&adapter);
        diagnosis.card.adapter = Some(match &package {
            Some(package) => format!("{} {}", package.name, package.version),
            None => adapter.display().to_string(),
        });
        let trouble =
            package.and_then(|package| version::node_trouble(name, &package, self.environment, self.cancel));
        match (trouble, program) {
            (None, _) => diagnosis.reached_by(Reach::Acp {
                program: adapter,
                args: Vec::new(),
                env: BTreeMap::new(),
                cwd: None,
            }),
            (Some(trouble), Some(program)) => {
                diagnosis.reached_by(Reach::CommandLine { program });
                diagnosis.note(trouble);
            }
            (Some(trouble), None) => diagnosis.fail(trouble),
        }
    }

    fn node_trouble(&self, name: &str, program: &Path) -> Option<Trouble> {
        version::node_trouble(name, &Package::of(program)?, self.environment, self.cancel)
    }

    fn look_for_custom(&self, custom: &CustomAgent, diagnosis: &mut Diagnosis) {
        match custom.kind.clone() {
            CustomKind::Acp { command, args, env, cwd } => match self.environment.find(&command) {
                Some(program) => {
                    diagnosis.card.program = Some(program.clone());
                    diagnosis.reached_by(Reach::Acp { program, args, env, cwd });
                }
                None if command.contains('/') => diagnosis.fail(Trouble::new(
                    format!("the program {command} is not there, or is not one"),
                    "install it, or add the agent again with another command",
                )),
                None => diagnosis.fail(Trouble::new(
                    format!("the program {command} is not in the PATH"),
                    "install it, or add the agent again with the absolute path of its program",
                )),
            },
            CustomKind::Openai { .. } => {
                diagnosis.reached_by(Reach::Model(custom.clone()));
                let model = ModelAgent::new(custom, self.environment);
                let why = match model.map(|model| model.availability()) {
                    Ok(Availability::Ready) => return,
                    Ok(Availability::Unavailable(why)) | Err(why) => why,
                };
                diagnosis.fail(Trouble::new(why, "check again after that"));
            }
        }
    }

    /// Asks the program for its version.
    pub(crate) fn ask_version(&self, subject: &Subject, diagnosis: &mut Diagnosis) {
        let (Subject::Known(known), Some(program)) = (subject, diagnosis.card.program.clone()) else {
            // What `--version` means to a program that a person added, nobody knows.
            return;
        };
        match version::version_of(&program, self.environment, self.cancel) {
            Ok(version) => diagnosis.card.version = Some(version),
            Err(_) if self.cancel.is_cancelled() => {}
            Err(why) => {
                let problem = format!(
                    "the program {} is there and `{} --version` fails ({why})",
                    program.display(),
                    known.program
                );
                let trouble = Trouble::new(problem, format!("install it again: `{}`", known.install));
                let uses_it = match &diagnosis.reach {
                    Some(Reach::Acp { program: speaks, .. }) => *speaks == program,
                    _ => true,
                };
                if uses_it { diagnosis.fail(trouble) } else { diagnosis.note(trouble) }
            }
        }
    }

    /// Starts an agent that speaks ACP, hears what it says about itself, and ends it.
    pub(crate) fn introduce(&self, subject: &Subject, diagnosis: &mut Diagnosis) {
        let Some(Reach::Acp { program, args, env, cwd }) = diagnosis.reach.clone() else { return };
        let home = self.environment.get("HOME").map(PathBuf::from).filter(|home| home.is_dir());
        let folder = cwd.clone().or(home).unwrap_or_else(|| PathBuf::from("/"));
        let mut command = self.environment.command(&program);
        command.args(&args).envs(&env).current_dir(folder);
        match introduction::introduce(&mut command, self.cancel) {
            Ok(introduction) => {
                diagnosis.card.introduces_itself = introduction.name;
                diagnosis.card.supports = introduction.supports;
                if !diagnosis.card.usable {
                    // Whatever its version says, it answers.
                    diagnosis.trouble = None;
                    Trouble::clear(&mut diagnosis.card);
                }
                diagnosis.reached_by(Reach::Acp { program, args, env, cwd });
                if introduction.logged_in == Some(false) {
                    diagnosis.note(logged_out(subject));
                }
            }
            Err(_) if self.cancel.is_cancelled() => {}
            Err(why) => self.without_introduction(subject, &program, &why, diagnosis),
        }
    }

    fn without_introduction(&self, subject: &Subject, speaks: &Path, why: &str, diagnosis: &mut Diagnosis) {
        let name = speaks.file_name().unwrap_or_default().to_string_lossy();
        let problem = format!("the program {name} does not speak ACP: {why}");
        let trouble = match subject {
            Subject::Known(KnownAgent { speaks: Speaks::Adapter { package, .. }, .. }) => {
                Trouble::new(problem, format!("install it again: `npm install -g {package}`"))
            }
            Subject::Known(known) => Trouble::new(
                problem,
                format!(
                    "run `{}` in a terminal to see more, or install it again: `{}`",
                    known.program, known.install
                ),
            ),
            Subject::Custom(_) => Trouble::new(problem, "run its command in a terminal to see more"),
        };
        match (subject, diagnosis.card.program.clone()) {
            (Subject::Known(KnownAgent { speaks: Speaks::Adapter { .. }, .. }), Some(program))
                if diagnosis.card.version.is_some() =>
            {
                diagnosis.reached_by(Reach::CommandLine { program });
                diagnosis.note(trouble);
            }
            _ => diagnosis.fail(trouble),
        }
    }
}

/// It may still answer, with a key out of its own settings.
fn logged_out(subject: &Subject) -> Trouble {
    let problem = format!("the agent {} says that it is not logged in", subject.name());
    match subject {
        Subject::Known(known) => Trouble::new(
            problem,
            format!("run `{}` in a terminal, unless it has a key of its own", known.log_in),
        ),
        Subject::Custom(_) => Trouble::new(problem, "log in with its own program"),
    }
}

#[cfg(test)]
mod tests;
