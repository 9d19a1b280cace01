//! Network behavior: pauses, cancels, redirects, keys.

use super::*;
use openagents_e2e::openai::{Reply, scripted};
use std::{io, time::Instant};

const HI: &str =
    "data: {\"choices\":[{\"delta\":{\"content\":\"Hi.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn hi(reply: &mut Reply) -> io::Result<()> {
    reply.events()?;
    reply.bytes(HI.as_bytes())
}

#[test]
fn busy_server_is_retried_before_first_token() {
    let server = Server::start(|_, reply| match reply.number {
        0 => reply.head(429, "retry-after-ms: 1"),
        1 => reply.json(503, &json!({"error": {"message": "Loading model", "code": 503}})),
        // Closes the connection without a response.
        2 => Ok(()),
        _ => hi(reply),
    })
    .unwrap();
    let heard = ask(&model(&server), &request("?"));
    assert_eq!((heard.ended, heard.message.text.as_str()), (Ok(StopReason::EndTurn), "Hi."));
    assert_eq!(server.asked().len(), 4);
}

#[test]
fn permanent_errors_are_not_retried() {
    let rows: [(u16, &str, &str); 5] = [
        (401, "", "does not take the key (401)"),
        (404, "", "check the name of the model and the base URL"),
        (400, "", "refuses the request (400)"),
        (429, "retry-after: 3600", "limits the rate of this key (429)"),
        (503, "retry-after: 3600", "failed (503)"),
    ];
    for (status, headers, expected) in rows {
        let server = Server::start(move |_, reply| reply.head(status, headers)).unwrap();
        let heard = ask(&model(&server), &request("?"));
        assert!(heard.sentence().contains(expected), "{}", heard.sentence());
        assert_eq!(server.asked().len(), 1, "{status}");
    }
}

#[test]
fn retries_are_limited() {
    let server = Server::start(|_, reply| reply.head(500, "")).unwrap();
    let heard = ask(&model(&server), &request("?"));
    assert!(heard.sentence().contains("failed (500); look at its log, or try again"), "{}", heard.sentence());
    assert_eq!(server.asked().len(), 1 + timeouts().retries);
}

#[test]
fn no_retry_after_first_token() {
    let half_a_call = json!([{"index": 0, "function": {"name": "fs_list_dir", "arguments": "{"}}]);
    for delta in [json!({"content": "Half"}), json!({"content": "Half", "tool_calls": half_a_call})] {
        let server = Server::start(move |_, reply| {
            reply.head(200, "content-type: text/event-stream\ncontent-length: 100000")?;
            reply.event(&json!({"choices": [{"delta": delta}]}))
        })
        .unwrap();
        let heard = ask(&model(&server), &request("?"));
        assert_eq!(heard.message.text, "Half");
        let sentence = heard.sentence();
        assert!(sentence.contains("broke off in the middle of its answer"), "{sentence}");
        assert_eq!(server.asked().len(), 1);
    }
}

/// OpenRouter sends these with status 200.
#[test]
fn error_frame_before_first_token_is_retried() {
    let server = Server::start(|_, reply| match reply.number {
        0 => reply.json(200, &json!({"error": {"message": "slow down", "code": 429}})),
        1 => {
            reply.events()?;
            reply.bytes(b": waiting\n\n")?;
            reply.event(&json!({"error": {"message": "no worker", "code": 502}}))
        }
        _ => hi(reply),
    })
    .unwrap();
    assert_eq!(ask(&model(&server), &request("?")).message.text, "Hi.");
    assert_eq!(server.asked().len(), 3);
}

