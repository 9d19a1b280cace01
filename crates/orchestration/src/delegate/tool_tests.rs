use super::*;
use crate::{
    agent::{
        HistoryRead,
        testing::{Scripted, story},
    },
    route::{Candidate, Situation},
};
use openagents_core::{CancellationToken, model::Availability};
use openagents_tools::builtin::testing::Bench;
use serde_json::json;
use std::sync::Mutex;

/// A delegator that completes every task and records the orders.
#[derive(Debug, Default)]
struct FakeDelegator {
    missing: &'static [&'static str],
    allows_external: bool,
    cancels: bool,
    /// The past sessions that the caller has read.
    read: HistoryRead,
    /// The user's answer.
    allows: Option<&'static str>,
    /// Recorded requests: the brief and the offered agents.
    asked: Mutex<Vec<(String, Vec<String>)>>,
    orders: Mutex<Vec<DelegateOrder>>,
}

impl Delegator for FakeDelegator {
    fn situation(&self) -> Situation {
        let candidate = |(id, name, local): (&str, &str, bool)| Candidate {
            id: id.to_owned(),
            name: name.to_owned(),
            local,
            availability: match self.missing.contains(&id) {
                false => Availability::Ready,
                true => Availability::Unavailable("it is not installed".to_owned()),
            },
        };
        let all = [
            ("codex", "Codex", false),
            ("claude-code", "Claude Code", false),
            ("gptoss_20b", "GPTOSS 20B", true),
            ("custom:gem", "Gemini", false),
        ];
        Situation {
            candidates: all.into_iter().map(candidate).collect(),
            allows_external: self.allows_external,
            workspace_agent: None,
        }
    }

    fn ask(&self, brief: &str, offered: &[Candidate], _: &str, _: &CancellationToken) -> Option<String> {
        let ids = offered.iter().map(|candidate| candidate.id.clone()).collect();
        self.asked.lock().unwrap().push((brief.to_owned(), ids));
        self.allows.map(str::to_owned)
    }

    fn run(&self, order: &DelegateOrder, call_id: &str, cancel: &CancellationToken) -> DelegateReport {
        self.orders.lock().unwrap().push(order.clone());
        if self.cancels {
            cancel.cancel();
        }
        DelegateReport {
            ok: !self.cancels,
            provider: order.provider.clone(),
            dispatched: true,
            session_id: Some("child".to_owned()),
            tool_call_id: call_id.to_owned(),
            notes: "Done.".to_owned(),
        }
    }
}

struct Recorded {
    result: Result<String, ToolError>,
    story: String,
    /// The agent that was started.
    provider: Option<String>,
}

/// `caller` is the calling model; `None` is the user.
fn delegate(delegator: FakeDelegator, caller: Option<&str>, prompt: &str, arguments: Value) -> Recorded {
    let delegator = Arc::new(delegator);
    run(&Delegate::new(delegator.clone()), &delegator, caller, prompt, arguments)
}

fn run(
    tool: &Delegate,
    delegator: &FakeDelegator,
    caller: Option<&str>,
    prompt: &str,
    arguments: Value,
) -> Recorded {
    run_in(&Bench::with(&[]), tool, delegator, caller, prompt, arguments)
}

fn run_in(
    bench: &Bench,
    tool: &Delegate,
    delegator: &FakeDelegator,
    caller: Option<&str>,
    prompt: &str,
    arguments: Value,
) -> Recorded {
    let events = Mutex::new(Vec::new());
    let emit = |event| events.lock().unwrap().push(event);
    let context = SessionContext {
        workspace: &bench.workspace,
        call_id: "row",
        prompt,
        caller,
        read: delegator.read,
        cancel: &bench.cancel,
        emit: &emit,
    };
    let result = tool.call(&context, arguments);
    let updates = events.into_inner().unwrap().into_iter().filter_map(|event| match event {
        AgentEvent::Update(update) => Some(update),
        AgentEvent::Activity(_) => None,
    });
    let provider = delegator.orders.lock().unwrap().first().map(|order| order.provider.clone());
    Recorded { result, story: story(&updates.collect::<Vec<_>>()), provider }
}

