//! Generates one answer: converts messages into tokens and tokens into events, and reports usage at the end.

use crate::{
    limits::{ATTEMPTS, RETRY_TEMPERATURE, SPEED, TOP_K},
    session::Session,
};
use llama_cpp_2::{sampling::LlamaSampler, token::LlamaToken};
use openagents_core::{
    CancellationToken,
    model::{Activity, ModelError, ModelEvent, ModelOptions, ModelRequest, StopReason, Usage},
};
use openagents_llama::{
    chat::{ChatFormat, Ending, Vocabulary},
    engine::resident_bytes,
};
use std::time::{Duration, Instant};

pub(crate) struct Generator<'m> {
    pub(crate) session: Session<'m>,
    pub(crate) format: Box<dyn ChatFormat>,
    pub(crate) vocabulary: Box<dyn Vocabulary + 'm>,
    /// The token at the beginning of every prompt, if the vocabulary requires one.
    pub(crate) begin: Option<i32>,
}

/// Receives events. Fails if the receiver is gone; blocks while its queue is full.
pub(crate) type Emit<'a> = &'a mut dyn FnMut(ModelEvent) -> Result<(), ModelError>;

struct Question<'a> {
    request: &'a ModelRequest,
    prompt: Vec<LlamaToken>,
    asked: Instant,
    cancel: &'a CancellationToken,
}

struct Attempt {
    stop: StopReason,
    malformed: bool,
    usage: Usage,
    generating: Duration,
}

impl Generator<'_> {
    /// Generates an answer. `asked` is when the request arrived.
    pub(crate) fn answer(
        &mut self,
        request: &ModelRequest,
        asked: Instant,
        cancel: &CancellationToken,
        emit: Emit<'_>,
    ) -> Result<StopReason, ModelError> {
        let question = Question { request, prompt: self.render_prompt(request)?, asked, cancel };
        let mut usage = Usage::default();
        let mut generating = Duration::ZERO;
        let budget = request.options.max_tokens.unwrap_or(u32::MAX);
        for attempt in 0..ATTEMPTS {
            // The limit applies to all attempts together.
            let limit = budget.saturating_sub(usage.tokens);
            if attempt > 0 && limit == 0 {
                break;
            }
            let answered = self.attempt(&question, attempt, limit, emit)?;
            let before = usage;
            usage = answered.usage;
            usage.tokens += before.tokens;
            if attempt > 0 {
                usage.cached_tokens = before.cached_tokens;
                usage.first_token_ms = before.first_token_ms;
            }
            generating += answered.generating;
            if !answered.malformed {
                usage.tokens_per_second = per_second(usage.tokens, generating);
                usage.memory_bytes = resident_bytes(std::process::id()).unwrap_or_default();
                emit(ModelEvent::Usage(usage))?;
                return Ok(answered.stop);
            }
            tracing::warn!(attempt, "malformed answer");
        }
        Err(ModelError::Malformed)
    }

    fn render_prompt(&self, request: &ModelRequest) -> Result<Vec<LlamaToken>, ModelError> {
        let mut tokens = self
            .format
            .render(request, &*self.vocabulary)
            .map_err(|error| ModelError::Failed(error.to_string()))?;
        if let Some(begin) = self.begin
            && tokens.first() != Some(&begin)
        {
            tokens.insert(0, begin);
        }
        if tokens.is_empty() {
            return Err(ModelError::Failed("the prompt is empty; send a message".to_owned()));
        }
        Ok(tokens.into_iter().map(LlamaToken).collect())
    }

    fn attempt(
        &mut self,
        question: &Question<'_>,
        attempt: u32,
        limit: u32,
        emit: Emit<'_>,
    ) -> Result<Attempt, ModelError> {
        let Question { request, prompt, asked, cancel } = question;
        let cached = self.session.compute_prompt(prompt, cancel, |progress| {
            emit(ModelEvent::Activity(Activity::ReadingPrompt { progress }))
        })?;
        let limit = limit.min(self.session.room());
        let mut sampler = sampler(&request.options, attempt);
        let mut parser = self.format.parser(request);
        let mut output = AnswerOutput::new(emit);
        let mut parsed = Vec::new();
        let started = Instant::now();
        let mut reported = started;
        emit_speed(output.emit, 0, Duration::ZERO)?;
        let mut first_token = asked.elapsed();
        let mut tokens = 0;
        let mut end = None;
        while tokens < limit {
            if cancel.is_cancelled() {
                return Err(ModelError::Cancelled);
            }
            let token = self.session.sample(&mut sampler);
            tokens += 1;
            if tokens == 1 {
                first_token = asked.elapsed();
            }
            if self.vocabulary.ends_answer(token.0) {
                end = Some(token.0);
                break;
            }
            parser.push(token.0, &self.vocabulary.bytes(token.0), &mut parsed);
            output.push(&mut parsed)?;
            if reported.elapsed() >= SPEED {
                reported = Instant::now();
                emit_speed(output.emit, tokens, started.elapsed())?;
            }
            // The token after the last allowed one need not be computed.
            if tokens < limit {
                self.session.append(token)?;
            }
        }
        let ending = parser.finish(end, &mut parsed);
        output.push(&mut parsed)?;
        let malformed = end.is_some() && ending == Ending::Malformed && !output.accepted;
        if !malformed {
            output.accept()?;
        }
        Ok(Attempt {
            stop: match (end.is_some(), output.called) {
                (false, _) => StopReason::MaxTokens,
                (true, true) => StopReason::ToolCalls,
                (true, false) => StopReason::EndTurn,
            },
            malformed,
            usage: Usage {
                prompt_tokens: count(prompt.len()),
                cached_tokens: count(cached),
                tokens,
                first_token_ms: u32::try_from(first_token.as_millis()).unwrap_or(u32::MAX),
                ..Usage::default()
            },
            generating: started.elapsed(),
        })
    }
}

