//! Converts the frames of a response into model events.

use super::{
    calls::{Names, PartialCalls},
    content::Content,
    request::Refused,
};
use openagents_core::{
    json_text,
    model::{Activity, CallRequest, ModelEvent, Reasoning, StopReason, Usage},
};
use serde_json::{Value, json};
use std::time::Instant;

/// Fields that hold reasoning, in order: DeepSeek, llama-server, vLLM; OpenRouter, Groq, Ollama; a few others.
const THOUGHTS: [&str; 3] = ["reasoning_content", "reasoning", "thinking"];

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Frame {
    More,
    /// `[DONE]`.
    Done,
    Error(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    BrokenOff,
    /// Withheld by the server's content filter, from the beginning or from some point on.
    Filtered,
    Unreadable,
    Gap,
    /// A tool call sent as text that the server should have parsed.
    UnparsedCall,
    Endless,
}

#[derive(Debug)]
pub(super) struct Answer<'a> {
    names: Names,
    refused: &'a Refused,
    content: Content,
    calls: PartialCalls,
    finish: Option<String>,
    done: bool,
    spoke: bool,
    /// Valid and invalid frames.
    frames: (u32, u32),
    /// One of the invalid frames is the beginning of an object, so part of the answer is missing.
    has_gap: bool,
    usage: Option<Usage>,
    asked: Instant,
    first: Option<Instant>,
    /// Received pieces; each is about one token.
    pieces: u32,
}

impl<'a> Answer<'a> {
    pub(super) fn new(model: &str, names: Names, refused: &'a Refused, asked: Instant) -> Self {
        Self {
            names,
            refused,
            content: Content::new(model),
            calls: PartialCalls::default(),
            finish: None,
            done: false,
            spoke: false,
            frames: (0, 0),
            has_gap: false,
            usage: None,
            asked,
            first: None,
            pieces: 0,
        }
    }

    pub(super) fn push(&mut self, data: &str, on_event: &mut dyn FnMut(ModelEvent)) -> Frame {
        let data = data.trim();
        if data == "[DONE]" {
            self.done = true;
            return Frame::Done;
        }
        match json_text::from_str::<Value>(data) {
            Ok(frame) => self.apply_frame(&frame, on_event),
            // Frames separated by only one line break arrive as one.
            Err(_) if data.contains('\n') => {
                let mut meaning = Frame::More;
                for line in data.lines().filter(|line| !line.trim().is_empty()) {
                    meaning = self.push(line, on_event);
                    if meaning != Frame::More {
                        break;
                    }
                }
                meaning
            }
            Err(_) => {
                self.frames.1 += 1;
                self.has_gap |= data.starts_with('{');
                Frame::More
            }
        }
    }

