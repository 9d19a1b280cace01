//! Agents that speak the Agent Client Protocol on their standard input and output.
//!
//! Each session has one process, kept from turn to turn. A thread reads it line by line and shows its output; the
//! thread that sent the prompt only waits for the end, which is reported exactly once, whether the agent, the user or
//! a crash ends the turn. Output that arrives after that is marked as late.
//!
//! Only the types of the crate `agent-client-protocol` are used, because its lines and queues are unbounded.

mod config;
mod connection;
mod edits;
mod files;
mod frame;
mod from_wire;
mod frozen;
mod live;
mod opening;
mod options;
#[cfg(test)]
mod output_tests;
mod own_sessions;
mod questions;
mod requests;
mod stage;
mod subagents;
mod terminals;
mod tools;
mod watch;

pub use crate::asking::{AskingLevel, LevelSetting};
use crate::{
    limits::{ACP_CANCEL_CHECK, ACP_STARTS},
    process::Groups,
};
pub use config::{AcpAgentConfig, AcpCommand, AcpTimeouts, OwnTools};
use files::Access;
pub(crate) use frame::{Incoming, SPREAD_MESSAGE, Spread, number, parse};
use live::{Live, Prompt};
use openagents_core::{
    CancellationToken,
    agent::{
        AgentEvent, AgentHost, AgentProvider, AgentRequest, CANCELLED, EarlierKind, EarlierSession,
        OwnSession, PromptOutcome, SteerRequest, ToolServer, end_turn,
    },
    model::{Activity, Availability},
    update::{AgentMessage, OptionValue, RunState, SessionOption, SessionUpdate, new_id},
    workspace::Workspace,
};
use openagents_transcripts::retention::{Place, deletion_note};
use opening::{OpenedSession, Opening, Stop};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant, SystemTime},
};

/// Time that a start waits for copies of the sessions that the agent deletes.
const SECURED_WITHIN: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct AcpAgent {
    config: AcpAgentConfig,
    slots: Mutex<HashMap<String, Arc<Slot>>>,
    closed: AtomicBool,
    /// Held while the agent's own sessions are listed or deleted.
    own_sessions: Mutex<()>,
    /// All processes of the agent, including those of its commands.
    groups: Arc<Groups>,
}

#[derive(Debug, Default)]
struct Slot {
    /// Held during a turn.
    turn: Mutex<()>,
    live: Mutex<Option<Arc<Live>>>,
    /// The agent's id for the session.
    session: Mutex<Option<String>>,
    /// Why the agent's session lacks the earlier conversation, until a prompt says so.
    lost: Mutex<Option<String>>,
    /// The MCP servers with which the running agent was started.
    tools: Mutex<Vec<ToolServer>>,
    closed: AtomicBool,
}

impl AcpAgent {
    /// Creates an agent; starts nothing.
    pub fn new(config: AcpAgentConfig) -> Self {
        let (slots, own_sessions, groups) = (Mutex::default(), Mutex::default(), Arc::default());
        Self { config, slots, closed: AtomicBool::new(false), own_sessions, groups }
    }

    /// Returns the process that runs for a session.
    fn live(&self, session_id: &str) -> Option<Arc<Live>> {
        let slot = self.slots.lock().get(session_id).cloned()?;
        slot.live.lock().clone()
    }

    fn close_all(&self) {
        let slots: Vec<_> = self.slots.lock().drain().map(|(_, slot)| slot).collect();
        slots.iter().for_each(|slot| self.close_slot(slot));
    }

    fn close_slot(&self, slot: &Slot) {
        slot.closed.store(true, Ordering::SeqCst);
        if let Some(live) = slot.live.lock().take() {
            live.connection.stop(self.closed_reason());
        }
    }

    fn closed_reason(&self) -> String {
        format!("{} was closed", self.config.name)
    }

