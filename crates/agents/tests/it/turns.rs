//! The updates of a turn.

use super::host::{Say, Scene};
use openagents_core::{CancellationToken, approval::OptionKind, update::RunState};

#[test]
fn files_that_a_prompt_names_are_links() {
    let scene = Scene::new();
    let mut request = scene.request("[[links]]");
    request.links = vec![scene.root.join("a file.txt"), scene.root.join("src")];
    let outcome = scene.turn(&request, &CancellationToken::new());
    let root = scene.root.display();
    assert_eq!(outcome.text, format!("file://{root}/a%20file.txt file://{root}/src"));
}

#[test]
fn turn_shows_text_thoughts_plans_and_calls() {
    let scene = Scene::new();
    let outcome = scene.prompt("[[think Let me see]] [[say I will]] [[plan]] [[call Look]] [[say It is so]]");
    assert_eq!((outcome.state, outcome.text.as_str()), (RunState::Complete, "It is so"));
    insta::assert_snapshot!(scene.shown());
}

#[test]
fn calls_without_announcement_are_shown() {
    let scene = Scene::new();
    scene.prompt("[[no-tool-call]] [[after-end]] [[reuse-ids]] [[open-call]]");
    scene.prompt("[[reuse-ids]]");
    insta::assert_snapshot!(scene.shown());
}

#[test]
fn edit_follows_approval() {
    let reject = || Say::Kind(OptionKind::RejectOnce);
    let scene = Scene::answering([Say::Kind(OptionKind::AllowOnce), reject(), reject(), Say::Nothing]);
    assert_eq!(scene.prompt("[[edit a.txt]]").state, RunState::Complete);
    let written = std::fs::read_to_string(scene.root.join("a.txt")).unwrap();
    assert_eq!(written, "made by fake-agent\n");
    assert_eq!(scene.prompt("[[edit b.txt]]").state, RunState::Complete);
    let ended = scene.prompt("[[edit-or-end b.txt]]");
    assert_eq!(ended.state, RunState::Cancelled);
    assert_eq!(ended.text, "Fake stopped because it was not allowed to go on.");
    assert!(!scene.root.join("b.txt").exists());
    let asked = scene.host.asked.lock().unwrap();
    assert_eq!(asked[0].agent, "Fake");
    assert_eq!(asked[0].title, "Write a.txt");
    assert_eq!(asked[0].raw_input.as_ref().unwrap()["content"], "made by fake-agent\n");
    assert_eq!(asked[0].command, None);
    drop(asked);
    insta::assert_snapshot!(scene.shown());
}

#[test]
fn permission_request_announces_unknown_call() {
    let scene = Scene::answering([Say::Kind(OptionKind::AllowOnce)]);
    assert_eq!(scene.prompt("[[ask Burn it]]").text, "yes");
    let asked = scene.host.asked.lock().unwrap();
    let kinds: Vec<_> = asked[0].options.iter().map(|option| option.kind).collect();
    assert_eq!(kinds, [OptionKind::AllowOnce, OptionKind::AllowAlways, OptionKind::RejectOnce]);
    let text = &asked[0].command.as_ref().unwrap().text;
    assert!(text.starts_with("Burn it\n"), "{text}");
    drop(asked);
    insta::assert_snapshot!(scene.shown());
}

/// Regression: an "always" and unknown kinds were dropped.
#[test]
fn every_option_is_offered_and_returned() {
    let stated = "n=reject_always=Never|u=allow_until=Until noon|s=allow_always=This session|a=allow_once=Alpha|b=allow_once=Bravo";
    let ids = ["n", "u", "s", "a", "b"];
    let scene = Scene::answering(ids.map(|id| Say::Id(id.to_owned())));
    for id in ids {
        assert_eq!(scene.prompt(&format!("[[options {stated}]]")).text, format!("The answer is {id}."));
    }
    let asked = scene.host.asked.lock().unwrap();
    let offered: Vec<_> = asked[0].options.iter().map(|option| (option.name.as_str(), option.kind)).collect();
    let expected = [
        ("Never", OptionKind::RejectAlways),
        ("Until noon", OptionKind::Other),
        ("This session", OptionKind::AllowAlways),
        ("Alpha", OptionKind::AllowOnce),
        ("Bravo", OptionKind::AllowOnce),
    ];
    assert_eq!(offered, expected);
}

#[test]
fn stop_reason_decides_outcome() {
    let rows = [
        ("[[say a]] [[stop end_turn]]", RunState::Complete, "a", false),
        ("[[say a]] [[stop cancelled]]", RunState::Cancelled, "Cancelled.", false),
        ("[[say a]] [[stop refusal]]", RunState::Failed, "❌ Fake refuses to answer this prompt", false),
        (
            "[[say a]] [[stop max_tokens]]",
            RunState::Complete,
            "The answer was cut off: Fake reached its limit of tokens.",
            true,
        ),
        (
            "[[stop max_turn_requests]]",
            RunState::Complete,
            "The answer was cut off: Fake reached its limit of steps in one turn.",
            true,
        ),
        ("[[say a]] [[stop from_the_future]]", RunState::Complete, "a", false),
        ("[[silence]]", RunState::Complete, "Done, no output.", false),
        ("[[stop end_turn]]", RunState::Complete, "Done, no output.", false),
        ("[[call Look]]", RunState::Complete, "Done.", false),
        (
            "[[refuse-login The key is missing]]",
            RunState::Failed,
            "❌ Fake wants you to log in first: Log in (Run `fake-agent login`). It says: The key is missing",
            false,
        ),
        (
            "[[refuse-login Authentication required]]",
            RunState::Failed,
            "❌ Fake wants you to log in first: Log in (Run `fake-agent login`)",
            false,
        ),
        (
            "[[say a]] [[fail The model is overloaded]]",
            RunState::Failed,
            "❌ Fake: The model is overloaded",
            false,
        ),
        // Its reason is shown once.
        (
            "[[say Credit is too low]] [[fail Internal error: Credit is too low]]",
            RunState::Failed,
            "Credit is too low",
            false,
        ),
        ("no word at all", RunState::Complete, "You said: no word at all", false),
    ];
    let scene = Scene::new();
    let count = rows.len();
    for (prompt, state, text, cut_off) in rows {
        let outcome = scene.prompt(prompt);
        assert_eq!(
            (outcome.state, outcome.text.as_str(), outcome.cut_off),
            (state, text, cut_off),
            "{prompt}"
        );
    }
    // All turns ran in one process.
    assert!(scene.prompt("[[session]]").text.ends_with(&format!("prompt {}", count + 1)));
}

#[test]
fn long_answer_needs_few_updates() {
    let scene = Scene::new();
    let text = scene.prompt("[[flood 20000]]").text;
    let expected: String = (0..20_000).map(|number| format!("{number} ")).collect();
    assert_eq!(text, expected);
    assert!(scene.host.count() < 10_000, "{} updates", scene.host.count());
}
