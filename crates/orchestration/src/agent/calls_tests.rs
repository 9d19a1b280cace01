use super::*;
use crate::agent::testing::*;
use openagents_core::{
    model::{LanguageModel, StopReason},
    update::SessionUpdate,
};
use openagents_tools::{
    builtin::testing::Bench,
    tool::{Tool, ToolContext},
};
use serde_json::json;

/// A tool that waits at a barrier if it is read-only.
#[derive(Debug)]
struct Meets {
    name: &'static str,
    reads_only: bool,
    met: &'static std::sync::Barrier,
}

impl Tool for Meets {
    fn name(&self) -> &'static str {
        self.name
    }
    fn description(&self) -> &'static str {
        "For tests."
    }
    fn schema(&self) -> schemars::Schema {
        schemars::Schema::default()
    }
    fn is_read_only(&self) -> bool {
        self.reads_only
    }
    fn call(&self, _: &ToolContext<'_>, _: Value) -> Result<ToolOutput, ToolError> {
        if self.reads_only {
            self.met.wait();
        }
        Ok(ToolOutput::whole(json!(self.name)))
    }
}

/// Each call waits for the other, so calls in sequence would time out.
#[test]
fn read_only_calls_run_in_parallel_in_order() {
    static MET: std::sync::Barrier = std::sync::Barrier::new(2);
    let bench = Bench::with(&[]);
    let model = script(&[
        |_, _, on_event| {
            on_event(ask("b", json!({})));
            on_event(ask("a", json!({})));
            Ok(StopReason::ToolCalls)
        },
        |_, _, on_event| {
            on_event(speak("Both."));
            Ok(StopReason::EndTurn)
        },
    ]);
    let mut agent = agent(model.clone());
    for name in ["a", "b"] {
        let tool = Meets { name, reads_only: true, met: &MET };
        agent.tools.registry = agent.tools.registry.with(Arc::new(tool));
    }
    let shown = run(&agent, &request(&bench));
    let story = story(&shown.updates);
    assert!(story.starts_with("call #1 b {}\ncall #2 a {}\n"), "{story}");
    assert!(story.contains("end #1 \"b\"") && story.contains("end #2 \"a\""), "{story}");
    let asked = model.asked.lock().unwrap();
    let results = asked[1].messages.iter().filter_map(|message| match message {
        Message::Tool { text, .. } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), ["b", "a"]);
}

#[test]
fn calls_with_effects_run_one_by_one() {
    static MET: std::sync::Barrier = std::sync::Barrier::new(1);
    let bench = Bench::with(&[]);
    let model = script(&[
        |_, _, on_event| {
            on_event(ask("fs.list_dir", json!({})));
            on_event(ask("writes", json!({})));
            on_event(ask("fs.list_dir", json!({})));
            Ok(StopReason::ToolCalls)
        },
        |_, _, on_event| {
            on_event(speak("Done."));
            Ok(StopReason::EndTurn)
        },
    ]);
    let mut agent = agent(model);
    let tool = Meets { name: "writes", reads_only: false, met: &MET };
    agent.tools.registry = agent.tools.registry.with(Arc::new(tool));
    let shown = run(&agent, &request(&bench));
    insta::assert_snapshot!(story(&shown.updates), @r#"
    call #1 fs.list_dir {}
    end #1 []
    call #2 writes {}
    end #2 "writes"
    call #3 fs.list_dir {}
    end #3 []
    message Done.
    "#);
}

/// A session tool that opens its row and panics before closing it.
#[derive(Debug)]
struct PanicsInItsRow;

impl SessionTool for PanicsInItsRow {
    fn name(&self) -> &'static str {
        "own"
    }
    fn description(&self) -> &'static str {
        "For tests."
    }
    fn schema(&self) -> schemars::Schema {
        schemars::json_schema!({"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]})
    }
    fn is_offered_to(&self, _: &dyn LanguageModel) -> bool {
        true
    }
    fn call(&self, context: &SessionContext<'_>, arguments: Value) -> Result<String, ToolError> {
        assert_eq!((context.prompt, context.caller), ("What is this?", Some("scripted")));
        (context.emit)(AgentEvent::Update(SessionUpdate::ToolCall(openagents_core::update::ToolCall {
            call_id: context.call_id.to_owned(),
            name: "own".to_owned(),
            arguments: arguments.as_object().cloned().unwrap(),
            op_hash: None,
            stage: None,
            details: Default::default(),
        })));
        panic!("on purpose")
    }
}

#[test]
fn panicking_session_tool_closes_its_row() {
    let bench = Bench::with(&[]);
    let model = script(&[
        |_, _, on_event| {
            on_event(ask("own", json!({"word": "x"})));
            Ok(StopReason::ToolCalls)
        },
        |_, _, on_event| {
            on_event(speak("All the same."));
            Ok(StopReason::EndTurn)
        },
    ]);
    let agent = AgentLoop { session_tools: vec![Arc::new(PanicsInItsRow)], ..agent(model) };
    let shown = run(&agent, &request(&bench));
    insta::assert_snapshot!(story(&shown.updates), @r#"
    call #1 own {"word":"x"}
    error #1 Execution failed: own stopped unexpectedly
    message All the same.
    "#);
}
