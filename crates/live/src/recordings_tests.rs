//! Scores the rules against recordings of real agents: what each left on disk, in the table of processes and in its
//! terminal's title, second by second, next to what its screen showed.

use crate::{LiveSession, LiveState, Millis, Need, Owner, Processes, Record, Terminal, ThreadStatus};
use openagents_transcripts::history::Provider;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// Evidence that a run leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Without {
    Hooks,
    Titles,
    Records,
}

#[derive(Debug, Default)]
struct Process {
    started: Millis,
    name: String,
    command: String,
    is_alive: bool,
    is_suspended: bool,
    has_terminal: bool,
}

/// Feeds a session with the events of a recording.
struct Replay<'a> {
    agent: Provider,
    session: LiveSession,
    processes: BTreeMap<u64, Process>,
    /// The process in Claude Code's record.
    owner: Option<u64>,
    threads: BTreeMap<String, ThreadStatus>,
    without: &'a [Without],
}

impl Replay<'_> {
    fn feed(&mut self, event: &Value, at: Millis) {
        let is_left_out = |what| self.without.contains(&what);
        let file = event["file"].as_str().unwrap_or_default();
        match event["kind"].as_str().unwrap() {
            "write" | "remove" if is_left_out(Without::Records) => {}
            kind @ ("append" | "rewrite") => {
                if kind == "rewrite" {
                    self.session.log_replaced();
                }
                let lines = event["lines"].as_array().into_iter().flatten();
                for line in lines.filter(|_| !file.contains("/subagents/")) {
                    self.session.line(line, at);
                }
            }
            "row" => self.session.row(event["table"].as_str().unwrap(), &event["row"], at),
            "process" => self.process(event, at),
            "write" if self.agent == Provider::ClaudeCode && file.starts_with("sessions/") => {
                let record = &event["json"];
                if let Some(pid) = record["pid"].as_u64() {
                    self.owner = Some(pid);
                    self.session.set_session();
                    self.session.set_record(Record::read(record, at));
                }
            }
            "write" if file.starts_with("thread-writer-locks/") && !file.contains("coordination") => {
                self.session.set_session();
            }
            "remove" if self.agent == Provider::ClaudeCode && file.starts_with("sessions/") => {
                self.session.set_record(Some(Record::removed(at)));
            }
            "server" if event["method"] == "thread/status/changed" => {
                let params = &event["params"];
                let thread = params["threadId"].as_str().unwrap().to_owned();
                if let Some(status) = ThreadStatus::read(&params["status"]) {
                    self.threads.insert(thread, status);
                }
                let active = |status: &&ThreadStatus| !matches!(status, ThreadStatus::Idle);
                let status = self.threads.values().find(active).copied().unwrap_or(ThreadStatus::Idle);
                self.session.set_thread(status, at);
            }
            "title" if !is_left_out(Without::Titles) => {
                self.session.set_title(event["text"].as_str().unwrap_or_default(), at);
            }
            "hook" if !is_left_out(Without::Hooks) => {
                self.session.hook(event["event"].as_str().unwrap(), &event["payload"], at);
            }
            _ => {}
        }
        let processes = self.view();
        self.session.set_processes(processes);
    }

    fn process(&mut self, event: &Value, at: Millis) {
        let process = self.processes.entry(event["pid"].as_u64().unwrap()).or_default();
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        match event["event"].as_str().unwrap() {
            "start" => {
                *process = Process {
                    started: at,
                    name: text("name"),
                    command: text("args"),
                    is_alive: true,
                    is_suspended: false,
                    has_terminal: event["tty"] == true,
                };
            }
            "end" => process.is_alive = false,
            "stop" => process.is_suspended = true,
            "continue" => process.is_suspended = false,
            "no-tty" => process.has_terminal = false,
            "tty" => process.has_terminal = true,
            "name" => process.name = text("name"),
            other => panic!("unknown event {other}"),
        }
    }

    fn view(&self) -> Processes {
        let mut view = Processes::default();
        let owner = self.owner.filter(|owner| self.processes.contains_key(owner));
        for (pid, process) in &self.processes {
            let is_agent = is_agent(self.agent, &process.name);
            if process.command.contains("app-server") {
                // The service of Codex says itself what it does.
            } else if is_agent && owner.is_none_or(|owner| owner == *pid) {
                view.owners.push(Owner {
                    started: process.started,
                    is_alive: process.is_alive,
                    is_suspended: process.is_suspended,
                    terminal: if process.has_terminal { Terminal::Open } else { Terminal::Closed },
                });
            } else if !is_agent && process.is_alive {
                view.children.push(process.started);
            }
        }
        view
    }
}

/// The recordings have the names of processes, and of their command lines only the start.
fn is_agent(agent: Provider, name: &str) -> bool {
    match agent {
        Provider::ClaudeCode => name == "claude",
        Provider::Codex => matches!(name, "codex" | "node" | "MainThread"),
        Provider::Opencode => name == "opencode",
        // Node names its main thread, not the program.
        _ => matches!(name, "MainThread" | "node"),
    }
}

fn word(state: &LiveState) -> &'static str {
    match state {
        LiveState::Idle => "idle",
        LiveState::Working => "working",
        LiveState::Needs(_) => "needs",
        LiveState::Done => "done",
        LiveState::Failed(_) => "failed",
        LiveState::Stopped(_) => "stopped",
        LiveState::Unclear(_) => "unclear",
    }
}

/// The words of the recordings.
fn need_words(need: Need) -> &'static [&'static str] {
    match need {
        Need::Approval => &["approval"],
        Need::Question => &["question"],
        Need::Plan => &["plan"],
        Need::StartScreen => &["trust", "start"],
        Need::Dialog => &["dialog"],
    }
}

