//! Extracts the user's prompt from a logged turn, and a title from the prompt. One set of rules for all agents; the
//! noise tables are in [`super::noise`].

use super::noise;
use crate::limits;
use openagents_core::text::{joined, line};

/// Placeholder for a prompt of images only, as in Codex.
pub(crate) const IMAGE_ONLY: &str = "[Image]";

/// Follows an IDE's description of open files and precedes the user's text (Codex's own rule).
const REQUEST_MARKER: &str = "## My request for Codex:";
/// Heading of the fenced user text in expanded prompt templates.
const USER_INPUT_HEADING: &str = "## User Input";
/// Precedes a whole plan, whose heading is the subject.
const PLAN_MARKER: &str = "Implement the following plan:";

/// A text block of a user's turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TypedText<'a> {
    Prompt(&'a str),
    /// A slash command such as `/init`; used as a title only if nothing else is available.
    Command(&'a str),
    /// Entirely generated text.
    Nothing,
}

pub(crate) fn said(block: &str) -> TypedText<'_> {
    let block = block.trim();
    if let Some(name) = between(block, "<command-name>", "</command-name>").map(str::trim) {
        return if name.is_empty() { TypedText::Nothing } else { TypedText::Command(name) };
    }
    let text = noise::strip(block.split_once(REQUEST_MARKER).map_or(block, |(_, request)| request));
    let text = if text.starts_with(USER_INPUT_HEADING) { noise::strip(fenced(text)) } else { text };
    if text.is_empty() {
        return TypedText::Nothing;
    }
    TypedText::Prompt(text.strip_prefix(PLAN_MARKER).and_then(first_heading).unwrap_or(text))
}

/// Joins the typed texts of a turn's blocks; `None` if there are none.
pub(crate) fn prompt<'a>(blocks: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let typed = blocks.into_iter().filter_map(|block| match said(block) {
        TypedText::Prompt(text) => Some(text),
        _ => None,
    });
    Some(joined(typed)).filter(|prompt| !prompt.is_empty())
}

/// Turns a text into a title: one line, cut with `…`.
pub(crate) fn one_line(text: &str) -> String {
    line(text, limits::TITLE)
}

/// Returns a title given by an agent or the user, if not empty.
pub(crate) fn given(title: Option<&str>) -> Option<String> {
    title.map(one_line).filter(|title| !title.is_empty())
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    Some(text.split_once(open)?.1.split_once(close)?.0)
}

fn fenced(text: &str) -> &str {
    let Some((_, fence)) = text.split_once("```") else { return text[USER_INPUT_HEADING.len()..].trim() };
    let inside = fence.split_once('\n').map_or("", |(_, inside)| inside);
    inside.split_once("```").map_or(inside, |(inside, _)| inside)
}

fn first_heading(plan: &str) -> Option<&str> {
    let line = plan.lines().map(str::trim).find(|line| !line.is_empty())?;
    let heading = line.trim_start_matches('#').trim();
    (!heading.is_empty()).then_some(heading)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row() {
        let prompt = |text: &'static str| TypedText::Prompt(text);
        let rows = [
            ("Fix the login", prompt("Fix the login")),
            (
                "# Context from my IDE setup:\n\n## Active file: a.rs\n\n## My request for Codex:\nFix the login\n",
                prompt("Fix the login"),
            ),
            ("# Context from my IDE setup:\n\n## Active file: a.rs", TypedText::Nothing),
            ("## My request for Codex:\n", TypedText::Nothing),
            (
                "## User Input\n\n```text\nAdd a dark mode\n```\n\nYou **MUST** consider the user input",
                prompt("Add a dark mode"),
            ),
            ("## User Input\n\n```text\n\n```\n\nYou **MUST**", TypedText::Nothing),
            ("## User Input\n\nAdd a dark mode", prompt("Add a dark mode")),
            ("Implement the following plan:\n\n# Dark mode\n\n## Steps\n1. a", prompt("Dark mode")),
            ("Implement the following plan:", prompt("Implement the following plan:")),
            ("<environment_context>x</environment_context>\nImplement the following plan:\n# A", prompt("A")),
            (
                "<command-message>init</command-message>\n<command-name>/init</command-name>",
                TypedText::Command("/init"),
            ),
            ("<command-name></command-name>", TypedText::Nothing),
            ("<local-command-stdout>ok</local-command-stdout>", TypedText::Nothing),
            ("", TypedText::Nothing),
            (" \n\t", TypedText::Nothing),
        ];
        for (block, expected) in rows {
            assert_eq!(said(block), expected, "{block:?}");
        }
    }

    #[test]
    fn joins_the_blocks_of_a_turn() {
        let blocks = ["<environment_context>x</environment_context>", "Fix it", "<image>", "and test it"];
        assert_eq!(super::prompt(blocks), Some("Fix it\nand test it".into()));
        assert_eq!(super::prompt(["<tick>1</tick>"]), None);
    }

    #[test]
    fn an_empty_title_is_none() {
        assert_eq!(given(Some(" \n")), None);
    }
}
