//! The download server: the API of Hugging Face, or a compatible mirror.

use super::catalog::{Offer, Pin};
use crate::limits::{REDIRECTS, RESPONSE_BYTES, SILENCE};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Client, Response, StatusCode, Url, header, redirect};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

pub(crate) const SERVER_VARIABLE: &str = "OPENAGENTS_MODELS_URL";

const SERVER: &str = "https://huggingface.co";
/// Characters that are not escaped in a part of a URL.
const PART: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemoteFile {
    pub(crate) url: String,
    pub(crate) commit: String,
    pub(crate) size: u64,
    /// Its SHA-256 in lower-case hexadecimal.
    pub(crate) sha256: String,
}

impl RemoteFile {
    /// Returns whether the values are plausible: data read from disk is not trusted either.
    pub(super) fn is_sound(&self) -> bool {
        is_hex(&self.sha256, 64) && is_hex(&self.commit, 40) && self.size > 0
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RemoteError {
    #[error("{SERVER_VARIABLE} is {0:?}; use an https address (http only on this machine)")]
    Address(String),
    #[error("the connection to {server} failed ({reason}); check the network and download again to resume")]
    Unreachable { server: String, reason: String },
    #[error("{server} answered {status}; download again later to resume")]
    Busy { server: String, status: u16 },
    #[error("{server} answered {status} for {what}; check {SERVER_VARIABLE} and the version of this program")]
    Refused { server: String, status: u16, what: String },
    #[error("{server} {what}; nothing was downloaded")]
    InvalidResponse { server: String, what: String },
}

impl RemoteError {
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Busy { .. })
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Remote {
    client: Client,
    base: Url,
    /// Its host name, for messages.
    server: String,
    /// Whether the server is on this machine, where the user may serve another version.
    is_here: bool,
}

impl Remote {
    /// Uses the server in [`SERVER_VARIABLE`], or else Hugging Face.
    pub(crate) fn from_env() -> Result<Self, RemoteError> {
        let named = std::env::var(SERVER_VARIABLE).ok().filter(|named| !named.is_empty());
        Self::new(named.as_deref().unwrap_or(SERVER))
    }

    pub(crate) fn new(base: &str) -> Result<Self, RemoteError> {
        let unusable = || RemoteError::Address(base.to_owned());
        let base = Url::parse(&format!("{}/", base.trim_end_matches('/'))).map_err(|_| unusable())?;
        let server = base.host_str().ok_or_else(unusable)?.to_owned();
        let here = is_loopback(&base);
        if base.scheme() != "https" && !here {
            return Err(unusable());
        }
        // Only the first call in a process has an effect.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut client = Client::builder()
            .user_agent(concat!("openagents/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(SILENCE)
            .read_timeout(SILENCE)
            .redirect(redirect::Policy::custom(|attempt| {
                if attempt.previous().len() > REDIRECTS {
                    attempt.error("too many redirects")
                } else if attempt.previous().last().is_some_and(|from| may_follow(from, attempt.url())) {
                    attempt.follow()
                } else {
                    attempt.error("a redirect to an address without https")
                }
            }));
        if here {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|_| unusable())?;
        Ok(Self { client, base, server, is_here: here })
    }

    /// Returns the pinned file of an offer. Only a server on this machine is queried for the file that it has.
    pub(crate) async fn resolve(&self, offer: &Offer) -> Result<RemoteFile, RemoteError> {
        if self.is_here {
            return self.resolve_latest(offer).await;
        }
        let Pin { commit, path, bytes, sha256 } = offer.pin;
        let url = self.file_url(offer, commit, path)?;
        Ok(RemoteFile { url: url.into(), commit: commit.to_owned(), size: bytes, sha256: sha256.to_owned() })
    }

    async fn resolve_latest(&self, offer: &Offer) -> Result<RemoteFile, RemoteError> {
        #[derive(Deserialize)]
        struct Revision {
            sha: String,
        }
        #[derive(Deserialize)]
        struct Entry {
            path: String,
            size: u64,
            lfs: Option<Lfs>,
        }
        #[derive(Deserialize)]
        struct Lfs {
            oid: String,
        }
        let repository = offer.repository;
        let Revision { sha: commit } = self.json(&format!("api/models/{repository}/revision/main")).await?;
        if !is_hex(&commit, 40) {
            return Err(self.invalid_response("returned no commit"));
        }
        let entries: Vec<Entry> = self.json(&format!("api/models/{repository}/tree/{commit}")).await?;
        let entry = entries.into_iter().find(|entry| entry.path.eq_ignore_ascii_case(offer.file));
        let entry =
            entry.ok_or_else(|| self.invalid_response(&format!("has no {} in {repository}", offer.file)))?;
        let sha256 = entry.lfs.map(|lfs| lfs.oid.to_ascii_lowercase()).filter(|oid| is_hex(oid, 64));
        let sha256 =
            sha256.ok_or_else(|| self.invalid_response(&format!("returned no SHA-256 of {}", offer.file)))?;
        let url = self.file_url(offer, &commit, &entry.path)?;
        if entry.size == 0 {
            return Err(self.invalid_response(&format!("says that {} is empty", offer.file)));
        }
        Ok(RemoteFile { url: url.into(), commit, size: entry.size, sha256 })
    }

    fn file_url(&self, offer: &Offer, commit: &str, path: &str) -> Result<Url, RemoteError> {
        let name = utf8_percent_encode(path, &PART);
        self.address(&format!("{}/resolve/{commit}/{name}", offer.repository))
    }

    /// Returns whether the file of an unfinished download is the one that this server would serve now:
    /// [`SERVER_VARIABLE`] or the pin may have changed since.
    pub(super) fn serves(&self, file: &RemoteFile, offer: &Offer) -> bool {
        let is_pinned = (file.commit.as_str(), file.sha256.as_str()) == (offer.pin.commit, offer.pin.sha256);
        file.url.starts_with(self.base.as_str()) && (self.is_here || is_pinned)
    }

    /// Requests a file from an offset; `etag` is that of the earlier bytes. The response may contain the whole file.
    pub(super) async fn open(
        &self,
        file: &RemoteFile,
        from: u64,
        etag: Option<&str>,
    ) -> Result<Response, RemoteError> {
        let mut request = self.client.get(&file.url).header(header::ACCEPT_ENCODING, "identity");
        if from > 0 {
            request = request.header(header::RANGE, format!("bytes={from}-"));
            // A weak ETag does not guarantee identical bytes.
            if let Some(etag) = etag.filter(|etag| !etag.starts_with("W/")) {
                request = request.header(header::IF_RANGE, etag);
            }
        }
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        if response.status() == StatusCode::RANGE_NOT_SATISFIABLE {
            return Ok(response);
        }
        self.check_status(response, file.url.strip_prefix(self.base.as_str()).unwrap_or(&file.url))
    }

    pub(super) fn unreachable(&self, error: &reqwest::Error) -> RemoteError {
        // The innermost cause is the most specific one.
        let mut cause: &dyn std::error::Error = error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        if error.is_redirect() {
            return self.invalid_response(&format!("sent a bad redirect ({cause})"));
        }
        let reason = if error.is_timeout() { "no data in time".to_owned() } else { cause.to_string() };
        RemoteError::Unreachable { server: self.server.clone(), reason }
    }

    pub(super) fn ended_early(&self) -> RemoteError {
        let reason = "the response is too short".to_owned();
        RemoteError::Unreachable { server: self.server.clone(), reason }
    }

    async fn json<T: DeserializeOwned>(&self, path: &str) -> Result<T, RemoteError> {
        let url = self.address(path)?;
        let sent = self.client.get(url).send().await.map_err(|error| self.unreachable(&error))?;
        let mut response = self.check_status(sent, path)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(&error))? {
            body.extend_from_slice(&chunk);
            if body.len() > RESPONSE_BYTES {
                return Err(self.invalid_response("sent an endless response"));
            }
        }
        serde_json::from_slice(&body)
            .map_err(|_| self.invalid_response(&format!("sent an invalid response for {path}")))
    }

    fn check_status(&self, response: Response, what: &str) -> Result<Response, RemoteError> {
        let server = self.server.clone();
        let status = response.status();
        if status.is_success() {
            Ok(response)
        } else if status.is_server_error()
            || status == StatusCode::TOO_MANY_REQUESTS
            || status == StatusCode::REQUEST_TIMEOUT
        {
            Err(RemoteError::Busy { server, status: status.as_u16() })
        } else {
            Err(RemoteError::Refused { server, status: status.as_u16(), what: what.to_owned() })
        }
    }

    fn address(&self, path: &str) -> Result<Url, RemoteError> {
        self.base.join(path).map_err(|_| RemoteError::Address(self.base.to_string()))
    }

    fn invalid_response(&self, what: &str) -> RemoteError {
        RemoteError::InvalidResponse { server: self.server.clone(), what: what.to_owned() }
    }
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        None => false,
    }
}

fn may_follow(from: &Url, to: &Url) -> bool {
    to.scheme() == "https" || (from.scheme() == "http" && is_loopback(from) && is_loopback(to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::catalog::OFFERS;

    #[test]
    fn new_accepts_https_or_loopback_only() {
        for good in [
            "https://huggingface.co",
            "https://mirror.lan/hf/",
            "http://127.0.0.1:8",
            "http://[::1]:8",
            "http://localhost:8",
        ] {
            assert!(Remote::new(good).is_ok(), "{good}");
        }
        for bad in ["http://huggingface.co", "http://192.168.0.2", "ftp://x", "", "huggingface.co"] {
            assert!(matches!(Remote::new(bad), Err(RemoteError::Address(_))), "{bad}");
        }
    }

    /// Regression: commit and hash were the current ones of the branch, so that the branch decided what was "verified".
    #[tokio::test]
    async fn resolve_returns_pinned_file() {
        for offer in OFFERS {
            for server in ["https://huggingface.co", "https://mirror.lan/hf/"] {
                // No request is made, so neither the branch nor the listing can affect the result.
                let file = Remote::new(server).unwrap().resolve(&offer).await.unwrap();
                assert!(file.is_sound(), "{file:?}");
                let base = server.trim_end_matches('/');
                let Offer { repository, pin, .. } = offer;
                assert_eq!(file.url, format!("{base}/{repository}/resolve/{}/{}", pin.commit, pin.path));
                assert_eq!((file.sha256.as_str(), file.size), (pin.sha256, pin.bytes));
                assert!(pin.path.eq_ignore_ascii_case(offer.file));
                // A download that an earlier version began with the hash of the branch is not resumed.
                let remote = Remote::new(server).unwrap();
                let other = RemoteFile { sha256: "0".repeat(64), ..file.clone() };
                assert!(remote.serves(&file, &offer) && !remote.serves(&other, &offer));
            }
        }
    }

    #[test]
    fn redirect_never_drops_encryption() {
        let rows = [
            ("https://a/x", "https://b/y", true),
            ("https://a/x", "http://a/x", false),
            ("https://a/x", "http://127.0.0.1/x", false),
            ("http://127.0.0.1:1/x", "http://127.0.0.1:1/y", true),
            ("http://127.0.0.1:1/x", "http://example.org/y", false),
        ];
        for (from, to, expected) in rows {
            assert_eq!(
                may_follow(&Url::parse(from).unwrap(), &Url::parse(to).unwrap()),
                expected,
                "{from} {to}"
            );
        }
    }
}