    fn run(
        &self,
        request: &AgentRequest,
        host: &Arc<dyn AgentHost>,
        cancel: &CancellationToken,
    ) -> Result<PromptOutcome, Stop> {
        let workspace = Workspace::open(&request.root).map_err(|error| Stop::Failed(error.to_string()))?;
        let access = Access::new(Arc::new(workspace), &request.limits).map_err(Stop::Failed)?;
        let access = Arc::new(access);
        let slot = self.slots.lock().entry(request.session_id.clone()).or_default().clone();
        let _turn = loop {
            match slot.turn.try_lock() {
                Some(turn) => break turn,
                None => pause(cancel)?,
            }
        };
        let mut starts = 0;
        let (live, session, outcome) = loop {
            if cancel.is_cancelled() {
                return Err(Stop::Cancelled);
            }
            let (live, session) = self.ready(&slot, request, &access, host, cancel)?;
            host.emit(AgentEvent::Activity(None));
            if !request.images.is_empty() && !live.abilities().images {
                let name = &self.config.name;
                return Err(Stop::Failed(format!(
                    "{name} cannot see images, so nothing was sent. Send the prompt without them, or choose another agent."
                )));
            }
            let lost = slot.lost.lock().take();
            let brief = lost.and_then(|why| self.brief(host, &why));
            let prompt = Prompt {
                text: &request.text,
                links: &request.links,
                images: &request.images,
                brief: brief.as_deref(),
                may_change_approval_mode: request.may_change_approval_mode,
            };
            if let Some(outcome) = live.begin(&session, &prompt, host.clone(), access.clone()) {
                break (live, session, outcome);
            }
            starts += 1;
            if starts > ACP_STARTS {
                return Err(Stop::Failed(live.connection.exit_reason()));
            }
        };
        tracing::debug!(agent = self.config.id, session, "a turn has begun");
        loop {
            match outcome.recv_timeout(ACP_CANCEL_CHECK) {
                Ok(outcome) => return Ok(outcome),
                Err(mpsc::RecvTimeoutError::Timeout) if cancel.is_cancelled() => live.cancel(&session),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                // Unreachable unless a turn is dropped without an outcome.
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(Stop::Failed(live.connection.exit_reason()));
                }
            }
        }
    }

    /// Returns an agent whose session is open and whose earlier turn has ended.
    fn ready(
        &self,
        slot: &Slot,
        request: &AgentRequest,
        access: &Access,
        host: &Arc<dyn AgentHost>,
        cancel: &CancellationToken,
    ) -> Result<(Arc<Live>, String), Stop> {
        let root = access.workspace.root();
        let known = slot.session.lock().clone();
        if let (Some(live), Some(session)) = (slot.live.lock().clone(), known.clone()) {
            if live.root != root {
                live.connection.stop(format!("{} moves to another workspace", self.config.name));
            } else if *slot.tools.lock() != request.tools {
                live.connection.stop(format!("{} gets other tools", self.config.name));
            }
            // This wait is bounded: an agent that ignores the turn's cancel is stopped.
            if live.is_busy() {
                host.emit(AgentEvent::Activity(Some(Activity::Waiting)));
            }
            while !live.is_gone() && live.is_busy() {
                pause(cancel)?;
            }
            if !live.is_gone() {
                return Ok((live, session));
            }
        }
        let is_closed = || self.closed.load(Ordering::SeqCst) || slot.closed.load(Ordering::SeqCst);
        if is_closed() {
            return Err(Stop::Failed(self.closed_reason()));
        }
        let timeouts = self.config.timeouts;
        let command = (self.config.command)();
        self.warn_of_deletions(&command, root, host);
        let started = Live::start(&self.config, &command, root, &self.groups);
        let live = started.map_err(|error| {
            let (name, program) = (&self.config.name, command.program.display());
            Stop::Failed(format!(
                "{name}: cannot start {program}: {error}; `openagents doctor` says what to do"
            ))
        })?;
        *slot.live.lock() = Some(live.clone());
        if is_closed() {
            live.connection.stop(self.closed_reason());
        }
        let deadline = Instant::now() + timeouts.start;
        let opening = Opening {
            config: &self.config,
            live: &live,
            host: host.as_ref(),
            cancel,
            deadline,
            tools: &request.tools,
            environment: &command.environment,
        };
        let known = known.map(|id| EarlierSession { id, kind: EarlierKind::Own });
        let opened = opening.open(known.or_else(|| request.resume.clone()));
        let opened = opened.inspect_err(|_| {
            live.connection.stop(self.closed_reason());
            slot.live.lock().take();
        })?;
        let OpenedSession { session, lost, notes } = opened;
        *slot.session.lock() = Some(session.clone());
        *slot.lost.lock() = lost;
        slot.tools.lock().clone_from(&request.tools);
        notes.into_iter().for_each(|text| note(host, text));
        live.open();
        Ok((live, session))
    }

    /// Before a start that deletes sessions of the agent: makes sure that there are copies, if the user wants them, and adds
    /// a note.
    fn warn_of_deletions(&self, command: &AcpCommand, root: &Path, host: &Arc<dyn AgentHost>) {
        let sessions = self.deletes(command, root);
        if sessions == 0 {
            return;
        }
        let keeper = self.config.keeper.as_ref().zip(self.config.retention);
        let unkept =
            keeper.and_then(|(keeper, retention)| keeper.secure(retention.provider(), SECURED_WITHIN));
        note(host, deletion_note(&self.config.name, sessions, unkept));
    }

    fn deletes(&self, command: &AcpCommand, workspace: &Path) -> usize {
        let variable =
            |name: &str| command.added.get(name).or_else(|| command.environment.get(name)).cloned();
        let place = Place { variable: &variable, workspace, now: SystemTime::now() };
        self.config.retention.map_or(0, |retention| retention.count_due(&place))
    }

    /// Notes that the agent's session lacks the conversation so far, and returns the summary to send it.
    fn brief(&self, host: &Arc<dyn AgentHost>, why: &str) -> Option<String> {
        let (name, brief) = (&self.config.name, host.brief());
        let how = match brief {
            Some(_) => "with a summary of this one",
            None => "and does not know what was said before",
        };
        note(host, format!("*{name} starts a new session {how}: {why}.*"));
        brief
    }
}

