//! Chat models whose GGUF file contains a template.

use super::{
    format::{AnswerParser, ChatError, ChatFormat, Vocabulary},
    shield::{Piece, Shield},
    tagged::{TaggedParser, Thoughts},
};
use crate::limits::{PROMPT_BYTES, TEMPLATE_BYTES, TEMPLATE_DEPTH, TEMPLATE_STEPS};
use minijinja::{Environment, Error, ErrorKind, Value as TemplateValue, context, value::Kwargs};
use openagents_core::model::{AssistantMessage, CallRequest, Message, ModelRequest, Reasoning, ToolSpec};
use serde::Serialize;
use serde_json::{
    Value, json,
    ser::{Formatter, PrettyFormatter, Serializer},
};
use std::{io, sync::Arc};

/// ChatML, understood by most models without a template.
const CHATML: &str = "{%- for message in messages -%}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<|im_start|>assistant\\n' -}}
{%- endif -%}";

#[derive(Debug, Clone)]
pub struct TemplateFormat {
    source: String,
    begin: String,
    end: String,
    tools: bool,
    thoughts: Thoughts,
}

/// Returns the format for files without a template.
pub fn chatml() -> TemplateFormat {
    TemplateFormat {
        source: CHATML.to_owned(),
        begin: String::new(),
        end: "<|im_end|>".to_owned(),
        tools: false,
        thoughts: Thoughts::default(),
    }
}

impl TemplateFormat {
    /// Creates the format of a file's template, after testing the template. `begin` and `end` are the vocabulary's
    /// markers around a text.
    pub fn new(source: &str, begin: &str, end: &str) -> Result<Self, ChatError> {
        let mut format = Self {
            source: source.to_owned(),
            begin: begin.to_owned(),
            end: end.to_owned(),
            tools: false,
            thoughts: Thoughts::default(),
        };
        let prompt = format.pieces(&probe_conversation())?;
        let end = match prompt.last() {
            Some(Piece::Markup(markup)) => markup,
            _ => "",
        };
        format.thoughts = Thoughts::detect(source, end);
        format.tools = format.offers_tools();
        Ok(format)
    }

    /// Returns whether prompts contain tools, calls and results in the syntax of the parser.
    fn offers_tools(&self) -> bool {
        let with_tools = Self { tools: true, ..self.clone() };
        let Ok(pieces) = with_tools.attempt(&add_tools(probe_conversation()), native_messages) else {
            return false;
        };
        let whole: String = pieces.iter().map(Piece::as_str).collect();
        ["probe_name", "probe_parameter", "probe_argument", "<tool_call>"]
            .iter()
            .all(|word| whole.contains(word))
    }

    /// Renders the conversation. Many templates reject parts of it; these get only what every template supports.
    fn pieces(&self, request: &ModelRequest) -> Result<Vec<Piece>, ChatError> {
        let mentions_tools =
            |message: &Message| matches!(message, Message::Tool { .. }) || !calls_of(message).is_empty();
        let native = self.tools || !request.messages.iter().any(mentions_tools);
        if native && let Ok(pieces) = self.attempt(request, native_messages) {
            return Ok(pieces);
        }
        let alternating =
            |system| self.attempt(request, |request, shield| alternating_messages(request, system, shield));
        alternating(true).or_else(|_| alternating(false))
    }

    fn attempt(
        &self,
        request: &ModelRequest,
        messages: impl FnOnce(&ModelRequest, &Shield) -> Vec<serde_json::Value>,
    ) -> Result<Vec<Piece>, ChatError> {
        let shield = Arc::new(Shield::new());
        let messages = messages(request, &shield);
        shield.open(&self.run(request, messages, &shield)?)
    }

    fn run(
        &self,
        request: &ModelRequest,
        messages: Vec<serde_json::Value>,
        shield: &Arc<Shield>,
    ) -> Result<String, ChatError> {
        let tools = match &request.tools[..] {
            [_, ..] if self.tools => TemplateValue::from_serialize(tools_json(&request.tools, shield)),
            // Templates check whether there are any tools.
            _ => TemplateValue::from(()),
        };
        let context = context! {
            messages => TemplateValue::from_serialize(messages),
            tools,
            add_generation_prompt => true,
            bos_token => self.begin,
            eos_token => self.end,
            reasoning_effort => request.options.effort.as_str(),
        };
        render(&self.source, &context, shield)
    }
}

impl ChatFormat for TemplateFormat {
    fn tools(&self) -> bool {
        self.tools
    }

    fn render(&self, request: &ModelRequest, vocabulary: &dyn Vocabulary) -> Result<Vec<i32>, ChatError> {
        let pieces = self.pieces(request)?.into_iter();
        let tokens = pieces.flat_map(|piece| match piece {
            Piece::Markup(text) => vocabulary.markup(&text),
            Piece::Text(text) => vocabulary.text(&text),
        });
        Ok(tokens.collect())
    }

