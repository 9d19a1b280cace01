use super::*;
use crate::agent::{
    AgentLoop, HistoryRead,
    testing::{Answer, Scripted, agent, figures, request, run, speak, story},
};
use openagents_core::model::{ModelEvent, Reasoning};
use openagents_tools::builtin::testing::Bench;
use std::sync::Mutex;

fn generate(model: Scripted) -> Generate {
    let model = Arc::new(Scripted { id: Some("gptoss_20b"), ..model });
    Generate { model, options: ModelOptions::default() }
}

fn call_generate(generate: &Generate, arguments: Value) -> (Result<String, ToolError>, String) {
    let bench = Bench::with(&[("src/a", "")]);
    let events = Mutex::new(Vec::new());
    let emit = |event| events.lock().unwrap().push(event);
    let context = SessionContext {
        workspace: &bench.workspace,
        call_id: "row",
        prompt: "",
        caller: None,
        read: HistoryRead::Nothing,
        cancel: &bench.cancel,
        emit: &emit,
    };
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
            on_event(speak("fn main() {}"));
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
fn unavailable_generate_lets_caller_answer() {
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
fn generate_names_value_out_of_range() {
    let generate = generate(Scripted::default());
    let rows = [
        (json!({}), "user_prompt"),
        (json!({"user_prompt": " "}), "user_prompt is empty"),
        (
            json!({"user_prompt": "x", "temperature": 1.5}),
            "temperature: 1.5 is greater than the maximum of 1",
        ),
        (json!({"user_prompt": "x", "temperature": -0.1}), "temperature"),
        (json!({"user_prompt": "x", "max_tokens": 0}), "max_tokens: 0 is less than the minimum of 1"),
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
fn generate_is_not_offered_to_itself() {
    let generate: Arc<dyn SessionTool> = Arc::new(generate(Scripted::default()));
    for (id, offered) in [("gptoss_20b", false), ("fm", true)] {
        let bench = Bench::with(&[]);
        let answers: Vec<Answer> = vec![|_, _, on_event| {
            on_event(speak("Hello."));
            Ok(StopReason::EndTurn)
        }];
        let model = Arc::new(Scripted { id: Some(id), answers, ..Scripted::default() });
        let agent = AgentLoop { session_tools: vec![generate.clone()], ..agent(model.clone()) };
        run(&agent, &request(&bench));
        let asked = model.asked.lock().unwrap();
        assert_eq!(asked[0].tools.iter().any(|tool| tool.name == GENERATE), offered);
    }
}
