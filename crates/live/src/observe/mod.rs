//! Observes the agents on this computer: finds their processes and sessions, and follows what they leave on disk.

mod find;
mod log;
mod panes;

use crate::{
    processes::{Owner, Processes, Terminal},
    session::LiveSession,
    state::{LiveState, Millis, Reading},
    status::Record,
    system::{Pane, ProcessFact, ProcessId, System},
};
use find::{Found, RECORD};
use log::FollowedLog;
use openagents_core::{clock::now_ms, file};
use openagents_transcripts::history::{HistoryRoots, Provider};
use panes::PaneFact;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::PathBuf,
    time::SystemTime,
};

/// Time between looks at the table of processes while an agent runs, and while none does.
const SCAN: Millis = 2_000;
const IDLE_SCAN: Millis = 5_000;
/// How long a session that ended in an error, or in the middle of a turn, stays in the list.
const STAYS: Millis = 12 * 60 * 60 * 1000;
/// Agents whose titles show their state.
const TITLED: [Provider; 3] = [Provider::Gemini, Provider::Qwen, Provider::Codex];
/// Folders below the root of an agent that change when one of its processes starts or ends.
const FOLDERS: [(Provider, &str); 4] = [
    (Provider::ClaudeCode, "sessions"),
    (Provider::Qwen, "sessions"),
    (Provider::Codex, "thread-writer-locks"),
    (Provider::Copilot, "session-state"),
];

/// A session of an agent that runs, or that ended in a way the user should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveRow {
    pub agent: Provider,
    /// The agent's id of the session; `None` while it has none.
    pub id: Option<String>,
    pub folder: Option<PathBuf>,
    pub reading: Reading,
    /// When this state began.
    pub since: Millis,
    /// When the evidence was last looked at.
    pub checked: Millis,
    /// The tool that runs or waits.
    pub tool: Option<String>,
    /// Where it runs: `tmux work:2.1`.
    pub place: Option<String>,
}

impl LiveRow {
    /// Whether a row says the same, apart from when it was looked at.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let without_times = |row: &Self| {
            let mut row = Self { checked: 0, ..row.clone() };
            row.reading.evidence.at = 0;
            row
        };
        without_times(self) == without_times(other)
    }
}

/// The processes of one session: the one that the user started, and those that it needs for itself.
#[derive(Debug, Clone)]
struct Group {
    agent: Provider,
    members: Vec<ProcessFact>,
    children: Vec<Millis>,
    is_service: bool,
}

/// A session: by its id, or by the process that has none yet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Session(Provider, String),
    Process(ProcessId),
}

#[derive(Debug)]
struct Watched {
    agent: Provider,
    id: Option<String>,
    folder: Option<PathBuf>,
    session: LiveSession,
    log: Option<FollowedLog>,
    /// Claude Code's file for the process, and when it was last written.
    record: Option<(PathBuf, Option<SystemTime>)>,
    pane: Option<Pane>,
    place: Option<String>,
    is_alive: bool,
    reading: Reading,
    since: Millis,
}

/// Observes the agents of one user.
#[derive(Debug)]
pub struct Observer {
    roots: HistoryRoots,
    system: System,
    watched: BTreeMap<Key, Watched>,
    /// What each process had open.
    open: HashMap<ProcessId, Found>,
    scanned: Millis,
    /// When each of [`FOLDERS`] was last changed.
    folders: HashMap<PathBuf, SystemTime>,
    checked: Millis,
}

impl Observer {
    pub fn new(roots: HistoryRoots) -> Self {
        Self {
            roots,
            system: System::new(),
            watched: BTreeMap::new(),
            open: HashMap::new(),
            scanned: 0,
            folders: HashMap::new(),
            checked: 0,
        }
    }

    /// Whether an agent runs.
    pub fn is_busy(&self) -> bool {
        self.watched.values().any(|watched| watched.is_alive)
    }

    /// Looks at everything that may have changed. Blocks.
    pub fn look(&mut self) {
        let now = now_ms();
        let every = if self.is_busy() { SCAN } else { IDLE_SCAN };
        // A clock that was set back does not stop the scan.
        let is_due = (now - self.scanned).abs() >= every;
        let is_changed = self.folders_changed();
        if is_changed || is_due {
            self.scan(now, is_changed);
        }
        if self.read(now) {
            self.scan(now, true);
            self.read(now);
        }
        self.checked = now;
        let ended = |watched: &Watched| {
            let is_news = matches!(watched.reading.state, LiveState::Failed(_) | LiveState::Stopped(_));
            !watched.is_alive && (!is_news || now - watched.since > STAYS)
        };
        self.watched.retain(|_, watched| !ended(watched));
    }

