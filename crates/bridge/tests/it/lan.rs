//! Network access for other devices.

use crate::support::{self, Client, TestBridge, config, echo, pairing, refused, with};
use openagents_bridge::{Bridge, BridgeConfig, BridgeError, IosAccess, Listener, NetworkConfig};
use reqwest::{Certificate, StatusCode, Version};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::Path,
    sync::Arc,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tokio_tungstenite::tungstenite::{self, Message, client::IntoClientRequest, http::Request};

/// Stands for an address on the network.
const LAN: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

struct Lan {
    test: TestBridge,
    home: tempfile::TempDir,
    bridge: Bridge,
}

impl Lan {
    /// A bridge that serves the page and the iOS app on [`LAN`].
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut BridgeConfig)) -> Self {
        let test = TestBridge::new(echo).await;
        let home = tempfile::tempdir().unwrap();
        let bridge = Bridge::start(served(home.path(), &test.workspace, change)).await.unwrap();
        Self { test, home, bridge }
    }

    fn listener(&self, kind: Listener) -> SocketAddr {
        self.bridge.network().addresses(kind).next().expect("a listener")
    }

    fn authority(&self) -> Vec<u8> {
        std::fs::read(self.home.path().join("tls/ca.pem")).unwrap()
    }

    /// A client that trusts only our authority and resolves every name to this bridge.
    fn browser(&self) -> reqwest::Client {
        // Another test may have installed it already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let root = Certificate::from_pem(&self.authority()).unwrap();
        let web = self.listener(Listener::Web);
        let browser = reqwest::Client::builder().tls_certs_only([root]).no_proxy();
        browser.resolve("localhost", web).resolve("example.com", web).build().unwrap()
    }

    async fn tls(&self) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&self.authority()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(roots).with_no_client_auth();
        let stream = TcpStream::connect(self.listener(Listener::Web)).await.unwrap();
        TlsConnector::from(Arc::new(config)).connect(ServerName::from(LAN), stream).await.unwrap()
    }

    fn upgrade(&self, token: &str) -> Request<()> {
        let request = format!("wss://{}/acp", self.listener(Listener::Web)).into_client_request().unwrap();
        with(request, "authorization", &format!("Bearer {token}"))
    }

    async fn acp(&self, request: Request<()>) -> Result<Client, tungstenite::Error> {
        Client::over(self.tls().await, request).await
    }

    /// Pairs an admin device and returns its token.
    async fn device(&self) -> String {
        let mut desktop = self.desktop().await;
        pairing::pair_at(self.bridge.address().port(), &mut desktop, "Phone", "admin").await.token
    }

    async fn desktop(&self) -> Client {
        support::acp(self.bridge.address().port(), self.bridge.token()).await
    }
}

fn served(home: &Path, workspace: &Path, change: impl FnOnce(&mut BridgeConfig)) -> BridgeConfig {
    let network = NetworkConfig { lan: Some(true), port: 0, addresses: Some(vec![LAN]), announce: false };
    let mut config = BridgeConfig { ios: Some(IosAccess::Ask), network, ..config(home, workspace) };
    change(&mut config);
    config
}

fn status(error: tungstenite::Error) -> u16 {
    match error {
        tungstenite::Error::Http(response) => response.status().as_u16(),
        other => panic!("{other}"),
    }
}

