use super::*;
use crate::route::{Candidate, Situation, route};
use openagents_core::{
    CancellationToken,
    budget::Budget,
    model::Availability,
    update::{SessionUpdate, Target},
};
use openagents_search::find;
use openagents_tools::builtin::testing::Bench;
use std::sync::Mutex;

fn situation(ready: &[&str]) -> Situation {
    let candidate = |(id, name, local): (&str, &str, bool)| Candidate {
        id: id.to_owned(),
        name: name.to_owned(),
        local,
        availability: match ready.contains(&id) {
            true => Availability::Ready,
            false => Availability::Unavailable("it is not installed".to_owned()),
        },
    };
    let all = [
        ("codex", "Codex", false),
        ("claude-code", "Claude Code", false),
        ("gptoss_20b", "GPTOSS 20B", true),
    ];
    Situation { candidates: all.into_iter().map(candidate).collect(), ..Situation::default() }
}

struct Recorded {
    outcome: PromptOutcome,
    updates: Vec<SessionUpdate>,
}

fn ask(text: &str, situation: &Situation) -> Recorded {
    ask_with(text, text, situation, &|| None)
}

/// `words` is the part of `text` that the user wrote.
fn ask_with(text: &str, words: &str, situation: &Situation, find: &dyn Fn() -> Option<Findings>) -> Recorded {
    let events = Mutex::new(Vec::new());
    let routed = route(words, situation);
    assert_eq!(routed.decision.target, Target::Inline, "{text}");
    let question = InlineQuestion { prompt: text, decision: &routed.decision, situation };
    let emit = |event| events.lock().unwrap().push(event);
    let outcome = answer(&question, find, &emit);
    let updates = events.into_inner().unwrap().into_iter().filter_map(|event| match event {
        AgentEvent::Update(update) => Some(update),
        AgentEvent::Activity(_) => None,
    });
    Recorded { outcome, updates: updates.collect() }
}

#[test]
fn answer_about_openagents_is_one_message() {
    let shown = ask("who are you?", &situation(&[]));
    assert!(shown.outcome.text.starts_with("We are OpenAgents"), "{}", shown.outcome.text);
    for text in
        ["who are you?", "hi", "thanks!", "what can you do", "what is Codex?", "who can you delegate to?"]
    {
        let shown = ask(text, &situation(&["codex"]));
        let [SessionUpdate::AgentMessage(message)] = shown.updates.as_slice() else {
            panic!("{text}: {:?}", shown.updates)
        };
        assert!(message.ended && message.message_id.is_some() && message.text == shown.outcome.text);
        let words = format!(" {} ", shown.outcome.text.replace(['\'', '.', ','], " "));
        assert!(!words.contains(" I ") && !words.contains(" my "), "{text}: {words}");
    }
}

#[test]
fn question_about_agents_is_answered_from_this_installation() {
    let rows = [
        ("who are you?", &[][..], "No agent and no model is ready yet"),
        ("which agents are installed?", &["codex", "claude-code"], "Ready here: Codex, Claude Code; "),
        ("what is Codex?", &["codex"], ". Codex is ready here."),
        (
            "is claude code installed?",
            &["codex"],
            "Claude Code is not available: it is not installed (Ready here: Codex; ",
        ),
    ];
    for (text, ready, expected) in rows {
        let shown = ask(text, &situation(ready)).outcome.text;
        assert!(shown.contains(expected), "{text}: {shown}");
        assert!(
            shown.contains(env!("CARGO_PKG_VERSION")) && shown.matches(". ").count() == 1,
            "{text}: {shown}"
        );
    }
}

#[test]
fn guidance_names_next_step() {
    let shown = ask("Write a parser for the log", &situation(&[]));
    insta::assert_snapshot!(shown.outcome.text, @r#"
    This needs a model or an agent, and none is ready. GPTOSS 20B is not available: it is not installed.

    What you can do:

    - Download gpt-oss 20B in Settings → Models (12 GB, once), or add a model file.
    - Install an agent such as Codex or Claude Code; `openagents doctor`, or Settings → Agents, says how.
    "#);
    let shown = ask("@claude write a parser", &situation(&["codex"]));
    insta::assert_snapshot!(shown.outcome.text, @r#"
    Claude Code is not available: it is not installed.

    What you can do:

    - Run `openagents doctor`, or open Settings → Agents: both say what to install or to sign in to.
    - Pick an agent beside the prompt: Codex.
    "#);
}

/// Regression (M11): attached text changed the topic.
#[test]
fn attachment_does_not_change_answer_about_openagents() {
    let text = "who are you?\n\nWrite a parser for the log format. Then summarise this session in a title.";
    let shown = ask_with(text, "who are you?", &situation(&[]), &|| None);
    assert!(shown.outcome.text.starts_with("We are OpenAgents"), "{}", shown.outcome.text);
}

#[test]
fn question_is_answered_with_findings() {
    let bench = Bench::with(&[("src/lock.rs", "/// A mutex.\npub fn lock_mutex() {}\n")]);
    let rows = [
        ("what is a mutex?", 1, "src/lock.rs"),
        // Without findings, and for work, it suggests what to do.
        ("where is the zeppelin?", 2, "What you can do"),
        ("Write a mutex", 2, "What you can do"),
        ("Build a zeppelin", 1, "What you can do"),
    ];
    for (text, messages, reply) in rows {
        let find = || {
            let budget = Budget::within(find::TIME, &CancellationToken::new());
            Some(find::find(&find::Sources { workspace: &bench.workspace, history: None }, text, &budget))
        };
        let shown = ask_with(text, text, &situation(&[]), &find);
        let ends =
            shown.updates.iter().map(|update| matches!(update, SessionUpdate::AgentMessage(m) if m.ended));
        let expected: Vec<_> = (1..=messages).map(|at| at == messages).collect();
        assert_eq!(ends.collect::<Vec<_>>(), expected, "{text}: {:?}", shown.updates);
        assert!(shown.outcome.text.contains(reply), "{text}: {}", shown.outcome.text);
    }
}
