//! Environment variables, and the programs found through them.

use crate::process::filtered;
use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::Command,
};

const PATH: &str = "PATH";

/// Variables of the shell process itself.
const OF_THE_SHELL: [&str; 4] = ["SHLVL", "PWD", "OLDPWD", "_"];

/// Environment variables. `Debug` shows only their count: some hold keys.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    pub(crate) fn of_this_process() -> Self {
        std::env::vars_os().collect()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    pub(crate) fn into_variables(self) -> Vec<(OsString, OsString)> {
        self.0.into_iter().collect()
    }

    pub(crate) fn path(&self) -> &OsStr {
        self.get(PATH).unwrap_or_default()
    }

    /// Returns the variables for agents: all that are valid text and not ours.
    pub(crate) fn for_agents(&self) -> BTreeMap<String, String> {
        let text = |text: &OsString| text.to_str().map(str::to_owned);
        let pairs = self.0.iter().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
        let all: BTreeMap<_, _> = pairs.collect();
        filtered(&all).map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    pub(crate) fn with_path(mut self, path: impl Into<OsString>) -> Self {
        self.0.insert(PATH.into(), path.into());
        self
    }

    /// Adds missing variables. Existing values stay, as they were set for this program. The PATH also stays if it has
    /// a folder that the shell's PATH lacks; otherwise it is the Dock's PATH, and the shell's comes first.
    pub(crate) fn completed_by(self, login: Self) -> Self {
        let is_folder = |path: &PathBuf| !path.as_os_str().is_empty();
        let folders = |path: &OsStr| std::env::split_paths(path).filter(is_folder).collect::<Vec<_>>();
        let (own, shell) = (folders(self.path()), folders(login.path()));
        let is_deliberate = own.iter().any(|folder| !shell.contains(folder));
        let (mut first, second) = if is_deliberate { (own, shell) } else { (shell, own) };
        for folder in second {
            if !first.contains(&folder) {
                first.push(folder);
            }
        }
        let path = std::env::join_paths(first).unwrap_or_else(|_| login.path().to_owned());
        let mut variables = login.0;
        variables.retain(|name, _| OF_THE_SHELL.iter().all(|of_the_shell| *of_the_shell != name));
        variables.extend(self.0);
        Self(variables).with_path(path)
    }

    pub(crate) fn find(&self, program: &str) -> Option<PathBuf> {
        let is_name = !program.contains('/');
        if !is_name && !Path::new(program).is_absolute() {
            return None;
        }
        // Relative folders in the PATH would make the result depend on our working directory.
        let folders = std::env::split_paths(self.path()).filter(|folder| folder.is_absolute());
        which::which_in(program, std::env::join_paths(folders).ok(), "/").ok()
    }

    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.for_agents());
        command
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<T: IntoIterator<Item = (OsString, OsString)>>(variables: T) -> Self {
        Self(variables.into_iter().collect())
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Environment({} variables)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    #[test]
    fn completed_by_adds_missing_variables() {
        let dock = environment(&[("PATH", "/usr/bin:/bin"), ("HOME", "/Users/me"), ("LANG", "C")]);
        let login = environment(&[
            ("PATH", "/opt/homebrew/bin:/usr/bin:/bin"),
            ("LANG", "de_DE.UTF-8"),
            ("OPENAI_API_KEY", "k"),
            ("SHLVL", "1"),
            ("PWD", "/"),
        ]);
        let expected = environment(&[
            ("PATH", "/opt/homebrew/bin:/usr/bin:/bin"),
            ("HOME", "/Users/me"),
            ("LANG", "C"),
            ("OPENAI_API_KEY", "k"),
        ]);
        assert_eq!(dock.completed_by(login), expected);
    }

    #[test]
    fn completed_by_keeps_custom_first_folder() {
        let rows = [
            ("/my/node/bin:/usr/bin", "/usr/local/bin:/usr/bin", "/my/node/bin:/usr/bin:/usr/local/bin"),
            ("/usr/bin:/bin", "/opt/bin:/bin:/usr/bin", "/opt/bin:/bin:/usr/bin"),
            ("", "/opt/bin", "/opt/bin"),
        ];
        for (own, login, expected) in rows {
            let [own, login] = [own, login].map(|path| environment(&[("PATH", path)]));
            assert_eq!(own.completed_by(login).path(), OsStr::new(expected));
        }
    }

    #[test]
    fn debug_hides_values() {
        assert_eq!(format!("{:?}", environment(&[("OPENAI_API_KEY", "secret")])), "Environment(1 variables)");
    }

    #[test]
    fn find_accepts_name_or_absolute_path() {
        let folder = tempfile::tempdir().unwrap();
        let (program, text) = (folder.path().join("codex"), folder.path().join("notes"));
        for file in [&program, &text] {
            std::fs::write(file, "#!/bin/sh\n").unwrap();
        }
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let found = environment(&[("PATH", folder.path().to_str().unwrap())]);
        assert_eq!(found.find("codex"), Some(program.clone()));
        assert_eq!(found.find(program.to_str().unwrap()), Some(program));
        for absent in ["notes", "claude", "./codex", "bin/codex", "", text.to_str().unwrap()] {
            assert_eq!(found.find(absent), None, "{absent}");
        }
        // Programs in the current folder are not found through an empty or relative entry.
        assert_eq!(environment(&[("PATH", ":.:src")]).find("codex"), None);
        assert_eq!(environment(&[]).find("codex"), None);
    }
}
