//! Access control of the endpoints.

use crate::support::{self, Client, TestBridge, config, echo, refused, request, start, with};
use futures::SinkExt;
use openagents_bridge::{Bridge, BridgeError};
use serde_json::json;
use std::net::Ipv4Addr;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_tungstenite::tungstenite::Message;

#[tokio::test]
async fn requests_without_the_token_are_refused() {
    let test = TestBridge::new(echo).await;
    let (port, token) = (test.port(), test.bridge.token());
    let acp = || request(port, "/acp");
    let wrong = format!("{}0", &token[..63]);
    let wrong = if wrong == token { format!("{}1", &token[..63]) } else { wrong };
    assert_eq!(refused(acp()).await, 401);
    assert_eq!(refused(with(acp(), "authorization", &format!("Bearer {wrong}"))).await, 401);
    assert_eq!(refused(with(acp(), "authorization", &format!("Basic {token}"))).await, 401);
    let other = format!("openagents.token.{wrong}");
    assert_eq!(refused(with(acp(), "sec-websocket-protocol", &other)).await, 401);
    assert_eq!(refused(request(port, &format!("/acp?token={token}"))).await, 401);
    // A valid token is not delayed by failed attempts.
    let mut client = test.acp().await;
    client.request("session/list", json!({})).await;
}

#[tokio::test]
async fn page_sends_the_token_as_a_subprotocol() {
    let test = TestBridge::new(echo).await;
    let offer = format!("openagents.v1, openagents.token.{}", test.bridge.token());
    let from = |origin: &str| {
        let request = with(request(test.port(), "/acp"), "sec-websocket-protocol", &offer);
        with(request, "origin", origin)
    };
    for origin in [format!("http://127.0.0.1:{}", test.port()), "tauri://localhost".to_owned()] {
        let client = Client::connect(from(&origin)).await.unwrap();
        assert_eq!(client.protocol.as_deref(), Some("openagents.v1"));
    }
    for origin in ["http://localhost:1", "https://example.com", "null", "tauri://evil"] {
        assert_eq!(refused(from(origin)).await, 403, "{origin}");
    }
}

/// Browsers do not expose the status of a failed upgrade to the page.
#[tokio::test]
async fn page_learns_its_token_is_wrong() {
    let test = TestBridge::new(echo).await;
    let wrong = format!("openagents.v1, openagents.token.{}", "0".repeat(64));
    for offer in ["openagents.v1", &wrong] {
        let offered = with(request(test.port(), "/acp"), "sec-websocket-protocol", offer);
        let mut page = Client::connect(offered).await.unwrap();
        assert_eq!(page.protocol.as_deref(), Some("openagents.v1"));
        page.ask("initialize", json!({"protocolVersion": 1})).await;
        // The close frame is the only message.
        let Some(Message::Close(Some(close))) = page.message().await else { panic!("no reason") };
        assert_eq!(u16::from(close.code), 4401);
        assert_eq!(close.reason.as_str(), "The token is missing or wrong.");
    }
    let offered = with(request(test.port(), "/acp"), "sec-websocket-protocol", "openagents.v1");
    assert_eq!(refused(with(offered, "origin", "https://example.com")).await, 403);
}

#[tokio::test]
async fn idle_sockets_do_not_delay_a_valid_client() {
    let test = TestBridge::new(echo).await;
    let mut idle = Vec::new();
    for _ in 0..120 {
        idle.push(TcpStream::connect((Ipv4Addr::LOCALHOST, test.port())).await.unwrap());
    }
    let mut client = test.acp().await;
    client.request("session/list", json!({})).await;
    assert!(idle.iter().any(waits), "it connected before their deadline");
}

