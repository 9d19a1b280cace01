//! Runs one turn.

use super::{
    agent_loop::{self, AgentLoop, PromptRequest},
    answer::{self, Answer, Broken},
    calls::CallRunner,
    grounding::{self, Grounding},
    instructions,
    limits::{ROUNDS, SHORTENED_CHARS, SMALL_CONTEXT, TURN_TIME, WORDING_TOKENS},
};
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, CANCELLED, CUT_OFF, PromptOutcome, say_last},
    isolated,
    model::{
        AssistantMessage, LanguageModel, Message, ModelError, ModelRequest, StopReason, ToolSpec, Usage,
    },
    text::cut_with_note,
    update::{Findings, RunState},
    workspace::Workspace,
};
use openagents_tools::tool::Toolbox;
use parking_lot::Mutex;
use std::{sync::Arc, time::Instant};

impl AgentLoop {
    /// Runs a turn on this thread and emits every step. Returns within 100 ms of a cancel.
    pub fn prompt(
        &self,
        request: &PromptRequest,
        cancel: &CancellationToken,
        emit: &(dyn Fn(AgentEvent) + Sync),
    ) -> PromptOutcome {
        Run::new(self, request, cancel, emit).finish()
    }
}

struct Run<'a> {
    agent: &'a AgentLoop,
    request: &'a PromptRequest,
    cancel: &'a CancellationToken,
    emit: &'a (dyn Fn(AgentEvent) + Sync),
    deadline: Instant,
    /// Messages before this turn.
    earlier: Vec<Message>,
    turn: Vec<Message>,
    usage: Option<Usage>,
    cut_off: bool,
    /// Checks citations; set once the workspace is open, if a search ran.
    grounding: Option<Grounding>,
    /// Maximum length of the findings in characters.
    findings_room: usize,
}

/// The reason why a turn ends without an answer.
enum Stop {
    Cancelled,
    /// The findings are the answer; holds the reason why there is no other.
    FindingsOnly(String),
    Failed(String),
}

impl<'a> Run<'a> {
    fn new(
        agent: &'a AgentLoop,
        request: &'a PromptRequest,
        cancel: &'a CancellationToken,
        emit: &'a (dyn Fn(AgentEvent) + Sync),
    ) -> Self {
        let all = agent.conversation_chars();
        let is_small = is_small(agent.model.as_ref());
        let findings_room = grounding::room(all, fixed(agent, request, is_small));
        let prompt = prompt(request, findings_room, is_small);
        let taken = match found(request) {
            // Leaves room for the rest of the request and the answer.
            Some(_) => fixed(agent, request, is_small) + all / 4 + prompt.chars().count(),
            None => prompt.chars().count(),
        };
        // Half of the room is reserved for this turn, which may use more.
        let room = (all / 2).min(all.saturating_sub(taken));
        Self {
            agent,
            request,
            cancel,
            emit,
            deadline: Instant::now() + TURN_TIME,
            earlier: request.transcript.messages(room),
            turn: vec![Message::User { text: prompt }],
            usage: None,
            cut_off: false,
            grounding: None,
            findings_room,
        }
    }

    fn finish(mut self) -> PromptOutcome {
        let ended = self.run();
        (self.emit)(AgentEvent::Activity(None));
        let last = |state, text: String| {
            say_last(self.emit, state, &text, None);
            (state, text)
        };
        let (state, text) = match ended {
            Ok(text) => (RunState::Complete, text),
            Err(Stop::Cancelled) => last(RunState::Cancelled, CANCELLED.to_owned()),
            Err(Stop::FindingsOnly(reason)) => {
                last(RunState::Complete, format!("_Only the places found are shown: {reason}._"))
            }
            Err(Stop::Failed(reason)) => last(RunState::Failed, format!("❌ {reason}")),
        };
        PromptOutcome { state, text, usage: self.usage, cut_off: self.cut_off }
    }

