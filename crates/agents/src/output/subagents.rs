//! The sub-agents that an agent starts. Each is a call of the session, with its own output below it.

use super::{
    call::{CallNews, CallStatus, one_line},
    notes::Change,
    timeline::Timeline,
};
use crate::limits::{SHOWN_TEXT, SUBAGENT_DEPTH, SUBAGENTS};
use openagents_core::{
    text::{clip_bytes, prefix},
    update::{
        Delegated, RunState, SUBAGENT_PREFIX, SUBAGENT_TOOL, SessionUpdate, ToolCallDetails, ToolKind,
        UserMessage,
    },
};
use serde_json::{Value, json};
use std::time::Instant;

/// What an agent reports about one of its sub-agents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SubagentNews {
    /// The agent's id of its session.
    pub(crate) id: String,
    pub(crate) title: Change,
    pub(crate) description: Change,
    /// Whether it can be stopped by itself; `None` if unchanged.
    pub(crate) can_stop: Option<bool>,
    pub(crate) state: Option<SubagentState>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SubagentState {
    Working,
    Ended { state: RunState, error: Option<String> },
}

/// A message between an agent and its sub-agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    ToSubagent,
    FromSubagent,
}

#[derive(Debug, Default)]
struct Message {
    /// The agent's id of it.
    id: String,
    text: String,
}

#[derive(Debug, Default)]
struct Subagent {
    id: String,
    /// Our id of the call that shows its work; `None` if there were too many calls in the turn.
    call_id: Option<String>,
    /// The sub-agent that started it; `None`: the agent itself.
    parent: Option<String>,
    /// 1 if the agent itself started it.
    depth: usize,
    timeline: Timeline,
    title: Option<String>,
    description: Option<String>,
    can_stop: bool,
    task: Message,
    answer: Message,
    working: bool,
    /// The call does not show yet what is known.
    changed: bool,
}

/// The sub-agents of one process.
#[derive(Debug, Default)]
pub(crate) struct Subagents {
    known: Vec<Subagent>,
}

impl Subagents {
    fn find(&mut self, id: &str) -> Option<&mut Subagent> {
        self.known.iter_mut().find(|known| known.id == id)
    }

    pub(crate) fn knows(&self, id: &str) -> bool {
        self.known.iter().any(|known| known.id == id)
    }

    /// Returns the sub-agent that started another one: `Some(None)` if the agent itself did, `None` if it is unknown.
    pub(crate) fn parent(&self, id: &str) -> Option<Option<&str>> {
        self.known.iter().find(|known| known.id == id).map(|known| known.parent.as_deref())
    }

    /// Returns whether a sub-agent works and can be stopped by itself.
    pub(crate) fn can_stop(&self, id: &str) -> bool {
        self.known.iter().any(|known| known.id == id && known.working && known.can_stop)
    }

    /// Applies a report. The first one on a sub-agent announces it; `parent` is the sub-agent that started it, if any.
    pub(crate) fn apply(
        &mut self,
        now: Instant,
        news: SubagentNews,
        parent: Option<&str>,
        session: &mut Timeline,
    ) {
        let is_new = !self.knows(&news.id);
        if is_new {
            let above = match parent {
                Some(id) => self.find(id).map(|parent| parent.depth),
                None => Some(0),
            };
            let depth = above.map_or(usize::MAX, |above| above + 1);
            // Those that have ended make room.
            if self.known.len() >= SUBAGENTS
                && let Some(ended) = self.known.iter().position(|known| !known.working)
            {
                self.known.remove(ended);
            }
            if self.known.len() >= SUBAGENTS || depth > SUBAGENT_DEPTH {
                tracing::debug!(depth, "passed over a sub-agent: there are too many");
                return;
            }
            let parent = parent.map(str::to_owned);
            self.known.push(Subagent { id: news.id.clone(), parent, depth, ..Subagent::default() });
        }
        let Some(subagent) = self.find(&news.id) else { return };
        subagent.changed |= news.title != Change::None || news.description != Change::None;
        news.title.apply(&mut subagent.title);
        news.description.apply(&mut subagent.description);
        if let Some(can_stop) = news.can_stop {
            subagent.changed |= subagent.can_stop != can_stop;
            subagent.can_stop = can_stop;
        }
        match news.state {
            Some(SubagentState::Working) => subagent.begin(now, session),
            Some(SubagentState::Ended { state, error }) => subagent.end(now, state, error, session),
            None if is_new => subagent.begin(now, session),
            None => {}
        }
        subagent.show_changes(now, session);
    }

