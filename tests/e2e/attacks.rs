//! Attacks on the real program: each one is refused, and the user at this machine does not notice it.

use anyhow::{Context, Result, ensure};
use futures::{SinkExt, StreamExt, stream};
use openagents_e2e::{
    server::{Client, Server},
    terminal::TestEnv,
};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    sync::{mpsc, oneshot},
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Error, Message, client::IntoClientRequest},
};

/// Limit of every wait; longer means a hang.
const HANGS: Duration = Duration::from_secs(60);
/// Maximum growth of the server's memory during an attack, in megabytes.
const MEMORY: u64 = 100;

/// A server under attack, and a client that keeps working with it.
struct Target {
    env: TestEnv,
    server: Server,
    port: u16,
    token: String,
    friend: Friend,
    /// Memory before the attack, in megabytes.
    memory: u64,
}

impl Target {
    async fn new() -> Result<Self> {
        Self::with(&[]).await
    }

    async fn with(more: &[&str]) -> Result<Self> {
        let env = TestEnv::new("proj", &[("README.md", "# Proj\n")])?;
        let server = Server::start(env.openagents(&[&["serve", "--port", "0", "--json"], more].concat())?)?;
        let port = u16::try_from(server.begun["port"].as_u64().context("port")?)?;
        let token = std::fs::read_to_string(server.begun["token_file"].as_str().context("token_file")?)?;
        let friend = Friend::from_client(server.connect().await?);
        let memory = memory(server.child.id(), "VmRSS:")?;
        Ok(Self { env, server, port, token: token.trim().to_owned(), friend, memory })
    }

    /// Checks that the connected client keeps working, a new client can connect, and no memory was used up.
    async fn is_unharmed(&mut self) -> Result<()> {
        self.friend.request("session/list", json!({})).await.context("the existing client")?;
        let mut newcomer = self.server.connect().await.context("a new client")?;
        newcomer.request("session/list", json!({})).await?;
        ensure!(self.server.child.try_wait()?.is_none(), "the server has ended");
        let most = memory(self.server.child.id(), "VmHWM:")?;
        ensure!(most < self.memory + MEMORY, "{most} MB instead of {} MB", self.memory);
        Ok(())
    }

    async fn connect(&self) -> Result<TcpStream> {
        Ok(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await?)
    }

    /// Sends bytes and returns the status and the whole response.
    async fn raw(&self, request: &[u8]) -> Result<(u16, String)> {
        let mut stream = self.connect().await?;
        stream.write_all(request).await?;
        let mut answer = Vec::new();
        // A server that has read enough may reset the connection.
        let _ = timeout(HANGS, stream.read_to_end(&mut answer)).await.context("no answer")?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        Ok((status.unwrap_or_default(), answer))
    }

    async fn upgrade(&self, target: &str, headers: &[(&str, &str)]) -> Result<u16> {
        let mut all = vec![
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let host = format!("127.0.0.1:{}", self.port);
        if headers.iter().all(|(name, _)| *name != "Host") {
            all.push(("Host", &host));
        }
        all.extend(headers);
        let lines: String = all.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let mut stream = self.connect().await?;
        stream.write_all(format!("GET {target} HTTP/1.1\r\n{lines}\r\n").as_bytes()).await?;
        let mut answer = [0; 12];
        timeout(HANGS, stream.read_exact(&mut answer)).await.context("no answer")??;
        Ok(String::from_utf8_lossy(&answer[9..]).parse()?)
    }

    /// Connects to the ACP endpoint.
    async fn socket(&self) -> Result<WebSocketStream<TcpStream>> {
        self.socket_of(&self.token).await
    }

    async fn socket_of(&self, token: &str) -> Result<WebSocketStream<TcpStream>> {
        let mut request = format!("ws://127.0.0.1:{}/acp", self.port).into_client_request()?;
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse()?);
        Ok(client_async(request, self.connect().await?).await?.0)
    }
}

/// A client that connected before the attack and reads all the time.
struct Friend(mpsc::Sender<Asked>);

