//! Builds the JSON body of a request.

use super::calls::Names;
use openagents_core::model::{
    AssistantMessage, CallRequest, Message, ModelOptions, ModelRequest, ReasoningEffort, ToolSpec,
};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

pub(super) fn body(request: &ModelRequest, model: &str, refused: &Refused) -> (Value, Names) {
    let names = Names::for_tools(&request.tools);
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("messages".to_owned(), message_list(request, &names, refused.thoughts_member()).into());
    body.insert("stream".to_owned(), true.into());
    if !refused.has(Parameter::Usage) {
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    if !request.tools.is_empty() && !refused.has(Parameter::Tools) {
        let tools: Vec<Value> = request.tools.iter().map(|tool| tool_json(tool, &names)).collect();
        body.insert("tools".to_owned(), tools.into());
    }
    add_options(&request.options, refused, &mut body);
    (Value::Object(body), names)
}

fn add_options(options: &ModelOptions, refused: &Refused, body: &mut Map<String, Value>) {
    if !refused.has(Parameter::Sampling) {
        body.insert("temperature".to_owned(), decimal(options.temperature));
        body.insert("top_p".to_owned(), decimal(options.top_p));
    }
    if let Some(limit) = options.max_tokens {
        let is_new = refused.has(Parameter::MaxTokens);
        let name = if is_new { "max_completion_tokens" } else { "max_tokens" };
        body.insert(name.to_owned(), limit.into());
    }
    if let Some(seed) = options.seed.filter(|_| !refused.has(Parameter::Seed)) {
        body.insert("seed".to_owned(), seed.into());
    }
    // Medium is the default, and setting it is an error for models without reasoning.
    if options.effort != ReasoningEffort::Medium && !refused.has(Parameter::Effort) {
        body.insert("reasoning_effort".to_owned(), options.effort.as_str().into());
    }
}

/// Converts 0.7 to exactly 0.7, not to the nearest 32-bit number widened to 64 bits.
fn decimal(number: f32) -> Value {
    number.to_string().parse::<f64>().map_or(Value::Null, Value::from)
}

fn tool_json(tool: &ToolSpec, names: &Names) -> Value {
    let mut parameters = tool.parameters.as_object().cloned().unwrap_or_default();
    // OpenAI rejects an object schema without these members.
    parameters.entry("type").or_insert_with(|| "object".into());
    parameters.entry("properties").or_insert_with(|| json!({}));
    json!({
        "type": "function",
        "function": {"name": names.wire(&tool.name), "description": tool.description, "parameters": parameters},
    })
}

fn message_list(request: &ModelRequest, names: &Names, thoughts: Option<&str>) -> Vec<Value> {
    let mut ids = Ids::default();
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.instructions.is_empty() {
        messages.push(json!({"role": "system", "content": request.instructions}));
    }
    for message in &request.messages {
        messages.push(match message {
            Message::User { text } => json!({"role": "user", "content": text}),
            Message::Assistant(reply) => assistant_message(reply, names, thoughts, &mut ids),
            Message::Tool { call_id, text, .. } => {
                json!({"role": "tool", "tool_call_id": ids.wire(call_id), "content": text})
            }
        });
    }
    messages
}

fn assistant_message<'a>(
    reply: &'a AssistantMessage,
    names: &Names,
    thoughts: Option<&str>,
    ids: &mut Ids<'a>,
) -> Value {
    let text = match (reply.preamble.is_empty(), reply.text.is_empty()) {
        (false, false) => format!("{}\n\n{}", reply.preamble, reply.text),
        _ => format!("{}{}", reply.preamble, reply.text),
    };
    // The content of a message without text is null only if the message has calls.
    let content = if text.is_empty() && !reply.calls.is_empty() { Value::Null } else { text.into() };
    let mut message = json!({"role": "assistant", "content": content});
    if let Some(member) = thoughts.filter(|_| !reply.reasoning.is_empty()) {
        message[member] = reply.reasoning.for_template().into();
    }
    if !reply.calls.is_empty() {
        let calls: Vec<Value> = reply.calls.iter().map(|call| function_call(call, names, ids)).collect();
        message["tool_calls"] = calls.into();
    }
    message
}