/// Measured from the request, so it includes the server's delay.
#[test]
fn first_token_time_includes_wait() {
    let server = Server::start(|_, reply| {
        std::thread::sleep(Duration::from_millis(150));
        reply.events()?;
        let usage = json!({"prompt_tokens": 3, "completion_tokens": 1});
        reply.event(
            &json!({"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}], "usage": usage}),
        )
    })
    .unwrap();
    let usage = ask(&model(&server), &request("?")).usage.unwrap();
    assert!(usage.first_token_ms >= 150, "{usage:?}");
}

#[test]
fn refused_connection_is_explained() {
    let server = scripted().unwrap();
    let endpoint = endpoint(&server);
    drop(server);
    let started = Instant::now();
    let heard = ask(&OpenAi::new(endpoint).unwrap(), &request("?"));
    assert!(
        heard.sentence().contains("nothing answers for the server at http://127.0.0.1:"),
        "{}",
        heard.sentence()
    );
    assert!(heard.sentence().ends_with("; start it, or check the base URL"), "{}", heard.sentence());
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn silent_server_times_out() {
    let silent = Server::start(|_, reply| reply.until_gone()).unwrap();
    let headers_only = Server::start(|_, reply| {
        reply.events()?;
        reply.bytes(b": I am alive\n\n")?;
        reply.until_gone()
    })
    .unwrap();
    let stuck = Server::start(|_, reply| {
        reply.events()?;
        reply.event(&json!({"choices": [{"delta": {"content": "Half"}}]}))?;
        reply.until_gone()
    })
    .unwrap();
    let quick =
        RequestTimeouts { first: Duration::from_millis(300), idle: Duration::from_millis(300), ..timeouts() };
    for (server, output) in [(&silent, ""), (&headers_only, ""), (&stuck, "Half")] {
        let heard = ask(&OpenAi::with_timeouts(endpoint(server), quick).unwrap(), &request("?"));
        assert!(heard.sentence().contains("said nothing for"), "{}", heard.sentence());
        assert_eq!((heard.message.text.as_str(), server.asked().len()), (output, 1));
    }
}

#[test]
fn cancel_closes_connection_in_every_phase() {
    for what in ["headers", "first frame", "the answer", "a pause"] {
        let (gone, report) = std::sync::mpsc::channel();
        let server = Server::start(move |_, reply| {
            match what {
                "headers" => {}
                "first frame" => reply.events()?,
                "the answer" => {
                    reply.events()?;
                    reply.event(&json!({"choices": [{"delta": {"content": "a"}}]}))?;
                }
                _ => reply.head(503, "retry-after: 2\ncontent-length: 0")?,
            }
            reply.until_gone()?;
            let _ = gone.send(());
            Ok(())
        })
        .unwrap();
        let (model, cancel) = (model(&server), CancellationToken::new());
        let heard = std::thread::scope(|scope| {
            scope.spawn(|| {
                while server.asked().is_empty() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                // Wait until the response that asks for a pause has arrived.
                std::thread::sleep(Duration::from_millis(if what == "a pause" { 200 } else { 0 }));
                cancel.cancel();
            });
            hear(&model, &request("?"), &cancel, |_| ())
        });
        assert_eq!(heard.ended, Err(ModelError::Cancelled), "{what}");
        report.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(server.asked().len(), 1, "{what}");
    }
}

#[test]
fn endless_answer_can_be_cancelled() {
    let server = scripted().unwrap();
    let (model, cancel) = (model(&server), CancellationToken::new());
    let mut words = 0;
    let heard = hear(&model, &request("loop"), &cancel, |event| {
        words += usize::from(matches!(event, ModelEvent::Text(_)));
        if words == 3 {
            cancel.cancel();
        }
    });
    assert_eq!(heard.ended, Err(ModelError::Cancelled));
}

#[test]
fn redirects_are_not_followed() {
    let other = Server::start(|_, reply| hi(reply)).unwrap();
    for status in [301, 302, 307, 308] {
        let to = format!("{}/chat/completions", other.base_url());
        let server = Server::start(move |_, reply| reply.head(status, &format!("location: {to}"))).unwrap();
        let sentence = ask(&model(&server), &request("?")).sentence();
        assert!(
            sentence.contains(&other.base_url()) && sentence.contains("make it the base URL"),
            "{sentence}"
        );
    }
    assert!(other.asked().is_empty());
}

#[test]
fn key_and_headers_reach_only_the_server() {
    let echo = Server::start(|request, reply| {
        let key = request.header("authorization").unwrap_or_default();
        reply.json(400, &json!({"error": {"message": format!("I know {key}"), "code": "x"}}))
    })
    .unwrap();
    let mut with_headers = endpoint(&echo);
    with_headers.headers.insert("X-Team".to_owned(), "blue-secret".to_owned());
    let model = OpenAi::with_timeouts(with_headers, timeouts()).unwrap();
    let heard = ask(&model, &request("?"));
    let asked = echo.asked().remove(0);
    assert_eq!(asked.header("authorization"), Some("Bearer sk-very-secret"));
    assert_eq!(asked.header("x-team"), Some("blue-secret"));
    assert!(asked.head.starts_with("POST /v1/chat/completions HTTP/1.1\n"), "{}", asked.head);
    assert!(heard.sentence().contains("refuses the request: I know Bearer … (400)"), "{}", heard.sentence());
    let shown = format!("{model:?} {:?} {heard:?}", model.endpoint());
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn key_is_never_sent_in_clear_text() {
    let key = KeySource::Given(Secret::new("sk-very-secret").unwrap());
    for (base_url, takes_key) in [
        ("http://127.0.0.1:1/v1", true),
        ("https://models.example/v1", true),
        ("http://models.example/v1", false),
        ("http://192.168.0.7:8000/v1", false),
    ] {
        let endpoint = Endpoint { key: key.clone(), ..Endpoint::named("m", Some(base_url), None) };
        let exchange = Exchange::new(&endpoint, timeouts()).unwrap();
        let read = NETWORK.as_ref().unwrap().block_on(exchange.read_key()).unwrap();
        assert_eq!(read.is_some(), takes_key, "{base_url}");
    }
}

#[test]
fn missing_key_fails_before_request() {
    let variable = KeySource::Variable("OPENAGENTS_TEST_NO_SUCH_KEY".to_owned());
    let model = |base_url| {
        let endpoint = Endpoint { key: variable.clone(), ..Endpoint::named("gpt-x", base_url, None) };
        OpenAi::with_timeouts(endpoint, timeouts()).unwrap()
    };
    let openai = model(None);
    let Availability::Unavailable(reason) = openai.availability() else { panic!("it is available") };
    assert!(
        reason.starts_with("OpenAI at https://api.openai.com needs a key; set OPENAGENTS_TEST_NO_SUCH_KEY"),
        "{reason}"
    );
    assert_eq!(ask(&openai, &request("?")).ended, Err(ModelError::Unavailable(reason)));
    assert!(!openai.capabilities().local);
    // A server on this machine needs no key unless it requests one.
    let server = scripted().unwrap();
    let local = model(Some(&server.base_url()));
    assert!(local.capabilities().local && local.availability() == Availability::Ready);
    assert_eq!(ask(&local, &request("?")).message.text, "Hello from the scripted model.");
    assert_eq!(server.asked()[0].header("authorization"), None);
}

#[test]
fn model_without_tools_answers_without_them() {
    let server = Server::start(|request, reply| {
        if request.body.get("tools").is_some() {
            let message = "registry.ollama.ai/library/gemma:2b does not support tools";
            return reply
                .json(400, &json!({"error": {"message": message, "type": "api_error", "param": null}}));
        }
        hi(reply)
    })
    .unwrap();
    let model = model(&server);
    assert!(model.capabilities().tools);
    assert_eq!(ask(&model, &request("?")).message.text, "Hi.");
    assert!(!model.capabilities().tools);
    assert_eq!(ask(&model, &request("?")).message.text, "Hi.");
    assert_eq!(server.asked().len(), 3);
}

/// OpenAI's reasoning models refuse some parameters.
#[test]
fn refused_parameters_are_omitted_later() {
    let server = Server::start(|request, reply| {
        for (name, code) in [("temperature", "unsupported_value"), ("max_tokens", "unsupported_parameter")] {
            if request.body.get(name).is_some() {
                let error = json!({"message": format!("'{name}' is not supported with this model."),
                    "type": "invalid_request_error", "param": name, "code": code});
                return reply.json(400, &json!({"error": error}));
            }
        }
        hi(reply)
    })
    .unwrap();
    let model = model(&server);
    let mut limited = request("?");
    limited.options.max_tokens = Some(50);
    for _ in 0..2 {
        assert_eq!(ask(&model, &limited).message.text, "Hi.");
    }
    let asked = server.asked();
    assert_eq!(asked.len(), 4);
    assert_eq!(asked[3].body["max_completion_tokens"], 50);
    assert_eq!(asked[3].body.get("top_p"), None);
}

#[test]
fn repeated_refusal_is_an_error() {
    let server = Server::start(|_, reply| {
        reply
            .json(400, &json!({"error": {"message": "temperature is not supported", "param": "temperature"}}))
    })
    .unwrap();
    let sentence = ask(&model(&server), &request("?")).sentence();
    assert!(sentence.contains("refuses the request: temperature is not supported (400)"), "{sentence}");
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn context_length_is_learned_from_overflow() {
    let server = Server::start(|_, reply| {
        reply.json(
            400,
            &json!({"error": {"code": 400, "message": "the request exceeds the available context size",
            "type": "exceed_context_size_error", "n_prompt_tokens": 5000, "n_ctx": 4096}}),
        )
    })
    .unwrap();
    let model = model(&server);
    assert_eq!(model.context_tokens(), None);
    let heard = ask(&model, &request("?"));
    assert_eq!(heard.ended, Err(ModelError::ContextOverflow { needed: 5000, context: 4096 }));
    assert_eq!(model.context_tokens(), Some(4096));
}

#[test]
fn reasoning_is_sent_back_in_its_field() {
    let server = scripted().unwrap();
    let model = model(&server);
    let mut conversation = request("list files");
    let heard = ask(&model, &conversation);
    assert_eq!(heard.thoughts(), openagents_e2e::openai::THOUGHT);
    assert_eq!(
        (heard.calls(), heard.message.text.as_str()),
        (vec![("fs.list_dir", &json!({"path": "."}))], "")
    );
    let id = heard.message.calls[0].id.clone();
    conversation.messages.push(Message::Assistant(heard.message));
    conversation.messages.push(Message::Tool {
        call_id: id.clone(),
        name: "fs.list_dir".to_owned(),
        text: "a.rs".to_owned(),
    });
    let heard = ask(&model, &conversation);
    assert_eq!(heard.message.text, "The tool said: a.rs");
    let usage = heard.usage.unwrap();
    assert_eq!((usage.prompt_tokens, usage.cached_tokens, usage.tokens), (21, 8, 7));
    let messages = server.asked().remove(1).body["messages"].take();
    assert_eq!(messages[2]["reasoning_content"], openagents_e2e::openai::THOUGHT);
    assert_eq!(messages[2]["tool_calls"][0]["function"]["name"], "fs_list_dir");
    assert_eq!((&messages[2]["tool_calls"][0]["id"], &messages[3]["tool_call_id"]), (&json!(id), &json!(id)));
}

/// A handshake for each round of the agent loop would be noticeable. Under load, a connection may be returned to the
/// pool too late for the next request.
#[test]
fn connections_are_reused() {
    use std::{
        io::{BufRead, BufReader, Read, Write},
        net::{TcpListener, TcpStream},
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
    };
    const REQUESTS: usize = 8;
    fn serve(mut stream: TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if reader.read_line(&mut head)? == 0 {
                    return Ok(());
                }
            }
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            reader.read_exact(&mut vec![0; length.parse().unwrap()])?;
            let chunk = format!("{:x}\r\n{HI}\r\n", HI.len());
            write!(stream, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunk}0\r\n\r\n")?;
        }
    }
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let accepted = connections.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            accepted.fetch_add(1, Ordering::SeqCst);
            std::thread::spawn(move || serve(stream.unwrap()));
        }
    });
    let model = OpenAi::with_timeouts(Endpoint::named("m", Some(&base_url), None), timeouts()).unwrap();
    for _ in 0..REQUESTS {
        assert_eq!(ask(&model, &request("?")).message.text, "Hi.");
    }
    let connections = connections.load(Ordering::SeqCst);
    assert!(connections < REQUESTS / 2, "{connections} connections for {REQUESTS} requests");
}
