//! Dialects of servers, built frame by frame: how they write calls, errors and the end of a response. Reported for
//! llama-server, vLLM, Ollama, LM Studio, mlx servers and proxies.

use super::*;
use openagents_e2e::openai::Reply;
use serde_json::Value;

fn chunk(delta: Value, finish: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    format!("data: {}\n\n", json!({"id": "c1", "object": "chat.completion.chunk", "choices": [choice]}))
}

fn text(text: &str) -> String {
    chunk(json!({"content": text}), None)
}

fn finish(reason: &str) -> String {
    chunk(json!({}), Some(reason))
}

/// A delta of a call; null members are left out.
fn call(index: Value, id: Value, name: &str, arguments: Value) -> String {
    let mut call = json!({"type": "function", "function": {"name": name, "arguments": arguments}});
    for (key, value) in [("index", index), ("id", id)] {
        if !value.is_null() {
            call[key] = value;
        }
    }
    chunk(json!({"tool_calls": [call]}), None)
}

const DONE: &str = "data: [DONE]\n\n";
const LS: &str = "fs_list_dir";
const HERE: &str = r#"{"path":"."}"#;

/// The expected text, calls, and stop reason or part of the error.
type Expected = (&'static str, Vec<(&'static str, Value)>, Result<StopReason, &'static str>);

