//! The address of a model and its access settings.

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

/// The provider id of a model named on the command line.
const OPENAI: &str = "openai";

/// The variable read by OpenAI's own clients.
const OPENAI_KEY: &str = "OPENAI_API_KEY";

/// The address of a model and its access settings.
#[derive(Clone)]
pub struct Endpoint {
    /// The provider id: `openai`, `custom:<id>`.
    pub id: String,
    /// The server's display name: `Ollama`.
    pub name: String,
    /// `http://127.0.0.1:8080/v1`.
    pub base_url: String,
    /// The model's name on the server.
    pub model: String,
    /// The source of its key.
    pub key: KeySource,
    /// Extra headers of every request.
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

/// Well-known servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// <https://platform.openai.com/docs/api-reference/introduction>
    OpenAi,
    /// Port 11434: <https://docs.ollama.com/api/openai-compatibility>
    Ollama,
    /// Port 1234: <https://lmstudio.ai/docs/developer/openai-compat>
    LmStudio,
    /// Port 8080: `--port` in <https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md>
    LlamaServer,
    /// Port 8000: <https://docs.vllm.ai/en/latest/serving/openai_compatible_server/>
    Vllm,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 5] = [Self::OpenAi, Self::Ollama, Self::LmStudio, Self::LlamaServer, Self::Vllm];

    /// Returns the display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "OpenAI",
            Self::Ollama => "Ollama",
            Self::LmStudio => "LM Studio",
            Self::LlamaServer => "llama-server",
            Self::Vllm => "vLLM",
        }
    }

    /// Returns the name used on command lines: `lm-studio`.
    pub fn id(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
            Self::LmStudio => "lm-studio",
            Self::LlamaServer => "llama-server",
            Self::Vllm => "vllm",
        }
    }

    /// Returns the default base URL.
    pub fn base_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Ollama => "http://127.0.0.1:11434/v1",
            Self::LmStudio => "http://127.0.0.1:1234/v1",
            Self::LlamaServer => "http://127.0.0.1:8080/v1",
            Self::Vllm => "http://127.0.0.1:8000/v1",
        }
    }

    /// Returns the endpoint of one of its models.
    pub fn endpoint(self, model: &str) -> Endpoint {
        Endpoint {
            id: OPENAI.to_owned(),
            name: self.name().to_owned(),
            base_url: self.base_url().to_owned(),
            model: model.to_owned(),
            key: match self {
                Self::OpenAi => KeySource::Variable(OPENAI_KEY.to_owned()),
                // These need no key, or use a custom one.
                Self::Ollama | Self::LmStudio | Self::LlamaServer | Self::Vllm => KeySource::None,
            },
            headers: BTreeMap::new(),
        }
    }

    /// Finds the preset with this host and port.
    fn at(base_url: &str) -> Option<Self> {
        let asked = address::completions(base_url).ok()?;
        Self::ALL.into_iter().find(|preset| {
            address::completions(preset.base_url()).is_ok_and(|own| {
                let same_host = own.host_str() == asked.host_str()
                    || address::is_loopback(&own) && address::is_loopback(&asked);
                same_host && own.port_or_known_default() == asked.port_or_known_default()
            })
        })
    }
}

impl Endpoint {
    /// Returns the model named on the command line: at OpenAI unless there is a base URL or the [id](Preset::id) of a
    /// preset.
    ///
    /// The key is read from `key_variable`. Without one, it is `OPENAI_API_KEY` for OpenAI and for other base URLs with
    /// `https`, as it was set for the address named along with it. No other server gets it.
    pub fn named(model: &str, base_url: Option<&str>, key_variable: Option<&str>) -> Self {
        let preset = base_url.and_then(|named| Preset::ALL.into_iter().find(|preset| preset.id() == named));
        let mut endpoint = preset.unwrap_or(Preset::OpenAi).endpoint(model);
        if let (None, Some(base_url)) = (preset, base_url) {
            endpoint.name = server_name(base_url);
            base_url.clone_into(&mut endpoint.base_url);
            let url = address::completions(base_url).ok();
            if !url.is_some_and(|url| url.scheme() == "https" && !address::is_loopback(&url)) {
                endpoint.key = KeySource::None;
            }
        }
        if let Some(variable) = key_variable {
            endpoint.key = KeySource::Variable(variable.to_owned());
        }
        endpoint
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
            // These control the framing of a message.
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

/// Values of headers may be secrets.
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

fn server_name(base_url: &str) -> String {
    Preset::at(base_url).map_or("the server", Preset::name).to_owned()
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
        for preset in Preset::ALL {
            let endpoint = Endpoint::named("m", Some(preset.id()), None);
            assert_eq!(
                (endpoint.name.as_str(), endpoint.base_url.as_str()),
                (preset.name(), preset.base_url())
            );
            assert_eq!(server_name(preset.base_url()), preset.name());
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
            let mut endpoint = Preset::Vllm.endpoint("m");
            endpoint.headers.insert(name.to_owned(), value.to_owned());
            assert_eq!(endpoint.header_map().err(), Some(EndpointError::Header(name.to_owned())), "{name}");
        }
    }
}
