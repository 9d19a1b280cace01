//! Attacks, each refused.

use crate::support::{
    Client, TestBridge, echo,
    pairing::{claim, code, connect_from, http, http_from, pair, post, posting, status},
    prompt, refused, request, until_cancelled, with,
};
use futures::SinkExt;
use serde_json::json;
use std::time::Duration;
use tokio_tungstenite::tungstenite::Message;

fn bearer(test: &TestBridge, token: &str) -> tokio_tungstenite::tungstenite::http::Request<()> {
    with(request(test.port(), "/acp"), "authorization", &format!("Bearer {token}"))
}

/// Foreign pages, even with a valid token.
#[tokio::test]
async fn foreign_origin_is_refused() {
    let test = TestBridge::new(echo).await;
    let port = test.port();
    let mut desk = test.acp().await;
    let code = code(&mut desk).await;
    for origin in [
        "https://example.com",
        "http://localhost:1",
        "http://localhost.example.com",
        &format!("http://localhost:{port}"),
        &format!("https://localhost:{port}"),
        &format!("http://[::1]:{port}"),
        &format!("http://127.0.0.2:{port}"),
        &format!("http://192.168.1.5:{port}"),
        "null",
        "file://",
    ] {
        let upgrade = with(bearer(&test, test.bridge.token()), "origin", origin);
        assert_eq!(refused(upgrade).await, 403, "{origin}");
        let ours = format!("Origin: http://127.0.0.1:{port}");
        let posted = posting(port, "/pair", &json!({"code": code, "name": "Evil"}));
        let answer = http(port, &posted.replace(&ours, &format!("Origin: {origin}"))).await;
        assert_eq!(status(&answer), 403, "{origin}");
        assert!(!answer.to_lowercase().contains("access-control-"), "{answer}");
    }
    assert_eq!(desk.request("_openagents/devices/list", json!({})).await["requests"], json!([]));
}

/// A form, or any request without a CORS preflight, cannot pair.
#[tokio::test]
async fn post_without_json_is_refused() {
    let test = TestBridge::new(echo).await;
    let port = test.port();
    let posted = posting(port, "/pair", &json!({"code": "0000-0000", "name": "Evil"}));
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
        let answer = http(port, &posted.replace("application/json", kind)).await;
        assert_eq!(status(&answer), 415, "{kind}");
    }
    let options =
        format!("OPTIONS /pair HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: https://example.com\r\n\r\n");
    let answer = http(port, &options).await;
    assert!(status(&answer) == 405 && !answer.to_lowercase().contains("access-control-"), "{answer}");
}

#[tokio::test]
async fn rebinding_host_is_refused() {
    let test = TestBridge::new(echo).await;
    let port = test.port();
    for host in
        ["rebound.example.com", "127.0.0.1.nip.io", "localhost.example.com", "192.168.1.5", "mac.local"]
    {
        let upgrade = with(bearer(&test, test.bridge.token()), "host", &format!("{host}:{port}"));
        assert_eq!(refused(upgrade).await, 403, "{host}");
        assert_eq!(refused(with(request(port, "/"), "host", host)).await, 403, "{host}");
        for path in ["/", "/index.html", "/ca.pem", "/pair"] {
            let answer = http(port, &format!("GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n")).await;
            assert_eq!(status(&answer), 403, "{host} {path}");
        }
        let posted = posting(port, "/pair", &json!({"code": "0000-0000", "name": "Evil"}));
        let answer =
            http(port, &posted.replace(&format!("Host: 127.0.0.1:{port}"), &format!("Host: {host}"))).await;
        assert_eq!(status(&answer), 403, "{host}");
    }
    let twice = format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: example.com\r\n\r\n");
    assert_eq!(status(&http(port, &twice).await), 403);
}

/// A request from a private network to the loopback listener is not local: access without a token stays closed.
#[tokio::test]
async fn open_ios_access_excludes_private_network() {
    let test = TestBridge::new(echo).await;
    let (port, name) = (test.port(), "mac.tail1234.ts.net");
    let upgrade = || with(with(request(port, "/acp"), "host", name), "origin", &format!("https://{name}"));
    assert_eq!(refused(upgrade()).await, 403, "the name is not known yet");
    let mut desk = test.acp().await;
    let named = desk.request("_openagents/devices/network", json!({"names": ["Mac.tail1234.ts.net."]})).await;
    assert_eq!(named["network"]["names"], json!([name]));
    assert_eq!(refused(with(request(port, "/"), "host", name)).await, 403);
    assert!(Client::connect(request(port, "/")).await.is_ok());
    assert_eq!(refused(upgrade()).await, 401);
    let local = format!("Bearer {}", test.bridge.token());
    assert_eq!(
        refused(with(upgrade(), "authorization", &local)).await,
        401,
        "the local token is only for this machine"
    );
    let token = format!("Bearer {}", pair(&test, &mut desk, "Phone", "view").await.token);
    assert!(Client::connect(with(upgrade(), "authorization", &token)).await.is_ok());
    let plain = with(upgrade(), "origin", &format!("http://{name}"));
    assert_eq!(refused(with(plain, "authorization", &token)).await, 403);
    for wrong in [json!(["example"]), json!(["mac.local"]), json!(["10.0.0.1"]), json!(["*.ts.net"])] {
        desk.error("_openagents/devices/network", json!({"names": wrong})).await;
    }
    desk.request("_openagents/devices/network", json!({"names": []})).await;
    assert_eq!(refused(with(upgrade(), "authorization", &token)).await, 403);
}