    /// Adds a message to or from a sub-agent, or replaces it.
    pub(crate) fn message(
        &mut self,
        now: Instant,
        id: &str,
        direction: Direction,
        message_id: &str,
        text: &str,
        session: &mut Timeline,
    ) {
        let Some(subagent) = self.find(id) else { return };
        let text = clip_bytes(text, SHOWN_TEXT);
        let message = Message { id: message_id.to_owned(), text };
        match direction {
            Direction::FromSubagent => subagent.answer = message,
            Direction::ToSubagent if [message_id, ""].contains(&&*subagent.task.id) => {
                (subagent.task, subagent.changed) = (message, true);
            }
            // A later message to the same sub-agent.
            Direction::ToSubagent => {
                // It waits in no queue.
                let message = UserMessage { text: message.text, steered: true, ..UserMessage::default() };
                subagent.show(vec![SessionUpdate::UserMessage(message)], session);
            }
        }
        subagent.show_changes(now, session);
    }

    /// Adds text to a message that has begun. It is shown with the next report.
    pub(crate) fn add_to_message(&mut self, message_id: &str, text: &str) {
        for subagent in &mut self.known {
            for message in [&mut subagent.task, &mut subagent.answer] {
                if message.id == message_id {
                    message.text.push_str(prefix(text, SHOWN_TEXT.saturating_sub(message.text.len())));
                    subagent.changed = true;
                }
            }
        }
    }

    /// Changes the output of a sub-agent and shows it.
    pub(crate) fn change<T>(
        &mut self,
        now: Instant,
        id: &str,
        session: &mut Timeline,
        change: impl FnOnce(&mut Timeline) -> T,
    ) -> Option<T> {
        let subagent = self.find(id)?;
        subagent.show_changes(now, session);
        let result = change(&mut subagent.timeline);
        subagent.show_output(session);
        Some(result)
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        self.known.iter().filter_map(|subagent| subagent.timeline.due()).min()
    }

    pub(crate) fn tick(&mut self, now: Instant, session: &mut Timeline) {
        for subagent in &mut self.known {
            subagent.timeline.tick(now);
            subagent.show_output(session);
        }
    }

    /// Ends the turn for them. After a turn that succeeded, those at work stay at work: their later output comes late.
    pub(crate) fn end_turn(&mut self, now: Instant, state: RunState, why: &str, session: &mut Timeline) {
        for subagent in self.known.iter_mut().filter(|subagent| subagent.working) {
            if state == RunState::Complete {
                let notes = "Still working in the background.";
                subagent.close_call(
                    now,
                    Ok(json!({"ok": true, "background": true, "notes": notes})),
                    session,
                );
            } else {
                subagent.end(now, state, Some(why.to_owned()), session);
            }
        }
    }

    /// Ends everything for them, because the agent has exited.
    pub(crate) fn close(&mut self, now: Instant, why: &str, session: &mut Timeline) {
        self.end_turn(now, RunState::Failed, why, session);
        for subagent in &mut self.known {
            subagent.timeline.close_notes(now, why);
            subagent.timeline.close_open(now, why);
            subagent.show_output(session);
        }
    }
}

impl Subagent {
    fn begin(&mut self, now: Instant, session: &mut Timeline) {
        if self.working {
            return;
        }
        self.working = true;
        self.timeline.begin_turn(now);
        let details = ToolCallDetails {
            title: Some(self.label()),
            kind: Some(ToolKind::Think),
            raw_input: Some(self.brief()),
            ..ToolCallDetails::default()
        };
        let news = CallNews {
            id: self.their_call(),
            name: Some(SUBAGENT_TOOL.to_owned()),
            status: Some(CallStatus::Running),
            details,
            ..CallNews::default()
        };
        self.changed = false;
        self.call_id = session.call(now, news, true);
    }