/// Returns whether a socket is open and has no data.
fn waits(socket: &TcpStream) -> bool {
    socket.try_read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

/// Each refusal waits longer than the one before, but the number of waiting refusals is limited.
#[tokio::test]
async fn wrong_token_refusals_are_bounded() {
    let test = TestBridge::new(echo).await;
    let port = test.port();
    let guess = format!(
        "GET /acp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Authorization: Bearer wrong\r\n\r\n"
    );
    let mut guesses = Vec::new();
    for _ in 0..100 {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        stream.write_all(guess.as_bytes()).await.unwrap();
        guesses.push(stream);
        tokio::task::yield_now().await;
    }
    let mut client = test.acp().await;
    client.request("session/list", json!({})).await;
    assert!(guesses.iter().any(waits), "it connected before the guesses were answered");
    // Those above the limit of 64 are answered already.
    let mut shown = 0;
    for mut stream in guesses.into_iter().skip(64) {
        let mut answer = [0; 12];
        let read = stream.read_exact(&mut answer);
        if tokio::time::timeout(std::time::Duration::from_millis(100), read).await.is_ok() {
            assert_eq!(&answer, b"HTTP/1.1 401");
            shown += 1;
        }
    }
    assert!(shown >= 20, "{shown}");
}

#[tokio::test]
async fn foreign_host_is_refused() {
    let test = TestBridge::new(echo).await;
    let token = format!("Bearer {}", test.bridge.token());
    for path in ["/", "/acp"] {
        let request =
            with(with(request(test.port(), path), "authorization", &token), "host", "example.com:9099");
        assert_eq!(refused(request).await, 403, "{path}");
    }
    let answer = http(test.port(), "GET / HTTP/1.1\r\nHost: rebound.example.com\r\n\r\n").await;
    assert!(
        answer.starts_with("HTTP/1.1 403") && answer.ends_with("This address is not served here.\n"),
        "{answer}"
    );
}

#[tokio::test]
async fn pages_cannot_use_the_ios_endpoint() {
    let test = TestBridge::new(echo).await;
    for origin in
        [format!("http://127.0.0.1:{}", test.port()), "tauri://localhost".to_owned(), "null".to_owned()]
    {
        assert_eq!(refused(with(request(test.port(), "/"), "origin", &origin)).await, 403, "{origin}");
    }
}

async fn http(port: u16, request: &str) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn page_has_security_headers() {
    let test = TestBridge::new(echo).await;
    let port = test.port();
    let get = async |path: &str| {
        http(port, &format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n")).await
    };
    let page = get("/").await;
    // 503 if the UI was not built.
    assert!(page.starts_with("HTTP/1.1 200") || page.starts_with("HTTP/1.1 503"), "{page}");
    let head = page.split("\r\n\r\n").next().unwrap().to_lowercase();
    for header in [
        "content-type: text/html",
        "content-security-policy: default-src 'self';",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "connection: close",
    ] {
        assert!(head.contains(header), "{header} is missing in {head}");
    }
    assert!(!head.contains("access-control-"), "{head}");
    for path in [
        "/nothing",
        "/../Cargo.toml",
        "/%2e%2e/%2e%2e/Cargo.toml",
        "/assets/../../Cargo.toml",
        "//etc/passwd",
    ] {
        let answer = get(path).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
    let post =
        http(port, &format!("POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\n\r\n")).await;
    assert!(post.starts_with("HTTP/1.1 405"), "{post}");
    let plain = get("/acp").await;
    assert!(plain.starts_with("HTTP/1.1 401"), "{plain}");
}

/// Another user may listen at `[::1]`, to which browsers resolve `localhost` first.
#[tokio::test]
async fn localhost_page_redirects_to_literal_address() {
    let test = TestBridge::new(echo).await;
    let port = test.port();
    for (path, host, location) in [
        ("/", format!("localhost:{port}"), format!("http://127.0.0.1:{port}/")),
        ("/?a=1", format!("LOCALHOST.:{port}"), format!("http://127.0.0.1:{port}/?a=1")),
        ("//example.com", "localhost:8000".to_owned(), "http://127.0.0.1:8000//example.com".to_owned()),
        ("/assets/x.js", "localhost".to_owned(), "http://127.0.0.1/assets/x.js".to_owned()),
    ] {
        let answer = http(port, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 307"), "{path}: {answer}");
        assert!(answer.contains(&format!("\r\nlocation: {location}\r\n")), "{answer}");
    }
}

#[tokio::test]
async fn frame_over_the_limit_is_closed_with_a_reason() {
    let test = TestBridge::new(echo).await;
    for (mut client, limit) in [(test.phone().await, 1 << 20), (test.acp().await, 16 << 20)] {
        // The server stops reading in the middle, but the close reason must still arrive.
        let _ = client.socket.send(Message::text("x".repeat(limit + 1))).await;
        let close = client.closed().await.expect("a reason");
        assert_eq!(u16::from(close.code), 1009);
        assert_eq!(close.reason.as_str(), format!("A frame may have {limit} bytes at most."));
    }
    let mut unauthenticated = Client::connect(request(test.port(), "/")).await.unwrap();
    unauthenticated.socket.send(Message::text("x".repeat((64 << 10) + 1))).await.unwrap();
    assert_eq!(u16::from(unauthenticated.closed().await.unwrap().code), 1009);
    test.acp().await;
}

#[tokio::test]
async fn frame_below_the_limit_is_accepted() {
    let test = TestBridge::new(echo).await;
    let mut phone = test.phone().await;
    let session = phone.request("session/new", json!({})).await["session_id"].clone();
    let text = "x".repeat((1 << 20) - 400);
    let params = json!({"session_id": session, "prompt": [{"type": "text", "text": text}]});
    assert_eq!(phone.request("session/prompt", params).await["status"], "started");
}

#[tokio::test]
async fn start_errors_are_specific() {
    let test = TestBridge::new(echo).await;
    let Err(error) = start(test.home.path(), &test.workspace, echo).await else {
        panic!("two on one folder")
    };
    assert!(matches!(error, BridgeError::AlreadyRunning { .. }));
    assert_eq!(
        error.to_string(),
        format!("OpenAgents is already running on this data folder at http://{}", test.bridge.address())
    );
    assert_eq!(openagents_bridge::running(test.home.path()), Some(test.bridge.address()));

    let busy = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut on_busy = config(home.path(), &test.workspace);
    on_busy.port = busy.local_addr().unwrap().port();
    let Err(error) = Bridge::start(on_busy.clone()).await else { panic!("two on one port") };
    assert_eq!(
        error.to_string(),
        format!("port {} is in use; choose another with --port, or 0 for any", on_busy.port)
    );
    assert!(error.hint().is_some() && error.code() == "port_busy");
    // The folder is released and can be used at once.
    on_busy.port = 0;
    Bridge::start(on_busy).await.unwrap().shutdown().await;

    let file = home.path().join("file");
    std::fs::write(&file, "").unwrap();
    let Err(error) = Bridge::start(config(&file, &test.workspace)).await else { panic!("a file as folder") };
    assert!(
        error.to_string().starts_with(&format!("cannot write to the data folder {}", file.display())),
        "{error}"
    );
}

#[tokio::test]
async fn damaged_database_is_reported_and_replaced() {
    let (home, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(home.path().join("openagents.sqlite"), "no database".repeat(1000)).unwrap();
    let bridge = start(home.path(), workspace.path(), echo).await.unwrap();
    assert!(bridge.notices()[0].starts_with("The session database is damaged; it was moved to "));
    support::acp(bridge.address().port(), bridge.token()).await;
    bridge.shutdown().await;
}

/// Uses the paused clock, which advances when all tasks are idle.
#[tokio::test]
async fn silent_client_is_disconnected() {
    let test = TestBridge::new(echo).await;
    let port = test.port();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
    let upgrade = format!(
        "GET /acp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Authorization: Bearer {}\r\n\r\n",
        test.bridge.token()
    );
    stream.write_all(upgrade.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    assert!(String::from_utf8_lossy(&head).contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    tokio::time::pause();
    let mut frames = Vec::new();
    stream.read_to_end(&mut frames).await.unwrap();
    // Two pings without an answer, then a close frame.
    assert_eq!(frames[..5], [0x89, 0, 0x89, 0, 0x88], "{frames:?}");
}
