//! Base URLs as the user types them, and the URLs requested.

use reqwest::Url;
use std::net::IpAddr;

/// The reason a base URL is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Not an HTTP URL.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_are_normalized() {
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
    fn only_addresses_of_this_machine_are_local() {
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
    fn a_model_forwarded_by_a_local_server_is_not_local() {
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
}
