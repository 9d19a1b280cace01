//! The asking level: it is set before the first prompt and then stays as it was set.

use super::host::{Host, Say, Scene, Setup, earlier};
use openagents_agents::acp::LevelSetting;
use openagents_core::update::Asking;
use openagents_core::{CancellationToken, agent::AgentProvider as _, update::RunState};

const ASKS: &[LevelSetting] = &[LevelSetting::mode("ask", &[("plan", Asking::Plan)])];

type Variables = &'static [(&'static str, &'static str)];

fn scene(environment: Variables) -> Scene {
    Setup { environment, asks: ASKS, ..Setup::default() }.scene(Host::with([]))
}

/// Regression: agents that start in a mode in which they don't ask were left in it.
#[test]
fn level_is_set_before_first_prompt() {
    let rows: [Variables; 5] = [
        &[],
        &[("FAKE_AGENT_MODE", "auto")],
        &[("FAKE_AGENT_MODE", "plan")],
        &[("FAKE_AGENT_MODE", "auto"), ("FAKE_AGENT_MODE_OPTION", "1")],
        &[("FAKE_AGENT_MODE", "auto"), ("FAKE_AGENT_EARLY", "1")],
    ];
    for environment in rows {
        let scene = scene(environment);
        assert_eq!(scene.prompt("[[which-mode]]").text, "mode ask", "{environment:?}");
        assert!(!scene.shown().contains("set back"), "{}", scene.shown());
    }
}

#[test]
fn level_is_set_again_in_resumed_session() {
    for way in ["FAKE_AGENT_RESUME", "FAKE_AGENT_LOAD"] {
        let environment = [("FAKE_AGENT_MODE", "auto"), (way, "1")];
        let scene = Setup { environment: &environment, asks: ASKS, ..Setup::default() }.scene(Host::with([]));
        let mut request = scene.request("[[session]] [[which-mode]]");
        request.resume = earlier();
        let outcome = scene.turn(&request, &CancellationToken::new());
        assert_eq!(outcome.text, "earlier prompt 1mode ask", "{way}");
    }
}

#[test]
fn prompt_is_withheld_if_agent_would_not_ask() {
    let rows: [(Variables, &str); 4] = [
        (
            &[("FAKE_AGENT_MODE", "auto"), ("FAKE_AGENT_LOCKED", "refuse")],
            "its mode should be “Ask first” (ask) and is “auto”: the mode is locked",
        ),
        (
            &[("FAKE_AGENT_MODE", "auto"), ("FAKE_AGENT_LOCKED", "refuse"), ("FAKE_AGENT_MODE_OPTION", "1")],
            "its mode should be “Ask first” (ask) and is “auto”: the mode is locked",
        ),
        (
            &[("FAKE_AGENT_MODE", "auto"), ("FAKE_AGENT_LOCKED", "keep"), ("FAKE_AGENT_MODE_OPTION", "1")],
            "its mode should be “Ask first” (ask) and is “auto”: it did not change",
        ),
        (
            &[("FAKE_AGENT_MODE", "auto"), ("FAKE_AGENT_NEVER_ASKS", "1")],
            "its mode should be “ask” and is “auto”: it does not offer that",
        ),
    ];
    for (environment, why) in rows {
        let scene = scene(environment);
        let outcome = scene.prompt("[[edit a.txt]]");
        assert_eq!(outcome.state, RunState::Failed, "{environment:?}");
        let (beginning, why) = ("❌ Fake would act without asking, so nothing was sent.", why.to_lowercase());
        assert!(outcome.text.starts_with(beginning), "{}", outcome.text);
        assert!(outcome.text.to_lowercase().contains(&why), "{}: {}", outcome.text, why);
        assert!(
            outcome.text.ends_with("in its own settings, then send the prompt again."),
            "{}",
            outcome.text
        );
        assert!(!scene.shown().contains("call"), "{}", scene.shown());
    }
}

#[test]
fn unrequested_change_is_reverted_and_noted() {
    for environment in [&[][..], &[("FAKE_AGENT_MODE_OPTION", "1")]] {
        let scene = Setup { environment, asks: ASKS, ..Setup::default() }.scene(Host::with([]));
        scene.prompt("[[mode auto]] [[until-mode ask]] [[which-mode]]");
        let shown = scene.shown();
        assert!(shown.contains("says: mode ask"), "{shown}");
        let note = "*Fake changed its mode to “auto”, which asks for fewer approvals. It was set back to “Ask first” (ask).*";
        assert_eq!(shown.matches(note).count(), 1, "{shown}");
        // The agent may change to a mode in which it can do no more.
        assert_eq!(scene.prompt("[[mode plan]] [[wait 100]] [[which-mode]]").text, "mode plan");
    }
}

#[test]
fn agent_refusing_to_change_back_is_stopped() {
    // The agent starts in the right mode, but then the mode cannot be set.
    let scene = scene(&[("FAKE_AGENT_LOCKED", "refuse")]);
    let outcome = scene.prompt("[[mode auto]] [[silent]]");
    let expected = "❌ Fake changed its mode to “auto”, which asks for fewer approvals, refused to change it back, and was stopped";
    assert_eq!(outcome.text, expected);
    // It answers, but with the old mode.
    let keeps = [("FAKE_AGENT_LOCKED", "keep"), ("FAKE_AGENT_MODE_OPTION", "1")];
    let scene = Setup { environment: &keeps, asks: ASKS, ..Setup::default() }.scene(Host::with([]));
    assert_eq!(scene.prompt("[[mode auto]] [[silent]]").text, expected);
    let scene = self::scene(&[]);
    let again = "[[mode auto]] [[until-mode ask]] ".repeat(4) + "[[silent]]";
    let outcome = scene.prompt(&again);
    assert!(outcome.text.contains("again and again, and was stopped"), "{}", outcome.text);
}

#[test]
fn level_chosen_by_user_stays() {
    let scene = scene(&[]);
    // A command that the sender is allowed to give.
    let mut request = scene.request("/mode auto [[mode auto]] [[wait 100]] [[which-mode]]");
    request.may_change_approval_mode = true;
    assert_eq!(scene.turn(&request, &CancellationToken::new()).text, "mode auto");
    assert_eq!(scene.prompt("[[mode auto]] [[wait 100]] [[which-mode]]").text, "mode auto");
    // The same command without that permission, and other text with it.
    for (text, may_change_approval_mode) in [("/mode auto", false), ("go on", true)] {
        let scene = self::scene(&[]);
        let mut request = scene.request(&format!("{text} [[mode auto]] [[until-mode ask]] [[which-mode]]"));
        request.may_change_approval_mode = may_change_approval_mode;
        scene.turn(&request, &CancellationToken::new());
        assert!(scene.shown().contains("says: mode ask"), "{text}: {}", scene.shown());
    }
}

#[test]
fn only_approved_plan_may_change_mode() {
    let plan = "[[options exit-plan-auto=allow_once=Yes, and use auto mode|exit-plan-default=allow_once=Yes|no=reject_once=No]]";
    for (id, mode) in [("exit-plan-auto", "auto"), ("no", "ask")] {
        let scene = Setup { asks: ASKS, ..Setup::default() }.scene(Host::with([Say::Id(id.to_owned())]));
        scene.prompt(&format!("{plan} [[mode auto]] [[wait 300]] [[which-mode]]"));
        assert!(scene.shown().contains(&format!("mode {mode}")), "{}", scene.shown());
    }
}

#[test]
fn agent_without_setting_decides_what_it_asks() {
    assert!(!scene(&[]).agent.decides_what_it_asks());
    assert!(Scene::new().agent.decides_what_it_asks());
}