type Asked = (&'static str, Value, oneshot::Sender<Result<Value>>);

impl Friend {
    fn from_client(mut client: Client) -> Self {
        let (ask, mut asked) = mpsc::channel::<Asked>(1);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    request = asked.recv() => {
                        let Some((method, params, answer)) = request else { return };
                        // A test that has failed needs no answer.
                        let _ = answer.send(client.request(method, params).await);
                    }
                    // Pings are answered while the client reads.
                    news = client.next() => {
                        if news.is_err_and(|error| error.to_string() != "nothing came") {
                            return;
                        }
                    }
                }
            }
        });
        Self(ask)
    }

    async fn request(&self, method: &'static str, params: Value) -> Result<Value> {
        let (answer, answered) = oneshot::channel();
        self.0.send((method, params, answer)).await.context("the connection has ended")?;
        answered.await.context("the connection has ended")?
    }
}

/// Returns a memory figure of a process, in megabytes.
fn memory(pid: u32, name: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).context("no such line")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? / 1000)
}

#[tokio::test]
async fn bad_tokens_are_refused() -> Result<()> {
    let mut target = Target::new().await?;
    let token = target.token.clone();
    let wrong = format!("{}{}", &token[..63], if token.ends_with('0') { '1' } else { '0' });
    let bearer = |token: &str| format!("Bearer {token}");
    let [wrong_bearer, short, long, basic, cookie] = [
        bearer(&wrong),
        bearer(&token[..63]),
        bearer(&format!("{token}0")),
        format!("Basic {token}"),
        format!("token={token}"),
    ];
    let [in_query, as_access_token] = ["token", "access_token"].map(|name| format!("/acp?{name}={token}"));
    let attempts: [(&str, &[(&str, &str)]); 9] = [
        ("/acp", &[]),
        ("/acp", &[("Authorization", &wrong_bearer)]),
        ("/acp", &[("Authorization", &short)]),
        ("/acp", &[("Authorization", &long)]),
        ("/acp", &[("Authorization", "Bearer ")]),
        ("/acp", &[("Authorization", &basic)]),
        ("/acp", &[("Cookie", &cookie)]),
        (&in_query, &[]),
        (&as_access_token, &[]),
    ];
    for status in
        futures::future::join_all(attempts.map(|(path, headers)| target.upgrade(path, headers))).await
    {
        assert_eq!(status?, 401);
    }
    assert_eq!(target.upgrade("/acp", &[("Authorization", &bearer(&token))]).await?, 101);
    target.is_unharmed().await
}

#[tokio::test]
async fn foreign_origin_and_rebinding_host_are_refused() -> Result<()> {
    let mut target = Target::new().await?;
    let bearer = format!("Bearer {}", target.token);
    let port = target.port;
    for origin in [
        "https://example.com",
        "http://localhost:1",
        "http://localhost.example.com",
        "null",
        "file://",
        &format!("http://127.0.0.1.example.com:{port}"),
        &format!("https://127.0.0.1:{port}"),
    ] {
        let headers = [("Authorization", bearer.as_str()), ("Origin", origin)];
        assert_eq!(target.upgrade("/acp", &headers).await?, 403, "{origin}");
    }
    for host in ["example.com", "127.0.0.1.nip.io", "localhost.example.com", "rebound.example.com"] {
        let host = format!("{host}:{port}");
        let headers = [("Authorization", bearer.as_str()), ("Host", &host)];
        assert_eq!(target.upgrade("/acp", &headers).await?, 403, "{host}");
        for path in ["/", "/index.html", "/pair", "/ca.pem", "/nothing"] {
            let (status, answer) =
                target.raw(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).await?;
            assert_eq!(status, 403, "{host} {path}");
            assert!(!answer.to_lowercase().contains("access-control-"), "{answer}");
        }
    }
    target.is_unharmed().await
}

