//! `openagents mcp`: another agent starts it and sends requests over standard input and output.

use anyhow::{Context, Result, ensure};
use openagents_e2e::terminal::{TestEnv, claude_transcript, codex_rollout};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

const OURS: &str = "0199a213-81c0-7800-8aa1-bbab2a035a53";
const FOREIGN_CODEX: &str = "0199a213-81c0-7800-8aa1-000000000001";
const FOREIGN_CLAUDE: &str = "5f6a3c1e-2f64-4f0e-9c51-0a4c8a1d2e3f";

/// A workspace with one session; two others ran in a folder next to it.
fn env() -> Result<TestEnv> {
    let source = "pub fn follow_redirects(limit: usize) -> bool {\n    limit > 0\n}\n";
    let env = TestEnv::new("proj", &[("src/redirect.rs", source), ("src/proxy.rs", "pub fn proxy() {}\n")])?;
    let rollout = |id: &str| format!("codex/sessions/2025/11/05/rollout-2025-11-05T10-00-00-{id}.jsonl");
    env.log(&rollout(OURS), &codex_rollout(OURS, &["Tune the marimba"]))?;
    let elsewhere = env.workspace.with_file_name("elsewhere");
    std::fs::create_dir(&elsewhere)?;
    let moved = |lines: Vec<Value>| -> Result<Vec<Value>> {
        let elsewhere = elsewhere.display().to_string();
        let moved = lines.iter().map(|line| line.to_string().replace("WORKSPACE", &elsewhere));
        moved.map(|line| Ok(serde_json::from_str(&line)?)).collect()
    };
    env.log(&rollout(FOREIGN_CODEX), &moved(codex_rollout(FOREIGN_CODEX, &["A secret marimba"]))?)?;
    let claude = claude_transcript(FOREIGN_CLAUDE, "Another secret marimba", &["a.rs"]);
    env.log(&format!("claude/projects/-elsewhere/{FOREIGN_CLAUDE}.jsonl"), &moved(claude)?)?;
    Ok(env)
}

/// The same env, on which the user allows hosted agents to read past sessions.
fn open_desk() -> Result<TestEnv> {
    let env = env()?;
    let allowed = env.run(&["privacy", "--allow", "hosted-history"])?;
    ensure!(allowed.status.success(), "{}", String::from_utf8_lossy(&allowed.stderr));
    Ok(env)
}

/// An agent's side of the pipe.
struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last_id: u64,
}

