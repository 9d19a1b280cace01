use super::*;
use crate::testing::program;
use openagents_core::{
    agent::{AccessLimits, AgentEvent, Conversation},
    agent_ids::CLAUDE_CODE,
    approval::{ApprovalOutcome, ApprovalRequest, Approvals},
    update::{RunState, SessionUpdate, ToolCallStatus, ToolContent},
};
use proptest::prelude::*;
use std::{sync::Mutex, time::Instant};

#[derive(Default)]
struct Host {
    updates: Mutex<Vec<SessionUpdate>>,
    remembered: Mutex<Vec<String>>,
}

impl Approvals for Host {
    fn ask(&self, _: ApprovalRequest, _: &CancellationToken) -> ApprovalOutcome {
        unreachable!("no approval is requested here")
    }
}

impl AgentHost for Host {
    fn emit(&self, event: AgentEvent) {
        let AgentEvent::Update(update) = event else { return };
        self.updates.lock().unwrap().push(update);
    }

    fn remember(&self, id: &str) {
        self.remembered.lock().unwrap().push(id.to_owned());
    }
}

impl Host {
    fn lines(&self) -> Vec<String> {
        let updates = self.updates.lock().unwrap();
        let line = |update: &SessionUpdate| match update {
            SessionUpdate::AgentMessage(message) if message.ended => {
                format!("ends {}", message.text).trim_end().to_owned()
            }
            SessionUpdate::AgentMessage(message) => format!("says {}", message.text),
            SessionUpdate::AgentThought(thought) => format!("thinks {}", thought.text),
            SessionUpdate::ToolCall(call) => {
                format!(
                    "{} {}{}",
                    call.name,
                    call.details.title.as_deref().unwrap(),
                    shown(&call.details.content)
                )
            }
            SessionUpdate::ToolCallUpdate(update) => match &update.status {
                ToolCallStatus::Started { .. } => "started".to_owned(),
                ToolCallStatus::Completed { .. } => format!("completed{}", shown(&update.details.content)),
                ToolCallStatus::Error { message } => {
                    format!("error {message}{}", shown(&update.details.content))
                }
                ToolCallStatus::Unchanged => "unchanged".to_owned(),
            },
            other => format!("{other:?}"),
        };
        updates.iter().map(line).collect()
    }
}

fn shown(content: &[ToolContent]) -> String {
    let piece = |piece: &ToolContent| match piece {
        ToolContent::Text { text } => format!(" [{text}]"),
        ToolContent::Diff { path, old_text, new_text, .. } => {
            format!(" [{path}: {old_text:?} → {new_text:?}]")
        }
        ToolContent::Terminal { output, exit_code, .. } => format!(" [{output:?} {exit_code:?}]"),
    };
    content.iter().map(piece).collect()
}

fn prompt(
    id: &str,
    script: &str,
    resume: Option<&str>,
    cancel: &CancellationToken,
) -> (PromptOutcome, Arc<Host>) {
    let folder = tempfile::tempdir().unwrap();
    let (agent, request) = agent(id, script, resume, folder.path());
    let host = Arc::new(Host::default());
    (agent.prompt(&request, host.clone(), cancel), host)
}

fn agent(
    id: &str,
    script: &str,
    resume: Option<&str>,
    folder: &std::path::Path,
) -> (CommandLine, AgentRequest) {
    let path = program(folder, "agent", script);
    let environment = Arc::new(Environment::default().with_path("/usr/bin:/bin"));
    let request = AgentRequest {
        session_id: "s".to_owned(),
        root: folder.to_owned(),
        text: "-do it".to_owned(),
        links: Vec::new(),
        transcript: Conversation::default(),
        resume: resume.map(str::to_owned),
        limits: AccessLimits::default(),
        may_change_approval_mode: false,
    };
    (CommandLine::new(id.to_owned(), "Agent".to_owned(), path, environment, None), request)
}

fn run(id: &str, script: &str) -> (PromptOutcome, Arc<Host>) {
    prompt(id, script, None, &CancellationToken::new())
}

fn print(lines: &str) -> String {
    format!("cat >/dev/null\ncat <<'END'\n{lines}\nEND")
}

