//! The real Codex and the real Claude Code call `openagents mcp`, added with the line that `openagents doctor`
//! prints, using a scripted model. `scripts/peers.sh` installs them and runs these tests.

use anyhow::{Context as _, Result};
use openagents_e2e::{peers::Installed, terminal::TestEnv};
use serde_json::{Value, json};

/// A prompt to an agent, as the user types it. Both agents can hold back a server's tools until the model searches
/// for them, which the scripted model cannot do.
struct Agent {
    id: &'static str,
    prompt: &'static str,
}

/// Codex offers all tools at once to a model that it does not know.
const CODEX: Agent =
    Agent { id: "codex", prompt: "codex exec --json -m scripted 'Where are redirects followed?'" };

const CLAUDE_CODE: Agent = Agent {
    id: "claude-code",
    prompt: "ENABLE_TOOL_SEARCH=false claude -p 'Where are redirects followed?' --output-format stream-json --verbose \
             --allowed-tools mcp__openagents__find",
};

fn findings_come_back(agent: &Agent) -> Result<()> {
    let source = "pub fn follow_redirects(limit: usize) -> bool {\n    limit > 0\n}\n";
    let env = TestEnv::new("project", &[("src/redirect.rs", source)])?;
    // The model calls the tool, and its answer shows whether the result named the file.
    let call = json!({"name": "find", "arguments": {"question": "Where are redirects followed?"}});
    let script = json!({"turns": [
        {"tool_calls": [call]},
        {"when_tool_result": "src/redirect.rs", "text": "The finding came back."},
    ], "default": {"text": "No finding came back."}});
    let file = env.folder("find.json");
    std::fs::write(&file, script.to_string())?;
    let installed = Installed::with_script(env, file.to_str().context("a path that is text")?)?;
    let snapshot: Value = serde_json::from_str(&installed.openagents(&["doctor", "--json"])?)?;
    let commands = snapshot["mcp"].as_array().context("commands")?;
    let command = commands.iter().find(|command| command["agent"] == agent.id).context("its command")?;
    installed.shell(command["command"].as_str().context("a line")?)?;
    let reply = installed.shell(agent.prompt)?;
    assert!(reply.contains("follow_redirects") && reply.contains("The finding came back."), "{reply}");
    Ok(())
}

#[test]
fn codex_gets_findings() -> Result<()> {
    findings_come_back(&CODEX)
}

#[test]
fn claude_code_gets_findings() -> Result<()> {
    findings_come_back(&CLAUDE_CODE)
}
