//! The log lines of six agents for one turn: a prompt, an answer, a call and its result.

use super::{
    log::Log,
    text::{Dice, Pool},
};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Bytes of a turn's texts. Together with [`RESULT`] they determine the share of text that `main.rs` prints.
const PROMPT: usize = 200;
const ANSWER: usize = 600;
const ARGUMENTS: usize = 150;
/// Bytes of a tool's result.
const RESULT: usize = 6_000;
/// Bytes of text that a turn adds.
pub(crate) const TEXT: usize = PROMPT + ANSWER + ARGUMENTS;
/// Approximate bytes that a turn adds to a log.
pub(crate) const TURN: usize = TEXT + RESULT + 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agent {
    Claude,
    Codex,
    Gemini,
    Copilot,
    Qwen,
    OpenCode,
}

#[derive(Debug)]
pub(crate) struct Session<'a> {
    pub(crate) number: usize,
    pub(crate) cwd: String,
    /// Milliseconds since the epoch.
    pub(crate) at: i64,
    pub(crate) bytes: u64,
    pub(crate) pool: &'a Pool,
    pub(crate) dice: Dice,
    /// Tokens of all turns so far.
    pub(crate) total: usize,
}

pub(crate) struct Turn<'a> {
    pub(crate) number: usize,
    pub(crate) prompt: String,
    pub(crate) answer: &'a str,
    pub(crate) command: &'a str,
    pub(crate) output: &'a str,
    pub(crate) time: String,
    pub(crate) millis: i64,
    pub(crate) tokens: usize,
    /// With those of the turns before.
    pub(crate) total: usize,
}

impl<'a> Session<'a> {
    pub(crate) fn id(&self) -> String {
        format!("01990000-0000-4000-8000-{:012x}", self.number)
    }

    pub(crate) fn turn(&mut self, number: usize) -> Turn<'a> {
        let pool = self.pool;
        let millis = self.at + number as i64 * 20_000;
        let tokens = 100 + self.dice.roll(9_000);
        self.total += tokens;
        let rare = format!("topic{}x{}", self.number, number);
        Turn {
            number,
            prompt: format!("{} {rare}", pool.prose(&mut self.dice, PROMPT - rare.len())),
            answer: pool.prose(&mut self.dice, ANSWER),
            command: pool.prose(&mut self.dice, ARGUMENTS),
            output: pool.output(&mut self.dice, RESULT),
            time: jiff::Timestamp::from_millisecond(millis).map(|at| at.to_string()).unwrap_or_default(),
            millis,
            tokens,
            total: self.total,
        }
    }

    /// Writes the session into the agent's folder below `home`.
    pub(crate) fn write(mut self, agent: Agent, home: &Path) -> Result<()> {
        let mut log = Log::create(&self.path(agent, home), self.at)?;
        let first = jiff::Timestamp::from_millisecond(self.at)?;
        let (id, cwd) = (self.id(), self.cwd.clone());
        match agent {
            Agent::Codex => log.line(&format!(
                r#"{{"timestamp":"{first}","type":"session_meta","payload":{{"id":"{id}","timestamp":"{first}","cwd":"{cwd}","originator":"codex_cli_rs","cli_version":"0.150.0","source":"cli","model_provider":"openai","git":{{"branch":"main"}}}}}}"#
            ))?,
            Agent::Gemini => log.line(&format!(
                r#"{{"sessionId":"{id}","projectHash":"9a1b","startTime":"{first}","lastUpdated":"{first}","kind":"main"}}"#
            ))?,
            Agent::Copilot => log.line(&format!(
                r#"{{"type":"session.start","data":{{"sessionId":"{id}","version":1,"producer":"copilot-agent","copilotVersion":"1.0.60","startTime":"{first}","context":{{"cwd":"{cwd}","branch":"main"}}}},"id":"e0","timestamp":"{first}","parentId":null}}"#
            ))?,
            Agent::Claude | Agent::Qwen | Agent::OpenCode => {}
        }
        for number in 0.. {
            let turn = self.turn(number);
            match agent {
                Agent::Claude => claude(&mut log, &id, &cwd, &turn)?,
                Agent::Codex => codex(&mut log, &id, &turn)?,
                Agent::Gemini => gemini(&mut log, &turn)?,
                Agent::Copilot => copilot(&mut log, &turn)?,
                Agent::Qwen => qwen(&mut log, &id, &cwd, &turn)?,
                Agent::OpenCode => unreachable!("written into its database"),
            }
            if log.written >= self.bytes {
                break;
            }
        }
        log.close()
    }

    fn path(&self, agent: Agent, home: &Path) -> PathBuf {
        let (id, slug) = (self.id(), self.cwd.replace('/', "-"));
        match agent {
            Agent::Claude => home.join(format!(".claude/projects/{slug}/{id}.jsonl")),
            Agent::Codex => home.join(format!(
                ".codex/sessions/2026/10/{:02}/rollout-2026-10-{0:02}T10-00-00-{id}.jsonl",
                1 + self.number % 28
            )),
            Agent::Gemini => {
                // The first eight characters of the ids would all be the same.
                let short = format!("{:08x}", self.number);
                home.join(format!(".gemini/tmp/{}/chats/session-2026-10-01T10-00-{short}.jsonl", &slug[1..]))
            }
            Agent::Copilot => home.join(format!(".copilot/session-state/{id}/events.jsonl")),
            Agent::Qwen => home.join(format!(".qwen/projects/{slug}/chats/{id}.jsonl")),
            Agent::OpenCode => home.join(".local/share/opencode/opencode.db"),
        }
    }
}

