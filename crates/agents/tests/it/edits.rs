//! Edits that the user allows until the turn ends.

use super::host::{HANGS, Host, Say, Scene, Setup};
use openagents_agents::acp::LevelSetting;
use openagents_core::{
    agent::AgentProvider as _,
    approval::OptionKind,
    update::{AgentPart, Asking, OptionValue},
};
use std::time::Instant;

const ID: &str = "openagents:allow-edits";
const ASKS: &[LevelSetting] = &[LevelSetting::mode("ask", &[("plan", Asking::Plan)])];

fn allow() -> Say {
    Say::Id(ID.to_owned())
}

/// The options of each request, by id.
fn offered(scene: &Scene) -> Vec<Vec<String>> {
    let asked = scene.host.asked.lock().unwrap();
    asked.iter().map(|request| request.options.iter().map(|option| option.id.clone()).collect()).collect()
}

fn reports(scene: &Scene) -> Vec<bool> {
    let states = scene.host.states.lock().unwrap();
    let allowed = |part: &AgentPart| match part {
        AgentPart::EditsAllowed(allowed) => Some(*allowed),
        _ => None,
    };
    states.iter().filter_map(allowed).collect()
}

#[test]
fn edits_are_allowed_until_the_turn_ends() {
    let scene = Scene::answering([allow(), Say::Kind(OptionKind::RejectOnce)]);
    scene.prompt("[[edit a.txt]] [[edit b.txt]] [[edit new/c.txt]]");
    assert_eq!(offered(&scene).len(), 1);
    for name in ["a.txt", "b.txt", "new/c.txt"] {
        assert!(scene.root.join(name).exists(), "{name}");
    }
    assert_eq!(reports(&scene), [true, false]);
    scene.prompt("[[edit d.txt]]");
    assert_eq!(offered(&scene).len(), 2, "it asks again in the next turn");
    assert!(!scene.root.join("d.txt").exists());
}

#[test]
fn commands_and_files_that_programs_load_are_asked_for_each_time() {
    let scene = Scene::answering([allow()]);
    std::fs::create_dir(scene.root.join(".git")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(scene.root.join(".git"), scene.root.join("link")).unwrap();
    scene.prompt(
        "[[edit a.txt]] [[edit .git/config]] [[edit link/hooks]] [[edit .github/workflows/ci.yml]] [[edit AGENTS.md]] \
         [[edit ../outside.txt]] [[edit /project/x.txt]] [[edit /workspace/x.txt]] [[run A=1 echo hi]] [[ask Delete all]] [[edit-long long.txt]] [[edit b.txt]]",
    );
    let offered = offered(&scene);
    assert_eq!(offered.len(), 11, "{offered:?}");
    assert!(offered[0].iter().any(|id| id == ID), "{offered:?}");
    for options in &offered[1..] {
        assert!(!options.iter().any(|id| id == ID), "{offered:?}");
    }
}

#[test]
fn permission_for_edits_can_be_taken_back() {
    let scene = Setup { asks: ASKS, ..Setup::default() }.scene(Host::with([allow()]));
    std::thread::scope(|scope| {
        let turn = scope.spawn(|| scene.prompt("[[edit a.txt]] [[until-mode plan]] [[edit b.txt]]"));
        scene.host.wait_for_question();
        let begin = Instant::now();
        while reports(&scene) != [true] {
            assert!(begin.elapsed() < HANGS, "edits were not allowed");
            std::thread::yield_now();
        }
        scene.agent.ask_before_edits("session");
        scene.agent.set_option("session", "mode", &OptionValue::Select("plan".to_owned())).unwrap();
        turn.join().unwrap();
    });
    assert_eq!(offered(&scene).len(), 2);
    assert_eq!(reports(&scene), [true, false]);
}

#[test]
fn agent_cannot_offer_the_option_itself() {
    let scene = Scene::answering([allow()]);
    scene.prompt("[[options openagents:allow-edits=allow_once=Yes|no=reject_once=No]] [[edit a.txt]]");
    let offered = offered(&scene);
    assert_eq!(offered[0], ["no"]);
    assert_eq!(offered.len(), 2, "the edit is asked for");
    assert_eq!(reports(&scene), [] as [bool; 0]);
}