    fn parser(&self, request: &ModelRequest) -> Box<dyn AnswerParser> {
        let tools: &[ToolSpec] = if self.tools { &request.tools } else { &[] };
        Box::new(TaggedParser::new(tools, &self.thoughts, [&self.begin, &self.end]))
    }
}

fn calls_of(message: &Message) -> &[CallRequest] {
    match message {
        Message::Assistant(answer) => &answer.calls,
        _ => &[],
    }
}

fn probe_conversation() -> ModelRequest {
    let user = |text: &str| Message::User { text: text.to_owned() };
    let answer = AssistantMessage { text: "An answer".to_owned(), ..AssistantMessage::default() };
    ModelRequest {
        instructions: "Instructions".to_owned(),
        messages: vec![user("A question"), Message::Assistant(answer), user("Another one")],
        ..ModelRequest::default()
    }
}

fn add_tools(mut request: ModelRequest) -> ModelRequest {
    request.tools = vec![ToolSpec {
        name: "probe_name".to_owned(),
        description: "A tool".to_owned(),
        parameters: json!({"type": "object", "properties": {"probe_parameter": {"type": "string"}}}),
    }];
    let call = CallRequest {
        id: "1".to_owned(),
        name: "probe_name".to_owned(),
        arguments: json!({"probe_parameter": "probe_argument"}),
    };
    request.messages.push(Message::Assistant(AssistantMessage {
        reasoning: Reasoning::new("A thought"),
        calls: vec![call],
        ..AssistantMessage::default()
    }));
    let text = "A result".to_owned();
    request.messages.push(Message::Tool { call_id: "1".to_owned(), name: "probe_name".to_owned(), text });
    request
}

pub(super) fn native_messages(request: &ModelRequest, shield: &Shield) -> Vec<Value> {
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
pub(super) fn alternating_messages(request: &ModelRequest, system: bool, shield: &Shield) -> Vec<Value> {
    let mut turns: Vec<(&str, String)> = Vec::new();
    let mut say = |role: &'static str, text: String| match turns.last_mut() {
        _ if text.is_empty() => {}
        Some((last, reply)) if *last == role => *reply = joined([reply, &text]),
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

pub(super) fn tools_json(tools: &[ToolSpec], shield: &Shield) -> Vec<Value> {
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

/// Renders a template with the functions and filters that chat templates expect. A template is untrusted code, so its
/// steps and depth are limited.
pub(super) fn render(
    source: &str,
    context: &TemplateValue,
    shield: &Arc<Shield>,
) -> Result<String, ChatError> {
    if source.len() > TEMPLATE_BYTES {
        return Err(ChatError::Template(format!("it has {} bytes", source.len())));
    }
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_fuel(Some(TEMPLATE_STEPS));
    environment.set_recursion_limit(TEMPLATE_DEPTH);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_function("raise_exception", |message: String| -> Result<TemplateValue, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, message))
    });
    environment
        .add_function("strftime_now", |format: String| jiff::Zoned::now().strftime(&format).to_string());
    let shield = Arc::clone(shield);
    environment.add_filter("tojson", move |value: TemplateValue, options: Kwargs| {
        to_json(&shield, &value, &options)
    });
    let mut prompt = Prompt(Vec::new());
    let template = environment.template_from_str(source).map_err(template_error)?;
    template.render_captured_to(context, &mut prompt).map_err(template_error)?;
    // Templates only write whole strings.
    Ok(String::from_utf8_lossy(&prompt.0).into_owned())
}

/// The output of a template, up to [`PROMPT_BYTES`].
struct Prompt(Vec<u8>);

impl io::Write for Prompt {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > PROMPT_BYTES {
            return Err(io::Error::other("its prompt is too long"));
        }
        self.0.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn template_error(error: Error) -> ChatError {
    let what = match std::error::Error::source(&error) {
        Some(source) if error.kind() == ErrorKind::WriteFailure => source.to_string(),
        _ => error.detail().map_or_else(|| error.kind().to_string(), str::to_owned),
    };
    let place = error.line().map(|line| format!(" (line {line})")).unwrap_or_default();
    ChatError::Template(what.lines().next().unwrap_or_default().to_owned() + &place)
}

/// Formats JSON like Python, as in the training data. The result is text, not markup, so it becomes a placeholder.
fn to_json(shield: &Shield, value: &TemplateValue, options: &Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let bad = |error: serde_json::Error| Error::new(ErrorKind::BadSerialization, error.to_string());
    let value = serde_json::to_value(value).map_err(bad)?;
    Ok(shield.json(&value, |value| match indent {
        Some(indent) => json_text(value, PrettyFormatter::with_indent(" ".repeat(indent.min(16)).as_bytes())),
        None => json_text(value, Python),
    }))
}

fn json_text(value: &serde_json::Value, formatter: impl Formatter) -> String {
    let mut bytes = Vec::new();
    // Serializing into memory cannot fail.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
    String::from_utf8_lossy(&bytes).into_owned()
}

struct Python;

impl Formatter for Python {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