fn claude(log: &mut Log, id: &str, cwd: &str, turn: &Turn<'_>) -> Result<()> {
    let Turn { number, prompt, answer, command, output, time, tokens, .. } = turn;
    let line = |part: u32, kind: &str, rest: String| {
        format!(
            r#"{{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"{cwd}","sessionId":"{id}","version":"2.1.230","gitBranch":"main","type":"{kind}","uuid":"{number:08x}-{part:04x}-4000-8000-{}","timestamp":"{time}",{rest}}}"#,
            &id[24..]
        )
    };
    let reply = |content: String| {
        // A message has a line for each of its parts, all with the same id and usage.
        format!(
            r#""message":{{"id":"msg_{number:012}{}","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{content}],"stop_reason":"tool_use","usage":{{"input_tokens":{},"cache_creation_input_tokens":{tokens},"cache_read_input_tokens":{},"output_tokens":{}}}}},"requestId":"req_{number}_{0}""#,
            &id[24..],
            tokens / 50,
            tokens * 7,
            tokens / 9
        )
    };
    log.line(&line(1, "user", format!(r#""message":{{"role":"user","content":"{prompt}"}},"promptSource":"typed","origin":{{"kind":"human"}}"#)))?;
    log.line(&line(2, "assistant", reply(format!(r#"{{"type":"text","text":"{answer}"}}"#))))?;
    log.line(&line(
        3,
        "assistant",
        reply(format!(
            r#"{{"type":"tool_use","id":"toolu_{number}","name":"Bash","input":{{"command":"{command}"}}}}"#
        )),
    ))?;
    log.line(&line(
        4,
        "user",
        format!(
            r#""message":{{"role":"user","content":[{{"tool_use_id":"toolu_{number}","type":"tool_result","content":"{output}"}}]}},"toolUseResult":{{"stdout":"","stderr":"","interrupted":false}}"#
        ),
    ))
}

fn codex(log: &mut Log, id: &str, turn: &Turn<'_>) -> Result<()> {
    let Turn { number, prompt, answer, command, output, time, tokens, total, .. } = turn;
    let (answers, all_answers) = (tokens / 10, total / 10);
    let mut item = |kind: &str, payload: String| {
        log.line(&format!(r#"{{"timestamp":"{time}","type":"{kind}","payload":{{{payload}}}}}"#))
    };
    item(
        "turn_context",
        format!(r#""turn_id":"{number:08x}-{}","cwd":"/w","model":"gpt-5-codex""#, &id[9..]),
    )?;
    item(
        "response_item",
        format!(r#""type":"message","role":"user","content":[{{"type":"input_text","text":"{prompt}"}}]"#),
    )?;
    item("event_msg", format!(r#""type":"user_message","message":"{prompt}""#))?;
    item(
        "response_item",
        format!(
            r#""type":"function_call","name":"exec_command","call_id":"call_{number}","arguments":"{{\"cmd\":\"{command}\"}}""#
        ),
    )?;
    item(
        "response_item",
        format!(r#""type":"function_call_output","call_id":"call_{number}","output":"{output}""#),
    )?;
    item("event_msg", format!(r#""type":"agent_message","message":"{answer}""#))?;
    item(
        "response_item",
        format!(
            r#""type":"message","role":"assistant","content":[{{"type":"output_text","text":"{answer}"}}]"#
        ),
    )?;
    item(
        "event_msg",
        format!(
            r#""type":"token_count","info":{{"total_token_usage":{{"input_tokens":{total},"cached_input_tokens":0,"output_tokens":{all_answers},"reasoning_output_tokens":0,"total_tokens":{}}},"last_token_usage":{{"input_tokens":{tokens},"cached_input_tokens":0,"output_tokens":{answers},"reasoning_output_tokens":0,"total_tokens":{}}}}}"#,
            total + all_answers,
            tokens + answers
        ),
    )
}

fn gemini(log: &mut Log, turn: &Turn<'_>) -> Result<()> {
    let Turn { number, prompt, answer, command, output, time, .. } = turn;
    log.line(&format!(
        r#"{{"id":"u{number}","timestamp":"{time}","type":"user","content":[{{"text":"{prompt}"}}]}}"#
    ))?;
    log.line(&format!(
        r#"{{"id":"g{number}","timestamp":"{time}","type":"gemini","content":"{answer}","thoughts":[],"tokens":{{"input":90,"output":7,"total":97}},"model":"gemini-x","toolCalls":[{{"id":"t{number}","name":"run_shell_command","args":{{"command":"{command}"}},"status":"success","timestamp":"{time}","result":[{{"functionResponse":{{"id":"t{number}","name":"run_shell_command","response":{{"output":"{output}"}}}}}}]}}]}}"#
    ))
}

fn copilot(log: &mut Log, turn: &Turn<'_>) -> Result<()> {
    let Turn { number, prompt, answer, command, output, time, .. } = turn;
    let mut event = |kind: &str, part: u32, data: String| {
        log.line(&format!(
            r#"{{"type":"{kind}","data":{{{data}}},"id":"e{number}-{part}","timestamp":"{time}","parentId":null}}"#
        ))
    };
    event("user.message", 1, format!(r#""content":"{prompt}""#))?;
    event("assistant.message", 2, format!(r#""messageId":"m{number}","content":"{answer}""#))?;
    event(
        "tool.execution_start",
        3,
        format!(r#""toolCallId":"c{number}","toolName":"bash","arguments":{{"command":"{command}"}}"#),
    )?;
    event(
        "tool.execution_complete",
        4,
        format!(r#""toolCallId":"c{number}","success":true,"result":{{"content":"{output}"}}"#),
    )
}

fn qwen(log: &mut Log, id: &str, cwd: &str, turn: &Turn<'_>) -> Result<()> {
    let Turn { number, prompt, answer, command, output, time, .. } = turn;
    let mut line = |kind: &str, part: u32, rest: String| {
        log.line(&format!(
            r#"{{"uuid":"{number:08x}-{part:04x}-4000-8000-{}","parentUuid":null,"sessionId":"{id}","timestamp":"{time}","type":"{kind}","cwd":"{cwd}","version":"0.14.2","gitBranch":"main",{rest}}}"#,
            &id[24..]
        ))
    };
    line("user", 1, format!(r#""message":{{"role":"user","parts":[{{"text":"{prompt}"}}]}}"#))?;
    line(
        "assistant",
        2,
        format!(
            r#""model":"coder-x","message":{{"role":"model","parts":[{{"text":"{answer}"}},{{"functionCall":{{"id":"c{number}","name":"run_shell_command","args":{{"command":"{command}"}}}}}}]}},"usageMetadata":{{"promptTokenCount":800,"candidatesTokenCount":20,"totalTokenCount":824}}"#
        ),
    )?;
    line(
        "tool_result",
        3,
        format!(
            r#""message":{{"role":"user","parts":[{{"functionResponse":{{"id":"c{number}","name":"run_shell_command","response":{{"output":"{output}"}}}}}}]}},"toolCallResult":{{"callId":"c{number}","status":"success","resultDisplay":"ok"}}"#
        ),
    )
}
