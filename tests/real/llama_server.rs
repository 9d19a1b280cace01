//! `openagents agent` and the adapter for OpenAI-compatible servers with a real llama-server, which
//! `scripts/llama-server.sh` builds.

use anyhow::{Context as _, Result, ensure};
use openagents_agents::openai::{Endpoint, OpenAi};
use openagents_core::model::{
    LanguageModel as _, Message, ModelError, ModelEvent, ModelRequest, StopReason, ToolSpec, Usage,
};
use openagents_e2e::{
    agent_turn::{LIST, agent, calls, env, of_kind, turn},
    gptoss::{self, Script},
    llama_server::LlamaServer,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// No chain of thought reaches a client, whether the server separates it from the content or not.
#[test]
fn gpt_oss_server_calls_tools_and_keeps_thoughts() -> Result<()> {
    let env = env()?;
    let (model, template) = (env.folder("scripted.gguf"), env.folder("template.jinja"));
    let script = Script::explorer();
    gptoss::write_model(&model, &script)?;
    std::fs::write(&template, gptoss::CHAT_TEMPLATE)?;
    let template = template.to_str().context("a path in UTF-8")?;
    let server = LlamaServer::with(&model, &["--chat-template-file", template])?;
    let (updates, last) = turn(agent(&env, &server.base_url(), LIST, &["--json"])?)?;
    let called = calls(&updates);
    ensure!(called.len() == 1, "{called:?} {last}");
    assert_eq!((called[0].0.as_str(), called[0].2.as_str()), ("fs.list_dir", "completed"));
    assert_eq!(last["message"], script.answer);
    assert!(!serde_json::to_string(&updates)?.contains("secret"));
    drop(server);

    let careless =
        LlamaServer::with(&model, &["--chat-template-file", template, "--reasoning-format", "none"])?;
    let (updates, last) = turn(agent(&env, &careless.base_url(), LIST, &["--json"])?)?;
    let log = serde_json::to_string(&updates)? + &last.to_string();
    assert!(!log.contains("secret") && !log.contains("<|"), "{log}");
    assert_eq!(last["message"], script.answer);
    Ok(())
}

#[test]
fn llama_server_answers() -> Result<()> {
    let (env, server) = (env()?, LlamaServer::start()?);
    let question = "What is the capital of France? Answer in one word.";
    let more = ["--temperature", "0", "--max-tokens", "200", "--json"];
    let (updates, last) = turn(agent(&env, &server.base_url(), question, &more)?)?;
    // A model this small answers arbitrarily when it is offered tools; only the end of the turn is checked.
    assert_eq!(last["status"], "complete", "{last}");
    assert!(last["message"].as_str().is_some_and(|reply| !reply.trim().is_empty()), "{last}");
    assert!(last["usage"]["tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{last}");
    assert!(!of_kind(&updates, "agent_message_chunk").is_empty());
    Ok(())
}

#[test]
fn adapter_answers_refuses_and_cancels() -> Result<()> {
    let server = LlamaServer::start()?;
    let model = OpenAi::new(Endpoint::named("smollm2", Some(&server.base_url()), None))?;
    let mut question = request("What is the capital of France? Answer in one word.");
    question.options.temperature = 0.0;
    let response = ask(&model, &question);
    ensure!(response.text.contains("Paris"), "{response:?}");
    let usage = response.usage.context("no usage")?;
    ensure!(usage.prompt_tokens > 10 && usage.tokens > 0 && usage.tokens_per_second > 0.0, "{usage:?}");

    // The answer to a prompt with tools is arbitrary; it must not fail.
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let tool = ToolSpec { name: "fs.list_dir".to_owned(), description: "A tool.".to_owned(), parameters };
    let response = ask(&model, &ModelRequest { tools: vec![tool], ..question.clone() });
    ensure!(response.ended.is_ok(), "{response:?}");

    let long = ModelRequest { messages: request(&"word ".repeat(6000)).messages, ..question.clone() };
    let response = ask(&model, &long);
    ensure!(matches!(response.ended, Err(ModelError::ContextOverflow { context: 4096, .. })), "{response:?}");
    assert_eq!(model.context_tokens(), Some(4096));

    let cancel = CancellationToken::new();
    let endless = ModelRequest { messages: request("Count to one million.").messages, ..question };
    let ended = model.respond(&endless, &cancel, &mut |event| {
        if matches!(event, ModelEvent::Text(_)) {
            cancel.cancel();
        }
    });
    assert_eq!(ended, Err(ModelError::Cancelled));
    Ok(())
}

fn request(text: &str) -> ModelRequest {
    let messages = vec![Message::User { text: text.to_owned() }];
    ModelRequest { instructions: "Be brief.".to_owned(), messages, ..ModelRequest::default() }
}

/// A model's response and how it ended.
#[derive(Debug)]
struct Response {
    text: String,
    usage: Option<Usage>,
    ended: Result<StopReason, ModelError>,
}

fn ask(model: &OpenAi, request: &ModelRequest) -> Response {
    let (mut text, mut usage) = (String::new(), None);
    let ended = model.respond(request, &CancellationToken::new(), &mut |event| match event {
        ModelEvent::Text(more) => text.push_str(&more),
        ModelEvent::Usage(figures) => usage = Some(figures),
        _ => {}
    });
    Response { text, usage, ended }
}