/// Output of codex 0.169.
const CODEX_TURN: &str = r#"{"type":"thread.started","thread_id":"t-1"}
{"type":"turn.started"}
no json
{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata not found."}}
{"type":"item.completed","item":{"id":"item_1","type":"reasoning","text":"First look."}}
{"type":"item.started","item":{"id":"item_3","type":"command_execution","command":"/bin/bash -lc 'ls'","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_3","type":"command_execution","command":"/bin/bash -lc 'ls'","aggregated_output":"README.md\n","exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_4","type":"file_change","changes":[{"path":"/w/a.rs","kind":"update"}],"status":"completed"}}
{"type":"item.started","item":{"id":"item_6","type":"command_execution","command":"false","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_6","type":"command_execution","command":"false","aggregated_output":"no\n","exit_code":1,"status":"failed"}}
{"type":"item.completed","item":{"id":"item_8","type":"agent_message","text":"All done."}}
{"type":"turn.completed","usage":{"input_tokens":1055,"output_tokens":57}}"#;

/// Output of Claude Code 2.1.330.
const CLAUDE_TURN: &str = r#"{"type":"system","subtype":"init","session_id":"c-1","tools":["Bash"]}
{"type":"system","subtype":"thinking_tokens","estimated_tokens":2}
{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"First look."},{"type":"text","text":"Starting."}]}}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]}}
{"type":"user","message":{"content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"README.md","is_error":false}]}}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_2","name":"Edit","input":{"file_path":"/w/a.rs","old_string":"a","new_string":"b"}}]}}
{"type":"user","message":{"content":[{"tool_use_id":"toolu_2","type":"tool_result","content":[{"type":"text","text":"Edited."}]}]}}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_3","name":"Read","input":{"file_path":"/w/b.rs"}}]}}
{"type":"user","message":{"content":[{"tool_use_id":"toolu_3","type":"tool_result","content":"No such file","is_error":true}]}}
{"type":"assistant","message":{"content":[{"type":"text","text":"All done."}]}}
{"type":"result","subtype":"success","is_error":false,"result":"All done.","session_id":"c-1"}"#;

#[test]
fn parse_replaces_unpaired_surrogates() {
    let claude = br#"{"type":"assistant","message":{"content":[{"type":"text","text":"cut \ud83d"}]}}"#;
    let codex = br#"{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"cut \ud83d"}}"#;
    for events in [claude::parse_line(claude), codex::parse_line(codex)] {
        assert!(matches!(&events[..], [Event::Message(text)] if text == "cut \u{fffd}"), "{events:?}");
    }
}

