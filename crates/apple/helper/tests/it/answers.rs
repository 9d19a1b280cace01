//! Answers with tools, from our agent loop to a backend and back.

use crate::support::{ask, call, never, request, scripted, tool, wait_until, with_result};
use openagents_apple::{FoundationModels, budget, schema::PROXY_NOTE};
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, Conversation},
    model::{LanguageModel, Message, ModelError, ModelEvent, ModelOptions, StopReason},
    update::{RunState, SessionUpdate, ToolCallStatus},
};
use openagents_orchestration::agent::{AgentLoop, PromptRequest};
use openagents_tools::builtin;
use openagents_transcripts::history::History;
use serde_json::json;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

#[test]
fn answer_is_streamed_with_usage() {
    let models = scripted(|request, exchange| {
        assert_eq!(request.messages, [Message::User { text: "hi".to_owned() }]);
        exchange.send_text("Hello")?;
        exchange.send_text(" there")
    });
    let (ended, reply) = ask(&models, &request("hi", Vec::new()), &never());
    assert_eq!((ended, reply.text.as_str(), reply.tokens), (Ok(StopReason::EndTurn), "Hello there", Some(4)));
}

#[test]
fn agent_loop_runs_tools_for_system_model() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cats.txt"), "").unwrap();
    let model = scripted(|request, exchange| {
        let listed = call(request, &exchange, "fs.list_dir", json!({"path": "."}))?;
        exchange.send_text(&format!(
            "There is {}.",
            if listed.contains("cats.txt") { "a cat" } else { "nothing" }
        ))
    });
    let agent = AgentLoop {
        model: Arc::new(model),
        options: ModelOptions::default(),
        tools: builtin::toolbox(Arc::new(History::empty())),
        session_tools: Vec::new(),
    };
    let prompt = PromptRequest {
        root: folder.path().to_owned(),
        text: "What is here?".to_owned(),
        words: None,
        transcript: Conversation::default(),
        findings: None,
        delegated: false,
    };
    let shown = Mutex::new(Vec::new());
    let outcome = agent.prompt(&prompt, &never(), &|event| match event {
        AgentEvent::Update(SessionUpdate::ToolCall(call)) => shown.lock().unwrap().push(call.name),
        AgentEvent::Update(SessionUpdate::ToolCallUpdate(update)) => {
            let completed = matches!(update.status, ToolCallStatus::Completed { .. });
            shown.lock().unwrap().push(format!("completed: {completed}"));
        }
        _ => {}
    });
    assert_eq!((outcome.state, outcome.text.as_str()), (RunState::Complete, "There is a cat."));
    assert_eq!(shown.into_inner().unwrap(), ["fs.list_dir", "completed: true"]);
}

