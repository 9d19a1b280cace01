//! Complete turns with findings.

use crate::{agent::AgentLoop, agent::PromptRequest, agent::testing::*};
use openagents_core::{
    model::{LanguageModel, Message, ModelError, ModelRequest, StopReason},
    update::{Finding, FindingKind, Findings, Place, RunState},
};
use openagents_tools::builtin::{self, testing::Bench};
use openagents_transcripts::history::{History, HistoryRoots, MemoryListingCache, Provider};
use serde_json::json;
use std::{fs, sync::Arc};

const SESSION: &str = "0199a3b2-1111-4222-8333-444455556666";

const FILES: [(&str, &str); 3] = [
    ("src/redirect.rs", "use std::fmt;\n\n\n\n\n\n\n\n\n\n/// Follows redirects.\nfn follow_redirect() {}\n"),
    ("src/proxy.rs", "use std::env;\n\n\n\n\n\n\n\n\n\nfn choose_proxy() {\n    env::var(\"PROXY\");\n}\n"),
    ("docs/the manual.md", "# Manual\n\nTimeouts are set in seconds.\n"),
];

/// Sentence of a scripted model, its citation, and whether the citation is valid.
const SAYINGS: [(&str, &str, bool); 14] = [
    ("Redirects are followed by a function", "src/redirect.rs:11-12", true),
    ("Redirects are followed nearby", "src/redirect.rs:8", true),
    ("The proxy comes from the environment", "src/proxy.rs#L11-L13", true),
    ("Timeouts are set in seconds", "docs/the manual.md:3", true),
    ("The cookies were asked for", "codex session 0199a3b2-1111-4222-8333-444455556666:2", true),
    ("Redirects are followed by a function", "src/redirect.rs:1", false),
    ("Redirects are followed by a function", "src/redirect.rs:500", false),
    ("Redirects are followed by a function", "src/redirect.rs:11-500", false),
    ("Redirects are followed by a function", "src/proxy.rs:11", false),
    ("The proxy comes from the environment", "src/environment.rs:3", false),
    ("The proxy comes from the environment", "../outside/proxy.rs:1", false),
    ("The proxy comes from the environment", "/outside/proxy.rs:1", false),
    ("The cookies were asked for", "codex session 0199a3b2-1111-4222-8333-444455556666:900", false),
    ("The cookies were asked for", "claude-code session 0199ffff-1111:2", false),
];

fn finding(path: &str, lines: usize) -> Finding {
    Finding {
        kind: FindingKind::Definition,
        place: Place::File { path: path.to_owned() },
        start: 1,
        end: lines as u64,
        excerpt: "    let policy = follow(redirect, url);\n".repeat(lines),
        lines: Vec::new(),
        about: None,
        symbol: Some("follow_redirect".to_owned()),
        score: 1.0,
        why: "`redirect`, `follow`".to_owned(),
    }
}

fn asked(bench: &Bench) -> PromptRequest {
    let findings = vec![finding("src/redirect.rs", 12), finding("docs/the manual.md", 3)];
    let findings = Some(Findings { findings, ..Findings::default() });
    PromptRequest { text: "Where are redirects followed?".to_owned(), findings, ..request(bench) }
}

/// A history with one session, in a folder next to the workspace.
fn history(bench: &Bench) -> Arc<History> {
    let root = bench.root().parent().unwrap().join("codex");
    let day = root.join("sessions/2026/01/02");
    fs::create_dir_all(&day).unwrap();
    let line = |kind: &str, payload: serde_json::Value| {
        json!({"timestamp": "2026-01-02T10:00:00.000Z", "type": kind, "payload": payload}).to_string()
    };
    let reply = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Keep the cookies"}]});
    let log = [
        line(
            "session_meta",
            json!({"id": SESSION, "cwd": bench.root(), "timestamp": "2026-01-02T10:00:00.000Z"}),
        ),
        line("response_item", reply),
    ];
    fs::write(day.join(format!("rollout-2026-01-02T10-00-00-{SESSION}.jsonl")), log.join("\n") + "\n")
        .unwrap();
    let roots = HistoryRoots::default().with(Provider::Codex, root);
    Arc::new(History::new(roots, Arc::new(MemoryListingCache::default())))
}

/// Returns the indices of a seed's sayings, and the answer made of them.
fn answer_of(seed: u32) -> (Vec<usize>, String) {
    let mut random = fastrand::Rng::with_seed(seed.into());
    let picked: Vec<usize> = (0..random.usize(0..6)).map(|_| random.usize(0..SAYINGS.len())).collect();
    let mut text = "Here is what the workspace says.\n\n".to_owned();
    for number in &picked {
        let (sentence, place, _) = SAYINGS[*number];
        text.push_str(&match random.u8(0..6) {
            0 => format!("{sentence} ({place}).\n\n"),
            1 => format!("- `{place}`: {sentence}\n"),
            2 => format!("{sentence} [{place}].\n"),
            3 => format!("\n\n{sentence}, see `{place}`. "),
            4 => format!("\n- **{sentence}**\n  (see {place})\n"),
            _ => format!("\n{sentence} at {place}, always.\n"),
        });
    }
    (picked, text)
}