    /// Returns the sessions, those of which the state changed last first.
    pub fn rows(&self) -> Vec<LiveRow> {
        let row = |watched: &Watched| LiveRow {
            agent: watched.agent,
            id: watched.id.clone(),
            folder: watched.folder.clone(),
            reading: watched.reading.clone(),
            since: watched.since,
            checked: self.checked,
            tool: watched.session.tool().map(str::to_owned),
            place: watched.place.clone(),
        };
        let mut rows: Vec<_> = self.watched.values().map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.since));
        rows
    }

    /// Reads what is new of each session. Returns whether a process may have another session or log by now.
    fn read(&mut self, now: Millis) -> bool {
        self.watched.values_mut().fold(false, |is_moved, watched| watched.look(now) | is_moved)
    }

    fn folders_changed(&mut self) -> bool {
        let mut is_changed = false;
        for (agent, root) in self.roots.iter() {
            for (_, name) in FOLDERS.iter().filter(|(of, _)| *of == agent) {
                let folder = root.join(name);
                let Some(changed) = fs::metadata(&folder).ok().and_then(|it| it.modified().ok()) else {
                    continue;
                };
                is_changed |= self.folders.insert(folder, changed).is_none_or(|before| before != changed);
            }
        }
        is_changed
    }

    /// Looks for processes and their sessions. `is_changed`: files that name sessions may have changed.
    fn scan(&mut self, now: Millis, is_changed: bool) {
        self.scanned = now;
        let mut groups = groups(self.system.scan());
        groups.retain(|group| group.members.iter().all(|member| self.is_ours(member)));
        let has_service = groups.iter().any(|group| group.is_service);
        // What these do is known only with their session: a window of Codex's service has nothing open itself, other
        // systems do not show open files, and the sessions of opencode are in its database.
        let is_blind = |group: &Group| match group.agent {
            Provider::Codex => !group.is_service && (has_service || !cfg!(target_os = "linux")),
            Provider::Opencode => true,
            _ => false,
        };
        let mut alive = BTreeSet::new();
        let mut open = HashMap::new();
        for group in groups {
            for found in self.sessions(&group, is_changed) {
                let is_known = found.id.is_some() || !is_blind(&group);
                let Some(first) = group.members.first().filter(|_| is_known) else { continue };
                if found.id.is_some() {
                    open.insert(first.id, found.clone());
                }
                let key = match &found.id {
                    Some(id) => Key::Session(group.agent, id.clone()),
                    None => Key::Process(first.id),
                };
                let watched =
                    self.watched.entry(key.clone()).or_insert_with(|| Watched::new(group.agent, now));
                watched.belongs(&group, found, alive.contains(&key));
                alive.insert(key);
            }
        }
        self.open = open;
        for (key, watched) in &mut self.watched {
            if watched.is_alive && !alive.contains(key) {
                watched.end();
            }
        }
        // A process whose session has an id by now is not listed twice.
        self.watched.retain(|key, watched| watched.is_alive || matches!(key, Key::Session(..)));
        self.read_panes(now);
    }

    /// Whether a process keeps its sessions where we look.
    fn is_ours(&self, process: &ProcessFact) -> bool {
        let Some(config) = &process.config else { return true };
        self.roots.iter().any(|(agent, root)| process.agent == Some(agent) && root == config)
    }

    /// Returns the sessions of a group. A service may have several, or none.
    fn sessions(&self, group: &Group, is_changed: bool) -> Vec<Found> {
        let before = || group.members.first().and_then(|first| self.open.get(&first.id)).cloned();
        // Finding one of Copilot looks at all of its sessions.
        let is_costly = group.agent == Provider::Copilot && !is_changed;
        if let Some(found) = before().filter(|found| is_costly && found.log.is_some()) {
            return vec![found];
        }
        let roots: Vec<_> = self.roots.iter().filter(|(agent, _)| *agent == group.agent).collect();
        let mut found: Vec<Found> = Vec::new();
        for member in &group.members {
            let each = roots.iter().flat_map(|(_, root)| find::find(root, member));
            found.extend(each.filter(|found| found.id.is_some()));
        }
        if !group.is_service {
            found.truncate(1);
        }
        // A process that exits, or writes its file at this moment, still has the session that it had.
        if found.is_empty() && !group.is_service {
            found.extend(before());
        }
        if found.is_empty() && !group.is_service {
            let folder = group.members.iter().find_map(|member| member.folder.clone());
            found.push(Found { folder, ..Found::default() });
        }
        found
    }

    fn read_panes(&mut self, now: Millis) {
        let needs = |watched: &&Watched| {
            watched.is_alive && (TITLED.contains(&watched.agent) || watched.place.is_none())
        };
        let wanted = self.watched.values().filter(needs).filter_map(|watched| watched.pane.clone()).collect();
        let found = panes::list(&wanted);
        for watched in self.watched.values_mut() {
            let fact = watched.pane.as_ref().and_then(|pane| found.get(pane)).cloned();
            if let Some(PaneFact { place, title }) = fact {
                watched.place = Some(format!("tmux {place}"));
                watched.session.set_title(&title, now);
            }
        }
    }
}

