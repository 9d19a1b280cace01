use super::*;
use crate::plan::{OpKind, PlanError, PlanRequest, Planner};
use openagents_core::{
    CancellationToken,
    budget::Budget,
    model::{
        Availability, Capabilities, LanguageModel, ModelError, ModelEvent, ModelRequest, Reasoning,
        StopReason,
    },
    update::{EntryStatus, Evidence, IntentSource, RunState, SessionUpdate, ToolCallStatus},
};
use openagents_search::find;
use openagents_tools::{
    builtin::testing::Bench,
    tool::{Tool, ToolContext, ToolError, ToolOutput},
};
use openagents_transcripts::history::{
    CachedTranscripts, FileStamp, History, HistoryRoots, ListingCache, MemoryListingCache, Provider,
    Transcript,
};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

#[derive(Debug)]
struct Fixed(Vec<OpKind>);

impl Planner for Fixed {
    fn plan(&self, _: &PlanRequest<'_>) -> Result<Vec<OpKind>, PlanError> {
        Ok(self.0.clone())
    }
}

fn explorer(ops: Vec<OpKind>) -> Explorer {
    Explorer { planner: Arc::new(Fixed(ops)), ..Explorer::heuristic(Arc::new(History::empty())) }
}

fn request(root: &std::path::Path) -> ExploreRequest {
    ExploreRequest {
        root: root.to_path_buf(),
        goals: vec!["find the parser".into()],
        plan_id: "plan".into(),
        repository_note: None,
        planner: PlannerChoice::Heuristic,
        answers_prompt: false,
    }
}

fn run(explorer: &Explorer, root: &std::path::Path) -> (ExploreOutcome, Vec<SessionUpdate>) {
    let updates = Mutex::new(Vec::new());
    let emit = |update| updates.lock().unwrap().push(update);
    let outcome = explorer.explore(&request(root), &CancellationToken::new(), &emit);
    (outcome, updates.into_inner().unwrap())
}

fn read(path: &str) -> OpKind {
    OpKind::ReadSpan { path: path.into(), start_line: 1, end_line: 5 }
}

