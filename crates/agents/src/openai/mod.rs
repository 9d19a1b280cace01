//! Models behind an OpenAI-compatible address: `POST …/chat/completions`, streamed.
//!
//! Uses `reqwest` and `eventsource-stream`: existing client crates handle only OpenAI's own responses and fail on
//! those of other servers. Every field of a response is optional here.
//!
//! `request` builds the body, `exchange` is the network, `frames` and `answer` parse the response, and `refusal` turns
//! every failure into one sentence.
//!
//! **Architecture invariants:** a key is read when it is needed, sent only to its own endpoint, and redacted in
//! `Debug`; reasoning in any form becomes [`Reasoning`](openagents_core::model::Reasoning).

mod answer;
mod calls;
mod content;
mod endpoint;
mod exchange;
mod frames;
mod refusal;
mod request;

pub(crate) use crate::openai::endpoint::is_local;
pub use crate::openai::endpoint::{AddressError, KeySource, Secret};
use crate::openai::request::{Parameter, Refused};
use answer::Answer;
pub use endpoint::{Endpoint, EndpointError};
use exchange::{Exchange, RequestTimeouts};
use openagents_core::{
    CancellationToken,
    model::{
        Activity, Availability, Capabilities, LanguageModel, ModelError, ModelEvent, ModelRequest, StopReason,
    },
};
use std::{
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};
use tokio::runtime::Runtime;

/// Lives as long as the connections, which are kept so that the next round of the agent loop needs no handshake.
static NETWORK: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).thread_name("openai").enable_all().build()
});

/// A model behind an OpenAI-compatible address.
///
/// [`respond`](LanguageModel::respond) blocks, and panics on a thread that runs async tasks.
#[derive(Debug)]
pub struct OpenAi {
    endpoint: Endpoint,
    exchange: Exchange,
    refused: Refused,
    /// Context length in tokens, as reported when a request did not fit; 0 if unknown.
    context: AtomicU32,
}

impl OpenAi {
    /// Creates a client without connecting.
    pub fn new(endpoint: Endpoint) -> Result<Self, EndpointError> {
        Self::with_timeouts(endpoint, RequestTimeouts::default())
    }

    fn with_timeouts(endpoint: Endpoint, timeouts: RequestTimeouts) -> Result<Self, EndpointError> {
        let exchange = Exchange::new(&endpoint, timeouts)?;
        Ok(Self { endpoint, exchange, refused: Refused::default(), context: AtomicU32::new(0) })
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    async fn answer(
        &self,
        request: &ModelRequest,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError> {
        let asked = Instant::now();
        // Queueing, loading and prompt processing can't be distinguished.
        on_event(ModelEvent::Activity(Activity::Waiting));
        loop {
            let (body, names) = request::body(request, &self.endpoint.model, &self.refused);
            let opened = match self.exchange.open(&body).await {
                Ok(opened) => opened,
                // Refused before the first token: retry without the parameter.
                Err(trouble) if trouble.parameter.is_some_and(|refused| self.refused.add(refused)) => {
                    continue;
                }
                Err(trouble) => return Err(trouble.error),
            };
            let answer = Answer::new(&self.endpoint.model, names, &self.refused, asked);
            return opened.read_answer(answer, on_event).await;
        }
    }
}

impl LanguageModel for OpenAi {
    fn id(&self) -> &str {
        &self.endpoint.id
    }

    fn name(&self) -> String {
        self.endpoint.model.clone()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            tools: !self.refused.has(Parameter::Tools),
            local: endpoint::is_local(&self.endpoint.base_url, &self.endpoint.model),
            loaded: true,
        }
    }

    fn context_tokens(&self) -> Option<u32> {
        Some(self.context.load(Ordering::Relaxed)).filter(|tokens| *tokens > 0)
    }

    /// Checks only for a key: a server that is down is noticed on use.
    fn availability(&self) -> Availability {
        match self.exchange.lacks_key() {
            Some(reason) => Availability::Unavailable(reason),
            None => Availability::Ready,
        }
    }

    fn respond(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError> {
        let network = NETWORK
            .as_ref()
            .map_err(|error| ModelError::Failed(format!("no thread for the network: {error}")))?;
        let answered = network.block_on(async {
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(ModelError::Cancelled),
                answered = self.answer(request, on_event) => answered,
            }
        });
        if let Err(ModelError::ContextOverflow { context, .. }) = answered {
            self.context.store(context, Ordering::Relaxed);
        }
        answered
    }
}

#[cfg(test)]
mod tests;
