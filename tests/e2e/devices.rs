//! `openagents pair`, `devices` and `serve --lan`: a device is paired with a code, managed and removed.

use anyhow::{Context, Result, ensure};
use openagents_e2e::{
    http::post,
    pseudo_terminal::PseudoTerminal,
    server::{Client, Server},
    terminal::TestEnv,
};
use serde_json::{Value, json};
use std::{
    fs::File,
    io::{BufRead, BufReader},
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

/// Limit of every wait; longer means a hang.
const HANGS: Duration = Duration::from_secs(60);

fn start(env: &TestEnv, more: &[&str]) -> Result<Server> {
    Server::start(env.openagents(&[&["serve", "--port", "0", "--json"], more].concat())?)
}

fn port(server: &Server) -> Result<u16> {
    Ok(u16::try_from(server.begun["port"].as_u64().context("port")?)?)
}

/// A running `openagents pair --json`.
struct Pairing {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Pairing {
    fn start(env: &TestEnv) -> Result<Self> {
        let mut child = env.openagents(&["pair", "--json"])?.stdout(Stdio::piped()).spawn()?;
        let lines = BufReader::new(child.stdout.take().context("stdout")?);
        Ok(Self { child, lines })
    }

    fn next(&mut self) -> Result<Value> {
        let mut line = String::new();
        ensure!(self.lines.read_line(&mut line)? > 0, "it ended");
        Ok(serde_json::from_str(&line)?)
    }

    fn code(&mut self) -> Result<String> {
        let shown = self.next()?;
        Ok(shown["pairing"]["code"].as_str().with_context(|| shown.to_string())?.to_owned())
    }
}

impl Drop for Pairing {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn devices(env: &TestEnv, arguments: &[&str]) -> Result<Value> {
    let output = env.run(&[&["devices"], arguments, &["--json"]].concat())?;
    ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Pairs a device and returns its token and its id.
fn pair(env: &TestEnv, server: &Server, scope: &str) -> Result<(String, String)> {
    let mut pairing = Pairing::start(env)?;
    let (_, asked) = post(port(server)?, "/pair", &json!({"code": pairing.code()?, "name": "Phone"}))?;
    let shown = pairing.next()?;
    let request = shown["request"]["id"].as_str().with_context(|| shown.to_string())?;
    devices(env, &["allow", request, "--scope", scope])?;
    let (_, allowed) = post(port(server)?, "/pair/wait", &json!({"request": asked["request"]}))?;
    let text = |value: &Value| value.as_str().map(str::to_owned).with_context(|| allowed.to_string());
    Ok((text(&allowed["token"])?, text(&allowed["device"]["id"])?))
}

#[tokio::test]
async fn device_pairs_and_connects_with_its_token() -> Result<()> {
    let env = TestEnv::new("proj", &[])?;
    let server = start(&env, &["--lan", "--lan-port", "0", "--lan-address", "127.0.0.2"])?;
    let lan = server.begun["lan"][0].as_str().context("the network is served")?;
    assert!(lan.starts_with("https://127.0.0.2:"), "{lan}");

    let mut pairing = Pairing::start(&env)?;
    let begun = pairing.next()?["pairing"].clone();
    assert_eq!(begun["addresses"][0], lan);
    assert!(begun["url"].as_str().is_some_and(|url| url.starts_with(&format!("{lan}/#pair="))), "{begun}");
    let (status, _) = post(port(&server)?, "/pair", &json!({"code": "0000-0000", "name": "Thief"}))?;
    assert_eq!(status, 403);
    let (status, asked) = post(port(&server)?, "/pair", &json!({"code": begun["code"], "name": "Phone"}))?;
    assert_eq!(status, 200, "{asked}");

    let request = pairing.next()?["request"].clone();
    assert_eq!((&request["name"], &request["compare"]), (&json!("Phone"), &asked["compare"]));
    let beginning = &request["id"].as_str().context("id")?[..6];
    let after = devices(&env, &["allow", beginning, "--scope", "prompt", "--name", "My phone"])?;
    assert_eq!(after["devices"][0]["name"], "My phone");
    assert_eq!(pairing.next()?["device"]["scope"], "prompt");
    assert_eq!(pairing.child.wait()?.code(), Some(0));

    let (_, allowed) = post(port(&server)?, "/pair/wait", &json!({"request": asked["request"]}))?;
    assert_eq!((&allowed["state"], &allowed["scope"]), (&json!("allowed"), &json!("prompt")));
    let token = allowed["token"].as_str().context("token")?;
    let mut device = server.connect_with(token).await?;
    let me = device.request("_openagents/devices/me", json!({})).await?;
    assert_eq!((&me["device"]["name"], &me["scope"]), (&json!("My phone"), &json!("prompt")));
    let refused = device.request("_openagents/devices/list", json!({})).await.unwrap_err().to_string();
    assert!(refused.contains("scope"), "{refused}");
    Ok(())
}

#[test]
fn pair_asks_to_compare_the_code() -> Result<()> {
    let env = TestEnv::new("proj", &[])?;
    let server = start(&env, &["--lan", "--lan-port", "0", "--lan-address", "127.0.0.2"])?;
    let mut terminal = PseudoTerminal::start(env.openagents(&["pair", "--name", "My phone"])?)?;
    let at = terminal.until("Code         ", 0)?;
    let at = terminal.until("Certificate", at)?;
    let listed = devices(&env, &["list"])?;
    let code = listed["pairing"]["code"].clone();
    assert!(terminal.screen.contains(code.as_str().context("code")?) && terminal.screen.contains('▀'));

    let (_, first) = post(port(&server)?, "/pair", &json!({"code": code, "name": "Stranger"}))?;
    let at = terminal.until("Stranger at 127.0.0.1 asks to pair", at)?;
    let at = terminal.until("[y/N] ", at)?;
    terminal.type_line("n")?;
    let at = terminal.until("Stranger declined", at)?;
    let (_, gone) = post(port(&server)?, "/pair/wait", &json!({"request": first["request"]}))?;
    assert_eq!(gone["state"], "declined");

    let (_, second) = post(port(&server)?, "/pair", &json!({"code": code, "name": "Phone"}))?;
    let compare = second["compare"].as_str().context("compare")?;
    let at = terminal.until(compare, at)?;
    let at = terminal.until("[y/N] ", at)?;
    terminal.type_line("y")?;
    terminal.until("My phone can view and prompt", at)?;
    assert_eq!(terminal.end()?.code(), Some(0));
    Ok(())
}

#[test]
fn ctrl_c_withdraws_the_code() -> Result<()> {
    let env = TestEnv::new("proj", &[])?;
    let server = start(&env, &[])?;
    let mut pairing = Pairing::start(&env)?;
    let code = pairing.code()?;
    let id = pairing.child.id().to_string();
    ensure!(Command::new("kill").args(["-INT", &id]).status()?.success(), "cannot signal it");
    assert_eq!(pairing.child.wait()?.code(), Some(130));
    let (status, refused) = post(port(&server)?, "/pair", &json!({"code": code, "name": "Late"}))?;
    assert_eq!(status, 403, "{refused}");
    Ok(())
}

#[tokio::test]
async fn device_is_renamed_rescoped_and_removed() -> Result<()> {
    let env = TestEnv::new("proj", &[("README.md", "# Proj\n")])?;
    let server = start(&env, &[])?;
    let (token, id) = pair(&env, &server, "view")?;
    let mut device = server.connect_with(&token).await?;
    let new = json!({"cwd": env.workspace, "mcpServers": []});
    let refused = device.request("session/new", new.clone()).await.unwrap_err().to_string();
    assert!(refused.contains("This device can only view"), "{refused}");

    let beginning = &id[..6];
    assert_eq!(devices(&env, &["rename", beginning, "Old phone"])?["devices"][0]["name"], "Old phone");
    assert_eq!(devices(&env, &["scope", beginning, "prompt"])?["devices"][0]["scope"], "prompt");
    device.request("session/new", new).await.context("it counts at once")?;
    let shown = String::from_utf8(env.run(&["devices", "list"])?.stdout)?;
    assert!(
        shown.contains("Old phone") && shown.contains("prompt") && shown.contains("connected"),
        "{shown}"
    );

    let unasked = env.openagents(&["devices", "revoke", beginning])?.stdin(Stdio::null()).output()?;
    assert_eq!(unasked.status.code(), Some(2));
    assert!(String::from_utf8(unasked.stderr)?.contains("--yes removes it without a question"));
    assert_eq!(devices(&env, &["revoke", beginning, "--yes"])?["devices"], json!([]));
    let cut = async { while device.next().await.is_ok() {} };
    tokio::time::timeout(HANGS, cut).await.context("its socket is cut")?;
    assert!(server.connect_with(&token).await.is_err(), "its token is worth nothing");

    let audit = devices(&env, &["audit"])?;
    let deeds = audit["entries"].as_array().context("entries")?;
    assert!(!deeds.is_empty() && deeds.iter().all(|deed| deed["action"].is_string()), "{audit}");
    assert!(!audit.to_string().contains(&token), "no token is written down");
    Ok(())
}

#[test]
fn wrong_device_id_is_named() -> Result<()> {
    let env = TestEnv::new("proj", &[])?;
    let _server = start(&env, &[])?;
    let rows: [(&[&str], &str); 3] = [
        (&["rename", "nope", "x"], "no device id begins with nope"),
        (&["allow", "nope"], "no request id begins with nope"),
        (&["revoke", "nope", "--yes"], "no device id begins with nope"),
    ];
    for (arguments, expected) in rows {
        let output = env.run(&[&["devices"], arguments].concat())?;
        let shown = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(1), "{shown}");
        assert!(shown.contains(expected), "{shown}");
    }
    Ok(())
}

#[test]
fn devices_without_bridge_names_serve() -> Result<()> {
    let env = TestEnv::new("proj", &[])?;
    for arguments in [&["pair"][..], &["devices", "list"], &["devices", "network", "--lan", "on"]] {
        let output = env.run(arguments)?;
        let shown = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {shown}");
        assert!(shown.contains("`openagents serve --lan`") && shown.lines().count() == 1, "{shown}");
    }
    Ok(())
}

#[test]
fn network_switch_survives_restart() -> Result<()> {
    let env = TestEnv::new("proj", &[])?;
    let lan = ["--lan-port", "0", "--lan-address", "127.0.0.2"];
    let server = start(&env, &lan)?;
    assert_eq!(server.begun["lan"], json!([]));
    let on = devices(&env, &["network", "--lan", "on"])?;
    assert_eq!(on["network"]["lan"], true, "{on}");
    drop(server);
    let again = start(&env, &lan)?;
    assert!(again.begun["lan"][0].is_string(), "{}", again.begun);
    let off = devices(&env, &["network", "--lan", "off"])?;
    assert_eq!(off["network"]["lan"], false, "{off}");
    Ok(())
}

/// The app gets its answer at once, and nothing more until the user allows it.
#[tokio::test]
async fn ios_app_request_is_shown_and_allowed() -> Result<()> {
    let env = TestEnv::new("proj", &[("README.md", "# Proj\n\nProj is a project.\n")])?;
    let shown = env.folder("told.txt");
    let mut command = env.openagents(&["serve", "--port", "0", "--json", "--ios", "ask"])?;
    command.args(["--lan-address", "127.0.0.2"]).stderr(File::create(&shown)?);
    let server = Server::start(command)?;
    let mut app: Client = server.connect_ios().await?;
    app.send("initialize", json!({"protocol_version": "0.2.2", "client_capabilities": {}})).await?;
    app.next().await.context("its answer comes at once")?;
    let explore = json!({"root": env.workspace});
    app.send("orchestrate.explore.start", explore).await?;
    let knocked = async {
        loop {
            let text = std::fs::read_to_string(&shown)?;
            if let Some(line) = text.lines().find(|line| line.contains("asks for access")) {
                return anyhow::Ok(line.to_owned());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let line = tokio::time::timeout(HANGS, knocked).await.context("nobody is told")??;
    let id = line.split("openagents devices allow ").nth(1).context("how to allow it")?.trim_end_matches('`');
    let output = env.run(&["devices", "allow", id])?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    app.until("the exploration", |frame| frame["result"]["session_id"].is_string()).await?;
    assert_eq!(devices(&env, &["list"])?["apps"][0]["address"], "127.0.0.1");
    devices(&env, &["revoke", "127.0.0.1", "--yes"])?;
    assert_eq!(devices(&env, &["list"])?["apps"], json!([]));
    Ok(())
}
