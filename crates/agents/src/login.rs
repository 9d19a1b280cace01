//! Logging in to an agent: its own program in a terminal that clients show.

use crate::{
    known::KnownAgent,
    limits::{LOGIN_BYTES, STOP_GRACE},
    packages::{Installed, Packages},
    process::exit_in_words,
    shell::Environment,
    version::runs_on_node,
};
use openagents_core::agent::{LOGIN_COLUMNS, LOGIN_ROWS, LoginScreen, LoginTerminal};
use parking_lot::{Condvar, Mutex};
use pty_process::{
    Size,
    blocking::{self, Pty},
};
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    process::Child,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// The command with which the user logs in to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoginCommand {
    program: PathBuf,
    args: Vec<String>,
    /// The program as typed in a shell: a name if it is in the `PATH`.
    typed: String,
}

impl LoginCommand {
    /// Finds the program: one that we have installed, or one in the `PATH`. `None` if there is none.
    pub(crate) fn find(known: &KnownAgent, environment: &Environment, packages: &Packages) -> Option<Self> {
        let (name, args) = known.login_program();
        let args = args.iter().map(|argument| (*argument).to_owned());
        let Some(Installed { current, .. }) = packages.installed(known.id) else {
            let program = environment.find(name)?;
            return Some(Self { program, args: args.collect(), typed: name.to_owned() });
        };
        let (speaker, node) = packages.paths(known.id, &current);
        let program = if name == known.speaker().0 {
            speaker
        } else {
            // The adapter's package depends on the one with the agent's own program.
            let modules = speaker.ancestors().find(|folder| folder.ends_with("node_modules"))?;
            Some(modules.join(".bin").join(name)).filter(|program| program.is_file())?
        };
        let script = program.to_string_lossy().into_owned();
        let (program, args) = match node.filter(|_| runs_on_node(&program)) {
            Some(node) => (node, [script].into_iter().chain(args).collect()),
            None => (program, args.collect()),
        };
        let typed = program.to_string_lossy().into_owned();
        Some(Self { program, args, typed })
    }
}

/// As typed in a shell.
impl std::fmt::Display for LoginCommand {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_plain =
            |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-@=:+".contains(&byte));
        let quoted = |word: &str| match is_plain(word) {
            true => word.to_owned(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        };
        write!(formatter, "{}", quoted(&self.typed))?;
        self.args.iter().try_for_each(|argument| write!(formatter, " {}", quoted(argument)))
    }
}

/// A running login, or one that has ended.
pub(crate) struct Login {
    terminal: Pty,
    /// The program leads a session and a process group of its own.
    group: Pid,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    parser: vt100::Parser,
    version: u64,
    /// How the program ended, and whether without an error.
    ended: Option<(String, bool)>,
}

impl std::fmt::Debug for Login {
    /// Without the screen, which may show a code.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Login").field("group", &self.group).finish_non_exhaustive()
    }
}

impl Login {
    /// Starts the program. `on_end` is called once it has ended.
    pub(crate) fn start(
        LoginCommand { program, args, .. }: &LoginCommand,
        environment: &Environment,
        folder: &Path,
        on_end: impl FnOnce() + Send + 'static,
    ) -> io::Result<Arc<Self>> {
        let failed = |error: pty_process::Error| match error {
            pty_process::Error::Io(error) => error,
            other => io::Error::other(other.to_string()),
        };
        let (terminal, program_side) = blocking::open().map_err(failed)?;
        terminal.resize(Size::new(LOGIN_ROWS.get(), LOGIN_COLUMNS.get())).map_err(failed)?;
        let command = blocking::Command::new(program)
            .args(args)
            .env_clear()
            .envs(environment.for_agents())
            .env("TERM", "xterm-256color")
            .current_dir(folder);
        let child = command.spawn(program_side).map_err(failed)?;
        let state =
            State { parser: vt100::Parser::new(LOGIN_ROWS, LOGIN_COLUMNS, 0), version: 1, ended: None };
        let group = Pid::from_child(&child);
        let login = Arc::new(Self { terminal, group, state: Mutex::new(state), changed: Condvar::new() });
        let reader = login.clone();
        let started = thread::Builder::new().name("login".to_owned()).spawn(move || {
            reader.read(child);
            on_end();
        });
        started.inspect_err(|_| login.stop())?;
        Ok(login)
    }

    /// Reads until the program has ended.
    fn read(&self, mut child: Child) {
        let mut bytes = [0; 4096];
        let mut total = 0;
        // At the end of the program, Linux reports an error instead of the end of the file.
        while let Ok(count @ 1..) = (&self.terminal).read(&mut bytes) {
            total += count;
            if total > LOGIN_BYTES {
                self.signal(Signal::KILL);
            }
            let mut state = self.state.lock();
            state.parser.process(&bytes[..count]);
            state.version += 1;
            self.changed.notify_all();
        }
        let status = child.wait();
        let ended = match status {
            Ok(status) => (exit_in_words(status), status.success()),
            Err(error) => (error.to_string(), false),
        };
        let mut state = self.state.lock();
        state.ended = Some(ended);
        state.version += 1;
        self.changed.notify_all();
    }

    pub(crate) fn is_running(&self) -> bool {
        self.state.lock().ended.is_none()
    }

    fn signal(&self, signal: Signal) {
        // Under the lock: the id is not reused before the program's end is recorded.
        let state = self.state.lock();
        if state.ended.is_none() {
            let _ = kill_process_group(self.group, signal);
        }
    }
}

