use super::*;
use crate::{
    agent::testing::{self, Answer, Scripted, figures, prompt, speak, story},
    route::{Candidate, Situation, route},
};
use openagents_core::{
    agent::Conversation,
    budget::Budget,
    model::{Availability, ModelError, StopReason},
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

struct Told {
    outcome: PromptOutcome,
    updates: Vec<SessionUpdate>,
}

fn ask(text: &str, situation: &Situation, model: Option<&Arc<dyn LanguageModel>>) -> Told {
    ask_with(text, text, situation, model, &|| None)
}

/// `words` is the part of `text` that the user wrote.
fn ask_with(
    text: &str,
    words: &str,
    situation: &Situation,
    model: Option<&Arc<dyn LanguageModel>>,
    find: &dyn Fn() -> Option<Findings>,
) -> Told {
    let (cancel, events) = (CancellationToken::new(), Mutex::new(Vec::new()));
    let routed = route(words, situation);
    assert_eq!(routed.decision.target, Target::Inline, "{text}");
    let mut transcript = Conversation::default();
    transcript.push(&prompt("Fix the login test"));
    transcript.push(&testing::answer("Done."));
    let question = InlineQuestion {
        prompt: text,
        topic: routed.topic.as_ref(),
        decision: &routed.decision,
        situation,
        transcript: &transcript,
    };
    let emit = |event| events.lock().unwrap().push(event);
    let outcome = answer(&question, model, find, &emit, &cancel);
    let updates = events.into_inner().unwrap().into_iter().filter_map(|event| match event {
        AgentEvent::Update(update) => Some(update),
        AgentEvent::Activity(_) => None,
    });
    Told { outcome, updates: updates.collect() }
}

fn model(answer: Answer) -> Arc<dyn LanguageModel> {
    Arc::new(Scripted { answers: vec![answer], ..Scripted::default() })
}

#[test]
fn what_is_known_is_said_in_one_message_by_us() {
    let told = ask("who are you?", &situation(&[]), None);
    assert!(told.outcome.text.starts_with("We are OpenAgents"), "{}", told.outcome.text);
    for text in
        ["who are you?", "hi", "thanks!", "what can you do", "what is Codex?", "who can you delegate to?"]
    {
        let told = ask(text, &situation(&["codex"]), None);
        let [SessionUpdate::AgentMessage(message)] = told.updates.as_slice() else {
            panic!("{text}: {:?}", told.updates)
        };
        assert!(message.ended && message.message_id.is_some() && message.text == told.outcome.text);
        let words = format!(" {} ", told.outcome.text.replace(['\'', '.', ','], " "));
        assert!(!words.contains(" I ") && !words.contains(" my "), "{text}: {words}");
    }
}

#[test]
fn agents_are_listed_with_their_availability() {
    let told = ask("who can you delegate to?", &situation(&["codex", "gptoss_20b"]), None);
    insta::assert_snapshot!(told.outcome.text, @r#"
    We can hand work over to these:

    - **Codex** is ready
    - **Claude Code** is not available: it is not installed
    - **GPTOSS 20B** is ready, on this computer

    Begin a prompt with a name ("@codex …") or pick one beside the prompt. `openagents doctor`, or Settings → Agents, says more about each.
    "#);
    let told = ask("what is Claude Code?", &situation(&["codex"]), None);
    insta::assert_snapshot!(told.outcome.text, @r#"Claude Code is Anthropic's coding agent: it reads and changes files and runs commands in a project. **Claude Code** is not available: it is not installed. Pick it beside the prompt, or begin a prompt with its name, to give it work."#);
}

#[test]
fn guidance_says_what_to_do() {
    let told = ask("Write a parser for the log", &situation(&[]), None);
    insta::assert_snapshot!(told.outcome.text, @r#"
    This needs a model or an agent, and none is ready. GPTOSS 20B is not available: it is not installed.

    What you can do:

    - Download gpt-oss 20B in Settings → Models (12 GB, once), or add a model file.
    - Install an agent such as Codex or Claude Code; `openagents doctor`, or Settings → Agents, says how.
    "#);
    let told = ask("@claude write a parser", &situation(&["codex"]), None);
    insta::assert_snapshot!(told.outcome.text, @r#"
    Claude Code is not available: it is not installed.

    What you can do:

    - Run `openagents doctor`, or open Settings → Agents: both say what to install or to sign in to.
    - Pick an agent beside the prompt: Codex.
    "#);
}

#[test]
fn a_model_words_a_title_where_one_is_at_hand() {
    let title = "Suggest a title for this session";
    let speaks = model(|request, _, say| {
        assert!(request.tools.is_empty() && request.options.max_tokens == Some(200));
        assert_eq!(request.messages.len(), 3);
        say(speak("Login test."));
        say(figures());
        Ok(StopReason::EndTurn)
    });
    let told = ask(title, &situation(&[]), Some(&speaks));
    assert_eq!(story(&told.updates), "message Login test.⏱");

    let fails: [Answer; 3] = [
        |_, _, _| Err(ModelError::Malformed),
        |_, _, _| Ok(StopReason::EndTurn),
        |_, _, _| panic!("on purpose"),
    ];
    for answer in fails {
        let told = ask(title, &situation(&[]), Some(&model(answer)));
        assert!(told.outcome.text.starts_with("**Fix the login test**"), "{}", told.outcome.text);
    }
}

#[test]
fn a_model_that_fails_in_the_middle_ends_with_one_word_about_it() {
    let fails = model(|_, _, say| {
        say(speak("Login te"));
        Err(ModelError::Malformed)
    });
    let told = ask("Suggest a title for this session", &situation(&[]), Some(&fails));
    let ends =
        told.updates.iter().filter(|update| matches!(update, SessionUpdate::AgentMessage(m) if m.ended));
    assert_eq!((ends.count(), told.outcome.state), (1, RunState::Failed));
}

/// Regression (M11): attached text changed the topic.
#[test]
fn what_is_attached_does_not_change_what_is_answered() {
    let text = "who are you?\n\nWrite a parser for the log format. Then summarise this session in a title.";
    let told = ask_with(text, "who are you?", &situation(&[]), None, &|| None);
    assert!(told.outcome.text.starts_with("We are OpenAgents"), "{}", told.outcome.text);
}

#[test]
fn a_question_is_answered_by_what_was_found() {
    let bench = Bench::with(&[("src/lock.rs", "/// A mutex.\npub fn lock_mutex() {}\n")]);
    let rows = [
        ("what is a mutex?", 1, "src/lock.rs"),
        // Without findings, and for work, it suggests what to do.
        ("where is the zeppelin?", 2, "What you can do"),
        ("Write a mutex", 2, "What you can do"),
        ("Build a zeppelin", 1, "What you can do"),
    ];
    for (text, messages, said) in rows {
        let find = || {
            let budget = Budget::within(find::TIME, &CancellationToken::new());
            Some(find::find(&find::Sources { workspace: &bench.workspace, history: None }, text, &budget))
        };
        let told = ask_with(text, text, &situation(&[]), None, &find);
        let ends =
            told.updates.iter().map(|update| matches!(update, SessionUpdate::AgentMessage(m) if m.ended));
        let expected: Vec<_> = (1..=messages).map(|at| at == messages).collect();
        assert_eq!(ends.collect::<Vec<_>>(), expected, "{text}: {:?}", told.updates);
        assert!(told.outcome.text.contains(said), "{text}: {}", told.outcome.text);
    }
}

#[test]
fn a_model_is_not_asked_what_is_written_down() {
    let asked: Answer = |_, _, _| panic!("who we are is no model's to say");
    let told = ask("who are you?", &situation(&[]), Some(&model(asked)));
    assert_eq!(told.outcome.state, RunState::Complete);
}

#[test]
fn without_a_model_a_session_is_called_after_its_beginning() {
    let told = ask("Suggest a title for this session", &situation(&[]), None);
    assert!(told.outcome.text.starts_with("**Fix the login test**"), "{}", told.outcome.text);
}
