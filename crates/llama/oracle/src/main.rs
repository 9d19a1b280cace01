//! Renders `../src/harmony/goldens/cases.json` with the official renderer; `--check` only compares the texts.

use anyhow::{Context, Result, bail};
use base64::{Engine, prelude::BASE64_STANDARD};
use openai_harmony::{
    HarmonyEncoding, HarmonyEncodingName,
    chat::{Author, DeveloperContent, Message, ReasoningEffort, Role, SystemContent, ToolDescription},
    load_harmony_encoding,
};
use serde_json::Value;
use std::{fs, path::Path};

const DATE: &str = "2026-01-01";

fn main() -> Result<()> {
    let check = std::env::args().any(|argument| argument == "--check");
    let goldens = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/harmony/goldens");
    let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(goldens.join("cases.json"))?)?;
    let encoding = encoding()?;
    for case in &cases {
        let path = goldens.join(format!("{}.txt", text(&case["name"])));
        let prompt = render(&encoding, &case["request"]).with_context(|| path.display().to_string())?;
        if !check {
            fs::write(&path, prompt)?;
        } else if fs::read_to_string(&path)? != prompt {
            bail!("{} differs from the official renderer", path.display());
        }
    }
    Ok(())
}

/// Provides a local vocabulary file, which the library would otherwise download.
fn encoding() -> Result<HarmonyEncoding> {
    let folder = tempfile::tempdir()?;
    let bpe = tiktoken_rs::o200k_harmony()?;
    let mut lines = String::new();
    for token in 0..199_998 {
        lines += &format!("{} {token}\n", BASE64_STANDARD.encode(bpe.decode_bytes(&[token])?));
    }
    fs::write(folder.path().join("o200k_base.tiktoken"), lines)?;
    // SAFETY: this program has one thread.
    unsafe { std::env::set_var("TIKTOKEN_ENCODINGS_BASE", folder.path()) };
    load_harmony_encoding(HarmonyEncodingName::HarmonyGptOss)
}

fn render(encoding: &HarmonyEncoding, request: &Value) -> Result<String> {
    let effort = match request["options"]["effort"].as_str() {
        Some("low") => ReasoningEffort::Low,
        Some("high") => ReasoningEffort::High,
        _ => ReasoningEffort::Medium,
    };
    let system = SystemContent::new().with_conversation_start_date(DATE).with_reasoning_effort(effort);
    let mut messages = vec![Message::from_role_and_content(Role::System, system)];
    let tools: Vec<ToolDescription> = list(&request["tools"])
        .map(|tool| {
            let parameters = Some(tool["parameters"].clone()).filter(|parameters| !parameters.is_null());
            ToolDescription::new(wire(&tool["name"]), text(&tool["description"]), parameters)
        })
        .collect();
    let instructions = text(&request["instructions"]);
    if !instructions.is_empty() || !tools.is_empty() {
        let mut developer = DeveloperContent::new();
        if !instructions.is_empty() {
            developer = developer.with_instructions(instructions);
        }
        if !tools.is_empty() {
            developer = developer.with_function_tools(tools);
        }
        messages.push(Message::from_role_and_content(Role::Developer, developer));
    }
    for message in list(&request["messages"]) {
        add(&mut messages, message);
    }
    // Its defaults, whose type has no public name, drop the reasoning of earlier turns.
    let tokens =
        encoding.render_conversation_for_completion(&messages, Role::Assistant, Some(&Default::default()))?;
    Ok(encoding.tokenizer().decode_utf8(&tokens)?)
}

fn add(messages: &mut Vec<Message>, message: &Value) {
    let reply = text(&message["text"]);
    match message["role"].as_str() {
        Some("user") => messages.push(Message::from_role_and_content(Role::User, reply)),
        Some("tool") => {
            let author = Author::new(Role::Tool, format!("functions.{}", wire(&message["name"])));
            let result = Message::from_author_and_content(author, reply);
            messages.push(result.with_recipient("assistant").with_channel("commentary"));
        }
        _ => {
            let parts = [
                ("analysis", text(&message["reasoning"])),
                ("commentary", text(&message["preamble"])),
                ("final", reply),
            ];
            for (channel, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
                messages.push(Message::from_role_and_content(Role::Assistant, part).with_channel(channel));
            }
            for call in list(&message["calls"]) {
                let arguments = call["arguments"].to_string();
                let call = Message::from_role_and_content(Role::Assistant, arguments)
                    .with_recipient(format!("functions.{}", wire(&call["name"])))
                    .with_channel("commentary")
                    .with_content_type("<|constrain|>json");
                messages.push(call);
            }
        }
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn wire(name: &Value) -> String {
    text(name).replace('.', "_")
}
