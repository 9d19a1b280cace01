//! pi, OpenClaw and Copilot CLI: lines that each report usage.

use super::fields::Fields;
use crate::history::requests::{FoundUsage, LineReader, RequestUsage, UsageFlags, UsageLimit, key};
use crate::{
    history::log::{
        lines::{self, Lines},
        log_file::LogFile,
    },
    limits,
};
use memchr::memmem;
use openagents_core::{
    budget::Budget,
    usage::{Picodollars, Tokens},
};
use serde::{Deserialize, Serialize};
use std::{io, path::Path};

#[derive(Debug, Default, Serialize, Deserialize)]
struct PiReader {
    agent: String,
    born: Option<i64>,
    cwd: Option<String>,
    session: Option<String>,
}

pub(crate) fn pi(_: &Path, _: &str, state: Option<&str>) -> Box<dyn LineReader> {
    Box::new(PiReader::restored("pi", state))
}

pub(crate) fn openclaw(_: &Path, _: &str, state: Option<&str>) -> Box<dyn LineReader> {
    Box::new(PiReader::restored("openclaw", state))
}

impl PiReader {
    fn restored(agent: &str, state: Option<&str>) -> Self {
        let restored = state.and_then(|state| serde_json::from_str(state).ok());
        restored.unwrap_or_else(|| Self { agent: agent.to_owned(), ..Self::default() })
    }
}

impl LineReader for PiReader {
    fn line(&mut self, line: &[u8], found: &mut FoundUsage) {
        let words = [&b"\"usage\""[..], b"\"session\""];
        if self.born.is_some() && !words.iter().any(|word| memmem::find(line, word).is_some()) {
            return;
        }
        let Some(line) = Fields::of_line(line) else { return };
        let at = line.time("timestamp");
        self.born = self.born.or(at);
        if line.text("type").as_deref() == Some("session") {
            self.cwd = self.cwd.take().or_else(|| line.name("cwd"));
            self.session = line.name("id").or(self.session.take());
        }
        let Some(message) = line.object("message") else { return };
        let Some(usage) = message.object("usage") else { return };
        let (input, output) = (usage.count("input"), usage.count("output"));
        let [id, time] = ["id", "timestamp"].map(|name| line.get(name).unwrap_or_default());
        found.add(RequestUsage {
            key: key(&[&self.agent, id, time, &input.to_string(), &output.to_string()]),
            at: at.unwrap_or(0),
            model: message.text("model"),
            model_provider: message.text("provider"),
            workspace: self.cwd.clone(),
            tokens: Tokens {
                input,
                cache_read: usage.count("cacheRead"),
                cache_write: usage.count("cacheWrite"),
                output,
                ..Tokens::default()
            },
            reported: usage.object("cost").and_then(|cost| cost.cost("total", 0)),
            ..RequestUsage::default()
        });
    }

    fn state(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    fn finish(&self, found: &mut FoundUsage) {
        found.born = self.born.unwrap_or(0);
        found.session.clone_from(&self.session);
        found.workspace.clone_from(&self.cwd);
    }
}

/// Copilot CLI reports the usage when a session ends: what was used since its last start. Of the answers after that it
/// reports only the output.
pub(crate) fn copilot(log: &LogFile, budget: &Budget) -> io::Result<FoundUsage> {
    let mut found = FoundUsage::default();
    let mut lines = Lines::new(lines::open(&log.path)?, limits::SUMMARY_LINE, u64::MAX);
    let (mut cwd, mut running, mut number) = (None, Vec::new(), 0_usize);
    let mut premium = Picodollars::default();
    while let Some(line) = lines.next(budget)? {
        let Some(line) = Fields::of_line(line.bytes) else { continue };
        let place = number.to_string();
        number += 1;
        let data = line.object("data").unwrap_or_default();
        let request = RequestUsage {
            at: line.time("timestamp").unwrap_or(0),
            workspace: cwd.clone(),
            ..RequestUsage::default()
        };
        match line.text("type").as_deref() {
            Some("session.start" | "session.resume") => {
                cwd = data.object("context").and_then(|context| context.name("cwd")).or(cwd);
            }
            Some("assistant.message") => {
                let id = data.name("messageId").unwrap_or(place);
                running.push(RequestUsage {
                    key: key(&["copilot", &log.id, &id]),
                    model: data.text("model"),
                    tokens: Tokens { output: data.count("outputTokens"), ..Tokens::default() },
                    flags: UsageFlags::AT_LEAST,
                    ..request
                });
            }
            Some("session.shutdown") => {
                let models = data.object("modelMetrics").unwrap_or_default();
                for (model, metrics) in models.members() {
                    let Some(usage) = metrics.object("usage") else { continue };
                    running.clear();
                    let (read, write) = (usage.count("cacheReadTokens"), usage.count("cacheWriteTokens"));
                    let input = usage.count("inputTokens");
                    // A number of requests, added up as exactly as money.
                    premium +=
                        metrics.object("requests").and_then(|it| it.cost("cost", 0)).unwrap_or_default();
                    found.add(RequestUsage {
                        key: key(&["copilot", &log.id, &place, model]),
                        model: Some(model.to_owned()),
                        tokens: Tokens {
                            input: input.saturating_sub(read).saturating_sub(write),
                            cache_read: read,
                            cache_write: write,
                            output: usage.count("outputTokens"),
                            reasoning: usage.count("reasoningTokens"),
                            ..Tokens::default()
                        },
                        // 10⁹ are a credit, which is a cent.
                        reported: metrics.cost("totalNanoAiu", -11),
                        flags: UsageFlags::WHOLE_SESSION,
                        ..request.clone()
                    });
                }
            }
            _ => {}
        }
    }
    running.into_iter().for_each(|request| found.add(request));
    if premium.0 > 0 {
        let premium_requests = Some(premium.to_string());
        found.limits.push(UsageLimit { name: log.id.clone(), premium_requests, ..UsageLimit::default() });
    }
    Ok(found)
}
