//! Extracts the user's prompt from a logged turn, and a title from the prompt. One set of rules for all agents; the
//! noise tables are in [`crate::history::log::title`].

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

pub(crate) fn typed_text(block: &str) -> TypedText<'_> {
    let block = block.trim();
    if let Some(name) = between(block, "<command-name>", "</command-name>").map(str::trim) {
        return if name.is_empty() { TypedText::Nothing } else { TypedText::Command(name) };
    }
    let text = strip(block.split_once(REQUEST_MARKER).map_or(block, |(_, request)| request));
    let text = if text.starts_with(USER_INPUT_HEADING) { strip(fenced(text)) } else { text };
    if text.is_empty() {
        return TypedText::Nothing;
    }
    TypedText::Prompt(text.strip_prefix(PLAN_MARKER).and_then(first_heading).unwrap_or(text))
}

/// Joins the typed texts of a turn's blocks; `None` if there are none.
pub(crate) fn prompt<'a>(blocks: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let typed = blocks.into_iter().filter_map(|block| match typed_text(block) {
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

/// Tags around generated text, of Codex, of Claude Code and of the others; `*` stands for a family of tags. Text after
/// the closing tag is kept.
/// The rows are from Codex (`codex-rs`, contextual user fragments) and Claude Code (the first-prompt rule of its
/// session list) up to November 2026. Unknown tags are kept, because a user may write about `<div>`.
const ENVELOPES: [&str; 3] = [
    "\
        INSTRUCTIONS|user_instructions|environment_context|env_context|permissions instructions|\
        collaboration_mode|skill*|apps_instructions|plugins_instructions|recommended_plugins|\
        app-context|multi_agent_mode|turn_aborted|user_shell_command|subagent_notification|\
        codex_internal_context|goal_context|image|attachments|system",
    "\
        local-command-stdout|local-command-stderr|local-command-caveat|session-start-hook|\
        user-prompt-submit-hook|tick|goal|ide_opened_file|ide_selection|ide_diagnostics|bash-input|\
        bash-stdout|bash-stderr|system-reminder|task-notification|command-message|command-args|\
        command-contents|new-diagnostics|fork-boilerplate",
    "\
        session_context|hook_context|image_files|attached_files|code_selection|terminal_selection|\
        environment_details|mode_notice|file_content|user_command",
];

/// Prefixes of messages that are entirely generated.
const DROPPED_BEGINNINGS: &[&str] = &[
    "[Request interrupted by user",
    "Caveat:",
    "This session is being continued",
    "Stop hook feedback",
    "Base directory for this skill:",
    "## Context Usage",
    // An IDE prefix without its request.
    "# Context from my IDE setup:",
];

/// Prompts that Claude Code itself sends to warm its cache.
const DROPPED_WHOLE: &[&str] = &["Warmup", "No response requested."];

/// Heading before a folder's instructions, which end with their closing tag.
const AGENTS_HEADING: &str = "# AGENTS.md instructions";
const AGENTS_END: &str = "</INSTRUCTIONS>";

pub(crate) fn strip(text: &str) -> &str {
    let mut rest = text.trim();
    loop {
        let shorter = if rest.starts_with(AGENTS_HEADING) {
            after(rest, AGENTS_END)
        } else if let Some(tag) = opening_tag(rest) {
            past_envelope(rest, tag)
        } else {
            break;
        };
        rest = shorter.trim();
    }
    let dropped = DROPPED_BEGINNINGS.iter().any(|beginning| rest.starts_with(beginning))
        || DROPPED_WHOLE.contains(&rest);
    if dropped { "" } else { rest }
}

/// Returns the envelope tag at the start of a text. A stray closing tag counts as one: images come as an opening tag,
/// the image and a closing tag in three blocks.
fn opening_tag(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('<')?;
    let inside = inside.strip_prefix('/').unwrap_or(inside);
    ENVELOPES.iter().flat_map(|names| names.split('|')).find_map(|name| match name.strip_suffix('*') {
        None => {
            let after = inside.strip_prefix(name)?;
            after.starts_with(['>', ' ', '\n', '/']).then(|| &inside[..name.len()])
        }
        Some(family) => {
            let end = inside.find(['>', ' ', '\n'])?;
            inside.starts_with(family).then(|| &inside[..end])
        }
    })
}

fn past_envelope<'a>(text: &'a str, tag: &str) -> &'a str {
    match text.split_once(&format!("</{tag}>")) {
        Some((_, after)) => after,
        // An image tag may have no closing tag; any other unclosed envelope extends to the end.
        None if tag == "image" => after(text, ">"),
        None => "",
    }
}

