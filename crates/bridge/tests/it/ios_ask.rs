//! The iOS app waits until the user on this machine allows it.

use crate::support::{self, Client, TestBridge, echo, shown};
use futures::{SinkExt, StreamExt};
use openagents_bridge::{Bridge, BridgeConfig, IosAccess, Listener, NetworkConfig};
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use tokio::net::TcpSocket;
use tokio_tungstenite::tungstenite::{self, Message, client::IntoClientRequest};

/// Stands for this machine's address on the network.
const LAN: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
const PHONE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 7);
const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 8);

struct Setup {
    _test: TestBridge,
    _home: tempfile::TempDir,
    bridge: Bridge,
    desktop: Client,
}

impl Setup {
    async fn new() -> Self {
        Self::with(Some(IosAccess::Ask)).await
    }

    async fn with(ios: Option<IosAccess>) -> Self {
        let test = TestBridge::new(echo).await;
        let home = tempfile::tempdir().unwrap();
        let network = NetworkConfig { lan: None, port: 0, addresses: Some(vec![LAN]), announce: false };
        let config = BridgeConfig { ios, network, ..support::config(home.path(), &test.workspace) };
        let bridge = support::start_as(config, echo).await.unwrap();
        let desktop = support::acp(bridge.address().port(), bridge.token()).await;
        Self { _test: test, _home: home, bridge, desktop }
    }

