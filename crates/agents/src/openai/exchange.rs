//! One HTTP request and its streamed answer.

use super::{
    answer::{Answer, Flaw, Frame, is_error},
    endpoint::{self, Endpoint, EndpointError, KeySource, Secret},
    frames::{Frames, Lost},
    refusal::{RequestFailure, Sentences},
};
use crate::limits::{DRAIN, ERROR_BODY};
use backon::{ExponentialBuilder, Retryable};
use futures::{Stream, stream};
use openagents_core::{
    json_text,
    model::{Activity, ModelError, ModelEvent, StopReason},
};
use reqwest::{
    Client, Response, Url,
    header::{AUTHORIZATION, HeaderMap, HeaderValue, LOCATION},
    redirect,
};
use serde_json::Value;
use std::{cell::Cell, rc::Rc, time::Duration};

#[derive(Debug, Clone, Copy)]
pub(super) struct RequestTimeouts {
    pub(super) connect: Duration,
    /// From the request to the first frame: the server may have to load the model and process the prompt.
    pub(super) first: Duration,
    pub(super) idle: Duration,
    pub(super) retries: usize,
    /// Pause before the second attempt, doubled for each further attempt, with up to 100 % jitter.
    pub(super) pause: Duration,
    /// If the server asks for a longer pause, the request fails.
    pub(super) longest_pause: Duration,
}

impl Default for RequestTimeouts {
    /// Allows ten minutes for the first frame, as OpenAI's own clients do
    /// (<https://github.com/openai/openai-python#timeouts>).
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first: Duration::from_secs(600),
            idle: Duration::from_secs(120),
            retries: 3,
            pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(30),
        }
    }
}

#[derive(Debug)]
pub(super) struct Exchange {
    client: Client,
    url: Url,
    headers: HeaderMap,
    key: KeySource,
    local: bool,
    sentences: Sentences,
    timeouts: RequestTimeouts,
}

impl Exchange {
    pub(super) fn new(endpoint: &Endpoint, timeouts: RequestTimeouts) -> Result<Self, EndpointError> {
        let url = endpoint::completions(&endpoint.base_url)?;
        if endpoint.model.trim().is_empty() {
            return Err(EndpointError::NoModel(endpoint.base_url.clone()));
        }
        let local = endpoint::is_loopback(&url);
        // Only the first call in a process has an effect.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut client = Client::builder()
            .user_agent(concat!("openagents/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(timeouts.connect)
            // A prompt contains the workspace, so it goes only to the configured server.
            .redirect(redirect::Policy::none());
        if local {
            client = client.no_proxy();
        }
        let origin = url.origin().ascii_serialization();
        let client =
            client.build().map_err(|error| EndpointError::Client(origin.clone(), error.to_string()))?;
        Ok(Self {
            client,
            headers: endpoint.header_map()?,
            key: endpoint.key.clone(),
            local,
            sentences: Sentences::new(endpoint, &origin, local),
            timeouts,
            url,
        })
    }

    /// Returns whether the key may be sent to the server: never in clear text over a network.
    fn takes_key(&self) -> bool {
        self.local || self.url.scheme() == "https"
    }

    /// Returns the remedy for a missing key, if one is needed. Most servers on this machine don't need one.
    pub(super) fn lacks_key(&self) -> Option<String> {
        let needs = !matches!(self.key, KeySource::None) && !self.local && self.takes_key();
        (needs && !self.key.is_there()).then(|| self.sentences.no_key())
    }

    pub(super) async fn read_key(&self) -> Result<Option<Secret>, RequestFailure> {
        if !self.takes_key() {
            return Ok(None);
        }
        let key = self.key.clone();
        // The keychain may prompt the user, which must not delay a cancel.
        let read = tokio::task::spawn_blocking(move || key.load()).await.ok().flatten();
        match self.lacks_key().filter(|_| read.is_none()) {
            Some(reason) => Err(RequestFailure::new(ModelError::Unavailable(reason))),
            None => Ok(read),
        }
    }

    /// Sends the request, with retries, until the first frame arrives.
    pub(super) async fn open(&self, body: &Value) -> Result<Opened<'_>, RequestFailure> {
        let key = self.read_key().await?;
        let RequestTimeouts { retries, pause, longest_pause, .. } = self.timeouts;
        let asked = |trouble: &RequestFailure| trouble.passes.flatten();
        let attempt = || self.attempt(body, key.as_ref());
        let pauses =
            ExponentialBuilder::default().with_min_delay(pause).with_max_times(retries).with_jitter();
        attempt
            .retry(pauses)
            .when(|trouble| {
                trouble.passes.is_some() && asked(trouble).is_none_or(|pause| pause <= longest_pause)
            })
            .adjust(|trouble, planned| planned.map(|planned| asked(trouble).unwrap_or(planned)))
            .notify(|trouble, pause| tracing::debug!("asking again in {pause:?}: {}", trouble.error))
            .await
    }

    async fn attempt(&self, body: &Value, key: Option<&Secret>) -> Result<Opened<'_>, RequestFailure> {
        let wait = Rc::new(Cell::new(self.timeouts.first));
        let sent = tokio::time::timeout(wait.get(), self.request(body, key)?.send());
        let response = sent.await.map_err(|_| self.sentences.silent(wait.get()))?;
        let response = response.map_err(|error| self.sentences.network(&error))?;
        let status = response.status();
        if status.is_redirection() {
            let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            return Err(self.sentences.redirected(to.unwrap_or("nowhere")));
        }
        if !status.is_success() {
            let headers = response.headers().clone();
            let body = self.error_body(response).await;
            return Err(self.sentences.status(status, &headers, &body, key));
        }
        let frames = Frames::open(pieces(response, Rc::clone(&wait))).await;
        let mut frames = frames.map_err(|lost| self.lost(lost, &wait))?;
        let first = match frames.next().await {
            None => return Err(self.sentences.flawed(Flaw::Unreadable)),
            Some(Err(lost)) => return Err(self.lost(lost, &wait)),
            Some(Ok(first)) => first,
        };
        // An error before the first token may be about a parameter.
        if let Some(error) = json_text::from_str(&first).ok().filter(is_error) {
            return Err(self.sentences.frame(&error, key));
        }
        wait.set(self.timeouts.idle);
        Ok(Opened { exchange: self, frames, first, key: key.cloned(), wait })
    }