fn function_call<'a>(call: &'a CallRequest, names: &Names, ids: &mut Ids<'a>) -> Value {
    let arguments = match &call.arguments {
        Value::Object(_) => call.arguments.to_string(),
        // Servers parse the history: invalid JSON would fail the whole request.
        other => json!({"invalid": other}).to_string(),
    };
    let function = json!({"name": names.wire(&call.name), "arguments": arguments});
    json!({"id": ids.wire(&call.id), "type": "function", "function": function})
}

/// Call ids on the wire. Ids from a server are kept; ours are too long for some servers (Mistral accepts nine
/// alphanumeric characters) and are numbered deterministically, so that prompt caches stay valid.
#[derive(Debug, Default)]
struct Ids<'a> {
    ours: Vec<&'a str>,
}

impl<'a> Ids<'a> {
    fn wire(&mut self, id: &'a str) -> String {
        if uuid::Uuid::try_parse(id).is_err() {
            return id.to_owned();
        }
        let number = self.ours.iter().position(|known| *known == id).unwrap_or_else(|| {
            self.ours.push(id);
            self.ours.len() - 1
        });
        format!("call{number:05}")
    }
}

/// A part of a request that some models refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Parameter {
    /// `temperature` and `top_p`: fixed for reasoning models.
    Sampling,
    Seed,
    /// `max_tokens`: newer models want `max_completion_tokens`.
    MaxTokens,
    /// `reasoning_effort`.
    Effort,
    /// `stream_options`.
    Usage,
    Tools,
    /// The turn's reasoning, sent back to the model.
    Thoughts,
}

impl Parameter {
    /// Finds the refused parameter by its name if the server reports it, otherwise from the message.
    pub(super) fn refused(name: Option<&str>, message: &str) -> Option<Self> {
        let by_name = |name: &str| {
            Some(match name.split(['.', '[']).next_back().unwrap_or(name) {
                "temperature" | "top_p" => Self::Sampling,
                "seed" => Self::Seed,
                "max_tokens" => Self::MaxTokens,
                "reasoning_effort" => Self::Effort,
                "stream_options" | "include_usage" => Self::Usage,
                "tools" => Self::Tools,
                "reasoning_content" | "reasoning" => Self::Thoughts,
                _ => return None,
            })
        };
        if let Some(found) = name.and_then(by_name) {
            return Some(found);
        }
        let message = message.to_ascii_lowercase();
        let is_refusal = ["support", "unrecognized", "unknown", "not permitted", "requires", "not allowed"]
            .iter()
            .any(|word| message.contains(word));
        if !is_refusal {
            return None;
        }
        let mut words = message.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
        // An error in one of our schemas must not disable all tools, so only known messages do that.
        let named = words.find_map(by_name).filter(|parameter| *parameter != Self::Tools);
        named.or_else(|| {
            let says = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
            let tools = [
                "support tools",
                "support tool",
                "support function",
                "tools param requires",
                "tool choice requires",
            ];
            let tools = says(&tools).then_some(Self::Tools);
            tools.or_else(|| says(&["support thinking", "support reasoning"]).then_some(Self::Effort))
        })
    }
}

/// Parameters refused so far. Later requests omit them.
#[derive(Debug, Default)]
pub(super) struct Refused {
    parameters: Mutex<BTreeSet<Parameter>>,
    /// The field in which this server sends and accepts reasoning.
    thoughts: Mutex<Option<&'static str>>,
}

impl Refused {
    pub(super) fn add(&self, parameter: Parameter) -> bool {
        self.parameters.lock().insert(parameter)
    }

    pub(super) fn has(&self, parameter: Parameter) -> bool {
        self.parameters.lock().contains(&parameter)
    }

    pub(super) fn set_thoughts_member(&self, member: &'static str) {
        *self.thoughts.lock() = Some(member);
    }

