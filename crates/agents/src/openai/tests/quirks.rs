//! Recorded responses of other servers.

use super::*;
use crate::openai::{
    answer::{Answer, Frame},
    calls::Names,
    frames::Frames,
};
use futures::{executor::block_on, stream};
use openagents_e2e::openai::Reply;
use proptest::prelude::*;
use serde_json::Value;

/// A fixture: its name and the body of a response.
macro_rules! fixture {
    ($name:literal) => {
        ($name, include_str!(concat!("fixtures/", $name)))
    };
}

/// The fixture, then the expected text, reasoning, calls and end.
type Row = (
    (&'static str, &'static str),
    &'static str,
    &'static str,
    Vec<(&'static str, Value)>,
    Result<StopReason, &'static str>,
);

fn rows() -> Vec<Row> {
    use StopReason::{EndTurn, MaxTokens, ToolCalls};
    let list = |path: &str| vec![("fs.list_dir", json!({"path": path}))];
    vec![
        (fixture!("openai-text.sse"), "Hello there.", "", vec![], Ok(EndTurn)),
        (
            fixture!("openai-parallel-calls.sse"),
            "",
            "",
            vec![("fs.list_dir", json!({"path": "src"})), ("content.get_span", json!({"path": "README.md"}))],
            Ok(ToolCalls),
        ),
        (fixture!("openai-refusal.sse"), "I can't help with that.", "", vec![], Ok(EndTurn)),
        (fixture!("openai-length.sse"), "This is cut", "", vec![], Ok(MaxTokens)),
        (fixture!("length-inside-call.sse"), "", "", vec![], Ok(MaxTokens)),
        (fixture!("llama-server-reasoning.sse"), "Two files.", "Let me count.", vec![], Ok(EndTurn)),
        (fixture!("vllm-gpt-oss.sse"), "Done.", "I must look.", vec![], Ok(EndTurn)),
        (fixture!("vllm-gpt-oss-leak.sse"), "It is a library.", "secret analysis", vec![], Ok(EndTurn)),
        (fixture!("gpt-oss-glued-name.sse"), "", "I list.", list("."), Ok(ToolCalls)),
        (fixture!("think-tags.sse"), "The answer.", "\nhm\n", vec![], Ok(EndTurn)),
        (fixture!("mistral-parts.sse"), "Answer.", "I think.", vec![], Ok(EndTurn)),
        (fixture!("ollama-whole-call.sse"), "", "", list("."), Ok(ToolCalls)),
        (
            fixture!("gemini-same-index.sse"),
            "",
            "",
            vec![("fs.list_dir", json!({"path": "a"})), ("fs.list_dir", json!({"path": "b"}))],
            Ok(ToolCalls),
        ),
        (
            fixture!("index-gaps-no-ids.sse"),
            "I look.",
            "",
            vec![("fs.list_dir", json!({"path": "a"})), ("content.get_span", json!({"path": "b"}))],
            Ok(ToolCalls),
        ),
        (fixture!("object-arguments.sse"), "", "", list("."), Ok(ToolCalls)),
        (fixture!("function-call.sse"), "", "", list("."), Ok(ToolCalls)),
        (
            fixture!("broken-arguments.sse"),
            "",
            "",
            vec![("fs.list_dir", json!("{\"path\": src}"))],
            Ok(ToolCalls),
        ),
        (fixture!("unknown-tool.sse"), "", "", vec![("rm", json!({"path": "/"}))], Ok(ToolCalls)),
        (fixture!("done-missing.sse"), "All of it.", "", vec![], Ok(EndTurn)),
        (fixture!("finish-and-done-missing.sse"), "All of it", "", vec![], Err("broke off")),
        (fixture!("finish-missing-call.sse"), "", "", vec![], Err("broke off")),
        (fixture!("crlf-comments.sse"), "Hello.", "", vec![], Ok(EndTurn)),
        (fixture!("single-line-breaks.sse"), "Hello.", "", vec![], Ok(EndTurn)),
        (fixture!("broken-frame.sse"), "Hello.", "", vec![], Err("so there is a gap")),
        (fixture!("not-streamed.json"), "Whole.", "Briefly.", vec![], Ok(EndTurn)),
        (fixture!("not-streamed-call.json"), "", "", list("."), Ok(ToolCalls)),
        (fixture!("empty-answer.sse"), "", "", vec![], Ok(EndTurn)),
        (
            fixture!("error-mid-stream.sse"),
            "Half an",
            "",
            vec![],
            Err("failed: the GPU is gone (500); look at its log"),
        ),
        (fixture!("error-first.sse"), "", "", vec![], Err("failed: no worker; look at its log")),
        (fixture!("vllm-error-object.sse"), "", "", vec![], Err("refuses the request: bad things (400)")),
        (
            fixture!("broken-off-call.sse"),
            "",
            "",
            vec![],
            Err("broke off in the middle of its answer; try again"),
        ),
        (fixture!("content-filter.sse"), "", "", vec![], Err("content filter")),
        (fixture!("page.html"), "", "", vec![], Err("is an OpenAI-compatible address?")),
        (fixture!("no-frames.sse"), "", "", vec![], Err("did not send an answer")),
        (fixture!("json-of-others.json"), "", "", vec![], Err("broke off")),
    ]
}

#[test]
fn responses_of_other_servers_are_parsed() {
    for ((name, body), output, thought, calls, ended) in rows() {
        // Servers often get this header wrong, so nothing depends on it.
        let kind = if name.ends_with("json") { "application/json" } else { "text/event-stream" };
        let server = Server::start(move |_, reply: &mut Reply| {
            reply.head(200, &format!("content-type: {kind}"))?;
            reply.bytes(body.as_bytes())
        })
        .unwrap();
        let mut quick = timeouts();
        quick.retries = 1;
        let heard = ask(&OpenAi::with_timeouts(endpoint(&server), quick).unwrap(), &request("?"));
        assert_eq!((heard.message.text.as_str(), heard.thoughts()), (output, thought), "{name}");
        let asked: Vec<_> = calls.iter().map(|(name, arguments)| (*name, arguments)).collect();
        assert_eq!(heard.calls(), asked, "{name}");
        match ended {
            Ok(stop) => assert_eq!(heard.ended, Ok(stop), "{name}"),
            Err(part) => {
                let sentence = heard
                    .sentence()
                    .replace(&server.base_url(), "it is at an OpenAI")
                    .replace("is it is at an OpenAI an", "is an");
                assert!(
                    sentence.contains(part) && sentence.starts_with("the server at http://127.0.0.1:"),
                    "{name}: {sentence}"
                );
            }
        }
        let mut ids: Vec<_> = heard.message.calls.iter().map(|call| call.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert!(ids.len() == calls.len() && !ids.contains(&""), "{name}: {ids:?}");
    }
}

#[test]
fn usage_is_taken_from_the_server() {
    for (body, speed) in
        [(fixture!("openai-text.sse").1, None), (fixture!("llama-server-reasoning.sse").1, Some(50.0))]
    {
        let server = Server::start(move |_, reply: &mut Reply| {
            reply.events()?;
            reply.bytes(body.as_bytes())
        })
        .unwrap();
        let usage = ask(&model(&server), &request("?")).usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.cached_tokens, usage.tokens), (19, 16, 10));
        assert!(speed.is_none_or(|speed| usage.tokens_per_second == speed), "{usage:?}");
    }
}

