//! The options of a session: reported by the agent, set by clients.

use super::host::{Host, Scene, Setup};
use openagents_agents::acp::LevelSetting;
use openagents_core::{
    agent::AgentProvider as _,
    update::{AgentPart, Asking, OptionChoices, OptionValue, RunState, SessionOption},
};

const ASKS: &[LevelSetting] = &[LevelSetting::mode("ask", &[("plan", Asking::Plan), ("auto", Asking::Auto)])];

fn scene(environment: &[(&str, &str)]) -> Scene {
    Setup { environment, asks: ASKS, ..Setup::default() }.scene(Host::with([]))
}

fn select(value: &str) -> OptionValue {
    OptionValue::Select(value.to_owned())
}

/// The current values, by id.
fn values(options: &[SessionOption]) -> OptionChoices {
    options.iter().map(|option| (option.id.clone(), option.current())).collect()
}

fn choices(mode: &str, speed: &str) -> OptionChoices {
    OptionChoices::from([("mode".to_owned(), select(mode)), ("speed".to_owned(), select(speed))])
}

/// The options as the host last got them.
fn reported(scene: &Scene) -> OptionChoices {
    let states = scene.host.states.lock().unwrap();
    let options = states.iter().rev().find_map(|part| match part {
        AgentPart::Options(options) => Some(values(options)),
        _ => None,
    });
    options.unwrap_or_default()
}

const WAYS: [&[(&str, &str)]; 3] =
    [&[], &[("FAKE_AGENT_MODE_OPTION", "1")], &[("FAKE_AGENT_MODE_OPTION", "1"), ("FAKE_AGENT_EARLY", "1")]];

#[test]
fn options_are_reported_with_the_level_that_was_set() {
    for environment in WAYS {
        let scene = scene(&[environment, &[("FAKE_AGENT_MODE", "auto")]].concat());
        scene.prompt("[[which-mode]]");
        assert_eq!(reported(&scene), choices("ask", "fast"), "{environment:?}");
    }
}

#[test]
fn choices_are_set_at_the_start() {
    for environment in WAYS {
        let scene = scene(environment);
        let mut chosen = choices("auto", "slow");
        chosen.insert("gone".to_owned(), select("x"));
        *scene.host.choices.lock().unwrap() = chosen;
        assert_eq!(scene.prompt("[[which-mode]]").text, "mode auto", "{environment:?}");
        assert_eq!(reported(&scene), choices("auto", "slow"));
        assert!(!scene.shown().contains("set back"), "{}", scene.shown());
    }
    let scene = scene(&[]);
    *scene.host.choices.lock().unwrap() = choices("no such mode", "no such speed");
    assert_eq!(scene.prompt("[[which-mode]]").text, "mode ask");
}

#[test]
fn option_set_while_the_agent_starts_is_set_afterwards() {
    for environment in WAYS {
        let scene = scene(environment);
        let set = || loop {
            // Nothing runs at first.
            if let Some(now) = scene.agent.set_option("session", "speed", &select("slow")).unwrap() {
                return now;
            }
            std::thread::yield_now();
        };
        let now = std::thread::scope(|scope| {
            let set = scope.spawn(set);
            scene.prompt("[[which-mode]]");
            set.join().unwrap()
        });
        assert_eq!(values(&now), choices("ask", "slow"), "{environment:?}");
    }
}

#[test]
fn option_is_set_while_the_agent_runs() {
    for environment in WAYS {
        let scene = scene(environment);
        let set = |id: &str, value: &str| scene.agent.set_option("session", id, &select(value));
        assert_eq!(set("mode", "auto"), Ok(None), "it does not run yet");
        scene.prompt("[[which-mode]]");
        let now = set("speed", "slow").unwrap().unwrap();
        assert_eq!(values(&now), choices("ask", "slow"), "{environment:?}");
        let now = set("mode", "auto").unwrap().unwrap();
        assert_eq!(values(&now), choices("auto", "slow"), "{environment:?}");
        assert_eq!(scene.prompt("[[which-mode]]").text, "mode auto");
        assert!(!scene.shown().contains("set back"), "{}", scene.shown());
        // From here on it may do less than the user chose, but not more.
        set("mode", "ask").unwrap();
        assert_eq!(scene.prompt("[[mode auto]] [[until-mode ask]] [[which-mode]]").state, RunState::Complete);
        assert!(scene.shown().contains("set back"), "{}", scene.shown());
    }
}

#[test]
fn refused_option_keeps_its_value() {
    let scene = scene(&[("FAKE_AGENT_LOCKED", "refuse")]);
    scene.prompt("[[which-mode]]");
    let refused = scene.agent.set_option("session", "mode", &select("auto"));
    assert_eq!(refused, Err("Fake: the mode is locked".to_owned()));
    assert_eq!(reported(&scene), choices("ask", "fast"));
}
