//! Reads the environment of the login shell.

use super::{environment::Environment, printed};
use crate::{capture::capture, limits::ASK_SHELL};
use openagents_core::CancellationToken;
use std::path::PathBuf;
use uuid::Uuid;

/// Returns the variables exported by the login shell, or the reason they are unknown.
pub(super) fn ask(own: &Environment, cancel: &CancellationToken) -> Result<Environment, String> {
    let shell = own.get("SHELL").filter(|shell| !shell.is_empty());
    let shell = PathBuf::from(shell.ok_or("SHELL is not set")?);
    if !shell.is_absolute() {
        return Err(format!("SHELL is {}, which is not an absolute path", shell.display()));
    }
    let marker = Uuid::new_v4().simple().to_string();
    // Start-up files print greetings. The older `env` of macOS lacks `-0`.
    let script = format!("echo; echo {marker}; /usr/bin/env -0 || /usr/bin/env; echo; echo {marker}");
    let mut command = own.command(&shell);
    command.args(["-l", "-i", "-c", &script]).current_dir("/").env("TERM", "dumb");
    let name = shell.display();
    let captured = capture(&mut command, ASK_SHELL, cancel)
        .map_err(|error| format!("{name} does not start: {error}"))?;
    match printed::variables(&captured.stdout, &marker) {
        Some(variables) => Ok(variables.into_iter().collect()),
        None if captured.status.is_none() => {
            Err(format!("{name} did not end within {} s", ASK_SHELL.time.as_secs()))
        }
        None => Err(format!("{name} -l -i -c does not print its environment")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::program;
    use std::{ffi::OsStr, fs, path::Path};

    fn with_shell(shell: &str, home: &Path) -> Environment {
        [("SHELL", shell), ("HOME", home.to_str().unwrap()), ("PATH", "/usr/bin:/bin")]
            .map(|(name, value)| (name.into(), value.into()))
            .into_iter()
            .collect()
    }

    #[test]
    fn the_start_up_files_of_a_real_shell_count() {
        let home = tempfile::tempdir().unwrap();
        let profile =
            "echo A greeting without an end\nexport PATH=/opt/tools/bin:$PATH\nexport NOTE='two\nlines'\n";
        fs::write(home.path().join(".bash_profile"), profile).unwrap();
        let asked = ask(&with_shell("/bin/bash", home.path()), &CancellationToken::new()).unwrap();
        assert!(asked.path().to_string_lossy().starts_with("/opt/tools/bin:"), "{:?}", asked.path());
        assert_eq!(asked.get("NOTE"), Some(OsStr::new("two\nlines")));
    }

    #[test]
    fn a_shell_that_does_not_answer_says_why() {
        let home = tempfile::tempdir().unwrap();
        let script =
            |name: &str, text: &str| program(home.path(), name, text).into_os_string().into_string().unwrap();
        let rows = [
            (String::new(), "SHELL is not set"),
            ("zsh".to_owned(), "not an absolute path"),
            ("/no/such/shell".to_owned(), "does not start"),
            (script("silent", "exit 0"), "does not print"),
            (script("other", "echo PATH=/x"), "does not print"),
        ];
        for (shell, expected) in rows {
            let why = ask(&with_shell(&shell, home.path()), &CancellationToken::new()).unwrap_err();
            assert!(why.contains(expected), "{shell}: {why}");
        }
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        let hangs = script("hangs", "sleep 1000");
        assert!(ask(&with_shell(&hangs, home.path()), &cancelled).unwrap_err().contains("did not end"));
    }
}
