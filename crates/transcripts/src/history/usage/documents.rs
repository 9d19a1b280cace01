//! Amp, Cline and Factory Droid: a JSON document with the usage of a session.

use super::fields::Fields;
use crate::history::requests::{FoundUsage, RequestUsage, UsageFlags, key};
use crate::{
    history::{
        formats::cline::SHOWN,
        log::{
            lines::{self, Lines},
            log_file::LogFile,
        },
    },
    limits,
};
use openagents_core::{budget::Budget, file, usage::Tokens};
use serde_json::value::RawValue;
use std::{collections::HashMap, io, path::Path};

fn read(path: &Path) -> io::Result<String> {
    Ok(file::text(&file::read_document(path, limits::DOCUMENT)?).into_owned())
}

/// Reads a file that a session may not have.
fn read_if_there(path: &Path) -> io::Result<Option<String>> {
    match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        text => text.map(Some),
    }
}

/// Returns the objects of a list, with their places in it.
fn listed(json: &str) -> impl Iterator<Item = (usize, Fields<'_>)> {
    let items = serde_json::from_str::<Vec<&RawValue>>(json).unwrap_or_default();
    items.into_iter().enumerate().filter_map(|(at, item)| Some((at, Fields::parse(item.get())?)))
}

/// Amp's ledger has all requests, those for titles too; only the messages have the cache. A credit is a cent.
pub(crate) fn amp(log: &LogFile, _: &Budget) -> io::Result<FoundUsage> {
    let text = read(&log.path)?;
    let mut found = FoundUsage::default();
    let Some(thread) = Fields::parse(&text) else { return Ok(found) };
    let session = thread.name("id").unwrap_or_else(|| log.id.clone());
    let trees =
        thread.object("env").and_then(|env| env.object("initial")).map(|initial| initial.objects("trees"));
    let uri = trees.unwrap_or_default().first().and_then(|tree| tree.name("uri"));
    let workspace = uri.map(|uri| uri.strip_prefix("file://").unwrap_or(&uri).to_owned());
    let created = thread.time("created");
    let request =
        |id: &str, at: Option<i64>, model: Option<String>, usage: [u64; 4], reported| RequestUsage {
            key: key(&["amp", &session, id]),
            at: at.unwrap_or(0),
            model,
            workspace: workspace.clone(),
            tokens: Tokens {
                input: usage[0],
                cache_read: usage[1],
                cache_write: usage[2],
                output: usage[3],
                ..Tokens::default()
            },
            reported,
            ..RequestUsage::default()
        };
    let mut of_messages = HashMap::new();
    for message in thread.objects("messages") {
        let (Some(usage), Some(id)) = (message.object("usage"), message.get("messageId")) else { continue };
        let sent = message.object("meta").and_then(|meta| meta.time("sentAt"));
        let at = sent.or_else(|| usage.time("timestamp")).or(created);
        of_messages.insert(id, (usage, at));
    }
    let events = thread.object("usageLedger").map(|ledger| ledger.objects("events")).unwrap_or_default();
    for event in events {
        let is_inference = event.text("operationType").as_deref() == Some("inference");
        let message = event.get("toMessageId").filter(|_| is_inference).and_then(|id| of_messages.remove(id));
        let (cache, _) = message.unwrap_or_default();
        let tokens = event.object("tokens").unwrap_or_default();
        let usage = [
            tokens.count("input"),
            cache.count("cacheReadInputTokens"),
            cache.count("cacheCreationInputTokens"),
            tokens.count("output"),
        ];
        let id = event.get("id").unwrap_or_default();
        found.add(request(
            id,
            event.time("timestamp"),
            event.text("model"),
            usage,
            event.cost("credits", -2),
        ));
    }
    for (id, (usage, at)) in of_messages {
        let names = ["inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens"];
        let tokens = names.map(|name| usage.count(name));
        found.add(request(id, at, usage.text("model"), tokens, usage.cost("credits", -2)));
    }
    found.session = Some(session);
    Ok(found)
}

