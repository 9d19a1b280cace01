//! One turn from the prompt to its last word.

use super::{
    AgentEvent, AgentLoop, CANCELLED, CUT_OFF, PromptOutcome, PromptRequest,
    answer::{self, Answer, Broken},
    calls::{Cancelled, Desk},
    instructions, say_last, tools,
};
use crate::{
    CancellationToken, isolated,
    model::{AssistantMessage, Message, ModelError, ModelRequest, StopReason, Usage},
    update::RunState,
    workspace::Workspace,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Answers of the model in one turn; a model that goes in circles is stopped.
const ROUNDS: usize = 12;

/// The model takes no longer for a turn. A slow machine needs minutes for a long answer; nobody waits for more.
const TURN: Duration = Duration::from_secs(30 * 60);

/// Characters of a conversation where nobody knows how many tokens the model holds.
const CONVERSATION: usize = 60_000;

/// Characters of a token, on the careful side: code and other languages than English have fewer than prose.
const TOKEN_CHARS: usize = 3;

/// Characters that are left of a result of this turn when the conversation fits no more.
const SHORTENED: usize = 500;

type Emit<'a> = &'a (dyn Fn(AgentEvent) + Sync);

pub(super) struct Run<'a> {
    agent: &'a AgentLoop,
    request: &'a PromptRequest,
    cancel: &'a CancellationToken,
    emit: Emit<'a>,
    deadline: Instant,
    /// What was said before this turn.
    earlier: Vec<Message>,
    /// The prompt, and what came of it so far.
    turn: Vec<Message>,
    usage: Option<Usage>,
    cut_off: bool,
}

/// Why a turn ends without an answer.
enum Stop {
    Cancelled,
    Failed(String),
}

impl<'a> Run<'a> {
    pub(super) fn new(
        agent: &'a AgentLoop,
        request: &'a PromptRequest,
        cancel: &'a CancellationToken,
        emit: Emit<'a>,
    ) -> Self {
        // Half of the room is for this turn; more, if the prompt is that long.
        let all = conversation(agent);
        let room = (all / 2).min(all.saturating_sub(request.text.chars().count()));
        Self {
            agent,
            request,
            cancel,
            emit,
            deadline: Instant::now() + TURN,
            earlier: request.transcript.messages(room),
            turn: vec![Message::User { text: request.text.clone() }],
            usage: None,
            cut_off: false,
        }
    }

    pub(super) fn finish(mut self) -> PromptOutcome {
        let ended = self.run();
        (self.emit)(AgentEvent::Activity(None));
        let (state, text) = match ended {
            Ok(text) => (RunState::Complete, text),
            Err(Stop::Cancelled) => (RunState::Cancelled, CANCELLED.to_owned()),
            Err(Stop::Failed(reason)) => (RunState::Failed, format!("❌ {reason}")),
        };
        if state != RunState::Complete {
            say_last(self.emit, &text, None);
        }
        PromptOutcome { state, text, usage: self.usage, cut_off: self.cut_off }
    }

    fn run(&mut self) -> Result<String, Stop> {
        let workspace = self.open()?;
        let words = self.request.words.as_ref().unwrap_or(&self.request.text);
        let asked = if self.request.delegated { "" } else { words };
        let desk = Desk::new(self.agent, asked, Arc::clone(&workspace), self.cancel, self.emit);
        for _ in 0..ROUNDS {
            let Answer { message, stop, usage } = self.ask(&workspace)?;
            self.usage = usage.or(self.usage);
            let AssistantMessage { text, calls, .. } = message.clone();
            self.turn.push(Message::Assistant(message));
            if stop == StopReason::MaxTokens {
                self.cut_off = true;
                say_last(self.emit, &self.postscript(usage), usage);
                return Ok(text);
            }
            if calls.is_empty() {
                let name = self.agent.model.name();
                let silent = format!("{name} ended without an answer; rephrase the prompt and try again");
                return if text.trim().is_empty() { Err(Stop::Failed(silent)) } else { Ok(text) };
            }
            let begun = Instant::now();
            self.turn.extend(desk.run(calls).map_err(|Cancelled| Stop::Cancelled)?);
            // Each tool has bounds of its own: a delegate may work for hours.
            self.deadline += begun.elapsed();
        }
        let name = self.agent.model.name();
        Err(Stop::Failed(format!(
            "{name} asked for tools {ROUNDS} times without answering; ask more narrowly"
        )))
    }

