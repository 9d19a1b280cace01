//! Renders messages into a prompt. Markers are pushed by id and everything else goes through [`Vocabulary::text`], so
//! text from the user, a tool or a model can't become a marker.

use super::{
    markers::{self, CALL, CHANNEL, CONSTRAIN, END, MESSAGE, START},
    names::Names,
    typescript::typescript,
};
use crate::chat::{ChatError, Vocabulary};
use openagents_core::model::{AssistantMessage, Message, ModelRequest, ToolSpec};
use serde_json::Value;

pub(super) fn render(
    request: &ModelRequest,
    date: &str,
    vocabulary: &dyn Vocabulary,
) -> Result<Vec<i32>, ChatError> {
    markers::check(vocabulary)?;
    let names = Names::of(&request.tools);
    let mut prompt = Prompt { vocabulary, names, tokens: Vec::new() };
    prompt.message("system", None, &system(request, date), END);
    let developer = developer(request, &prompt.names);
    if !developer.is_empty() {
        prompt.message("developer", None, &developer, END);
    }
    // Reasoning is sent back only during its own turn.
    let turn = request.messages.iter().rposition(|message| matches!(message, Message::User { .. }));
    for (at, message) in request.messages.iter().enumerate() {
        match message {
            Message::User { text } => prompt.message("user", None, text, END),
            Message::Assistant(message) => prompt.answer(message, turn.is_none_or(|turn| at > turn)),
            Message::Tool { name, text, .. } => {
                let role = format!("functions.{} to=assistant", prompt.names.wire(name));
                prompt.message(&role, Some("commentary"), text, END);
            }
        }
    }
    prompt.tokens.push(START);
    prompt.text("assistant");
    Ok(prompt.tokens)
}

struct Prompt<'a> {
    vocabulary: &'a dyn Vocabulary,
    names: Names,
    tokens: Vec<i32>,
}

impl Prompt<'_> {
    fn text(&mut self, text: &str) {
        self.tokens.extend(self.vocabulary.text(text));
    }

    fn header(&mut self, role: &str, channel: Option<&str>) {
        self.tokens.push(START);
        self.text(role);
        if let Some(channel) = channel {
            self.tokens.push(CHANNEL);
            self.text(channel);
        }
    }

    fn body(&mut self, text: &str, end: i32) {
        self.tokens.push(MESSAGE);
        self.text(text);
        self.tokens.push(end);
    }

    fn message(&mut self, role: &str, channel: Option<&str>, text: &str, end: i32) {
        self.header(role, channel);
        self.body(text, end);
    }

    /// A model ends its answer with `<|return|>`; in the prompt it is `<|end|>`.
    fn answer(&mut self, message: &AssistantMessage, thoughts: bool) {
        // Text before a call is not the final answer.
        let channel = if message.calls.is_empty() { "final" } else { "commentary" };
        let reasoning = if thoughts { message.reasoning.for_template() } else { "" };
        let parts =
            [("analysis", reasoning), ("commentary", message.preamble.as_str()), (channel, &message.text)];
        for (channel, text) in parts {
            if !text.is_empty() {
                self.message("assistant", Some(channel), text, END);
            }
        }
        for call in &message.calls {
            let role = format!("assistant to=functions.{}", self.names.wire(&call.name));
            self.header(&role, Some("commentary"));
            self.text(" ");
            self.tokens.push(CONSTRAIN);
            self.text("json");
            match &call.arguments {
                // Kept as the model wrote them, because they could not be parsed.
                Value::String(text) => self.body(text, CALL),
                arguments => self.body(&arguments.to_string(), CALL),
            }
        }
    }
}

fn system(request: &ModelRequest, date: &str) -> String {
    let effort = request.options.effort.as_str();
    let mut text = format!(
        "You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06\nCurrent date: {date}\n\n\
         Reasoning: {effort}\n\n\
         # Valid channels: analysis, commentary, final. Channel must be included for every message."
    );
    if !request.tools.is_empty() {
        text.push_str("\nCalls to these tools must go to the commentary channel: 'functions'.");
    }
    text
}

fn developer(request: &ModelRequest, names: &Names) -> String {
    let mut sections = Vec::new();
    if !request.instructions.is_empty() {
        sections.push(format!("# Instructions\n\n{}", request.instructions));
    }
    if !request.tools.is_empty() {
        let tools: Vec<_> = request.tools.iter().map(|tool| declaration(tool, names)).collect();
        sections.push(format!(
            "# Tools\n\n## functions\n\nnamespace functions {{\n\n{}\n}} // namespace functions",
            tools.join("\n")
        ));
    }
    sections.join("\n\n")
}

fn declaration(tool: &ToolSpec, names: &Names) -> String {
    let comment: String = tool.description.lines().map(|line| format!("// {line}\n")).collect();
    let name = names.wire(&tool.name);
    if tool.parameters.is_null() {
        return format!("{comment}type {name} = () => any;\n");
    }
    format!("{comment}type {name} = (_: {}) => any;\n", typescript(&tool.parameters))
}