    fn apply_frame(&mut self, frame: &Value, on_event: &mut dyn FnMut(ModelEvent)) -> Frame {
        if is_error(frame) {
            return Frame::Error(frame.clone());
        }
        if !frame.is_object() {
            self.frames.1 += 1;
            return Frame::More;
        }
        self.frames.0 += 1;
        self.read_usage(frame);
        let choice = &frame["choices"][0];
        let delta = ["delta", "message"].into_iter().find_map(|member| choice.get(member));
        if let Some(delta) = delta.filter(|delta| delta.is_object()) {
            self.apply_delta(delta, on_event);
        }
        if let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
            self.finish = Some(reason.to_owned());
        }
        Frame::More
    }

    fn apply_delta(&mut self, delta: &Value, on_event: &mut dyn FnMut(ModelEvent)) {
        let thought = THOUGHTS.into_iter().find_map(|member| {
            let text = delta[member].as_str().filter(|text| !text.is_empty())?;
            Some((member, text))
        });
        if let Some((member, text)) = thought {
            self.refused.set_thoughts_member(member);
            self.emit(ModelEvent::Reasoning(Reasoning::new(text)), on_event);
        }
        match &delta["content"] {
            Value::String(text) => self.content(text, on_event),
            Value::Array(parts) => parts.iter().for_each(|part| self.apply_part(part, on_event)),
            _ => {}
        }
        // A refusal counts as the answer.
        if let Some(text) = delta["refusal"].as_str() {
            self.content(text, on_event);
        }
        let calls = delta["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        calls.iter().for_each(|call| self.calls.push(call));
        let older = delta.get("function_call").filter(|call| call.is_object());
        if let Some(call) = older {
            self.calls.push(&json!({"function": call}));
        }
        if !calls.is_empty() || older.is_some() {
            self.count(on_event);
        }
    }

    fn apply_part(&mut self, part: &Value, on_event: &mut dyn FnMut(ModelEvent)) {
        if part["type"] == "thinking" {
            let text = match &part["thinking"] {
                Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
                other => other.as_str().unwrap_or_default().to_owned(),
            };
            self.emit(ModelEvent::Reasoning(Reasoning::new(text)), on_event);
        } else if let Some(text) = part["text"].as_str() {
            self.content(text, on_event);
        }
    }

    fn content(&mut self, text: &str, on_event: &mut dyn FnMut(ModelEvent)) {
        for piece in self.content.push(text) {
            self.handle_piece(piece, on_event);
        }
    }

    /// Handles a piece of the content: a call within it is assembled with the others.
    fn handle_piece(&mut self, piece: ModelEvent, on_event: &mut dyn FnMut(ModelEvent)) {
        match piece {
            ModelEvent::ToolCall(CallRequest { id, name, arguments }) => {
                self.calls.push(&json!({"id": id, "function": {"name": name, "arguments": arguments}}));
                self.count(on_event);
            }
            other => self.emit(other, on_event),
        }
    }

    fn emit(&mut self, event: ModelEvent, on_event: &mut dyn FnMut(ModelEvent)) {
        self.spoke |= matches!(&event, ModelEvent::Text(text) if !text.trim().is_empty());
        on_event(event);
        self.count(on_event);
    }

    fn count(&mut self, on_event: &mut dyn FnMut(ModelEvent)) {
        let first = *self.first.get_or_insert_with(Instant::now);
        self.pieces = self.pieces.saturating_add(1);
        let tokens_per_second = per_second(self.pieces, first);
        on_event(ModelEvent::Activity(Activity::Generating { tokens: self.pieces, tokens_per_second }));
    }

    /// Reads the usage, which comes in a separate frame or in every one, always as the total so far.
    fn read_usage(&mut self, frame: &Value) {
        let Some(usage) = frame["usage"].as_object() else { return };
        let count = |value: Option<&Value>| {
            value.and_then(Value::as_u64).map_or(0, |count| u32::try_from(count).unwrap_or(u32::MAX))
        };
        let details = usage.get("prompt_tokens_details");
        let measured = frame["timings"]["predicted_per_second"].as_f64();
        self.usage = Some(Usage {
            prompt_tokens: count(usage.get("prompt_tokens")),
            cached_tokens: count(details.and_then(|details| details.get("cached_tokens"))),
            tokens: count(usage.get("completion_tokens")),
            tokens_per_second: measured.map_or(0.0, |speed| speed as f32),
            ..Usage::default()
        });
    }

    /// Emits the rest: the end of the text, the calls, the usage. `is_whole` is set for a single JSON object, which
    /// is complete without an end mark.
    pub(super) fn finish(
        mut self,
        is_whole: bool,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, Flaw> {
        for piece in self.content.finish() {
            self.handle_piece(piece, on_event);
        }
        let says_nothing = !self.spoke && self.calls.is_empty();
        if self.frames.0 == 0 && self.frames.1 > 0 {
            return Err(Flaw::Unreadable);
        }
        // A connection that closes looks the same at the end of an answer as in the middle of it.
        let is_over = self.finish.is_some() || self.done || is_whole && !says_nothing;
        if !is_over {
            return Err(Flaw::BrokenOff);
        }
        let is_cut = match self.finish.as_deref().map_or(Finish::Whole, Finish::from_reason) {
            Finish::Broken => return Err(Flaw::BrokenOff),
            Finish::Filtered => return Err(Flaw::Filtered),
            _ if self.has_gap => return Err(Flaw::Gap),
            finish => finish == Finish::Limit,
        };
        if self.calls.is_empty() && self.names.are_any() && self.content.has_unparsed_call() && !is_cut {
            return Err(Flaw::UnparsedCall);
        }
        let calls = std::mem::take(&mut self.calls);
        // Calls of a truncated answer are not run if one is incomplete.
        let calls = if is_cut && !calls.are_whole() { Vec::new() } else { calls.finish(&self.names) };
        let asks = !calls.is_empty();
        calls.into_iter().for_each(|call| on_event(ModelEvent::ToolCall(call)));
        self.emit_usage(on_event);
        Ok(match (is_cut, asks) {
            (true, _) => StopReason::MaxTokens,
            (false, true) => StopReason::ToolCalls,
            (false, false) => StopReason::EndTurn,
        })
    }

    fn emit_usage(&self, on_event: &mut dyn FnMut(ModelEvent)) {
        let Some(usage) = self.usage else { return };
        let first = self.first.unwrap_or_else(Instant::now);
        let first_token_ms = u32::try_from((first - self.asked).as_millis()).unwrap_or(u32::MAX);
        let measured = Some(usage.tokens_per_second).filter(|speed| speed.is_finite() && *speed > 0.0);
        let tokens_per_second = measured.unwrap_or_else(|| per_second(usage.tokens, first));
        on_event(ModelEvent::Usage(Usage { tokens_per_second, first_token_ms, ..usage }));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finish {
    Whole,
    /// A token limit was reached.
    Limit,
    Filtered,
    Broken,
}

impl Finish {
    /// Reads a finish reason. Beyond OpenAI's own: `model_length` and `error` of Mistral
    /// (<https://docs.mistral.ai/api>), `insufficient_system_resource` of DeepSeek
    /// (<https://api-docs.deepseek.com/api/create-chat-completion>), `sensitive` and `network_error` of Zhipu
    /// (<https://docs.z.ai/api-reference/llm/chat-completion>), `abort` of vLLM
    /// (<https://docs.vllm.ai/en/latest/api/vllm/v1/engine/>), `max_tokens` and `MAX_TOKENS` of proxies.
    fn from_reason(reason: &str) -> Self {
        match reason.to_ascii_lowercase().as_str() {
            "length" | "max_tokens" | "model_length" => Self::Limit,
            "content_filter" | "sensitive" | "safety" => Self::Filtered,
            "error"
            | "network_error"
            | "insufficient_system_resource"
            | "abort"
            | "aborted"
            | "cancelled" => Self::Broken,
            _ => Self::Whole,
        }
    }
}

pub(super) fn is_error(frame: &Value) -> bool {
    frame["object"] == "error" || frame["type"] == "error" || !frame["error"].is_null()
}

fn per_second(tokens: u32, since: Instant) -> f32 {
    let seconds = since.elapsed().as_secs_f32();
    if seconds > 0.0 { tokens as f32 / seconds } else { 0.0 }
}
