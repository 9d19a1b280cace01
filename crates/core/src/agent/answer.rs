//! One answer of a model: it runs on a thread of its own, its words are told as they come.

use super::{
    AgentEvent,
    deltas::{Deltas, Piece, Voice},
    grounding::{Filter, Grounding},
};
use crate::{
    CancellationToken,
    model::{
        Activity, AssistantMessage, LanguageModel, ModelError, ModelEvent, ModelRequest, StopReason, Usage,
    },
    update::{AgentMessage, AgentThought, SessionUpdate},
};
use std::{
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

/// How soon a cancel is noticed.
const POLL: Duration = Duration::from_millis(10);

/// Events that wait; a model that is faster than its reader is held up.
const AHEAD: usize = 32;

/// Bytes of an answer, reasoning included; a model that says more is stopped.
const ANSWER_BYTES: usize = 1 << 20;

/// The same activity is told again at most so often.
const ACTIVITY_EVERY: Duration = Duration::from_millis(100);

/// A whole answer.
#[derive(Debug)]
pub(super) struct Answer {
    /// As the model gave it, which is what it reads in the next request.
    pub(super) message: AssistantMessage,
    /// What was shown of its text.
    pub(super) shown: String,
    pub(super) stop: StopReason,
    pub(super) usage: Option<Usage>,
}

/// Why there is no whole answer.
#[derive(Debug)]
pub(super) enum Broken {
    Model(ModelError),
    OutOfTime,
}

enum Word {
    Event(ModelEvent),
    Done(Result<StopReason, ModelError>),
}

/// Asks `model` and tells its words; with `grounding`, without the citations that do not hold. Returns within 100 ms of a
/// cancel, whatever the model does.
pub(super) fn ask(
    model: &Arc<dyn LanguageModel>,
    request: ModelRequest,
    grounding: Option<&Grounding>,
    deadline: Instant,
    cancel: &CancellationToken,
    emit: &(dyn Fn(AgentEvent) + Sync),
) -> Result<Answer, Broken> {
    let stop = cancel.child_token();
    // Whatever ends the reading ends the model too.
    let _stops_the_model = stop.clone().drop_guard();
    let words = spawn(model, request, stop)?;
    let mut reader = Reader::new(emit, grounding);
    loop {
        let now = Instant::now();
        reader.tick(now);
        if cancel.is_cancelled() {
            return Err(reader.broken(ModelError::Cancelled));
        }
        if now >= deadline {
            reader.release();
            reader.flush(false);
            return Err(Broken::OutOfTime);
        }
        let wait = reader.deltas.due().map_or(POLL, |due| due.saturating_duration_since(now).min(POLL));
        match words.recv_timeout(wait) {
            Ok(Word::Event(event)) => reader.hear(event),
            Ok(Word::Done(Ok(stop))) => return Ok(reader.end(stop)),
            Ok(Word::Done(Err(error))) => return Err(reader.broken(error)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let reason = format!("{} stopped unexpectedly; try again", model.name());
                return Err(reader.broken(ModelError::Failed(reason)));
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
) -> Result<mpsc::Receiver<Word>, Broken> {
    let (sender, words) = mpsc::sync_channel(AHEAD);
    let model = Arc::clone(model);
    let answer = move || {
        // Where nobody reads any more, the cancel has been given as well.
        let mut on_event = |event| drop(sender.send(Word::Event(event)));
        let done = model.respond(&request, &cancel, &mut on_event);
        let _ = sender.send(Word::Done(done));
    };
    let spawned = std::thread::Builder::new().name("model".to_owned()).spawn(answer);
    let no_thread = |error| Broken::Model(ModelError::Failed(format!("no thread for the model: {error}")));
    spawned.map(|_| words).map_err(no_thread)
}

/// Gathers what a model says, and tells what others may hear.
struct Reader<'a> {
    emit: &'a (dyn Fn(AgentEvent) + Sync),
    message_id: String,
    message: AssistantMessage,
    grounding: Option<&'a Grounding>,
    filter: Option<Filter<'a>>,
    /// Who says what the filter holds.
    voice: Voice,
    shown: String,
    bytes: usize,
    usage: Option<Usage>,
    deltas: Deltas<Voice>,
    activity: Option<(std::mem::Discriminant<Activity>, Instant)>,
}

impl<'a> Reader<'a> {
    fn new(emit: &'a (dyn Fn(AgentEvent) + Sync), grounding: Option<&'a Grounding>) -> Self {
        Self {
            emit,
            message_id: uuid::Uuid::new_v4().to_string(),
            message: AssistantMessage::default(),
            grounding,
            filter: grounding.map(Filter::new),
            voice: Voice::Answer,
            shown: String::new(),
            bytes: 0,
            usage: None,
            deltas: Deltas::default(),
            activity: None,
        }
    }

    fn hear(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::Activity(activity) => self.show(activity),
            ModelEvent::Text(text) => {
                self.message.text.push_str(&text);
                self.push(Voice::Answer, &text);
            }
            ModelEvent::Preamble(text) => {
                self.message.preamble.push_str(&text);
                self.push(Voice::Preamble, &text);
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

    fn push(&mut self, voice: Voice, text: &str) {
        self.bytes += text.len();
        if voice != self.voice {
            self.release();
            self.filter = self.grounding.map(Filter::new);
            self.voice = voice;
        }
        match &mut self.filter {
            None => self.pass(voice, text),
            Some(filter) => {
                let checked = filter.push(text);
                self.pass(voice, &checked);
            }
        }
    }

    fn pass(&mut self, voice: Voice, text: &str) {
        if voice == Voice::Answer {
            self.shown.push_str(text);
        }
        for piece in self.deltas.push(Instant::now(), voice, text) {
            self.tell(piece, false);
        }
    }

    /// Passes on what the filter holds.
    fn release(&mut self) {
        let held = self.filter.as_mut().map(Filter::finish).unwrap_or_default();
        self.pass(self.voice, &held);
    }

    fn show(&mut self, activity: Activity) {
        let (kind, now) = (std::mem::discriminant(&activity), Instant::now());
        let is_news = self
            .activity
            .is_none_or(|(known, told)| known != kind || now.duration_since(told) >= ACTIVITY_EVERY);
        if is_news {
            self.activity = Some((kind, now));
            (self.emit)(AgentEvent::Activity(Some(activity)));
        }
    }

    fn tick(&mut self, now: Instant) {
        if let Some(piece) = self.deltas.ripe(now) {
            self.tell(piece, false);
        }
    }

    /// Tells what waits. The last chunk of a turn's last answer says so and carries the figures; it is empty if need be.
    fn flush(&mut self, is_last: bool) {
        let waiting = self.deltas.flush(Instant::now());
        let carries = is_last && waiting.as_ref().is_some_and(|piece| piece.voice == Voice::Answer);
        if let Some(piece) = waiting {
            self.tell(piece, carries);
        }
        if is_last && !carries {
            self.tell(Piece { voice: Voice::Answer, text: String::new() }, true);
        }
    }

    fn tell(&self, piece: Piece<Voice>, is_last: bool) {
        let Piece { voice, text } = piece;
        (self.emit)(AgentEvent::Update(match voice {
            Voice::Preamble => SessionUpdate::AgentThought(AgentThought { text, ..Default::default() }),
            Voice::Answer => SessionUpdate::AgentMessage(AgentMessage {
                text,
                message_id: Some(self.message_id.clone()),
                usage: self.usage.filter(|_| is_last),
                ended: is_last,
                ..AgentMessage::default()
            }),
        }));
    }

    fn end(mut self, stop: StopReason) -> Answer {
        // An answer that asks for tools is not the last of its turn, and one that says nothing or was cut off is followed
        // by a word about that.
        let says_nothing = self.message.text.trim().is_empty();
        let is_whole = stop != StopReason::MaxTokens && !says_nothing;
        let asks = !self.message.calls.is_empty();
        self.release();
        if !says_nothing && (!asks || stop == StopReason::MaxTokens) {
            let postscript = self.filter.as_ref().map(Filter::postscript).unwrap_or_default();
            self.pass(Voice::Answer, &postscript);
        }
        self.flush(is_whole && !asks);
        Answer { message: self.message, shown: self.shown, stop, usage: self.usage }
    }

    fn broken(mut self, error: ModelError) -> Broken {
        self.release();
        self.flush(false);
        Broken::Model(error)
    }
}