#[test]
fn codex_turn_is_recorded() {
    let (outcome, host) = run(CODEX, &print(CODEX_TURN));
    assert_eq!((outcome.state, outcome.text.as_str()), (RunState::Complete, "All done."));
    assert_eq!(*host.remembered.lock().unwrap(), ["t-1"]);
    insta::assert_snapshot!(host.lines().join("\n"), @r#"
    thinks First look.
    command_execution /bin/bash -lc 'ls' ["" None]
    started
    completed ["README.md\n" Some(0)]
    file_change Edit /w/a.rs [- update /w/a.rs]
    completed
    command_execution false ["" None]
    started
    error exit code 1 ["no\n" Some(1)]
    says All done.
    ends
    "#);
}

#[test]
fn claude_code_turn_is_recorded() {
    let (outcome, host) = run(CLAUDE_CODE, &print(CLAUDE_TURN));
    assert_eq!((outcome.state, outcome.text.as_str()), (RunState::Complete, "All done."));
    assert_eq!(*host.remembered.lock().unwrap(), ["c-1"]);
    insta::assert_snapshot!(host.lines().join("\n"), @r#"
    thinks First look.
    says Starting.
    Bash ls ["" None]
    started
    completed [README.md]
    Edit Edit /w/a.rs [/w/a.rs: Some("a") → "b"]
    started
    completed
    Read Read /w/b.rs
    started
    error No such file [No such file]
    says All done.
    ends
    "#);
}

#[test]
fn prompt_uses_stdin_and_resumes_session() {
    let echo = r#"text=$(cat); printf '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"%s|%s"}}\n{"type":"turn.completed"}\n' "$*" "$text""#;
    let rows = [
        (None, "exec --json --skip-git-repo-check -|-do it"),
        (Some("t-1"), "exec resume --json --skip-git-repo-check t-1 -|-do it"),
    ];
    for (resume, expected) in rows {
        let (outcome, _) = prompt(CODEX, echo, resume, &CancellationToken::new());
        assert_eq!(outcome.text, expected);
    }
    let echo = r#"text=$(cat); printf '{"type":"assistant","message":{"content":[{"type":"text","text":"%s|%s"}]}}\n{"type":"result","subtype":"success"}\n' "$*" "$text""#;
    let (outcome, _) = prompt(CLAUDE_CODE, echo, Some("c-1"), &CancellationToken::new());
    assert_eq!(outcome.text, "-p --output-format stream-json --verbose --resume c-1|-do it");
}

#[test]
fn failed_turn_reports_reason_and_closes_calls() {
    let begins = r#"{"type":"item.started","item":{"id":"i","type":"command_execution","command":"x"}}"#;
    let rows = [
        (
            CODEX,
            format!("{}\necho 'out of luck' >&2; exit 3", print(begins)),
            "❌ Agent ended (exit code 3) before it had answered: out of luck",
        ),
        (
            CODEX,
            print(&format!("{begins}\n{}", r#"{"type":"turn.failed","error":{"message":"no model"}}"#)),
            "❌ Agent: no model",
        ),
        (
            CLAUDE_CODE,
            print(
                r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["no model"]}"#,
            ),
            "❌ Agent: no model",
        ),
        (CLAUDE_CODE, "exit 0".to_owned(), "❌ Agent ended (exit code 0) before it had answered"),
    ];
    for (id, script, expected) in rows {
        let (outcome, host) = run(id, &script);
        assert_eq!((outcome.state, outcome.text.as_str()), (RunState::Failed, expected));
        let report = host.lines();
        assert_eq!(report.last().map(String::as_str), Some(format!("ends {expected}").as_str()));
        let count = |start: &str| report.iter().filter(|line| line.starts_with(start)).count();
        assert_eq!(count("command_execution"), count("error the turn failed"), "{report:?}");
    }
}

#[test]
fn cancel_stops_program_and_children() {
    let folder = tempfile::tempdir().unwrap();
    let ids = folder.path().join("ids");
    let begins = r#"{"type":"item.started","item":{"id":"i","type":"command_execution","command":"x"}}"#;
    let script =
        format!("echo '{begins}'\nsleep 1000 & echo $! > {0}.new; mv {0}.new {0}; wait", ids.display());
    let cancel = CancellationToken::new();
    let (stop, watched) = (cancel.clone(), ids.clone());
    let started = Instant::now();
    let canceller = thread::spawn(move || {
        while !watched.exists() {
            assert!(started.elapsed() < Duration::from_secs(60));
            thread::sleep(CANCEL_CHECK);
        }
        // The line is printed before the file exists and is handled at once.
        thread::sleep(CANCEL_CHECK * 5);
        stop.cancel();
    });
    let (outcome, host) = prompt(CODEX, &script, None, &cancel);
    canceller.join().unwrap();
    assert_eq!(outcome.state, RunState::Cancelled);
    let report = host.lines();
    assert_eq!(report[report.len() - 2..], ["error cancelled", "ends Cancelled."]);
    let id = std::fs::read_to_string(ids).unwrap();
    let process = std::path::Path::new("/proc").join(id.trim());
    while process.exists() {
        assert!(started.elapsed() < Duration::from_secs(60), "{id} still runs");
        thread::sleep(CANCEL_CHECK);
    }
}

/// Regression: a program whose turn had been cancelled was left running when OpenAgents ended.
#[test]
fn shut_down_kills_program_ignoring_sigterm() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap '' TERM; echo $$ > id.new; mv id.new id; while [ -e id ]; do sleep 0.1; done";
    let (agent, request) = agent(CODEX, script, None, folder.path());
    let cancel = CancellationToken::new();
    let file = folder.path().join("id");
    thread::scope(|scope| {
        let turn = scope.spawn(|| agent.prompt(&request, Arc::new(Host::default()), &cancel));
        let started = Instant::now();
        while !file.exists() {
            assert!(started.elapsed() < Duration::from_secs(60));
            thread::sleep(CANCEL_CHECK);
        }
        cancel.cancel();
        assert_eq!(turn.join().unwrap().state, RunState::Cancelled);
    });
    agent.shut_down();
    let id = std::fs::read_to_string(file).unwrap();
    let state = Command::new("ps").args(["-o", "state=", "-p", id.trim()]).output().unwrap().stdout;
    let state = String::from_utf8(state).unwrap();
    assert!(state.trim().is_empty() || state.starts_with('Z'), "it is in the state {state}");
}

#[test]
fn endless_line_fails_the_turn() {
    let (outcome, _) = run(CODEX, "exec tr '\\0' x < /dev/zero");
    assert_eq!(outcome.text, "❌ Agent printed a line of more than 16 MB");
}

proptest! {
    #[test]
    fn parse_never_panics(line in ".*", at in 0..CODEX_TURN.len(), byte: u8) {
        codex::parse_line(line.as_bytes());
        claude::parse_line(line.as_bytes());
        for turn in [CODEX_TURN, CLAUDE_TURN] {
            let mut damaged = turn.as_bytes().to_vec();
            let at = at % damaged.len();
            damaged[at] = byte;
            for line in damaged.split(|byte| *byte == b'\n') {
                codex::parse_line(line);
                claude::parse_line(line);
            }
        }
    }
}