/// A model that has read past sessions may repeat them in the task.
#[test]
fn history_leaves_only_after_user_saw_it() {
    use HistoryRead::{Everywhere, Nothing, Workspace};
    let named = json!({"provider": "codex", "user_prompt": "Fix it"});
    let auto = json!({"user_prompt": "Fix it"});
    // The agent that is started, and the number of questions to the user.
    let rows = [
        (Nothing, &named, Some("codex"), 0),
        (Workspace, &named, Some("codex"), 1),
        (Everywhere, &named, None, 0),
        (Nothing, &auto, Some("codex"), 0),
        (Workspace, &auto, Some("codex"), 1),
        (Everywhere, &auto, None, 0),
    ];
    for (read, arguments, expected, questions) in rows {
        let delegator = Arc::new(FakeDelegator {
            read,
            missing: &["gptoss_20b"],
            allows_external: true,
            allows: Some("codex"),
            ..FakeDelegator::default()
        });
        let tool = Delegate::new(delegator.clone());
        let shown = run(&tool, &delegator, Some("custom:qwen"), "Fix it", arguments.clone());
        assert_eq!(shown.provider.as_deref(), expected, "{read:?} {arguments}");
        assert_eq!(delegator.asked.lock().unwrap().len(), questions, "{read:?} {arguments}");
        if read == Everywhere {
            assert!(shown.result.unwrap().contains("stay on this computer"), "{arguments}");
        }
    }
    // Text that stays on this machine needs no question.
    let here = FakeDelegator { read: Everywhere, ..FakeDelegator::default() };
    let shown =
        delegate(here, Some("custom:qwen"), "Fix it", json!({"provider": "gptoss", "user_prompt": "Fix it"}));
    assert_eq!(shown.provider.as_deref(), Some("gptoss_20b"));
}

