//! A model's address and access settings.

use super::{
    address::{self, AddressError},
    key::KeySource,
};
use openagents_core::{
    agent::{CustomAgent, CustomKind},
    agent_ids::CUSTOM_PREFIX,
};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::collections::BTreeMap;

/// The preset for OpenAI, and the provider id of every model named on the command line.
const OPENAI: &str = "openai";

/// The variable that OpenAI's own clients read.
const OPENAI_KEY: &str = "OPENAI_API_KEY";

/// A model's address and access settings.
#[derive(Clone)]
pub struct Endpoint {
    /// The provider id: `openai`, `custom:<id>`.
    pub id: String,
    /// The server's display name: `Ollama`.
    pub name: String,
    /// The base URL: `http://127.0.0.1:8080/v1`.
    pub base_url: String,
    /// The model's name on the server.
    pub model: String,
    /// The source of the key.
    pub key: KeySource,
    /// Extra headers for every request.
    pub headers: BTreeMap<String, String>,
}

/// The reason an endpoint cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The base URL is invalid.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The model name is missing.
    #[error("no model is named for {0}; use a name that the server lists under /models")]
    NoModel(String),
    /// A header is invalid.
    #[error("the header {0:?} cannot be sent; a name has letters, digits and -, a value is one line")]
    Header(String),
    /// The HTTP client cannot be created.
    #[error("cannot create an HTTP client for {0}: {1}")]
    Client(String, String),
}

struct Preset {
    /// The preset's name on command lines.
    id: &'static str,
    name: &'static str,
    base_url: &'static str,
}

/// The first is the default. Addresses:
/// <https://platform.openai.com/docs/api-reference/introduction>,
/// <https://docs.ollama.com/api/openai-compatibility>, <https://lmstudio.ai/docs/developer/openai-compat>,
/// `--port` in <https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md>,
/// <https://docs.vllm.ai/en/latest/serving/openai_compatible_server/>.
const PRESETS: [Preset; 5] = [
    Preset { id: OPENAI, name: "OpenAI", base_url: "https://api.openai.com/v1" },
    Preset { id: "ollama", name: "Ollama", base_url: "http://127.0.0.1:11434/v1" },
    Preset { id: "lm-studio", name: "LM Studio", base_url: "http://127.0.0.1:1234/v1" },
    Preset { id: "llama-server", name: "llama-server", base_url: "http://127.0.0.1:8080/v1" },
    Preset { id: "vllm", name: "vLLM", base_url: "http://127.0.0.1:8000/v1" },
];

impl Endpoint {
    /// Returns the model named on the command line. `server` is a base URL or the name of a well-known server, by
    /// default OpenAI.
    ///
    /// The key is read from `key_variable`. Without one, `OPENAI_API_KEY` is used for `https` servers on another
    /// machine, since the user set it along with naming that address. No other server gets it.
    pub fn named(model: &str, server: Option<&str>, key_variable: Option<&str>) -> Self {
        let server = server.unwrap_or(OPENAI);
        let preset = PRESETS.iter().find(|preset| preset.id == server);
        let base_url = preset.map_or(server, |preset| preset.base_url);
        let url = address::completions(base_url).ok();
        let is_public = url.is_some_and(|url| url.scheme() == "https" && !address::is_loopback(&url));
        let variable = key_variable.or(is_public.then_some(OPENAI_KEY));
        Self {
            id: OPENAI.to_owned(),
            name: server_name(base_url),
            base_url: base_url.to_owned(),
            model: model.to_owned(),
            key: variable.map_or(KeySource::None, |variable| KeySource::Variable(variable.to_owned())),
            headers: BTreeMap::new(),
        }
    }

    /// Returns the model of a custom agent; `None` if the agent is not a model.
    pub fn custom(agent: &CustomAgent) -> Option<Self> {
        let CustomKind::Openai { base_url, model, key_variable, headers } = &agent.kind else { return None };
        let key = key_variable.clone().filter(|name| !name.is_empty());
        Some(Self {
            id: format!("{CUSTOM_PREFIX}{}", agent.id),
            name: agent.name.clone().unwrap_or_else(|| server_name(base_url)),
            base_url: base_url.clone(),
            model: model.clone(),
            key: key.map_or(KeySource::None, KeySource::Variable),
            headers: headers.clone(),
        })
    }

    pub(super) fn header_map(&self) -> Result<HeaderMap, EndpointError> {
        let mut map = HeaderMap::new();
        for (name, value) in &self.headers {
            let unusable = || EndpointError::Header(name.clone());
            let parsed: HeaderName = name.parse().map_err(|_| unusable())?;
            // These headers control the framing of a message.
            if ["host", "content-length", "transfer-encoding", "connection"].contains(&parsed.as_str()) {
                return Err(unusable());
            }
            let mut value = HeaderValue::from_str(value).map_err(|_| unusable())?;
            value.set_sensitive(true);
            map.insert(parsed, value);
        }
        Ok(map)
    }
}

