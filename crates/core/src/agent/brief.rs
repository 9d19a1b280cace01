//! A conversation as text: for an agent that lost its own copy of the session, and for a prompt that names a session.

use super::conversation::Conversation;
use crate::{model::Message, text::cut_with_note};

/// Maximum characters in total without the first prompt, and of one message.
const BRIEF: (usize, usize) = (12_000, 1_500);
const EXCERPT: (usize, usize) = (48_000, 4_000);

/// Maximum characters of a call's arguments, and of its result.
const CALL: usize = 300;

/// Returns the first prompt and the newest messages as text that precedes the next prompt; `None` if there are none.
pub fn brief(conversation: &Conversation) -> Option<String> {
    let (room, message) = BRIEF;
    let earlier =
        fitting(conversation.messages(usize::MAX).iter().map(|it| format_message(it, message)), room)?;
    Some(format!(
        "This continues an earlier session that can't be opened again. The earlier conversation follows \
         for reference; do not repeat any of it.\n<earlier_session>\n{earlier}</earlier_session>\n\nThe prompt:\n\n"
    ))
}

/// What a message in an excerpt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    User,
    Agent,
    /// A call: its name and arguments.
    Call,
    Result,
}

/// Returns the first message of a session and the newest ones as text, for a prompt that names the session; `None` if
/// there are none.
pub fn excerpt<'a>(messages: impl Iterator<Item = (Speaker, &'a str)>) -> Option<String> {
    let (room, message) = EXCERPT;
    fitting(messages.map(|(speaker, text)| format_line(speaker, text, message)), room)
}

/// Returns the messages of a conversation for [`excerpt`].
pub fn conversation_excerpt(conversation: &Conversation) -> Option<String> {
    let (room, message) = EXCERPT;
    fitting(conversation.messages(usize::MAX).iter().map(|it| format_message(it, message)), room)
}

/// Joins the first text and the newest ones that fit.
fn fitting(all: impl Iterator<Item = String>, room: usize) -> Option<String> {
    let all: Vec<String> = all.filter(|text| !text.is_empty()).collect();
    let (first, rest) = all.split_first()?;
    let mut room = room;
    let fits = |message: &&String| {
        room = room.saturating_sub(message.chars().count());
        room > 0
    };
    let newest = rest.iter().rev().take_while(fits).count();
    let left_out = match rest.len() - newest {
        0 => String::new(),
        count => format!("({count} messages left out)\n"),
    };
    let newest = rest[rest.len() - newest..].concat();
    Some(format!("{first}{left_out}{newest}"))
}

fn format_message(message: &Message, room: usize) -> String {
    match message {
        Message::User { text } => format_line(Speaker::User, text, room),
        Message::Assistant(answer) => {
            let called = answer
                .calls
                .iter()
                .map(|call| format_line(Speaker::Call, &format!("{} {}", call.name, call.arguments), room));
            format_line(Speaker::Agent, &answer.text, room) + &called.collect::<String>()
        }
        Message::Tool { text, .. } => format_line(Speaker::Result, text, room),
    }
}

/// Returns an empty text for one that says nothing.
fn format_line(speaker: Speaker, text: &str, room: usize) -> String {
    let room = if matches!(speaker, Speaker::User | Speaker::Agent) { room } else { CALL };
    match text.trim() {
        "" => String::new(),
        text => format!("{speaker:?}: {}\n", cut_with_note(text, room)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::{AgentMessage, SessionUpdate, ToolCall, ToolCallStatus, ToolCallUpdate, UserMessage};

    fn user(text: &str) -> SessionUpdate {
        SessionUpdate::UserMessage(UserMessage { text: text.to_owned(), ..UserMessage::default() })
    }

    fn agent(text: &str) -> SessionUpdate {
        SessionUpdate::AgentMessage(AgentMessage {
            text: text.to_owned(),
            ended: true,
            ..AgentMessage::default()
        })
    }

    fn brief_of(updates: &[SessionUpdate]) -> Option<String> {
        let mut conversation = Conversation::default();
        updates.iter().for_each(|update| conversation.push(update));
        brief(&conversation)
    }

    #[test]
    fn brief_lists_messages_and_calls_in_order() {
        let call = ToolCall {
            call_id: "1".to_owned(),
            name: "edit".to_owned(),
            arguments: [("path".to_owned(), "a.rs".into())].into_iter().collect(),
            op_hash: None,
            stage: None,
            details: Default::default(),
        };
        let output = ToolCallStatus::Completed { output: "written".into(), cut: Default::default() };
        let updates = [
            user("Fix a.rs"),
            SessionUpdate::ToolCall(call),
            SessionUpdate::ToolCallUpdate(ToolCallUpdate::new("1", output)),
            agent("Fixed."),
            // Not answered yet: this is the prompt that follows the brief.
            user("And b.rs"),
        ];
        insta::assert_snapshot!(brief_of(&updates).unwrap(), @r#"
        This continues an earlier session that can't be opened again. The earlier conversation follows for reference; do not repeat any of it.
        <earlier_session>
        User: Fix a.rs
        Call: edit {"path":"a.rs"}
        Result: written
        Agent: Fixed.
        </earlier_session>

        The prompt:
        "#);
    }

    #[test]
    fn brief_is_empty_for_new_session_and_bounded() {
        assert_eq!(brief_of(&[]), None);
        assert_eq!(brief_of(&[user("hello")]), None);
        let long: Vec<_> =
            (0..200).flat_map(|turn| [user(&format!("{turn} {}", "x".repeat(5_000))), agent("ok")]).collect();
        let brief = brief_of(&long).unwrap();
        assert!(brief.chars().count() < 2 * BRIEF.0, "{}", brief.len());
        for part in ["User: 0 x", "messages left out)\n", "User: 199 x"] {
            assert!(brief.contains(part), "{part}");
        }
        // One long turn.
        assert!(brief_of(&[user("fix it"), agent(&"y".repeat(500_000))]).unwrap().contains("Agent: y"));
    }
}
