//! A model's address and access settings.

use openagents_core::{
    agent::{CustomAgent, CustomKind},
    agent_ids::CUSTOM_PREFIX,
};
use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use std::{collections::BTreeMap, net::IpAddr};

/// The preset for OpenAI, and the provider id of every model named on the command line.
const OPENAI: &str = "openai";

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
    pub key: KeySource,
    /// Extra headers for every request.
    pub headers: BTreeMap<String, String>,
}

/// The reason an endpoint cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("no model is named for {0}; use a name that the server lists under /models")]
    NoModel(String),
    #[error("the header {0:?} cannot be sent; a name has letters, digits and -, a value is one line")]
    Header(String),
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
        let url = completions(base_url).ok();
        let is_public = url.is_some_and(|url| url.scheme() == "https" && !is_loopback(&url));
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

fn server_name(base_url: &str) -> String {
    let asked = completions(base_url).ok();
    let is_it = |preset: &&Preset| {
        let Some((asked, own)) = asked.as_ref().zip(completions(preset.base_url).ok()) else {
            return false;
        };
        let same_host = own.host_str() == asked.host_str() || is_loopback(&own) && is_loopback(asked);
        same_host && own.port_or_known_default() == asked.port_or_known_default()
    };
    PRESETS.iter().find(is_it).map_or("the server", |preset| preset.name).to_owned()
}

/// The reason a base URL is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("the base URL {0:?} is not valid; write it like http://127.0.0.1:8080/v1")]
    Malformed(String),
    /// Base URLs are shown along with the endpoint.
    #[error("the base URL has a name or a password in it; name the variable that holds the key instead")]
    HasPassword,
}

/// Returns the URL of the chat completions. A base URL without a path means `/v1`, as in every preset.
pub(super) fn completions(base: &str) -> Result<Url, AddressError> {
    let malformed = || AddressError::Malformed(base.to_owned());
    let mut url = Url::parse(base.trim()).map_err(|_| malformed())?;
    if !matches!(url.scheme(), "http" | "https") || url.fragment().is_some() {
        return Err(malformed());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(AddressError::HasPassword);
    }
    let path = url.path().trim_end_matches('/').to_owned();
    let path = path.strip_suffix("/chat/completions").unwrap_or(&path);
    let path = if path.is_empty() { "/v1" } else { path };
    url.set_path(&format!("{path}/chat/completions"));
    Ok(url)
}

/// Returns whether prompts stay on this machine, judging by address and model name. A proxy on loopback counts as
/// local: where it forwards requests is unknown.
pub(crate) fn is_local(base_url: &str, model: &str) -> bool {
    completions(base_url).is_ok_and(|url| is_loopback(&url)) && !is_sent_on(model)
}

/// Returns whether a local server forwards prompts under its own account: Ollama's cloud models, `gpt-oss:120b-cloud`
/// and `glm-4.6:cloud` (<https://docs.ollama.com/cloud>).
pub(super) fn is_sent_on(model: &str) -> bool {
    let name = model.trim().to_ascii_lowercase();
    name.ends_with("-cloud") || name.ends_with(":cloud")
}

pub(super) fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    match literal.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host == "localhost",
    }
}

/// The keychain service of the keys; the account is the name of the environment variable.
#[cfg(target_os = "macos")]
const SERVICE: &str = "OpenAgents";

/// The source of a key. Keys are never stored in our files.
///
/// They come from the environment and, on macOS, also from the login keychain, since a program started from the Dock
/// lacks the shell's variables. Uses `security-framework`, which TLS needs there anyway; a cross-platform crate would
/// bring D-Bus to Linux, where a headless machine has no such store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum KeySource {
    /// The server needs no key.
    #[default]
    None,
    /// An environment variable; on macOS also the keychain item of the service
    /// `OpenAgents` with this name as the account.
    Variable(String),
    /// A key passed in by the caller.
    Given(Secret),
}

/// A key, redacted in `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key; `None` if it is only whitespace.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    pub(super) fn hide_in(&self, text: &str) -> String {
        text.replace(&self.0, "…")
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret")
    }
}

impl KeySource {
    /// May block on the user: macOS asks before a program reads another program's item.
    pub(super) fn load(&self) -> Option<Secret> {
        match self {
            Self::None => None,
            Self::Variable(name) => key_from_environment(name).or_else(|| key_from_keychain(name)),
            Self::Given(secret) => Some(secret.clone()),
        }
    }

    /// Returns whether there is a key, without prompting the user.
    pub(super) fn is_there(&self) -> bool {
        match self {
            Self::None => false,
            Self::Variable(name) => key_from_environment(name).is_some() || is_in_keychain(name),
            Self::Given(_) => true,
        }
    }

