//! Starts an agent and reads its response to `initialize` and its login state.

use crate::{
    acp::{Incoming, SPREAD_MESSAGE, Spread, number, parse},
    capture::{end_group, wait_for_exit},
    limits::{
        CAPTURE_REST, INTRODUCTION, INTRODUCTION_BYTES, INTRODUCTION_CHECK, INTRODUCTION_ERRORS, LINES_AHEAD,
        LOGIN_STATE,
    },
    process::{Collected, Group, Line, exit_in_words, read_lines},
    version::last_line,
};
use openagents_core::CancellationToken;
use serde_json::{Value, json};
use std::{
    io::{Read as _, Write as _},
    process::{Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Instant,
};

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Introduction {
    /// The agent's name and version.
    pub(super) name: Option<String>,
    /// Capabilities such as `session/load` and `image`.
    pub(super) supports: Vec<String>,
    pub(super) logged_in: Option<bool>,
}

pub(super) fn introduce(command: &mut Command, cancel: &CancellationToken) -> Result<Introduction, String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (agent, streams) = Group::start(command).map_err(|error| format!("it does not start: {error}"))?;
    let errors = streams.stderr.and_then(|stream| Collected::first(stream, INTRODUCTION_ERRORS).ok());
    let mut input = streams.stdin;
    let request = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": 1, "clientCapabilities": {},
        "clientInfo": {"name": "openagents", "title": "OpenAgents", "version": env!("CARGO_PKG_VERSION")}}});
    // An agent that has exited gives the reason on standard error. Its input stays open: closing it ends an agent.
    let _ = input.as_mut().map(|input| writeln!(input, "{request}"));
    let lines = streams.stdout.and_then(|output| {
        read_lines(output.take(INTRODUCTION_BYTES as u64), INTRODUCTION_BYTES, LINES_AHEAD).ok()
    });
    let introduction = lines.map_or(Err(NoIntroduction::Ended), |lines| read_introduction(&lines, cancel));
    let ended = introduction.is_err().then(|| wait_for_exit(&agent, CAPTURE_REST, cancel)).flatten();
    end_group(&agent);
    introduction.map_err(|why| {
        let last = errors.and_then(|errors| last_line(&errors.bytes(CAPTURE_REST)));
        let how = match (why, ended) {
            (NoIntroduction::Ended, Some(status)) => {
                format!("it ended ({}) before it answered initialize", exit_in_words(status))
            }
            (NoIntroduction::Ended, None) => "it closed its output before it answered initialize".to_owned(),
            (NoIntroduction::Cancelled, _) => "the check was stopped".to_owned(),
            (NoIntroduction::Nothing, _) => {
                format!("it did not answer initialize within {} s", INTRODUCTION.as_secs())
            }
            (NoIntroduction::Refused(message), _) => format!("it refused initialize: {message}"),
            (NoIntroduction::Spread, _) => format!("it {SPREAD_MESSAGE}"),
        };
        last.map_or(how.clone(), |last| format!("{how}: {last}"))
    })
}

#[derive(Debug, PartialEq, Eq)]
enum NoIntroduction {
    Ended,
    Cancelled,
    Nothing,
    Refused(String),
    Spread,
}

fn read_introduction(
    answers: &Receiver<Line>,
    cancel: &CancellationToken,
) -> Result<Introduction, NoIntroduction> {
    let until = Instant::now() + INTRODUCTION;
    let answer = loop {
        if let Incoming::Response { id, result } = next_message(answers, until, cancel)?
            && number(&id) == Some(0)
        {
            break result;
        }
    };
    let refused = |message: &str| {
        NoIntroduction::Refused(message.chars().filter(|letter| !letter.is_control()).take(200).collect())
    };
    let result = &answer.map_err(|error| refused(&error.message))?;
    if result["protocolVersion"] != 1 {
        return Err(NoIntroduction::Refused(format!(
            "it speaks version {} of ACP, not 1",
            result["protocolVersion"]
        )));
    }
    let mut introduction = parse_introduction(result);
    if result["agentCapabilities"]["_meta"]["authStatus"].is_object() {
        introduction.logged_in = read_login_state(answers, cancel);
    }
    Ok(introduction)
}

/// Reads the login state, which the adapters of Codex and Claude Code send right after the response.
fn read_login_state(answers: &Receiver<Line>, cancel: &CancellationToken) -> Option<bool> {
    let until = Instant::now() + LOGIN_STATE;
    loop {
        if let Incoming::Notification { method, params } = next_message(answers, until, cancel).ok()?
            && method == "_auth/status_update"
        {
            return Some(params["authStatus"]["kind"].as_str()? != "none");
        }
    }
}