    /// Opens the socket of an app at `address`.
    async fn request_access(&self, address: Ipv4Addr) -> Result<Client, tungstenite::Error> {
        let listener = self.bridge.network().addresses(Listener::App).next().expect("a listener");
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from((address, 0))).unwrap();
        let stream = socket.connect(listener).await.unwrap();
        Client::over(stream, format!("ws://{listener}/").into_client_request().unwrap()).await
    }

    /// Opens the socket of an app and initializes it.
    async fn phone(&self, address: Ipv4Addr) -> Client {
        let mut phone = self.request_access(address).await.unwrap();
        let answer = phone.request("initialize", hello()).await;
        assert_eq!(answer["protocol_version"], "0.2.2");
        phone
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.desktop.request(&format!("_openagents/devices/{method}"), params).await
    }

    /// Waits for a pending request that matches `wanted`.
    async fn request(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let requests = self.ask("list", json!({})).await["requests"].clone();
            assert!(requests.as_array().unwrap().len() < 2, "{requests}");
            if wanted(&requests[0]) {
                return requests[0].clone();
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    async fn allow(&mut self) -> Value {
        let request = self.request(Value::is_object).await;
        self.ask("allow", json!({"requestId": request["id"]})).await
    }

    async fn decline(&mut self) {
        let request = self.request(Value::is_object).await;
        self.ask("decline", json!({"requestId": request["id"]})).await;
    }

    async fn refused(&self, address: Ipv4Addr) -> (u16, String) {
        match self.request_access(address).await.map(drop).unwrap_err() {
            tungstenite::Error::Http(response) => {
                let reply = response.body().clone().unwrap_or_default();
                (response.status().as_u16(), String::from_utf8(reply).unwrap())
            }
            other => panic!("{other}"),
        }
    }
}

fn hello() -> Value {
    json!({"protocol_version": "0.2.2", "client_info": {"name": "openagents-ios", "title": "OpenAgents iOS"}})
}

fn prompt(session: &Value, text: &str) -> Value {
    json!({"session_id": session, "prompt": [{"type": "text", "text": text}]})
}

fn not_allowed(params: &Value) -> bool {
    let text = params["update"]["content"]["content"]["text"].as_str().unwrap_or_default();
    text.starts_with("❌ ") && text.ends_with(" has not allowed this phone. Ask again in 10 minutes.")
}

/// Waits for the next frame without a timeout, for tests with a paused clock.
async fn next(phone: &mut Client) -> Value {
    loop {
        match phone.socket.next().await.expect("a frame").unwrap() {
            Message::Text(text) => return serde_json::from_str(&text).unwrap(),
            Message::Ping(_) | Message::Pong(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn frames_are_held_until_access_is_allowed() {
    let mut setup = Setup::new().await;
    let mut phone = setup.request_access(PHONE).await.unwrap();
    let answer = phone.request("initialize", hello()).await;
    // The workspace is not shown to a pending connection.
    assert_eq!(answer["_meta"], Value::Null);
    let session = phone.ask("session/new", json!({})).await;
    let asked = setup.request(Value::is_object).await;
    assert_eq!((&asked["kind"], &asked["name"]), (&json!("ios"), &json!("OpenAgents iOS")));
    assert_eq!((&asked["address"], &asked["sessionId"]), (&json!(PHONE), &Value::Null));
    let wanted = phone.ask("session/prompt", prompt(&json!("an-old-session"), "where is it?")).await;
    let asked = setup.request(|request| !request["sessionId"].is_null()).await;
    assert_eq!(asked["sessionId"], "an-old-session");
    // Nothing was started.
    let sessions = setup.desktop.request("session/list", json!({})).await["sessions"].clone();
    assert_eq!(sessions, json!([]));
    let snapshot = setup.allow().await;
    assert_eq!(snapshot["requests"], json!([]));
    assert_eq!(snapshot["apps"][0]["address"], json!(PHONE));
    // In the order in which the frames were sent.
    assert!(phone.answer(session).await["result"]["session_id"].is_string());
    assert_eq!(phone.answer(wanted).await["result"]["status"], "started");
    phone.notes_until("where is it?").await;
    // Access is remembered: the next socket is admitted at once with a full answer.
    let mut again = setup.request_access(PHONE).await.unwrap();
    let answer = again.request("initialize", hello()).await;
    assert!(answer["_meta"]["working_directory"].is_string());
    again.request("tinyvex/history.recentSessions", json!({})).await;
    // Another address needs its own approval.
    setup.phone(OTHER).await;
    assert_eq!(setup.request(Value::is_object).await["address"], json!(OTHER));
    // Its calls are in the audit log.
    let entries = setup.ask("audit", json!({})).await["entries"].clone();
    let entry = entries.as_array().unwrap().iter().find(|entry| entry["action"] == "session/prompt");
    let entry = entry.expect("an entry");
    assert_eq!((&entry["name"], &entry["address"]), (&json!("OpenAgents iOS"), &json!(PHONE.to_string())));
    assert!(!entries.to_string().contains("where is it?"));
}

#[tokio::test]
async fn declined_app_is_notified_once_and_blocked() {
    let mut setup = Setup::new().await;
    let mut phone = setup.phone(PHONE).await;
    phone.ask("tinyvex/history.recentSessions", json!({})).await;
    phone.ask("session/set_mode", json!({"session_id": "mine", "mode_id": "codex"})).await;
    phone.ask("session/prompt", prompt(&json!("mine"), "where is it?")).await;
    setup.decline().await;
    let note = phone.note().await;
    assert!(not_allowed(&note), "{note}");
    assert_eq!(note["session_id"], "mine");
    // The socket stays open and silent.
    phone.ask("session/prompt", prompt(&json!("mine"), "again")).await;
    phone.ask("session/new", json!({})).await;
    phone.socket.send(Message::Ping(b"there?"[..].to_vec().into())).await.unwrap();
    match phone.socket.next().await.unwrap().unwrap() {
        Message::Pong(bytes) => assert_eq!(&bytes[..], b"there?"),
        other => panic!("{other:?}"),
    }
    let sessions = setup.desktop.request("session/list", json!({})).await["sessions"].clone();
    assert_eq!(sessions, json!([]));
    let (status, reply) = setup.refused(PHONE).await;
    assert_eq!(status, 403);
    assert!(reply.contains("has not allowed this phone"), "{reply}");
    setup.phone(OTHER).await;
    // Ten minutes later it may ask again.
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(601)).await;
    tokio::time::resume();
    setup.phone(PHONE).await;
}

/// The app shows nothing until it has a session.
#[tokio::test]
async fn declined_app_is_notified_in_its_new_session() {
    for (method, params) in [("session/new", json!({})), ("orchestrate.explore.start", json!({}))] {
        let mut setup = Setup::new().await;
        let mut phone = setup.phone(PHONE).await;
        let asked = phone.ask(method, params).await;
        setup.decline().await;
        let session = phone.answer(asked).await["result"]["session_id"].clone();
        assert!(session.is_string());
        let note = phone.note().await;
        assert!(not_allowed(&note) && note["session_id"] == session, "{note}");
        let sessions = setup.desktop.request("session/list", json!({})).await["sessions"].clone();
        assert_eq!(sessions, json!([]), "{method}");
    }
}

#[tokio::test]
async fn declined_app_without_session_is_notified_later() {
    let mut setup = Setup::new().await;
    let mut phone = setup.phone(PHONE).await;
    setup.decline().await;
    phone.ask("tinyvex/history.recentSessions", json!({})).await;
    phone.ask("session/prompt", prompt(&json!("mine"), "where is it?")).await;
    assert!(not_allowed(&phone.note().await));
}

/// Uses the paused clock, which advances when all tasks are idle.
#[tokio::test]
async fn unanswered_request_counts_as_declined() {
    let mut setup = Setup::new().await;
    let mut phone = setup.phone(PHONE).await;
    phone.ask("session/prompt", prompt(&json!("mine"), "where is it?")).await;
    setup.request(|request| !request["sessionId"].is_null()).await;
    let asked = tokio::time::Instant::now();
    tokio::time::pause();
    let note = next(&mut phone).await;
    let waited = asked.elapsed();
    tokio::time::resume();
    assert!(not_allowed(&note["params"]), "{note}");
    assert!((55..=75).contains(&waited.as_secs()), "{waited:?}");
    assert_eq!(setup.refused(PHONE).await.0, 403);
    // The desktop's connection has missed its pings.
    setup.desktop = support::acp(setup.bridge.address().port(), setup.bridge.token()).await;
    let snapshot = setup.ask("list", json!({})).await;
    assert_eq!((&snapshot["requests"], &snapshot["apps"]), (&json!([]), &json!([])));
}

#[tokio::test]
async fn sockets_of_one_address_share_a_request() {
    let mut setup = Setup::new().await;
    let mut phones = Vec::new();
    for _ in 0..3 {
        phones.push(setup.phone(PHONE).await);
    }
    let mut asked = Vec::new();
    for phone in &mut phones {
        asked.push(phone.ask("session/new", json!({})).await);
    }
    setup.allow().await;
    for (phone, asked) in phones.iter_mut().zip(asked) {
        assert!(phone.answer(asked).await["result"]["session_id"].is_string());
    }
}

#[tokio::test]
async fn pending_connection_bounds_held_frames() {
    let setup = Setup::new().await;
    let mut phone = setup.phone(PHONE).await;
    for _ in 0..100 {
        // The server may have closed it already.
        let frame = json!({"jsonrpc": "2.0", "id": 9, "method": "session/new", "params": {}});
        let _ = phone.socket.feed(Message::text(frame.to_string())).await;
    }
    let _ = phone.socket.flush().await;
    assert_eq!(u16::from(phone.closed().await.expect("a reason").code), 1008);
    let mut phone = setup.phone(PHONE).await;
    let long = Message::text("x".repeat((64 << 10) + 1));
    phone.socket.send(long).await.unwrap();
    assert_eq!(u16::from(phone.closed().await.expect("a reason").code), 1009);
    // Pending connections per address are limited.
    let mut sockets = Vec::new();
    for _ in 0..5 {
        sockets.push(setup.phone(PHONE).await);
    }
    let mut late = setup.request_access(PHONE).await.unwrap();
    assert_eq!(u16::from(late.closed().await.expect("a reason").code), 1013);
    setup.phone(OTHER).await;
    drop(sockets);
}

#[tokio::test]
async fn removed_app_is_disconnected_and_blocked() {
    let mut setup = Setup::new().await;
    let mut phone = setup.phone(PHONE).await;
    setup.allow().await;
    phone.request("session/new", json!({})).await;
    let snapshot = setup.ask("revoke", json!({"address": PHONE})).await;
    assert_eq!(snapshot["apps"], json!([]));
    while phone.message().await.is_some() {}
    assert_eq!(setup.refused(PHONE).await.0, 403);
}

/// Uses the paused clock.
#[tokio::test]
async fn app_access_expires() {
    let mut setup = Setup::new().await;
    let mut phone = setup.phone(PHONE).await;
    setup.allow().await;
    phone.request("session/new", json!({})).await;
    tokio::time::pause();
    // Reading the socket also answers pings.
    while let Some(Ok(_)) = phone.socket.next().await {}
    tokio::time::resume();
    // The desktop's connection has missed its pings.
    setup.desktop = support::acp(setup.bridge.address().port(), setup.bridge.token()).await;
    let mut phone = setup.phone(PHONE).await;
    phone.ask("session/new", json!({})).await;
    setup.request(Value::is_object).await;
}

#[tokio::test]
async fn app_scope_is_at_most_prompt() {
    let mut setup = Setup::new().await;
    for (scope, may) in [("admin", true), ("view", false)] {
        let address = if may { PHONE } else { OTHER };
        let mut phone = setup.phone(address).await;
        let request = setup.request(Value::is_object).await;
        setup.ask("allow", json!({"requestId": request["id"], "scope": scope})).await;
        phone.request("tinyvex/history.recentSessions", json!({})).await;
        if may {
            let session = phone.request("session/new", json!({})).await["session_id"].clone();
            phone.request("session/prompt", prompt(&session, "where is it?")).await;
            assert_eq!(
                shown(&phone.notes_until("where is it?").await).last().unwrap(),
                "agent_message_chunk: where is it?"
            );
        } else {
            let (_, message) = phone.error("session/new", json!({})).await;
            assert_eq!(message, "This phone may only view; allow more on the desktop.");
        }
        // ACP methods are unknown here.
        assert_eq!(phone.error("_openagents/devices/list", json!({})).await.0, -32601);
    }
}

#[tokio::test]
async fn switching_ios_access_off_ends_its_connections() {
    let mut setup = Setup::with(None).await;
    setup.ask("network", json!({"ios": "ask"})).await;
    let (mut allowed, mut waiting) = (setup.phone(PHONE).await, None);
    setup.allow().await;
    allowed.request("session/new", json!({})).await;
    waiting.replace(setup.phone(OTHER).await);
    setup.ask("network", json!({"ios": "off"})).await;
    while allowed.message().await.is_some() {}
    while waiting.as_mut().unwrap().message().await.is_some() {}
}

/// The same address may belong to another device on the next network.
#[tokio::test]
async fn phone_asks_again_after_network_change() {
    let mut setup = Setup::with(None).await;
    setup.ask("network", json!({"ios": "ask"})).await;
    let mut phone = setup.phone(PHONE).await;
    setup.allow().await;
    phone.request("session/new", json!({})).await;
    setup.ask("network", json!({"ios": "off"})).await;
    setup.ask("network", json!({"ios": "ask"})).await;
    let mut again = setup.request_access(PHONE).await.unwrap();
    // The workspace is not shown to a pending connection.
    assert_eq!(again.request("initialize", hello()).await["_meta"], Value::Null);
}