/// Regression: behind a proxy that sends this machine's name in `Host`, every client counted as local.
#[tokio::test]
async fn proxied_request_is_not_local() {
    let test = TestBridge::new(echo).await;
    let mut desk = test.acp().await;
    let paired = pair(&test, &mut desk, "Phone", "view").await;
    let local = bearer(&test, test.bridge.token());
    assert!(Client::connect(local).await.is_ok());
    for name in ["x-forwarded-for", "x-forwarded-proto", "x-real-ip", "forwarded", "via", "cf-connecting-ip"]
    {
        let brought = |request| with(request, name, "203.0.113.9");
        assert_eq!(refused(brought(bearer(&test, test.bridge.token()))).await, 401, "{name}");
        assert_eq!(refused(brought(request(test.port(), "/"))).await, 403, "{name}");
        assert!(Client::connect(brought(bearer(&test, &paired.token))).await.is_ok(), "{name}");
    }
    // The address from the proxy is shown, and failed attempts are counted for it.
    let brought = with(bearer(&test, &paired.token), "x-forwarded-for", "10.0.0.1, 203.0.113.9");
    let mut phone = Client::connect(brought).await.unwrap();
    phone.request("session/list", json!({})).await;
    let shown = desk.request("_openagents/devices/list", json!({})).await;
    assert_eq!(shown["devices"][0]["address"], "203.0.113.9");
}

#[tokio::test]
async fn bad_tokens_are_refused() {
    let test = TestBridge::new(echo).await;
    let mut desk = test.acp().await;
    let paired = pair(&test, &mut desk, "Phone", "admin").await;
    let port = test.port();
    let mut attempts = vec![request(port, "/acp")];
    for token in [test.bridge.token(), &paired.token] {
        let last = if token.ends_with('0') { "1" } else { "0" };
        attempts.push(bearer(&test, &format!("{}{last}", &token[..63])));
        attempts.push(bearer(&test, &token[..63]));
        attempts.push(bearer(&test, &token.to_uppercase()));
        attempts.push(request(port, &format!("/acp?token={token}")));
        attempts.push(request(port, &format!("/acp?access_token={token}")));
        attempts.push(with(request(port, "/acp"), "cookie", &format!("token={token}")));
    }
    // A token's stored hash is not a token.
    attempts.push(bearer(&test, &sha2_hex(&paired.token)));
    // Concurrently, because each one waits longer than the one before.
    for status in futures::future::join_all(attempts.into_iter().map(refused)).await {
        assert_eq!(status, 401);
    }
    // Refusals are recorded once and counted.
    let page = desk.request("_openagents/devices/audit", json!({})).await;
    let refusals: Vec<_> = page["entries"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["action"] == "access.refused")
        .collect();
    assert_eq!(refusals.len(), 1);
    assert_eq!((&refusals[0]["address"], &refusals[0]["detail"]), (&json!("127.0.0.1"), &json!("token")));
}

fn sha2_hex(text: &str) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn code_guesses_are_limited() {
    let test = TestBridge::new(echo).await;
    let port = test.port();
    let mut desk = test.acp().await;
    let code = code(&mut desk).await;
    let guess = |n: usize| {
        let guess = format!("0000-000{n}");
        json!({"code": guess, "name": "Evil"})
    };
    for n in 0..5 {
        let (status, output) = post(port, "/pair", &guess(n)).await;
        assert_eq!((status, &output["code"]), (403, &json!("wrong_code")));
    }
    // The right code is refused too, because it would be a sixth attempt.
    for body in [guess(5), json!({"code": code, "name": "Evil"})] {
        let (status, output) = post(port, "/pair", &body).await;
        assert_eq!((status, &output["code"]), (429, &json!("slow_down")));
        assert!((1..=60_000).contains(&output["retryAfterMs"].as_u64().unwrap()));
    }
    assert_eq!(desk.request("_openagents/devices/list", json!({})).await["requests"], json!([]));
    // A client with a token is not delayed.
    test.acp().await;
}

