//! A turn: what a client asks of a session, and the queue of those that wait. A session runs one at a time.

use crate::error::Fault;
use openagents_core::{
    CancellationToken,
    explore::ExploreRequest,
    update::{RunState, SessionUpdate, Title, UserMessage},
};
use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
};
use tokio::sync::oneshot;
use uuid::Uuid;

/// Turns that wait behind the running one.
const WAITING: usize = 8;

/// Characters of a title made from a prompt.
const TITLE_CHARS: usize = 60;

/// What a client asks for.
#[derive(Debug)]
pub(crate) struct TurnRequest {
    /// Goes into the log before everything else.
    pub(crate) opening: Vec<SessionUpdate>,
    /// The title of the session, should it have none.
    pub(crate) title: String,
    /// What to run; an error is shown as the final message instead.
    pub(crate) work: Result<ExploreRequest, Fault>,
}

impl TurnRequest {
    /// An exploration that was asked for by name.
    pub(crate) fn exploration(root: PathBuf, goals: Vec<String>, note: Option<String>) -> Self {
        let name =
            root.file_name().map_or_else(|| root.display().to_string(), |n| n.to_string_lossy().into_owned());
        let plan_id = Uuid::new_v4().to_string();
        Self {
            opening: Vec::new(),
            title: format!("Explore {name}"),
            work: Ok(ExploreRequest { root, goals, plan_id, repository_note: note }),
        }
    }

    /// A prompt: until there are models, it explores the workspace with the prompt as the goal.
    pub(crate) fn prompt(workspace: &Path, text: String, connection: &str) -> Self {
        let title = title_of(&text);
        let mut request = Self::exploration(workspace.to_owned(), vec![text.clone()], None);
        request.opening =
            vec![SessionUpdate::UserMessage(UserMessage { text, connection: Some(connection.to_owned()) })];
        request.title = title;
        request
    }

    /// A turn that consists of a refusal.
    pub(crate) fn refusal(mut self, fault: Fault) -> Self {
        self.work = Err(fault);
        self
    }

    /// Returns the workspace of the run, if there is going to be one.
    pub(crate) fn root(&self) -> Option<&Path> {
        self.work.as_ref().ok().map(|request| request.root.as_path())
    }

    pub(crate) fn plan_id(&self) -> String {
        self.work.as_ref().map_or_else(|_| Uuid::new_v4().to_string(), |request| request.plan_id.clone())
    }
}

/// The first words of a prompt, on one line.
fn title_of(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= TITLE_CHARS {
        return words;
    }
    let cut: String = words.chars().take(TITLE_CHARS).collect();
    let cut = cut.rsplit_once(' ').map_or(cut.as_str(), |(whole_words, _)| whole_words);
    format!("{cut}…")
}

/// Resolves when the turn is over.
pub(crate) type Ticket = oneshot::Receiver<TurnEnd>;

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TurnEnd {
    /// `Complete`, `Failed` or `Cancelled`.
    pub(crate) state: RunState,
    /// Number of its last update.
    pub(crate) seq: u64,
    /// Set when its updates could not be stored.
    pub(crate) failure: Option<String>,
}

#[derive(Debug)]
pub(super) struct Turn {
    pub(super) opening: Vec<SessionUpdate>,
    pub(super) title: Title,
    pub(super) work: Result<ExploreRequest, Fault>,
    done: oneshot::Sender<TurnEnd>,
}

impl Turn {
    pub(super) fn new(request: TurnRequest) -> (Self, Ticket) {
        let (done, ticket) = oneshot::channel();
        let TurnRequest { opening, title, work } = request;
        (Self { opening, title: Title { title }, work, done }, ticket)
    }

    pub(super) fn end(self, end: TurnEnd) {
        // The client that asked may be gone; the log has it all.
        let _ = self.done.send(end);
    }
}

/// The running turn's token and the turns behind it.
#[derive(Debug, Default)]
pub(super) struct Queue {
    running: Option<CancellationToken>,
    waiting: VecDeque<Turn>,
}

impl Queue {
    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub(super) fn token(&self) -> CancellationToken {
        self.running.clone().unwrap_or_default()
    }

    pub(super) fn enqueue(
        &mut self,
        turn: Turn,
        stopping: &CancellationToken,
    ) -> Result<Option<Turn>, Fault> {
        if self.running.is_none() {
            self.running = Some(stopping.child_token());
            return Ok(Some(turn));
        }
        if self.waiting.len() >= WAITING {
            return Err(Fault::busy(format!("{WAITING} prompts are waiting already; cancel or wait.")));
        }
        self.waiting.push_back(turn);
        Ok(None)
    }

    pub(super) fn next(&mut self, stopping: &CancellationToken) -> Option<Turn> {
        let next = self.waiting.pop_front();
        self.running = next.is_some().then(|| stopping.child_token());
        next
    }

    pub(super) fn cancel(&mut self) -> VecDeque<Turn> {
        if let Some(running) = &self.running {
            running.cancel();
        }
        std::mem::take(&mut self.waiting)
    }
}
