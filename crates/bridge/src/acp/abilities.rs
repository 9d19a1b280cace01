//! What a client can show.

use agent_client_protocol_schema::v1::ClientCapabilities;
use openagents_core::update::{AgentMessage, NoteContent, SessionUpdate, Severity, UserMessage};
use openagents_wire::ClientMeta;
use std::borrow::Cow;

/// What a client declares in `initialize`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Abilities {
    /// It knows all updates of our log, and reads approvals from it.
    pub(super) reads_log: bool,
    pub(super) plans: bool,
    pub(super) notices: bool,
    pub(super) compactions: bool,
    /// It shows options instead of modes.
    pub(super) options: bool,
    /// It shows options that are on or off.
    pub(super) booleans: bool,
    /// It can ask the user with a form, or to open an address.
    pub(super) forms: bool,
    pub(super) links: bool,
}

impl Abilities {
    pub(super) fn of(client: &ClientCapabilities) -> Self {
        let ours: ClientMeta = openagents_wire::ours(client.meta.as_ref());
        let session = client.session.as_ref();
        Self {
            reads_log: ours.approvals,
            plans: client.plan.is_some(),
            notices: session.is_some_and(|session| session.notices.is_some()),
            compactions: session.is_some_and(|session| session.compaction.is_some()),
            options: session.is_some_and(|session| session.config_options.is_some()),
            booleans: session
                .and_then(|session| session.config_options.as_ref())
                .is_some_and(|options| options.boolean.is_some()),
            forms: client.elicitation.as_ref().is_some_and(|asks| asks.form.is_some()),
            links: client.elicitation.as_ref().is_some_and(|asks| asks.url.is_some()),
        }
    }

    /// Returns an update as it is shown to the client. `None` if the client does not know its kind.
    pub(super) fn shown<'a>(self, update: &'a SessionUpdate) -> Option<Cow<'a, SessionUpdate>> {
        let note = match update {
            // In an editor, these would pass for the session's own.
            SessionUpdate::Delegated(delegated) if delegated.is_of_subagent() && !self.reads_log => {
                return match &*delegated.update {
                    SessionUpdate::Plan(_) | SessionUpdate::UserMessage(_) | SessionUpdate::AgentNote(_) => {
                        None
                    }
                    _ => Some(Cow::Borrowed(update)),
                };
            }
            SessionUpdate::AgentNote(note) => note,
            SessionUpdate::UserMessage(message) if !message.images.is_empty() && !self.reads_log => {
                let text = message.text_with_images().into_owned();
                return Some(Cow::Owned(SessionUpdate::UserMessage(UserMessage { text, ..message.clone() })));
            }
            _ => return Some(Cow::Borrowed(update)),
        };
        let is_known = match &note.content {
            NoteContent::Notice { .. } => self.notices,
            NoteContent::Compaction { .. } => self.compactions,
            NoteContent::Plan { .. } => self.plans,
        };
        match &note.content {
            _ if is_known || self.reads_log => Some(Cow::Borrowed(update)),
            NoteContent::Notice { severity: Severity::Error, title, description, count: 1 } => {
                let text =
                    description.as_ref().map_or_else(|| title.clone(), |more| format!("{title}: {more}"));
                Some(Cow::Owned(SessionUpdate::AgentMessage(AgentMessage {
                    text,
                    message_id: Some(note.id.clone()),
                    ..AgentMessage::default()
                })))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::update::{AgentNote, CompactionState, Delegated};
    use serde_json::{Value, json};

    fn kind(client: &Value, content: &NoteContent) -> Option<&'static str> {
        let client = Abilities::of(&serde_json::from_value(client.clone()).unwrap());
        let update = SessionUpdate::AgentNote(AgentNote { id: "n".to_owned(), content: content.clone() });
        client.shown(&update).map(|shown| match &*shown {
            SessionUpdate::AgentNote(_) => "note",
            SessionUpdate::AgentMessage(message) if message.text == "Login expired: Log in again" => "text",
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn tasks_of_sub_agents_are_not_shown_as_the_users_words() {
        let editor = Abilities::default();
        let ours = Abilities { reads_log: true, ..editor };
        for (child, client, is_shown) in
            [("sub-agent:1", editor, false), ("sub-agent:1", ours, true), ("a-delegate", editor, true)]
        {
            let task = UserMessage { text: "Look around".to_owned(), ..UserMessage::default() };
            let update = SessionUpdate::Delegated(Delegated {
                parent_call_id: "call".to_owned(),
                child_session_id: child.to_owned(),
                update: Box::new(SessionUpdate::UserMessage(task)),
            });
            assert_eq!(client.shown(&update).is_some(), is_shown, "{child}");
        }
    }

    #[test]
    fn clients_get_the_notes_that_they_know() {
        let notice = |severity, count| NoteContent::Notice {
            severity,
            title: "Login expired".to_owned(),
            description: Some("Log in again".to_owned()),
            count,
        };
        let plan = NoteContent::Plan { text: "# Plan".to_owned(), path: None, removed: false };
        let compaction =
            NoteContent::Compaction { state: CompactionState::Running, summary: None, error: None };
        let notes = [
            notice(Severity::Error, 1),
            notice(Severity::Error, 2),
            notice(Severity::Warning, 1),
            plan,
            compaction,
        ];
        let note = Some("note");
        let rows = [
            (json!({}), [Some("text"), None, None, None, None]),
            (json!({"plan": {}}), [Some("text"), None, None, note, None]),
            (json!({"session": {"notices": {}}}), [note, note, note, None, None]),
            (json!({"session": {"compaction": {}}}), [Some("text"), None, None, None, note]),
            (json!({"_meta": {"openagents": {"approvals": true}}}), [note; 5]),
        ];
        for (client, expected) in rows {
            assert_eq!(notes.each_ref().map(|note| kind(&client, note)), expected, "{client}");
        }
    }
}
