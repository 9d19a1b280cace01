//! Chat models whose GGUF file contains a template.

use super::{
    conversation,
    format::{AnswerParser, ChatError, ChatFormat, Vocabulary},
    jinja,
    shield::{Piece, Shield},
    tagged::TaggedParser,
    thoughts::Thoughts,
};
use minijinja::{context, value::Value};
use openagents_core::model::{AssistantMessage, CallRequest, Message, ModelRequest, Reasoning, ToolSpec};
use serde_json::json;
use std::sync::Arc;

/// ChatML, understood by most models without a template.
const CHATML: &str = "{%- for message in messages -%}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<|im_start|>assistant\\n' -}}
{%- endif -%}";

/// A template and its capabilities.
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
        let prompt = format.pieces(&conversation())?;
        let end = match prompt.last() {
            Some(Piece::Markup(markup)) => markup,
            _ => "",
        };
        format.thoughts = Thoughts::of(source, end);
        format.tools = format.offers_tools();
        Ok(format)
    }

    /// Returns whether prompts contain tools, calls and results in the syntax of the parser.
    fn offers_tools(&self) -> bool {
        let with_tools = Self { tools: true, ..self.clone() };
        let Ok(pieces) = with_tools.attempt(&add_tools(conversation()), conversation::native) else {
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
        if native && let Ok(pieces) = self.attempt(request, conversation::native) {
            return Ok(pieces);
        }
        let alternating = |system| {
            self.attempt(request, |request, shield| conversation::alternating(request, system, shield))
        };
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
            [_, ..] if self.tools => Value::from_serialize(conversation::tools(&request.tools, shield)),
            // Templates check whether there are any tools.
            _ => Value::from(()),
        };
        let context = context! {
            messages => Value::from_serialize(messages),
            tools,
            add_generation_prompt => true,
            bos_token => self.begin,
            eos_token => self.end,
            reasoning_effort => request.options.effort.as_str(),
        };
        jinja::render(&self.source, &context, shield)
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

/// A conversation to test templates with.
fn conversation() -> ModelRequest {
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