/// A look at the state, once a second.
struct Look {
    recording: String,
    agent: &'static str,
    second: i64,
    truth: (String, Option<String>),
    /// Something outside of the agent's window shows it.
    is_knowable: bool,
    state: LiveState,
}

fn looks(path: &Path, without: &[Without]) -> Vec<Look> {
    let text = fs::read_to_string(path).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let time = |event: &Value| (event["t"].as_f64().unwrap() * 1000.0).round() as Millis;
    let agent = match events[0]["agent"].as_str().unwrap() {
        "claude" => Provider::ClaudeCode,
        other => Provider::parse(other).unwrap(),
    };
    let changes: Vec<Millis> = events.iter().filter(|event| event["kind"] == "truth").map(time).collect();
    let session = LiveSession::new(agent);
    let (processes, threads) = (BTreeMap::new(), BTreeMap::new());
    let mut replay = Replay { agent, session, processes, owner: None, threads, without };
    let (mut looks, mut truth) = (Vec::new(), None);
    let mut left = events.iter().peekable();
    let end = time(events.last().unwrap());
    for second in 1..=end / 1000 {
        let now = second * 1000;
        while let Some(event) = left.next_if(|event| time(event) <= now) {
            if event["kind"] == "truth" {
                let reason = event["reason"].as_str().map(str::to_owned);
                truth =
                    Some((event["state"].as_str().unwrap().to_owned(), reason, event["knowable"] != false));
            } else {
                replay.feed(event, time(event));
            }
        }
        // A change is known from the screen, up to half a second late, and has a second to be noticed.
        let changes_now = changes.iter().any(|change| (-500..1000).contains(&(now - change)));
        if let Some((state, reason, is_knowable)) = truth.clone().filter(|_| !changes_now) {
            looks.push(Look {
                recording: path.file_stem().unwrap().to_string_lossy().into_owned(),
                agent: agent.as_str(),
                second,
                truth: (state, reason),
                is_knowable,
                state: replay.session.reading(now).state,
            });
        }
    }
    looks
}

fn recordings() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Returns a report, and the share of seconds that are right, in percent.
fn score(without: &[Without]) -> (String, f64) {
    let looks: Vec<Look> = recordings().iter().flat_map(|path| looks(path, without)).collect();
    let is_unclear = |look: &&Look| matches!(look.state, LiveState::Unclear(_));
    let unclear = looks.iter().filter(is_unclear).count();
    let counted: Vec<&Look> = looks.iter().filter(|look| look.is_knowable && !is_unclear(look)).collect();
    let is_right = |look: &&&Look| word(&look.state) == look.truth.0;
    let right = counted.iter().filter(is_right).count();
    let share = 100.0 * right as f64 / counted.len() as f64;
    let mut report = String::new();
    writeln!(report, "{} s, right {share:.1} %, {unclear} s unclear", counted.len()).unwrap();
    let mut states: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let mut agents: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let mut reasons = [0, 0];
    for look in &counted {
        let (shown, is_right) = (word(&look.state), is_right(&look));
        states.entry(shown).or_default()[1] += 1;
        states.entry(&look.truth.0).or_default()[2] += 1;
        states.entry(shown).or_default()[0] += usize::from(is_right);
        let agent = agents.entry(look.agent).or_default();
        *agent = [agent[0] + usize::from(is_right), agent[1] + 1];
        if let (LiveState::Needs(need), true) = (&look.state, is_right) {
            let is_same = look.truth.1.as_deref().is_some_and(|reason| need_words(*need).contains(&reason));
            reasons = [reasons[0] + usize::from(is_same), reasons[1] + 1];
        }
    }
    for (state, [hit, shown, was]) in states {
        let percent = |of: usize| 100.0 * hit as f64 / of.max(1) as f64;
        let (precision, recall) = (percent(shown), percent(was));
        writeln!(report, "{state:8} precision {precision:5.1} %, recall {recall:5.1} % of {was} s").unwrap();
    }
    for (agent, [right, all]) in agents {
        writeln!(report, "{agent:12} {:5.1} % of {all} s", 100.0 * right as f64 / all as f64).unwrap();
    }
    writeln!(report, "what is needed: {} of {} right", reasons[0], reasons[1]).unwrap();
    for look in counted.iter().filter(|look| !is_right(look)) {
        let (shown, truth) = (word(&look.state), &look.truth.0);
        writeln!(report, "{} at {} s: {shown}, was {truth}", look.recording, look.second).unwrap();
    }
    (report, share)
}

#[test]
fn states_of_recorded_agents_with_all_evidence() {
    let (report, share) = score(&[]);
    insta::assert_snapshot!(report);
    assert!(share >= 99.0, "{report}");
}

#[test]
fn states_of_recorded_agents_without_hooks() {
    let (report, share) = score(&[Without::Hooks]);
    insta::assert_snapshot!(report);
    assert!(share >= 98.0, "{report}");
}

#[test]
fn states_of_recorded_agents_without_hooks_and_titles() {
    let (report, share) = score(&[Without::Hooks, Without::Titles]);
    insta::assert_snapshot!(report);
    assert!(share >= 97.0, "{report}");
}

/// Without what agents publish on purpose, the rules still say something, and never panic.
#[test]
fn states_of_recorded_agents_by_log_and_processes_alone() {
    let (report, share) = score(&[Without::Hooks, Without::Titles, Without::Records]);
    insta::assert_snapshot!(report);
    assert!(share >= 85.0, "{report}");
}