    fn end(&mut self, now: Instant, state: RunState, error: Option<String>, session: &mut Timeline) {
        if !self.working {
            return;
        }
        self.changed |= self.can_stop;
        (self.working, self.can_stop) = (false, false);
        let why = error.as_deref().unwrap_or("it ended before this finished");
        self.timeline.end_turn(now, state, why, "");
        self.show_output(session);
        let answer = match self.timeline.last_message() {
            "" => &self.answer.text,
            last => last,
        };
        let answer = clip_bytes(answer, SHOWN_TEXT);
        let result = match state {
            RunState::Complete | RunState::Running => Ok(json!({"ok": true, "notes": answer})),
            RunState::Cancelled => Err("Cancelled"),
            RunState::Failed => Err(error.as_deref().unwrap_or("it failed")),
        };
        self.close_call(now, result, session);
    }

    fn close_call(&mut self, now: Instant, result: Result<Value, &str>, session: &mut Timeline) {
        self.show_changes(now, session);
        let (status, output) = match result {
            Ok(report) => (CallStatus::Completed, report),
            Err(why) => (CallStatus::Failed, json!(why)),
        };
        let (status, raw_output) = (Some(status), Some(output));
        let news = CallNews { id: self.their_call(), status, raw_output, ..CallNews::default() };
        session.call(now, news, false);
    }

    /// Shows in its call what is known since.
    fn show_changes(&mut self, now: Instant, session: &mut Timeline) {
        if !std::mem::take(&mut self.changed) || self.call_id.is_none() {
            return;
        }
        let details = ToolCallDetails {
            title: Some(self.label()),
            raw_input: Some(self.brief()),
            ..ToolCallDetails::default()
        };
        session.call(now, CallNews { id: self.their_call(), details, ..CallNews::default() }, false);
    }

    fn show_output(&mut self, session: &mut Timeline) {
        let updates = self.timeline.take();
        self.show(updates, session);
    }

    fn show(&self, updates: Vec<SessionUpdate>, session: &mut Timeline) {
        let Some(call_id) = &self.call_id else { return };
        let delegated = |update| {
            SessionUpdate::Delegated(Delegated {
                parent_call_id: call_id.clone(),
                child_session_id: format!("{SUBAGENT_PREFIX}{}", self.id),
                update: Box::new(update),
            })
        };
        session.add(updates.into_iter().map(delegated));
    }

    /// The id of its call beside those of the agent.
    fn their_call(&self) -> String {
        format!("sub-agent {}", self.id)
    }

    fn label(&self) -> String {
        let named = self.title.as_deref().or(self.description.as_deref()).and_then(one_line);
        named.unwrap_or_else(|| "Sub-agent".to_owned())
    }