/// Header values may be secrets, so only their names are printed.
impl std::fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let headers: Vec<_> = self.headers.keys().collect();
        formatter
            .debug_struct("Endpoint")
            .field("id", &self.id)
            .field("base_url", &self.base_url)
            .field("model", &self.model)
            .field("key", &self.key)
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

/// Finds the name of a well-known server by host and port.
fn server_name(base_url: &str) -> String {
    let asked = address::completions(base_url).ok();
    let is_it = |preset: &&Preset| {
        let Some((asked, own)) = asked.as_ref().zip(address::completions(preset.base_url).ok()) else {
            return false;
        };
        let same_host =
            own.host_str() == asked.host_str() || address::is_loopback(&own) && address::is_loopback(asked);
        same_host && own.port_or_known_default() == asked.port_or_known_default()
    };
    PRESETS.iter().find(is_it).map_or("the server", |preset| preset.name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_recognized_by_address() {
        let rows = [
            ("http://localhost:11434", "Ollama"),
            ("http://127.0.0.1:1234/v1", "LM Studio"),
            ("http://[::1]:8080/v1", "llama-server"),
            ("http://127.0.0.1:8000/v1", "vLLM"),
            ("https://api.openai.com/v1", "OpenAI"),
            ("http://10.0.0.7:8000/v1", "the server"),
            ("nonsense", "the server"),
        ];
        for (base_url, expected) in rows {
            assert_eq!(Endpoint::named("m", Some(base_url), None).name, expected, "{base_url}");
        }
        for preset in PRESETS {
            let endpoint = Endpoint::named("m", Some(preset.id), None);
            assert_eq!((endpoint.name.as_str(), endpoint.base_url.as_str()), (preset.name, preset.base_url));
            assert_eq!(server_name(preset.base_url), preset.name);
        }
        assert_eq!(Endpoint::named("gpt-5", None, None).base_url, "https://api.openai.com/v1");
    }

    #[test]
    fn the_openai_key_goes_only_to_servers_named_for_it() {
        let openai = || KeySource::Variable(OPENAI_KEY.to_owned());
        let rows = [
            (None, openai()),
            (Some("openai"), openai()),
            (Some("https://api.openai.com/v1"), openai()),
            (Some("https://models.example.com/v1"), openai()),
            (Some("http://models.example.com/v1"), KeySource::None),
            (Some("http://127.0.0.1:8080/v1"), KeySource::None),
            (Some("https://localhost:8080/v1"), KeySource::None),
            (Some("ollama"), KeySource::None),
            (Some("vllm"), KeySource::None),
            (Some("nonsense"), KeySource::None),
        ];
        for (base_url, expected) in rows {
            assert_eq!(Endpoint::named("m", base_url, None).key, expected, "{base_url:?}");
            let named = Endpoint::named("m", base_url, Some("MINE")).key;
            assert_eq!(named, KeySource::Variable("MINE".to_owned()), "{base_url:?}");
        }
    }

    #[test]
    fn an_added_agent_becomes_an_endpoint() {
        let agent: CustomAgent = serde_json::from_value(serde_json::json!({
            "id": "big", "kind": "openai", "baseUrl": "http://10.0.0.7:8000/v1", "model": "qwen3",
            "keyVariable": "BIG_KEY", "headers": {"x-team": "blue"},
        }))
        .unwrap();
        let endpoint = Endpoint::custom(&agent).unwrap();
        assert_eq!((endpoint.id.as_str(), endpoint.model.as_str()), ("custom:big", "qwen3"));
        assert_eq!(endpoint.key, KeySource::Variable("BIG_KEY".to_owned()));
        assert_eq!(endpoint.headers["x-team"], "blue");
        let program = CustomAgent {
            kind: CustomKind::Acp {
                command: "x".to_owned(),
                args: Vec::new(),
                env: BTreeMap::new(),
                cwd: None,
            },
            ..agent
        };
        assert!(Endpoint::custom(&program).is_none());
    }

    #[test]
    fn headers_that_break_a_message_are_refused_by_name() {
        for (name, value) in
            [("a b", "x"), ("", "x"), ("x", "a\r\nb: c"), ("Content-Length", "3"), ("Host", "h")]
        {
            let mut endpoint = Endpoint::named("m", Some("vllm"), None);
            endpoint.headers.insert(name.to_owned(), value.to_owned());
            assert_eq!(endpoint.header_map().err(), Some(EndpointError::Header(name.to_owned())), "{name}");
        }
    }
}
