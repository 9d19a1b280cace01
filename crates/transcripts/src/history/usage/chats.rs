//! Gemini CLI and Qwen Code: a message may be appended again, replaced or taken back, and was paid for once.

use super::fields::Fields;
use crate::history::requests::{FoundUsage, RequestUsage, key};
use crate::{
    history::{
        formats::{
            chats::workspace,
            qwen::{is_gemini_file, parent_of},
        },
        log::log_file::LogFile,
    },
    limits,
};
use openagents_core::{budget::Budget, file, usage::Tokens};
use std::{io, path::Path};

pub(crate) fn gemini(log: &LogFile, _: &Budget) -> io::Result<FoundUsage> {
    chats(log, "gemini", Some("google"))
}

/// Until 2025 Qwen Code wrote the files of Gemini CLI.
pub(crate) fn qwen(log: &LogFile, _: &Budget) -> io::Result<FoundUsage> {
    if is_gemini_file(&log.path) { chats(log, "qwen", None) } else { telemetry(log) }
}

/// Returns the tokens, from counts in which the prompt includes what was cached. Thoughts are in the output or beside it:
/// the total shows which.
fn tokens(usage: &Fields<'_>, [input, output, cached, thoughts, tool, total]: [&str; 6]) -> Tokens {
    let [input, output, cached, thoughts, tool, total] =
        [input, output, cached, thoughts, tool, total].map(|name| usage.count(name));
    let answer = match total {
        0 => output.saturating_add(thoughts),
        total => total.saturating_sub(input).saturating_sub(tool),
    };
    Tokens {
        input: input.saturating_sub(cached).saturating_add(tool),
        cache_read: cached,
        output: answer.max(output),
        reasoning: thoughts,
        ..Tokens::default()
    }
}

fn read(path: &Path) -> io::Result<String> {
    Ok(file::text(&file::read_document(path, limits::DOCUMENT)?).into_owned())
}

fn chats(log: &LogFile, agent: &str, model_provider: Option<&str>) -> io::Result<FoundUsage> {
    let mut found = FoundUsage::default();
    for path in log.files().oldest_first() {
        let text = read(path)?;
        let records: Vec<_> = match Fields::parse(&text) {
            Some(document) => vec![document],
            None => text.lines().filter_map(Fields::parse).collect(),
        };
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let session = records.iter().find_map(|record| record.name("sessionId")).unwrap_or(stem);
        let folder = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        // Those of a sub-agent are in a folder named after the session that started it.
        let starter = folder.filter(|name| name != "chats");
        let workspace = workspace(path).map(|path| path.to_string_lossy().into_owned());
        for record in records {
            let replaced = record.object("$set").map(|set| set.objects("messages")).unwrap_or_default();
            let mut messages = record.objects("messages");
            if messages.is_empty() {
                messages = replaced;
            }
            if messages.is_empty() {
                messages = vec![record];
            }
            for message in messages {
                let Some(usage) = message.object("tokens") else { continue };
                found.add(RequestUsage {
                    key: key(&[agent, &session, &message.text("id").unwrap_or_default()]),
                    at: message.time("timestamp").unwrap_or(0),
                    model: message.text("model"),
                    model_provider: model_provider.map(str::to_owned),
                    workspace: workspace.clone(),
                    tokens: tokens(&usage, ["input", "output", "cached", "thoughts", "tool", "total"]),
                    ..RequestUsage::default()
                });
            }
        }
        found.session = starter.or(Some(session));
    }
    Ok(found)
}

/// Reads the telemetry, which has requests that no message has; without it, the messages.
fn telemetry(log: &LogFile) -> io::Result<FoundUsage> {
    const EVENT: [&str; 6] = [
        "input_token_count",
        "output_token_count",
        "cached_content_token_count",
        "thoughts_token_count",
        "tool_token_count",
        "total_token_count",
    ];
    const USAGE: [&str; 6] = [
        "promptTokenCount",
        "candidatesTokenCount",
        "cachedContentTokenCount",
        "thoughtsTokenCount",
        "toolUsePromptTokenCount",
        "totalTokenCount",
    ];
    let (mut found, mut of_messages) = (FoundUsage::default(), FoundUsage::default());
    if parent_of(&log.path).is_some() {
        // The log of the session that started a sub-agent has its requests.
        return Ok(found);
    }
    let mut has_telemetry = false;
    for path in log.files().oldest_first() {
        let text = read(path)?;
        let mut workspace = None;
        for line in text.lines().filter_map(Fields::parse) {
            let at = line.time("timestamp");
            if found.born == 0 {
                found.born = at.unwrap_or(0);
            }
            workspace = workspace.or_else(|| line.name("cwd"));
            let uuid = line.text("uuid").unwrap_or_default();
            let request = |id: &str, model, tokens| RequestUsage {
                key: key(&["qwen", id]),
                at: at.unwrap_or(0),
                model,
                workspace: workspace.clone(),
                tokens,
                ..RequestUsage::default()
            };
            if let Some(event) = answered(&line) {
                has_telemetry = true;
                let id = event.name("response_id").unwrap_or(uuid);
                found.add(request(&id, event.text("model"), tokens(&event, EVENT)));
            } else if let Some(usage) = line.object("usageMetadata") {
                of_messages.add(request(&uuid, line.text("model"), tokens(&usage, USAGE)));
            }
        }
    }
    if !has_telemetry {
        found.requests = of_messages.requests;
    }
    Ok(found)
}

/// Returns the event about an answer of the model.
fn answered<'a>(line: &Fields<'a>) -> Option<Fields<'a>> {
    let event = line.object("systemPayload")?.object("uiEvent")?;
    let is_answer = event.text("event.name").is_some_and(|name| name.ends_with(".api_response"));
    (is_answer && line.text("subtype").as_deref() == Some("ui_telemetry")).then_some(event)
}
