use super::{testing::*, *};
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, Conversation},
    model::{Activity, Message, ModelError, ModelEvent, Reasoning, StopReason},
    update::{RunState, SessionUpdate},
};
use openagents_tools::{
    builtin::testing::Bench,
    tool::{Tool, ToolContext, ToolError, ToolOutput},
};
use serde_json::{Value, json};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

#[test]
fn turn_with_tool_call() {
    let bench = Bench::with(&[("README.md", "# App\n")]);
    let model = script(&[
        |_, _, on_event| {
            on_event(ModelEvent::Activity(Activity::Loading { progress: 0.5 }));
            on_event(ModelEvent::Reasoning(Reasoning::new("SECRET ")));
            on_event(ModelEvent::Reasoning(Reasoning::new("THOUGHT")));
            on_event(ModelEvent::Preamble("I look around.".to_owned()));
            on_event(ask("fs.list_dir", json!({"path": "."})));
            on_event(figures());
            Ok(StopReason::ToolCalls)
        },
        |_, _, on_event| {
            on_event(speak("It is "));
            on_event(speak("an app."));
            on_event(figures());
            Ok(StopReason::EndTurn)
        },
    ]);
    let shown = run(&agent(model.clone()), &request(&bench));
    insta::assert_snapshot!(story(&shown.updates), @r#"
    thought I look around.
    call #1 fs.list_dir {"path":"."}
    end #1 ["README.md"]
    message It is an app.⏱
    "#);
    assert_eq!((shown.outcome.state, shown.outcome.text.as_str()), (RunState::Complete, "It is an app."));
    assert_eq!(shown.activities, [Some(Activity::Loading { progress: 0.5 }), None]);

    // The second request contains everything of the first, including the chain of thought; the updates don't.
    let asked = model.asked.lock().unwrap();
    assert_eq!(asked[0].tools.len(), 7);
    let [Message::User { text }, Message::Assistant(reply), Message::Tool { text: result, name, .. }] =
        asked[1].messages.as_slice()
    else {
        panic!("{:?}", asked[1].messages)
    };
    assert_eq!(
        (text.as_str(), name.as_str(), result.as_str()),
        ("What is this?", "fs.list_dir", r#"["README.md"]"#)
    );
    assert_eq!(
        (reply.reasoning.for_template(), reply.preamble.as_str()),
        ("SECRET THOUGHT", "I look around.")
    );
    let stored = serde_json::to_string(&shown.updates).unwrap();
    assert!(!stored.contains("SECRET") && !stored.contains("THOUGHT"));
}

#[test]
fn invalid_call_is_returned_to_model() {
    let bench = Bench::with(&[]);
    let model = script(&[
        |_, _, on_event| {
            on_event(ask("rm", json!({})));
            on_event(ask("search.grep", json!({"patern": "x"})));
            on_event(ask("fs.list_dir", json!("{\"path\": \"src\"")));
            on_event(ask("content.get_span", json!({"path": "a", "start_line": "one"})));
            on_event(ask("codex.run", json!({"user_prompt": "x"})));
            Ok(StopReason::ToolCalls)
        },
        |_, _, on_event| {
            on_event(speak("Sorry."));
            Ok(StopReason::EndTurn)
        },
    ]);
    let shown = run(&agent(model.clone()), &request(&bench));
    insta::assert_snapshot!(story(&shown.updates), @r#"
    call #1 rm {}
    error #1 Invalid parameters: no tool named rm; there are content.get_span, fs.list_dir, search.grep, session.analyze, session.list, session.read, session.search
    call #2 search.grep {"patern":"x"}
    error #2 Invalid parameters: pattern is missing
    call #3 fs.list_dir {}
    error #3 Invalid parameters: the arguments are not valid JSON: EOF while parsing an object at line 1 column 14
    call #4 content.get_span {"path":"a","start_line":"one"}
    error #4 Invalid parameters: startLine: "one" is not an integer
    call #5 codex.run {"user_prompt":"x"}
    error #5 Invalid parameters: no tool named codex.run; there are content.get_span, fs.list_dir, search.grep, session.analyze, session.list, session.read, session.search
    message Sorry.
    "#);
    let asked = model.asked.lock().unwrap();
    let results = asked[1].messages.iter().filter(|message| matches!(message, Message::Tool { .. }));
    assert_eq!(results.count(), 5);
}

/// Each failed or incomplete turn ends with one sentence.
#[test]
fn each_failure_is_one_sentence() {
    let bench = Bench::with(&[]);
    let rows: [(Answer, &str, RunState); 6] = [
        (
            |_, _, _| Err(ModelError::Malformed),
            "❌ the model's answer could not be understood",
            RunState::Failed,
        ),
        (|_, _, _| Ok(StopReason::EndTurn), "❌ The script ended without an answer", RunState::Failed),
        (|_, _, _| panic!("on purpose"), "❌ The script stopped unexpectedly; try again", RunState::Failed),
        (|_, _, _| Err(ModelError::Cancelled), "Cancelled.", RunState::Cancelled),
        (
            |_, _, on_event| {
                on_event(ask("fs.list_dir", json!({})));
                Ok(StopReason::ToolCalls)
            },
            "❌ The script asked for tools 12 times without answering",
            RunState::Failed,
        ),
        (
            |_, _, _| Ok(StopReason::MaxTokens),
            "The answer was cut off: the conversation fills the model's context.",
            RunState::Complete,
        ),
    ];
    for (answer, expected, state) in rows {
        let shown = run(&agent(script(&[answer])), &request(&bench));
        let messages: Vec<_> =
            story(&shown.updates).lines().map(str::to_owned).filter(|l| l.starts_with("message")).collect();
        assert_eq!((messages.len(), shown.outcome.state), (1, state), "{messages:?}");
        assert!(messages[0].starts_with(&format!("message {expected}")), "{messages:?}");
    }
    let gone = PromptRequest { root: bench.root().join("gone"), ..request(&bench) };
    let shown = run(&agent(script(&[|_, _, _| Ok(StopReason::EndTurn)])), &gone);
    assert_eq!(shown.outcome.text, "❌ Invalid workspace: Path does not exist or is not a directory");
}

#[test]
fn truncated_answer_has_note_below() {
    let bench = Bench::with(&[]);
    let model = script(&[|_, _, on_event| {
        on_event(speak("Once upon"));
        on_event(figures());
        Ok(StopReason::MaxTokens)
    }]);
    let mut agent = agent(model);
    agent.options.max_tokens = Some(7);
    let shown = run(&agent, &request(&bench));
    insta::assert_snapshot!(story(&shown.updates), @r"
    message Once upon
    message The answer was cut off: the limit of 7 tokens was reached.⏱
    ");
}

/// Cancels right after the n-th update, for every n.
#[test]
fn cancel_leaves_one_final_message_and_no_open_call() {
    let bench = Bench::with(&[("a", "x\n")]);
    let model = || {
        script(&[
            |_, _, on_event| {
                on_event(ModelEvent::Preamble("Well.".to_owned()));
                on_event(ask("search.grep", json!({"pattern": "x"})));
                on_event(ask("fs.list_dir", json!({})));
                Ok(StopReason::ToolCalls)
            },
            |_, cancel, on_event| {
                on_event(speak("This never"));
                while !cancel.is_cancelled() {
                    on_event(speak(" ends"));
                }
                Err(ModelError::Cancelled)
            },
        ])
    };
    for after in 0..8 {
        let (cancel, events, count) = (CancellationToken::new(), Mutex::new(Vec::new()), AtomicUsize::new(0));
        let emit = |event| {
            let is_update = matches!(event, AgentEvent::Update(_));
            events.lock().unwrap().push(event);
            if is_update && count.fetch_add(1, Ordering::SeqCst) == after {
                cancel.cancel();
            }
        };
        let outcome = agent(model()).prompt(&request(&bench), &cancel, &emit);
        let shown = recorded(outcome, events.into_inner().unwrap());
        assert_eq!(shown.outcome.state, RunState::Cancelled, "after update {after}");
        let story = story(&shown.updates);
        assert!(story.ends_with("message Cancelled."), "{story}");
        let count = |what: &str| story.lines().filter(|line| line.starts_with(what)).count();
        assert_eq!(count("call"), count("end") + count("error"), "{story}");
        assert_eq!(shown.activities.last(), Some(&None));
    }
}

/// The model returns only after the turn is over.
#[test]
fn hanging_model_does_not_delay_cancel() {
    static RELEASE: AtomicBool = AtomicBool::new(false);
    let bench = Bench::with(&[]);
    let model = script(&[|_, _, on_event| {
        on_event(speak("Hm"));
        while !RELEASE.load(Ordering::SeqCst) {
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        Ok(StopReason::EndTurn)
    }]);
    let cancel = CancellationToken::new();
    let outcome = agent(model).prompt(&request(&bench), &cancel, &|_| cancel.cancel());
    RELEASE.store(true, Ordering::SeqCst);
    assert_eq!(outcome.state, RunState::Cancelled);
}

#[derive(Debug)]
struct Panics;

impl Tool for Panics {
    fn name(&self) -> &'static str {
        "fs.list_dir"
    }
    fn description(&self) -> &'static str {
        "For tests."
    }
    fn schema(&self) -> schemars::Schema {
        schemars::Schema::default()
    }
    fn call(&self, _: &ToolContext<'_>, _: Value) -> Result<ToolOutput, ToolError> {
        panic!("on purpose")
    }
}

#[test]
fn panicking_tool_fails_only_its_call() {
    let bench = Bench::with(&[]);
    let model = script(&[
        |_, _, on_event| {
            on_event(ask("fs.list_dir", json!({})));
            Ok(StopReason::ToolCalls)
        },
        |_, _, on_event| {
            on_event(speak("All the same."));
            Ok(StopReason::EndTurn)
        },
    ]);
    let mut agent = agent(model);
    agent.tools.registry = agent.tools.registry.with(Arc::new(Panics));
    let shown = run(&agent, &request(&bench));
    assert!(story(&shown.updates).contains("error #1 Execution failed: fs.list_dir stopped unexpectedly"));
    assert_eq!(shown.outcome.state, RunState::Complete);
}

#[test]
fn oldest_messages_are_dropped_to_fit() {
    let bench = Bench::with(&[]);
    let model = script(&[|request, _, on_event| {
        if request.messages.len() > 4 {
            return Err(ModelError::ContextOverflow { needed: 9, context: 8 });
        }
        on_event(speak("Short enough."));
        on_event(figures());
        Ok(StopReason::EndTurn)
    }]);
    let mut transcript = Conversation::default();
    for number in 0..10 {
        transcript.push(&prompt(&format!("prompt {number}")));
        transcript.push(&answer(&format!("answer {number}")));
    }
    let shown = run(&agent(model.clone()), &PromptRequest { transcript, ..request(&bench) });
    assert_eq!(shown.outcome.text, "Short enough.");
    let asked = model.asked.lock().unwrap();
    assert_eq!(asked[0].messages.len(), 21);
    let last = asked.last().unwrap();
    assert_eq!(last.messages[0], Message::User { text: "prompt 9".to_owned() });
}

/// The conversation pairs prompts with answers by this mark.
#[test]
fn turn_end_is_marked_once_and_last() {
    let bench = Bench::with(&[]);
    let answers: [Answer; 8] = [
        |_, _, on_event| {
            on_event(speak("No figures."));
            Ok(StopReason::EndTurn)
        },
        |_, _, on_event| {
            on_event(speak("Figures."));
            on_event(figures());
            Ok(StopReason::EndTurn)
        },
        |_, _, on_event| {
            on_event(ModelEvent::Reasoning(Reasoning::new("For ever and")));
            on_event(figures());
            Ok(StopReason::MaxTokens)
        },
        |_, _, on_event| {
            on_event(ask("fs.list_dir", json!({})));
            on_event(figures());
            Ok(StopReason::MaxTokens)
        },
        |_, cancel, on_event| {
            while !cancel.is_cancelled() {
                on_event(speak(&"long ".repeat(10_000)));
            }
            Err(ModelError::Cancelled)
        },
        |_, _, on_event| {
            on_event(figures());
            Ok(StopReason::EndTurn)
        },
        |_, _, on_event| {
            on_event(speak("Half"));
            Err(ModelError::Malformed)
        },
        |_, _, on_event| {
            on_event(speak("Half"));
            Err(ModelError::Cancelled)
        },
    ];
    for (number, answer) in answers.into_iter().enumerate() {
        let shown = run(&agent(script(&[answer])), &request(&bench));
        let ends = shown.updates.iter().map(|update| match update {
            SessionUpdate::AgentMessage(message) => message.ends_turn(),
            _ => false,
        });
        let ends: Vec<bool> = ends.collect();
        assert_eq!(ends.iter().filter(|ends| **ends).count(), 1, "answer {number}");
        assert_eq!(ends.last(), Some(&true), "answer {number}");
    }
}

#[test]
fn tool_with_unusable_name_is_an_error() {
    let bench = Bench::with(&[]);
    let model = script(&[
        |_, _, on_event| {
            on_event(ask("rm\0", json!({})));
            on_event(ask(&"x".repeat(64 << 10), json!({})));
            Ok(StopReason::ToolCalls)
        },
        |_, _, on_event| {
            on_event(speak("Well."));
            Ok(StopReason::EndTurn)
        },
    ]);
    let shown = run(&agent(model.clone()), &request(&bench));
    assert_eq!(shown.outcome.state, RunState::Complete, "{}", shown.outcome.text);
    let asked = model.asked.lock().unwrap();
    for message in &asked[1].messages {
        if let Message::Tool { text, .. } = message {
            assert!(text.contains("no tool named") && text.len() < 500, "{} bytes", text.len());
        }
    }
}

#[test]
fn large_results_are_shortened_to_fit() {
    let long = "x".repeat(12_000);
    let bench = Bench::with(&[("a", &long), ("b", &long)]);
    let model = script(&[
        |_, _, on_event| {
            on_event(ask("content.get_span", json!({"path": "a", "start_line": 1, "end_line": 2})));
            on_event(ask("content.get_span", json!({"path": "b", "start_line": 1, "end_line": 2})));
            Ok(StopReason::ToolCalls)
        },
        |request, _, on_event| {
            let chars = |message: &Message| match message {
                Message::Tool { text, .. } => text.len(),
                _ => 0,
            };
            let sizes: Vec<usize> = request.messages.iter().map(chars).filter(|chars| *chars > 0).collect();
            if sizes.iter().sum::<usize>() > sizes[1] + 1_000 {
                return Err(ModelError::ContextOverflow { needed: 9, context: 8 });
            }
            on_event(speak("Both are x."));
            Ok(StopReason::EndTurn)
        },
    ]);
    let shown = run(&agent(model.clone()), &request(&bench));
    assert_eq!(shown.outcome.text, "Both are x.");
    assert_eq!(model.asked.lock().unwrap().len(), 3);
}

#[test]
fn loaded_model_is_asked_for_capabilities_again() {
    let bench = Bench::with(&[]);
    let model = Arc::new(Scripted {
        answers: vec![
            |_, _, on_event| {
                on_event(ask("fs.list_dir", json!({})));
                Ok(StopReason::ToolCalls)
            },
            |_, _, on_event| {
                on_event(speak("Done."));
                Ok(StopReason::EndTurn)
            },
        ],
        no_tools_once_asked: true,
        ..Scripted::default()
    });
    run(&agent(model.clone()), &request(&bench));
    let asked = model.asked.lock().unwrap();
    assert_eq!([asked[0].tools.len(), asked[1].tools.len()], [7, 0]);
    assert!(!asked[1].instructions.contains("tools"));
}

/// The folder may be replaced by a link between the check of a delegate's folder and its turn.
#[test]
fn delegate_refuses_folder_that_became_link() {
    let (bench, elsewhere) = (Bench::with(&[("src/a.rs", "")]), Bench::with(&[("secret", "")]));
    let root = bench.root().join("src");
    let request = || PromptRequest { root: root.clone(), delegated: true, ..request(&bench) };
    let answer: Answer = |_, _, on_event| {
        on_event(speak("Here."));
        Ok(StopReason::EndTurn)
    };
    assert_eq!(run(&agent(script(&[answer])), &request()).outcome.text, "Here.");
    std::fs::remove_dir_all(&root).unwrap();
    std::os::unix::fs::symlink(elsewhere.root(), &root).unwrap();
    let shown = run(&agent(script(&[answer])), &request());
    let refusal = format!("❌ {} is no longer the folder that the task was given for", root.display());
    assert_eq!(shown.outcome.text, refusal);
}