/// Cline's name of a provider; `openai` is any compatible server, whose prices are unknown.
fn cline_provider(name: &str) -> Option<&'static str> {
    [("anthropic", "anthropic"), ("openai-native", "openai"), ("gemini", "google")]
        .into_iter()
        .find_map(|(cline, provider)| (cline == name).then_some(provider))
}

pub(crate) fn cline(log: &LogFile, _: &Budget) -> io::Result<FoundUsage> {
    let mut found = FoundUsage::default();
    let shown = log.path.with_file_name(SHOWN);
    if let Some(text) = read_if_there(&shown)? {
        let (mut model, mut provider) = (None, None);
        for (at, message) in listed(&text) {
            let info = message.object("modelInfo").unwrap_or_default();
            model = info.name("modelId").or(model);
            provider = info.name("providerId").or(provider);
            let said = message.text("say").unwrap_or_default();
            if !["api_req_started", "deleted_api_reqs"].contains(&said.as_str()) {
                continue;
            }
            let text = message.text("text").unwrap_or_default();
            let Some(usage) = Fields::parse(&text) else { continue };
            let time = message.get("ts").unwrap_or_default();
            found.add(RequestUsage {
                key: key(&["cline", &log.id, time, &at.to_string()]),
                at: message.time("ts").unwrap_or(0),
                model: model.clone(),
                model_provider: provider.as_deref().and_then(cline_provider).map(str::to_owned),
                tokens: Tokens {
                    input: usage.count("tokensIn"),
                    cache_read: usage.count("cacheReads"),
                    cache_write: usage.count("cacheWrites"),
                    output: usage.count("tokensOut"),
                    ..Tokens::default()
                },
                reported: usage.cost("cost", 0),
                ..RequestUsage::default()
            });
        }
        return Ok(found);
    }
    let text = read(&log.path)?;
    let conversation = Fields::parse(&text).and_then(|document| document.get("messages")).unwrap_or(&text);
    for (at, message) in listed(conversation) {
        let Some(metrics) = message.object("metrics") else { continue };
        let tokens = metrics.object("tokens").unwrap_or_default();
        let info = message.object("modelInfo").unwrap_or_default();
        let cached = tokens.count("cached");
        found.add(RequestUsage {
            key: key(&["cline", &log.id, "message", &at.to_string()]),
            at: message.time("ts").unwrap_or(0),
            model: info.text("modelId"),
            model_provider: info.text("providerId").as_deref().and_then(cline_provider).map(str::to_owned),
            tokens: Tokens {
                input: tokens.count("prompt").saturating_sub(cached),
                cache_read: cached,
                output: tokens.count("completion"),
                ..Tokens::default()
            },
            reported: metrics.cost("cost", 0),
            ..RequestUsage::default()
        });
    }
    Ok(found)
}

/// A file next to the log has the sum of the session.
pub(crate) fn droid(log: &LogFile, budget: &Budget) -> io::Result<FoundUsage> {
    let mut found = FoundUsage::default();
    let settings = read_if_there(&log.path.with_extension("settings.json"))?;
    let Some(text) = settings else { return Ok(found) };
    let Some(settings) = Fields::parse(&text) else { return Ok(found) };
    let Some(usage) = settings.object("tokenUsage") else { return Ok(found) };
    let (mut last, mut workspace) = (0, None);
    let mut lines = Lines::new(lines::open(&log.path)?, limits::SUMMARY_LINE, u64::MAX);
    while let Some(line) = lines.next(budget)? {
        let Some(line) = Fields::of_line(line.bytes) else { continue };
        workspace = workspace.or_else(|| line.name("cwd"));
        last = last.max(line.time("timestamp").unwrap_or(0));
    }
    found.add(RequestUsage {
        key: key(&["droid", &log.id]),
        at: last,
        model: settings.text("model"),
        workspace,
        tokens: Tokens {
            input: usage.count("inputTokens"),
            cache_read: usage.count("cacheReadTokens"),
            cache_write: usage.count("cacheCreationTokens"),
            output: usage.count("outputTokens"),
            reasoning: usage.count("thinkingTokens"),
            ..Tokens::default()
        },
        flags: UsageFlags::WHOLE_SESSION,
        ..RequestUsage::default()
    });
    Ok(found)
}
