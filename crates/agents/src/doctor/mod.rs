//! Diagnoses an agent: whether it is installed, its version, how prompts reach it, and what to do if they don't.
//!
//! Three steps of increasing cost: [`Doctor::locate`] searches the PATH, [`Doctor::ask_version`] runs `--version`,
//! [`Doctor::introduce`] starts the agent and sends `initialize`. No step needs the network or changes anything.

mod diagnosis;
mod introduction;

use crate::{
    custom::model_agent,
    doctor::diagnosis::Trouble,
    known::{KnownAgent, Speaks},
    login::LoginCommand,
    packages::{Installed, Npm, Packages, Release},
    shell::Environment,
    version::{Package, parse_version, version_of},
};
pub(crate) use diagnosis::{Diagnosis, Reach, Subject};
use openagents_core::{
    CancellationToken,
    agent::{AgentPackage, AgentProvider as _, CustomAgent, CustomKind},
    model::Availability,
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Doctor<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) packages: &'a Packages,
    pub(crate) cancel: &'a CancellationToken,
}

impl Doctor<'_> {
    pub(crate) fn locate(&self, subject: &Subject) -> Diagnosis {
        let mut diagnosis = Diagnosis::new(subject);
        match subject {
            Subject::Known(known) => {
                self.locate_known(known, &mut diagnosis);
                diagnosis.login = LoginCommand::find(known, self.environment, self.packages);
                diagnosis.card.can_log_in = diagnosis.card.usable && diagnosis.login.is_some();
                if diagnosis.card.usable {
                    diagnosis.card.supports =
                        known.sessions.iter().map(|method| (*method).to_owned()).collect();
                }
            }
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
            Subject::Known(known) => {
                self.packages.installed(known.id).is_some()
                    || [known.program, known.speaker().0]
                        .iter()
                        .any(|name| self.environment.find(name).is_some())
            }
            Subject::Custom(_) => false,
        };
        (!is_there).then(|| self.locate(subject))
    }

    /// What we have installed comes before what is in the PATH.
    fn locate_known(&self, known: &KnownAgent, diagnosis: &mut Diagnosis) {
        if let Some(Installed { current, previous }) = self.packages.installed(known.id) {
            diagnosis.card.package = Some(AgentPackage {
                installed: Some(current.version.clone()),
                previous: previous.map(|previous| previous.version),
                ..AgentPackage::default()
            });
            return self.locate_installed(known, &current, diagnosis);
        }
        let program = self.environment.find(known.program);
        diagnosis.card.program.clone_from(&program);
        let not_installed = || format!("the agent {} is not installed", known.name);
        match (&known.speaks, program) {
            (Speaks::Itself(args), Some(program)) => {
                let trouble = self.node_trouble(known.program, &program, known);
                let args = args.iter().map(|argument| (*argument).to_owned()).collect();
                diagnosis.reached_by(Reach::Acp { program, args, env: BTreeMap::new(), cwd: None });
                trouble.into_iter().for_each(|trouble| diagnosis.fail(trouble));
            }
            (Speaks::Itself(_), None) => {
                diagnosis.fail(Trouble::new(not_installed(), known.install_remedy()));
            }
            (Speaks::Adapter { program: adapter }, program) => {
                // Running npm takes a while, so only for installed agents.
                let in_npm = || {
                    let _ = program.as_ref()?;
                    Npm { environment: self.environment, cancel: self.cancel }.find_global(adapter)
                };
                match self.environment.find(adapter).or_else(in_npm) {
                    Some(found) => self.adapt(known, adapter, found, diagnosis),
                    None if program.is_some() => {
                        let problem = format!(
                            "{} is installed, but the program {adapter}, which connects it, is not",
                            known.name
                        );
                        diagnosis.fail(Trouble::new(problem, known.install_remedy()));
                    }
                    None => diagnosis.fail(Trouble::new(not_installed(), known.install_remedy())),
                }
            }
        }
    }

    fn locate_installed(&self, known: &KnownAgent, release: &Release, diagnosis: &mut Diagnosis) {
        let (program, node) = self.packages.paths(known.id, release);
        if let Speaks::Adapter { .. } = known.speaks {
            diagnosis.card.adapter = Some(format!("{} {}", release.package, release.version));
        }
        diagnosis.card.program = Some(program.clone());
        diagnosis.card.version = Some(release.version.clone());
        if !program.is_file() {
            let problem = format!("the files of {} {} are missing", known.name, release.version);
            return diagnosis.fail(Trouble::new(problem, known.install_remedy()));
        }
        let trouble = match node {
            Some(_) => None,
            None => self.node_trouble(known.program, &program, known),
        };
        diagnosis.reached_by(reach(known, program, node));
        trouble.into_iter().for_each(|trouble| diagnosis.fail(trouble));
    }

    /// An adapter contains the agent it drives, so the program itself is not required.
    fn adapt(&self, known: &KnownAgent, name: &str, adapter: PathBuf, diagnosis: &mut Diagnosis) {
        diagnosis.card.adapter = Some(match Package::containing(&adapter) {
            Some(package) => format!("{} {}", package.name, package.version),
            None => adapter.display().to_string(),
        });
        match self.node_trouble(name, &adapter, known) {
            None => diagnosis.reached_by(reach(known, adapter, None)),
            Some(trouble) => diagnosis.fail(trouble),
        }
    }

    /// What is wrong if the program needs a newer Node than this machine has.
    fn node_trouble(&self, name: &str, program: &Path, known: &KnownAgent) -> Option<Trouble> {
        let needed = Package::containing(program)?.node?;
        let version = needed.map(|number| number.to_string()).join(".");
        let has = match self.environment.find("node") {
            None => "no Node is installed".to_owned(),
            Some(node) => {
                let has = version_of(&node, self.environment, self.cancel).ok()?;
                if parse_version(&has) >= needed {
                    return None;
                }
                format!("Node {} is installed", has.trim_start_matches('v'))
            }
        };
        let remedy = match known.package() {
            Some(_) => format!("{}: that brings its own Node", known.install_remedy()),
            None => format!("install Node {} or newer from https://nodejs.org", needed[0]),
        };
        Some(Trouble::new(format!("the program {name} needs Node {version}, but {has}"), remedy))
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
        let (Subject::Known(known), Some(program), None) =
            (subject, diagnosis.card.program.clone(), &diagnosis.card.version)
        else {
            // Custom programs may not support `--version`.
            return;
        };
        match version_of(&program, self.environment, self.cancel) {
            Ok(version) => diagnosis.card.version = Some(version),
            Err(_) if self.cancel.is_cancelled() => {}
            Err(why) => {
                let problem = format!(
                    "the program {} is installed, but `{} --version` fails ({why})",
                    program.display(),
                    known.program
                );
                let trouble = Trouble::new(problem, known.install_remedy());
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
                    diagnosis.card.logged_out = true;
                    diagnosis.note(logged_out(subject, diagnosis.login.as_ref()));
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
        diagnosis.fail(match subject {
            Subject::Known(known) => Trouble::new(problem, known.install_remedy()),
            Subject::Custom(_) => Trouble::new(problem, "run its command in a terminal to see more"),
        });
    }

    /// Starts an installed release once. Fails with a clause.
    pub(crate) fn try_release(
        &self,
        known: &KnownAgent,
        folder: &Path,
        release: &Release,
    ) -> Result<(), String> {
        let node = release.node.as_ref().map(|node| folder.join(node));
        let Reach::Acp { program, args, .. } = reach(known, folder.join(&release.program), node) else {
            return Ok(());
        };
        let mut command = self.environment.command(&program);
        let home = self.environment.get("HOME").map(PathBuf::from).filter(|home| home.is_dir());
        command.args(&args).current_dir(home.unwrap_or_else(|| PathBuf::from("/")));
        introduction::introduce(&mut command, self.cancel).map(|_| ())
    }
}

/// The agent may still work with a key from its own settings.
fn logged_out(subject: &Subject, login: Option<&LoginCommand>) -> Trouble {
    let problem = format!("the agent {} says that it is not logged in", subject.name());
    let remedy = login.map_or_else(|| "log in with its own program".to_owned(), login_remedy);
    Trouble::new(problem, format!("{remedy}, unless it has a key of its own"))
}

/// The clause that says how to log in.
pub(crate) fn login_remedy(command: &LoginCommand) -> String {
    format!("choose Log in in Settings → Agents, or run `{command}` in a terminal")
}

/// How prompts reach a built-in agent through a program, run by `node` if given.
fn reach(known: &KnownAgent, program: PathBuf, node: Option<PathBuf>) -> Reach {
    let args = known.speaker().1.iter().map(|argument| (*argument).to_owned());
    let (program, args) = match node {
        Some(node) => (node, [program.to_string_lossy().into_owned()].into_iter().chain(args).collect()),
        None => (program, args.collect()),
    };
    Reach::Acp { program, args, env: BTreeMap::new(), cwd: None }
}

#[cfg(test)]
mod tests;
