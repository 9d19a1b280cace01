//! The model chosen on the command line.

use crate::{args, output::Usage};
use openagents_agents::openai::{Endpoint, OpenAi};
use openagents_core::agent_ids::LOCAL_MODEL;
use std::{path::PathBuf, sync::Arc};

/// Prefix of a model behind an OpenAI-compatible address.
const OPENAI: &str = "openai:";

/// The model that answers.
#[derive(Debug)]
pub(super) enum Choice {
    /// The local model in use.
    InUse,
    /// A GGUF file used instead.
    File(PathBuf),
    /// A model behind an OpenAI-compatible address.
    OpenAi(Arc<OpenAi>),
}

impl Choice {
    pub(super) fn read(arguments: &args::Agent) -> Result<Self, Usage> {
        let base_url = arguments.base_url.as_deref();
        let named = arguments.model.as_ref().and_then(|model| model.to_str());
        if let Some(name) = named.and_then(|named| named.strip_prefix(OPENAI)) {
            let model = OpenAi::new(Endpoint::named(name, base_url, arguments.key_variable.as_deref()));
            return model
                .map(|model| Self::OpenAi(Arc::new(model)))
                .map_err(|error| Usage(error.to_string()));
        }
        if base_url.is_some() {
            return Err(Usage(format!("--base-url is for --model {OPENAI}NAME")));
        }
        if arguments.key_variable.is_some() {
            return Err(Usage(format!("--key-variable is for --model {OPENAI}NAME")));
        }
        let Some(model) = &arguments.model else { return Ok(Self::InUse) };
        if named.is_some_and(|named| named == "gptoss" || named == LOCAL_MODEL) {
            return Ok(Self::InUse);
        }
        if !model.is_file() {
            let shown = model.display();
            let others = format!("a server's model is {OPENAI}NAME, the local one is gptoss");
            return Err(Usage(format!("--model {shown}: no such file; {others}")));
        }
        Ok(Self::File(model.clone()))
    }
}
