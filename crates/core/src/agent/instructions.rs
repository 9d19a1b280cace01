//! What a model is told about its place.

/// Returns the instructions of a turn in the workspace of this name. Short: a small model reads them slowly, and at
/// every start.
pub fn instructions(name: &str, tools: bool) -> String {
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
