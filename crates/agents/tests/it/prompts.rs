//! What reaches an agent with a prompt, and prompts that it gets during its turn.

use crate::host::{Host, Scene, Setup};
use openagents_core::{
    CancellationToken,
    agent::{AgentProvider as _, AgentRequest, EarlierKind, EarlierSession, ImageBytes, SteerRequest},
    update::RunState,
};
use std::sync::Arc;

fn scene(environment: &[(&str, &str)]) -> Scene {
    Setup { environment, ..Setup::default() }.scene(Host::with([]))
}

fn with_images(scene: &Scene) -> AgentRequest {
    let image =
        |mime_type: &str, bytes: &[u8]| ImageBytes { mime_type: mime_type.to_owned(), bytes: bytes.to_vec() };
    let images = vec![image("image/png", &[1, 2, 3]), image("image/webp", &[4; 30])];
    AgentRequest { images, ..scene.request("[[images]]") }
}

#[test]
fn images_reach_an_agent_that_can_see_them() {
    let scene = scene(&[("FAKE_AGENT_IMAGES", "1")]);
    let outcome = scene.turn(&with_images(&scene), &CancellationToken::new());
    assert_eq!(outcome.text, "image/png 4, image/webp 40");
    // Without words, the prompt has no empty text.
    let request = AgentRequest { text: String::new(), ..with_images(&scene) };
    assert_eq!(scene.turn(&request, &CancellationToken::new()).text, "You said: ");
}

#[test]
fn nothing_is_sent_to_an_agent_that_cannot_see_images() {
    let scene = scene(&[]);
    let outcome = scene.turn(&with_images(&scene), &CancellationToken::new());
    assert_eq!(outcome.state, RunState::Failed);
    assert!(scene.shown().contains("Fake cannot see images, so nothing was sent."), "{}", scene.shown());
    // The summary that its new session needs comes with the next prompt.
    assert_eq!(scene.prompt("[[session]]").text.rsplit(' ').next(), Some("1"));
}

#[test]
fn branch_is_a_fork_of_the_agents_session_or_starts_with_a_summary() {
    let can = &[("FAKE_AGENT_FORK", "1"), ("FAKE_AGENT_RESUME", "1")];
    let cannot = &[("FAKE_AGENT_RESUME", "1"), ("FAKE_AGENT_LOAD", "1")];
    let passed = "the session that it branched from has had more turns";
    for (environment, kind, why) in [
        (can, EarlierKind::Branched, None),
        (cannot, EarlierKind::Branched, Some("it cannot branch a session")),
        (can, EarlierKind::Passed, Some(passed)),
    ] {
        let forks = why.is_none();
        let branch = Some(EarlierSession { id: "earlier".to_owned(), kind });
        let scene = scene(environment);
        *scene.host.brief.lock().unwrap() = Some("Earlier: fix it.\n\n".to_owned());
        let request = AgentRequest { resume: branch.clone(), ..scene.request("[[session]]") };
        let outcome = scene.turn(&request, &CancellationToken::new());
        assert_eq!(outcome.text == "fork-of-earlier prompt 1", forks, "{}", outcome.text);
        let remembered = scene.host.remembered.lock().unwrap().clone();
        assert_eq!(remembered.len(), 1);
        assert_eq!(remembered[0] == "fork-of-earlier", forks);
        // The session of the other branch is not touched.
        assert!(!outcome.text.starts_with("earlier "), "{}", outcome.text);
        let note = why.map(|why| format!("Fake starts a new session with a summary of this one: {why}."));
        assert!(note.is_none_or(|note| scene.shown().contains(&note)), "{}", scene.shown());
    }
}

fn steer(scene: &Scene, text: &str) -> bool {
    scene.agent.steer(&SteerRequest {
        session_id: "session".to_owned(),
        text: text.to_owned(),
        links: Vec::new(),
        images: Vec::new(),
    })
}

#[test]
fn prompt_reaches_a_running_turn_if_the_agent_takes_it() {
    for (steering, is_taken) in [(Some("1"), true), (Some("refuse"), false), (None, false)] {
        let environment: Vec<_> = steering.map(|value| ("FAKE_AGENT_STEERING", value)).into_iter().collect();
        let scene = Arc::new(scene(&environment));
        assert!(!steer(&scene, "before any turn"));
        let cancel = CancellationToken::new();
        let turn = std::thread::spawn({
            let (scene, cancel) = (scene.clone(), cancel.clone());
            move || scene.turn(&scene.request("[[say begun]] [[until-steered]]"), &cancel)
        });
        scene.host.wait_for_text("begun");
        assert_eq!(steer(&scene, "use tabs"), is_taken, "{steering:?}");
        if !is_taken {
            cancel.cancel();
        }
        let outcome = turn.join().unwrap();
        assert_eq!(scene.shown().contains("Steered: use tabs"), is_taken, "{}", scene.shown());
        assert_eq!(outcome.state == RunState::Complete, is_taken);
        assert!(!steer(&scene, "after the turn"));
    }
}
