//! A real server: llama-server of llama.cpp with SmolLM2.

use super::*;
use openagents_e2e::llama_server::LlamaServer;

#[test]
fn a_real_server_answers_refuses_and_is_cancelled() {
    let server = LlamaServer::start().unwrap();
    let endpoint = Endpoint::named("smollm2", Some(&server.base_url()), None);
    let model = OpenAi::new(endpoint).unwrap();
    let mut question = request("What is the capital of France? Answer in one word.");
    question.tools.clear();
    question.options.temperature = 0.0;
    let heard = ask(&model, &question);
    assert!(heard.message.text.contains("Paris"), "{heard:?}");
    let usage = heard.usage.unwrap();
    assert!(usage.prompt_tokens > 10 && usage.tokens > 0 && usage.tokens_per_second > 0.0, "{usage:?}");

    // The answer to a prompt with tools is arbitrary; it must not fail.
    let heard = ask(&model, &ModelRequest { tools: request("").tools, ..question.clone() });
    assert!(heard.ended.is_ok(), "{heard:?}");

    let long = ModelRequest { messages: request(&"word ".repeat(6000)).messages, ..question.clone() };
    let heard = ask(&model, &long);
    assert!(matches!(heard.ended, Err(ModelError::ContextOverflow { context: 4096, .. })), "{heard:?}");
    assert_eq!(model.context_tokens(), Some(4096));

    let cancel = CancellationToken::new();
    let endless = ModelRequest { messages: request("Count to one million.").messages, ..question };
    let heard = hear(&model, &endless, &cancel, |event| {
        if matches!(event, ModelEvent::Text(_)) {
            cancel.cancel();
        }
    });
    assert_eq!(heard.ended, Err(ModelError::Cancelled));
}