async fn plain(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn page_is_served_over_tls() {
    let lan = Lan::new().await;
    let (browser, web) = (lan.browser(), lan.listener(Listener::Web));
    assert_eq!(web.ip(), LAN);
    for host in [web.to_string(), format!("localhost:{}", web.port())] {
        let result = browser.get(format!("https://{host}/")).send().await;
        // The certificate covers `localhost`, but `localhost` is not served on the network.
        if host.starts_with("localhost") {
            assert_eq!(result.unwrap().status(), StatusCode::FORBIDDEN);
            continue;
        }
        let page = result.unwrap();
        assert_eq!(page.version(), Version::HTTP_2);
        // 503 if the UI was not built.
        assert!([StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE].contains(&page.status()));
        let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
        for part in [
            "default-src 'self';",
            "worker-src 'self';",
            "manifest-src 'self';",
            &format!("connect-src 'self' ws://{host} wss://{host}"),
        ] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!page.headers().contains_key("strict-transport-security"));
    }
    let get = async |path: &str| browser.get(format!("https://{web}{path}")).send().await.unwrap();
    let certificate = get("/ca.pem").await;
    assert_eq!(certificate.headers()["content-type"], "application/x-pem-file");
    assert_eq!(certificate.bytes().await.unwrap(), lan.authority());
    // The fingerprint that a phone shows on installation.
    let der = CertificateDer::from_pem_slice(&lan.authority()).unwrap();
    let print: Vec<String> = Sha256::digest(&der).iter().map(|byte| format!("{byte:02X}")).collect();
    assert_eq!(lan.bridge.network().fingerprint, Some(print.join(":")));
    let profile = get("/ca.mobileconfig").await;
    assert_eq!(profile.headers()["content-type"], "application/x-apple-aspen-config");
    assert!(profile.text().await.unwrap().contains("com.apple.security.root"));
    for path in ["/nothing", "/assets/%2e%2e/%2e%2e/Cargo.toml", "/..%2f..%2fCargo.toml", "//etc/passwd"] {
        assert_eq!(get(path).await.status(), StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn untrusted_certificate_is_rejected() {
    let lan = Lan::new().await;
    let web = lan.listener(Listener::Web);
    // The certificate does not cover other names.
    let error = lan.browser().get(format!("https://example.com:{}/", web.port())).send().await.unwrap_err();
    assert!(format!("{error:?}").contains("NotValidForName"), "{error:?}");
    // Not trusted before the authority is installed.
    let unauthenticated = reqwest::Client::builder().tls_certs_only([]).no_proxy().build().unwrap();
    let error = unauthenticated.get(format!("https://{web}/")).send().await.unwrap_err();
    assert!(format!("{error:?}").contains("UnknownIssuer"), "{error:?}");
    // Each data folder has its own authority.
    let other = Lan::new().await;
    let error = other.browser().get(format!("https://{web}/")).send().await.unwrap_err();
    assert!(format!("{error:?}").contains("InvalidCertificate(BadSignature)"), "{error:?}");
}

#[tokio::test]
async fn acp_works_over_tls() {
    let lan = Lan::new().await;
    let token = lan.device().await;
    let mut client = lan.acp(lan.upgrade(&token)).await.unwrap();
    client.request("initialize", json!({"protocolVersion": 1})).await;
    client.request("session/list", json!({})).await;
    let web = lan.listener(Listener::Web);
    let refused = async |request| status(lan.acp(request).await.map(drop).unwrap_err());
    assert_eq!(refused(lan.upgrade("wrong")).await, 401);
    // The local token is not valid over the network.
    assert_eq!(refused(lan.upgrade(lan.bridge.token())).await, 401);
    for host in ["example.com:9443", "192.168.7.7:9443", "127.0.0.1:9443", "localhost"] {
        assert_eq!(refused(with(lan.upgrade(&token), "host", host)).await, 403, "{host}");
    }
    for origin in ["https://example.com", "tauri://localhost", "null", &format!("http://{web}")] {
        assert_eq!(refused(with(lan.upgrade(&token), "origin", origin)).await, 403, "{origin}");
    }
    lan.acp(with(lan.upgrade(&token), "origin", &format!("https://{web}"))).await.unwrap();
}

#[tokio::test]
async fn tls_port_serves_only_tls() {
    let lan = Lan::new().await;
    let web = lan.listener(Listener::Web);
    let answer = plain(web, &format!("GET / HTTP/1.1\r\nHost: {web}\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(
        head.contains(&format!("Content-Length: {}", body.len())) && body.contains("https://"),
        "{answer}"
    );
    // Incomplete handshakes do not block other clients.
    let mut silent = Vec::new();
    for start in [&[][..], &[22], &[22, 3, 1, 2, 0, 1], b"\x16\x03\x01\xff\xff garbage"] {
        let mut stream = TcpStream::connect(web).await.unwrap();
        stream.write_all(start).await.unwrap();
        silent.push(stream);
    }
    lan.acp(lan.upgrade(&lan.device().await)).await.unwrap();
    for mut stream in silent {
        // Closed, possibly with a TLS alert.
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(std::time::Duration::from_secs(60), stream.read_to_end(&mut rest));
        let _ = ended.await.expect("cut after a while");
    }
}

#[tokio::test]
async fn clear_text_port_serves_only_the_app() {
    let lan = Lan::new().await;
    let app = lan.listener(Listener::App);
    assert_eq!((app.ip(), app.port()), (LAN, lan.bridge.address().port()));
    for (request, expected) in [
        ("GET / HTTP/1.1\r\nHost: HOST\r\n\r\n", "404"),
        ("GET /index.html HTTP/1.1\r\nHost: HOST\r\n\r\n", "404"),
        ("GET /ca.pem HTTP/1.1\r\nHost: HOST\r\n\r\n", "404"),
        ("POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n\r\n", "404"),
        ("POST /pair HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n\r\n", "404"),
        ("POST /acp HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n\r\n", "404"),
        ("GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", "403"),
    ] {
        let answer = plain(app, &request.replace("HOST", &app.to_string())).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {expected} ")), "{request}: {answer}");
    }
    let upgrade = |path: &str| format!("ws://{app}{path}").into_client_request().unwrap();
    let token = format!("Bearer {}", lan.bridge.token());
    assert_eq!(refused(with(upgrade("/acp"), "authorization", &token)).await, 404);
    assert_eq!(refused(with(upgrade("/"), "origin", &format!("http://{app}"))).await, 403);
    assert_eq!(refused(with(upgrade("/"), "host", "example.com")).await, 403);
    let mut phone = Client::connect(upgrade("/")).await.unwrap();
    phone.request("initialize", json!({"protocol_version": "0.2.2"})).await;
}

#[tokio::test]
async fn network_switches_while_running() {
    let lan = Lan::with(|config| (config.network.lan, config.ios) = (None, None)).await;
    let kinds = |lan: &Lan| -> Vec<Listener> {
        lan.bridge.network().listeners.iter().map(|listener| listener.kind).collect()
    };
    assert_eq!(kinds(&lan), [Listener::Loopback]);
    let mut desktop = lan.desktop().await;
    let network = async |desktop: &mut Client, switch: Value| {
        desktop.request("_openagents/devices/network", switch).await["network"].clone()
    };
    let on = network(&mut desktop, json!({"lan": true, "ios": "ask"})).await;
    assert_eq!((&on["lan"], &on["ios"], &on["fixed"]), (&json!(true), &json!("ask"), &json!(false)));
    assert_eq!(kinds(&lan), [Listener::Loopback, Listener::Web, Listener::App]);
    let mut remote = lan.acp(lan.upgrade(&lan.device().await)).await.unwrap();
    remote.request("initialize", json!({"protocolVersion": 1})).await;
    let (web, app) = (lan.listener(Listener::Web), lan.listener(Listener::App));
    let off = network(&mut desktop, json!({"lan": false})).await;
    assert_eq!(kinds(&lan), [Listener::Loopback, Listener::App]);
    assert_eq!(off["fingerprint"], Value::Null);
    // Connections end and new ones are refused.
    while !matches!(remote.message().await, None | Some(Message::Close(_))) {}
    assert!(TcpStream::connect(web).await.is_err());
    network(&mut desktop, json!({"ios": "off"})).await;
    assert!(TcpStream::connect(app).await.is_err());
    // The same port and certificate are used again, and the switch is stored.
    let again = network(&mut desktop, json!({"lan": true})).await;
    assert_eq!((lan.listener(Listener::Web), &again["fingerprint"]), (web, &on["fingerprint"]));
    let Lan { test, home, bridge } = lan;
    bridge.shutdown().await;
    let config =
        served(home.path(), &test.workspace, |config| (config.network.lan, config.ios) = (None, None));
    let bridge = Bridge::start(config).await.unwrap();
    let state = bridge.network();
    assert_eq!(
        (state.lan, state.ios, state.fingerprint.as_deref()),
        (true, IosAccess::Off, on["fingerprint"].as_str())
    );
    bridge.shutdown().await;
}

#[tokio::test]
async fn command_line_switches_cannot_be_changed() {
    let lan = Lan::new().await;
    let mut desktop = lan.desktop().await;
    let (_, message) = desktop.error("_openagents/devices/network", json!({"lan": false})).await;
    assert!(message.contains("--lan"), "{message}");
    let (_, message) = desktop.error("_openagents/devices/network", json!({"ios": "off"})).await;
    assert!(message.contains("--ios"), "{message}");
    assert!(lan.bridge.network().fixed);
}

#[tokio::test]
async fn open_ios_access_is_loopback_only() {
    let (home, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let config = served(home.path(), workspace.path(), |config| config.ios = Some(IosAccess::Allow));
    let Err(error) = Bridge::start(config).await else { panic!("it started") };
    assert!(matches!(error, BridgeError::OpenOnNetwork) && error.hint().is_some(), "{error}");
    // Without --lan nothing binds to the network.
    let lan = Lan::with(|config| (config.network.lan, config.ios) = (None, Some(IosAccess::Allow))).await;
    assert_eq!(lan.bridge.network().listeners.len(), 1);
    assert!(TcpStream::connect((LAN, lan.bridge.address().port())).await.is_err());
}

#[tokio::test]
async fn busy_port_is_reported_and_retried() {
    let taken = TcpListener::bind((LAN, 0)).await.unwrap();
    let port = taken.local_addr().unwrap().port();
    let lan = Lan::with(|config| config.network.port = port).await;
    let problem = lan.bridge.network().problem.clone().expect("a sentence");
    assert!(
        problem.starts_with(&format!("Port {port} of 127.0.0.2 is in use by another program;")),
        "{problem}"
    );
    // The other listener is served anyway.
    lan.listener(Listener::App);
    drop(taken);
    let mut desktop = lan.desktop().await;
    let patience = std::time::Duration::from_secs(60);
    let opened = tokio::time::timeout(patience, async {
        while lan.bridge.network().addresses(Listener::Web).next().is_none() {
            desktop.request("session/list", json!({})).await;
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    });
    opened.await.expect("tried again");
    assert_eq!(lan.bridge.network().problem, None);
}

#[tokio::test]
async fn unusable_certificate_folder_is_reported() {
    let test = TestBridge::new(echo).await;
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("tls"), "a file where the folder should be").unwrap();
    let bridge = Bridge::start(served(home.path(), &test.workspace, |_| {})).await.unwrap();
    let state = bridge.network();
    assert_eq!(state.addresses(Listener::Web).count(), 0);
    let problem = state.problem.clone().unwrap();
    assert!(problem.starts_with("Encrypted access couldn't start: cannot read "), "{problem}");
    bridge.shutdown().await;
}

#[tokio::test]
async fn damaged_authority_is_reported() {
    let Lan { test, home, bridge } = Lan::new().await;
    bridge.shutdown().await;
    std::fs::write(home.path().join("tls/ca.pem"), "garbage").unwrap();
    let bridge = Bridge::start(served(home.path(), &test.workspace, |_| {})).await.unwrap();
    let problem = bridge.network().problem.clone().unwrap();
    assert!(problem.ends_with("Phones that had installed it must install it again."), "{problem}");
    let lan = Lan { test, home, bridge };
    lan.acp(lan.upgrade(&lan.device().await)).await.unwrap();
}