#[tokio::test]
async fn page_path_cannot_escape() -> Result<()> {
    let mut target = Target::new().await?;
    let token = target.token.clone();
    let home = target.env.folder("home");
    let absolute = home.join("token").display().to_string();
    let mut paths: Vec<String> = [
        "/../token",
        "/../../token",
        "/..",
        "/../",
        "/./../token",
        "/assets/../../token",
        "/assets/..%2f..%2ftoken",
        "/%2e%2e/token",
        "/%2e%2e%2ftoken",
        "/%2E%2E%2F%2E%2E%2Ftoken",
        "/.%2e/token",
        "/%252e%252e%252ftoken",
        "/..%5ctoken",
        "/..\\token",
        "/%c0%ae%c0%ae/token",
        "/%c0%ae%c0%ae%c0%aftoken",
        "/..%00/token",
        "/index.html%00.png",
        "/..;/token",
        "//etc/passwd",
        "/etc/passwd",
        "/%2fetc%2fpasswd",
        "/file:///etc/passwd",
        "/C:%5cWindows%5cwin.ini",
        "/assets//../../../../../../../../../../etc/passwd",
        "/~/token",
        "/openagents.sqlite",
    ]
    .map(str::to_owned)
    .to_vec();
    paths.push(absolute.clone());
    paths.push(format!("/assets{absolute}"));
    paths.push(format!("/{}", "../".repeat(20) + &absolute));
    paths.push(format!("/{}", "%2e%2e/".repeat(20) + &absolute));
    for path in paths {
        let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", target.port);
        let (status, answer) = target.raw(request.as_bytes()).await?;
        assert!(matches!(status, 400 | 404), "{path}: {status} {answer}");
        for secret in [token.as_str(), "root:", "SQLite format"] {
            assert!(!answer.contains(secret), "{path}: {answer}");
        }
    }
    target.is_unharmed().await
}

#[tokio::test]
async fn frame_of_100_mb_is_refused() -> Result<()> {
    const BYTES: u64 = 100 << 20;
    let mut target = Target::new().await?;
    // Announced and sent.
    let mut socket = target.socket().await?;
    let sending = socket.send(Message::text("x".repeat(usize::try_from(BYTES)?)));
    // The server may close the connection before everything is sent.
    let _ = timeout(HANGS, sending).await.context("the frame is not taken")?;
    assert_eq!(close_code(&mut socket).await?, Some(1009));
    // In fragments, none of which is too large.
    let mut socket = target.socket().await?;
    let mut piece = vec![0x01, 0xff];
    piece.extend((1_u64 << 20).to_be_bytes());
    piece.extend([0; 4]);
    piece.extend(vec![b'x'; 1 << 20]);
    for _ in 0..100 {
        if socket.get_mut().write_all(&piece).await.is_err() {
            break;
        }
        piece[0] = 0x00;
    }
    assert_eq!(close_code(&mut socket).await?, Some(1009));
    // Announced but never sent, with sizes up to the maximum.
    let mut sockets = Vec::new();
    for size in [BYTES, 1 << 40, i64::MAX as u64, u64::MAX] {
        let mut socket = target.socket().await?;
        let mut head = vec![0x81, 0xff];
        head.extend(size.to_be_bytes());
        head.extend([0; 4]);
        socket.get_mut().write_all(&head).await?;
        sockets.push(socket);
    }
    for socket in &mut sockets {
        // Some sizes are invalid: then there is no close frame either.
        let code = close_code(socket).await?;
        assert!(matches!(code, Some(1009 | 1002) | None), "{code:?}");
    }
    target.is_unharmed().await
}

/// Reads to the end and returns the code of the close frame, if there was one.
async fn close_code(socket: &mut WebSocketStream<TcpStream>) -> Result<Option<u16>> {
    let ended = async {
        loop {
            match socket.next().await {
                Some(Ok(Message::Close(close))) => return close.map(|close| u16::from(close.code)),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return None,
            }
        }
    };
    timeout(HANGS, ended).await.context("the server does not end it")
}

#[tokio::test]
async fn huge_body_and_endless_headers_are_refused() -> Result<()> {
    let mut target = Target::new().await?;
    let port = target.port;
    for path in ["/pair", "/pair/wait", "/acp", "/"] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n\
             Content-Type: application/json\r\nContent-Length: 104857600\r\n\r\n"
        );
        let mut request = head.into_bytes();
        request.resize(request.len() + (4 << 20), b' ');
        let mut stream = target.connect().await?;
        let _ = stream.write_all(&request).await;
        let mut answer = Vec::new();
        let _ = timeout(HANGS, stream.read_to_end(&mut answer)).await.context("no answer")?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(!answer.starts_with("HTTP/1.1 2"), "{path}: {answer}");
    }
    for head in [
        format!("GET /{} HTTP/1.1\r\n", "x".repeat(1 << 20)),
        format!("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: {}\r\n", "x".repeat(1 << 20)),
        format!("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n{}\r\n", "X: y\r\n".repeat(200_000)),
        "\0".repeat(1 << 20),
    ] {
        let mut stream = target.connect().await?;
        let _ = stream.write_all(head.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = timeout(HANGS, stream.read_to_end(&mut answer)).await.context("no answer")?;
        assert!(!answer.starts_with(b"HTTP/1.1 2"), "{}", String::from_utf8_lossy(&answer));
    }
    target.is_unharmed().await
}