impl Watched {
    fn new(agent: Provider, now: Millis) -> Self {
        let session = LiveSession::new(agent);
        let reading = session.reading(now);
        Self {
            agent,
            id: None,
            folder: None,
            session,
            log: None,
            record: None,
            pane: None,
            place: None,
            is_alive: true,
            reading,
            since: 0,
        }
    }

    /// The session is open in a group of processes; `is_second` if it is open in another one, too.
    fn belongs(&mut self, group: &Group, found: Found, is_second: bool) {
        self.is_alive = true;
        self.id = found.id;
        self.folder = found.folder.or_else(|| self.folder.take());
        self.pane = group.members.iter().find_map(|member| member.pane.clone());
        if let Some(path) = found.log.filter(|path| self.log.as_ref().is_none_or(|log| log.path != *path)) {
            self.log = Some(FollowedLog::new(path));
        }
        if self.id.is_some() {
            self.session.set_session();
        }
        if let Some(path) = found.record.filter(|_| !is_second) {
            let known = self.record.take().filter(|(known, _)| *known == path);
            self.record = Some(known.unwrap_or((path, None)));
        }
        let owner = |fact: &ProcessFact| Owner {
            started: fact.started,
            is_alive: true,
            is_suspended: fact.is_suspended,
            terminal: if group.is_service { Terminal::None } else { fact.terminal },
        };
        let owners = group.members.iter().map(owner).collect();
        let processes = Processes { owners, children: group.children.clone() };
        match is_second {
            true => self.session.add_processes(processes),
            false => self.session.set_processes(processes),
        }
    }

    /// Its processes are gone.
    fn end(&mut self) {
        self.is_alive = false;
        let gone = Owner { started: 0, is_alive: false, is_suspended: false, terminal: Terminal::Closed };
        self.session.set_processes(Processes { owners: vec![gone], children: Vec::new() });
    }

    /// Reads what is new. Returns whether its process may have another session or log by now.
    fn look(&mut self, now: Millis) -> bool {
        let mut is_moved = false;
        if let Some((path, read)) = &mut self.record {
            let written = fs::metadata(&*path).ok().and_then(|it| it.modified().ok());
            if written.is_some() && written != *read {
                let text = file::read_bounded(path, RECORD).unwrap_or_default();
                // It is written in place: broken JSON is read again.
                if let Ok(record) = serde_json::from_slice::<Value>(&text) {
                    *read = written;
                    // Its log is written a moment later than the record of a new session.
                    is_moved = record["sessionId"].as_str() != self.id.as_deref() || self.log.is_none();
                    // It may have been written long before we started.
                    let at = written.map_or(now, |written| millis(written).min(now));
                    self.session.set_record(Record::read(&record, at));
                }
            } else if written.is_none() && read.is_some() {
                *read = None;
                self.session.set_record(Some(Record::removed(now)));
            }
        }
        if let Some(log) = &mut self.log {
            let is_first = !log.is_read();
            let news = log.look().unwrap_or_default();
            if news.is_replaced {
                self.session.log_replaced();
            }
            for line in &news.lines {
                let at = if is_first { written_at(line).unwrap_or(now) } else { now };
                self.session.line(line, at);
            }
        }
        let reading = self.session.reading(now);
        if self.since == 0 {
            self.since = if reading.evidence.at > 0 { reading.evidence.at.min(now) } else { now };
        } else if reading.state != self.reading.state {
            self.since = now;
        }
        self.reading = reading;
        is_moved
    }
}

fn millis(time: SystemTime) -> Millis {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}

/// The time in a record of a log.
fn written_at(line: &Value) -> Option<Millis> {
    let at = line["timestamp"].as_str()?.parse::<jiff::Timestamp>().ok()?;
    Some(at.as_millisecond())
}

/// Joins processes to groups: a process of an agent that another one of the same agent has started directly belongs to it.
fn groups(facts: Vec<ProcessFact>) -> Vec<Group> {
    let by_pid: HashMap<u32, &ProcessFact> = facts.iter().map(|fact| (fact.id.pid, fact)).collect();
    let head = |fact: &ProcessFact| {
        let mut head = fact.clone();
        for _ in 0..by_pid.len() {
            let Some(parent) = by_pid.get(&head.parent) else { break };
            if head.agent.is_some() && parent.agent != head.agent {
                break;
            }
            head = (*parent).clone();
        }
        head
    };
    let mut groups: BTreeMap<ProcessId, Group> = BTreeMap::new();
    for fact in &facts {
        let head = head(fact);
        let Some(agent) = head.agent else { continue };
        let group = groups.entry(head.id).or_insert_with(|| Group {
            agent,
            members: Vec::new(),
            children: Vec::new(),
            is_service: head.is_service(),
        });
        if fact.agent.is_some() {
            group.members.push(fact.clone());
        } else {
            group.children.push(fact.started);
        }
    }
    groups.into_values().collect()
}