    fn run(&mut self) -> Result<String, Stop> {
        let workspace = self.open()?;
        let words = self.request.words.as_ref().unwrap_or(&self.request.text);
        let asked = if self.request.delegated { "" } else { words };
        self.grounding = self.request.findings.as_ref().map(|findings| {
            Grounding::new(findings, words, Arc::clone(&workspace), &self.agent.tools, self.cancel)
        });
        let runner = CallRunner {
            agent: self.agent,
            prompt: asked,
            workspace: Arc::clone(&workspace),
            cancel: self.cancel,
            emit: self.emit,
            has_history: (self.request.transcript.has_history() || found(self.request).is_some()).into(),
        };
        for _ in 0..ROUNDS {
            let Answer { message, shown, stop, usage } = self.ask(&workspace)?;
            self.usage = usage.or(self.usage);
            let AssistantMessage { text, calls, .. } = message.clone();
            self.turn.push(Message::Assistant(message));
            if stop == StopReason::MaxTokens {
                self.cut_off = true;
                say_last(self.emit, RunState::Complete, &self.postscript(usage), usage);
                return Ok(shown);
            }
            if calls.is_empty() {
                let name = self.agent.model.name();
                let silent = format!("{name} ended without an answer; rephrase the prompt and try again");
                return if text.trim().is_empty() { Err(self.without_answer(silent)) } else { Ok(shown) };
            }
            let begun = Instant::now();
            self.turn.extend(runner.run(calls).map_err(|_| Stop::Cancelled)?);
            // Tools have their own time limits: a delegate may work for hours.
            self.deadline += begun.elapsed();
        }
        let name = self.agent.model.name();
        Err(self.without_answer(format!(
            "{name} asked for tools {ROUNDS} times without answering; ask more narrowly"
        )))
    }

    fn without_answer(&self, reason: String) -> Stop {
        if found(self.request).is_some() { Stop::FindingsOnly(reason) } else { Stop::Failed(reason) }
    }

    fn open(&self) -> Result<Arc<Workspace>, Stop> {
        let root = self.request.root.clone();
        let open = move |_: &_| Workspace::open(&root);
        match isolated::run("open", isolated::FILES, self.cancel, open, |(): ()| ()) {
            // The checked folder may have been replaced by a link.
            Ok(Ok(opened)) if self.request.delegated && opened.root() != self.request.root => {
                let root = self.request.root.display();
                Err(Stop::Failed(format!("{root} is no longer the folder that the task was given for")))
            }
            Ok(opened) => opened.map(Arc::new).map_err(|error| Stop::Failed(error.to_string())),
            Err(isolated::Lost::Cancelled) => Err(Stop::Cancelled),
            Err(lost) => Err(Stop::Failed(lost.to_string())),
        }
    }

    /// Runs the model. If the conversation does not fit, drops history, then shortens results, then the findings.
    fn ask(&mut self, workspace: &Workspace) -> Result<Answer, Stop> {
        loop {
            // Read again each time: a model's capabilities are certain only once it is loaded.
            let is_small = is_small(self.agent.model.as_ref());
            let tools = specs(self.agent, self.request, is_small);
            let only_words = is_small && found(self.request).is_some();
            if let (Some(_), Some(first)) = (found(self.request), self.turn.first_mut()) {
                *first = Message::User { text: prompt(self.request, self.findings_room, is_small) };
            }
            let mut options = self.agent.options;
            if only_words {
                options.max_tokens =
                    Some(options.max_tokens.map_or(WORDING_TOKENS, |most| most.min(WORDING_TOKENS)));
            }
            let request = ModelRequest {
                instructions: instructions(workspace.name(), offered(self.agent, &tools)),
                messages: self.earlier.iter().chain(&self.turn).cloned().collect(),
                tools,
                options,
            };
            // A small model only words the findings. Its text is shown once a citation is confirmed.
            let held = Mutex::new(Vec::new());
            let hold = |event| match event {
                AgentEvent::Update(_) => held.lock().push(event),
                AgentEvent::Activity(_) => (self.emit)(event),
            };
            let answered = answer::ask(
                &self.agent.model,
                request,
                self.grounding.as_ref(),
                self.deadline,
                self.cancel,
                if only_words { &hold } else { self.emit },
            );
            match answered {
                Ok(answer) if only_words => {
                    let is_grounded = self.grounding.as_ref().is_some_and(Grounding::is_grounded);
                    if !is_grounded || answer.stop == StopReason::MaxTokens {
                        let name = self.agent.model.name();
                        return Err(self
                            .without_answer(format!("{name} gave no answer that the places found support")));
                    }
                    held.into_inner().into_iter().for_each(self.emit);
                    return Ok(answer);
                }
                Ok(answer) => return Ok(answer),
                Err(Broken::Model(ModelError::ContextOverflow { .. }))
                    if self.forget() || self.shorten_a_result() || self.shorten_findings() => {}
                Err(Broken::Model(ModelError::Cancelled)) => return Err(Stop::Cancelled),
                Err(Broken::Model(error)) => return Err(self.without_answer(error.to_string())),
                Err(Broken::OutOfTime) => {
                    let minutes = TURN_TIME.as_secs() / 60;
                    let reason = format!("the turn was stopped after {minutes} minutes");
                    return Err(self.without_answer(reason));
                }
            }
        }
    }

