//! Turns: the work that clients submit to a session, which runs one turn at a time.

use crate::error::SessionError;
use openagents_core::{
    model::PromptOptions,
    update::{Decision, PromptImage, RunState, SessionUpdate, Title, UserMessage, text_with_images},
};
use openagents_orchestration::explore::{ExploreRequest, PlannerChoice};
use serde::Serialize;
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::sync::oneshot;
use uuid::Uuid;

/// Maximum goals of one exploration; every plan snapshot repeats them.
const GOALS: usize = 16;

/// Maximum bytes of one goal.
const GOAL_BYTES: usize = 4 << 10;

/// Maximum bytes of a prompt shown while it waits; the log has the full prompt.
const QUEUED_BYTES: usize = 4 << 10;

/// Maximum characters of a title made from a prompt.
const TITLE_CHARS: usize = 60;

#[derive(Debug)]
pub struct TurnRequest {
    /// Written to the log on submission, so that every client sees the waiting prompt.
    pub opening: Vec<SessionUpdate>,
    /// The title for a session that has none.
    pub title: String,
    /// The work, or an error to show as the final message.
    pub work: Result<Work, SessionError>,
    /// Runs in a delegate slot and needs no other slot.
    pub delegated: bool,
    /// Shown while the turn waits.
    pub queued: Queued,
}

/// A waiting turn, as shown to clients.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Queued {
    /// Id of its message in the log, if there is one.
    pub id: String,
    /// The start of the prompt.
    pub text: String,
    /// The client's name; empty if it gave none.
    pub by: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sender {
    pub connection: String,
    pub client: String,
    pub prompt_id: Option<String>,
    /// The client can show a card to choose an agent.
    pub shows_cards: bool,
}

impl From<&str> for Sender {
    fn from(connection: &str) -> Self {
        Self { connection: connection.to_owned(), ..Self::default() }
    }
}

impl From<&Arc<str>> for Sender {
    fn from(connection: &Arc<str>) -> Self {
        (&**connection).into()
    }
}

impl Sender {
    fn message(&self, text: String, images: Vec<PromptImage>, message_id: &str) -> UserMessage {
        UserMessage {
            text,
            images,
            connection: Some(self.connection.clone()),
            client: Some(self.client.clone()).filter(|client| !client.is_empty()),
            prompt_id: self.prompt_id.clone(),
            message_id: Some(message_id.to_owned()),
            ..UserMessage::default()
        }
    }
}

impl TurnRequest {
    pub fn exploration(root: PathBuf, goals: Vec<String>, note: Option<String>) -> Self {
        let name =
            root.file_name().map_or_else(|| root.display().to_string(), |n| n.to_string_lossy().into_owned());
        let plan_id = Uuid::new_v4().to_string();
        let goals = goals.into_iter().take(GOALS).map(cut_goal).collect();
        let title = format!("Explore {name}");
        Self {
            opening: Vec::new(),
            queued: queued(&title, ""),
            title,
            delegated: false,
            work: Ok(Work::Exploration(ExploreRequest {
                root,
                goals,
                plan_id,
                repository_note: note,
                planner: PlannerChoice::default(),
                answers_prompt: false,
            })),
        }
    }

    /// Creates a turn that explores the workspace with the prompt as the goal. The message has the full text, the goal
    /// only its start.
    pub fn prompt(workspace: &Path, content: PromptContent, by: &Sender) -> Self {
        let shown = text_with_images(&content.text, content.images.len());
        let title = title_of(Some(content.words()).filter(|words| !words.is_empty()).unwrap_or(&shown));
        let mut request = Self::exploration(workspace.to_owned(), vec![content.text.clone()], None);
        request.queued = queued(&shown, &by.client);
        let message = by.message(content.text.clone(), content.images, &request.queued.id);
        request.opening = vec![SessionUpdate::UserMessage(message)];
        request.title = title;
        request
    }

    /// Has a model or an agent answer the prompt.
    pub fn answered_by(mut self, provider: &str, workspace: &Path, content: PromptContent) -> Self {
        let (provider, root) = (provider.to_owned(), workspace.to_owned());
        self.work = Ok(Work::Prompt(Prompt { provider, root, content, options: PromptOptions::default() }));
        self
    }

    pub fn with_options(mut self, asked: PromptOptions) -> Self {
        if let Ok(Work::Prompt(Prompt { options, .. }) | Work::Choose(Choice { options, .. })) =
            &mut self.work
        {
            *options = asked;
        }
        self
    }

