//! Logging in to an agent: its own program in a terminal that clients show.

use crate::{
    known::KnownAgent,
    limits::{CAPTURE_REST, LOGIN_BYTES, LOGIN_CHECK, LOGIN_FORGOTTEN, LOGIN_TEXT, LOGIN_TYPED, STOP_GRACE},
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
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::{
    io::{self, Read as _, Write as _},
    num::NonZeroU16,
    path::{Path, PathBuf},
    process::Child,
    sync::{Arc, mpsc},
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
    /// The process group that the program leads.
    group: Pid,
    typed: mpsc::SyncSender<String>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    parser: vt100::Parser,
    version: u64,
    /// All output has been read.
    is_read: bool,
    /// How the program ended, and whether without an error.
    ended: Option<(String, bool)>,
    /// When a client last asked for the screen.
    seen: Instant,
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
        terminal.resize(Size::new(LOGIN_ROWS, LOGIN_COLUMNS)).map_err(failed)?;
        let command = blocking::Command::new(program)
            .args(args)
            .env_clear()
            .envs(environment.for_agents())
            .env("TERM", "xterm-256color")
            .current_dir(folder);
        let child = command.spawn(program_side).map_err(failed)?;
        let (typed, to_type) = mpsc::sync_channel(LOGIN_TYPED);
        let [rows, columns] =
            [LOGIN_ROWS, LOGIN_COLUMNS].map(|size| NonZeroU16::new(size).unwrap_or(NonZeroU16::MIN));
        let state = State {
            parser: vt100::Parser::new(rows, columns, 0),
            version: 1,
            is_read: false,
            ended: None,
            seen: Instant::now(),
        };
        let group = Pid::from_child(&child);
        let login = Arc::new(Self { group, typed, state: Mutex::new(state), changed: Condvar::new() });
        let terminal = Arc::new(terminal);
        let (reader, typist, waiter) = (login.clone(), login.clone(), login.clone());
        let writer = terminal.clone();
        let threads = [
            spawn("login-read", move || reader.read(&terminal)),
            spawn("login-write", move || typist.write(&writer, &to_type)),
            spawn("login-wait", move || {
                waiter.wait_for(child);
                on_end();
            }),
        ];
        threads.into_iter().collect::<io::Result<()>>().inspect_err(|_| {
            let _ = kill_process_group(group, Signal::KILL);
        })?;
        Ok(login)
    }

    fn read(&self, mut terminal: &Pty) {
        let mut bytes = [0; 4096];
        let mut total = 0;
        // At the end of the program, Linux reports an error instead of the end of the file.
        while let Ok(count @ 1..) = terminal.read(&mut bytes) {
            total += count;
            if total > LOGIN_BYTES {
                self.signal(Signal::KILL);
            }
            self.change(|state| state.parser.process(&bytes[..count]));
        }
        self.change(|state| state.is_read = true);
    }

    /// Ends the rest of the program's group with it, and reaps it after that: its id is not reused until then.
    fn wait_for(&self, mut child: Child) {
        while let Err(rustix::io::Errno::INTR) =
            waitid(WaitId::Pid(self.group), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        {}
        let until = Instant::now() + CAPTURE_REST;
        let mut state = self.state.lock();
        // A process that is left behind may keep the terminal open.
        while !state.is_read && !self.changed.wait_until(&mut state, until).timed_out() {}
        // Fails if no process is left.
        let _ = kill_process_group(self.group, Signal::KILL);
        state.ended = Some(match child.wait() {
            Ok(status) => (exit_in_words(status), status.success()),
            Err(error) => (error.to_string(), false),
        });
        state.version += 1;
        self.changed.notify_all();
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock();
        change(&mut state);
        state.version += 1;
        self.changed.notify_all();
    }

    /// Writes what is typed: a program that does not read holds up this thread only. Also ends a login that no client
    /// shows any more.
    fn write(&self, mut terminal: &Pty, typed: &mpsc::Receiver<String>) {
        loop {
            match typed.recv_timeout(LOGIN_CHECK) {
                Ok(text) => {
                    if let Err(error) = terminal.write_all(text.as_bytes()) {
                        tracing::debug!("a login ended while the user typed: {error}");
                        return;
                    }
                }
                Err(mpsc::RecvTimeoutError::Timeout) if self.is_running() => {
                    if self.is_forgotten() {
                        self.stop();
                    }
                }
                Err(_) => return,
            }
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.state.lock().ended.is_none()
    }

    /// Returns whether no client has asked for its screen for some time.
    fn is_forgotten(&self) -> bool {
        self.state.lock().seen.elapsed() > LOGIN_FORGOTTEN
    }

    fn signal(&self, signal: Signal) {
        // Under the lock: the id is not reused before the program's end is recorded.
        let state = self.state.lock();
        if state.ended.is_none() {
            let _ = kill_process_group(self.group, signal);
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

impl LoginTerminal for Login {
    fn screen(&self, since: u64, wait: Duration) -> LoginScreen {
        let until = Instant::now() + wait;
        let mut state = self.state.lock();
        state.seen = Instant::now();
        while state.version <= since && state.ended.is_none() {
            if self.changed.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        let screen = state.parser.screen();
        let rows: Vec<_> = screen.rows(0, LOGIN_COLUMNS).collect();
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

    fn type_text(&self, text: &str) -> Result<(), String> {
        if text.len() > LOGIN_TEXT {
            return Err(format!("the text has {} bytes; type at most {LOGIN_TEXT} at a time", text.len()));
        }
        match self.typed.try_send(text.to_owned()) {
            Err(mpsc::TrySendError::Full(_)) => {
                Err("the program does not read what is typed; cancel the login".to_owned())
            }
            // The program has ended.
            Ok(()) | Err(mpsc::TrySendError::Disconnected(_)) => Ok(()),
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
        login.type_text("a b\r").unwrap();
        let screen = wait(&login, |screen| screen.ended.is_some());
        assert_eq!(
            (screen.succeeded, screen.lines.last().map(String::as_str)),
            (true, Some("")),
            "{screen:?}"
        );
        assert!(screen.lines.contains(&"Welcome, now".to_owned()), "{screen:?}");
        assert_eq!(ended.recv(), Ok(()));
        login.type_text("ignored").unwrap();
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
    fn program_that_does_not_read_holds_up_nobody() {
        let (login, ended, _folder) = start("echo ready; sleep 1000");
        wait(&login, |screen| screen.lines[0] == "ready");
        assert!(login.type_text(&"x".repeat(LOGIN_TEXT + 1)).is_err());
        let line = "x".repeat(LOGIN_TEXT);
        let refused = (0..1_000).find_map(|_| login.type_text(&line).err()).unwrap();
        assert!(refused.contains("does not read"), "{refused}");
        login.stop();
        assert_eq!(ended.recv(), Ok(()));
    }

    #[test]
    fn process_left_behind_does_not_keep_the_login_running() {
        let (login, ended, _folder) = start("trap '' HUP; (trap '' HUP; sleep 1000) & echo done");
        assert_eq!(ended.recv(), Ok(()));
        let screen = login.screen(0, Duration::ZERO);
        assert_eq!((screen.lines[0].as_str(), screen.succeeded), ("done", true));
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