fn with_history(model: Arc<Scripted>, history: Arc<History>) -> AgentLoop {
    AgentLoop { tools: builtin::toolbox(history), ..agent(model) }
}

#[test]
fn unconfirmed_citations_are_named() {
    let bench = Bench::with(&FILES);
    let history = history(&bench);
    let outside = bench.root().parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("proxy.rs"), "// the proxy of the environment\n").unwrap();
    let mut kinds = [0, 0, 0];
    for seed in 0..200 {
        let model = script(&[|request, _, on_event| {
            let seed = request.options.seed.unwrap();
            let letters: Vec<char> = answer_of(seed).1.chars().collect();
            for piece in letters.chunks(1 + seed as usize % 17) {
                on_event(speak(&piece.iter().collect::<String>()));
            }
            Ok(StopReason::EndTurn)
        }]);
        let mut agent = with_history(model, history.clone());
        agent.options.seed = Some(seed);
        let output = run(&agent, &asked(&bench));
        let text = story(&output.updates);
        assert_eq!(text, format!("message {}", output.outcome.text), "{seed}");
        assert_eq!(output.outcome.state, RunState::Complete);

        let (picked, reply) = answer_of(seed);
        assert!(text.starts_with(&format!("message {reply}")), "{seed}\n{reply}\n{text}");
        let wrong = picked.iter().filter(|number| !SAYINGS[**number].2).count();
        let right = picked.len() - wrong;
        assert_eq!(text.contains("_Not grounded: "), right == 0, "{seed}\n{text}");
        let note =
            text.lines().find(|line| line.starts_with("_Could not be confirmed: ")).unwrap_or_default();
        for (_, place, holds) in
            SAYINGS.iter().enumerate().filter(|(at, _)| picked.contains(at)).map(|(_, row)| row)
        {
            let is_named = note.contains(&format!("`{place}`"));
            assert_eq!(is_named, !holds, "{seed} {place}\n{reply}\n{text}");
        }
        kinds[usize::from(right > 0) + usize::from(wrong > 0 && right > 0)] += 1;
    }
    assert!(kinds.iter().all(|count| *count > 20), "{kinds:?}");
}

/// Characters of everything that the model reads.
fn size(request: &ModelRequest) -> usize {
    let messages = request.messages.iter().map(|message| match message {
        Message::User { text } | Message::Tool { text, .. } => text.chars().count(),
        Message::Assistant(reply) => reply.text.chars().count(),
    });
    let tools = request.tools.iter().map(|tool| {
        tool.name.len() + tool.description.chars().count() + tool.parameters.to_string().chars().count()
    });
    request.instructions.chars().count() + messages.sum::<usize>() + tools.sum::<usize>()
}

fn scripted(context_tokens: Option<u32>, answers: &[Answer]) -> Arc<Scripted> {
    Arc::new(Scripted { answers: answers.to_vec(), context_tokens, ..Scripted::default() })
}

const GROUNDED: Answer = |_, _, on_event| {
    on_event(speak("It follows redirects in `src/redirect.rs:12`."));
    Ok(StopReason::EndTurn)
};

#[test]
fn context_leaves_room_for_answer() {
    let bench = Bench::with(&FILES);
    let rows =
        [(Some(4_096), 4_096, 0), (Some(8_192), 8_192, 7), (Some(32_768), 32_768, 7), (None, 20_000, 7)];
    for (context, tokens, tools) in rows {
        let model = scripted(context, &[GROUNDED]);
        let mut request = asked(&bench);
        let paths = (0..10).map(|number| format!("src/part{number}.rs"));
        request.findings.as_mut().unwrap().findings = paths.map(|path| finding(&path, 100)).collect();
        for _ in 0..40 {
            request.transcript.push(&prompt(&"What else is there? ".repeat(50)));
            request.transcript.push(&super::super::testing::answer(&"More of it. ".repeat(200)));
        }
        run(&agent(model.clone()), &request);
        let read = model.asked.lock().unwrap();
        let size = size(&read[0]);
        assert!(size <= tokens * 3 * 3 / 4, "{tokens}: {size}");
        assert!(size >= tokens * 3 / 3, "{tokens}: {size}");
        assert_eq!(read[0].tools.len(), tools);
        let Some(Message::User { text }) = read[0].messages.last() else { panic!("{:?}", read[0].messages) };
        assert!(text.contains("10. `src/part9.rs:1-100`") && text.contains("let policy"), "{text}");
    }
}