/// One line per update; ids are numbered in order of appearance.
fn story(updates: &[SessionUpdate]) -> String {
    let mut ids: HashMap<String, usize> = HashMap::new();
    let mut id = |text: &str| {
        let next = ids.len() + 1;
        *ids.entry(text.to_owned()).or_insert(next)
    };
    let lines = updates.iter().map(|update| match update {
        SessionUpdate::Plan(plan) => {
            let entries = plan.entries.iter().map(|entry| {
                let mark = match entry.status {
                    EntryStatus::Pending => "○",
                    EntryStatus::InProgress => "⏰",
                    EntryStatus::Completed => "✓",
                };
                let error = entry.error.as_ref().map(|error| format!(" ({error})")).unwrap_or_default();
                format!("{mark} #{} {}{error}", id(&entry.op_id), entry.content)
            });
            format!("plan {}: {}", plan.state.as_str(), entries.collect::<Vec<_>>().join(" | "))
        }
        SessionUpdate::ToolCall(call) => format!("call #{} {}", id(&call.call_id), call.name),
        SessionUpdate::ToolCallUpdate(update) => {
            let status = match &update.status {
                ToolCallStatus::Started { progress, .. } => format!("started {progress}"),
                ToolCallStatus::Completed { output, .. } if output.get("summary_bytes").is_some() => {
                    format!("completed {output}")
                }
                ToolCallStatus::Completed { .. } => "completed".to_owned(),
                ToolCallStatus::Error { message } => format!("error {message}"),
                ToolCallStatus::Unchanged => "unchanged".to_owned(),
            };
            format!("update #{} {status}", id(&update.call_id))
        }
        SessionUpdate::AgentMessage(message) => format!("message {:?}", message.text),
        other => format!("{other:?}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn updates_arrive_in_order() {
    let bench = Bench::with(&[
        ("README.md", "# App\n\nApp parses things quickly. More.\n"),
        ("src/parser.rs", "fn parser() {}\n"),
    ]);
    let (outcome, updates) =
        run(&explorer(vec![read("README.md"), read("missing"), OpKind::grep("parser")]), bench.root());
    insta::assert_snapshot!(story(&updates));
    assert_eq!((outcome.state, outcome.ops), (RunState::Complete, 3));
    assert_eq!(outcome.summary.findings[0].citation(), "src/parser.rs:1");
    assert!(outcome.summary.top_files.is_empty(), "no session edited a file");
}

#[test]
fn missing_root_fails_with_one_message() {
    let bench = Bench::with(&[]);
    let (outcome, updates) = run(&explorer(vec![read("a")]), &bench.root().join("nope"));
    assert_eq!(outcome.state, RunState::Failed);
    let expected = "message \"❌ Invalid workspace: Path does not exist or is not a directory\"";
    assert_eq!(story(&updates), expected);
}

#[test]
fn run_fails_when_every_step_fails() {
    let bench = Bench::with(&[("README.md", "# App\n\nApp is an app.\n")]);
    let (outcome, updates) = run(&explorer(vec![read("nope"), read("../x")]), bench.root());
    assert_eq!(outcome.state, RunState::Failed);
    insta::assert_snapshot!(story(&updates));
}

/// Cancels right after the n-th update, for every n: the run always ends in order.
#[test]
fn cancelled_run_leaves_nothing_running() {
    let bench = Bench::with(&[("README.md", "# App\n\nApp is an app.\n"), ("a", "x\n")]);
    let explorer = explorer(vec![read("README.md"), OpKind::grep("x"), read("a")]);
    let whole = run(&explorer, bench.root()).1.len();
    for after in 0..whole - 1 {
        let (cancel, updates, count) =
            (CancellationToken::new(), Mutex::new(Vec::new()), AtomicUsize::new(0));
        let emit = |update| {
            updates.lock().unwrap().push(update);
            if count.fetch_add(1, Ordering::SeqCst) == after {
                cancel.cancel();
            }
        };
        let outcome = explorer.explore(&request(bench.root()), &cancel, &emit);
        let updates = updates.into_inner().unwrap();
        if outcome.state == RunState::Complete {
            // The last update before the summary had been sent already.
            assert!(after >= whole - 2, "cancelled after update {after} but the run went on");
            continue;
        }
        assert_eq!(outcome.state, RunState::Cancelled, "after update {after}");
        let is_final = |update: &&SessionUpdate| matches!(update, SessionUpdate::AgentMessage(message) if message.findings.is_none());
        assert_eq!(updates.iter().filter(is_final).count(), 1);
        assert!(story(&updates).ends_with("message \"Exploration cancelled.\""));
        assert_nothing_runs(&updates);
    }
}

fn assert_nothing_runs(updates: &[SessionUpdate]) {
    let mut open: Vec<&str> = Vec::new();
    let mut ended_well: Vec<&str> = Vec::new();
    let mut last_plan = None;
    for update in updates {
        match update {
            SessionUpdate::ToolCall(call) => open.push(&call.call_id),
            SessionUpdate::ToolCallUpdate(update)
                if !matches!(update.status, ToolCallStatus::Started { .. }) =>
            {
                open.retain(|id| *id != update.call_id);
                if matches!(update.status, ToolCallStatus::Completed { .. }) {
                    ended_well.push(&update.call_id);
                }
            }
            SessionUpdate::Plan(plan) => last_plan = Some(plan),
            _ => {}
        }
    }
    assert_eq!(open, Vec::<&str>::new());
    if let Some(plan) = last_plan {
        assert_ne!(plan.state, RunState::Running);
        for entry in &plan.entries {
            assert_eq!(entry.status, EntryStatus::Completed);
            assert_eq!(entry.error.is_none(), ended_well.contains(&entry.op_id.as_str()), "{entry:?}");
        }
    }
}

#[derive(Debug)]
struct Planned(fn(&PlanRequest<'_>) -> Result<Vec<OpKind>, PlanError>);

impl Planner for Planned {
    fn plan(&self, request: &PlanRequest<'_>) -> Result<Vec<OpKind>, PlanError> {
        (self.0)(request)
    }
}

#[test]
fn panicking_planner_fails_run_with_one_message() {
    let bench = Bench::with(&[]);
    let mut explorer = explorer(vec![]);
    explorer.planner = Arc::new(Planned(|_| panic!("on purpose")));
    let (outcome, updates) = run(&explorer, bench.root());
    assert_eq!(outcome.state, RunState::Failed);
    assert_eq!(story(&updates), "message \"❌ plan stopped unexpectedly\"");
}

/// The planner waits for a release that comes only after the end of the run.
#[test]
fn hanging_planner_does_not_delay_cancel() {
    static RELEASE: std::sync::Mutex<bool> = std::sync::Mutex::new(false);
    static CANCEL: std::sync::OnceLock<CancellationToken> = std::sync::OnceLock::new();
    let cancel = CANCEL.get_or_init(CancellationToken::new);
    let bench = Bench::with(&[]);
    let mut explorer = explorer(vec![]);
    explorer.planner = Arc::new(Planned(|_| {
        CANCEL.get().unwrap().cancel();
        while !*RELEASE.lock().unwrap() {
            std::thread::park_timeout(Duration::from_millis(1));
        }
        Ok(vec![])
    }));
    let updates = Mutex::new(Vec::new());
    let outcome =
        explorer.explore(&request(bench.root()), cancel, &|update| updates.lock().unwrap().push(update));
    *RELEASE.lock().unwrap() = true;
    assert_eq!(outcome.state, RunState::Cancelled);
    assert_eq!(story(&updates.into_inner().unwrap()), "message \"Exploration cancelled.\"");
}

#[derive(Debug)]
struct Misbehaving(&'static str, fn(&ToolContext<'_>) -> Result<ToolOutput, ToolError>);

impl Tool for Misbehaving {
    fn name(&self) -> &'static str {
        self.0
    }
    fn description(&self) -> &'static str {
        "For tests."
    }
    fn schema(&self) -> schemars::Schema {
        schemars::Schema::default()
    }
    fn call(&self, context: &ToolContext<'_>, _: serde_json::Value) -> Result<ToolOutput, ToolError> {
        (self.1)(context)
    }
}

#[test]
fn panicking_tool_fails_only_its_step() {
    let bench = Bench::with(&[("a", "x\n")]);
    let mut explorer = explorer(vec![read("a"), OpKind::grep("x")]);
    let panics = Misbehaving("content.get_span", |_| panic!("on purpose"));
    explorer.tools.registry = explorer.tools.registry.with(Arc::new(panics));
    let (outcome, updates) = run(&explorer, bench.root());
    assert_eq!(outcome.state, RunState::Complete);
    assert!(story(&updates).contains("Execution failed: content.get_span stopped unexpectedly"));
}

/// The tool waits for a release that comes only after the end of the run, so the run must not wait for the tool.
#[test]
fn hanging_tool_does_not_delay_cancel() {
    static RELEASE: std::sync::Mutex<bool> = std::sync::Mutex::new(false);
    let bench = Bench::with(&[("a", "x\n")]);
    let mut explorer = explorer(vec![read("a")]);
    let hangs = Misbehaving("content.get_span", |_| {
        while !*RELEASE.lock().unwrap() {
            std::thread::park_timeout(Duration::from_millis(1));
        }
        Ok(ToolOutput::whole(serde_json::Value::Null))
    });
    explorer.tools.registry = explorer.tools.registry.with(Arc::new(hangs));
    let (cancel, updates) = (CancellationToken::new(), Mutex::new(Vec::new()));
    let emit = |update| {
        if matches!(update, SessionUpdate::ToolCall(_)) {
            cancel.cancel();
        }
        updates.lock().unwrap().push(update);
    };
    let outcome = explorer.explore(&request(bench.root()), &cancel, &emit);
    *RELEASE.lock().unwrap() = true;
    assert_eq!(outcome.state, RunState::Cancelled);
    assert_nothing_runs(&updates.into_inner().unwrap());
}

type Said = fn(&ModelRequest, &CancellationToken) -> Result<&'static str, ModelError>;

/// Answers a request for a plan, then one for an intent.
#[derive(Debug)]
struct Thinker {
    name: &'static str,
    loaded: bool,
    unavailable: bool,
    said: Said,
}

impl LanguageModel for Thinker {
    fn id(&self) -> &str {
        "gptoss_20b"
    }
    fn name(&self) -> String {
        self.name.to_owned()
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { tools: true, local: true, loaded: self.loaded }
    }
    fn availability(&self) -> Availability {
        if self.unavailable {
            Availability::Unavailable("download it first".to_owned())
        } else {
            Availability::Ready
        }
    }
    fn respond(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError> {
        let said = (self.said)(request, cancel)?;
        on_event(ModelEvent::Reasoning(Reasoning::new("grep \"secret\"\n")));
        let whole = said.strip_suffix(CUT);
        let words = whole.unwrap_or(said).split_inclusive(' ');
        words.for_each(|word| on_event(ModelEvent::Text(word.to_owned())));
        Ok(if whole.is_some() { StopReason::MaxTokens } else { StopReason::EndTurn })
    }
}

/// Marks the token limit at the end of the model's text.
const CUT: &str = "[limit]";

#[test]
fn truncated_model_answer_is_discarded() {
    let said: Said = |request, _| {
        Ok(match wants_plan(request) {
            true => r#"[{"op":"grep","pattern":"tide"},{"op":"readSpan","path":"READ[limit]"#,
            false => "Tide predicts the tide for sail[limit]",
        })
    };
    let (outcome, updates) =
        thinking(PlannerChoice::Auto, Thinker { name: "gpt-oss", loaded: true, unavailable: false, said });
    assert_eq!(outcome.state, RunState::Complete, "{}", outcome.message);
    assert!(steps(&updates).contains(&"List directory .".to_owned()), "{:?}", steps(&updates));
    assert_eq!(outcome.summary.source, IntentSource::Readme);
    let (outcome, _) =
        thinking(PlannerChoice::Model, Thinker { name: "gpt-oss", loaded: true, unavailable: false, said });
    assert_eq!(outcome.message, "❌ no plan: the answer was cut off at its limit of 1024 tokens");

    let bench = Bench::with(&[("src/redirect.rs", "/// Redirects.\npub fn follow() {}\n")]);
    let said: Said =
        |_, _| Ok("Redirects are followed by `follow` in src/redirect.rs:2 unless the li[limit]");
    let model = Arc::new(Thinker { name: "gpt-oss", loaded: true, unavailable: false, said });
    let explorer = Explorer { models: vec![model], ..Explorer::heuristic(Arc::new(History::empty())) };
    let request =
        ExploreRequest { goals: vec!["Where are redirects followed?".to_owned()], ..request(bench.root()) };
    let outcome = explorer.explore(&request, &CancellationToken::new(), &|_| ());
    assert!(!outcome.message.contains("unless the li"), "{}", outcome.message);
}

/// Regression (M16): a follow-up without findings was offered.
#[test]
fn each_follow_up_has_a_finding() {
    let bench = Bench::with(&[
        ("README.md", "# App\n\nApp is a batteries-included thing.\n"),
        ("src/parser.rs", "/// Finds the parser.\npub fn parser() {}\n"),
        ("src/net.rs", "pub fn connect() {\n    // TODO: retry\n}\n"),
    ]);
    let explorer = Explorer::heuristic(Arc::new(History::empty()));
    for goals in [vec![], vec!["find the parser".to_owned()]] {
        let request = ExploreRequest { goals: goals.clone(), ..request(bench.root()) };
        let outcome = explorer.explore(&request, &CancellationToken::new(), &|_| ());
        assert!(!outcome.summary.followups.is_empty(), "{goals:?}");
        for followup in &outcome.summary.followups {
            let budget = Budget::within(find::TIME, &CancellationToken::new());
            let sources = find::Sources { workspace: &bench.workspace, history: None };
            assert!(!find::find(&sources, followup, &budget).findings.is_empty(), "{followup}");
        }
    }
}

fn wants_plan(request: &ModelRequest) -> bool {
    request.instructions.starts_with("You plan")
}

fn plan_and_intent(request: &ModelRequest, _: &CancellationToken) -> Result<&'static str, ModelError> {
    Ok(match wants_plan(request) {
        true => {
            r#"[{"op":"readSpan","path":"README.md","endLine":20},{"op":"grep","pattern":"tide","pathPrefix":"/etc"},{"op":"dance"}]"#
        }
        false => "Tide **predicts** the tide\u{1b} for sailors [1]. And more.",
    })
}

fn thinking(choice: PlannerChoice, thinker: Thinker) -> (ExploreOutcome, Vec<SessionUpdate>) {
    let bench = Bench::with(&[("README.md", "# Tide\n\nPredicts the tide.\n"), ("src/a", "")]);
    let explorer =
        Explorer { models: vec![Arc::new(thinker)], ..Explorer::heuristic(Arc::new(History::empty())) };
    let request = ExploreRequest { planner: choice, ..request(bench.root()) };
    let updates = Mutex::new(Vec::new());
    let outcome =
        explorer.explore(&request, &CancellationToken::new(), &|update| updates.lock().unwrap().push(update));
    (outcome, updates.into_inner().unwrap())
}

fn steps(updates: &[SessionUpdate]) -> Vec<String> {
    let plan = updates.iter().find_map(|update| match update {
        SessionUpdate::Plan(plan) => Some(plan.entries.iter().map(|entry| entry.content.clone()).collect()),
        _ => None,
    });
    plan.unwrap_or_default()
}

#[test]
fn model_plans_and_infers_on_request() {
    for (choice, loaded, asked) in [
        (PlannerChoice::Model, false, true),
        (PlannerChoice::Auto, true, true),
        (PlannerChoice::Auto, false, false),
        (PlannerChoice::Heuristic, true, false),
    ] {
        let (outcome, updates) = thinking(
            choice,
            Thinker { name: "GPTOSS 20B", loaded, unavailable: false, said: plan_and_intent },
        );
        assert_eq!(outcome.state, RunState::Complete, "{choice:?} {} {:?}", outcome.message, steps(&updates));
        assert_eq!(steps(&updates).contains(&"Search 'tide' in /etc".to_owned()), asked, "{choice:?}");
        if asked {
            assert_eq!(outcome.summary.source, IntentSource::Gptoss);
            assert_eq!(outcome.summary.intent.as_deref(), Some("Tide predicts the tide for sailors."));
            assert!(outcome.message.contains("**Inferred Intent (GPTOSS):**"));
            let [Evidence::File { path, line: 3, .. }] = outcome.summary.evidence.as_slice() else {
                panic!("{:?}", outcome.summary.evidence)
            };
            assert_eq!(path, "README.md");
        } else {
            assert_eq!(outcome.summary.source, IntentSource::Readme);
        }
        assert!(!serde_json::to_string(&updates).unwrap().contains("secret"));
    }
}

#[test]
fn model_words_folders_from_their_facts() {
    // The number of the fact about a folder, as the model was shown it.
    fn number(request: &ModelRequest, folder: &str) -> String {
        let [openagents_core::model::Message::User { text }] = request.messages.as_slice() else {
            panic!("{request:?}")
        };
        let line = text.lines().find(|line| line.contains(&format!("`{folder}`"))).unwrap_or("[0]");
        line[1..line.find(']').unwrap()].to_owned()
    }
    let said: Said = |request, _| {
        if wants_plan(request) {
            return Ok("I would rather not.");
        }
        let (tide, wave) = (number(request, "src/tide.rs"), number(request, "src/wave.rs"));
        let reply = format!(
            "Predicts the tide [1].\n- `src/tide.rs`: when the *sea* rises [{tide}]\nsrc/wave.rs: in src/storm.rs [{wave}]\n\
             src/wave.rs: invented [1]\nsrc/wave.rs: too [99]"
        );
        Ok(Box::leak(reply.into_boxed_str()))
    };
    let code = "/// Adds.\npub fn add() {}\n";
    let bench = Bench::with(&[
        ("README.md", "# Tide\n\nPredicts the tide.\n"),
        ("src/tide.rs", code),
        ("src/wave.rs", code),
    ]);
    let model = Arc::new(Thinker { name: "gpt-oss", loaded: true, unavailable: false, said });
    let explorer = Explorer { models: vec![model], ..Explorer::heuristic(Arc::new(History::empty())) };
    let request = ExploreRequest { planner: PlannerChoice::Auto, goals: Vec::new(), ..request(bench.root()) };
    let summary = explorer.explore(&request, &CancellationToken::new(), &|_| ()).summary;
    assert_eq!(summary.intent.as_deref(), Some("Predicts the tide."));
    let overview = summary.overview.unwrap();
    let described = |path: &str| {
        let node = overview
            .map
            .nodes
            .iter()
            .find(|node| node.path == path)
            .unwrap_or_else(|| panic!("{overview:#?}"));
        let facts = overview.blocks.iter().flat_map(|block| &block.facts);
        let fact = facts.map(|fact| &fact.text).find(|text| text.starts_with(&format!("`{path}`"))).unwrap();
        assert!(fact.contains(&node.description), "{fact}");
        node.description.clone()
    };
    assert_eq!(described("src/tide.rs"), "when the sea rises");
    assert!(!["invented", "too", "storm"].iter().any(|word| described("src/wave.rs").contains(word)));
}

#[test]
fn heading_names_model_of_sentence() {
    for (name, source, heading) in [
        ("GPTOSS 20B", IntentSource::Gptoss, "**Inferred Intent (GPTOSS):**"),
        ("gpt-oss:120b", IntentSource::Gptoss, "**Inferred Intent (GPTOSS):**"),
        ("Qwen3 *8B*", IntentSource::Model, "**Inferred Intent (Qwen3 8B):**"),
    ] {
        let thinker = Thinker { name, loaded: true, unavailable: false, said: plan_and_intent };
        let (outcome, updates) = thinking(PlannerChoice::Model, thinker);
        assert_eq!(outcome.summary.source, source, "{name}");
        assert!(outcome.message.contains(heading), "{name}: {}", outcome.message);
        let shown = serde_json::to_string(&updates).unwrap();
        let model =
            if source == IntentSource::Model { r#""model":"Qwen3 8B""# } else { r#""source":"gptoss"}"# };
        assert!(shown.contains(model), "{name}: {shown}");
    }
}

#[test]
fn goal_sentence_needs_loaded_model_and_citation() {
    let cites: Said = |_, _| Ok("Redirects are followed by `follow` in src/redirect.rs:2.");
    let invents: Said = |_, _| Ok("Redirects are followed in src/redirect.rs:90.");
    for (said, loaded, expected) in [(cites, true, true), (invents, true, false), (cites, false, false)] {
        let bench = Bench::with(&[("src/redirect.rs", "/// Redirects.\npub fn follow() {}\n")]);
        let model = Arc::new(Thinker { name: "GPTOSS 20B", loaded, unavailable: false, said });
        let explorer = Explorer { models: vec![model], ..Explorer::heuristic(Arc::new(History::empty())) };
        let goals = vec!["Where are redirects followed?".to_owned()];
        let request = ExploreRequest { goals, ..request(bench.root()) };
        let outcome = explorer.explore(&request, &CancellationToken::new(), &|_| ());
        let answered = outcome.message.contains("followed by follow in src/redirect.rs:2");
        assert_eq!(answered, expected, "{}", outcome.message);
        assert_eq!(outcome.summary.source == IntentSource::Gptoss, expected);
    }
}

#[test]
fn model_without_plan_fails_only_forced_runs() {
    let nonsense: Said = |_, _| Ok("I would rather not.");
    let broken: Said = |_, _| Err(ModelError::Crashed("signal 6".to_owned()));
    let rows = [
        (false, nonsense, "❌ the plan has no step that can be run (0 objects are not steps)"),
        (false, broken, "❌ no plan: the local model stopped unexpectedly (signal 6); try again"),
        (true, broken, "❌ no plan: download it first"),
    ];
    for (unavailable, said, message) in rows {
        let (outcome, _) =
            thinking(PlannerChoice::Model, Thinker { name: "GPTOSS 20B", loaded: true, unavailable, said });
        assert_eq!((outcome.state, outcome.message.as_str()), (RunState::Failed, message));
        let (outcome, updates) =
            thinking(PlannerChoice::Auto, Thinker { name: "GPTOSS 20B", loaded: true, unavailable, said });
        assert_eq!(outcome.state, RunState::Complete, "{}", outcome.message);
        assert!(steps(&updates).contains(&"List directory .".to_owned()));
    }
}

#[test]
fn cancel_stops_endless_model() {
    static CANCEL: std::sync::OnceLock<CancellationToken> = std::sync::OnceLock::new();
    let cancel = CANCEL.get_or_init(CancellationToken::new);
    let bench = Bench::with(&[]);
    let said: Said = |_, own| {
        CANCEL.get().unwrap().cancel();
        while !own.is_cancelled() {
            std::thread::yield_now();
        }
        Err(ModelError::Cancelled)
    };
    let model = Arc::new(Thinker { name: "GPTOSS 20B", loaded: true, unavailable: false, said });
    let explorer = Explorer { models: vec![model], ..Explorer::heuristic(Arc::new(History::empty())) };
    let request = ExploreRequest { planner: PlannerChoice::Model, ..request(bench.root()) };
    let outcome = explorer.explore(&request, cancel, &|_| ());
    assert_eq!((outcome.state, outcome.message.as_str()), (RunState::Cancelled, CANCELLED));
}

/// Counts history listings: each one loads the index once per agent.
#[derive(Debug, Default)]
struct Counted(MemoryListingCache, AtomicUsize);

impl ListingCache for Counted {
    fn load(&self, root: &std::path::Path) -> Arc<CachedTranscripts> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.load(root)
    }

    fn save(&self, rows: Vec<(FileStamp, Transcript)>) {
        self.0.save(rows);
    }
}

#[test]
fn run_lists_history_once() {
    let bench = Bench::with(&[]);
    let claude = bench.root().with_file_name("claude");
    let id = "c1a0de00-0000-4000-8000-000000000001";
    let line = serde_json::json!({"type": "user", "sessionId": id, "cwd": bench.root(), "uuid": "u",
        "timestamp": "2026-11-01T00:00:01.000Z", "message": {"role": "user", "content": "Fix the login"}});
    std::fs::create_dir_all(claude.join("projects/-p")).unwrap();
    std::fs::write(claude.join(format!("projects/-p/{id}.jsonl")), format!("{line}\n")).unwrap();
    let index = Arc::new(Counted::default());
    let roots = HistoryRoots::default().with(Provider::ClaudeCode, claude);
    let list = OpKind::SessionList { provider: None, top_k: None };
    let search = OpKind::SessionSearch { pattern: "login".into(), provider: Some(Provider::ClaudeCode) };
    let explorer = Explorer {
        planner: Arc::new(Fixed(vec![list, search])),
        ..Explorer::heuristic(Arc::new(History::new(roots, index.clone())))
    };
    let (outcome, _) = run(&explorer, bench.root());
    assert_eq!((outcome.ops, outcome.summary.recent_work.len()), (3, 1));
    assert_eq!(outcome.summary.intent.as_deref(), Some("Fix the login"));
    assert_eq!(index.1.load(Ordering::SeqCst), 1);
    run(&explorer, bench.root());
    assert_eq!(index.1.load(Ordering::SeqCst), 2, "the next run looks again");
}
