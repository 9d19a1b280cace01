//! The model named on the command line.

use crate::{args, output::Usage};
use openagents_agents::openai::{Endpoint, OpenAi};
use openagents_core::{agent_ids::LOCAL_MODEL, model::NamedModel};

/// Prefix of a model behind an OpenAI-compatible address.
const OPENAI: &str = "openai:";

/// Returns the model that answers instead of the local one in use; `None` if none is named.
pub(super) fn read(arguments: &args::Agent) -> Result<Option<NamedModel>, Usage> {
    let base_url = arguments.base_url.as_deref();
    let key_variable = arguments.key_variable.as_deref();
    let named = arguments.model.as_ref().and_then(|model| model.to_str());
    if let Some(name) = named.and_then(|named| named.strip_prefix(OPENAI)) {
        // Reports a bad address before anything starts.
        OpenAi::new(Endpoint::named(name, base_url, key_variable))
            .map_err(|error| Usage(error.to_string()))?;
        return Ok(Some(NamedModel::Server {
            name: name.to_owned(),
            base_url: base_url.map(str::to_owned),
            key_variable: key_variable.map(str::to_owned),
        }));
    }
    if base_url.is_some() {
        return Err(Usage(format!("--base-url is for --model {OPENAI}NAME")));
    }
    if key_variable.is_some() {
        return Err(Usage(format!("--key-variable is for --model {OPENAI}NAME")));
    }
    let Some(model) = &arguments.model else { return Ok(None) };
    if named.is_some_and(|named| named == "gptoss" || named == LOCAL_MODEL) {
        return Ok(None);
    }
    let shown = model.display();
    match model.canonicalize() {
        Ok(file) if file.is_file() => Ok(Some(NamedModel::File(file))),
        _ => {
            let others = format!("a server's model is {OPENAI}NAME, the local one is gptoss");
            Err(Usage(format!("--model {shown}: no such file; {others}")))
        }
    }
}