#[test]
fn small_model_words_findings_without_tools() {
    let bench = Bench::with(&FILES);
    let no_tools = Scripted { no_tools_once_asked: true, ..Scripted::default() };
    no_tools.asked.lock().unwrap().push(ModelRequest::default());
    let models = [
        Scripted { context_tokens: Some(8_191), ..Scripted::default() },
        Scripted { answers: vec![GROUNDED, GROUNDED], ..no_tools },
    ];
    for mut model in models {
        model.answers.push(GROUNDED);
        let model = Arc::new(model);
        let output = run(&agent(model.clone()), &asked(&bench));
        assert_eq!(output.outcome.text, "It follows redirects in `src/redirect.rs:12`.");
        let read = model.asked.lock().unwrap().pop().unwrap();
        let Some(Message::User { text }) = read.messages.last() else { panic!("{:?}", read.messages) };
        assert!(read.tools.is_empty() && text.contains("Answer in two or three sentences"), "{text}");
        assert!(!read.instructions.contains("tools"));
    }
}

/// Regression: a small model repeated one word for twelve minutes below correct findings.
#[test]
fn small_model_text_needs_a_citation() {
    let bench = Bench::with(&FILES);
    let says: [Answer; 3] = [
        |request, _, say| {
            assert_eq!(request.options.max_tokens, Some(240));
            say(speak("It is a block chain, and a block chain."));
            Ok(StopReason::EndTurn)
        },
        |_, _, say| {
            say(speak("It is in `src/gone.rs:1`."));
            Ok(StopReason::EndTurn)
        },
        |_, _, say| {
            say(speak("It follows redirects in `src/redirect.rs:12`. CALLBACK_CALLBACK"));
            Ok(StopReason::MaxTokens)
        },
    ];
    for answer in says {
        let model = Scripted { context_tokens: Some(4_096), answers: vec![answer], ..Scripted::default() };
        let output = run(&agent(Arc::new(model)), &asked(&bench));
        assert!(
            output.outcome.text.starts_with("_Only the places found are shown: "),
            "{}",
            output.outcome.text
        );
        let reply = story(&output.updates);
        assert!(
            !reply.contains("block") && !reply.contains("gone") && !reply.contains("CALLBACK"),
            "{reply}"
        );
    }
}

#[test]
fn prompt_without_findings_is_sent_as_is() {
    let bench = Bench::with(&FILES);
    let model = script(&[|_, _, on_event| {
        on_event(speak("See `src/gone.rs:1`."));
        Ok(StopReason::EndTurn)
    }]);
    let output = run(&agent(model.clone()), &request(&bench));
    assert_eq!(output.outcome.text, "See `src/gone.rs:1`.");
    assert_eq!(model.asked.lock().unwrap()[0].messages, [Message::User { text: "What is this?".to_owned() }]);

    // Without findings, an answer based on tools is checked as well.
    let nothing = PromptRequest { findings: Some(Findings::default()), ..request(&bench) };
    let output = run(&agent(model.clone()), &nothing);
    assert!(
        output.outcome.text.starts_with("See `src/gone.rs:1`.\n\n_Could not be confirmed: `src/gone.rs:1`._"),
        "{}",
        output.outcome.text
    );
    assert_eq!(model.asked.lock().unwrap()[1].messages, [Message::User { text: "What is this?".to_owned() }]);
}

#[test]
fn findings_remain_when_model_fails() {
    let bench = Bench::with(&FILES);
    let fails: Answer = |_, _, _| Err(ModelError::Crashed("signal 9".to_owned()));
    let silent: Answer = |_, _, on_event| {
        on_event(speak(" \n"));
        Ok(StopReason::EndTurn)
    };
    let overflows: Answer = |_, _, _| Err(ModelError::ContextOverflow { needed: 9, context: 1 });
    for (answer, reason) in [
        (fails, "the local model stopped unexpectedly (signal 9); try again"),
        (silent, "The script ended without an answer; rephrase the prompt and try again"),
        (
            overflows,
            "the conversation has 9 tokens and the model was loaded for 1; start a new session or shorten the prompt",
        ),
    ] {
        let output = run(&agent(script(&[answer])), &asked(&bench));
        assert_eq!(output.outcome.state, RunState::Complete);
        assert_eq!(output.outcome.text, format!("_Only the places found are shown: {reason}._"));
        let ending = |update: &openagents_core::update::SessionUpdate| match update {
            openagents_core::update::SessionUpdate::AgentMessage(message) => message.ends_turn(),
            _ => false,
        };
        assert_eq!(output.updates.iter().filter(|update| ending(update)).count(), 1);
    }
}

#[test]
fn long_findings_are_shortened_to_fit() {
    let bench = Bench::with(&FILES);
    let model = script(&[|request, _, on_event| {
        let Some(Message::User { text }) = request.messages.last() else { return Ok(StopReason::EndTurn) };
        if text.chars().count() > 600 {
            return Err(ModelError::ContextOverflow { needed: 9, context: 1 });
        }
        on_event(speak("It follows redirects in `src/redirect.rs:12`."));
        Ok(StopReason::EndTurn)
    }]);
    let output = run(&agent(model.clone()), &asked(&bench));
    assert_eq!(output.outcome.text, "It follows redirects in `src/redirect.rs:12`.");
    assert!(model.capabilities().tools);
}
