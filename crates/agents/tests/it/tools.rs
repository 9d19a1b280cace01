//! MCP servers for an agent.

use crate::host::{Host, Scene, Setup};
use openagents_core::{CancellationToken, agent::ToolServer};
use serde_json::{Value, json};

/// Asks the agent for its process and its servers.
fn got(scene: &Scene, tools: Value) -> (String, Value) {
    let tools: Vec<ToolServer> = serde_json::from_value(tools).unwrap();
    let request = openagents_core::agent::AgentRequest { tools, ..scene.request("[[servers]]") };
    let text = scene.turn(&request, &CancellationToken::new()).text;
    let (process, servers) = text.split_once(' ').unwrap_or_else(|| panic!("{text}"));
    (process.to_owned(), serde_json::from_str(servers).unwrap())
}

#[test]
fn changed_tools_restart_the_agent_in_its_session() {
    let scene =
        Setup { environment: &[("FAKE_AGENT_RESUME", "1")], ..Setup::default() }.scene(Host::with([]));
    let (first, none) = got(&scene, json!([]));
    assert_eq!(none, json!([]));
    let tool = json!([{"name": "shell", "kind": "command", "command": "sh", "args": ["-c", "x"]}]);
    let (second, servers) = got(&scene, tool.clone());
    assert_ne!(first, second);
    assert_eq!((&servers[0]["name"], &servers[0]["args"]), (&json!("shell"), &json!(["-c", "x"])));
    assert!(servers[0]["command"].as_str().unwrap().starts_with('/'), "{servers}");
    // The same list keeps the process.
    assert_eq!(got(&scene, tool).0, second);
    // The fake agent uses no servers over HTTP.
    let (_, servers) =
        got(&scene, json!([{"name": "docs", "kind": "http", "url": "https://docs.example/mcp"}]));
    assert_eq!(servers, json!([]));
    scene.host.wait_for_text("The tools of docs were left out: this agent can't use MCP servers over HTTP.");
}
