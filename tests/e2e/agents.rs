//! An agent at work: what the user changes reaches the process that runs.

use anyhow::{Context as _, Result, ensure};
use openagents_e2e::{
    server::{Client, Server},
    terminal::{TestEnv, program},
};
use serde_json::{Value, json};

async fn session(client: &mut Client, env: &TestEnv) -> Result<Value> {
    let agent = json!({"id": "fake", "name": "Fake", "kind": "acp", "command": program("fake-agent")?,
        "env": {"FAKE_AGENT_STEERING": "1", "FAKE_AGENT_MODE_OPTION": "1"}});
    client.request("_openagents/agents/add", json!({"agent": agent})).await?;
    client.trust(&env.workspace).await?;
    let new = json!({"cwd": env.workspace, "mcpServers": [], "_meta": {"openagents": {"open": true}}});
    let session = client.request("session/new", new).await?["sessionId"].clone();
    client.request("session/set_mode", json!({"sessionId": session, "modeId": "custom:fake"})).await?;
    Ok(session)
}

async fn prompt(client: &mut Client, session: &Value, text: &str) -> Result<u64> {
    let content = json!([{"type": "text", "text": text}]);
    client.send("session/prompt", json!({"sessionId": session, "prompt": content})).await
}

/// Reads up to a message of the agent and returns the frame. Answers the question whether it may start.
async fn said(client: &mut Client, session: &Value, text: &str) -> Result<Value> {
    loop {
        let frame = client.next().await.with_context(|| format!("waiting for {text}"))?;
        let update = &frame["params"]["update"];
        let approval = &update["_meta"]["openagents"]["approval"];
        if approval["state"] == "pending" {
            let option = approval["options"][0]["id"].clone();
            let answer = json!({"sessionId": session, "approvalId": approval["id"], "optionId": option});
            client.send("_openagents/approvals/answer", answer).await?;
        }
        let words =
            update["content"]["text"].as_str().filter(|_| update["sessionUpdate"] == "agent_message_chunk");
        if words.is_some_and(|words| words.contains(text)) {
            return Ok(frame);
        }
    }
}

#[tokio::test]
async fn running_agent_gets_options_and_prompts() -> Result<()> {
    let env = TestEnv::new("proj", &[("README.md", "# Proj\n\nProj is a project.\n")])?;
    let server = Server::start(env.openagents(&["serve", "--port", "0", "--json"])?)?;
    let ours = json!({"protocolVersion": 1, "clientInfo": {"name": "test", "version": "1"},
        "clientCapabilities": {"_meta": {"openagents": {"approvals": true}}}});
    let mut client = server.connect_as(ours).await?;
    let session = session(&mut client, &env).await?;
    // The turn ends only once the agent itself has the new mode.
    let turn = prompt(&mut client, &session, "[[say begun]] [[until-mode plan]] [[which-mode]]").await?;
    said(&mut client, &session, "begun").await?;
    let plan = json!({"sessionId": session, "configId": "custom:fake/mode", "value": "plan"});
    client.send("session/set_config_option", plan).await?;
    said(&mut client, &session, "plan").await?;
    client.until("the end of the turn", |frame| frame["id"] == turn).await?;
    // A prompt that is sent now reaches the turn.
    let first = prompt(&mut client, &session, "[[say again]] [[until-steered]]").await?;
    said(&mut client, &session, "again").await?;
    prompt(&mut client, &session, "use tabs").await?;
    let queue = client.until("the queue", |frame| !frame["params"]["queued"][0]["id"].is_null()).await?;
    let now = json!({"sessionId": session, "id": queue["params"]["queued"][0]["id"]});
    client.send("_openagents/queue/send_now", now).await?;
    said(&mut client, &session, "tabs").await?;
    let end = client.until("the end of the turn", |frame| frame["id"] == first).await?;
    ensure!(end["result"]["stopReason"] == "end_turn", "{end}");
    // Edits that are allowed until the turn ends are asked for again.
    let turn = prompt(&mut client, &session, "[[edit a.txt]] [[until-mode auto]] [[edit b.txt]]").await?;
    let (mut answered, mut asked) = (Vec::new(), 0);
    let end = loop {
        let frame = client.next().await?;
        let approval = &frame["params"]["update"]["_meta"]["openagents"]["approval"];
        if approval["state"] == "pending" && !answered.contains(&approval["id"]) {
            answered.push(approval["id"].clone());
            asked += 1;
            let option = if asked == 1 { "openagents:allow-edits" } else { "yes" };
            let answer = json!({"sessionId": session, "approvalId": approval["id"], "optionId": option});
            client.request("_openagents/approvals/answer", answer).await?;
            if asked == 1 {
                // The agent hears of the answer after its sender.
                let allowed =
                    |frame: &Value| frame["params"]["update"]["_meta"]["openagents"]["editsAllowed"] == true;
                client.until("edits are allowed", allowed).await?;
            }
            let again = json!({"sessionId": session, "agent": "custom:fake"});
            client.request("_openagents/approvals/ask_before_edits", again).await?;
            let auto = json!({"sessionId": session, "configId": "custom:fake/mode", "value": "auto"});
            client.send("session/set_config_option", auto).await?;
        }
        if frame["id"] == turn {
            break frame;
        }
    };
    ensure!(asked == 2 && env.workspace.join("b.txt").exists(), "asked {asked} times: {end}");
    Ok(())
}
