//! A task that one real agent left half done is continued by another one, with a brief that the product wrote.

use crate::scene::{Agent, CLAUDE_CODE, CODEX, Scene, found, new_session};
use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value, json};
use std::fs;

/// Returns the brief of the newest session of an agent, for another one.
async fn brief(scene: &mut Scene, of: Agent, reader: Agent) -> Result<String> {
    let listed = scene.peers.run(&["sessions", "list", "--all", "--json", "--provider", of.mode])?;
    let rows: Vec<Value> = serde_json::from_str(&listed)?;
    let id = &rows.first().with_context(|| format!("{} has no session", of.mode))?["id"];
    let query = json!({"provider": of.mode, "id": id, "agent": reader.mode});
    let brief = scene.client.request("_openagents/continue/brief", query).await?;
    ensure!(brief["tokens"].as_u64().is_some_and(|tokens| tokens <= 400), "{brief}");
    let text = brief["text"].as_str().context("a text")?.to_owned();
    for line in brief["lines"].as_array().context("lines")? {
        let shown = text.lines().nth(line["line"].as_u64().context("a line")? as usize - 1);
        let end = format!("[{}]", line["source"]);
        ensure!(shown.is_some_and(|shown| shown.ends_with(&end)), "{line} in {text}");
    }
    Ok(text)
}

fn scripts() -> Map<String, Value> {
    let run = |command: &str| json!({"intent": "run", "command": command, "arguments": {"description": "Work",
        "timeout": 20_000, "sandbox_permissions": "require_escalated", "justification": "May I?"}});
    let half_done = json!({"turns": [
        {"tool_calls": [run("cat missing.txt")]},
        {"tool_calls": [{"intent": "write_file", "path": "cart.py", "content": "total = cents / 100\n"}]},
        {"text": "It turns out that the sum rounds twice. Shall I add a test?"}]});
    let finish = json!({"turns": [
        {"tool_calls": [run("echo done > finished.txt")]}, {"text": "I decided to keep cents."}]});
    Map::from_iter([("HalfDone".to_owned(), half_done), ("Finish".to_owned(), finish)])
}

#[tokio::test]
async fn half_done_task_is_handed_from_agent_to_agent() -> Result<()> {
    let programs = ["claude", "claude-agent-acp", "codex", "codex-acp"];
    let mut scene = Scene::with_scripts(CLAUDE_CODE, &programs, false, scripts()).await?;
    found(&mut scene.client, CODEX).await?;
    let folder = scene.peers.env.workspace.clone();
    fs::write(folder.join("api.py"), "fixed = True\n")?;
    scene.say("Make the total right. Never touch api.py. [[script:HalfDone]]", "allow_once", None).await?;
    scene.close().await?;
    // Later the user changes the file.
    fs::write(folder.join("cart.py"), "total = 0\n")?;

    let facts = ["Never touch api.py.", "sum rounds twice", "cart.py: changed since", "cat missing.txt"];
    for (from, to) in [(CLAUDE_CODE, CODEX), (CODEX, CLAUDE_CODE)] {
        let text = brief(&mut scene, from, to).await?.replace("[[script:HalfDone]]", "");
        scene.peers.forget_model_requests()?;
        scene.agent = to;
        scene.session = new_session(&mut scene.client, to, &folder).await?;
        let _ = fs::remove_file(folder.join("finished.txt"));
        scene.say(&format!("{text}\n[[script:Finish]]"), "allow_once", None).await?;
        scene.close().await?;
        ensure!(folder.join("finished.txt").exists(), "{} did not finish", to.mode);
        // What only the first log says is not in the second brief.
        let known = if from.mode == CLAUDE_CODE.mode { &facts[..] } else { &facts[..2] };
        for fact in known {
            ensure!(scene.peers.model_got(fact)?, "{} did not get: {fact}\n{text}", to.mode);
        }
    }
    ensure!(scene.peers.model_got("I decided to keep cents.")?, "what Codex decided");
    ensure!(fs::read_to_string(folder.join("api.py"))? == "fixed = True\n");
    scene.peers.end()
}