    /// Has OpenAgents route the prompt.
    pub fn answered_by_choice(mut self, content: PromptContent, shows_cards: bool) -> Self {
        self.work = self.work.map(|work| match work {
            Work::Exploration(exploration) => Work::Choose(Choice {
                content,
                shows_cards,
                options: PromptOptions::default(),
                exploration: ExploreRequest { answers_prompt: true, ..exploration },
            }),
            other => other,
        });
        self
    }

    /// Creates a task from a delegating session.
    pub fn task(prompt: Prompt, title: Option<&str>) -> Self {
        let queued = queued(&prompt.content.text, "");
        let message = UserMessage {
            text: prompt.content.text.clone(),
            message_id: Some(queued.id.clone()),
            ..UserMessage::default()
        };
        Self {
            opening: vec![SessionUpdate::UserMessage(message)],
            queued,
            title: title_of(title.unwrap_or(&prompt.content.text)),
            work: Ok(Work::Prompt(prompt)),
            delegated: true,
        }
    }

    /// Creates a turn that consists of one call of `delegate.run`.
    pub fn delegation(delegation: Delegation, by: &Sender) -> Self {
        let text = delegation.text.clone();
        let title = title_of(&text);
        let queued = queued(&text, &by.client);
        Self {
            opening: vec![SessionUpdate::UserMessage(by.message(text, Vec::new(), &queued.id))],
            queued,
            title,
            work: Ok(Work::Delegate(delegation)),
            delegated: false,
        }
    }

    pub fn planned_by(mut self, planner: PlannerChoice) -> Self {
        if let Ok(Work::Exploration(request)) = &mut self.work {
            request.planner = planner;
        }
        self
    }

    pub fn asked_by(mut self, client: &str) -> Self {
        client.clone_into(&mut self.queued.by);
        self
    }

    /// Replaces the work with an error.
    pub fn refusal(mut self, fault: SessionError) -> Self {
        self.work = Err(fault);
        self
    }

    /// Returns the workspace of an exploration.
    pub fn root(&self) -> Option<&Path> {
        match &self.work {
            Ok(Work::Exploration(request)) => Some(&request.root),
            _ => None,
        }
    }

    /// Returns the id of the exploration's plan; a new id for other work.
    pub fn plan_id(&self) -> String {
        match &self.work {
            Ok(Work::Exploration(request)) => request.plan_id.clone(),
            _ => Uuid::new_v4().to_string(),
        }
    }
}

fn queued(text: &str, by: &str) -> Queued {
    let text = openagents_core::text::prefix(text, QUEUED_BYTES).to_owned();
    Queued { id: Uuid::new_v4().to_string(), text, by: by.to_owned() }
}

fn cut_goal(mut goal: String) -> String {
    const CUT: char = '…';
    if goal.len() > GOAL_BYTES {
        goal.truncate(goal.floor_char_boundary(GOAL_BYTES - CUT.len_utf8()));
        goal.push(CUT);
    }
    goal
}

/// Returns the first words of a prompt on one line.
fn title_of(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= TITLE_CHARS {
        return words;
    }
    let cut: String = words.chars().take(TITLE_CHARS).collect();
    let cut = cut.rsplit_once(' ').map_or(cut.as_str(), |(whole_words, _)| whole_words);
    format!("{cut}…")
}

#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) work: Result<Work, SessionError>,
    pub(crate) delegated: bool,
    pub(crate) queued: Queued,
    /// Its prompt is in the log.
    pub(crate) is_said: bool,
    pub(crate) asker: Asker,
}

impl Turn {
    /// Returns the turn, its opening, and the title for a session that has none.
    pub(crate) fn new(request: TurnRequest) -> (Self, Ticket, Vec<SessionUpdate>, Title) {
        let (asker, ticket) = Asker::new();
        let TurnRequest { opening, title, work, delegated, queued } = request;
        let is_said = opening.iter().any(|update| matches!(update, SessionUpdate::UserMessage(_)));
        (Self { work, delegated, queued, is_said, asker }, ticket, opening, Title { title, by_user: false })
    }
}

pub type Ticket = oneshot::Receiver<TurnEnd>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnd {
    /// `Complete`, `Failed` or `Cancelled`.
    pub state: RunState,
    /// The model's answer reached a limit.
    pub cut_off: bool,
    /// Number of its last update.
    pub seq: u64,
    /// Set if its updates could not be stored.
    pub failure: Option<String>,
}

