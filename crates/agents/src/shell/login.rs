//! Reads the environment of the login shell.

use super::environment::Environment;
use crate::{capture::capture, limits::ASK_SHELL};
use memchr::memmem;
use openagents_core::{CancellationToken, agent::ShellProblem, text::sentence};
use std::{
    ffi::{OsStr, OsString},
    os::unix::{ffi::OsStrExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Command,
};
use uuid::Uuid;

#[derive(Debug, thiserror::Error)]
pub(super) enum ShellTrouble {
    #[error("SHELL is not set, so the PATH of the login shell is unknown")]
    NotSet,
    #[error("SHELL is {0}, which is not an absolute path")]
    Relative(PathBuf),
    #[error("the login shell {0} does not start: {1}")]
    NoStart(PathBuf, std::io::Error),
    #[error("the login shell {0} did not answer within {time} s", time = ASK_SHELL.time.as_secs())]
    Silent(PathBuf),
    #[error("the login shell {0} did not print its environment")]
    NoAnswer(PathBuf),
}

impl ShellTrouble {
    pub(super) fn problem(&self) -> ShellProblem {
        let other = "start OpenAgents from a terminal, which passes its own PATH on";
        let remedy = match self {
            Self::NotSet | Self::Relative(_) => format!("set SHELL to your shell, or {other}"),
            Self::NoStart(..) => format!("choose an installed shell with `chsh`, or {other}"),
            Self::Silent(shell) => format!(
                "its start-up files wait for input or run a program that does not end: make them skip that without a \
                 terminal (`{}` shows it), or {other}",
                diagnostic_command(shell)
            ),
            Self::NoAnswer(shell) => {
                format!("run `{}` to see what its start-up files do, or {other}", diagnostic_command(shell))
            }
        };
        ShellProblem { problem: sentence(&self.to_string()), remedy: sentence(&remedy) }
    }
}

fn diagnostic_command(shell: &Path) -> String {
    format!("{} -i -c true </dev/null", shell.display())
}

pub(super) fn read_environment(
    own: &Environment,
    cancel: &CancellationToken,
) -> Result<Environment, ShellTrouble> {
    let shell = own.get("SHELL").filter(|shell| !shell.is_empty());
    let shell = PathBuf::from(shell.ok_or(ShellTrouble::NotSet)?);
    if !shell.is_absolute() {
        return Err(ShellTrouble::Relative(shell));
    }
    let marker = Uuid::new_v4().simple().to_string();
    let mut command = with_arguments(own.command(&shell), &shell, &marker);
    command.current_dir("/").env("TERM", "dumb");
    let captured = match capture(&mut command, ASK_SHELL, cancel) {
        Ok(captured) => captured,
        Err(error) => return Err(ShellTrouble::NoStart(shell, error)),
    };
    match parse_variables(&captured.stdout, &marker) {
        Some(variables) => Ok(variables.into_iter().collect()),
        None if captured.status.is_none() => Err(ShellTrouble::Silent(shell)),
        None => Err(ShellTrouble::NoAnswer(shell)),
    }
}

/// Adds the arguments that run one command after the start-up files of a login shell and of an interactive one.
///
/// The command is a program, an option and a text in single quotes, which means the same in all shells: POSIX shells,
/// csh, fish, elvish, xonsh, Nushell and PowerShell. Start-up files print greetings, so `sh` prints `marker` before
/// and after the variables. The older `env` of macOS lacks `-0`.
fn with_arguments(mut command: Command, shell: &Path, marker: &str) -> Command {
    let print =
        format!("/bin/sh -c 'echo; echo {marker}; /usr/bin/env -0 || /usr/bin/env; echo; echo {marker}'");
    let name = shell.file_name().unwrap_or_default().to_string_lossy();
    match &*name {
        // Accepts `-l` only as the sole argument; a name that begins with a dash means the same.
        "csh" | "tcsh" | "bsd-csh" => command.arg0(format!("-{name}")).args(["-i", "-c", &print]),
        // Reads its start-up file only for an interactive prompt, and supports neither option
        // (<https://elv.sh/ref/command.html>).
        "elvish" => {
            let read = "use runtime; try { eval (slurp < $runtime:rc-path) } catch e { }";
            command.args(["-c", &format!("{read}; {print}")])
        }
        _ => command.args(["-l", "-i", "-c", &print]),
    };
    command
}

/// Parses `NAME=value` pairs that end with a zero byte, or with a line break if there are no zero bytes. `None` if a
/// marker is missing or there is nothing in between. Invalid pairs are skipped.
pub(super) fn parse_variables(output: &[u8], marker: &str) -> Option<Vec<(OsString, OsString)>> {
    let line = format!("\n{marker}\n");
    let start = memmem::find(output, line.as_bytes())? + line.len();
    let length = memmem::find(&output[start..], line.as_bytes())?;
    let printed = &output[start..start + length];
    let end = if printed.contains(&0) { 0 } else { b'\n' };
    let pairs: Vec<_> = printed.split(|byte| *byte == end).filter_map(parse_pair).collect();
    (!pairs.is_empty()).then_some(pairs)
}

fn parse_pair(text: &[u8]) -> Option<(OsString, OsString)> {
    let equals = text.iter().position(|byte| *byte == b'=')?;
    let (name, value) = (&text[..equals], &text[equals + 1..]);
    let is_name = !name.is_empty()
        && !name[0].is_ascii_digit()
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    is_name.then(|| (OsStr::from_bytes(name).to_owned(), OsStr::from_bytes(value).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::program;
    use proptest::prelude::*;
    use std::{ffi::OsStr, fs, path::Path};

    fn with_shell(shell: &str, home: &Path) -> Environment {
        [("SHELL", shell), ("HOME", home.to_str().unwrap()), ("PATH", "/usr/bin:/bin")]
            .map(|(name, value)| (name.into(), value.into()))
            .into_iter()
            .collect()
    }

    #[test]
    fn bash_reads_its_startup_files() {
        let home = tempfile::tempdir().unwrap();
        let profile =
            "echo A greeting without an end\nexport PATH=/opt/tools/bin:$PATH\nexport NOTE='two\nlines'\n";
        fs::write(home.path().join(".bash_profile"), profile).unwrap();
        let asked =
            read_environment(&with_shell("/bin/bash", home.path()), &CancellationToken::new()).unwrap();
        assert!(asked.path().to_string_lossy().starts_with("/opt/tools/bin:"), "{:?}", asked.path());
        assert_eq!(asked.get("NOTE"), Some(OsStr::new("two\nlines")));
    }

    /// The contents of each shell's start-up file, which extend the PATH and print text before and after.
    const START_UP_FILES: [(&str, &str, &str); 11] = [
        ("/bin/bash", ".bash_profile", "printf 'Hi'; export PATH=/opt/tools/bin:$PATH; echo bye"),
        ("/bin/dash", ".profile", "printf 'Hi'; export PATH=/opt/tools/bin:$PATH"),
        ("/bin/zsh", ".zshrc", "printf 'Hi'; export PATH=/opt/tools/bin:$PATH"),
        ("/bin/ksh", ".profile", "printf 'Hi'; export PATH=/opt/tools/bin:$PATH"),
        ("/bin/tcsh", ".login", "echo Hi\nset path = (/opt/tools/bin $path)"),
        ("/bin/tcsh", ".tcshrc", "echo Hi\nset path = (/opt/tools/bin $path)"),
        ("/bin/fish", ".config/fish/config.fish", "printf 'Hi'; set -gx PATH /opt/tools/bin $PATH; echo bye"),
        ("/usr/bin/elvish", ".config/elvish/rc.elv", "print Hi; set paths = [/opt/tools/bin $@paths]"),
        ("nu", ".config/nushell/env.nu", "print Hi; $env.PATH = ($env.PATH | prepend /opt/tools/bin)"),
        ("xonsh", ".xonshrc", "print('Hi', end='')\n$PATH.insert(0, '/opt/tools/bin')"),
        ("pwsh", ".config/powershell/profile.ps1", "'Hi'; $env:PATH = '/opt/tools/bin:' + $env:PATH"),
    ];

    /// Shells that are not installed are skipped; bash is installed everywhere.
    #[test]
    fn every_shell_reports_path_of_its_startup_files() {
        let own = Environment::of_this_process();
        let mut asked = 0;
        for (shell, file, text) in START_UP_FILES {
            let Some(program) = own.find(shell) else { continue };
            let home = tempfile::tempdir().unwrap();
            let file = home.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
            let found = read_environment(
                &with_shell(program.to_str().unwrap(), home.path()),
                &CancellationToken::new(),
            );
            let path = found.unwrap_or_else(|why| panic!("{shell}: {why}")).path().to_owned();
            assert!(path.to_string_lossy().starts_with("/opt/tools/bin:"), "{shell}: {path:?}");
            asked += 1;
        }
        assert!(asked > 0);
    }

    #[test]
    fn shells_get_their_own_options() {
        let arguments = |shell: &str| {
            let command = with_arguments(Command::new(shell), Path::new(shell), "M");
            command.get_args().map(|argument| argument.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let print = "/bin/sh -c 'echo; echo M; /usr/bin/env -0 || /usr/bin/env; echo; echo M'";
        for shell in ["/bin/zsh", "/opt/homebrew/bin/nu", "/usr/local/bin/pwsh", "/usr/bin/fish"] {
            assert_eq!(arguments(shell), ["-l", "-i", "-c", print]);
        }
        assert_eq!(arguments("/bin/tcsh"), ["-i", "-c", print]);
        assert!(arguments("/usr/bin/elvish")[1].ends_with(&format!("; {print}")));
    }

    #[test]
    fn silent_shell_is_explained() {
        let home = tempfile::tempdir().unwrap();
        let script =
            |name: &str, text: &str| program(home.path(), name, text).into_os_string().into_string().unwrap();
        let rows = [
            (String::new(), "SHELL is not set", "Set SHELL"),
            ("zsh".to_owned(), "SHELL is zsh, which is not an absolute path", "Set SHELL"),
            ("/no/such/shell".to_owned(), "The login shell /no/such/shell does not start", "`chsh`"),
            (script("silent", "exit 0"), "did not print its environment", "start-up files"),
            (script("other", "echo PATH=/x"), "did not print its environment", "start-up files"),
        ];
        for (shell, problem, remedy) in rows {
            let why = read_environment(&with_shell(&shell, home.path()), &CancellationToken::new())
                .unwrap_err()
                .problem();
            assert!(why.problem.contains(problem) && why.problem.contains(&shell), "{shell}: {why:?}");
            assert!(why.remedy.contains(remedy) && why.remedy.ends_with("own PATH on."), "{shell}: {why:?}");
        }
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        let hangs = script("hangs", "sleep 1000");
        let why = read_environment(&with_shell(&hangs, home.path()), &cancelled).unwrap_err().problem();
        assert_eq!(why.problem, format!("The login shell {hangs} did not answer within 5 s."));
        assert!(why.remedy.contains(&format!("`{hangs} -i -c true </dev/null`")), "{why:?}");
    }

    #[test]
    fn parse_variables_accepts_both_kinds_of_env() {
        type Row<'a> = (&'a [u8], &'a [(&'a str, &'a str)]);
        let rows: [Row<'_>; 4] = [
            (b"hi\n\nM\nA=1\0B=x=y\nz\0BASH_FUNC_f%%=() { :; }\0\nM\n", &[("A", "1"), ("B", "x=y\nz")]),
            (b"\nM\nA=1\nB=x=y\nz\n  c=d\n1=2\n\nM\nbye", &[("A", "1"), ("B", "x=y")]),
            (b"\nM\nEMPTY=\0\nM\n", &[("EMPTY", "")]),
            (b"echo M\n\nM\nA=1\0\nM\n", &[("A", "1")]),
        ];
        for (output, expected) in rows {
            let expected: Vec<_> =
                expected.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            assert_eq!(parse_variables(output, "M"), Some(expected), "{}", String::from_utf8_lossy(output));
        }
    }

    #[test]
    fn parse_variables_rejects_partial_output() {
        for output in ["", "\nM\n", "\nM\nA=1\0", "A=1\n", "\nM\n\nM\n", "\nM\nnothing\n\nM\n"] {
            assert_eq!(parse_variables(output.as_bytes(), "M"), None, "{output:?}");
        }
    }

    proptest! {
        #[test]
        fn parse_variables_accepts_any_bytes(output in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut framed = b"\nM\n".to_vec();
            framed.extend(&output);
            framed.extend(b"\nM\n");
            for (name, _) in parse_variables(&framed, "M").unwrap_or_default() {
                prop_assert!(!name.is_empty());
            }
        }
    }
}
