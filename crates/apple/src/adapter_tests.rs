use super::*;
use crate::{
    schema::{Node, Presence, Property},
    testing::ask,
};
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, Conversation},
    model::ModelOptions,
    update::{RunState, SessionUpdate, ToolCallStatus},
    workspace::Workspace,
};
use openagents_orchestration::agent::{AgentLoop, PromptRequest};
use openagents_tools::{
    builtin,
    tool::{Limits, Registry, Toolbox, unchanged},
};
use openagents_transcripts::history::History;
use std::path::Path;

/// A framework tool that counts the words of a file.
#[derive(Debug)]
struct CountWords(Parameters);

impl FoundationTool for CountWords {
    fn name(&self) -> &str {
        "countWords"
    }
    fn description(&self) -> &str {
        "Counts the words of a file."
    }
    fn parameters(&self) -> Parameters {
        self.0.clone()
    }
    fn call(&self, context: &ToolContext<'_>, arguments: Value) -> Result<Vec<Segment>, ToolError> {
        let path = arguments["path"].as_str().unwrap_or_default();
        let resolved = context.workspace.resolve(path)?;
        let text = std::fs::read_to_string(context.workspace.root().join(resolved))
            .map_err(|error| ToolError::io(path, &error))?;
        Ok(vec![Segment::Structured(json!({"words": text.split_whitespace().count()}))])
    }
}

fn dynamic() -> Parameters {
    let path = Property {
        name: "path".to_owned(),
        description: Some("The file".to_owned()),
        schema: Node::String,
        presence: Presence::Required,
    };
    let root = Node::Object { name: "CountWords".to_owned(), description: None, properties: vec![path] };
    Parameters::Dynamic(DynamicSchema { root, definitions: Vec::new() })
}

fn guided() -> Parameters {
    Parameters::Guided(json!({
        "title": "CountWords", "type": "object", "x-order": ["path"], "additionalProperties": false,
        "properties": {"path": {"type": "string", "description": "The file"}}, "required": ["path"],
    }))
}

fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "one two three").unwrap();
    folder
}

fn call(tool: &dyn Tool, root: &Path, arguments: Value) -> Result<Value, ToolError> {
    let (workspace, history) = (Workspace::open(root).unwrap(), History::empty());
    let context = ToolContext {
        workspace: &workspace,
        history: &history,
        limits: &Limits::default(),
        cancel: &CancellationToken::new(),
        progress: &(),
        rewrite: unchanged,
    };
    tool.call(&context, arguments).map(|output| output.to_json())
}

#[test]
fn framework_tool_accepts_all_parameter_kinds() {
    let folder = workspace();
    let (one, other) =
        (AdaptedTool::new(Arc::new(CountWords(dynamic()))), AdaptedTool::new(Arc::new(CountWords(guided()))));
    assert_eq!(one.schema().to_value()["properties"], other.schema().to_value()["properties"]);
    for tool in [&one, &other] {
        assert_eq!((tool.name(), tool.description()), ("countWords", "Counts the words of a file."));
        assert_eq!(call(tool, folder.path(), json!({"path": "a.txt"})).unwrap(), json!({"words": 3}));
        for (wrong, why) in [
            (json!({}), "path"),
            (json!({"path": 7}), "/path"),
            (json!(null), "path"),
            (json!([]), "not a JSON object"),
        ] {
            let Err(ToolError::InvalidParameters(error)) = call(tool, folder.path(), wrong.clone()) else {
                panic!("{wrong}")
            };
            assert!(error.contains(why) && !error.starts_with("Invalid"), "{error}");
        }
        let outside = call(tool, folder.path(), json!({"path": "../a.txt"})).unwrap_err();
        assert!(matches!(outside, ToolError::PathOutsideWorkspace(_)), "it has the workspace of the session");
    }
}

#[test]
fn interned_text_is_leaked_once() {
    assert!(std::ptr::eq(intern(&String::from("a tool")), intern(&String::from("a tool"))));
}

#[test]
fn parts_are_joined() {
    let text = |text: &str| Segment::Text(text.to_owned());
    let rows = [
        (vec![], json!("")),
        (vec![text("a"), text("b")], json!("ab")),
        (vec![Segment::Structured(json!({"a": 1}))], json!({"a": 1})),
        (vec![text("a"), Segment::Structured(json!(1))], json!(["a", 1])),
    ];
    for (segments, expected) in rows {
        assert_eq!(joined_segments(segments), expected);
    }
}

#[test]
fn agent_loop_runs_framework_tool() {
    let folder = workspace();
    let registry = Registry::default().with(Arc::new(AdaptedTool::new(Arc::new(CountWords(dynamic())))));
    let agent = AgentLoop {
        model: ask("countWords", json!({"path": "a.txt"}), "Three words."),
        options: ModelOptions::default(),
        tools: Toolbox { registry, ..builtin::toolbox(Arc::new(History::empty())) },
        session_tools: Vec::new(),
    };
    let request = PromptRequest {
        root: folder.path().to_owned(),
        text: "How many words?".to_owned(),
        words: None,
        transcript: Conversation::default(),
        findings: None,
        delegated: false,
    };
    let outputs = Mutex::new(Vec::new());
    let outcome = agent.prompt(&request, &CancellationToken::new(), &|event| {
        if let AgentEvent::Update(SessionUpdate::ToolCallUpdate(update)) = event
            && let ToolCallStatus::Completed { output, .. } = update.status
        {
            outputs.lock().push(output);
        }
    });
    assert_eq!((outcome.state, outcome.text.as_str()), (RunState::Complete, "Three words."));
    assert_eq!(outputs.into_inner(), [json!({"words": 3})]);
}
