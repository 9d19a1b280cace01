//! Turns errors into one sentence that names the endpoint and the remedy.

use super::{
    answer::Flaw,
    endpoint::{Endpoint, Secret},
    request::Parameter,
};
use crate::limits::SERVER_MESSAGE_CHARS;
use openagents_core::{json_text, model::ModelError, text::line};
use reqwest::{StatusCode, header::HeaderMap};
use serde_json::Value;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestFailure {
    pub(super) error: ModelError,
    /// Set if a retry may succeed, with the pause requested by the server.
    pub(super) passes: Option<Option<Duration>>,
    pub(super) parameter: Option<Parameter>,
}

impl RequestFailure {
    pub(super) fn new(error: ModelError) -> Self {
        Self { error, passes: None, parameter: None }
    }

    fn failed(sentence: String) -> Self {
        Self::new(ModelError::Failed(sentence))
    }

    fn passing(sentence: String, pause: Option<Duration>) -> Self {
        Self { passes: Some(pause), ..Self::new(ModelError::Unavailable(sentence)) }
    }
}

#[derive(Debug)]
pub(super) struct Sentences {
    /// Display name: `Ollama`.
    name: String,
    /// Name and address: `Ollama at http://127.0.0.1:11434`.
    server: String,
    base_url: String,
    model: String,
    key_remedy: String,
    local: bool,
    /// Whether the key must not be sent, because the connection is not encrypted.
    clear_text: bool,
}

impl Sentences {
    pub(super) fn new(endpoint: &Endpoint, origin: &str, local: bool) -> Self {
        Self {
            name: endpoint.name.clone(),
            server: format!("{} at {origin}", endpoint.name),
            base_url: endpoint.base_url.trim().to_owned(),
            model: endpoint.model.clone(),
            key_remedy: endpoint.key.remedy(),
            local,
            clear_text: !local && origin.starts_with("http:"),
        }
    }

    pub(super) fn no_key(&self) -> String {
        format!("{} needs a key; {}", self.server, self.key_remedy)
    }

    pub(super) fn unusable_key(&self) -> RequestFailure {
        let sentence =
            format!("the key for {} contains invalid characters; {}", self.server, self.key_remedy);
        RequestFailure::new(ModelError::Unavailable(sentence))
    }

    pub(super) fn redirected(&self, to: &str) -> RequestFailure {
        let to: String = shown(to);
        RequestFailure::failed(format!(
            "{} redirects to {to}, which is not followed; if that is right, make it the base URL",
            self.server
        ))
    }

    pub(super) fn silent(&self, waited: Duration) -> RequestFailure {
        let seconds = waited.as_secs();
        RequestFailure::failed(format!(
            "{} said nothing for {seconds} s; check whether it is still running, then try again",
            self.server
        ))
    }

    pub(super) fn network(&self, error: &reqwest::Error) -> RequestFailure {
        // The innermost cause is the most specific one.
        let mut cause: &dyn std::error::Error = error;
        let mut refused = false;
        while let Some(inner) = cause.source() {
            cause = inner;
            let io = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
            refused |= io == Some(std::io::ErrorKind::ConnectionRefused);
        }
        if refused && self.local {
            // The connection was refused; a retry would not help.
            let sentence = format!("nothing answers for {}; start it, or check the base URL", self.server);
            return RequestFailure::new(ModelError::Unavailable(sentence));
        }
        let reason = if error.is_timeout() {
            "the connection timed out".to_owned()
        } else {
            shown(&cause.to_string())
        };
        let remedy =
            if self.local { "check whether it still runs" } else { "check the network and the base URL" };
        RequestFailure::passing(
            format!("the connection to {} failed ({reason}); {remedy}", self.server),
            None,
        )
    }

    pub(super) fn flawed(&self, flaw: Flaw) -> RequestFailure {
        let (server, base_url) = (&self.server, &self.base_url);
        RequestFailure::failed(match flaw {
            Flaw::BrokenOff => format!("{server} broke off in the middle of its answer; try again"),
            Flaw::Filtered => {
                format!("{server} withheld the answer or its rest (content filter); rephrase the prompt")
            }
            Flaw::Gap => {
                format!("{server} sent a part of its answer that is not JSON, so there is a gap; try again")
            }
            Flaw::UnparsedCall => {
                let model = &self.model;
                format!(
                    "{model} called a tool and {server} did not parse the call; {}",
                    self.parsing_remedy()
                )
            }
            Flaw::Unreadable => {
                format!("{server} did not send an answer; is {base_url} an OpenAI-compatible address?")
            }
            Flaw::Endless => {
                format!("{server} sends an endless answer; is {base_url} an OpenAI-compatible address?")
            }
        })
    }

