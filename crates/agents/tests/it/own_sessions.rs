//! The sessions that an agent keeps itself.

use super::host::{Host, Setup};
use openagents_core::{CancellationToken, agent::AgentProvider as _};
use serde_json::json;

#[test]
fn own_sessions_are_listed_over_pages_and_deleted_there() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.json");
    let sessions: Vec<_> = (1..=5)
        .map(|day| json!({"sessionId": format!("s{day}"), "title": format!("Day {day}"), "updatedAt": format!("2026-11-0{day}T00:00:00Z")}))
        .collect();
    std::fs::write(&file, json!(sessions).to_string()).unwrap();
    let environment = [("FAKE_AGENT_SESSIONS", file.to_str().unwrap())];
    let scene = Setup { environment: &environment, ..Setup::default() }.scene(Host::with([]));
    let cancel = CancellationToken::new();
    let ids = || {
        let listed = scene.agent.own_sessions(&scene.root, &cancel).unwrap();
        listed.into_iter().map(|session| session.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(), ["s5", "s4", "s3", "s2", "s1"]);
    scene.agent.delete_own_session(&scene.root, "s4", &cancel).unwrap();
    assert_eq!(ids(), ["s5", "s3", "s2", "s1"]);
    assert_eq!(scene.host.count(), 0);
}

#[test]
fn agent_that_lists_nothing_says_so() {
    let scene = Setup::default().scene(Host::with([]));
    let cancel = CancellationToken::new();
    let why = scene.agent.own_sessions(&scene.root, &cancel).unwrap_err();
    assert_eq!(why, "Fake can't list its sessions");
    let why = scene.agent.delete_own_session(&scene.root, "x", &cancel).unwrap_err();
    assert_eq!(why, "Fake can't delete a session; do it in its own app");
}