fn note(host: &Arc<dyn AgentHost>, text: String) {
    host.emit(AgentEvent::Update(SessionUpdate::AgentMessage(AgentMessage {
        text,
        message_id: Some(new_id()),
        ..AgentMessage::default()
    })));
}

fn pause(cancel: &CancellationToken) -> Result<(), Stop> {
    std::thread::sleep(ACP_CANCEL_CHECK);
    if cancel.is_cancelled() { Err(Stop::Cancelled) } else { Ok(()) }
}

impl AgentProvider for AcpAgent {
    fn id(&self) -> &str {
        &self.config.id
    }

    fn name(&self) -> String {
        self.config.name.clone()
    }

    fn is_local(&self) -> bool {
        self.config.local
    }

    fn decides_what_it_asks(&self) -> bool {
        self.config.asks == AskingLevel::ItsOwn
    }

    fn deletes_next(&self, workspace: &Path, _cancel: &CancellationToken) -> usize {
        self.deletes(&(self.config.command)(), workspace)
    }

    fn program(&self, _cancel: &CancellationToken) -> Option<PathBuf> {
        Some((self.config.command)().program)
    }

    fn folder(&self, _cancel: &CancellationToken) -> Option<PathBuf> {
        (self.config.command)().cwd
    }

    /// Availability was checked before this was created.
    fn availability(&self) -> Availability {
        Availability::Ready
    }

    fn prompt(
        &self,
        request: &AgentRequest,
        host: Arc<dyn AgentHost>,
        cancel: &CancellationToken,
    ) -> PromptOutcome {
        let (state, text) = match self.run(request, &host, cancel) {
            Ok(outcome) => return outcome,
            Err(Stop::Cancelled) => (RunState::Cancelled, CANCELLED.to_owned()),
            Err(Stop::Failed(why)) => (RunState::Failed, format!("❌ {why}")),
        };
        host.emit(AgentEvent::Activity(None));
        end_turn(&|event| host.emit(event), state, text)
    }

    fn set_option(
        &self,
        session_id: &str,
        option: &str,
        value: &OptionValue,
    ) -> Result<Option<Vec<SessionOption>>, String> {
        self.live(session_id).map_or(Ok(None), |live| live.set_option(option, value))
    }

    fn steer(&self, request: &SteerRequest) -> bool {
        self.live(&request.session_id).is_some_and(|live| live.steer(request))
    }

    fn own_sessions(&self, workspace: &Path, cancel: &CancellationToken) -> Result<Vec<OwnSession>, String> {
        self.list_own_sessions(workspace, cancel)
    }

    fn delete_own_session(
        &self,
        workspace: &Path,
        id: &str,
        cancel: &CancellationToken,
    ) -> Result<(), String> {
        self.delete_own(workspace, id, cancel)
    }

    fn stop_subagent(&self, session_id: &str, subagent: &str) -> bool {
        self.live(session_id).is_some_and(|live| live.stop_subagent(subagent))
    }

    fn ask_before_edits(&self, session_id: &str) {
        if let Some(live) = self.live(session_id) {
            live.ask_before_edits();
        }
    }

    fn close(&self, session_id: &str) {
        let slot = self.slots.lock().remove(session_id);
        slot.iter().for_each(|slot| self.close_slot(slot));
    }

    fn shut_down(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.close_all();
        self.groups.end();
    }
}

impl Drop for AcpAgent {
    fn drop(&mut self) {
        self.close_all();
    }
}