    /// Returns how to make the server parse calls
    /// (<https://github.com/ggml-org/llama.cpp/blob/master/docs/function-calling.md>,
    /// <https://docs.vllm.ai/en/latest/features/tool_calling.html>).
    fn parsing_remedy(&self) -> &'static str {
        match self.name.as_str() {
            "llama-server" => "start llama-server with --jinja",
            "vLLM" => {
                "start vLLM with --enable-auto-tool-choice and the --tool-call-parser of the model (openai for gpt-oss)"
            }
            "Ollama" | "LM Studio" => "update it and the model, or choose a model that it lists with tools",
            _ => {
                "turn on tool calling there (llama-server: --jinja; vLLM: --enable-auto-tool-choice --tool-call-parser), \
                 or use another model"
            }
        }
    }

    pub(super) fn status(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        body: &str,
        key: Option<&Secret>,
    ) -> RequestFailure {
        let reply = ServerError::parse(body, key);
        let (server, code) = (&self.server, status.as_u16());
        let unauthorised = |verb: &str| {
            let remedy = if self.clear_text && key.is_none() {
                "keys are only sent over https; use an https address".to_owned()
            } else {
                self.key_remedy.clone()
            };
            RequestFailure::new(ModelError::Unavailable(format!("{server} {verb} ({code}); {remedy}")))
        };
        match status {
            StatusCode::UNAUTHORIZED if key.is_none() => unauthorised("asks for a key"),
            StatusCode::UNAUTHORIZED => unauthorised("does not take the key"),
            StatusCode::FORBIDDEN => RequestFailure::new(ModelError::Unavailable(format!(
                "{server} does not let us use {}{} ({code}); use a key with access",
                self.model,
                reply.aside()
            ))),
            StatusCode::NOT_FOUND => RequestFailure::failed(format!(
                "{server} does not know {}{} (404); check the name of the model and the base URL {}",
                self.model,
                reply.aside(),
                self.base_url
            )),
            StatusCode::TOO_MANY_REQUESTS if reply.has_kind("insufficient_quota") => {
                RequestFailure::new(ModelError::Unavailable(format!(
                    "{server} has no quota left for this key{} (429); add to it there",
                    reply.aside()
                )))
            }
            StatusCode::TOO_MANY_REQUESTS => RequestFailure::passing(
                format!("{server} limits the rate of this key{} (429); try again later", reply.aside()),
                retry_after(headers),
            ),
            _ => self.server_error(&reply, Some(status), retry_after(headers)),
        }
    }

    pub(super) fn frame(&self, frame: &Value, key: Option<&Secret>) -> RequestFailure {
        let reply = ServerError::from_json(frame, key);
        let status = reply.status.and_then(|status| StatusCode::from_u16(status).ok());
        self.server_error(&reply, status, None)
    }

    fn server_error(
        &self,
        reply: &ServerError,
        status: Option<StatusCode>,
        pause: Option<Duration>,
    ) -> RequestFailure {
        if let Some(overflow) = reply.overflow() {
            return RequestFailure::new(overflow);
        }
        let parameter = Parameter::refused(reply.parameter.as_deref(), &reply.message);
        let code = status.map(|status| format!(" ({})", status.as_u16())).unwrap_or_default();
        let (server, aside) = (&self.server, reply.aside());
        if let Some(status) = status.filter(|status| status.is_client_error()) {
            let sentence = match status {
                StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
                    return RequestFailure::passing(
                        format!("{server} is too busy{aside}{code}; try again later"),
                        pause,
                    );
                }
                _ => format!("{server} refuses the request{aside}{code}"),
            };
            return RequestFailure { parameter, ..RequestFailure::failed(sentence) };
        }
        let remedy = if self.local { "look at its log, or try again" } else { "try again later" };
        let sentence = format!("{server} failed{aside}{code}; {remedy}");
        let passes = status.is_some_and(|status| status.is_server_error());
        let trouble =
            if passes { RequestFailure::passing(sentence, pause) } else { RequestFailure::failed(sentence) };
        RequestFailure { parameter, ..trouble }
    }
}