/// The receiver of a turn's outcome. Kept apart from the work, so that a panic in the run does not drop it.
#[derive(Debug)]
pub(crate) struct Asker(oneshot::Sender<TurnEnd>);

impl Asker {
    pub(crate) fn new() -> (Self, Ticket) {
        let (done, ticket) = oneshot::channel();
        (Self(done), ticket)
    }

    pub(crate) fn notify(self, end: TurnEnd) {
        // The client may be gone; the outcome is in the log.
        let _ = self.0.send(end);
    }
}

#[derive(Debug)]
pub enum Work {
    Exploration(ExploreRequest),
    /// A prompt for a model or an agent.
    Prompt(Prompt),
    /// One call of `delegate.run`.
    Delegate(Delegation),
    /// A prompt to route.
    Choose(Choice),
    /// A prompt that OpenAgents answers itself.
    Inline(Box<Reply>),
    /// A card on which the user chooses the agent.
    Card(Box<Card>),
}

#[derive(Debug, Clone)]
pub struct PromptContent {
    /// The whole text, with attachments.
    pub text: String,
    /// The part that the user wrote, if there are attachments. Attachments do not affect routing.
    pub words: Option<String>,
    /// A command in the prompt may change what an agent asks, because the sender may approve.
    pub may_change_approval_mode: bool,
    /// Stored with the session.
    pub images: Vec<PromptImage>,
}

impl PromptContent {
    /// Returns the part that the user wrote.
    pub fn words(&self) -> &str {
        self.words.as_deref().unwrap_or(&self.text)
    }
}

impl From<String> for PromptContent {
    fn from(text: String) -> Self {
        Self { text, words: None, may_change_approval_mode: false, images: Vec::new() }
    }
}

#[derive(Debug)]
pub struct Choice {
    pub content: PromptContent,
    /// Runs instead if there is nothing to choose from.
    pub exploration: ExploreRequest,
    /// See [`Sender::shows_cards`].
    pub shows_cards: bool,
    pub options: PromptOptions,
}

#[derive(Debug)]
pub struct Reply {
    pub content: PromptContent,
    pub root: PathBuf,
    pub decision: Decision,
    /// If no model words an answer, the findings alone are the answer.
    pub only_findings: bool,
}

#[derive(Debug)]
pub struct Card {
    pub content: PromptContent,
    pub root: PathBuf,
    pub decision: Decision,
}

#[derive(Debug, Clone)]
pub struct Prompt {
    /// The id of a mode (`gptoss_20b`, `codex`, `custom:<id>` …) or of a provider without a mode.
    pub provider: String,
    pub root: PathBuf,
    pub content: PromptContent,
    pub options: PromptOptions,
}

#[derive(Debug, Clone)]
pub struct Delegation {
    /// The workspace of the delegating session.
    pub root: PathBuf,
    pub call_id: String,
    /// The text shown as the user's message.
    pub text: String,
    /// The tool's arguments; the tool validates them.
    pub arguments: Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goals(request: &TurnRequest) -> &[String] {
        let Ok(Work::Exploration(request)) = &request.work else { panic!("no exploration") };
        &request.goals
    }

    #[test]
    fn exploration_cuts_long_goals() {
        let root = PathBuf::from("/projects/demo");
        let request = TurnRequest::exploration(root.clone(), vec!["é".repeat(5000); 1000], None);
        assert_eq!(goals(&request).len(), 16);
        for goal in goals(&request) {
            assert!((4092..=4096).contains(&goal.len()), "{}", goal.len());
            assert!(goal.ends_with("é…"));
        }
        let whole = "x".repeat(4096);
        assert_eq!(goals(&TurnRequest::exploration(root, vec![whole.clone()], None)), [whole]);
    }

    #[test]
    fn long_prompt_is_cut_only_in_plan() {
        let text = "word ".repeat(100_000);
        let request = TurnRequest::prompt(Path::new("/projects/demo"), text.clone().into(), &"c".into());
        assert!(goals(&request)[0].len() <= 4096 && goals(&request)[0].ends_with('…'));
        let message_id = Some(request.queued.id.clone());
        let connection = Some("c".to_owned());
        let message = UserMessage { text, connection, message_id, ..UserMessage::default() };
        assert_eq!(request.opening, [SessionUpdate::UserMessage(message)]);
    }
}
