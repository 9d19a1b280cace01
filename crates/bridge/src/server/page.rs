//! Serves the web UI that was built into `ui/dist`, with security headers.

use axum::{
    body::{Body, Bytes, HttpBody},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use flate2::{Compression, write::GzEncoder};
use hyper::body::{Frame, SizeHint};
use openagents_connection::{headers::list_items, limits::SOCKET_BUFFER};
use parking_lot::Mutex;
use rust_embed::RustEmbed;
use std::{
    collections::BTreeMap,
    convert::Infallible,
    io::Write,
    pin::Pin,
    task::{Context, Poll},
};

#[derive(RustEmbed)]
#[folder = "../../ui/dist"]
#[allow_missing = true]
struct Files;

const NOT_BUILT: &str = "<!doctype html><meta charset=\"utf-8\"><title>OpenAgents</title>\
    <h1>The page was not built</h1><p>OpenAgents is running, but this build has no page. \
    Run <code>make ui</code>, then start it again.</p>";

pub(crate) fn serve_file(path: &str, request: &HeaderMap) -> Response {
    let path = path.trim_start_matches('/');
    let name = if path.is_empty() { "index.html" } else { path };
    match Files::get(name) {
        Some(file) => serve_embedded(name, &file, request),
        None if name == "index.html" => {
            (StatusCode::SERVICE_UNAVAILABLE, [(header::CONTENT_TYPE, content_type(name))], NOT_BUILT)
                .into_response()
        }
        None => (StatusCode::NOT_FOUND, "There is nothing at this address.\n").into_response(),
    }
}

fn serve_embedded(name: &str, file: &rust_embed::EmbeddedFile, request: &HeaderMap) -> Response {
    let digest = file.metadata.sha256_hash();
    let tag = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>();
    let compressed = (is_text(name) && accepts_gzip(request)).then(|| gzip(&tag, &file.data)).flatten();
    let tag = if compressed.is_some() { format!("\"{tag}-gzip\"") } else { format!("\"{tag}\"") };
    // Asset names contain a hash, so their content never changes.
    let caching =
        if name.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let headers = [
        (header::CONTENT_TYPE, content_type(name)),
        (header::CACHE_CONTROL, caching.to_owned()),
        (header::ETAG, tag.clone()),
        (header::VARY, header::ACCEPT_ENCODING.to_string()),
    ];
    if request.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    match compressed {
        Some(bytes) => (headers, [(header::CONTENT_ENCODING, "gzip")], in_parts(bytes)).into_response(),
        None => (headers, in_parts(file.data.to_vec().into())).into_response(),
    }
}

/// Returns a body that is sent in parts. Each part that is polled shows that the reader is making progress.
fn in_parts(bytes: Bytes) -> Body {
    Body::new(Parts(bytes))
}

struct Parts(Bytes);

impl HttpBody for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.0.is_empty() {
            return Poll::Ready(None);
        }
        let length = self.0.len().min(SOCKET_BUFFER);
        Poll::Ready(Some(Ok(Frame::data(self.0.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}

/// Returns a file's bytes, compressed and cached. On a slow network, the page loads in a third of the time.
fn gzip(tag: &str, bytes: &[u8]) -> Option<Bytes> {
    static COMPRESSED: Mutex<BTreeMap<String, Bytes>> = Mutex::new(BTreeMap::new());
    let mut compressed = COMPRESSED.lock();
    if let Some(known) = compressed.get(tag) {
        return Some(known.clone());
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).ok()?;
    let made = Bytes::from(encoder.finish().ok()?);
    compressed.insert(tag.to_owned(), made.clone());
    Some(made)
}

fn accepts_gzip(request: &HeaderMap) -> bool {
    list_items(request, &header::ACCEPT_ENCODING).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").map_or(Ok(1.0), str::parse::<f32>);
        name.trim().eq_ignore_ascii_case("gzip") && weight.is_ok_and(|weight| weight > 0.0)
    })
}

/// Returns whether a file is worth compressing; the other kinds are compressed already.
fn is_text(name: &str) -> bool {
    let kind = content_type(name);
    kind.starts_with("text/") || kind.contains("json") || kind.contains("svg") || kind.contains("wasm")
}

/// Adds the security headers that every response has. `host` is the request's host, if it is ours: some browsers do not
/// treat a WebSocket to it as `'self'`.
pub(crate) fn add_security_headers(headers: &mut HeaderMap, host: Option<&str>) {
    let sockets = host.map(|host| format!(" ws://{host} wss://{host}")).unwrap_or_default();
    let policy = format!(
        "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'; worker-src 'self'; manifest-src 'self'; connect-src 'self'{sockets}"
    );
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

fn content_type(name: &str) -> String {
    let kind = mime_guess::from_path(name).first_or_octet_stream();
    if kind.type_() == "text" { format!("{kind}; charset=utf-8") } else { kind.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use futures::StreamExt;
    use std::io::Read;

    #[test]
    fn gzip_is_used_where_accepted() {
        for (value, expected) in [
            ("gzip, deflate, br, zstd", true),
            ("br;q=1.0, GZIP;q=0.5", true),
            ("br", false),
            ("gzip;q=0", false),
            ("gzip; q=0.0, br", false),
            ("gzip;q=x", false),
            ("", false),
        ] {
            let headers = [(header::ACCEPT_ENCODING, HeaderValue::from_static(value))].into_iter().collect();
            assert_eq!(accepts_gzip(&headers), expected, "{value}");
        }
        assert!(is_text("assets/index-1.js") && is_text("manifest.webmanifest") && is_text("favicon.svg"));
        assert!(!is_text("icons/icon.png") && !is_text("font.woff2"));
    }

    #[tokio::test]
    async fn file_is_sent_in_parts_with_known_length() {
        let bytes = Bytes::from(vec![7; 3 * SOCKET_BUFFER + 1]);
        let body = in_parts(bytes.clone());
        assert_eq!(body.size_hint().exact(), Some(bytes.len() as u64));
        let mut parts = body.into_data_stream();
        let mut lengths = Vec::new();
        while let Some(part) = parts.next().await {
            lengths.push(part.unwrap().len());
        }
        assert_eq!(lengths, [SOCKET_BUFFER, SOCKET_BUFFER, SOCKET_BUFFER, 1]);
    }

    #[test]
    fn compression_is_lossless_and_cached() {
        let text = "let a = 1;\n".repeat(1000);
        let (first, again) = (gzip("tag", text.as_bytes()).unwrap(), gzip("tag", b"").unwrap());
        assert!(first == again && first.len() < text.len() / 10);
        let mut read = String::new();
        GzDecoder::new(&first[..]).read_to_string(&mut read).unwrap();
        assert_eq!(read, text);
    }
}