/// Returns all events of an answer, without timings.
fn event_lines(chunks: Vec<Vec<u8>>) -> Vec<String> {
    let refused = Refused::default();
    let names = Names::for_tools(&request("?").tools);
    let mut answer = Answer::new("gpt-oss", names, &refused, std::time::Instant::now());
    let mut events = Vec::new();
    let mut on_event = |event| match event {
        ModelEvent::Activity(_) | ModelEvent::Usage(_) => {}
        // Generated ids differ each time.
        ModelEvent::ToolCall(call) => events.push(format!("{} {}", call.name, call.arguments)),
        ModelEvent::Reasoning(thought) => events.push(format!("thought {}", thought.for_template())),
        other => events.push(format!("{other:?}")),
    };
    let ended = block_on(async {
        let mut frames = Frames::open(stream::iter(chunks.into_iter().map(Ok::<_, ()>))).await.ok()?;
        while let Some(Ok(frame)) = frames.next().await {
            if answer.push(&frame, &mut on_event) != Frame::More {
                break;
            }
        }
        Some(answer.finish(frames.is_whole(), &mut on_event))
    });
    events.push(format!("{ended:?}"));
    events
}

fn cut(bytes: &[u8], at: &[prop::sample::Index]) -> Vec<Vec<u8>> {
    let mut cuts: Vec<usize> = at.iter().map(|index| index.index(bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect()
}

proptest! {
    #[test]
    fn answers_ignore_chunk_boundaries(
        row in 0..rows().len(),
        at in prop::collection::vec(any::<prop::sample::Index>(), 0..20))
    {
        let ((_, body), ..) = rows().swap_remove(row);
        prop_assert_eq!(event_lines(cut(body.as_bytes(), &at)), event_lines(vec![body.as_bytes().to_vec()]));
    }

    /// Changes bytes of a fixture, so that most of it is still valid.
    #[test]
    fn damaged_answer_never_panics(
        row in 0..rows().len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..10))
    {
        let ((_, body), ..) = rows().swap_remove(row);
        let mut bytes = body.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        prop_assert!(!event_lines(vec![bytes]).is_empty());
    }

    #[test]
    fn frames_of_any_shape_never_panic(frames in prop::collection::vec(frame(), 0..12)) {
        let body: String = frames.iter().map(|frame| format!("data: {frame}\n\n")).collect();
        prop_assert!(!event_lines(vec![body.into_bytes()]).is_empty());
    }
}

/// Frames made of the protocol's fields in arbitrary places.
fn frame() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<u64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "stop",
            "length",
            "{",
            "}",
            "{}",
            "\"",
            "fs_list_dir",
            "<think>",
            "<|channel|>",
            "c1"
        ])
        .prop_map(Value::from),
    ];
    let name = prop::sample::select(vec![
        "choices",
        "delta",
        "message",
        "content",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "index",
        "id",
        "finish_reason",
        "usage",
        "reasoning",
        "refusal",
        "thinking",
        "text",
        "type",
        "completion_tokens",
        "timings",
    ]);
    let any_shape = leaf.prop_recursive(6, 40, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..4).prop_map(|members| {
                Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
            }),
        ]
    });
    (any_shape, any::<bool>()).prop_map(
        |(value, wrap)| {
            if wrap { json!({"choices": [{"delta": value}]}) } else { value }
        },
    )
}