/// The output of an attempt. Reasoning and preambles are held back until the first text or call, so that a malformed
/// attempt emits nothing: emitted events can't be taken back.
struct AnswerOutput<'a> {
    emit: Emit<'a>,
    waiting: Vec<ModelEvent>,
    accepted: bool,
    called: bool,
}

impl<'a> AnswerOutput<'a> {
    fn new(emit: Emit<'a>) -> Self {
        Self { emit, waiting: Vec::new(), accepted: false, called: false }
    }

    fn push(&mut self, parsed: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        for event in parsed.drain(..) {
            let sure = matches!(event, ModelEvent::Text(_) | ModelEvent::ToolCall(_));
            self.called |= matches!(event, ModelEvent::ToolCall(_));
            self.waiting.push(event);
            if sure || self.accepted {
                self.accept()?;
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> Result<(), ModelError> {
        self.accepted = true;
        self.waiting.drain(..).try_for_each(&mut *self.emit)
    }
}

fn emit_speed(emit: Emit<'_>, tokens: u32, time: Duration) -> Result<(), ModelError> {
    let tokens_per_second = per_second(tokens, time);
    emit(ModelEvent::Activity(Activity::Generating { tokens, tokens_per_second }))
}

fn per_second(tokens: u32, time: Duration) -> f32 {
    let seconds = time.as_secs_f32();
    if seconds > 0.0 { tokens as f32 / seconds } else { 0.0 }
}

fn count(tokens: usize) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

/// Returns the sampler for an attempt; attempts are numbered from 0.
pub(crate) fn sampler(options: &ModelOptions, attempt: u32) -> LlamaSampler {
    let temperature =
        if attempt == 0 { options.temperature } else { options.temperature.max(RETRY_TEMPERATURE) };
    // A chain would keep its list of candidates from token to token.
    if temperature.is_nan() || temperature <= 0.0 {
        return LlamaSampler::chain([LlamaSampler::greedy()], true);
    }
    let seed = options.seed.unwrap_or_else(random).wrapping_add(attempt);
    let chain = [
        LlamaSampler::top_k(TOP_K),
        LlamaSampler::top_p(options.top_p, 1),
        LlamaSampler::temp(temperature),
        LlamaSampler::dist(seed),
    ];
    LlamaSampler::chain(chain, true)
}

fn random() -> u32 {
    let bytes = uuid::Uuid::new_v4().into_bytes();
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::model::{CallRequest, Reasoning};

    /// Counts the emitted events.
    fn count_emitted(pieces: Vec<ModelEvent>, accepted: bool) -> usize {
        let mut events = 0;
        let mut emit = |_| {
            events += 1;
            Ok(())
        };
        let mut output = AnswerOutput::new(&mut emit);
        for piece in pieces {
            output.push(&mut vec![piece]).unwrap();
        }
        if accepted {
            output.accept().unwrap();
        }
        events
    }

    #[test]
    fn malformed_attempt_emits_nothing() {
        let thought = || ModelEvent::Reasoning(Reasoning::new("Hm"));
        let preamble = || ModelEvent::Preamble("I look.".to_owned());
        let text = || ModelEvent::Text("Hi".to_owned());
        let call = CallRequest { id: "1".into(), name: "x".into(), arguments: serde_json::json!({}) };
        assert_eq!(count_emitted(vec![thought(), preamble()], false), 0);
        assert_eq!(count_emitted(vec![thought(), preamble()], true), 2);
        assert_eq!(count_emitted(vec![thought(), preamble(), ModelEvent::ToolCall(call)], false), 3);
        assert_eq!(count_emitted(vec![thought(), text(), thought(), text()], false), 4);
    }
}
