//! Converts our messages into the framework's transcript and prompt.

use foundation_models::{
    FMError, GeneratedContent, Instructions, Prompt, Segment, Tool, ToolCall, ToolCalls, Transcript,
    TranscriptEntry, TranscriptInstructions, TranscriptPrompt, TranscriptResponse, TranscriptToolOutput,
};
use openagents_apple::{budget::Fitted, schema::OfferedTool};
use openagents_core::model::Message;

/// The prompt for a conversation that ends with a tool's result, since the framework requires a prompt.
const GO_ON: &str = "Go on with the results of the tools.";

/// The transcript before the prompt.
pub(super) enum Earlier {
    Nothing,
    Said(Transcript),
}

/// Splits a conversation into the transcript and the prompt.
pub(super) fn split(
    request: &Fitted,
    offered: &[OfferedTool],
    tools: &[Tool],
) -> Result<(Earlier, String), FMError> {
    let (earlier, prompt) = match request.messages.split_last() {
        Some((Message::User { text }, earlier)) => (earlier, text.clone()),
        _ => (request.messages.as_slice(), GO_ON.to_owned()),
    };
    if earlier.is_empty() {
        return Ok((Earlier::Nothing, prompt));
    }
    let mut instructions = TranscriptInstructions::new(Instructions::from(request.instructions.as_str()));
    instructions.tool_definitions = tools.iter().map(Tool::definition).collect();
    let mut entries = vec![TranscriptEntry::Instructions(instructions)];
    for message in earlier {
        match message {
            Message::User { text } => {
                entries.push(TranscriptEntry::Prompt(TranscriptPrompt::new(Prompt::from(text.as_str()))));
            }
            Message::Assistant(said) => {
                if !said.text.is_empty() {
                    let segments = vec![Segment::text(said.text.as_str())];
                    entries.push(TranscriptEntry::Response(TranscriptResponse::new(segments)));
                }
                let calls = said.calls.iter().map(|call| {
                    let tool = offered.iter().find(|tool| tool.name == call.name);
                    let arguments =
                        tool.map_or_else(|| call.arguments.clone(), |tool| tool.said(&call.arguments));
                    Ok(ToolCall::new(&call.id, &call.name, GeneratedContent::from_value(arguments)?))
                });
                let calls = calls.collect::<Result<Vec<_>, FMError>>()?;
                if !calls.is_empty() {
                    entries.push(TranscriptEntry::ToolCalls(ToolCalls::new(calls)));
                }
            }
            Message::Tool { call_id, name, text } => {
                let segments = vec![Segment::text(text.as_str())];
                entries.push(TranscriptEntry::ToolOutput(TranscriptToolOutput::new(call_id, name, segments)));
            }
        }
    }
    Ok((Earlier::Said(Transcript::from_entries(entries)), prompt))
}
