//! Runs one answer of a model on its own thread and emits its events as they arrive.

use super::{
    grounding::Grounding,
    limits::{ACTIVITY_EVERY, ANSWER_BYTES, CANCEL_POLL, EVENTS_AHEAD},
};
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, Coalescer, Piece, TextRole},
    model::{
        Activity, AssistantMessage, LanguageModel, ModelError, ModelEvent, ModelRequest, StopReason, Usage,
    },
    update::{AgentMessage, AgentThought, SessionUpdate, new_id},
};
use std::{
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    time::Instant,
};

#[derive(Debug)]
pub(super) struct Answer {
    /// Without the notes below it: the model reads it in the next request.
    pub(super) message: AssistantMessage,
    pub(super) shown: String,
    pub(super) stop: StopReason,
    pub(super) usage: Option<Usage>,
}

/// The reason why there is no complete answer.
#[derive(Debug)]
pub(super) enum Broken {
    Model(ModelError),
    OutOfTime,
}

enum WorkerMessage {
    Event(ModelEvent),
    Done(Result<StopReason, ModelError>),
}

/// Runs `model` and emits its answer as it arrives, then what `grounding` could not confirm in it. Returns within 100 ms
/// of a cancel.
pub(super) fn ask(
    model: &Arc<dyn LanguageModel>,
    request: ModelRequest,
    grounding: Option<&Grounding>,
    deadline: Instant,
    cancel: &CancellationToken,
    emit: &(dyn Fn(AgentEvent) + Sync),
) -> Result<Answer, Broken> {
    let stop = cancel.child_token();
    // Stops the model on every return.
    let _stops_the_model = stop.clone().drop_guard();
    let messages = spawn(model, request, stop)?;
    let mut reader = Reader::new(emit, grounding);
    loop {
        let now = Instant::now();
        if let Some(piece) = reader.coalescer.ripe(now) {
            reader.emit_piece(piece, false);
        }
        if cancel.is_cancelled() {
            return Err(reader.broken(Broken::Model(ModelError::Cancelled)));
        }
        if now >= deadline {
            return Err(reader.broken(Broken::OutOfTime));
        }
        let due = reader.coalescer.due().map(|due| due.saturating_duration_since(now));
        let wait = due.map_or(CANCEL_POLL, |due| due.min(CANCEL_POLL));
        match messages.recv_timeout(wait) {
            Ok(WorkerMessage::Event(event)) => reader.hear(event),
            Ok(WorkerMessage::Done(Ok(stop))) => return Ok(reader.end(stop)),
            Ok(WorkerMessage::Done(Err(error))) => return Err(reader.broken(Broken::Model(error))),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let reason = format!("{} stopped unexpectedly; try again", model.name());
                return Err(reader.broken(Broken::Model(ModelError::Failed(reason))));
            }
        }
        if reader.bytes > ANSWER_BYTES {
            return Ok(reader.end(StopReason::MaxTokens));
        }
    }
}

fn spawn(
    model: &Arc<dyn LanguageModel>,
    request: ModelRequest,
    cancel: CancellationToken,
) -> Result<mpsc::Receiver<WorkerMessage>, Broken> {
    let (sender, messages) = mpsc::sync_channel(EVENTS_AHEAD);
    let model = Arc::clone(model);
    let answer = move || {
        // The receiver is dropped only after a cancel.
        let mut on_event = |event| drop(sender.send(WorkerMessage::Event(event)));
        let done = model.respond(&request, &cancel, &mut on_event);
        let _ = sender.send(WorkerMessage::Done(done));
    };
    let spawned = std::thread::Builder::new().name("model".to_owned()).spawn(answer);
    let no_thread = |error| Broken::Model(ModelError::Failed(format!("cannot start a thread: {error}")));
    spawned.map(|_| messages).map_err(no_thread)
}

/// Collects the events of a model and emits those that are public.
struct Reader<'a> {
    emit: &'a (dyn Fn(AgentEvent) + Sync),
    message_id: String,
    message: AssistantMessage,
    grounding: Option<&'a Grounding>,
    shown: String,
    bytes: usize,
    usage: Option<Usage>,
    coalescer: Coalescer<TextRole>,
    activity: Option<(std::mem::Discriminant<Activity>, Instant)>,
}