/// Returns the requested pause: seconds, OpenAI's milliseconds, or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(milliseconds) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    let after = text("retry-after")?;
    if let Ok(seconds) = after.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = jiff::fmt::rfc2822::parse(after).ok()?.timestamp();
    at.duration_since(jiff::Timestamp::now()).try_into().ok()
}

#[derive(Debug, Default)]
pub(super) struct ServerError {
    pub(super) message: String,
    pub(super) parameter: Option<String>,
    kinds: Vec<String>,
    pub(super) status: Option<u16>,
    /// Tokens of the prompt and of the context, as reported by llama-server.
    tokens: Option<(u32, u32)>,
}

impl ServerError {
    pub(super) fn parse(body: &str, key: Option<&Secret>) -> Self {
        if let Ok(body) = json_text::from_str::<Value>(body) {
            return Self::from_json(&body, key);
        }
        // The first line of an HTML page is meaningless.
        let line = body.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let message = if line.starts_with('<') { String::new() } else { hidden(line, key) };
        Self { message, ..Self::default() }
    }

    pub(super) fn from_json(body: &Value, key: Option<&Secret>) -> Self {
        let body = body.get(0).unwrap_or(body);
        let error = match &body["error"] {
            Value::Null => body,
            error => error,
        };
        let texts = [&error["message"], error, &error["detail"], &error["detail"][0]["msg"]];
        let message = texts.into_iter().find_map(Value::as_str).unwrap_or_default();
        let kinds = [&error["code"], &error["type"]].into_iter().filter_map(Value::as_str);
        let status = [&error["code"], &error["status"]].into_iter().find_map(Value::as_u64);
        let tokens = |name: &str| error[name].as_u64().and_then(|tokens| u32::try_from(tokens).ok());
        Self {
            message: hidden(message, key),
            parameter: error["param"].as_str().map(str::to_owned),
            kinds: kinds.map(str::to_owned).collect(),
            status: status.and_then(|status| u16::try_from(status).ok()),
            tokens: tokens("n_prompt_tokens").zip(tokens("n_ctx")),
        }
    }

    pub(super) fn has_kind(&self, kind: &str) -> bool {
        self.kinds.iter().any(|known| known == kind)
    }

    /// Returns the message in a form that fits into a sentence.
    pub(super) fn aside(&self) -> String {
        let reply = shown(self.message.trim_end_matches('.'));
        if reply.is_empty() { reply } else { format!(": {reply}") }
    }

    /// Returns the error of a context overflow, which the loop can recover from.
    pub(super) fn overflow(&self) -> Option<ModelError> {
        let message = self.message.to_ascii_lowercase();
        let phrases = [
            "maximum context length",
            "context length exceeded",
            "exceeds the available context size",
            "context window",
            "context length of only",
            "exceeds the maximum number of tokens",
            "prompt is too long",
            "reduce the length of the messages",
        ];
        let is_overflow = self.has_kind("context_length_exceeded")
            || self.has_kind("exceed_context_size_error")
            || phrases.iter().any(|phrase| message.contains(phrase));
        if !is_overflow {
            return None;
        }
        let mut numbers = message
            .split(|letter: char| !letter.is_ascii_digit())
            .filter_map(|digits| digits.parse::<u32>().ok())
            .filter(|number| *number >= 256);
        let named = || {
            let (one, other) = (numbers.next()?, numbers.next()?);
            Some((one.max(other), one.min(other)))
        };
        let (needed, context) = self.tokens.or_else(named).unwrap_or_default();
        Some(ModelError::ContextOverflow { needed, context })
    }
}

fn hidden(text: &str, key: Option<&Secret>) -> String {
    key.map_or_else(|| text.to_owned(), |key| key.hide_in(text))
}

pub(super) fn shown(text: &str) -> String {
    line(text, SERVER_MESSAGE_CHARS)
}

#[cfg(test)]
#[path = "refusal_tests.rs"]
mod tests;
