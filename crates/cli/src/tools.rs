//! `openagents tools` and `openagents tool`.

use crate::{args, endpoint::Endpoint, output, surroundings, words};
use anyhow::Context;
use openagents_core::{
    CancellationToken,
    agent::AgentEvent,
    agent_ids::GENERATE,
    json_text,
    model::LocalModels,
    update::{SessionUpdate, ToolCallStatus},
    workspace::Workspace,
};
use openagents_orchestration::agent::{Generate, HistoryRead, SessionContext, SessionTool};
use openagents_tools::{builtin, tool::ToolError};
use openagents_wire::methods;
use serde_json::{Value, json};
use std::{
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

pub(crate) fn list(arguments: &args::Tools) -> anyhow::Result<ExitCode> {
    let registry = builtin::registry();
    if arguments.json {
        let tools: Vec<_> = registry
            .iter()
            .map(|tool| json!({"name": tool.name(), "description": tool.description(), "parameters": tool.schema()}))
            .collect();
        output::json_pretty(&tools)?;
        return Ok(ExitCode::SUCCESS);
    }
    for tool in registry.iter() {
        output::line(tool.name())?;
        output::line(format_args!("  {}", tool.description()))?;
        for parameter in parameters(tool.schema().as_value()) {
            output::line(format_args!("  {parameter}"))?;
        }
        output::line("")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns a line for each parameter: `pattern (required): Regular expression`.
fn parameters(schema: &Value) -> Vec<String> {
    let required: Vec<_> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties
        .map(|(name, property)| {
            let needed = if required.contains(&name.as_str()) { " (required)" } else { "" };
            let about = property["description"].as_str().unwrap_or_default();
            format!("  {name}{needed}: {about}")
        })
        .collect()
}

pub(crate) fn call(arguments: &args::Tool) -> anyhow::Result<ExitCode> {
    let parsed: Value = json_text::from_str(&arguments.arguments)
        .map_err(|error| output::Usage(format!("the arguments are not JSON: {error}")))?;
    if arguments.name == GENERATE {
        return generate(arguments, parsed);
    }
    if builtin::registry().get(&arguments.name).is_none() {
        let names: Vec<_> = builtin::registry().iter().map(|tool| tool.name()).collect();
        let message = format!("no tool named {}; there are {}", arguments.name, names.join(", "));
        return Err(output::Usage(message).into());
    }
    let workspace = Workspace::open(&arguments.root).with_context(|| arguments.root.display().to_string())?;
    match surroundings::call_tool(&workspace, &arguments.name, parsed) {
        Ok(result) => {
            output::json_pretty(&result.to_json())?;
            for reply in words::cut(&result.cut) {
                output::warn(&reply);
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(error @ ToolError::InvalidParameters(_)) => Err(output::Usage(error.to_string()).into()),
        Err(error) => Err(error.into()),
    }
}

/// `gptoss.generate` without a session: the text is the result, printed as it arrives.
fn generate(arguments: &args::Tool, given: Value) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::open(&arguments.root).with_context(|| arguments.root.display().to_string())?;
    let models = surroundings::like_the_bridge(&Endpoint::open()?.list::<methods::ModelsList>()?)?;
    let tool = Generate { model: models.model(), options: models.snapshot().settings.options() };
    let call_id = uuid::Uuid::new_v4().to_string();
    let failed = AtomicBool::new(false);
    let shown = Mutex::new(String::new());
    let show = |event| match event {
        AgentEvent::Update(SessionUpdate::AgentMessage(message)) => {
            shown.lock().unwrap_or_else(PoisonError::into_inner).push_str(&message.text);
            // Output errors are ignored here; the end of the answer reports them.
            let _ = output::piece(&message.text);
        }
        AgentEvent::Update(SessionUpdate::ToolCallUpdate(update)) => {
            failed.fetch_or(matches!(update.status, ToolCallStatus::Error { .. }), Ordering::SeqCst);
        }
        AgentEvent::Update(_) | AgentEvent::Activity(_) => {}
    };
    let context = SessionContext {
        workspace: &workspace,
        call_id: &call_id,
        prompt: "",
        caller: None,
        read: HistoryRead::Nothing,
        cancel: &CancellationToken::new(),
        emit: &show,
    };
    let reply = tool.call(&context, given);
    models.shut_down();
    let shown = shown.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !shown.is_empty() && !shown.ends_with('\n') {
        output::line("")?;
    }
    match reply {
        Ok(reason) if failed.into_inner() => Err(anyhow::anyhow!(reason)),
        Ok(text) => {
            // The note that the tool appends to an answer.
            let added = text.strip_prefix(&shown).unwrap_or_default().trim();
            if !added.is_empty() {
                output::warn(added);
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(error @ ToolError::InvalidParameters(_)) => Err(output::Usage(error.to_string()).into()),
        Err(error) => Err(error.into()),
    }
}
