//! Another program listens at a bridge's address: no command sends it the token.

use anyhow::{Context as _, Result, ensure};
use openagents_e2e::{server::Server, terminal::TestEnv};
use serde_json::json;
use std::{
    fs::File,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

/// Records everything it receives, and answers as a bridge might.
struct Squatter {
    address: SocketAddr,
    heard: Arc<Mutex<String>>,
}

impl Squatter {
    /// `relay` is a real bridge, to which the request for a proof is forwarded.
    fn start(relay: Option<SocketAddr>) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let (address, heard) = (listener.local_addr()?, Arc::new(Mutex::new(String::new())));
        let hears = heard.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let hears = hears.clone();
                thread::spawn(move || serve(stream, relay, &hears));
            }
        });
        Ok(Self { address, heard })
    }

    fn heard(&self) -> String {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(mut stream: TcpStream, relay: Option<SocketAddr>, heard: &Mutex<String>) -> Result<()> {
    let mut text = String::new();
    let mut part = [0; 4096];
    while !is_whole(&text) {
        let read = stream.read(&mut part)?;
        ensure!(read > 0, "it ended early");
        text.push_str(&String::from_utf8_lossy(&part[..read]));
    }
    heard.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
    let body = json!({"port": stream.local_addr()?.port(), "proof": "ab".repeat(32)}).to_string();
    let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes();
    if let Some(bridge) = relay {
        let mut relayed = TcpStream::connect(bridge)?;
        let own = stream.local_addr()?.to_string();
        relayed.write_all(text.replace(&own, &bridge.to_string()).as_bytes())?;
        answer.clear();
        relayed.read_to_end(&mut answer)?;
    }
    stream.write_all(&answer)?;
    Ok(())
}

fn is_whole(request: &str) -> bool {
    let Some((head, body)) = request.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    length.and_then(|length| length.parse().ok()).is_none_or(|length: usize| body.len() >= length)
}

/// Runs commands on a data folder whose lock is held and whose `bridge.json` names the squatter's address.
fn commands(env: &TestEnv, squatter: &Squatter, token: &str) -> Result<String> {
    let home = env.folder("home");
    let shown = json!({"address": squatter.address, "pid": 1, "token": token});
    std::fs::write(home.join("bridge.json"), shown.to_string())?;
    let mut complaints = String::new();
    for arguments in [&["attach", "--json"][..], &["devices", "list"], &["agent", "Hello", "--json"]] {
        let output = env.run(arguments)?;
        ensure!(!output.status.success(), "{arguments:?}");
        complaints.push_str(&String::from_utf8_lossy(&output.stderr));
    }
    Ok(complaints)
}

#[test]
fn commands_send_no_token_to_a_squatter() -> Result<()> {
    let env = TestEnv::new("proj", &[])?;
    let home = env.folder("home");
    std::fs::create_dir_all(&home)?;
    let lock = File::create(home.join("bridge.lock"))?;
    lock.lock()?;
    let (token, squatter) = ("5e".repeat(32), Squatter::start(None)?);
    std::fs::write(home.join("token"), &token)?;
    let complaints = commands(&env, &squatter, &token)?;
    let heard = squatter.heard();
    ensure!(!heard.is_empty() && !heard.contains(&token), "{heard}");
    assert_eq!(complaints.matches("no token was sent to it").count(), 3, "{complaints}");
    Ok(())
}

/// A bridge's proof is valid only for its own port.
#[test]
fn relaying_squatter_gets_no_token() -> Result<()> {
    let env = TestEnv::new("proj", &[])?;
    let server = Server::start(env.openagents(&["serve", "--port", "0", "--json"])?)?;
    let port = server.begun["port"].as_u64().context("port")?.try_into()?;
    let token = std::fs::read_to_string(server.begun["token_file"].as_str().context("token_file")?)?;
    let squatter = Squatter::start(Some(SocketAddr::from(([127, 0, 0, 1], port))))?;
    let complaints = commands(&env, &squatter, token.trim())?;
    let heard = squatter.heard();
    ensure!(!heard.is_empty() && !heard.contains(token.trim()), "{heard}");
    assert_eq!(complaints.matches("no token was sent to it").count(), 3, "{complaints}");
    Ok(())
}

#[test]
fn crashed_bridge_token_is_invalid() -> Result<()> {
    let env = TestEnv::new("proj", &[])?;
    let serve = || Server::start(env.openagents(&["serve", "--port", "0", "--json"])?);
    let token = |server: &Server| -> Result<String> {
        let file = server.begun["token_file"].as_str().context("token_file")?;
        Ok(std::fs::read_to_string(file)?)
    };
    let first = serve()?;
    let old = token(&first)?;
    // Killed, as with kill -9.
    drop(first);
    let second = serve()?;
    let new = token(&second)?;
    ensure!(old != new);
    let shown = std::fs::read_to_string(env.folder("home").join("bridge.json"))?;
    ensure!(shown.contains(new.trim()) && !shown.contains(old.trim()));
    Ok(())
}