#[tokio::test]
async fn distributed_code_guesses_keep_the_code() {
    let test = TestBridge::new(echo).await;
    let port = test.port();
    let mut desk = test.acp().await;
    let code = code(&mut desk).await;
    let guesses = (2..12).map(async |n| {
        for _ in 0..5 {
            let guess = posting(port, "/pair", &json!({"code": "0000-0000", "name": "Evil"}));
            assert_eq!(status(&http_from([127, 0, 0, n].into(), port, &guess).await), 403);
        }
    });
    futures::future::join_all(guesses).await;
    // The device of the user who reads the code is not locked out.
    let (status, output) = post(port, "/pair", &json!({"code": code, "name": "Phone"})).await;
    assert_eq!(status, 200, "{output}");
    assert_eq!(desk.request("_openagents/devices/list", json!({})).await["pairing"]["code"], json!(code));
}

/// More connections than the limit. Other clients are not affected.
#[tokio::test]
async fn connection_flood_leaves_room_for_others() {
    let test = TestBridge::new(echo).await;
    let mut crowd = Vec::new();
    for _ in 0..3_000 {
        crowd.push(connect_from([127, 0, 0, 9].into(), test.port()).await);
    }
    test.acp().await.request("session/list", json!({})).await;
    for _ in 0..3_000 {
        crowd.push(connect_from([127, 0, 0, 9].into(), test.port()).await);
        crowd.swap_remove(0);
    }
    test.acp().await.request("session/list", json!({})).await;
}

#[tokio::test]
async fn absent_and_withdrawn_codes_fail() {
    let test = TestBridge::new(echo).await;
    let port = test.port();
    let mut desk = test.acp().await;
    let (status, output) = post(port, "/pair", &json!({"code": "", "name": "Evil"})).await;
    assert_eq!((status, &output["code"]), (403, &json!("wrong_code")));
    let first = code(&mut desk).await;
    let second = code(&mut desk).await;
    assert_ne!(first, second);
    let (status, output) = post(port, "/pair", &json!({"code": first, "name": "Evil"})).await;
    assert_eq!((status, &output["code"]), (403, &json!("expired")));
    desk.request("_openagents/devices/stop_pairing", json!({})).await;
    let (status, output) = post(port, "/pair", &json!({"code": second, "name": "Evil"})).await;
    assert_eq!((status, &output["code"]), (403, &json!("expired")));
}

#[tokio::test]
async fn pairing_request_guesses_fail() {
    let test = TestBridge::new(echo).await;
    let port = test.port();
    let mut desk = test.acp().await;
    let code = code(&mut desk).await;
    let waiting = claim(port, &code, "Phone").await;
    let shown = desk.request("_openagents/devices/list", json!({})).await["requests"][0].clone();
    // The request id shown to the user is not a credential.
    for guess in [&shown["id"], &shown["compare"], &json!(""), &json!("0".repeat(64))] {
        let (status, output) = post(port, "/pair/wait", &json!({"request": guess})).await;
        assert_eq!((status, &output["state"]), (200, &json!("expired")));
        assert!(output["token"].is_null());
    }
    assert_ne!(waiting["request"], shown["id"]);
    assert!(!shown.to_string().contains(waiting["request"].as_str().unwrap()));
}