    /// Returns the field for sending reasoning back, if the server uses and accepts one.
    pub(super) fn thoughts_member(&self) -> Option<&'static str> {
        let member = *self.thoughts.lock();
        member.filter(|_| !self.has(Parameter::Thoughts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::model::Reasoning;

    fn call(id: &str, name: &str, arguments: Value) -> CallRequest {
        CallRequest { id: id.to_owned(), name: name.to_owned(), arguments }
    }

    fn conversation() -> ModelRequest {
        const OURS: &str = "0192f0c1-2345-4abc-8def-0123456789ab";
        let reply = |reasoning: &str, text: &str, calls| {
            Message::Assistant(AssistantMessage {
                reasoning: Reasoning::new(reasoning),
                preamble: String::new(),
                text: text.to_owned(),
                calls,
            })
        };
        let result = |id: &str, text: &str| Message::Tool {
            call_id: id.to_owned(),
            name: "fs.list_dir".to_owned(),
            text: text.to_owned(),
        };
        ModelRequest {
            instructions: "Be brief.".to_owned(),
            messages: vec![
                Message::User { text: "What is here?".to_owned() },
                reply("", "I look.", vec![call(OURS, "fs.list_dir", json!({"path": "."}))]),
                result(OURS, "[]"),
                reply("", "Nothing.", Vec::new()),
                Message::User { text: "And there?".to_owned() },
                reply(
                    "a thought",
                    "",
                    vec![
                        call("call_1", "fs.list_dir", json!({"path": "a"})),
                        call("call_2", "gone", json!("{oops")),
                    ],
                ),
                result("call_1", "a.rs"),
                result("call_2", "Invalid parameters"),
            ],
            tools: vec![
                ToolSpec {
                    name: "fs.list_dir".to_owned(),
                    description: "Lists.".to_owned(),
                    parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
                },
                ToolSpec {
                    name: "now".to_owned(),
                    description: "Tells.".to_owned(),
                    parameters: Value::Null,
                },
            ],
            options: ModelOptions { max_tokens: Some(100), seed: Some(7), ..ModelOptions::default() },
        }
    }

    #[test]
    fn body_contains_whole_conversation() {
        let refused = Refused::default();
        refused.set_thoughts_member("reasoning_content");
        let (body, _) = body(&conversation(), "some-model", &refused);
        insta::assert_json_snapshot!(body);
    }

    #[test]
    fn body_omits_refused_parameters() {
        let refused = Refused::default();
        for parameter in [
            Parameter::Sampling,
            Parameter::Seed,
            Parameter::MaxTokens,
            Parameter::Effort,
            Parameter::Usage,
            Parameter::Tools,
            Parameter::Thoughts,
        ] {
            assert!(refused.add(parameter) && !refused.add(parameter));
        }
        refused.set_thoughts_member("reasoning");
        let mut request = conversation();
        request.options.effort = ReasoningEffort::High;
        let (body, _) = body(&request, "m", &refused);
        let members: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, ["model", "messages", "stream", "max_completion_tokens"]);
        assert!(!body.to_string().contains("a thought"));
    }

    #[test]
    fn refused_parameter_is_found_in_error() {
        let rows = [
            (Some("temperature"), "Unsupported value", Some(Parameter::Sampling)),
            (Some("max_tokens"), "Use 'max_completion_tokens' instead.", Some(Parameter::MaxTokens)),
            (
                None,
                "Unsupported parameter: 'max_tokens' is not supported with this model.",
                Some(Parameter::MaxTokens),
            ),
            (None, "registry.ollama.ai/library/gemma:2b does not support tools", Some(Parameter::Tools)),
            (None, "tools param requires --jinja flag", Some(Parameter::Tools)),
            (
                None,
                "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
                Some(Parameter::Tools),
            ),
            (None, "\"smollm2\" does not support thinking", Some(Parameter::Effort)),
            (Some("messages[2].reasoning_content"), "Unknown parameter", Some(Parameter::Thoughts)),
            (None, "Unrecognized request argument supplied: reasoning_effort", Some(Parameter::Effort)),
            (None, "Invalid schema for function in tools: 'x' is not supported", None),
            (None, "the tools are fine but the moon is not", None),
            (Some("messages"), "too long", None),
        ];
        for (name, message, expected) in rows {
            assert_eq!(Parameter::refused(name, message), expected, "{message}");
        }
    }
}
