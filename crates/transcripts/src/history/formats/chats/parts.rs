//! Parts of messages in the form of the Gemini API.

use super::super::calls::FileTools;
use crate::{history::json::Node, history::title};

pub(crate) const TOOLS: FileTools =
    FileTools { reads: &["read_file", "read_many_files"], edits: &["replace", "write_file", "edit"] };

/// Precedes the contents of files that a prompt references.
const REFERENCED: &str = "--- Content from referenced files ---";

/// Returns the prompt that the user typed; `None` for a slash command and for text added by the agent.
pub(crate) fn prompt<'a>(texts: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let own = texts.into_iter().map(|text| text.split(REFERENCED).next().unwrap_or(text));
    title::prompt(own).filter(|text| !text.starts_with(['/', '?']))
}

/// Returns the result in a part, of a call that succeeded or failed.
pub(crate) fn response<'a>(part: &'a Node<'a>) -> Option<&'a str> {
    let response = part.get("functionResponse")?.get("response")?;
    response.text("output").or_else(|| response.text("error"))
}
