//! Opening a session.

use super::host::{Host, Scene, Setup, earlier};
use openagents_agents::acp::{AcpAgent, AcpAgentConfig, AcpTimeouts};
use openagents_core::{
    CancellationToken,
    agent::AgentProvider as _,
    update::{AgentPart, RunState},
};
use std::{sync::Arc, time::Duration};

fn scene(environment: &[(&str, &str)]) -> Scene {
    Setup { environment, ..Setup::default() }.scene(Host::with([]))
}

#[test]
fn agent_gets_workspace_and_filtered_environment() {
    let scene = scene(&[("FAKE_VARIABLE", "known")]);
    let root = scene.root.display();
    assert_eq!(scene.prompt("[[cwd]]").text, format!("{root} {root}"));
    assert_eq!(scene.prompt("[[env FAKE_VARIABLE]]").text, "known");
    for hidden in ["OPENAGENTS_TOKEN", "CARGO_PKG_NAME"] {
        assert_eq!(scene.prompt(&format!("[[env {hidden}]]")).text, "not set");
    }
}

#[test]
fn failed_start_is_explained() {
    let timeouts = AcpTimeouts { start: Duration::from_secs(1), ..AcpTimeouts::default() };
    type Row = (&'static [(&'static str, &'static str)], Option<&'static str>, &'static str);
    let rows: [Row; 5] = [
        (
            &[("FAKE_AGENT_SPREAD", "1")],
            None,
            "❌ Fake sends messages of several lines, and ACP wants each in one line; report this to its developers",
        ),
        (&[("FAKE_AGENT_SILENT", "1")], None, "❌ Fake did not answer initialize within 1 s and was stopped"),
        (
            &[("FAKE_AGENT_EXIT", "7")],
            None,
            "❌ Fake ended unexpectedly (exit code 7)\n\nIt said last:\n\n```\nfake-agent: told to exit\n```",
        ),
        (
            &[("FAKE_AGENT_AUTH", "1")],
            None,
            "❌ Fake wants you to log in first: Log in (Run `fake-agent login`)",
        ),
        (
            &[("FAKE_AGENT_AUTH", "1")],
            Some("run `fake login` in a terminal"),
            "❌ Fake wants you to log in first: run `fake login` in a terminal",
        ),
    ];
    for (environment, login, text) in rows {
        // Only the silent agent needs the short timeout; the others may be slow.
        let timeouts =
            if environment[0].0 == "FAKE_AGENT_SILENT" { timeouts } else { AcpTimeouts::default() };
        let login = login.map(str::to_owned);
        let scene = Setup { environment, timeouts, login, ..Setup::default() }.scene(Host::with([]));
        let outcome = scene.prompt("hello");
        assert_eq!((outcome.state, outcome.text.as_str()), (RunState::Failed, text));
    }
}

#[test]
fn missing_program_is_reported() {
    let scene = Scene::new();
    let agent = || {
        let command = || openagents_agents::acp::AcpCommand {
            program: "/nowhere/none".into(),
            args: Vec::new(),
            environment: Default::default(),
            added: Default::default(),
            cwd: None,
        };
        AcpAgent::new(AcpAgentConfig::new("custom:none", "None", Arc::new(command)))
    };
    let prompt = |agent: AcpAgent| {
        agent.prompt(&scene.request("hello"), scene.host.clone(), &CancellationToken::new()).text
    };
    let missing = prompt(agent());
    assert!(missing.starts_with("❌ None: cannot start /nowhere/none: No such file"), "{missing}");
}

#[test]
fn session_is_resumed_if_agent_supports_it() {
    type Row = (&'static [(&'static str, &'static str)], bool, Option<&'static str>);
    let rows: [Row; 4] = [
        (&[("FAKE_AGENT_LOAD", "1")], true, None),
        (&[("FAKE_AGENT_RESUME", "1")], true, None),
        (&[("FAKE_AGENT_LOAD", "fail")], false, Some("Resource not found")),
        (&[], false, Some("it keeps no sessions")),
    ];
    for (environment, resumes, note) in rows {
        let scene = scene(environment);
        let mut request = scene.request("[[session]]");
        request.resume = earlier();
        let outcome = scene.turn(&request, &CancellationToken::new());
        assert_eq!(outcome.text == "earlier prompt 1", resumes, "{}", outcome.text);
        assert_eq!(scene.host.remembered.lock().unwrap().is_empty(), resumes);
        let shown = scene.shown();
        assert!(!shown.contains("Replayed"), "{shown}");
        let expected = note
            .map(|why| format!("*Fake starts a new session and does not know what was said before: {why}.*"));
        match expected {
            Some(expected) => assert!(shown.contains(&expected), "{shown}"),
            None => assert!(!shown.contains("starts a new session"), "{shown}"),
        }
    }
}

/// Loading would destroy the agent's own session.
#[test]
fn agent_losing_loaded_sessions_gets_summary() {
    let environment = &[("FAKE_AGENT_LOAD", "1")];
    for (said_before, how) in [
        (Some("Earlier: fix it.\n\n"), "with a summary of this one"),
        (None, "and does not know what was said before"),
    ] {
        let scene = Setup { environment, never_loads: true, ..Setup::default() }.scene(Host::with([]));
        *scene.host.brief.lock().unwrap() = said_before.map(str::to_owned);
        let mut request = scene.request("go on");
        request.resume = earlier();
        let outcome = scene.turn(&request, &CancellationToken::new());
        assert_eq!(outcome.text, format!("You said: {}go on", said_before.unwrap_or_default()));
        assert_eq!(scene.host.remembered.lock().unwrap().len(), 1);
        let shown = scene.shown();
        let note =
            format!("*Fake starts a new session {how}: it can't open a session again without losing it.*");
        assert!(shown.contains(&note) && !shown.contains("Replayed"), "{shown}");
        // The note is shown only once.
        assert_eq!(scene.prompt("and on").text, "You said: and on");
    }
}

#[test]
fn file_reads_are_offered_unless_disabled() {
    for hides_files in [false, true] {
        let scene = Setup { hides_files, ..Setup::default() }.scene(Host::with([]));
        assert_eq!(scene.prompt("[[capability readTextFile]]").text, (!hides_files).to_string());
        assert_eq!(scene.prompt("[[capability writeTextFile]]").text, "true");
    }
}

/// Regression: messages before the session was open were dropped.
#[test]
fn early_updates_are_shown_with_first_answer() {
    let scene = scene(&[("FAKE_AGENT_EARLY", "1")]);
    assert_eq!(scene.prompt("[[say here]]").text, "here");
    let shown = scene.shown();
    assert!(shown.starts_with("says: Good morning.\ncall Start a server"), "{shown}");
    let states = scene.host.states.lock().unwrap().clone();
    let is_init =
        |part: &AgentPart| matches!(part, AgentPart::Commands(commands) if commands[0].name == "init");
    assert_eq!(states.iter().filter(|part| is_init(part)).count(), 1, "{states:?}");
    assert_eq!(scene.prompt("[[silence]]").text, "Done, no output.");
    assert_eq!(scene.shown().matches("Good morning.").count(), 1);
}

#[test]
fn slow_start_does_not_count_as_idle() {
    let timeouts = AcpTimeouts { idle: std::time::Duration::from_millis(1_000), ..AcpTimeouts::default() };
    let environment = &[("FAKE_AGENT_SLOW", "1500")];
    let scene = Setup { timeouts, environment, ..Setup::default() }.scene(Host::with([]));
    assert_eq!(scene.prompt("[[say here]]").text, "here");
    assert_eq!(scene.host.remembered.lock().unwrap().len(), 1, "it was started more than once");
}
