//! `openagents agent` with a real llama-server, which `scripts/llama-server.sh` builds.

#![cfg(unix)]

use anyhow::{Context as _, Result, ensure};
use openagents_e2e::{
    agent_turn::{LIST, agent, calls, desk, of_kind, turn},
    gptoss::{self, Script},
    llama_server::LlamaServer,
};

/// No chain of thought reaches a client, whether the server separates it from the content or not.
#[test]
fn gpt_oss_behind_a_real_server_calls_tools_and_keeps_its_thoughts() -> Result<()> {
    let desk = desk()?;
    let (model, template) = (desk.folder("scripted.gguf"), desk.folder("template.jinja"));
    let script = Script::explorer();
    gptoss::write(&model, &script)?;
    std::fs::write(&template, gptoss::CHAT_TEMPLATE)?;
    let template = template.to_str().context("a path in UTF-8")?;
    let server = LlamaServer::with(&model, &["--chat-template-file", template])?;
    let (updates, last) = turn(agent(&desk, &server.base_url(), LIST, &["--json"])?)?;
    let called = calls(&updates);
    ensure!(called.len() == 1, "{called:?} {last}");
    assert_eq!((called[0].0.as_str(), called[0].2.as_str()), ("fs.list_dir", "completed"));
    assert_eq!(last["message"], script.answer);
    assert!(!serde_json::to_string(&updates)?.contains("secret"));
    drop(server);

    let careless =
        LlamaServer::with(&model, &["--chat-template-file", template, "--reasoning-format", "none"])?;
    let (updates, last) = turn(agent(&desk, &careless.base_url(), LIST, &["--json"])?)?;
    let log = serde_json::to_string(&updates)? + &last.to_string();
    assert!(!log.contains("secret") && !log.contains("<|"), "{log}");
    assert_eq!(last["message"], script.answer);
    Ok(())
}

#[test]
fn a_real_llama_server_answers() -> Result<()> {
    let (desk, server) = (desk()?, LlamaServer::start()?);
    let question = "What is the capital of France? Answer in one word.";
    let more = ["--temperature", "0", "--max-tokens", "200", "--json"];
    let (updates, last) = turn(agent(&desk, &server.base_url(), question, &more)?)?;
    // So small a model says this or that when it is offered tools; what counts is that a turn comes to its end.
    assert_eq!(last["status"], "complete", "{last}");
    assert!(last["message"].as_str().is_some_and(|said| !said.trim().is_empty()), "{last}");
    assert!(last["usage"]["tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{last}");
    assert!(!of_kind(&updates, "agent_message_chunk").is_empty());
    Ok(())
}
