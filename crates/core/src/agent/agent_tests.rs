use super::*;
use crate::{
    history::History,
    model::{
        Availability, CallRequest, Capabilities, Message, ModelError, ModelEvent, ModelRequest, Reasoning,
        StopReason,
    },
    tool::{Tool, ToolContext, ToolError, ToolOutput},
    tools::testing::Bench,
    update::{PlanSnapshot, UserMessage},
};
use serde_json::{Value, json};
use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

type Answer =
    fn(&ModelRequest, &CancellationToken, &mut dyn FnMut(ModelEvent)) -> Result<StopReason, ModelError>;

/// Gives its answers one after the other, and keeps what it was asked.
#[derive(Debug, Default)]
struct Scripted {
    id: Option<&'static str>,
    answers: Vec<Answer>,
    asked: Mutex<Vec<ModelRequest>>,
    unavailable: Option<&'static str>,
}

impl LanguageModel for Scripted {
    fn id(&self) -> &str {
        self.id.unwrap_or("scripted")
    }
    fn name(&self) -> String {
        "The script".to_owned()
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { tools: true, local: true, loaded: true }
    }
    fn availability(&self) -> Availability {
        self.unavailable.map_or(Availability::Ready, |reason| Availability::Unavailable(reason.to_owned()))
    }
    fn respond(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError> {
        let number = {
            let mut asked = self.asked.lock().unwrap();
            asked.push(request.clone());
            asked.len() - 1
        };
        // The last answer is given again and again.
        self.answers[number.min(self.answers.len() - 1)](request, cancel, on_event)
    }
}

fn say(text: &str) -> ModelEvent {
    ModelEvent::Text(text.to_owned())
}

fn ask(name: &str, arguments: Value) -> ModelEvent {
    ModelEvent::ToolCall(CallRequest { id: "call".to_owned(), name: name.to_owned(), arguments })
}

fn figures() -> ModelEvent {
    ModelEvent::Usage(Usage { tokens: 7, tokens_per_second: 2.5, first_token_ms: 40, ..Usage::default() })
}

fn script(answers: &[Answer]) -> Arc<Scripted> {
    Arc::new(Scripted { answers: answers.to_vec(), ..Scripted::default() })
}

fn agent(model: Arc<Scripted>) -> AgentLoop {
    AgentLoop {
        model,
        options: ModelOptions::default(),
        tools: Toolbox::exploration(Arc::new(History::empty())),
        session_tools: Vec::new(),
    }
}

fn request(bench: &Bench) -> PromptRequest {
    PromptRequest {
        root: bench.root().to_path_buf(),
        text: "What is this?".to_owned(),
        transcript: Transcript::default(),
    }
}

struct Told {
    outcome: PromptOutcome,
    updates: Vec<SessionUpdate>,
    activities: Vec<Option<Activity>>,
}

fn run(agent: &AgentLoop, request: &PromptRequest) -> Told {
    let events = Mutex::new(Vec::new());
    let outcome =
        agent.prompt(request, &CancellationToken::new(), &|event| events.lock().unwrap().push(event));
    told(outcome, events.into_inner().unwrap())
}

fn told(outcome: PromptOutcome, events: Vec<AgentEvent>) -> Told {
    let (mut updates, mut activities) = (Vec::new(), Vec::new());
    for event in events {
        match event {
            AgentEvent::Update(update) => updates.push(update),
            AgentEvent::Activity(activity) => activities.push(activity),
        }
    }
    Told { outcome, updates, activities }
}

/// One line an update; chunks of one message are joined, whatever the clock made of them.
fn story(updates: &[SessionUpdate]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut message: Option<(Option<String>, String)> = None;
    let mut ids = std::collections::HashMap::new();
    for update in updates {
        if let SessionUpdate::AgentMessage(chunk) = update {
            let figures = if chunk.usage.is_some() { "⏱" } else { "" };
            let text = format!("{}{figures}", chunk.text);
            match &mut message {
                Some((id, known)) if *id == chunk.message_id => known.push_str(&text),
                _ => {
                    lines.extend(message.take().map(|(_, text)| format!("message {text}")));
                    message = Some((chunk.message_id.clone(), text));
                }
            }
            continue;
        }
        lines.extend(message.take().map(|(_, text)| format!("message {text}")));
        lines.push(match update {
            SessionUpdate::ToolCall(call) => {
                let number = ids.len() + 1;
                ids.insert(call.call_id.clone(), number);
                format!("call #{number} {} {}", call.name, Value::Object(call.arguments.clone()))
            }
            SessionUpdate::ToolCallUpdate(update) => match &update.status {
                ToolCallStatus::Completed { output, .. } => format!("end #{} {output}", ids[&update.call_id]),
                ToolCallStatus::Error { message } => format!("error #{} {message}", ids[&update.call_id]),
                other => format!("{other:?}"),
            },
            SessionUpdate::AgentThought(thought) => format!("thought {}", thought.text),
            other => format!("{other:?}"),
        });
    }
    lines.extend(message.map(|(_, text)| format!("message {text}")));
    lines.join("\n")
}

#[test]
fn a_turn_with_a_tool_call() {
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
            on_event(say("It is "));
            on_event(say("an app."));
            on_event(figures());
            Ok(StopReason::EndTurn)
        },
    ]);
    let told = run(&agent(model.clone()), &request(&bench));
    insta::assert_snapshot!(story(&told.updates), @r#"
    thought I look around.
    call #1 fs.list_dir {"path":"."}
    end #1 ["README.md"]
    message It is an app.⏱
    "#);
    assert_eq!((told.outcome.state, told.outcome.text.as_str()), (RunState::Complete, "It is an app."));
    assert_eq!(told.activities, [Some(Activity::Loading { progress: 0.5 }), None]);

    // The second question has all that came of the first, the chain of thought included; the updates have it not.
    let asked = model.asked.lock().unwrap();
    assert_eq!(asked[0].tools.len(), 7);
    let [Message::User { text }, Message::Assistant(said), Message::Tool { text: result, name, .. }] =
        asked[1].messages.as_slice()
    else {
        panic!("{:?}", asked[1].messages)
    };
    assert_eq!(
        (text.as_str(), name.as_str(), result.as_str()),
        ("What is this?", "fs.list_dir", r#"["README.md"]"#)
    );
    assert_eq!((said.reasoning.for_template(), said.preamble.as_str()), ("SECRET THOUGHT", "I look around."));
    let stored = serde_json::to_string(&told.updates).unwrap();
    assert!(!stored.contains("SECRET") && !stored.contains("THOUGHT"));
}

#[test]
fn a_call_that_makes_no_sense_goes_back_to_the_model_and_the_turn_goes_on() {
    let bench = Bench::with(&[]);
    let model = script(&[
        |_, _, on_event| {
            on_event(ask("rm", json!({})));
            on_event(ask("search.grep", json!({"patern": "x"})));
            on_event(ask("fs.list_dir", json!("src")));
            Ok(StopReason::ToolCalls)
        },
        |_, _, on_event| {
            on_event(say("Sorry."));
            Ok(StopReason::EndTurn)
        },
    ]);
    let told = run(&agent(model.clone()), &request(&bench));
    insta::assert_snapshot!(story(&told.updates), @r#"
    call #1 rm {}
    error #1 Invalid parameters: no tool named rm; there are content.get_span, fs.list_dir, search.grep, session.analyze, session.list, session.read, session.search
    call #2 search.grep {"patern":"x"}
    error #2 Invalid parameters: missing field `pattern`
    call #3 fs.list_dir {}
    error #3 Invalid parameters: the arguments are no JSON object
    message Sorry.
    "#);
    let asked = model.asked.lock().unwrap();
    let results = asked[1].messages.iter().filter(|message| matches!(message, Message::Tool { .. }));
    assert_eq!(results.count(), 3);
}

/// How turns end that have no answer, or not a whole one.
#[test]
fn every_bad_end_is_one_sentence() {
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
        let told = run(&agent(script(&[answer])), &request(&bench));
        let messages: Vec<_> =
            story(&told.updates).lines().map(str::to_owned).filter(|l| l.starts_with("message")).collect();
        assert_eq!((messages.len(), told.outcome.state), (1, state), "{messages:?}");
        assert!(messages[0].starts_with(&format!("message {expected}")), "{messages:?}");
    }
    let gone = PromptRequest { root: bench.root().join("gone"), ..request(&bench) };
    let told = run(&agent(script(&[|_, _, _| Ok(StopReason::EndTurn)])), &gone);
    assert_eq!(told.outcome.text, "❌ Invalid workspace: Path does not exist or is not a directory");
}

#[test]
fn an_answer_that_reached_its_limit_says_so_below_it() {
    let bench = Bench::with(&[]);
    let model = script(&[|_, _, on_event| {
        on_event(say("Once upon"));
        on_event(figures());
        Ok(StopReason::MaxTokens)
    }]);
    let mut agent = agent(model);
    agent.options.max_tokens = Some(7);
    let told = run(&agent, &request(&bench));
    insta::assert_snapshot!(story(&told.updates), @r"
    message Once upon⏱
    message The answer was cut off: the limit of 7 tokens was reached.
    ");
}

/// Somebody cancels right after the n-th update, for every n.
#[test]
fn a_cancel_at_any_point_leaves_one_last_word_and_no_open_call() {
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
                on_event(say("This never"));
                while !cancel.is_cancelled() {
                    on_event(say(" ends"));
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
        let told = told(outcome, events.into_inner().unwrap());
        assert_eq!(told.outcome.state, RunState::Cancelled, "after update {after}");
        let story = story(&told.updates);
        assert!(story.ends_with("message Cancelled."), "{story}");
        let count = |what: &str| story.lines().filter(|line| line.starts_with(what)).count();
        assert_eq!(count("call"), count("end") + count("error"), "{story}");
        assert_eq!(told.activities.last(), Some(&None));
    }
}

/// The model notices nothing until the turn is over.
#[test]
fn a_model_that_hangs_does_not_hold_a_cancel_up() {
    static RELEASE: AtomicBool = AtomicBool::new(false);
    let bench = Bench::with(&[]);
    let model = script(&[|_, _, on_event| {
        on_event(say("Hm"));
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
fn a_tool_that_panics_costs_its_call_and_not_the_turn() {
    let bench = Bench::with(&[]);
    let model = script(&[
        |_, _, on_event| {
            on_event(ask("fs.list_dir", json!({})));
            Ok(StopReason::ToolCalls)
        },
        |_, _, on_event| {
            on_event(say("All the same."));
            Ok(StopReason::EndTurn)
        },
    ]);
    let mut agent = agent(model);
    agent.tools.registry = agent.tools.registry.with(Arc::new(Panics));
    let told = run(&agent, &request(&bench));
    assert!(story(&told.updates).contains("error #1 Execution failed: fs.list_dir stopped unexpectedly"));
    assert_eq!(told.outcome.state, RunState::Complete);
}

#[test]
fn what_does_not_fit_any_more_is_forgotten_from_the_beginning() {
    let bench = Bench::with(&[]);
    let model = script(&[|request, _, on_event| {
        if request.messages.len() > 4 {
            return Err(ModelError::ContextOverflow { needed: 9, context: 8 });
        }
        on_event(say("Short enough."));
        on_event(figures());
        Ok(StopReason::EndTurn)
    }]);
    let mut transcript = Transcript::default();
    for number in 0..10 {
        transcript.push(&prompt(&format!("prompt {number}")));
        transcript.push(&answer(&format!("answer {number}")));
    }
    let told = run(&agent(model.clone()), &PromptRequest { transcript, ..request(&bench) });
    assert_eq!(told.outcome.text, "Short enough.");
    let asked = model.asked.lock().unwrap();
    assert_eq!(asked[0].messages.len(), 21);
    let last = asked.last().unwrap();
    assert_eq!(last.messages[0], Message::User { text: "prompt 9".to_owned() });
}

fn prompt(text: &str) -> SessionUpdate {
    SessionUpdate::UserMessage(UserMessage { text: text.to_owned(), connection: None })
}

fn answer(text: &str) -> SessionUpdate {
    let usage = Some(Usage::default());
    SessionUpdate::AgentMessage(AgentMessage { text: text.to_owned(), usage, ..AgentMessage::default() })
}

fn chunk(id: &str, text: &str) -> SessionUpdate {
    let message_id = Some(id.to_owned());
    SessionUpdate::AgentMessage(AgentMessage { text: text.to_owned(), message_id, ..AgentMessage::default() })
}

fn called(id: &str, name: &str) -> SessionUpdate {
    SessionUpdate::ToolCall(crate::update::ToolCall {
        call_id: id.to_owned(),
        name: name.to_owned(),
        arguments: serde_json::Map::new(),
        op_hash: None,
        stage: None,
    })
}

fn ended(id: &str, output: &str) -> SessionUpdate {
    let status = ToolCallStatus::Completed { output: output.into(), cut: crate::update::Cut::default() };
    SessionUpdate::ToolCallUpdate(ToolCallUpdate { call_id: id.to_owned(), status, late: false })
}

fn read(updates: Vec<SessionUpdate>, room: usize) -> String {
    let mut transcript = Transcript::default();
    updates.iter().for_each(|update| transcript.push(update));
    let line = |message: Message| match message {
        Message::User { text } => format!("user {text}"),
        Message::Assistant(said) => {
            let calls: Vec<_> = said.calls.iter().map(|call| call.name.as_str()).collect();
            format!("assistant {}{}", said.text, calls.join(","))
        }
        Message::Tool { name, text, .. } => format!("tool {name} {text}"),
    };
    transcript.messages(room).into_iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_log_becomes_a_conversation() {
    let thought = SessionUpdate::AgentThought(crate::update::AgentThought { text: "hidden".to_owned() });
    let log = vec![
        prompt("one"),
        thought,
        called("a", "search.grep"),
        ended("a", "found"),
        called("b", "fs.list_dir"),
        chunk("m", "It "),
        chunk("m", "is"),
        answer(""),
        prompt("two"),
        called("c", GENERATE),
        chunk("g", "fn main() {}"),
        ended("c", "figures"),
        answer("Done."),
        prompt("waits"),
    ];
    insta::assert_snapshot!(read(log, 10_000), @r"
    user one
    assistant search.grep
    tool search.grep found
    assistant fs.list_dir
    tool fs.list_dir (no result)
    assistant It is
    user two
    assistant fn main() {}
    assistant Done.
    ");
}

#[test]
fn an_exploration_is_its_last_message() {
    let plan = |state| {
        SessionUpdate::Plan(PlanSnapshot {
            plan_id: "p".to_owned(),
            goals: vec!["Find the parser".to_owned()],
            state,
            entries: Vec::new(),
        })
    };
    let summary = SessionUpdate::AgentMessage(AgentMessage {
        text: "**Repository:** app".to_owned(),
        summary: Some(crate::update::Summary::default()),
        ..AgentMessage::default()
    });
    let mut step = called("s", "search.grep");
    if let SessionUpdate::ToolCall(call) = &mut step {
        call.op_hash = Some(7);
    }
    let log = vec![
        plan(RunState::Running),
        step,
        ended("s", "x"),
        plan(RunState::Complete),
        summary.clone(),
        prompt("and now?"),
        plan(RunState::Running),
        summary,
    ];
    insta::assert_snapshot!(read(log, 10_000), @r"
    user Explore this workspace. Find the parser
    assistant **Repository:** app
    user and now?
    assistant **Repository:** app
    ");
}

#[test]
fn prompts_that_waited_stand_before_their_own_answers() {
    let log = vec![
        prompt("one"),
        prompt("two"),
        prompt("three"),
        answer("first"),
        chunk("p", "The answer was cut off: the limit of 7 tokens was reached."),
        chunk("w", "Cancelled before it began."),
    ];
    insta::assert_snapshot!(read(log, 10_000), @r"
    user one
    assistant first
    assistant The answer was cut off: the limit of 7 tokens was reached.
    user two
    assistant Cancelled before it began.
    ");
}

#[test]
fn the_newest_turns_that_fit_are_kept() {
    let log: Vec<_> = (0..5).flat_map(|n| [prompt(&format!("{n}")), answer("0123456789")]).collect();
    assert_eq!(read(log.clone(), 25), "user 3\nassistant 0123456789\nuser 4\nassistant 0123456789");
    assert_eq!(read(log, 5), "");
}

fn generate(model: Scripted) -> Generate {
    let model = Arc::new(Scripted { id: Some("gptoss_20b"), ..model });
    Generate { model, options: ModelOptions::default() }
}

fn call_generate(generate: &Generate, arguments: Value) -> (Result<String, ToolError>, String) {
    let bench = Bench::with(&[("src/a", "")]);
    let events = Mutex::new(Vec::new());
    let emit = |event| events.lock().unwrap().push(event);
    let context =
        SessionContext { workspace: &bench.workspace, call_id: "row", cancel: &bench.cancel, emit: &emit };
    let result = generate.call(&context, arguments);
    let updates = events.into_inner().unwrap().into_iter().filter_map(|event| match event {
        AgentEvent::Update(update) => Some(update),
        AgentEvent::Activity(_) => None,
    });
    (result, story(&updates.collect::<Vec<_>>()))
}

#[test]
fn generate_streams_and_closes_its_row_with_figures() {
    let generate = generate(Scripted {
        answers: vec![|request, _, on_event| {
            assert!(request.options.temperature == 0.25 && request.options.max_tokens == Some(100));
            assert!(request.instructions.contains("proj/src") && request.tools.is_empty());
            on_event(ModelEvent::Reasoning(Reasoning::new("SECRET")));
            on_event(say("fn main() {}"));
            on_event(figures());
            Ok(StopReason::EndTurn)
        }],
        ..Scripted::default()
    });
    let arguments = json!({"user_prompt": "Write it", "task_type": "code_generation", "workspace_root": "src",
        "temperature": 0.25, "max_tokens": 100});
    let (result, story) = call_generate(&generate, arguments);
    assert_eq!(result.unwrap(), "fn main() {}");
    insta::assert_snapshot!(story, @r#"
    call #1 gptoss.generate {"provider":"gptoss","user_prompt":"Write it","task_type":"code_generation","workspace_root":"src","temperature":0.25,"max_tokens":100}
    message fn main() {}
    end #1 {"tokens":7,"tokens_per_second":2.5,"first_token_ms":40}
    "#);
}

#[test]
fn generate_that_cannot_run_tells_the_caller_to_answer_itself() {
    let failing = [
        Scripted { unavailable: Some("16 GB of memory are needed"), ..Scripted::default() },
        Scripted {
            answers: vec![|_, _, _| Err(ModelError::Unavailable("16 GB of memory are needed.".to_owned()))],
            ..Scripted::default()
        },
    ];
    for model in failing {
        let (result, story) = call_generate(&generate(model), json!({"user_prompt": "Write it"}));
        let expected =
            "gptoss.generate unavailable: 16 GB of memory are needed. Falling back to inline response.";
        assert_eq!(result.unwrap(), expected);
        assert!(story.ends_with(&format!("error #1 {expected}")), "{story}");
    }
}

#[test]
fn generate_refuses_what_is_out_of_range_by_name() {
    let generate = generate(Scripted::default());
    let rows = [
        (json!({}), "user_prompt"),
        (json!({"user_prompt": " "}), "user_prompt is empty"),
        (json!({"user_prompt": "x", "temperature": 1.5}), "temperature is 1.5; it goes from 0 to 1"),
        (json!({"user_prompt": "x", "temperature": -0.1}), "temperature"),
        (json!({"user_prompt": "x", "max_tokens": 0}), "max_tokens is 0"),
        (json!({"user_prompt": "x", "max_tokens": -5}), "-5"),
        (json!({"user_prompt": "x", "task_type": "poetry"}), "poetry"),
        (
            json!({"user_prompt": "x", "workspace_root": "/etc"}),
            "workspace_root /etc is not in the workspace",
        ),
        (json!([]), "Invalid parameters"),
    ];
    for (arguments, part) in rows {
        let (result, story) = call_generate(&generate, arguments.clone());
        let error = result.unwrap_err();
        assert!(
            matches!(&error, ToolError::InvalidParameters(reason) if error.to_string().contains(part) || reason.contains(part)),
            "{arguments}: {error}"
        );
        assert!(story.contains("error #1 Invalid parameters"), "{story}");
    }
}

#[test]
fn generate_is_offered_to_other_models_only() {
    let generate: Arc<dyn SessionTool> = Arc::new(generate(Scripted::default()));
    for (id, offered) in [("gptoss_20b", false), ("fm", true)] {
        let bench = Bench::with(&[]);
        let answers: Vec<Answer> = vec![|_, _, on_event| {
            on_event(say("Hello."));
            Ok(StopReason::EndTurn)
        }];
        let model = Arc::new(Scripted { id: Some(id), answers, ..Scripted::default() });
        let agent = AgentLoop { session_tools: vec![generate.clone()], ..agent(model.clone()) };
        run(&agent, &request(&bench));
        let asked = model.asked.lock().unwrap();
        assert_eq!(asked[0].tools.iter().any(|tool| tool.name == GENERATE), offered);
    }
}