#[tokio::test]
async fn malformed_bodies_are_refused() {
    let test = TestBridge::new(echo).await;
    let port = test.port();
    for (body, expected) in [
        ("", 400),
        ("{", 400),
        ("[]", 400),
        ("null", 400),
        (r#"{"name":"x"}"#, 400),
        (r#"{"code":7,"name":"x"}"#, 400),
        (&format!(r#"{{"code":"{}"}}"#, "0".repeat(5000)), 413),
    ] {
        let head = format!(
            "POST /pair HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let short = body.get(..20).unwrap_or(body);
        assert_eq!(status(&http(port, &head).await), expected, "{short}");
    }
    for method in ["GET", "PUT", "DELETE"] {
        let asked =
            format!("{method} /pair/wait HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(status(&http(port, &asked).await), 405, "{method}");
    }
}

#[tokio::test]
async fn viewing_device_cannot_change_anything() {
    let test = TestBridge::new(until_cancelled).await;
    let mut desk = test.acp().await;
    let mut phone = pair(&test, &mut desk, "Phone", "view").await.connect(&test).await;
    let session = desk.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    let turn = desk.ask("session/prompt", prompt(&session, "wait")).await;
    desk.notes_until("waiting").await;
    let one = json!({"sessionId": session});
    let methods = [
        ("session/prompt", prompt(&session, "evil")),
        ("session/new", json!({"cwd": test.workspace})),
        ("session/cancel", one.clone()),
        ("session/close", one.clone()),
        ("session/set_mode", json!({"sessionId": session, "modeId": "codex"})),
        ("_openagents/explore", json!({"root": test.workspace})),
        ("_openagents/delegate", json!({"sessionId": session, "arguments": {}})),
        ("_openagents/approvals/answer", json!({"sessionId": session, "approvalId": "x", "optionId": "y"})),
        ("_openagents/approvals/resume", json!({"sessionId": session, "approvalId": "x"})),
    ];
    // As requests, and as notifications, which have no answer.
    for (method, params) in methods {
        phone.notify(method, params.clone()).await;
        let id = phone.ask(method, params).await;
        let refusal = phone.answer(id).await["error"].clone();
        assert_eq!(
            (&refusal["code"], &refusal["data"]["code"]),
            (&json!(-32000), &json!("scope")),
            "{method}"
        );
    }
    // Many at once: some are read while an earlier one is handled.
    for _ in 0..50 {
        phone.notify("session/cancel", one.clone()).await;
        phone.ask("session/list", json!({})).await;
    }
    let attached = phone.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await;
    assert_eq!(attached["running"], true, "the turn continues");
    desk.notify("session/cancel", one).await;
    assert_eq!(desk.answer(turn).await["result"]["stopReason"], "cancelled");
}

#[tokio::test]
async fn removed_device_loses_its_open_socket() {
    let test = TestBridge::new(echo).await;
    let mut desk = test.acp().await;
    let paired = pair(&test, &mut desk, "Phone", "admin").await;
    let mut phone = paired.connect(&test).await;
    let session = desk.request("session/new", json!({"cwd": test.workspace})).await["sessionId"].clone();
    desk.request("_openagents/devices/revoke", json!({"id": paired.id})).await;
    // Nothing that it sends afterwards has an effect, whether it reads the close frame or not.
    for _ in 0..20 {
        let frame = json!({"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": prompt(&session, "evil")});
        if phone.socket.send(Message::text(frame.to_string())).await.is_err() {
            break;
        }
    }
    assert_eq!(u16::from(phone.closed().await.expect("a reason").code), 4403);
    assert_eq!(refused(bearer(&test, &paired.token)).await, 401);
    let attached = desk.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await;
    assert_eq!((&attached["seq"], &attached["running"]), (&json!(0), &json!(false)));
}

/// A page whose token was revoked gets only the close reason.
#[tokio::test]
async fn removed_device_cannot_return() {
    let test = TestBridge::new(echo).await;
    let mut desk = test.acp().await;
    let paired = pair(&test, &mut desk, "Phone", "admin").await;
    desk.request("_openagents/devices/revoke", json!({"id": paired.id})).await;
    let offer = format!("openagents.v1, openagents.token.{}", paired.token);
    let mut page =
        Client::connect(with(request(test.port(), "/acp"), "sec-websocket-protocol", &offer)).await.unwrap();
    page.ask("initialize", json!({"protocolVersion": 1})).await;
    let Some(Message::Close(Some(close))) = page.message().await else { panic!("no reason") };
    assert_eq!(u16::from(close.code), 4401);
}

#[tokio::test]
async fn escaping_paths_are_refused() {
    let test = TestBridge::new(echo).await;
    let port = test.port();
    for path in [
        "/../token",
        "/..%2ftoken",
        "/%2e%2e/token",
        "/assets/../../../token",
        "/assets/%2e%2e%2f%2e%2e%2ftoken",
        "/assets/..\\..\\token",
        "/.%00./token",
        "//etc/passwd",
        "/etc/passwd",
        "/token",
        "/openagents.sqlite",
        "/bridge.json",
    ] {
        let answer = http(port, &format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n")).await;
        assert!(matches!(status(&answer), 400 | 404), "{path}: {answer}");
        assert!(!answer.contains(test.bridge.token()) && !answer.contains("root:"), "{path}");
    }
}

/// Each refusal takes longer, and waiting refusals do not affect authenticated clients.
#[tokio::test]
async fn token_guesses_delay_only_the_guesser() {
    let test = TestBridge::new(echo).await;
    let waits = async |times: usize| {
        let mut waits = Vec::new();
        for _ in 0..times {
            let before = tokio::time::Instant::now();
            assert_eq!(refused(bearer(&test, "wrong")).await, 401);
            waits.push(before.elapsed());
        }
        waits
    };
    let waits = waits(5).await;
    assert!(waits[4] >= Duration::from_millis(1600), "{waits:?}");
    test.acp().await;
}