/// Hundreds of handshakes that never complete, sent one byte at a time.
#[tokio::test]
async fn slow_loris_is_disconnected() -> Result<()> {
    let mut target = Target::new().await?;
    let head = format!(
        "GET /acp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX: {}",
        target.port,
        "x".repeat(4000)
    );
    let mut slow = Vec::new();
    for index in 0..400_u16 {
        // From many addresses, so that the per-address limit is not what stops them.
        let [_, index] = index.to_be_bytes();
        slow.push(from(Ipv4Addr::new(127, 0, 1, index.max(1)), target.port).await?);
    }
    let drip = tokio::spawn(async move {
        let mut ended = 0;
        for byte in head.bytes().chain(std::iter::repeat(b'x')) {
            let mut open = Vec::new();
            for mut stream in std::mem::take(&mut slow) {
                match stream.write_all(&[byte]).await {
                    Ok(()) if !is_closed(&stream) => open.push(stream),
                    _ => ended += 1,
                }
            }
            slow = open;
            if slow.is_empty() {
                return ended;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        ended
    });
    // While the handshakes drip.
    for _ in 0..10 {
        target.is_unharmed().await?;
    }
    assert_eq!(timeout(HANGS, drip).await.context("they are let drip for ever")??, 400);
    target.is_unharmed().await
}

async fn from(address: Ipv4Addr, port: u16) -> Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((address, 0)))?;
    Ok(socket.connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?)
}

/// Returns whether the peer has closed the connection, without waiting.
fn is_closed(stream: &TcpStream) -> bool {
    // Pending data comes before the end.
    loop {
        match stream.try_read(&mut [0; 4096]) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != std::io::ErrorKind::WouldBlock,
        }
    }
}