impl Agent {
    /// Starts the server and completes the handshake.
    fn start(env: &TestEnv, arguments: &[&str]) -> Result<Self> {
        let mut command = env.openagents(&[&["mcp"], arguments].concat())?;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().context("stdout")?);
        let mut agent = Self { child, input, output, last_id: 0 };
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let about = agent.request("initialize", params)?["result"].clone();
        assert_eq!(
            (&about["serverInfo"]["name"], &about["protocolVersion"]),
            (&json!("openagents"), &json!("2025-06-18"))
        );
        agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string())?;
        Ok(agent)
    }

    fn send(&mut self, line: &str) -> Result<()> {
        Ok(writeln!(self.input.as_mut().context("stdin")?, "{line}")?)
    }

    /// Sends a request and returns its response; every line of standard output is a frame.
    fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string())?;
        loop {
            let mut line = String::new();
            ensure!(self.output.read_line(&mut line)? > 0, "it ended before answering {method}");
            let frame: Value = serde_json::from_str(&line).with_context(|| line.clone())?;
            if frame["id"] == id {
                return Ok(frame);
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Result<Value> {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool that must succeed; returns its data and its text.
    fn answer(&mut self, tool: &str, arguments: Value) -> Result<(Value, String)> {
        let result = self.call(tool, arguments)?["result"].clone();
        ensure!(result["isError"] == false, "{result}");
        Ok((result["structuredContent"].clone(), text(&result)?))
    }

    fn tools(&mut self) -> Result<Vec<Value>> {
        let listed = self.request("tools/list", json!({}))?;
        Ok(listed["result"]["tools"].as_array().context("tools")?.clone())
    }

    /// Closes the pipe, as an agent does when it exits.
    fn end(mut self) -> Result<()> {
        drop(self.input.take());
        ensure!(self.child.wait()?.code() == Some(0));
        Ok(())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(result: &Value) -> Result<String> {
    Ok(result["content"][0]["text"].as_str().context("a text")?.to_owned())
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
}

#[test]
fn mcp_finds_code() -> Result<()> {
    let env = env()?;
    let mut agent = Agent::start(&env, &[])?;
    let tools = agent.tools()?;
    assert_eq!(names(&tools), ["overview", "find"]);
    assert_eq!(tools[0]["annotations"]["readOnlyHint"], true);
    assert_eq!(tools[1]["inputSchema"]["required"], json!(["question"]));
    let (overview, reply) = agent.answer("overview", json!({}))?;
    assert!(overview["blocks"].as_array().is_some_and(|blocks| !blocks.is_empty()), "{overview}");
    assert!(reply.starts_with("**What it is**"), "{reply}");
    let (found, reply) = agent.answer("find", json!({"question": "Where are redirects followed?"}))?;
    let first = &found["findings"][0];
    assert_eq!((&first["path"], &first["symbol"]), (&json!("src/redirect.rs"), &json!("follow_redirects")));
    assert!(reply.starts_with("**Found:**") && reply.contains("`src/redirect.rs:1-3`"), "{reply}");
    let (found, reply) = agent.answer("find", json!({"question": "xylophone"}))?;
    assert_eq!(found["findings"], json!([]));
    assert!(reply.starts_with("**Found:** nothing for “xylophone”; try "), "{reply}");
    agent.end()?;
    assert!(!env.folder("home").exists(), "code alone needs no data folder");
    Ok(())
}

#[test]
fn mcp_without_history_reaches_no_session() -> Result<()> {
    let env = env()?;
    let mut agent = Agent::start(&env, &[])?;
    for tool in ["sessions_search", "session_read", "session.read", "fs.list_dir"] {
        let refused = agent.call(tool, json!({"pattern": "marimba", "sessionId": OURS}))?;
        let message = refused["error"]["message"].as_str().context("an error")?;
        assert_eq!(message, format!("no such tool: {tool} (there are: overview, find)"));
    }
    let (found, reply) = agent.answer("find", json!({"question": "What did Codex do about the marimba?"}))?;
    assert!(!format!("{found}{reply}").contains(OURS), "{found}");
    agent.end()
}

/// Only the user's switch counts, and it takes effect at once.
#[test]
fn mcp_offers_history_only_when_switched_on() -> Result<()> {
    let env = env()?;
    let mut agent = Agent::start(&env, &["--history"])?;
    assert_eq!(names(&agent.tools()?), ["overview", "find"]);
    let refused = agent.call("session_read", json!({"session_id": OURS}))?;
    assert!(
        refused["error"]["message"].as_str().is_some_and(|it| it.starts_with("no such tool")),
        "{refused}"
    );
    let (found, reply) = agent.answer("find", json!({"question": "What did Codex do about the marimba?"}))?;
    assert!(!format!("{found}{reply}").contains(OURS), "{found}");

    let switch = |how: &str| env.run(&["privacy", how, "hosted-history"]);
    assert!(switch("--allow")?.status.success());
    let (read, _) = agent.answer("session_read", json!({"session_id": OURS}))?;
    assert_eq!(read["events"][0]["content"], "Tune the marimba");
    assert!(switch("--deny")?.status.success());
    assert_eq!(names(&agent.tools()?), ["overview", "find"]);
    assert!(agent.call("session_read", json!({"session_id": OURS}))?["error"].is_object());
    agent.end()
}

#[test]
fn mcp_reads_sessions_of_its_workspace() -> Result<()> {
    let env = open_desk()?;
    // The workspace is named as an argument, as an agent that runs elsewhere would do.
    let workspace = env.workspace.to_str().context("a path that is text")?.to_owned();
    let mut agent = Agent::start(&env, &[&workspace, "--history"])?;
    assert_eq!(names(&agent.tools()?), ["overview", "find", "sessions_search", "session_read", "usage"]);
    let (found, reply) = agent.answer("sessions_search", json!({"pattern": "marimba"}))?;
    assert_eq!((&found["matches"][0]["sessionId"], &found["totalMatches"]), (&json!(OURS), &json!(1)));
    assert_eq!(serde_json::from_str::<Value>(&reply)?, found, "the text is the data");
    let (read, _) = agent.answer("session_read", json!({"session_id": OURS, "provider": "codex"}))?;
    assert_eq!(read["events"][0]["content"], "Tune the marimba");
    let (found, _) = agent.answer("find", json!({"question": "Where are redirects followed?"}))?;
    assert_eq!(found["findings"][0]["path"], "src/redirect.rs");
    let (found, _) = agent.answer("find", json!({"question": "What did Codex do about the marimba?"}))?;
    assert_eq!(found["findings"][0]["session_id"], OURS);
    agent.end()
}

#[test]
fn mcp_reaches_no_other_workspace() -> Result<()> {
    let env = open_desk()?;
    let elsewhere = env.workspace.with_file_name("elsewhere");
    let mut agent = Agent::start(&env, &["--history"])?;
    for id in [FOREIGN_CODEX, FOREIGN_CLAUDE, &FOREIGN_CODEX[..35], &FOREIGN_CLAUDE[..8]] {
        for provider in [Value::Null, json!("codex"), json!("claude-code")] {
            let arguments =
                json!({"sessionId": id, "provider": provider, "workspace": elsewhere, "all": true});
            let result = agent.call("session_read", arguments)?["result"].clone();
            assert_eq!(result["isError"], true, "{result}");
            assert_eq!(text(&result)?, format!("File not found: session {id}"));
        }
    }
    for arguments in [
        json!({"pattern": "marimba"}),
        json!({"pattern": "marimba", "sessionIds": [OURS, FOREIGN_CODEX, FOREIGN_CLAUDE]}),
        json!({"pattern": ".", "workspace": elsewhere, "workspaceOnly": false, "all": true, "cwd": elsewhere}),
    ] {
        let (found, _) = agent.answer("sessions_search", arguments.clone())?;
        assert!(found.to_string().contains("Tune the marimba"), "{arguments}: {found}");
        assert!(!found.to_string().contains("secret"), "{arguments}: {found}");
    }
    let (found, reply) = agent.answer("find", json!({"question": "What did Codex do about the marimba?"}))?;
    for foreign in [FOREIGN_CODEX, FOREIGN_CLAUDE, "secret"] {
        assert!(!format!("{found}{reply}").contains(foreign), "{found}");
    }
    agent.end()
}

#[test]
fn mcp_names_malformed_argument() -> Result<()> {
    let env = open_desk()?;
    let mut agent = Agent::start(&env, &["--history"])?;
    let rows = [
        ("find", json!({}), "question is missing"),
        ("find", json!({"question": 7}), "question: 7 is not a string"),
        ("find", json!({"question": " "}), "question is empty"),
        ("sessions_search", json!({"pattern": "("}), "("),
        (
            "sessions_search",
            json!({"pattern": "a", "maxResults": "x"}),
            r#"maxResults: "x" is not an integer"#,
        ),
        ("session_read", json!({"session_id": OURS, "startLine": 5, "endLine": 4}), "line range: 5-4"),
    ];
    for (tool, arguments, expected) in rows {
        let result = agent.call(tool, arguments)?["result"].clone();
        assert_eq!(result["isError"], true, "{result}");
        let reply = text(&result)?;
        assert!(reply.starts_with("Invalid parameters: ") && reply.contains(expected), "{reply}");
    }
    let broken = [
        (json!({"name": "find", "arguments": [1]}), -32602, "arguments is not a JSON object"),
        (json!({"arguments": {}}), -32602, "name is missing or not a string"),
    ];
    for (params, code, message) in broken {
        let error = agent.request("tools/call", params)?["error"].clone();
        assert_eq!((&error["code"], &error["message"]), (&json!(code), &json!(message)));
    }
    assert_eq!(agent.request("no/such", json!({}))?["error"]["message"], "no such method: no/such");
    agent.send("not a frame")?;
    agent.answer("find", json!({"question": "redirects"}))?;
    agent.end()
}

#[test]
fn mcp_refuses_non_workspace() -> Result<()> {
    let env = env()?;
    for (path, expected) in [("/", "too wide"), ("missing", "does not exist")] {
        let output = env.run(&["mcp", path])?;
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &[][..]));
        assert!(String::from_utf8_lossy(&output.stderr).contains(expected), "{path}");
    }
    Ok(())
}