fn next_message(
    answers: &Receiver<Line>,
    until: Instant,
    cancel: &CancellationToken,
) -> Result<Incoming, NoIntroduction> {
    let mut spread = Spread::default();
    loop {
        if cancel.is_cancelled() {
            return Err(NoIntroduction::Cancelled);
        }
        let left = until.saturating_duration_since(Instant::now());
        match answers.recv_timeout(left.min(INTRODUCTION_CHECK)) {
            Ok(Line::Whole(line)) => match parse(&line) {
                Some(message) => return Ok(message),
                None if spread.completes(&line) => return Err(NoIntroduction::Spread),
                None => {}
            },
            Ok(Line::TooLong | Line::End) | Err(RecvTimeoutError::Disconnected) => {
                return Err(NoIntroduction::Ended);
            }
            Err(RecvTimeoutError::Timeout) if left.is_zero() => return Err(NoIntroduction::Nothing),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn parse_introduction(result: &Value) -> Introduction {
    let info = &result["agentInfo"];
    let text = |key: &str| {
        let text = info[key].as_str().filter(|text| !text.is_empty())?;
        Some(text.chars().filter(|letter| !letter.is_control()).take(100).collect::<String>())
    };
    let name = text("title").or_else(|| text("name"));
    let name = name.map(|name| text("version").map_or(name.clone(), |version| format!("{name} {version}")));
    let can = &result["agentCapabilities"];
    let mut supports = Vec::new();
    let mut note = |there: bool, what: &str| there.then(|| supports.push(what.to_owned()));
    note(can["loadSession"] == true, "session/load");
    for session in ["list", "resume", "fork", "close", "delete"] {
        note(can["sessionCapabilities"][session].is_object(), &format!("session/{session}"));
    }
    for content in ["image", "audio", "embeddedContext"] {
        note(can["promptCapabilities"][content] == true, content);
    }
    for transport in ["http", "sse"] {
        note(can["mcpCapabilities"][transport] == true, &format!("mcp/{transport}"));
    }
    Introduction { name, supports, logged_in: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{shell::Environment, testing::program};

    const ANSWERS: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"x","title":"An Agent","version":"1.2"},"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true,"audio":false},"sessionCapabilities":{"resume":{},"list":null},"mcpCapabilities":{"http":true},"_meta":{"authStatus":{}}}}}"#;
    const LOGGED_OUT: &str =
        r#"{"jsonrpc":"2.0","method":"_auth/status_update","params":{"authStatus":{"kind":"none"}}}"#;

    fn ask(script: &str) -> Result<Introduction, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = program(folder.path(), "agent", script);
        let environment = Environment::default().with_path("/usr/bin:/bin");
        introduce(&mut environment.command(&path), &CancellationToken::new())
    }

    #[test]
    fn introduce_reads_capabilities_and_login_state() {
        let log = r#"{"level":"info","id":0,"msg":"a log line with the id of the request"}"#;
        let reply =
            format!("read request; echo noise; echo '{log}'; echo '{ANSWERS}'; echo '{LOGGED_OUT}'; cat");
        let shown = ask(&reply);
        let expected = Introduction {
            name: Some("An Agent 1.2".to_owned()),
            supports: ["session/load", "session/resume", "image", "mcp/http"].map(str::to_owned).into(),
            logged_in: Some(false),
        };
        assert_eq!(shown, Ok(expected));
    }

    #[test]
    fn introduce_explains_missing_introduction() {
        let error = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-1,"message":"no"}}"#;
        let newer = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":2}}"#;
        let pretty =
            "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 0,\n  \"result\": {\n    \"protocolVersion\": 1\n  }\n}";
        let rows = [
            ("echo 'Error: no key' >&2; exit 3".to_owned(), ["exit code 3", "Error: no key"]),
            ("exec >&-; sleep 1000".to_owned(), ["closed its output", "initialize"]),
            (format!("read request; echo '{error}'; cat"), ["refused", ": no"]),
            (format!("read request; echo '{newer}'; cat"), ["version 2", "not 1"]),
            ("exec yes".to_owned(), ["initialize", "before"]),
            (format!("read request; echo '{pretty}'; cat"), ["several lines", "ACP"]),
        ];
        for (script, expected) in rows {
            let why = ask(&script).unwrap_err();
            assert!(expected.iter().all(|part| why.contains(part)), "{script}: {why}");
        }
        let why = introduce(&mut Command::new("/no/such/agent"), &CancellationToken::new()).unwrap_err();
        assert!(why.contains("does not start"), "{why}");
    }

    #[test]
    fn introduce_stops_on_cancel() {
        let (sender, answers) = std::sync::mpsc::channel();
        let cancel = CancellationToken::new();
        cancel.cancel();
        assert_eq!(read_introduction(&answers, &cancel), Err(NoIntroduction::Cancelled));
        assert_eq!(
            next_message(&answers, Instant::now(), &CancellationToken::new()),
            Err(NoIntroduction::Nothing)
        );
        drop(sender);
    }
}
