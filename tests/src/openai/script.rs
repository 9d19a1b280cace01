//! A model that calls tools according to rules on the prompt.

use super::{Reply, Request, Server};
use anyhow::Result;
use serde_json::{Value, json};
use std::io;

/// A text that occurs only in the scripted model's chain of thought.
pub const THOUGHT: &str = "secret plan";

/// Starts a server whose model thinks, calls tools and answers, streamed in small pieces.
///
/// | prompt | response |
/// |---|---|
/// | `list files` | calls `fs.list_dir` with `{"path":"."}` |
/// | `README` | calls `content.get_span` with `{"path":"README.md"}` |
/// | `call NAME {…}` at the beginning of a line | calls that tool with these arguments; a call per line, all at once |
/// | `loop` | sends `tick ` until the client has disconnected |
/// | anything else | answers `Hello from the scripted model.` |
///
/// It calls only the tools that it is offered. After the results it answers `The tool said: ` and the first line of
/// the last result.
pub fn scripted() -> Result<Server> {
    Server::start(|request, reply| match Plan::from_body(&request.body) {
        Plan::Say(text) => say(request, reply, &text),
        Plan::Call(calls) => call(request, reply, &calls),
        Plan::Loop => {
            reply.events()?;
            loop {
                reply.event(&json!({"choices": [{"index": 0, "delta": {"content": "tick "}}]}))?;
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
    })
}

enum Plan {
    Say(String),
    /// Names and arguments.
    Call(Vec<(String, String)>),
    Loop,
}

impl Plan {
    fn from_body(body: &Value) -> Self {
        let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let last = messages.last().unwrap_or(&Value::Null);
        let text = last["content"].as_str().unwrap_or_default();
        if last["role"] == "tool" {
            let line = text.lines().next().unwrap_or_default();
            return Self::Say(format!("The tool said: {}", line.chars().take(200).collect::<String>()));
        }
        let offered = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        let calls: Vec<_> = wanted(text)
            .into_iter()
            .filter(|(name, _)| offered.iter().any(|tool| tool["function"]["name"] == *name))
            .collect();
        if !calls.is_empty() {
            Self::Call(calls)
        } else if text.contains("loop") {
            Self::Loop
        } else {
            Self::Say("Hello from the scripted model.".to_owned())
        }
    }
}

/// Returns the calls that a prompt requests, with their names on the wire.
fn wanted(text: &str) -> Vec<(String, String)> {
    let spelled = text.lines().filter_map(|line| line.strip_prefix("call ")?.split_once(' '));
    let spelled: Vec<_> =
        spelled.map(|(name, arguments)| (name.replace('.', "_"), arguments.to_owned())).collect();
    if !spelled.is_empty() {
        spelled
    } else if text.contains("list files") {
        vec![("fs_list_dir".to_owned(), r#"{"path":"."}"#.to_owned())]
    } else if text.contains("README") {
        vec![("content_get_span".to_owned(), r#"{"path":"README.md"}"#.to_owned())]
    } else {
        Vec::new()
    }
}

fn chunk(delta: &Value, finish: Value) -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "scripted",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

fn begin(reply: &mut Reply) -> io::Result<()> {
    reply.events()?;
    reply.event(&chunk(&json!({"role": "assistant", "content": null}), Value::Null))?;
    reply.event(&chunk(&json!({"reasoning_content": THOUGHT}), Value::Null))
}

fn say(request: &Request, reply: &mut Reply, text: &str) -> io::Result<()> {
    begin(reply)?;
    for word in text.split_inclusive(' ') {
        reply.event(&chunk(&json!({"content": word}), Value::Null))?;
    }
    end(request, reply, "stop")
}

fn call(request: &Request, reply: &mut Reply, calls: &[(String, String)]) -> io::Result<()> {
    begin(reply)?;
    for (index, (name, arguments)) in calls.iter().enumerate() {
        let id = format!("call_{}_{index}", reply.number);
        let function = json!({"name": name, "arguments": ""});
        let begun = json!([{"index": index, "id": id, "type": "function", "function": function}]);
        reply.event(&chunk(&json!({"tool_calls": begun}), Value::Null))?;
        let letters: Vec<char> = arguments.chars().collect();
        for piece in letters.chunks(7) {
            let function = json!({"arguments": piece.iter().collect::<String>()});
            let more = json!([{"index": index, "function": function}]);
            reply.event(&chunk(&json!({"tool_calls": more}), Value::Null))?;
        }
    }
    end(request, reply, "tool_calls")
}

fn end(request: &Request, reply: &mut Reply, reason: &str) -> io::Result<()> {
    reply.event(&chunk(&json!({}), reason.into()))?;
    if request.body["stream_options"]["include_usage"] == true {
        let usage = json!({"prompt_tokens": 21, "completion_tokens": 7, "total_tokens": 28,
            "prompt_tokens_details": {"cached_tokens": 8}});
        reply.event(&json!({"object": "chat.completion.chunk", "choices": [], "usage": usage}))?;
    }
    reply.bytes(b"data: [DONE]\n\n")
}
