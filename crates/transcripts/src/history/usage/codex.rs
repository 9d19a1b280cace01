//! Codex: counts with a running total, which is sent again unchanged and continues in a fork.

use super::fields::Fields;
use crate::history::requests::{FoundUsage, LineReader, RequestUsage, UsageLimit, key};
use openagents_core::usage::Tokens;
use regex::bytes::Regex;
use serde::{Deserialize, Serialize};
use std::{path::Path, sync::LazyLock};

/// The lines that matter. Others, such as compactions, may have megabytes.
static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        "token_count|token_usage_record|session_meta|turn_context|task_started|thread_settings_applied",
    )
    .ok()
});

/// Counts of a request, or of all requests up to one.
type Counts = [u64; 6];

const COUNTS: [&str; 6] = [
    "input_tokens",
    "cached_input_tokens",
    "cache_write_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
    "total_tokens",
];

fn counts(usage: &Fields<'_>) -> Counts {
    COUNTS.map(|name| usage.count(name))
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct CodexReader {
    born: Option<i64>,
    cwd: Option<String>,
    /// The directory in which the session began.
    workspace: Option<String>,
    model: Option<String>,
    model_provider: Option<String>,
    parent: Option<String>,
    turn: Option<String>,
    total: Option<Counts>,
    /// The session of the lines that follow: a fork quotes its parent's head before the lines that it copies.
    head: String,
    has_head: bool,
}

pub(crate) fn codex(_: &Path, id: &str, state: Option<&str>) -> Box<dyn LineReader> {
    let restored = state.and_then(|state| serde_json::from_str(state).ok());
    Box::new(restored.unwrap_or_else(|| CodexReader {
        head: id.to_owned(),
        model_provider: Some("openai".to_owned()),
        ..CodexReader::default()
    }))
}

impl LineReader for CodexReader {
    fn line(&mut self, line: &[u8], found: &mut FoundUsage) {
        if self.born.is_some() && WORDS.as_ref().is_some_and(|words| !words.is_match(line)) {
            return;
        }
        let Some(line) = Fields::of_line(line) else { return };
        let at = line.time("timestamp");
        self.born = self.born.or(at);
        let at = at.unwrap_or(0);
        let payload = line.object("payload").unwrap_or_default();
        match line.text("type").as_deref() {
            Some("session_meta") => self.head(&payload),
            Some("turn_context") => {
                self.cwd = payload.name("cwd").or(self.cwd.take());
                self.model = payload.name("model").or(self.model.take());
                self.turn = payload.name("turn_id").or(self.turn.take());
            }
            Some("token_usage_record") => {
                let after = payload.object("thread_token_usage").map(|usage| counts(&usage));
                let usage = payload.object("usage").map(|usage| counts(&usage));
                if let Some(usage) = usage.filter(|_| after.is_none() || after != self.total) {
                    let key = key(&["codex", "response", &payload.text("response_id").unwrap_or_default()]);
                    found.add(self.request(key, at, usage));
                }
                self.total = after.or(self.total);
            }
            Some("event_msg") => self.event(&payload, at, found),
            _ => {}
        }
    }

    fn state(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    fn finish(&self, found: &mut FoundUsage) {
        found.born = self.born.unwrap_or(0);
        found.parent.clone_from(&self.parent);
        found.workspace.clone_from(&self.workspace);
    }
}

impl CodexReader {
    fn head(&mut self, head: &Fields<'_>) {
        self.head = head.name("id").unwrap_or_else(|| std::mem::take(&mut self.head));
        if !std::mem::replace(&mut self.has_head, true) {
            self.cwd = head.text("cwd");
            self.workspace.clone_from(&self.cwd);
            self.model_provider = head.name("model_provider").or(self.model_provider.take());
            self.parent = parent(head);
        }
    }

    fn event(&mut self, event: &Fields<'_>, at: i64, found: &mut FoundUsage) {
        match event.text("type").as_deref() {
            Some("task_started") => self.turn = event.name("turn_id").or(self.turn.take()),
            Some("thread_settings_applied") => {
                let settings = event.object("thread_settings");
                self.model = settings.and_then(|it| it.name("model")).or(self.model.take());
            }
            Some("token_count") => {
                found.limits.extend(event.object("rate_limits").iter().flat_map(|it| limits(it, at)));
                let info = event.object("info").unwrap_or_default();
                let Some(after) = info.object("total_token_usage").map(|usage| counts(&usage)) else {
                    return;
                };
                if self.total == Some(after) {
                    return;
                }
                let before = self.total.unwrap_or_default();
                let usage = info.object("last_token_usage").map_or_else(
                    || std::array::from_fn(|at| after[at].saturating_sub(before[at])),
                    |usage| counts(&usage),
                );
                self.total = Some(after);
                let total = after.map(|count| count.to_string()).join(" ");
                let key = match &self.turn {
                    Some(turn) => key(&["codex", "turn", turn, &total]),
                    None => key(&["codex", "thread", &self.head, &total]),
                };
                found.add(self.request(key, at, usage));
            }
            _ => {}
        }
    }

    fn request(&self, key: i64, at: i64, [input, read, write, output, reasoning, _]: Counts) -> RequestUsage {
        let tokens = Tokens {
            input: input.saturating_sub(read).saturating_sub(write),
            cache_read: read,
            cache_write: write,
            output,
            reasoning,
            ..Tokens::default()
        };
        RequestUsage {
            key,
            at,
            model: self.model.clone(),
            model_provider: self.model_provider.clone(),
            workspace: self.cwd.clone(),
            tokens,
            ..RequestUsage::default()
        }
    }
}

/// Returns the thread that started this one. A fork is a separate session.
fn parent(head: &Fields<'_>) -> Option<String> {
    let source = head.object("source").filter(|source| source.get("subagent").is_some());
    let started = ["subagent", "guardian_review"];
    let is_started = head.text("thread_source").is_some_and(|source| started.contains(&source.as_str()));
    if source.is_none() && !is_started {
        return None;
    }
    let spawned = source.and_then(|source| source.object("subagent")?.object("thread_spawn"));
    match spawned {
        Some(spawned) => spawned.name("parent_thread_id"),
        None => head.name("parent_thread_id"),
    }
}

/// Reads the limits of any of three generations.
fn limits(limits: &Fields<'_>, at: i64) -> Vec<UsageLimit> {
    let name =
        limits.name("limit_name").or_else(|| limits.name("limit_id")).unwrap_or_else(|| "codex".to_owned());
    let oldest = limits.get("primary_used_percent").is_some();
    let limit = |slot: &str| {
        let window = limits.object(slot);
        let (percent, minutes) = match (oldest, &window) {
            (true, _) => (
                limits.number(&format!("{slot}_used_percent")),
                limits.count(&format!("{slot}_window_minutes")),
            ),
            (false, Some(window)) => (window.number("used_percent"), window.count("window_minutes")),
            (false, None) => (None, 0),
        };
        let window = window.filter(|_| !oldest).unwrap_or_default();
        let seconds =
            || window.number("resets_in_seconds").map(|seconds| at.saturating_add((seconds * 1000.0) as i64));
        (minutes > 0).then(|| UsageLimit {
            name: format!("{name} {minutes}m"),
            seen_at: at,
            used_percent: percent,
            window_minutes: Some(minutes),
            resets_at: window.time("resets_at").or_else(|| window.time("reset_at")).or_else(seconds),
            plan: limits.text("plan_type"),
            ..UsageLimit::default()
        })
    };
    ["primary", "secondary"].into_iter().filter_map(limit).collect()
}
