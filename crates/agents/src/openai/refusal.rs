//! What went wrong, in one sentence that names the endpoint and what to do.

use super::{
    Endpoint, Secret,
    parameters::Parameter,
    said::{Said, shown},
};
use openagents_core::model::ModelError;
use reqwest::{StatusCode, header::HeaderMap};
use serde_json::Value;
use std::time::Duration;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    /// The sentence.
    pub(super) error: ModelError,
    /// The same request may go better after a pause, of this length if the server said so.
    pub(super) passes: Option<Option<Duration>>,
    /// What the model did not take.
    pub(super) parameter: Option<Parameter>,
}

impl Trouble {
    pub(super) fn of(error: ModelError) -> Self {
        Self { error, passes: None, parameter: None }
    }

    fn failed(sentence: String) -> Self {
        Self::of(ModelError::Failed(sentence))
    }

    fn passing(sentence: String, pause: Option<Duration>) -> Self {
        Self { passes: Some(pause), ..Self::of(ModelError::Unavailable(sentence)) }
    }
}

/// Makes the sentences about one endpoint.
#[derive(Debug)]
pub(super) struct Sentences {
    /// `Ollama at http://127.0.0.1:11434`.
    server: String,
    base_url: String,
    model: String,
    /// What to do about a missing or wrong key.
    key_remedy: String,
    local: bool,
    /// The key may not go there.
    clear_text: bool,
}

impl Sentences {
    pub(super) fn new(endpoint: &Endpoint, origin: &str, local: bool) -> Self {
        Self {
            server: format!("{} at {origin}", endpoint.name),
            base_url: endpoint.base_url.trim().to_owned(),
            model: endpoint.model.clone(),
            key_remedy: endpoint.key.remedy(),
            local,
            clear_text: !local && origin.starts_with("http:"),
        }
    }

    /// One sentence without a full stop.
    pub(super) fn no_key(&self) -> String {
        format!("{} needs a key; {}", self.server, self.key_remedy)
    }

    pub(super) fn unusable_key(&self) -> Trouble {
        let sentence =
            format!("the key for {} has characters that no key has; {}", self.server, self.key_remedy);
        Trouble::of(ModelError::Unavailable(sentence))
    }

    pub(super) fn redirected(&self, to: &str) -> Trouble {
        let to: String = shown(to);
        Trouble::failed(format!(
            "{} sends us to {to}, where neither prompt nor key may go unasked; if that is right, make it the base URL",
            self.server
        ))
    }

    pub(super) fn silent(&self, waited: Duration) -> Trouble {
        let seconds = waited.as_secs();
        Trouble::failed(format!(
            "{} said nothing for {seconds} s; see whether it still works on it, then try again",
            self.server
        ))
    }

    pub(super) fn network(&self, error: &reqwest::Error) -> Trouble {
        // The innermost cause says what happened; the outer ones say that something did.
        let mut cause: &dyn std::error::Error = error;
        let mut refused = false;
        while let Some(inner) = cause.source() {
            cause = inner;
            let io = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
            refused |= io == Some(std::io::ErrorKind::ConnectionRefused);
        }
        if refused && self.local {
            // Nobody listens, and nobody will in a moment.
            let sentence = format!("nothing answers for {}; start it, or check the base URL", self.server);
            return Trouble::of(ModelError::Unavailable(sentence));
        }
        let reason =
            if error.is_timeout() { "no connection in time".to_owned() } else { shown(&cause.to_string()) };
        let remedy =
            if self.local { "see whether it still runs" } else { "check the network and the base URL" };
        Trouble::passing(format!("the connection to {} failed ({reason}); {remedy}", self.server), None)
    }

    pub(super) fn too_long(&self) -> Trouble {
        Trouble::failed(format!(
            "{} sends an answer without an end; is {} an OpenAI-compatible address?",
            self.server, self.base_url
        ))
    }