/// A dialect: its name, the status and body of the response, and the expected result.
type Dialect = (&'static str, u16, String, Expected);

fn calls() -> Vec<Dialect> {
    let list = || ("", vec![("fs.list_dir", json!({"path": "."}))], Ok(StopReason::ToolCalls));
    let both = || {
        let calls =
            vec![("fs.list_dir", json!({"path": "."})), ("content.get_span", json!({"path": "readme.md"}))];
        ("", calls, Ok(StopReason::ToolCalls))
    };
    let empty = || ("", vec![("fs.list_dir", json!({}))], Ok(StopReason::ToolCalls));
    let one = |name: &'static str, calls: String, expected| {
        (name, 200, format!("{calls}{}{DONE}", finish("tool_calls")), expected)
    };
    let whole = |id: Value| call(json!(0), id, LS, json!(HERE));
    let read =
        |index: Value| call(index, json!("call_2"), "content_get_span", json!(r#"{"path":"readme.md"}"#));
    let pieces: String =
        ["{\"pa", "th\":\"", ".\"}"].map(|piece| call(json!(0), json!(""), "", json!(piece))).concat();
    let first = call(json!(0), json!("call_1"), LS, json!(""));
    let older = json!({"function_call": {"name": LS, "arguments": HERE}});
    vec![
        one("empty arguments", first.clone(), empty()),
        one("null arguments", call(json!(0), json!("call_1"), LS, Value::Null), empty()),
        one("an object as arguments", call(json!(0), json!("call_1"), LS, json!({"path": "."})), list()),
        one("the same call twice", whole(json!("call_1")) + &whole(json!("call_1")), list()),
        one(
            "arguments without their last bracket",
            call(json!(0), json!("call_1"), LS, json!(r#"{"path": ".""#)),
            ("", vec![("fs.list_dir", json!(r#"{"path": ".""#))], Ok(StopReason::ToolCalls)),
        ),
        one("no id", whole(Value::Null), list()),
        one("an id that is empty later", first + &pieces, list()),
        one("no index", call(Value::Null, json!("call_1"), LS, json!(HERE)) + &read(Value::Null), both()),
        one("index 0 twice", whole(json!("call_1")) + &read(json!(0)), both()),
        one("index 1 first", call(json!(1), json!("call_1"), LS, json!(HERE)), list()),
        ("stop as the end of a call", 200, whole(json!("a")) + &finish("stop") + DONE, list()),
        ("no finish reason, but the end mark", 200, whole(json!("a")) + DONE, list()),
        (
            "the finish reason with the call",
            200,
            whole(json!("a")).replace("\"finish_reason\":null", "\"finish_reason\":\"tool_calls\"") + DONE,
            list(),
        ),
        (
            "a limit inside a call",
            200,
            call(json!(0), json!("a"), LS, json!("{\"pat")) + &finish("length") + DONE,
            ("", vec![], Ok(StopReason::MaxTokens)),
        ),
        (
            "a call that is cut off without a finish reason",
            200,
            whole(json!("a")),
            ("", vec![], Err("broke off in the middle")),
        ),
        ("function_call", 200, chunk(older, None) + &finish("function_call") + DONE, list()),
        one(
            "an unknown tool",
            call(json!(0), json!("a"), "web-browsing", json!("{}")),
            ("", vec![("web-browsing", json!({}))], Ok(StopReason::ToolCalls)),
        ),
        one(
            "a marker in the name",
            call(json!(0), json!("a"), "fs_list_dir<|channel|>commentary", json!(HERE)),
            list(),
        ),
        one(
            "a word of the header in the name",
            call(json!(0), json!("a"), "fs_list_dirjson", json!(HERE)),
            list(),
        ),
        one("dots in the name", call(json!(0), json!("a"), "fs.list_dir", json!(HERE)), list()),
    ]
}

fn errors() -> Vec<Dialect> {
    let role = chunk(json!({"role": "assistant", "content": null}), None);
    let half = || role.clone() + &text("Half a sent");
    let fails = |text: &'static str, error: &'static str| (text, vec![], Err(error));
    let oom = json!({"error": {"message": "CUDA out of memory", "type": "server_error", "code": 500}});
    vec![
        (
            "another path",
            200,
            json!({"error": "Unexpected endpoint or method. (POST /chat/completions)"}).to_string(),
            fails("", "Unexpected endpoint or method"),
        ),
        (
            "the page of a proxy",
            502,
            "<html><head><title>502 Bad Gateway</title></head></html>".to_owned(),
            fails("", "failed (502)"),
        ),
        (
            "a sign-in page",
            200,
            "<!doctype html><html><head><title>Sign in</title></head></html>".to_owned(),
            fails("", "an OpenAI-compatible address?"),
        ),
        (
            "the context is too small",
            400,
            json!({"error": {"code": 400, "message": "request (9999 tokens) exceeds the available context size (4096 tokens)",
                "type": "exceed_context_size_error", "n_prompt_tokens": 9999, "n_ctx": 4096}})
            .to_string(),
            fails("", "the conversation has 9999 tokens and the model was loaded for 4096"),
        ),
        (
            "the model is being loaded",
            503,
            json!({"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}).to_string(),
            fails("", "failed: Loading model (503)"),
        ),
        (
            "an error with status 200",
            200,
            json!({"error": {"message": "the model crashed while loading", "type": "server_error"}}).to_string(),
            fails("", "failed: the model crashed while loading"),
        ),
        ("an error in the middle", 200, half() + &format!("data: {oom}\n\n"), fails("Half a sent", "CUDA out of memory (500)")),
        (
            "an error line and the end mark",
            200,
            half() + "error: {\"code\":500,\"message\":\"Compute error.\",\"type\":\"server_error\"}\n\n" + DONE,
            fails("Half a sent", "failed: Compute error (500)"),
        ),
        (
            "an error line first",
            200,
            format!("error: {{\"code\":400,\"message\":\"Too long.\"}}\n\n{DONE}"),
            fails("", "refuses the request: Too long (400)"),
        ),
        (
            "an error event",
            200,
            half() + "event: error\ndata: {\"error\":{\"message\":\"The model ran into a repetition\"}}\n\n",
            fails("Half a sent", "The model ran into a repetition"),
        ),
        (
            "an error event without an error object",
            200,
            half() + "event: error\ndata: {\"message\":\"Out of disk\"}\n\n" + DONE,
            fails("Half a sent", "Out of disk"),
        ),
        (
            "the body of an error outside of any event",
            200,
            half() + &json!({"error": {"message": "the worker is gone"}}).to_string() + "\n\n",
            fails("Half a sent", "the worker is gone"),
        ),
    ]
}

fn ends() -> Vec<Dialect> {
    use StopReason::{EndTurn, MaxTokens};
    let says = |text: &'static str| (text, vec![], Ok(EndTurn));
    let cut = || ("Half a sent", vec![], Err("broke off in the middle of its answer; try again"));
    let half = || text("Half a sent");
    let message = json!({"role": "assistant", "content": "The whole answer"});
    vec![
        ("cut inside a frame", 200, half() + "data: {\"id\":\"c1\",\"choices\":[{\"delta\":{\"conte", cut()),
        ("cut between two frames", 200, half(), cut()),
        ("cut after a thought", 200, chunk(json!({"reasoning_content": "Hm"}), None), ("", vec![], cut().2)),
        ("an error as the finish reason", 200, half() + &finish("error") + DONE, cut()),
        ("an abort as the finish reason", 200, half() + &finish("abort") + DONE, cut()),
        (
            "the resources of the server run out",
            200,
            half() + &finish("insufficient_system_resource") + DONE,
            cut(),
        ),
        (
            "a filter in the middle",
            200,
            half() + &finish("content_filter") + DONE,
            ("Half a sent", vec![], Err("withheld the answer or its rest (content filter)")),
        ),
        (
            "a frame in the middle that is not JSON",
            200,
            half() + "data: {\"choices\":[{\"delta\":{\"content\":\"lost\n\n" + &finish("stop") + DONE,
            ("Half a sent", vec![], Err("so there is a gap; try again")),
        ),
        ("no end mark", 200, text("The whole answer") + &finish("stop"), says("The whole answer")),
        ("no finish reason", 200, text("The whole answer") + DONE, says("The whole answer")),
        (
            "eos as the finish reason",
            200,
            text("The whole answer") + &finish("eos") + DONE,
            says("The whole answer"),
        ),
        (
            "the limit of tokens",
            200,
            half() + &finish("length") + DONE,
            ("Half a sent", vec![], Ok(MaxTokens)),
        ),
        (
            "the length of the model",
            200,
            half() + &finish("model_length") + DONE,
            ("Half a sent", vec![], Ok(MaxTokens)),
        ),
        (
            "not streamed",
            200,
            json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).to_string(),
            says("The whole answer"),
        ),
        (
            "not streamed, no finish reason",
            200,
            json!({"choices": [{"message": message}]}).to_string(),
            says("The whole answer"),
        ),
        (
            "a thought alone",
            200,
            chunk(json!({"reasoning_content": "The user wants a list."}), None) + &finish("stop") + DONE,
            says(""),
        ),
    ]
}

fn texts() -> Vec<Dialect> {
    let says = |text: &'static str| (text, vec![], Ok(StopReason::EndTurn));
    let plain = |text: &str| format!("{}{}{DONE}", self::text(text), finish("stop"));
    let list = || ("", vec![("fs.list_dir", json!({"path": "."}))], Ok(StopReason::ToolCalls));
    vec![
        (
            "keep-alives",
            200,
            ": PROCESSING\n\n\nevent: ping\ndata: {}\n\ndata: {\"choices\":[],\"usage\":null}\n\n".to_owned()
                + &plain("Hello"),
            says("Hello"),
        ),
        ("characters of several bytes", 200, plain("Grüße 你好 😀 end"), says("Grüße 你好 😀 end")),
        ("half a character", 200, plain("HALF end").replace("HALF", r"cut \ud83d"), says("cut \u{fffd} end")),
        ("line ends of Windows", 200, plain("Hello").replace('\n', "\r\n"), says("Hello")),
        ("no space after the colon", 200, plain("Hello").replace("data: ", "data:"), says("Hello")),
        (
            "markers of gpt-oss",
            200,
            plain(
                "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello",
            ),
            says("Hello"),
        ),
        (
            "a call in markers of gpt-oss",
            200,
            plain(
                "<|channel|>commentary to=functions.fs_list_dir <|constrain|>json<|message|>{\"path\":\".\"}<|call|>",
            ),
            list(),
        ),
        (
            "a call of gpt-oss that is cut in its arguments",
            200,
            plain("<|channel|>commentary to=functions.fs_list_dir<|message|>{\"path\":{\"a\":1}"),
            ("", vec![("fs.list_dir", json!("{\"path\":{\"a\":1}"))], Ok(StopReason::ToolCalls)),
        ),
        (
            "a call of gpt-oss without its markers",
            200,
            plain("analysisI list.assistantcommentary to=functions.fs_list_dir json{\"path\":\".\"}"),
            ("", vec![], Err("did not parse the call; turn on tool calling there (llama-server: --jinja")),
        ),
        (
            "a call of Qwen in the text",
            200,
            plain("<tool_call>\n{\"name\": \"fs_list_dir\", \"arguments\": {}}\n</tool_call>"),
            (
                "<tool_call>\n{\"name\": \"fs_list_dir\", \"arguments\": {}}\n</tool_call>",
                vec![],
                Err("called a tool and the server at"),
            ),
        ),
        ("tags around a thought", 200, plain("<think>I list them.</think>\n\nHello"), says("Hello")),
        (
            "a list of parts",
            200,
            chunk(json!({"content": [{"type": "text", "text": "Hello"}]}), None) + &finish("stop") + DONE,
            says("Hello"),
        ),
    ]
}

#[test]
fn server_dialects_are_understood() {
    for (name, status, body, (output, calls, ended)) in [calls(), errors(), ends(), texts()].concat() {
        let server = Server::start(move |_, reply: &mut Reply| {
            reply.head(status, "content-type: text/event-stream")?;
            reply.bytes(body.as_bytes())
        })
        .unwrap();
        let once = RequestTimeouts { retries: 0, ..timeouts() };
        let model = if name.contains("without its markers") { "gpt-oss" } else { "some-model" };
        let endpoint = Endpoint { model: model.to_owned(), ..endpoint(&server) };
        let heard = ask(&OpenAi::with_timeouts(endpoint, once).unwrap(), &request("?"));
        assert_eq!(heard.message.text, output, "{name}");
        let asked: Vec<_> = calls.iter().map(|(name, arguments)| (*name, arguments)).collect();
        assert_eq!(heard.calls(), asked, "{name}");
        match ended {
            Ok(stop) => assert_eq!(heard.ended, Ok(stop), "{name}"),
            Err(part) => assert!(heard.sentence().contains(part), "{name}: {}", heard.sentence()),
        }
    }
}
