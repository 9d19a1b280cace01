//! Claude Code: each block of an assistant's message is a line, with the usage up to then.

use super::fields::Fields;
use crate::history::requests::{FoundUsage, LineReader, RequestUsage, UsageFlags, UsageLimit, key};
use memchr::memmem;
use openagents_core::{text::prefix, usage::Tokens};
use serde::{Deserialize, Serialize};
use std::{collections::VecDeque, path::Path};

/// Number of messages with ids of a gateway that are remembered: their lines follow each other closely.
const OPEN: usize = 64;

/// Maximum bytes of an agent's words about a limit.
const SAID: usize = 200;

/// The shortest id that Anthropic's API gives a message.
const MESSAGE_ID: usize = 20;

#[derive(Debug, Default, Serialize, Deserialize)]
struct ClaudeReader {
    born: Option<i64>,
    cwd: Option<String>,
    parent: Option<String>,
    /// The parent's id is in the lines, not in the path.
    is_flat: bool,
    /// Hashes of the ids of messages, and the key of each message.
    open: VecDeque<(i64, i64)>,
}

pub(crate) fn claude(log: &Path, id: &str, state: Option<&str>) -> Box<dyn LineReader> {
    let restored = state.and_then(|state| serde_json::from_str(state).ok());
    Box::new(restored.unwrap_or_else(|| {
        let subagents = log.ancestors().find(|folder| folder.ends_with("subagents"));
        let session = subagents.and_then(Path::parent).and_then(Path::file_name);
        let parent = session.map(|session| session.to_string_lossy().into_owned());
        let is_flat = parent.is_none() && id.starts_with("agent-");
        ClaudeReader { parent, is_flat, ..ClaudeReader::default() }
    }))
}

impl LineReader for ClaudeReader {
    fn line(&mut self, line: &[u8], found: &mut FoundUsage) {
        let is_known = self.born.is_some() && self.cwd.is_some() && !self.is_flat;
        // Quotes in text are escaped, so only keys and values match.
        let words = [&b"\"usage\""[..], b"\"isApiErrorMessage\"", b"\"rate_limit\""];
        if is_known && !words.iter().any(|word| memmem::find(line, word).is_some()) {
            return;
        }
        let Some(line) = Fields::of_line(line) else { return };
        let at = line.time("timestamp");
        self.born = self.born.or(at);
        self.cwd = self.cwd.take().or_else(|| line.name("cwd"));
        if self.is_flat {
            self.parent = line.name("sessionId").or(self.parent.take());
        }
        let Some(message) =
            line.object("message").filter(|_| line.text("type").as_deref() == Some("assistant"))
        else {
            return;
        };
        let at = at.unwrap_or(0);
        found.limits.extend(limit(&line, &message, at));
        let model = message.text("model");
        let Some(usage) = message.object("usage").filter(|_| model.as_deref() != Some("<synthetic>")) else {
            return;
        };
        let request_id = line.text("requestId");
        let uuid = line.text("uuid").unwrap_or_default();
        let id = message.name("id").unwrap_or_else(|| uuid.clone());
        let message_key = match id.starts_with("msg_") && id.len() >= MESSAGE_ID {
            true => key(&["claude-code", &id]),
            false => self.key_in_log(&id, request_id.as_deref(), &uuid),
        };
        let written = usage.object("cache_creation").unwrap_or_default();
        let (short, long) =
            (written.count("ephemeral_5m_input_tokens"), written.count("ephemeral_1h_input_tokens"));
        let is_split = short > 0 || long > 0;
        let details = usage.object("output_tokens_details").unwrap_or_default();
        let searches = usage.object("server_tool_use").unwrap_or_default();
        found.add(RequestUsage {
            key: message_key,
            attempt: key(&[request_id.as_deref().unwrap_or_default()]),
            at,
            model,
            model_provider: Some("anthropic".to_owned()),
            workspace: self.cwd.clone(),
            tokens: Tokens {
                input: usage.count("input_tokens"),
                cache_read: usage.count("cache_read_input_tokens"),
                cache_write: if is_split { short } else { usage.count("cache_creation_input_tokens") },
                cache_write_1h: long,
                output: usage.count("output_tokens"),
                reasoning: details.count("thinking_tokens"),
            },
            searches: searches.count("web_search_requests"),
            reported: None,
            flags: UsageFlags::default()
                .with(UsageFlags::AT_LEAST, message.get("stop_reason").is_none())
                .with(UsageFlags::FAST, usage.text("speed").as_deref() == Some("fast"))
                .with(UsageFlags::US, usage.text("inference_geo").as_deref() == Some("us")),
        });
    }

    fn state(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    fn finish(&self, found: &mut FoundUsage) {
        found.born = self.born.unwrap_or(0);
        // The requests of a sub-agent belong to the session that started it.
        found.session.clone_from(&self.parent);
        found.workspace.clone_from(&self.cwd);
    }
}

impl ClaudeReader {
    /// Returns the key of a message whose id may be used again in another log: a copy of the log has the same first
    /// line.
    fn key_in_log(&mut self, id: &str, request: Option<&str>, uuid: &str) -> i64 {
        let message = key(&[id, request.unwrap_or_default()]);
        if let Some((_, key)) = self.open.iter().find(|(open, _)| *open == message) {
            return *key;
        }
        let key = key(&["claude-code", "uuid", uuid]);
        self.open.push_back((message, key));
        if self.open.len() > OPEN {
            self.open.pop_front();
        }
        key
    }
}

/// Returns a limit that refused a request.
fn limit(line: &Fields<'_>, message: &Fields<'_>, at: i64) -> Option<UsageLimit> {
    let is_error = line.is_true("isApiErrorMessage");
    let texts: Vec<_> = message.objects("content").iter().filter_map(|block| block.text("text")).collect();
    let text = texts.join(" ");
    let reached =
        UsageLimit { name: "limit".to_owned(), seen_at: at, reached: true, ..UsageLimit::default() };
    let seconds = text.split_once("usage limit reached|").filter(|_| is_error).and_then(|(_, rest)| {
        let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        rest[..digits].parse::<i64>().ok().filter(|_| digits >= 9)
    });
    if let Some(seconds) = seconds {
        return Some(UsageLimit { resets_at: seconds.checked_mul(1000), ..reached });
    }
    let is_limit = line.text("error").as_deref() == Some("rate_limit")
        || is_error && line.count("apiErrorStatus") == 429;
    is_limit.then_some(UsageLimit { said: Some(prefix(&text, SAID).to_owned()), ..reached })
}
