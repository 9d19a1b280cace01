//! Unfolds a session into records.

use super::super::records::Records;
use crate::history::{
    log::{json::Node, known::LogSurvey, lines::OpenLog, log_file::millis},
    transcript::Provider,
};
use serde::Serialize;
use serde_json::{json, value::RawValue};

#[derive(Debug, Default, Serialize)]
pub(super) struct About {
    pub(super) title: Option<String>,
    pub(super) directory: Option<String>,
    /// The session that started this one.
    pub(super) parent: Option<String>,
    /// Milliseconds since the epoch.
    pub(super) created: Option<i64>,
    /// Milliseconds since the epoch.
    pub(super) updated: Option<i64>,
    /// As JSON.
    pub(super) model: Option<String>,
    pub(super) archived: bool,
    /// The session that this one was forked from (2.x).
    pub(super) fork_of: Option<String>,
    /// The first commit of the repository, or `global` outside of one.
    pub(super) project: Option<String>,
    #[serde(skip)]
    pub(super) version: Option<String>,
}

/// The point to which the user went back: that message, or that part of it, and everything after it no longer count.
/// The next prompt removes them from the store.
#[derive(Debug, Clone, Default)]
pub(super) struct Revert {
    message: Option<String>,
    part: Option<String>,
}

impl Revert {
    /// Reads the field `revert` of a session, JSON.
    pub(super) fn parse(json: Option<&str>) -> Self {
        let node = json.and_then(Node::parse_object);
        let text = |key| node.as_ref().and_then(|node| node.text(key)).map(str::to_owned);
        Self { message: text("messageID"), part: text("partID") }
    }

    /// Returns whether a message was undone as a whole. Ids sort by time.
    fn takes_message(&self, id: &str) -> bool {
        self.message.as_deref().is_some_and(|first| id > first || (id == first && self.part.is_none()))
    }

    fn takes_part(&self, message: &str, id: &str) -> bool {
        self.message.as_deref() == Some(message) && self.part.as_deref().is_some_and(|first| id >= first)
    }
}

#[derive(Serialize)]
struct Part<'a> {
    at: Option<i64>,
    part: &'a RawValue,
}

#[derive(Serialize)]
struct Entry<'a> {
    at: Option<i64>,
    entry: &'a str,
    data: &'a RawValue,
}

/// The message that parts belong to.
#[derive(Default)]
enum Message {
    User {
        at: Option<i64>,
        texts: Vec<String>,
    },
    Agent {
        at: Option<i64>,
    },
    /// For the model, it replaces the conversation before it.
    Summary {
        at: Option<i64>,
    },
    #[default]
    Unknown,
}

pub(super) struct Unfolded {
    records: Records,
    /// Collected here, because records contain less than messages and parts.
    survey: LogSurvey,
    message: Message,
    revert: Revert,
    /// Id of the last message.
    current: String,
}

impl Unfolded {
    pub(super) fn new(about: &About, revert: Revert) -> Self {
        let mut unfolded = Self::empty(revert);
        unfolded.survey.version.clone_from(&about.version);
        unfolded.records.add(&json!({"about": about}));
        unfolded
    }

    fn empty(revert: Revert) -> Self {
        Self {
            records: Records::default(),
            survey: LogSurvey::new(Provider::Opencode),
            message: Message::default(),
            revert,
            current: String::new(),
        }
    }

    /// Starts with a description that is not JSON.
    pub(super) fn bad(about: &str) -> Self {
        let mut unfolded = Self::empty(Revert::default());
        unfolded.records.bad(about);
        unfolded
    }

    /// Adds a message of 1.x; its parts follow. `data` is absent if it cannot be read.
    pub(super) fn message(&mut self, id: &str, at: Option<i64>, data: Option<&str>) {
        self.end_message();
        id.clone_into(&mut self.current);
        self.records.set_taken_back(self.revert.takes_message(id));
        let Some(node) = data.and_then(Node::parse_object) else {
            return self.records.bad(data.unwrap_or_default());
        };
        self.survey.check("message", &node);
        let at = node.get("time").and_then(|time| millis(time.get("created"))).or(at);
        self.message = match node.text("role") {
            Some("user") => Message::User { at, texts: vec![] },
            role => {
                let (model, tokens) = (node.text("modelID"), node.get("tokens").map(Node::to_value));
                self.records.add(&json!({"at": at, "role": role, "model": model, "tokens": tokens}));
                if node.text("mode") == Some("compaction") || node.flag("summary") {
                    Message::Summary { at }
                } else {
                    Message::Agent { at }
                }
            }
        };
    }

    /// Adds a part of the last message. Of the user's messages, keeps only what was typed.
    pub(super) fn part(&mut self, id: &str, at: Option<i64>, data: Option<&str>) {
        if self.revert.takes_part(&self.current, id) {
            self.records.set_taken_back(true);
        }
        let text = data.unwrap_or_default();
        if let Some(part) = Node::parse_object(text) {
            self.survey.check("part", &part);
        }
        match &mut self.message {
            Message::User { texts, .. } => match Node::parse_object(text) {
                Some(part) => texts.extend(typed(&part)),
                None => self.records.bad(text),
            },
            Message::Agent { at: of_message } => {
                let at = at.or(*of_message);
                match serde_json::from_str(text) {
                    Ok(part) => self.records.add(&Part { at, part }),
                    Err(_) => self.records.bad(text),
                }
            }
            Message::Summary { at: of_message } => {
                let at = at.or(*of_message);
                match Node::parse_object(text) {
                    Some(part) => {
                        if let Some(summary) = part.text("text").filter(|_| part.text("type") == Some("text"))
                        {
                            self.records.add(&json!({"at": at, "summary": summary}));
                        }
                    }
                    None => self.records.bad(text),
                }
            }
            Message::Unknown => {}
        }
    }

    /// Adds a message of 2.x, which contains its parts.
    pub(super) fn entry(&mut self, id: &str, kind: &str, at: Option<i64>, data: Option<&str>) {
        self.records.set_taken_back(self.revert.takes_message(id));
        if let Some(entry) = data.and_then(Node::parse_object) {
            self.survey.check(&format!("entry/{kind}"), &entry);
        }
        match serde_json::from_str(data.unwrap_or_default()) {
            Ok(data) => self.records.add(&Entry { at, entry: kind, data }),
            Err(_) => self.records.bad(data.unwrap_or_default()),
        }
    }

    /// Adds the time of the last change, in milliseconds since the epoch.
    pub(super) fn updated(&mut self, updated: Option<i64>) {
        self.end_message();
        self.records.set_taken_back(false);
        self.records.add(&json!({"about": About { updated, ..About::default() }}));
    }

    pub(super) fn into_log(mut self) -> OpenLog {
        self.end_message();
        self.records.into_log().surveyed(self.survey)
    }

    fn end_message(&mut self) {
        if let Message::User { at, texts } = std::mem::take(&mut self.message) {
            self.records.add(&json!({"at": at, "role": "user", "texts": texts}));
        }
    }
}

fn typed(part: &Node<'_>) -> Option<String> {
    let is_typed = part.text("type") == Some("text") && !part.flag("synthetic") && !part.flag("ignored");
    part.text("text").filter(|_| is_typed).map(str::to_owned)
}
