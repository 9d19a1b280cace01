//! Agents that violate the protocol or crash.

use super::host::{Host, Scene, Setup};
use openagents_core::{CancellationToken, agent::AgentProvider as _, update::RunState};

#[test]
fn invalid_messages_are_skipped() {
    let scene =
        Setup { environment: &[("FAKE_AGENT_BANNER", "1")], ..Setup::default() }.scene(Host::with([]));
    let outcome = scene.prompt(
        "[[bad-frame]] [[junk]] [[log]] [[unknown-response]] [[duplicate-response]] [[unknown-request]] [[long-line 1]]",
    );
    assert_eq!((outcome.state, outcome.text.as_str()), (RunState::Complete, "code -32601"));
    assert_eq!(scene.prompt("[[say still here]]").text, "still here");
}

#[test]
fn exit_is_reported_and_agent_restarts() {
    let rows = [
        ("[[crash]]", "❌ Fake ended unexpectedly (exit code 3)"),
        ("[[say a]] [[long-line 100]]", "❌ Fake sent a line of more than 16 MiB and was stopped"),
        (
            "[[open-call]] [[close-stdout]] [[silent]]",
            "❌ Fake closed its output while it ran and was stopped",
        ),
        ("[[junk-forever]]", "❌ Fake does not speak ACP (1000 invalid lines in a row) and was stopped"),
    ];
    let scene = Scene::new();
    for (prompt, beginning) in rows {
        let outcome = scene.prompt(prompt);
        assert_eq!(outcome.state, RunState::Failed, "{prompt}");
        assert!(outcome.text.starts_with(beginning), "{prompt}: {}", outcome.text);
        assert_eq!(scene.prompt("[[say again]]").text, "again", "after {prompt}");
    }
    let shown = scene.shown();
    let last_words = "\n\nIt said last:\n\n```\nfake-agent: the script says crash\n```";
    assert!(shown.contains(last_words), "{shown}");
    assert!(shown.contains("error: Fake exited before this finished"), "{shown}");
}

/// Regression: on a busy machine, the exit was reported before standard error had been read.
#[test]
fn exit_always_shows_end_of_stderr() {
    let scene = Scene::new();
    for _ in 0..30 {
        let outcome = scene.prompt("[[crash]]");
        assert!(outcome.text.contains("fake-agent: the script says crash"), "{}", outcome.text);
    }
}

#[test]
fn killed_agent_is_reported() {
    let scene = Scene::new();
    std::thread::scope(|scope| {
        let turn = scope.spawn(|| scene.prompt("[[session]] [[silent]]"));
        scene.host.wait_for_text("prompt 1");
        let shown = scene.shown();
        let pid = shown.split(['-', ' ']).nth(2).unwrap().to_owned();
        assert!(std::process::Command::new("kill").args(["-9", &pid]).status().unwrap().success());
        assert_eq!(turn.join().unwrap().text, "❌ Fake ended unexpectedly (SIGKILL)");
    });
}

#[test]
fn parallel_sessions_leave_nothing_open() {
    let scene = Scene::new();
    let words = [
        "[[call a]] [[crash]]",
        "[[open-call]] [[words 100000]]",
        "[[edit a.txt]]",
        "[[late]]",
        "[[flood 200]]",
    ];
    std::thread::scope(|scope| {
        for number in 0..20 {
            let scene = &scene;
            scope.spawn(move || {
                let host = Host::with([]);
                let mut request = scene.request(words[number % words.len()]);
                request.session_id = format!("session {number}");
                for round in 0..3 {
                    let cancel = CancellationToken::new();
                    let from = host.count();
                    std::thread::scope(|scope| {
                        scope.spawn(|| scene.agent.prompt(&request, host.clone(), &cancel));
                        let ms = 37 * (number as u64 % 7) + round;
                        std::thread::sleep(std::time::Duration::from_millis(ms));
                        if number % words.len() != 4 {
                            cancel.cancel();
                        }
                    });
                    super::host::check_last_word(&host.since(from));
                }
                // Calls made after a turn are closed when the agent exits.
                scene.agent.close(&request.session_id);
                host.wait("the end of every call", |updates| super::host::open_calls(updates).is_empty());
            });
        }
    });
    scene.agent.shut_down();
}
