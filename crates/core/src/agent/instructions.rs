//! What a model is told about its place.

use crate::workspace::Workspace;

/// Returns the instructions of a turn in `workspace`. Short: a small model reads them slowly, and at every start.
pub(super) fn for_prompt(workspace: &Workspace, tools: bool) -> String {
    let name = workspace.name();
    let mut text = format!(
        "You are the assistant of OpenAgents, working in the folder \"{name}\" on this person's computer. Answer in \
         Markdown, briefly and to the point."
    );
    if tools {
        text.push_str(
            " Use the tools to look things up instead of guessing: fs.list_dir, content.get_span and search.grep read \
             the files of the folder, session.* read what coding agents did in it before. Paths are relative to the \
             folder. Name the files that an answer rests on. When you know enough, answer without another call.",
        );
    }
    text
}