    pub(super) fn nonsense(&self) -> Trouble {
        Trouble::failed(format!(
            "{} sends something else than an answer; is {} an OpenAI-compatible address?",
            self.server, self.base_url
        ))
    }

    pub(super) fn broken_off(&self) -> Trouble {
        Trouble::failed(format!("{} broke off in the middle of its answer; try again", self.server))
    }

    pub(super) fn filtered(&self) -> Trouble {
        Trouble::failed(format!("{} took the answer away (content filter); rephrase the prompt", self.server))
    }

    /// A status that is no success, with its body.
    pub(super) fn status(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        body: &str,
        key: Option<&Secret>,
    ) -> Trouble {
        let said = Said::read(body, key);
        let (server, code) = (&self.server, status.as_u16());
        let unauthorised = |verb: &str| {
            let remedy = if self.clear_text && key.is_none() {
                "a key is sent over https alone, so give it an https address".to_owned()
            } else {
                self.key_remedy.clone()
            };
            Trouble::of(ModelError::Unavailable(format!("{server} {verb} ({code}); {remedy}")))
        };
        match status {
            StatusCode::UNAUTHORIZED if key.is_none() => unauthorised("asks for a key"),
            StatusCode::UNAUTHORIZED => unauthorised("does not take the key"),
            StatusCode::FORBIDDEN => Trouble::of(ModelError::Unavailable(format!(
                "{server} does not let us use {}{} ({code}); give it a key that may",
                self.model,
                said.aside()
            ))),
            StatusCode::NOT_FOUND => Trouble::failed(format!(
                "{server} does not know {}{} (404); check the name of the model and the base URL {}",
                self.model,
                said.aside(),
                self.base_url
            )),
            StatusCode::TOO_MANY_REQUESTS if said.is("insufficient_quota") => {
                Trouble::of(ModelError::Unavailable(format!(
                    "{server} has no quota left for this key{} (429); add to it there",
                    said.aside()
                )))
            }
            StatusCode::TOO_MANY_REQUESTS => Trouble::passing(
                format!("{server} has too much to do for this key{} (429); try again later", said.aside()),
                retry_after(headers),
            ),
            _ => self.said(&said, Some(status), retry_after(headers)),
        }
    }

    /// An error in the place of a frame.
    pub(super) fn frame(&self, frame: &Value, key: Option<&Secret>) -> Trouble {
        let said = Said::of(frame, key);
        let status = said.status.and_then(|status| StatusCode::from_u16(status).ok());
        self.said(&said, status, None)
    }

    fn said(&self, said: &Said, status: Option<StatusCode>, pause: Option<Duration>) -> Trouble {
        if let Some(overflow) = said.overflow() {
            return Trouble::of(overflow);
        }
        let parameter = Parameter::refused(said.parameter.as_deref(), &said.message);
        let code = status.map(|status| format!(" ({})", status.as_u16())).unwrap_or_default();
        let (server, aside) = (&self.server, said.aside());
        if let Some(status) = status.filter(|status| status.is_client_error()) {
            let sentence = match status {
                StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
                    return Trouble::passing(
                        format!("{server} is too busy{aside}{code}; try again later"),
                        pause,
                    );
                }
                _ => format!("{server} refuses the request{aside}{code}"),
            };
            return Trouble { parameter, ..Trouble::failed(sentence) };
        }
        let remedy = if self.local { "look at its log, or try again" } else { "try again later" };
        let sentence = format!("{server} failed{aside}{code}; {remedy}");
        let passes = status.is_some_and(|status| status.is_server_error());
        let trouble = if passes { Trouble::passing(sentence, pause) } else { Trouble::failed(sentence) };
        Trouble { parameter, ..trouble }
    }
}

/// Returns how long to wait: seconds, milliseconds as OpenAI says them, or until a date.
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

#[cfg(test)]
#[path = "refusal_tests.rs"]
mod tests;