fn after<'a>(text: &'a str, end: &str) -> &'a str {
    text.split_once(end).map_or("", |(_, after)| after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_text_strips_every_form() {
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
            assert_eq!(typed_text(block), expected, "{block:?}");
        }
    }

    #[test]
    fn prompt_joins_blocks_of_turn() {
        let blocks = ["<environment_context>x</environment_context>", "Fix it", "<image>", "and test it"];
        assert_eq!(super::prompt(blocks), Some("Fix it\nand test it".into()));
        assert_eq!(super::prompt(["<tick>1</tick>"]), None);
    }

    #[test]
    fn given_drops_empty_title() {
        assert_eq!(given(Some(" \n")), None);
    }

    #[test]
    fn strip_drops_generated_text() {
        let rows = [
            // Codex envelopes, alone and followed by a prompt
            ("# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nbe nice\n</INSTRUCTIONS>", ""),
            (
                "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nbe nice\n</INSTRUCTIONS>\nFix it now",
                "Fix it now",
            ),
            ("# AGENTS.md instructions for /w\nnever ends", ""),
            ("<user_instructions>\nx\n</user_instructions>", ""),
            (
                "<environment_context>\n<cwd>/w</cwd>\n</environment_context>\n\nFix the build",
                "Fix the build",
            ),
            ("<environment_context>never ends", ""),
            ("<env_context>x</env_context>", ""),
            ("<permissions instructions>\nx\n</permissions instructions>Go", "Go"),
            ("<collaboration_mode>x</collaboration_mode>", ""),
            ("<skill>\n<name>a</name>\n</skill>\nUse it", "Use it"),
            ("<skill name=\"a\">x</skill>", ""),
            ("<skills_instructions>x</skills_instructions>", ""),
            ("<apps_instructions>x</apps_instructions>", ""),
            ("<plugins_instructions>x</plugins_instructions>", ""),
            ("<recommended_plugins>x</recommended_plugins>", ""),
            ("<app-context>x</app-context>", ""),
            ("<multi_agent_mode>x</multi_agent_mode>", ""),
            ("<turn_aborted>\nx\n</turn_aborted>", ""),
            ("<user_shell_command>ls</user_shell_command>", ""),
            ("<subagent_notification>{}</subagent_notification>", ""),
            ("<codex_internal_context source=\"goal\">x</codex_internal_context>", ""),
            ("<goal_context>x</goal_context>\nreal", "real"),
            ("<image name=[Image #1]>", ""),
            ("<image name=[Image #1]></image>\nWhat is this?", "What is this?"),
            ("</image>", ""),
            // several in a row
            (
                "<user_instructions>a</user_instructions>\n<environment_context>b</environment_context>\nDo c",
                "Do c",
            ),
            // Claude Code
            ("<local-command-stdout>x</local-command-stdout>", ""),
            ("<local-command-caveat>x</local-command-caveat>", ""),
            ("<session-start-hook>x</session-start-hook>", ""),
            ("<tick>1</tick>", ""),
            ("<goal>x</goal>", ""),
            ("[Request interrupted by user]", ""),
            ("[Request interrupted by user for tool use]", ""),
            ("<ide_opened_file>The user opened a.rs</ide_opened_file>", ""),
            ("<ide_opened_file>The user opened a.rs</ide_opened_file>\nExplain", "Explain"),
            ("<ide_selection>x</ide_selection>", ""),
            ("Caveat: The messages below were generated by the user", ""),
            ("<bash-input>ls</bash-input>", ""),
            ("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>", ""),
            ("<system-reminder>x</system-reminder>", ""),
            ("<system-reminder>x</system-reminder>\nHello there", "Hello there"),
            ("<task-notification>x</task-notification>", ""),
            ("This session is being continued from a previous conversation", ""),
            ("Stop hook feedback:\n- x", ""),
            ("Base directory for this skill: /w/skills/x\n\nDo it", ""),
            ("## Context Usage\n\n| a |", ""),
            ("<fork-boilerplate>x</fork-boilerplate>\nReview it", "Review it"),
            ("Warmup", ""),
            // a user's own words
            ("Warmup routine is broken", "Warmup routine is broken"),
            ("<div> is not closed", "<div> is not closed"),
            ("<systemd> unit", "<systemd> unit"),
            ("  Fix it  ", "Fix it"),
            ("", ""),
        ];
        for (text, left) in rows {
            assert_eq!(strip(text), left, "{text:?}");
        }
    }
}