#[test]
fn invalid_arguments_are_returned_as_errors() {
    let parameters = json!({"type": "object", "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}}}});
    let models = scripted(|request, exchange| {
        assert!(request.tools[0].description.ends_with(PROXY_NOTE));
        let mut shown = Vec::new();
        for reply in [json!({"json": "{"}), json!({"labels": {}}), json!({"json": r#"{"labels":{"a":1}}"#})] {
            shown.push(call(request, &exchange, "pods", reply)?);
        }
        let result = call(request, &exchange, "pods", json!({"json": r#"{"labels":{"a":"b"}}"#}))?;
        assert!(shown.iter().all(|text| text.starts_with("Invalid parameters: ")), "{shown:?}");
        exchange.send_text(&result)
    });
    let first = request("hi", vec![tool("pods", parameters)]);
    let (ended, reply) = ask(&models, &first, &never());
    assert_eq!(ended, Ok(StopReason::ToolCalls));
    assert_eq!(reply.calls.len(), 1, "only what fits is asked for");
    assert_eq!(reply.calls[0].arguments, json!({"labels": {"a": "b"}}));
    let (ended, reply) = ask(&models, &with_result(&first, &reply, "two pods"), &never());
    assert_eq!((ended, reply.text.as_str()), (Ok(StopReason::EndTurn), "two pods"));
}

#[test]
fn model_with_repeated_mistakes_is_stopped() {
    let models = scripted(|request, exchange| {
        loop {
            call(request, &exchange, "t", json!("nonsense"))?;
        }
    });
    let request = request("hi", vec![tool("t", json!({"type": "object"}))]);
    assert_eq!(ask(&models, &request, &never()).0, Err(ModelError::Malformed));
}

#[test]
fn parallel_calls_run_one_at_a_time() {
    let models = scripted(|request, exchange| {
        let results = std::thread::scope(|scope| {
            let threads = ["a", "b", "c"].map(|name| {
                let exchange = exchange.clone();
                scope.spawn(move || call(request, &exchange, name, json!({})))
            });
            threads.map(|thread| thread.join().unwrap())
        });
        for result in results {
            exchange.send_text(&result?)?;
        }
        Ok(())
    });
    let tools = ["a", "b", "c"].map(|name| tool(name, json!({"type": "object"}))).to_vec();
    let mut next = request("hi", tools);
    for _ in 0..3 {
        let (ended, reply) = ask(&models, &next, &never());
        assert_eq!(ended, Ok(StopReason::ToolCalls));
        let result = reply.calls[0].name.to_uppercase();
        next = with_result(&next, &reply, &result);
    }
    let (ended, reply) = ask(&models, &next, &never());
    assert_eq!((ended, reply.text.as_str()), (Ok(StopReason::EndTurn), "ABC"));
}

#[test]
fn tool_may_request_an_answer() {
    let models = scripted(|request, exchange| match request.tools.is_empty() {
        true => exchange.send_text("inner"),
        false => {
            let result = call(request, &exchange, "delegate.run", json!({}))?;
            exchange.send_text(&format!("outer {result}"))
        }
    });
    let outer = request("hi", vec![tool("delegate.run", json!({"type": "object"}))]);
    let (ended, reply) = ask(&models, &outer, &never());
    assert_eq!(ended, Ok(StopReason::ToolCalls));
    let (ended, inner) = ask(&models, &request("hi", Vec::new()), &never());
    assert_eq!(ended, Ok(StopReason::EndTurn));
    let (ended, reply) = ask(&models, &with_result(&outer, &reply, &inner.text), &never());
    assert_eq!((ended, reply.text.as_str()), (Ok(StopReason::EndTurn), "outer inner"));
}

#[test]
fn dropped_answer_restarts_with_history() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = seen.clone();
    let models = scripted(move |request, exchange| {
        kept.lock().unwrap().push(request.messages.len());
        match request.messages.last() {
            Some(Message::Tool { text, .. }) => exchange.send_text(text),
            _ => call(request, &exchange, "t", json!({})).map(drop),
        }
    });
    let first = request("hi", vec![tool("t", json!({"type": "object"}))]);
    let (_, reply) = ask(&models, &first, &never());
    // More answers than are kept, so the oldest is dropped.
    for _ in 0..8 {
        assert_eq!(ask(&models, &first, &never()).0, Ok(StopReason::ToolCalls));
    }
    let (ended, reply) = ask(&models, &with_result(&first, &reply, "the result"), &never());
    assert_eq!((ended, reply.text.as_str()), (Ok(StopReason::EndTurn), "the result"));
    assert_eq!(seen.lock().unwrap().last(), Some(&3));
}

#[test]
fn cancel_ends_running_and_waiting_answers() {
    let stopped = Arc::new(AtomicUsize::new(0));
    let count = stopped.clone();
    let models = scripted(move |request, exchange| {
        let ended = match request.tools.is_empty() {
            true => loop {
                if let Err(error) = exchange.send_text("on ") {
                    break Err(error);
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            },
            false => call(request, &exchange, "t", json!({})).map(drop),
        };
        assert!(exchange.cancel().is_cancelled());
        count.fetch_add(1, Ordering::Relaxed);
        ended
    });
    let cancel = CancellationToken::new();
    let mut pieces = 0;
    let ended = models.respond(&request("hi", Vec::new()), &cancel, &mut |event| {
        pieces += usize::from(matches!(event, ModelEvent::Text(_)));
        if pieces == 3 {
            cancel.cancel();
        }
    });
    assert_eq!(ended, Err(ModelError::Cancelled));
    wait_until("the backend stops", || stopped.load(Ordering::Relaxed) == 1);

    let waiting = request("hi", vec![tool("t", json!({"type": "object"}))]);
    assert_eq!(ask(&models, &waiting, &never()).0, Ok(StopReason::ToolCalls));
    drop(models);
    wait_until("the backend stops with its client", || stopped.load(Ordering::Relaxed) == 2);
}

#[test]
fn hanging_backend_blocks_only_its_answer() {
    let over = Arc::new(AtomicBool::new(false));
    let end = over.clone();
    let models = scripted(move |request, exchange| {
        if request.messages == [(Message::User { text: "hang".to_owned() })] {
            exchange.send_text("…")?;
            wait_until("the test is over", || end.load(Ordering::Relaxed));
        }
        exchange.send_text("done")
    });
    let cancel = CancellationToken::new();
    let ended = models.respond(&request("hang", Vec::new()), &cancel, &mut |_| cancel.cancel());
    assert_eq!(ended, Err(ModelError::Cancelled));
    assert_eq!(ask(&models, &request("hi", Vec::new()), &never()).1.text, "done");
    over.store(true, Ordering::Relaxed);
}

#[test]
fn panicking_backend_fails_only_its_answer() {
    let models = scripted(|request, exchange| {
        assert!(
            !matches!(&request.messages[0], Message::User { text } if text == "panic"),
            "as the test wants it"
        );
        exchange.send_text("fine")
    });
    let Err(ModelError::Failed(why)) = ask(&models, &request("panic", Vec::new()), &never()).0 else {
        panic!()
    };
    assert!(why.contains("stopped unexpectedly"), "{why}");
    assert_eq!(ask(&models, &request("hi", Vec::new()), &never()).1.text, "fine");
}

#[test]
fn requests_are_cut_to_context() {
    let models = scripted(|request, exchange| {
        assert!(request.prompt_tokens + request.answer_tokens as usize <= budget::CONTEXT as usize);
        assert!(request.room(0) >= 400, "{}", request.room(0));
        let first = call(request, &exchange, "t", json!({}))?;
        assert!(budget::estimate(&first) <= request.room(0), "{}", first.len());
        let second = call(request, &exchange, "t", json!({}))?;
        assert!(second.len() < 60 && second.ends_with("(Cut: there is no room for more.)"), "{second}");
        exchange.send_text(first.lines().last().unwrap())
    });
    let first = request(&"word ".repeat(100_000), vec![tool("t", json!({"type": "object"}))]);
    let (ended, reply) = ask(&models, &first, &never());
    assert_eq!(ended, Ok(StopReason::ToolCalls));
    let short = request("hi", first.tools.clone());
    let (_, other) = ask(&models, &short, &never());
    for (request, reply) in [(&first, reply), (&short, other)] {
        let long = "long ".repeat(100_000);
        let next = with_result(request, &reply, &long);
        let (ended, reply) = ask(&models, &next, &never());
        assert_eq!(ended, Ok(StopReason::ToolCalls));
        let (ended, reply) = ask(&models, &with_result(&next, &reply, &long), &never());
        assert_eq!(
            (ended, reply.text.as_str()),
            (Ok(StopReason::EndTurn), "(Cut: there is no room for more.)")
        );
    }
}

#[test]
fn request_over_line_limit_is_rejected() {
    let models: FoundationModels = scripted(|_, exchange| exchange.send_text("never"));
    let huge = request(&"x".repeat(9 << 20), Vec::new());
    let Err(ModelError::Failed(why)) = ask(&models, &huge, &never()).0 else { panic!() };
    assert!(why.contains("shorten the prompt"), "{why}");
}