    pub(super) fn remedy(&self) -> String {
        match self {
            Self::None => "name the variable that holds its key".to_owned(),
            Self::Given(_) => "give it another key".to_owned(),
            Self::Variable(name) if cfg!(target_os = "macos") => format!(
                "set {name} to its key, or keep the key with `security add-generic-password -U -s OpenAgents -a {name} -w`"
            ),
            Self::Variable(name) => format!("set {name} to its key"),
        }
    }
}

fn key_from_environment(name: &str) -> Option<Secret> {
    Secret::new(&std::env::var(name).ok()?)
}

#[cfg(target_os = "macos")]
fn key_from_keychain(name: &str) -> Option<Secret> {
    let bytes = security_framework::passwords::get_generic_password(SERVICE, name).ok()?;
    Secret::new(std::str::from_utf8(&bytes).ok()?)
}

/// Requests only the attributes, which needs no confirmation.
#[cfg(target_os = "macos")]
fn is_in_keychain(name: &str) -> bool {
    use security_framework::item::{ItemClass, ItemSearchOptions};
    let mut search = ItemSearchOptions::new();
    search.class(ItemClass::generic_password()).service(SERVICE).account(name).load_attributes(true);
    search.search().is_ok_and(|found| !found.is_empty())
}

#[cfg(not(target_os = "macos"))]
fn key_from_keychain(_name: &str) -> Option<Secret> {
    None
}

#[cfg(not(target_os = "macos"))]
fn is_in_keychain(_name: &str) -> bool {
    false
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
    fn openai_key_is_sent_to_https_servers_only() {
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
    fn custom_agent_becomes_endpoint() {
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
    fn header_map_rejects_framing_headers() {
        for (name, value) in
            [("a b", "x"), ("", "x"), ("x", "a\r\nb: c"), ("Content-Length", "3"), ("Host", "h")]
        {
            let mut endpoint = Endpoint::named("m", Some("vllm"), None);
            endpoint.headers.insert(name.to_owned(), value.to_owned());
            assert_eq!(endpoint.header_map().err(), Some(EndpointError::Header(name.to_owned())), "{name}");
        }
    }

    #[test]
    fn completions_normalizes_base_urls() {
        let rows = [
            ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/chat/completions"),
            ("http://localhost:11434", "http://localhost:11434/v1/chat/completions"),
            ("http://localhost:11434/", "http://localhost:11434/v1/chat/completions"),
            ("https://x.example/a/v1/chat/completions", "https://x.example/a/v1/chat/completions"),
            (" https://x.example/openai?version=1 ", "https://x.example/openai/chat/completions?version=1"),
        ];
        for (base, expected) in rows {
            assert_eq!(completions(base).unwrap().as_str(), expected, "{base}");
        }
        for bad in ["", "127.0.0.1:8080", "localhost:1234/v1", "ftp://x/v1", "http://", "https://x/v1#a"] {
            assert_eq!(completions(bad), Err(AddressError::Malformed(bad.to_owned())), "{bad}");
        }
        assert_eq!(completions("https://me:secret@x.example/v1"), Err(AddressError::HasPassword));
    }

    #[test]
    fn is_local_accepts_loopback_only() {
        let rows = [
            ("http://127.0.0.1:1/v1", true),
            ("http://127.9.9.9/v1", true),
            ("http://localhost/v1", true),
            ("http://[::1]:8000/v1", true),
            ("http://[::ffff:127.0.0.1]/v1", true),
            ("http://0x7f.1/v1", true),
            ("http://192.168.0.2/v1", false),
            ("http://127.0.0.1.example.com/v1", false),
            ("http://localhost.example.com/v1", false),
            ("https://api.openai.com/v1", false),
        ];
        for (base, expected) in rows {
            assert_eq!(is_local(base, "m"), expected, "{base}");
        }
        assert!(!is_local("127.0.0.1", "m"));
    }

    #[test]
    fn is_local_rejects_forwarded_models() {
        let rows = [
            ("gpt-oss:120b-cloud", false),
            ("GLM-4.6:Cloud ", false),
            ("me/model-cloud", false),
            ("gpt-oss:20b", true),
            ("cloud", true),
            ("cloudy-model:7b", true),
        ];
        for (model, expected) in rows {
            assert_eq!(is_local("http://127.0.0.1:11434/v1", model), expected, "{model}");
        }
    }

    #[test]
    fn debug_redacts_key() {
        let given = KeySource::Given(Secret::new(" sk-123 \n").unwrap());
        assert_eq!(format!("{given:?}"), "Given(Secret)");
        assert_eq!(given.load().unwrap().expose(), "sk-123");
        assert_eq!(Secret::new(" \n"), None);
    }

    #[test]
    fn key_source_ignores_unset_variable() {
        for name in ["OPENAGENTS_TEST_NO_SUCH_KEY", "", "A=B", "A\0B"] {
            let source = KeySource::Variable(name.to_owned());
            assert!(source.load().is_none() && !source.is_there(), "{name:?}");
        }
        let path = KeySource::Variable("PATH".to_owned());
        assert!(path.load().is_some() && path.is_there());
    }
}
