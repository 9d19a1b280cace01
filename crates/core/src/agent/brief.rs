//! The earlier conversation of a session as text, for an agent that lost its own copy of the session.

use super::conversation::Conversation;
use crate::{model::Message, text::cut_with_note};

/// Maximum characters in total, without the first prompt.
const ROOM: usize = 12_000;

/// Maximum characters of one message.
const MESSAGE: usize = 1_500;

/// Maximum characters of a call's arguments, and of its result.
const CALL: usize = 300;

/// Returns the first prompt and the newest messages as text that precedes the next prompt; `None` if there are none.
pub fn brief(conversation: &Conversation) -> Option<String> {
    let all: Vec<String> = conversation.messages(usize::MAX).iter().map(format_message).collect();
    let (first, rest) = all.split_first()?;
    let mut room = ROOM;
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
    Some(format!(
        "This continues an earlier session that can't be opened again. The earlier conversation follows \
         for reference; do not repeat any of it.\n<earlier_session>\n{first}{left_out}{newest}</earlier_session>\n\nThe prompt:\n\n"
    ))
}

fn format_message(message: &Message) -> String {
    let line = |who: &str, text: &str, room| match text.trim() {
        "" => String::new(),
        text => format!("{who}: {}\n", cut_with_note(text, room)),
    };
    match message {
        Message::User { text } => line("User", text, MESSAGE),
        Message::Assistant(answer) => {
            let called = answer
                .calls
                .iter()
                .map(|call| line("Call", &format!("{} {}", call.name, call.arguments), CALL));
            line("Agent", &answer.text, MESSAGE) + &called.collect::<String>()
        }
        Message::Tool { text, .. } => line("Result", text, CALL),
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
        assert!(brief.chars().count() < 2 * ROOM, "{}", brief.len());
        for part in ["User: 0 x", "messages left out)\n", "User: 199 x"] {
            assert!(brief.contains(part), "{part}");
        }
        // One long turn.
        assert!(brief_of(&[user("fix it"), agent(&"y".repeat(500_000))]).unwrap().contains("Agent: y"));
    }
}