    /// Returns the arguments of its call. Claude Code names the kind of sub-agent in the description, Codex has the whole
    /// task there.
    fn brief(&self) -> Value {
        let description = self.description.as_deref().unwrap_or_default();
        let (role, task) = match self.title {
            Some(_) => (description, &*self.task.text),
            None if self.task.text.is_empty() => ("", description),
            None => ("", &*self.task.text),
        };
        let mut brief = json!({
            "description": self.label(),
            "user_prompt": clip_bytes(task, SHOWN_TEXT),
            "can_stop": self.can_stop,
        });
        if let Some(role) = one_line(role) {
            brief["role"] = role.into();
        }
        brief
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Role;
    use openagents_core::update::{ToolCall, ToolCallStatus, ToolCallUpdate};

    fn news(id: &str, state: Option<SubagentState>) -> SubagentNews {
        SubagentNews { id: id.to_owned(), state, ..SubagentNews::default() }
    }

    fn ended(state: RunState) -> Option<SubagentState> {
        Some(SubagentState::Ended { state, error: None })
    }

    /// Shows what a session got, a line per update.
    fn lines(session: &mut Timeline) -> Vec<String> {
        let line = |update: &SessionUpdate| match update {
            SessionUpdate::ToolCall(ToolCall { arguments, .. }) => {
                format!("call {}", Value::Object(arguments.clone()))
            }
            SessionUpdate::ToolCallUpdate(ToolCallUpdate { status, details, .. }) => match status {
                ToolCallStatus::Completed { output, .. } => format!("completed {output}"),
                ToolCallStatus::Error { message } => format!("error {message}"),
                _ => details.raw_input.as_ref().map_or_else(|| "started".to_owned(), Value::to_string),
            },
            SessionUpdate::AgentMessage(message) if message.ended => "end".to_owned(),
            SessionUpdate::AgentMessage(message) => format!("says {}", message.text),
            SessionUpdate::UserMessage(message) => format!("gets {}", message.text),
            other => format!("{other:?}"),
        };
        let inner = |update: SessionUpdate| match &update {
            SessionUpdate::Delegated(Delegated { update, .. }) => format!("  {}", line(update)),
            update => line(update),
        };
        session.take().into_iter().map(inner).collect()
    }

    #[test]
    fn sub_agent_is_a_call_with_its_output() {
        let (mut session, mut all, now) = (Timeline::default(), Subagents::default(), Instant::now());
        session.begin_turn(now);
        let title = Change::Set("Look around".to_owned());
        let description = Change::Set("general-purpose".to_owned());
        let begins = SubagentNews { title, description, can_stop: Some(true), ..news("a", None) };
        all.apply(now, begins, None, &mut session);
        let brief =
            r#"{"description":"Look around","user_prompt":"","can_stop":true,"role":"general-purpose"}"#;
        assert_eq!(lines(&mut session), [format!("call {brief}"), "started".to_owned()]);
        assert!(all.can_stop("a"));

        let mut message = |all: &mut Subagents, direction, id, text| {
            all.message(now, "a", direction, id, text, &mut session)
        };
        message(&mut all, Direction::ToSubagent, "1", "Look");
        message(&mut all, Direction::ToSubagent, "2", "And there.");
        message(&mut all, Direction::FromSubagent, "3", "Started.");
        all.add_to_message("1", " here.");
        all.change(now, "a", &mut session, |timeline| {
            timeline.text(now, Role::Message, "Nothing there.", None)
        });
        all.apply(now, news("a", ended(RunState::Complete)), None, &mut session);
        let brief = |task| brief.replace(r#""user_prompt":"""#, &format!(r#""user_prompt":"{task}""#));
        let end = brief("Look here.").replace("true", "false");
        let expected = [
            &*brief("Look"),
            "  gets And there.",
            &brief("Look here."),
            "  says Nothing there.",
            "  end",
            &end,
            r#"completed {"ok":true,"notes":"Nothing there."}"#,
        ];
        assert_eq!(lines(&mut session), expected);
        assert!(!all.can_stop("a"));

        // The same one gets another task: another call.
        all.apply(now, news("a", Some(SubagentState::Working)), None, &mut session);
        assert!(lines(&mut session)[0].starts_with("call "));
    }

    #[test]
    fn sub_agents_end_with_a_turn_that_did_not_succeed() {
        for (state, expected) in [
            (
                RunState::Complete,
                r#"completed {"ok":true,"background":true,"notes":"Still working in the background."}"#,
            ),
            (RunState::Cancelled, "error Cancelled"),
            (RunState::Failed, "error it exited"),
        ] {
            let (mut session, mut all, now) = (Timeline::default(), Subagents::default(), Instant::now());
            session.begin_turn(now);
            all.apply(now, news("a", None), None, &mut session);
            all.end_turn(now, state, "it exited", &mut session);
            session.end_turn(now, state, "no result", "");
            assert!(lines(&mut session).contains(&expected.to_owned()), "{state:?}");
            all.apply(now, news("a", ended(RunState::Complete)), None, &mut session);
            let late = lines(&mut session);
            assert_eq!(late.is_empty(), state != RunState::Complete, "{state:?}: {late:?}");
        }
    }

    #[test]
    fn sub_agents_are_bounded() {
        let (mut session, mut all, now) = (Timeline::default(), Subagents::default(), Instant::now());
        session.begin_turn(now);
        for n in 0..10 * SUBAGENTS {
            let parent = n.checked_sub(1).map(|n| n.to_string());
            all.apply(now, news(&n.to_string(), None), parent.as_deref(), &mut session);
        }
        assert_eq!(all.known.len(), SUBAGENT_DEPTH);
        for n in 0..10 * SUBAGENTS {
            all.apply(now, news(&format!("child {n}"), None), None, &mut session);
        }
        assert_eq!(all.known.len(), SUBAGENTS);
        assert!(!all.knows("late"));
        all.apply(now, news("0", ended(RunState::Complete)), None, &mut session);
        all.apply(now, news("late", None), None, &mut session);
        assert!(all.knows("late") && !all.knows("0"));
        let text = all.change(now, "unknown", &mut session, |_| ());
        assert_eq!(text, None);
    }
}
