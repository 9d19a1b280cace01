//! Converts the messages of a request for templates.

use super::shield::Shield;
use openagents_core::model::{Message, ModelRequest, ToolSpec};
use serde_json::{Value, json};

/// Uses all roles: system, user, assistant, tool.
pub(super) fn native(request: &ModelRequest, shield: &Shield) -> Vec<Value> {
    let turn = request.messages.iter().rposition(|message| matches!(message, Message::User { .. }));
    let mut messages = Vec::new();
    if !request.instructions.is_empty() {
        messages.push(json!({"role": "system", "content": shield.message(&request.instructions)}));
    }
    for (at, message) in request.messages.iter().enumerate() {
        messages.push(match message {
            Message::User { text } => json!({"role": "user", "content": shield.message(text)}),
            Message::Tool { call_id, name, text } => {
                let (call_id, name) = (shield.value(&json!(call_id)), shield.value(&json!(name)));
                json!({"role": "tool", "tool_call_id": call_id, "name": name, "content": shield.message(text)})
            }
            Message::Assistant(answer) => {
                let content = shield.message(&joined([&answer.preamble, &answer.text]));
                let mut message = json!({"role": "assistant", "content": content});
                // Reasoning is sent back only during its own turn.
                if turn.is_none_or(|turn| at > turn) && !answer.reasoning.is_empty() {
                    message["reasoning_content"] = shield.optional(answer.reasoning.for_template()).into();
                }
                if !answer.calls.is_empty() {
                    let calls = answer.calls.iter().map(|call| {
                        let function = json!({"name": call.name, "arguments": call.arguments});
                        shield.value(&json!({"id": call.id, "type": "function", "function": function}))
                    });
                    message["tool_calls"] = calls.collect();
                }
                message
            }
        });
    }
    messages
}

/// Alternates between user and assistant, for templates that support neither tools nor consecutive messages of one
/// role. Without `system`, the instructions precede the first message.
pub(super) fn alternating(request: &ModelRequest, system: bool, shield: &Shield) -> Vec<Value> {
    let mut turns: Vec<(&str, String)> = Vec::new();
    let mut say = |role: &'static str, text: String| match turns.last_mut() {
        _ if text.is_empty() => {}
        Some((last, said)) if *last == role => *said = joined([said, &text]),
        _ => turns.push((role, text)),
    };
    say(if system { "system" } else { "user" }, request.instructions.clone());
    for message in &request.messages {
        match message {
            Message::User { text } => say("user", text.clone()),
            Message::Assistant(answer) => say("assistant", joined([&answer.preamble, &answer.text])),
            Message::Tool { name, text, .. } => say("user", format!("Result of {name}:\n{text}")),
        }
    }
    let turns = turns.into_iter();
    turns.map(|(role, text)| json!({"role": role, "content": shield.message(&text)})).collect()
}

/// The tools in the format of the OpenAI API, which templates print as JSON.
pub(super) fn tools(tools: &[ToolSpec], shield: &Shield) -> Vec<Value> {
    let tools = tools.iter().map(|tool| {
        let ToolSpec { name, description, parameters } = tool;
        let function = json!({"name": name, "description": description, "parameters": parameters});
        shield.value(&json!({"type": "function", "function": function}))
    });
    tools.collect()
}

fn joined(parts: [&String; 2]) -> String {
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.map(String::as_str).collect::<Vec<_>>().join("\n\n")
}
