//! Cancelled turns, and late output of an agent.

use super::host::{Host, Say, Scene, Setup};
use openagents_agents::acp::AcpTimeouts;
use openagents_core::{
    CancellationToken,
    agent::AgentProvider as _,
    model::Activity,
    update::{RunState, SessionUpdate},
};
use std::time::Duration;

#[test]
fn cancel_closes_calls_and_plan() {
    let scene = Scene::new();
    let outcome = scene.cancelled("[[open-call]] [[plan]] [[words 100000]]", |host| host.wait_for_text("w3"));
    assert_eq!((outcome.state, outcome.text.as_str()), (RunState::Cancelled, "Cancelled."));
    let shown = scene.shown();
    assert!(shown.contains("error: Cancelled"), "{shown}");
    assert!(shown.contains("plan cancelled: Look around Completed | "), "{shown}");
    assert_eq!(scene.prompt("[[say again]]").text, "again");
}

#[test]
fn cancel_withdraws_approval() {
    let scene = Scene::answering([Say::Nothing]);
    let outcome = scene.cancelled("[[edit a.txt]]", Host::wait_for_question);
    assert_eq!(outcome.state, RunState::Cancelled);
    assert!(!scene.root.join("a.txt").exists());
    assert_eq!(scene.prompt("[[say again]]").text, "again");
}

#[test]
fn output_of_cancelled_turn_is_late() {
    let scene = Scene::new();
    scene.cancelled("[[late]]", |host| host.wait_for_text("in time"));
    let outcome = scene.prompt("[[wait 200]] [[say the next answer]]");
    assert_eq!((outcome.state, outcome.text.as_str()), (RunState::Complete, "the next answer"));
    scene.host.wait_for_text("late completed");
    let shown = scene.shown();
    assert!(shown.contains("late news → late completed null"), "{shown}");
    assert!(shown.contains("late, says: late text"), "{shown}");
    assert_eq!(shown.matches("call execute").count(), 1, "{shown}");
    assert!(shown.ends_with("says: the next answer ∎"), "{shown}");
}

#[test]
fn agent_ignoring_cancel_is_replaced() {
    let timeouts = AcpTimeouts { cancel: Duration::from_millis(200), ..AcpTimeouts::default() };
    let scene = Setup { timeouts, ..Setup::default() }.scene(Host::with([]));
    let first = scene.prompt("[[session]]").text;
    let outcome = scene.cancelled("[[say begun]] [[hang-after-cancel]]", |host| host.wait_for_text("begun"));
    assert_eq!(outcome.state, RunState::Cancelled);
    let second = scene.prompt("[[session]]").text;
    assert!(second.ends_with("prompt 1") && second != first, "{first}, {second}");
    let shown = scene.shown();
    assert!(shown.contains("Fake starts a new session and does not know what was said before"), "{shown}");
}

#[test]
fn silence_of_agent_is_shown_until_turn_ends() {
    let timeouts = AcpTimeouts { silence: Duration::from_millis(50), ..AcpTimeouts::default() };
    let scene = Setup { timeouts, ..Setup::default() }.scene(Host::with([]));
    let silent = |activity: &Option<Activity>| matches!(activity, Some(Activity::Silent { .. }));
    scene.cancelled("[[say begun]] [[silent]]", |host| {
        host.wait("silence", |_| host.activities.lock().unwrap().iter().any(silent));
    });
    scene.host.wait("its end", |_| scene.host.activities.lock().unwrap().last() == Some(&None));
    // A command may run for long.
    let before = scene.host.count();
    scene.cancelled("[[open-call]] [[silent]]", |host| {
        host.wait("a call", |updates| {
            updates[before..].iter().any(|update| matches!(update, SessionUpdate::ToolCall(_)))
        });
        host.activities.lock().unwrap().clear();
        std::thread::sleep(Duration::from_millis(1_500));
        assert!(!host.activities.lock().unwrap().iter().any(silent));
    });
}

#[test]
fn cancel_works_before_agent_is_ready() {
    let scene =
        Setup { environment: &[("FAKE_AGENT_SILENT", "1")], ..Setup::default() }.scene(Host::with([]));
    let outcome = scene.cancelled("hello", |_| std::thread::sleep(Duration::from_millis(100)));
    assert_eq!(outcome.state, RunState::Cancelled);
}