    /// Drops the older half, up to a user message. Returns whether there was anything to drop.
    fn forget(&mut self) -> bool {
        let had = !self.earlier.is_empty();
        let half = self.earlier.len().div_ceil(2);
        let begins = |message: &Message| matches!(message, Message::User { .. });
        let kept = self.earlier.iter().skip(half).position(begins);
        self.earlier.drain(..kept.map_or(self.earlier.len(), |more| half + more));
        had
    }

    /// Shortens the oldest long result of this turn. Returns whether there was one.
    fn shorten_a_result(&mut self) -> bool {
        let is_long = |text: &str| text.chars().nth(2 * SHORTENED_CHARS).is_some();
        let oldest = self.turn.iter_mut().find_map(|message| match message {
            Message::Tool { text, .. } if is_long(text) => Some(text),
            _ => None,
        });
        oldest.map(|text| *text = cut_with_note(text, SHORTENED_CHARS)).is_some()
    }

    /// Halves the room for the findings. Returns whether the request had any.
    fn shorten_findings(&mut self) -> bool {
        let had = prompt(self.request, self.findings_room, true) != self.request.text;
        self.findings_room /= 2;
        had
    }

    fn postscript(&self, usage: Option<Usage>) -> String {
        let limit = self.agent.options.max_tokens;
        match limit.filter(|limit| usage.is_none_or(|usage| usage.tokens >= *limit)) {
            Some(limit) => format!("{CUT_OFF}: the limit of {limit} tokens was reached."),
            None => format!("{CUT_OFF}: the conversation fills the model's context."),
        }
    }
}

/// Returns the findings, if any.
fn found(request: &PromptRequest) -> Option<&Findings> {
    request.findings.as_ref().filter(|findings| !findings.findings.is_empty())
}

/// Returns whether a model only words the findings: it has no tools or too small a context.
fn is_small(model: &dyn LanguageModel) -> bool {
    !model.capabilities().tools || model.context_tokens().is_some_and(|tokens| tokens < SMALL_CONTEXT)
}

fn prompt(request: &PromptRequest, room: usize, is_small: bool) -> String {
    let Some(findings) = found(request) else { return request.text.clone() };
    let task = if is_small { grounding::WORD } else { grounding::CITE };
    grounding::question(&request.text, findings, room, task)
}

/// Returns the tools offered to the model; none if it only words findings.
fn specs(agent: &AgentLoop, request: &PromptRequest, is_small: bool) -> Vec<ToolSpec> {
    let only_words = is_small && found(request).is_some();
    if agent.model.capabilities().tools && !only_words {
        agent_loop::specs(&agent.tools.registry, &agent_loop::offered(agent))
    } else {
        Vec::new()
    }
}

fn offered<'a>(agent: &'a AgentLoop, specs: &[ToolSpec]) -> Option<&'a Toolbox> {
    (!specs.is_empty()).then_some(&agent.tools)
}

/// Returns the length of the fixed parts of a turn in characters: the question, the instructions and the tools.
fn fixed(agent: &AgentLoop, request: &PromptRequest, is_small: bool) -> usize {
    let tools = specs(agent, request, is_small);
    let name = request.root.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let spec = |tool: &ToolSpec| {
        let all = [&tool.name, &tool.description, &tool.parameters.to_string()];
        all.iter().map(|text| text.chars().count()).sum::<usize>()
    };
    request.text.chars().count()
        + instructions(&name, offered(agent, &tools)).chars().count()
        + tools.iter().map(spec).sum::<usize>()
}