    fn open(&self) -> Result<Arc<Workspace>, Stop> {
        let root = self.request.root.clone();
        let opened = isolated::run(
            "open",
            isolated::FILES,
            self.cancel,
            move |_: &_| Workspace::open(&root),
            |(): ()| (),
        );
        match opened {
            // A folder that was checked may be a link to anywhere by now.
            Ok(Ok(opened)) if self.request.delegated && opened.root() != self.request.root => {
                let root = self.request.root.display();
                Err(Stop::Failed(format!("{root} is not the folder any more that the task was given for")))
            }
            Ok(opened) => opened.map(Arc::new).map_err(|error| Stop::Failed(error.to_string())),
            Err(isolated::Lost::Cancelled) => Err(Stop::Cancelled),
            Err(lost) => Err(Stop::Failed(lost.to_string())),
        }
    }

    /// Asks the model. Where the conversation does not fit, its older half is left out, as often as it takes; then the
    /// oldest results of this turn are shortened.
    fn ask(&mut self, workspace: &Workspace) -> Result<Answer, Stop> {
        loop {
            // Asked anew each time: what a model can do is known for certain only once it is loaded.
            let has_tools = self.agent.model.capabilities().tools;
            let tools = if has_tools {
                tools::specs(&self.agent.tools.registry, &tools::offered(self.agent))
            } else {
                Vec::new()
            };
            let request = ModelRequest {
                instructions: instructions(workspace.name(), has_tools),
                messages: self.earlier.iter().chain(&self.turn).cloned().collect(),
                tools,
                options: self.agent.options,
            };
            match answer::ask(&self.agent.model, request, self.deadline, self.cancel, self.emit) {
                Ok(answer) => return Ok(answer),
                Err(Broken::Model(ModelError::ContextOverflow { .. })) if !self.earlier.is_empty() => {
                    self.forget();
                }
                Err(Broken::Model(ModelError::ContextOverflow { .. })) if self.shorten_a_result() => {}
                Err(Broken::Model(ModelError::Cancelled)) => return Err(Stop::Cancelled),
                Err(Broken::Model(error)) => return Err(Stop::Failed(error.to_string())),
                Err(Broken::OutOfTime) => {
                    let minutes = TURN.as_secs() / 60;
                    return Err(Stop::Failed(format!("the turn was stopped after {minutes} minutes")));
                }
            }
        }
    }

    /// Leaves out the older half, from a person's message on.
    fn forget(&mut self) {
        let half = self.earlier.len().div_ceil(2);
        let begins = |message: &Message| matches!(message, Message::User { .. });
        let kept = self.earlier.iter().skip(half).position(begins);
        self.earlier.drain(..kept.map_or(self.earlier.len(), |more| half + more));
    }

    /// Shortens the oldest result of this turn that is long. Returns whether there was one.
    fn shorten_a_result(&mut self) -> bool {
        let is_long = |text: &str| text.chars().nth(2 * SHORTENED).is_some();
        let oldest = self.turn.iter_mut().find_map(|message| match message {
            Message::Tool { text, .. } if is_long(text) => Some(text),
            _ => None,
        });
        oldest.map(|text| *text = tools::shorten(text, SHORTENED)).is_some()
    }

    fn postscript(&self, usage: Option<Usage>) -> String {
        let limit = self.agent.options.max_tokens;
        match limit.filter(|limit| usage.is_none_or(|usage| usage.tokens >= *limit)) {
            Some(limit) => format!("{CUT_OFF}: the limit of {limit} tokens was reached."),
            None => format!("{CUT_OFF}: the conversation fills the model's context."),
        }
    }
}

/// Characters that a conversation with this model may have.
pub(super) fn conversation(agent: &AgentLoop) -> usize {
    agent.model.context_tokens().map_or(CONVERSATION, |tokens| tokens as usize * TOKEN_CHARS)
}