#[tokio::test]
async fn bridge_survives_10000_connections() -> Result<()> {
    const CONNECTIONS: usize = 10_000;
    let room = usize::try_from(rlimit::increase_nofile_limit(u64::MAX)?)?.saturating_sub(500);
    let mut target = Target::new().await?;
    let mut open = VecDeque::new();
    let mut answered = 0;
    for index in 0..CONNECTIONS {
        // Some send nothing, some half a request, some a whole request without a token; from one address and from many.
        let last = u8::try_from(index % 250)? + 1;
        let address = if index % 2 == 0 { Ipv4Addr::LOCALHOST } else { Ipv4Addr::new(127, 0, 2, last) };
        let mut stream = from(address, target.port).await?;
        let reply: &[u8] = match index % 4 {
            0 => b"",
            1 => b"GET / HTTP/1.1\r\nHos",
            2 => b"GET /acp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
            _ => b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        };
        // The server may already have closed the connection.
        let _ = stream.write_all(reply).await;
        open.push_back(stream);
        if open.len() > room {
            open.pop_front();
        }
        if index % 1000 == 999 {
            target.is_unharmed().await.with_context(|| format!("after {index} connections"))?;
            answered += 1;
        }
    }
    assert_eq!(answered, 10);
    target.is_unharmed().await?;
    // Connections that never authenticated have been closed.
    let cut = async {
        while open.iter().any(|stream| !is_closed(stream)) {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    if timeout(HANGS, cut).await.is_err() {
        let left: Vec<_> = open.iter().enumerate().filter(|(_, stream)| !is_closed(stream)).collect();
        let first = left.iter().take(5).map(|(index, stream)| (index, index % 4, stream.local_addr()));
        anyhow::bail!("{} strangers stay for ever: {:?}", left.len(), first.collect::<Vec<_>>());
    }
    target.is_unharmed().await
}

#[tokio::test]
async fn malformed_frames_leave_the_bridge_alive() -> Result<()> {
    let mut target = Target::with(&["--ios", "allow"]).await?;
    let deep = "[".repeat(100_000);
    let deep_object = r#"{"a":"#.repeat(100_000);
    let long_method = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(1 << 20));
    let long_id = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"nothing"}}"#, "9".repeat(1 << 16));
    let frames: Vec<&str> = vec![
        "",
        " ",
        "null",
        "true",
        "7",
        "\"text\"",
        "[]",
        "{}",
        "{",
        "}",
        "{]",
        "nul",
        "\u{feff}{}",
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"initialize"}"#,
        r#"{"jsonrpc":2.0,"id":1,"method":"initialize"}"#,
        r#"{"id":1,"method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":null}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":{}}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","id":[1],"method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","id":true,"method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","id":1e999,"method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"nothing/at_all","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":"x"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":7,"prompt":{}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"x","prompt":[{"type":"y"}]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"../..","mcpServers":[]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"\u0000","mcpServers":[]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"../../etc/passwd"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"_openagents/attach","params":{"sessionId":"x","since":-1}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"_openagents/attach","params":{"sessionId":"x","since":1e30}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"_openagents/update","params":{"sessionId":"x","seq":0}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session/list","params":{"cursor":"'; DROP TABLE sessions; --"}}"#,
        r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":[]}}"#,
        r#"{"jsonrpc":"2.0","method":"nothing"}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{"outcome":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":99,"error":7}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"initialize"}]"#,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\ud800\"}",
        &deep,
        &deep_object,
        &long_method,
        &long_id,
    ];
    // A client that sends only nonsense is answered or ignored, but not dropped: it may still send something valid.
    let mut socket = target.socket().await?;
    for frame in &frames {
        socket.send(Message::text(*frame)).await?;
    }
    let initialize = json!({"jsonrpc": "2.0", "id": "good", "method": "initialize",
        "params": {"protocolVersion": 1, "clientCapabilities": {}}});
    socket.send(Message::text(initialize.to_string())).await?;
    let mut refusals = 0;
    loop {
        let message = timeout(HANGS, socket.next()).await?.context("the server has ended it")??;
        let Message::Text(text) = message else { continue };
        // An id is returned as it was sent, even a number that we can't represent.
        let answer: Value = serde_json::from_str(&text.replace("1e999", "1"))?;
        if answer["id"] == "good" {
            assert_eq!(answer["result"]["protocolVersion"], 1);
            break;
        }
        let code = answer["error"]["code"].as_i64().with_context(|| format!("not refused: {text}"))?;
        assert!(code < 0 && answer["error"]["message"].is_string(), "{text}");
        refusals += 1;
    }
    // All except the four without an id and those that are responses.
    assert!(refusals >= frames.len() - 6, "{refusals} of {}", frames.len());
    // A frame that is not valid text ends the connection, with a reason.
    for bytes in [
        // Binary; invalid UTF-8; a reserved opcode; reserved bits; a control frame that is too long; no mask.
        vec![0x82, 0x81, 0, 0, 0, 0, b'x'],
        vec![0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe],
        vec![0x83, 0x80, 0, 0, 0, 0],
        vec![0xf1, 0x80, 0, 0, 0, 0],
        [vec![0x89, 0xfe, 0x01, 0x00, 0, 0, 0, 0], vec![b'x'; 256]].concat(),
        vec![0x81, 0x01, b'x'],
        vec![0x80, 0x80, 0, 0, 0, 0],
    ] {
        let mut socket = target.socket().await?;
        socket.get_mut().write_all(&bytes).await?;
        close_code(&mut socket).await.with_context(|| format!("{bytes:x?}"))?;
    }
    // The phone endpoint answers nothing before `initialize`, and stays open.
    let request = format!("ws://127.0.0.1:{}/", target.port).into_client_request()?;
    let mut phone = client_async(request, target.connect().await?).await?.0;
    let short = frames.iter().filter(|frame| frame.len() < 60_000);
    phone.send_all(&mut stream::iter(short.map(|frame| Ok::<_, Error>(Message::text(*frame))))).await?;
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
    phone.send(Message::text(initialize.to_string())).await?;
    let first = timeout(HANGS, phone.next()).await?.context("the server has ended it")??;
    ensure!(first.to_text()?.contains("\"result\""), "{first:?}");
    target.is_unharmed().await
}