impl<'a> Reader<'a> {
    fn new(emit: &'a (dyn Fn(AgentEvent) + Sync), grounding: Option<&'a Grounding>) -> Self {
        Self {
            emit,
            message_id: new_id(),
            message: AssistantMessage::default(),
            grounding,
            shown: String::new(),
            bytes: 0,
            usage: None,
            coalescer: Coalescer::default(),
            activity: None,
        }
    }

    fn hear(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::Activity(activity) => self.show(activity),
            ModelEvent::Text(text) => {
                self.message.text.push_str(&text);
                self.push(TextRole::Answer, &text);
            }
            ModelEvent::Preamble(text) => {
                self.message.preamble.push_str(&text);
                self.push(TextRole::Preamble, &text);
            }
            ModelEvent::Reasoning(piece) => {
                self.bytes += piece.for_template().len();
                self.message.reasoning.push(&piece);
            }
            ModelEvent::ToolCall(call) => {
                self.bytes += call.arguments.to_string().len();
                self.message.calls.push(call);
            }
            ModelEvent::Usage(usage) => self.usage = Some(usage),
        }
    }

    fn push(&mut self, role: TextRole, text: &str) {
        self.bytes += text.len();
        self.pass(role, text);
    }

    fn pass(&mut self, role: TextRole, text: &str) {
        if role == TextRole::Answer {
            self.shown.push_str(text);
        }
        for piece in self.coalescer.push(Instant::now(), role, text) {
            self.emit_piece(piece, false);
        }
    }

    fn show(&mut self, activity: Activity) {
        let (kind, now) = (std::mem::discriminant(&activity), Instant::now());
        let is_news = |(known, output)| known != kind || now.duration_since(output) >= ACTIVITY_EVERY;
        if self.activity.is_none_or(is_news) {
            self.activity = Some((kind, now));
            (self.emit)(AgentEvent::Activity(Some(activity)));
        }
    }

    /// Emits buffered text. The last chunk of a turn is marked and carries the figures, even if it is empty.
    fn flush(&mut self, is_last: bool) {
        let waiting = self.coalescer.flush(Instant::now());
        let carries = is_last && waiting.as_ref().is_some_and(|piece| piece.role == TextRole::Answer);
        if let Some(piece) = waiting {
            self.emit_piece(piece, carries);
        }
        if is_last && !carries {
            self.emit_piece(Piece { role: TextRole::Answer, text: String::new() }, true);
        }
    }

    fn emit_piece(&self, piece: Piece<TextRole>, is_last: bool) {
        let Piece { role, text } = piece;
        (self.emit)(AgentEvent::Update(match role {
            TextRole::Preamble => SessionUpdate::AgentThought(AgentThought { text, ..Default::default() }),
            TextRole::Answer => SessionUpdate::AgentMessage(AgentMessage {
                text,
                message_id: Some(self.message_id.clone()),
                usage: self.usage.filter(|_| is_last),
                ended: is_last,
                ..AgentMessage::default()
            }),
        }));
    }

    fn end(mut self, stop: StopReason) -> Answer {
        // An answer with tool calls is not the last of its turn, and an empty or truncated one is followed by a note.
        let says_nothing = self.message.text.trim().is_empty();
        let is_whole = stop != StopReason::MaxTokens && !says_nothing;
        let asks = !self.message.calls.is_empty();
        if !says_nothing && (!asks || stop == StopReason::MaxTokens) {
            let checked = self.grounding.map(|grounding| grounding.postscript(&self.message.text));
            self.pass(TextRole::Answer, &checked.unwrap_or_default());
        }
        self.flush(is_whole && !asks);
        Answer { message: self.message, shown: self.shown, stop, usage: self.usage }
    }

    /// Emits the buffered text and returns `reason`.
    fn broken(mut self, reason: Broken) -> Broken {
        self.flush(false);
        reason
    }
}