impl LoginTerminal for Login {
    fn screen(&self, since: u64, wait: Duration) -> LoginScreen {
        let until = Instant::now() + wait;
        let mut state = self.state.lock();
        while state.version <= since && state.ended.is_none() {
            if self.changed.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        let screen = state.parser.screen();
        let rows: Vec<_> = screen.rows(0, LOGIN_COLUMNS.get()).collect();
        let (row, column) = screen.cursor_position();
        let mut text = String::new();
        for (at, line) in rows.iter().enumerate() {
            text.push_str(line);
            if !u16::try_from(at).is_ok_and(|at| screen.row_wrapped(at)) {
                text.push('\n');
            }
        }
        let mut lines: Vec<_> = rows.iter().map(|line| line.trim_end().to_owned()).collect();
        let used = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        lines.truncate(used.max(usize::from(row) + 1));
        let (ended, succeeded) = state.ended.clone().unzip();
        LoginScreen {
            version: state.version,
            cursor: (!screen.hide_cursor() && ended.is_none()).then_some([row, column]),
            links: links(&text),
            lines,
            ended,
            succeeded: succeeded.unwrap_or_default(),
        }
    }

    fn type_text(&self, text: &str) {
        if self.is_running()
            && let Err(error) = (&self.terminal).write_all(text.as_bytes())
        {
            tracing::debug!("a login ended while the user typed: {error}");
        }
    }

    fn stop(&self) {
        self.signal(Signal::HUP);
        let until = Instant::now() + STOP_GRACE;
        let mut state = self.state.lock();
        while state.ended.is_none() {
            if self.changed.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        drop(state);
        self.signal(Signal::KILL);
    }
}

/// The web addresses in a text, each once.
fn links(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in text.split(|letter: char| letter.is_whitespace() || "\"'<>`()[]│|".contains(letter)) {
        let Some(at) = word.find("https://").or_else(|| word.find("http://")) else { continue };
        let link = word[at..].trim_end_matches(['.', ',', ';', ':', '!', '?']);
        if link.len() > "https://".len() && !found.iter().any(|known| known == link) {
            found.push(link.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::program;
    use std::sync::mpsc;

    fn start(script: &str) -> (Arc<Login>, mpsc::Receiver<()>, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let program = program(folder.path(), "login", script);
        let command = LoginCommand { program, args: vec!["now".to_owned()], typed: "login".to_owned() };
        let (sender, ended) = mpsc::channel();
        let environment = Environment::default().with_path("/usr/bin:/bin");
        let login = Login::start(&command, &environment, folder.path(), move || {
            let _ = sender.send(());
        });
        (login.unwrap(), ended, folder)
    }

    /// Waits for a screen as expected.
    fn wait(login: &Login, is_expected: impl Fn(&LoginScreen) -> bool) -> LoginScreen {
        let mut since = 0;
        loop {
            let screen = login.screen(since, Duration::from_secs(60));
            if is_expected(&screen) {
                return screen;
            }
            assert!(screen.ended.is_none() && screen.version > since, "{screen:?}");
            since = screen.version;
        }
    }

    #[test]
    fn login_shows_the_address_and_takes_the_code() {
        let address = format!("https://example.com/login?state={}", "x".repeat(120));
        let script = format!(
            r#"test -t 0 || exit 9
printf '\033[1mOpen\033[0m {address}\r\nCode: '; read code; test "$code" = "a b" && echo "Welcome, $1""#
        );
        let (login, ended, _folder) = start(&script);
        let screen = wait(&login, |screen| screen.lines.iter().any(|line| line.starts_with("Code:")));
        assert_eq!(screen.links, [address], "{screen:?}");
        assert_eq!(screen.cursor, Some([2, 6]));
        login.type_text("a b\r");
        let screen = wait(&login, |screen| screen.ended.is_some());
        assert_eq!(
            (screen.succeeded, screen.lines.last().map(String::as_str)),
            (true, Some("")),
            "{screen:?}"
        );
        assert!(screen.lines.contains(&"Welcome, now".to_owned()), "{screen:?}");
        assert_eq!(ended.recv(), Ok(()));
        login.type_text("ignored");
        login.stop();
    }

    #[test]
    fn failed_and_stopped_logins_end_with_the_reason() {
        let (login, ended, _folder) = start("echo no >&2; exit 1");
        let screen = wait(&login, |screen| screen.ended.is_some());
        assert_eq!((screen.ended.as_deref(), screen.succeeded), (Some("exit code 1"), false));
        assert_eq!((screen.lines[0].as_str(), ended.recv()), ("no", Ok(())));
        // A program that ignores the hang-up.
        let (login, ended, _folder) = start("trap '' HUP; echo ready; while :; do sleep 1; done");
        wait(&login, |screen| screen.lines[0] == "ready");
        login.stop();
        assert_eq!(ended.recv(), Ok(()));
        assert!(login.screen(0, Duration::ZERO).ended.unwrap().contains("SIGKILL"));
    }

    #[test]
    fn debug_hides_the_screen() {
        let (login, _ended, _folder) = start("echo secret; read x");
        wait(&login, |screen| screen.lines[0] == "secret");
        assert!(!format!("{login:?}").contains("secret"));
        login.stop();
    }

    #[test]
    fn links_end_before_punctuation_and_frames() {
        let text = "Visit https://a.example/x?y=1&z=2. │https://b.example/│ (http://127.0.0.1:1455) https:// \nhttps://a.example/x?y=1&z=2";
        assert_eq!(
            links(text),
            ["https://a.example/x?y=1&z=2", "https://b.example/", "http://127.0.0.1:1455"]
        );
    }
}