#[test]
fn cancel_before_turn_prevents_it() {
    let scene = Scene::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert_eq!(scene.turn(&scene.request("[[say no]]"), &cancel).state, RunState::Cancelled);
}

#[test]
fn close_ends_turn_and_process() {
    let scene = Scene::new();
    std::thread::scope(|scope| {
        let turn = scope.spawn(|| scene.prompt("[[say begun]] [[open-call]] [[silent]]"));
        scene.host.wait_for_text("begun");
        scene.agent.close("session");
        let outcome = turn.join().unwrap();
        assert_eq!(outcome.state, RunState::Failed);
        assert!(outcome.text.starts_with("❌ Fake was closed"), "{}", outcome.text);
    });
    // The session can be opened again.
    assert_eq!(scene.prompt("[[say again]]").text, "again");
}

#[test]
fn approval_cancelled_at_once_is_withdrawn() {
    let scene = Scene::answering([Say::Nothing]);
    assert_eq!(scene.prompt("[[ask-and-take-back Burn it]]").text, "cancelled");
}

#[test]
fn repeated_request_id_is_rejected() {
    let scene = Scene::answering([Say::Nothing, Say::Nothing, Say::Nothing]);
    scene.cancelled("[[ask-thrice Burn it]] [[silent]]", |host| {
        host.wait_for_text("a request with the id \"same\" is already pending");
        host.wait_for_question();
    });
    let asked = scene.host.asked.lock().unwrap();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].options.len(), 2);
}

#[test]
fn shut_down_leaves_no_process() {
    let scene = Scene::new();
    let pid: i32 = scene.prompt("[[leave-process]]").text.parse().unwrap();
    let detached: i32 = scene.prompt("[[leave-detached]]").text.parse().unwrap();
    let agent = scene.prompt("[[session]]").text;
    scene.agent.shut_down();
    let own: i32 = agent.split([' ', '-']).nth(1).unwrap().parse().unwrap();
    for pid in [pid, detached, own] {
        assert!(ends(pid), "{pid} is left");
    }
    assert_eq!(scene.prompt("hello").text, "❌ Fake was closed");
}

#[test]
fn idle_agent_is_stopped_and_restarted() {
    let timeouts = AcpTimeouts { idle: Duration::from_millis(50), ..AcpTimeouts::default() };
    let environment = &[("FAKE_AGENT_LOAD", "1")];
    let scene = Setup { timeouts, environment, ..Setup::default() }.scene(Host::with([]));
    let agent = scene.prompt("[[leave-process]]").text;
    assert!(ends(agent.parse().unwrap()));
    // The same session, in another process.
    let session = scene.prompt("[[session]]").text;
    assert_eq!(session, format!("{} prompt 1", scene.host.remembered.lock().unwrap()[0]));
    assert!(!scene.shown().contains("Replayed"), "{}", scene.shown());
}

/// Regression: a server that the agent had started in a separate process group ended with the agent.
#[test]
fn detached_server_survives_idle_stop() {
    let timeouts = AcpTimeouts { idle: Duration::from_millis(50), ..AcpTimeouts::default() };
    let scene = Setup { timeouts, ..Setup::default() }.scene(Host::with([]));
    let reply = scene.prompt("[[leave-process]] [[say  ]] [[leave-detached]] [[say  ]] [[session]]").text;
    let ids: Vec<i32> = reply.split([' ', '-']).filter_map(|word| word.parse().ok()).collect();
    let [in_group, apart, agent, _] = ids[..] else { panic!("{reply}") };
    assert!(ends(agent) && ends(in_group));
    // The agent is reaped after everything that ends with it was killed.
    let begun = std::time::Instant::now();
    while !state(agent).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the agent is not reaped");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!is_over(&state(apart)), "it is in the state {}", state(apart));
    scene.agent.shut_down();
    assert!(ends(apart));
}

/// Returns the state of a process, `Z` for a zombie; empty if the process doesn't exist.
fn state(pid: i32) -> String {
    let state = std::process::Command::new("ps").args(["-o", "state=", "-p", &pid.to_string()]).output();
    String::from_utf8(state.unwrap().stdout).unwrap().trim().to_owned()
}

fn is_over(state: &str) -> bool {
    state.is_empty() || state.starts_with('Z')
}

/// Waits until a process has exited or is a zombie.
pub(crate) fn ends(pid: i32) -> bool {
    (0..3_000).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        is_over(&state(pid))
    })
}