#[test]
fn delegation_closes_row_with_report() {
    let arguments = json!({"provider": "claude_code", "user_prompt": "Rename it", "description": "A rename"});
    let shown = delegate(FakeDelegator::default(), None, "Rename it", arguments);
    insta::assert_snapshot!(shown.story, @r#"
    call #1 delegate.run {"provider":"claude_code","user_prompt":"Rename it","description":"A rename"}
    end #1 {"ok":true,"provider":"claude-code","dispatched":true,"session_id":"child","tool_call_id":"row","notes":"Done."}
    "#);
    assert_eq!(shown.provider.as_deref(), Some("claude-code"));
}

#[test]
fn codex_run_delegates_to_codex() {
    let delegator = Arc::new(FakeDelegator::default());
    let tool = Delegate::to_codex(delegator.clone());
    assert!(!tool.schema().to_value()["properties"].as_object().unwrap().contains_key("provider"));
    let shown = run(&tool, &delegator, None, "", json!({"provider": "gptoss", "user_prompt": "Rename it"}));
    assert!(shown.story.starts_with(r#"call #1 codex.run {"provider":"codex""#), "{}", shown.story);
    assert_eq!(shown.provider.as_deref(), Some("codex"));
}

#[test]
fn dry_run_starts_no_agent() {
    let shown =
        delegate(FakeDelegator::default(), None, "", json!({"user_prompt": "Rename it", "dry_run": true}));
    insta::assert_snapshot!(shown.story, @r#"
    call #1 delegate.run {"user_prompt":"Rename it","dry_run":true}
    end #1 {"ok":true,"provider":"gptoss_20b","dispatched":false,"tool_call_id":"row","notes":"Dry run: GPTOSS 20B would start."}
    "#);
    assert_eq!(shown.provider, None);
}

#[test]
fn delegation_chooses_agent() {
    let all = || FakeDelegator::default();
    let open = || FakeDelegator { allows_external: true, ..FakeDelegator::default() };
    let says = |id| FakeDelegator { allows: Some(id), ..FakeDelegator::default() };
    let without = |missing| FakeDelegator { missing, ..FakeDelegator::default() };
    let model = Some("gptoss_20b");
    type Row =
        (FakeDelegator, Option<&'static str>, &'static str, &'static str, Result<&'static str, &'static str>);
    let rows: [Row; 17] = [
        (all(), None, "", "auto", Ok("gptoss_20b")),
        (all(), None, "", "gptoss", Ok("gptoss_20b")),
        (all(), None, "", "codex", Ok("codex")),
        (all(), None, "", "claude_code", Ok("claude-code")),
        (all(), None, "", "custom:gem", Ok("custom:gem")),
        (
            all(),
            None,
            "",
            "cursor",
            Err("No agent has the id cursor; available are codex, claude-code, gptoss_20b, custom:gem."),
        ),
        (all(), None, "", "local_fm", Err("No agent has the id local_fm; available are")),
        (
            without(&["codex", "custom:gem"]),
            None,
            "",
            "codex",
            Err("Codex is not available: it is not installed; available are claude-code, gptoss_20b."),
        ),
        (
            without(&["codex", "claude-code", "gptoss_20b", "custom:gem"]),
            None,
            "",
            "auto",
            Err("No agent can be chosen; none is available: `openagents doctor`"),
        ),
        // A delegating model does not get its own task back.
        (open(), model, "Fix it", "auto", Ok("codex")),
        (FakeDelegator { missing: &["codex"], ..open() }, model, "Fix it", "auto", Ok("claude-code")),
        // Only the user sends work off this machine, regardless of the prompt.
        (all(), model, "Fix it", "auto", Err("The person did not allow it")),
        (all(), model, "Hand the tests to Codex", "codex", Err("The person did not allow it")),
        (says("codex"), model, "Fix it", "codex", Ok("codex")),
        (says("custom:gem"), model, "Fix it", "auto", Ok("custom:gem")),
        (open(), model, "Fix it", "claude-code", Ok("claude-code")),
        (open(), model, "what is Codex?", "codex", Err("This is small talk, not a task")),
    ];
    for (delegator, caller, prompt, provider, expected) in rows {
        let arguments = json!({"user_prompt": "Fix it", "provider": provider});
        let shown = delegate(delegator, caller, prompt, arguments);
        let case = format!("{caller:?} {prompt:?} {provider}: {}", shown.story);
        match expected {
            Ok(id) => assert_eq!(shown.provider.as_deref(), Some(id), "{case}"),
            Err(part) => {
                assert_eq!(shown.provider, None, "{case}");
                assert!(shown.story.contains("error #1") && shown.story.contains(part), "{case}");
                let report: Value = serde_json::from_str(&shown.result.unwrap()).unwrap();
                assert_eq!((&report["ok"], &report["dispatched"]), (&json!(false), &json!(false)), "{case}");
            }
        }
    }
}

#[test]
fn delegation_by_model_needs_user_choice() {
    let delegator = Arc::new(FakeDelegator { allows: Some("claude-code"), ..FakeDelegator::default() });
    let arguments = json!({"user_prompt": "Fix it", "provider": "claude-code"});
    let shown = run(&Delegate::new(delegator.clone()), &delegator, Some("gptoss_20b"), "Fix it", arguments);
    assert_eq!(shown.provider.as_deref(), Some("claude-code"));
    let asked = delegator.asked.lock().unwrap();
    assert_eq!(asked[0].1, ["claude-code", "codex", "custom:gem"]);
    assert!(asked[0].0.starts_with("Fix it"), "{}", asked[0].0);
}

#[test]
fn delegation_carries_findings() {
    let delegator = Arc::new(FakeDelegator::default());
    let bench = Bench::with(&[("src/retry.rs", "pub fn retry_request() {}\n")]);
    let arguments = json!({"user_prompt": "Fix the retry of a request", "provider": "codex"});
    run_in(&bench, &Delegate::new(delegator.clone()), &delegator, None, "", arguments);
    let text = delegator.orders.lock().unwrap()[0].text.clone();
    assert!(text.contains("Fix the retry of a request") && text.contains("- `src/retry.rs:1`"), "{text}");
}

#[test]
fn task_is_not_delegated_to_caller() {
    for provider in ["gptoss", "gptoss_20b"] {
        let arguments = json!({"user_prompt": "Fix it", "provider": provider});
        let shown = delegate(FakeDelegator::default(), Some("gptoss_20b"), "Fix it", arguments);
        assert_eq!(shown.provider, None, "{}", shown.story);
        assert!(shown.story.contains("GPTOSS 20B is already working on this"), "{}", shown.story);
    }
}

#[test]
fn invalid_arguments_close_the_row() {
    for arguments in
        [json!({}), json!({"user_prompt": ""}), json!("x"), json!({"user_prompt": "x", "max_files": -1})]
    {
        let shown = delegate(FakeDelegator::default(), None, "", arguments.clone());
        assert!(shown.story.contains("error #1 Invalid parameters: "), "{arguments}: {}", shown.story);
        assert!(matches!(shown.result, Err(ToolError::InvalidParameters(_))), "{arguments}");
    }
}

#[test]
fn cancel_closes_the_row() {
    let shown = delegate(
        FakeDelegator { cancels: true, ..FakeDelegator::default() },
        None,
        "",
        json!({"user_prompt": "x"}),
    );
    assert!(shown.story.ends_with("error #1 Cancelled"), "{}", shown.story);
    assert_eq!(shown.result, Err(ToolError::Cancelled));
}

#[test]
fn delegation_is_offered_to_models_with_tools() {
    let tool = Delegate::new(Arc::new(FakeDelegator::default()));
    assert!(tool.is_offered_to(&Scripted::default()));
    let asked = Scripted {
        no_tools_once_asked: true,
        asked: Mutex::new(vec![Default::default()]),
        ..Scripted::default()
    };
    assert!(!tool.is_offered_to(&asked));
}
