//! Diagnoses an agent: whether it is installed, its version, how prompts reach it, and what to do if they don't.
//!
//! Three steps of increasing cost: [`Doctor::locate`] searches the PATH, [`Doctor::ask_version`] runs `--version`,
//! [`Doctor::introduce`] starts the agent and sends `initialize`. No step needs the network or changes anything.

mod diagnosis;
mod introduction;
mod version;

use crate::{
    custom::model_agent,
    doctor::{diagnosis::Trouble, version::Package},
    known::{KnownAgent, Speaks},
    shell::Environment,
};
pub(crate) use diagnosis::{Diagnosis, Reach, Subject};
use openagents_core::{
    CancellationToken,
    agent::{AgentProvider as _, CustomAgent, CustomKind},
    model::Availability,
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Doctor<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) cancel: &'a CancellationToken,
}

impl Doctor<'_> {
    pub(crate) fn locate(&self, subject: &Subject) -> Diagnosis {
        let mut diagnosis = Diagnosis::new(subject);
        match subject {
            Subject::Known(known) => self.locate_known(known, &mut diagnosis),
            Subject::Custom(custom) => match crate::custom::check(custom) {
                Ok(()) => self.locate_custom(custom, &mut diagnosis),
                Err(why) => diagnosis.fail(Trouble::new(why, "add it again")),
            },
        }
        diagnosis
    }

    /// Diagnoses an agent without starting a process; `None` for an installed program, which needs one.
    pub(crate) fn locate_missing(&self, subject: &Subject) -> Option<Diagnosis> {
        let is_there = match subject {
            Subject::Known(KnownAgent { program, speaks, .. }) => {
                let adapter = match speaks {
                    Speaks::Adapter { program, .. } => Some(*program),
                    Speaks::Itself(_) => None,
                };
                adapter.into_iter().chain([*program]).any(|name| self.environment.find(name).is_some())
            }
            Subject::Custom(_) => false,
        };
        (!is_there).then(|| self.locate(subject))
    }

    fn locate_known(&self, known: &KnownAgent, diagnosis: &mut Diagnosis) {
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
                // Running npm takes a while, so only for installed agents.
                let in_npm = || {
                    let _ = program.as_ref()?;
                    version::find_global(adapter, self.environment, self.cancel)
                };
                let found = self.environment.find(adapter).or_else(in_npm);
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

    /// An adapter contains the agent it drives, so the program itself is not required.
    fn adapt(&self, name: &str, adapter: PathBuf, program: Option<PathBuf>, diagnosis: &mut Diagnosis) {
        let package = Package::containing(&adapter);
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
        version::node_trouble(name, &Package::containing(program)?, self.environment, self.cancel)
    }

    fn locate_custom(&self, custom: &CustomAgent, diagnosis: &mut Diagnosis) {
        match custom.kind.clone() {
            CustomKind::Acp { command, args, env, cwd } => match self.environment.find(&command) {
                Some(program) => {
                    diagnosis.card.program = Some(program.clone());
                    diagnosis.reached_by(Reach::Acp { program, args, env, cwd });
                }
                None if command.contains('/') => diagnosis.fail(Trouble::new(
                    format!("the program {command} does not exist or is not executable"),
                    "install it, or add the agent again with another command",
                )),
                None => diagnosis.fail(Trouble::new(
                    format!("the program {command} is not in the PATH"),
                    "install it, or add the agent again with the absolute path of its program",
                )),
            },
            CustomKind::Openai { .. } => {
                diagnosis.reached_by(Reach::Model(custom.clone()));
                let model = model_agent(custom, self.environment);
                let why = match model.map(|model| model.availability()) {
                    Ok(Availability::Ready) => return,
                    Ok(Availability::Unavailable(why)) | Err(why) => why,
                };
                diagnosis.fail(Trouble::new(why, "check again after that"));
            }
        }
    }

    pub(crate) fn ask_version(&self, subject: &Subject, diagnosis: &mut Diagnosis) {
        let (Subject::Known(known), Some(program)) = (subject, diagnosis.card.program.clone()) else {
            // Custom programs may not support `--version`.
            return;
        };
        match version::version_of(&program, self.environment, self.cancel) {
            Ok(version) => diagnosis.card.version = Some(version),
            Err(_) if self.cancel.is_cancelled() => {}
            Err(why) => {
                let problem = format!(
                    "the program {} is installed, but `{} --version` fails ({why})",
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

    pub(crate) fn introduce(&self, subject: &Subject, diagnosis: &mut Diagnosis) {
        let Some(Reach::Acp { program, args, env, cwd }) = diagnosis.reach.clone() else { return };
        let home = self.environment.get("HOME").map(PathBuf::from).filter(|home| home.is_dir());
        // Avoids the agent's own folder: the agent would load the settings there before the user trusts them.
        let folder = home.unwrap_or_else(|| PathBuf::from("/"));
        let mut command = self.environment.command(&program);
        command.args(&args).envs(&env).current_dir(folder);
        match introduction::introduce(&mut command, self.cancel) {
            Ok(introduction) => {
                diagnosis.card.introduces_itself = introduction.name;
                diagnosis.card.supports = introduction.supports;
                if !diagnosis.card.usable {
                    // The agent answers, whatever its version check reported.
                    diagnosis.trouble = None;
                    (diagnosis.card.problem, diagnosis.card.remedy) = (None, None);
                }
                diagnosis.reached_by(Reach::Acp { program, args, env, cwd });
                if introduction.logged_in == Some(false) {
                    diagnosis.note(logged_out(subject));
                }
            }
            Err(_) if self.cancel.is_cancelled() => {}
            Err(why) if cwd.is_some() => {
                let problem =
                    format!("the agent {} was not checked in its own folder: {why}", subject.name());
                diagnosis.reached_by(Reach::Acp { program, args, env, cwd });
                diagnosis.note(Trouble::new(
                    problem,
                    "send it a prompt; it starts there once the folder is trusted",
                ));
            }
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

/// The agent may still work with a key from its own settings.
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