    fn request(&self, body: &Value, key: Option<&Secret>) -> Result<reqwest::RequestBuilder, RequestFailure> {
        let mut headers = self.headers.clone();
        if let Some(key) = key {
            let value = HeaderValue::from_str(&format!("Bearer {}", key.expose()));
            let mut value = value.map_err(|_| self.sentences.unusable_key())?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(self.client.post(self.url.clone()).headers(headers).json(body))
    }

    async fn error_body(&self, mut response: Response) -> String {
        let mut body = Vec::new();
        let read = async {
            while let Ok(Some(chunk)) = response.chunk().await {
                body.extend_from_slice(&chunk);
                if body.len() > ERROR_BODY {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(self.timeouts.connect, read).await;
        String::from_utf8_lossy(&body).into_owned()
    }

    fn lost(&self, lost: Lost<Break>, wait: &Cell<Duration>) -> RequestFailure {
        match lost {
            Lost::Network(Break::Silence) => self.sentences.silent(wait.get()),
            Lost::Network(Break::Network(error)) => self.sentences.network(&error),
            Lost::TooLong => self.sentences.flawed(Flaw::Endless),
            Lost::NoEvents => self.sentences.flawed(Flaw::Unreadable),
        }
    }
}

pub(super) struct Opened<'a> {
    exchange: &'a Exchange,
    frames: Frames<Break>,
    first: String,
    key: Option<Secret>,
    wait: Rc<Cell<Duration>>,
}

impl Opened<'_> {
    pub(super) async fn read_answer(
        mut self,
        mut answer: Answer<'_>,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError> {
        let sentences = &self.exchange.sentences;
        on_event(ModelEvent::Activity(Activity::Generating { tokens: 0, tokens_per_second: 0.0 }));
        let mut frame = Some(Ok(std::mem::take(&mut self.first)));
        while let Some(data) = frame {
            let data = match data {
                Ok(data) => data,
                // The server may have closed the connection after it sent everything.
                Err(Lost::Network(Break::Network(_))) => break,
                Err(lost) => return Err(self.exchange.lost(lost, &self.wait).error),
            };
            match answer.push(&data, on_event) {
                Frame::More => {}
                Frame::Done => {
                    self.drain().await;
                    break;
                }
                Frame::Error(error) => return Err(sentences.frame(&error, self.key.as_ref()).error),
            }
            frame = self.frames.next().await;
        }
        answer.finish(self.frames.is_whole(), on_event).map_err(|flaw| sentences.flawed(flaw).error)
    }

    /// Reads past the end, usually one empty chunk: the connection can be reused only then.
    async fn drain(&mut self) {
        let rest = async { while self.frames.next().await.is_some_and(|frame| frame.is_ok()) {} };
        let _ = tokio::time::timeout(DRAIN, rest).await;
    }
}

#[derive(Debug)]
pub(super) enum Break {
    Silence,
    Network(reqwest::Error),
}

fn pieces(
    response: Response,
    wait: Rc<Cell<Duration>>,
) -> impl Stream<Item = Result<impl AsRef<[u8]>, Break>> + 'static {
    stream::unfold(Some((response, wait)), |state| async {
        let (mut response, wait) = state?;
        let piece = tokio::time::timeout(wait.get(), response.chunk()).await;
        match piece {
            Ok(Ok(piece)) => Some((Ok(piece?), Some((response, wait)))),
            Ok(Err(error)) => Some((Err(Break::Network(error)), None)),
            Err(_) => Some((Err(Break::Silence), None)),
        }
    })
}