/// Sends a request and returns the response.
async fn ask(socket: &mut WebSocketStream<TcpStream>, method: &str, params: Value) -> Result<Value> {
    let request = json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params});
    socket.send(Message::text(request.to_string())).await?;
    loop {
        let message = timeout(HANGS, socket.next()).await?.context("the server has ended it")??;
        let Message::Text(text) = message else { continue };
        let answer: Value = serde_json::from_str(&text)?;
        if answer["id"] == method {
            return Ok(answer);
        }
    }
}

/// Sends a request as one of our own pages does.
async fn post(target: &Target, path: &str, body: &Value) -> Result<(u16, Value)> {
    let (host, body) = (format!("127.0.0.1:{}", target.port), body.to_string());
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let (status, answer) = target.raw(request.as_bytes()).await?;
    let (_, body) = answer.split_once("\r\n\r\n").context("an answer")?;
    Ok((status, serde_json::from_str(body).unwrap_or_default()))
}

#[tokio::test]
async fn used_codes_and_scope_escalation_are_refused() -> Result<()> {
    let mut target = Target::new().await?;
    let shown = target.friend.request("_openagents/devices/pair", json!({})).await?;
    let code = shown["pairing"]["code"].as_str().with_context(|| shown.to_string())?.to_owned();
    let (status, asked) = post(&target, "/pair", &json!({"code": code, "name": "Phone"})).await?;
    assert_eq!(status, 200, "{asked}");
    let listed = target.friend.request("_openagents/devices/list", json!({})).await?;
    let request = listed["requests"][0]["id"].clone();
    // The device gets no token before the user allows it.
    let allow = json!({"requestId": request, "scope": "view"});
    target.friend.request("_openagents/devices/allow", allow).await?;
    let (status, paired) = post(&target, "/pair/wait", &json!({"request": asked["request"]})).await?;
    assert_eq!((status, &paired["state"]), (200, &json!("allowed")), "{paired}");
    // The same code again.
    let (status, answer) = post(&target, "/pair", &json!({"code": code, "name": "Thief"})).await?;
    assert!(matches!(status, 403 | 429), "{answer}");

    // The device may view, and nothing else.
    let token = paired["token"].as_str().context("token")?;
    let mut device = target.socket_of(token).await?;
    let initialize = json!({"protocolVersion": 1, "clientCapabilities": {}});
    for (method, params) in [("initialize", initialize), ("session/list", json!({}))] {
        let answer = ask(&mut device, method, params).await?;
        ensure!(answer["result"].is_object(), "{answer}");
    }
    // The device has connected: from now on its token is no longer handed out.
    let (_, again) = post(&target, "/pair/wait", &json!({"request": asked["request"]})).await?;
    assert!(again.get("token").is_none(), "the token was handed out twice: {again}");
    let session =
        target.friend.request("session/new", json!({"cwd": target.env.workspace, "mcpServers": []})).await?;
    let prompt = json!({"sessionId": session["sessionId"], "prompt": [{"type": "text", "text": "hello"}]});
    for (method, params) in [
        ("session/prompt", prompt),
        ("_openagents/devices/list", json!({})),
        ("_openagents/devices/scope", json!({"id": paired["device"]["id"], "scope": "admin"})),
        ("_openagents/inspect", json!({})),
    ] {
        let answer = ask(&mut device, method, params).await?;
        assert_eq!(answer["error"]["data"]["code"], "scope", "{method}: {answer}");
    }
    // The device is removed while it is connected.
    let id = json!({"id": paired["device"]["id"]});
    target.friend.request("_openagents/devices/revoke", id).await?;
    assert_eq!(close_code(&mut device).await?, Some(4403));
    assert_eq!(target.upgrade("/acp", &[("Authorization", &format!("Bearer {token}"))]).await?, 401);

    // Guessing codes is slowed down and finds nothing.
    target.friend.request("_openagents/devices/pair", json!({})).await?;
    let mut slowed = 0;
    for guess in 0..40 {
        let guess = json!({"code": format!("0000-{guess:04}"), "name": "Thief"});
        let (status, answer) = post(&target, "/pair", &guess).await?;
        assert!(matches!(status, 403 | 429), "{answer}");
        slowed += u32::from(status == 429);
    }
    assert!(slowed >= 30, "{slowed}");
    target.is_unharmed().await
}
