//! The sessions of Goose, by Block: one database since 1.10 (schema 5, and up to 17 according to its source). Older
//! JSON lines were imported into it.
//!
//! Format: `crates/goose/src/session/session_manager.rs` of block/goose. The first line is the session, then each
//! message is a line.

use super::{
    calls::{self, FileTools},
    records::Records,
};
use crate::{
    history::{
        log::{
            decoder::{Decoder, SessionFacts},
            event::{Event, EventKind, TitleRank},
            json::Node,
            lines::OpenLog,
            log_file::{LogFile, millis, utc_millis},
            title,
        },
        sqlite::{self, Columns, Remembered, SessionStamps, number, text},
        transcript::SessionFiles,
    },
    limits,
};
use openagents_core::{CancellationToken, budget::Budget, text::joined};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;
use serde_json::{json, value::RawValue};
use std::{
    io,
    path::{Path, PathBuf},
};

/// One tool both reads and edits; its argument `command` says which.
const EDITOR: &str = "developer__text_editor";
const READS: FileTools = FileTools { reads: &[EDITOR], edits: &[] };
const EDITS: FileTools = FileTools { reads: &[], edits: &[EDITOR] };
const EDITING: [&str; 3] = ["write", "str_replace", "insert"];

/// Names that Goose assigns before it has read a prompt.
const DEFAULT_NAMES: [&str; 3] = ["CLI Session", "New Chat", "New Session"];

#[derive(Default)]
pub(super) struct GooseDecoder {
    facts: SessionFacts,
}

impl GooseDecoder {
    fn about(&mut self, about: &Node<'_>, number: u64) -> Vec<Event> {
        self.facts = SessionFacts {
            cwd: about.text("directory").filter(|directory| !directory.is_empty()).map(PathBuf::from),
            model: about.text("model").map(str::to_owned),
            created_at: millis(about.get("created")),
            total_tokens: about.count("tokens"),
            hidden: about.flag("hidden"),
            archived: about.flag("archived"),
            ..SessionFacts::default()
        };
        let rank = if about.flag("is_given") { TitleRank::User } else { TitleRank::Model };
        let name = about.text("name").filter(|name| !DEFAULT_NAMES.contains(&name.trim()));
        let title = title::given(name);
        title.into_iter().map(|title| Event::new(number, None, EventKind::Title(rank), title)).collect()
    }
}

impl Decoder for GooseDecoder {
    fn record(&mut self, node: &Node<'_>, number: u64) -> Option<Vec<Event>> {
        if let Some(about) = node.get("about") {
            return Some(self.about(about, number));
        }
        let (at, content) = (millis(node.get("at")), node.get("content")?);
        let mut events: Vec<_> =
            content.items().iter().filter_map(|block| event(block, number, at)).collect();
        let is_prompt = node.text("role") == Some("user") && node.flag("visible");
        if node.text("role") == Some("user") {
            // Results come in the user's messages.
            events.retain(|event| event.kind == EventKind::ToolResult);
        }
        if is_prompt && events.is_empty() {
            let prompt = calls::prompt(calls::texts(Some(content)), Some(content));
            events.extend(prompt.map(|text| Event::new(number, at, EventKind::Prompt, text)));
        }
        Some(events)
    }

    fn facts(&self) -> SessionFacts {
        self.facts.clone()
    }
}

fn event(block: &Node<'_>, number: u64, at: Option<i64>) -> Option<Event> {
    match block.text("type")? {
        "toolRequest" | "frontendToolRequest" => Some(call(block, number, at)),
        "toolResponse" => Some(result(block, number, at)),
        _ => calls::part(&READS, number, at, block),
    }
}

fn call(block: &Node<'_>, number: u64, at: Option<i64>) -> Event {
    // A malformed call has no value.
    let value = block.get("toolCall").and_then(|call| call.get("value"));
    let input = value.and_then(|value| value.get("arguments"));
    let name = value.and_then(|value| value.text("name")).unwrap_or("tool");
    let tools = match input.and_then(|input| input.text("command")) {
        Some(command) if EDITING.contains(&command) => EDITS,
        Some("view") => READS,
        _ => FileTools { reads: &[], edits: &[] },
    };
    tools.call(number, at, block.text("id"), name, input)
}

/// Returns the event of a result. A failed command is a success of the tool, so the result does not say how it ended.
fn result(block: &Node<'_>, number: u64, at: Option<i64>) -> Event {
    let (id, result) = (block.text("id"), block.get("toolResult"));
    let value = result.and_then(|result| result.get("value"));
    let content = value.map(|value| value.get("content").unwrap_or(value).items()).unwrap_or_default();
    let error = result.and_then(|result| result.text("error"));
    let text = joined(content.iter().filter_map(|item| item.text("text")).chain(error));
    let failed = result.and_then(|result| result.text("status")) == Some("error")
        || value.is_some_and(|value| value.flag("isError"));
    calls::result(number, at, id, text, failed.then_some(false))
}

/// Types of sessions in Goose's own list; sessions of older versions have no type.
const LISTED: [&str; 2] = ["user", "scheduled"];

#[derive(Debug, Serialize)]
struct SessionRow {
    name: Option<String>,
    is_given: bool,
    directory: Option<String>,
    /// Milliseconds since the epoch.
    created: Option<i64>,
    model: Option<String>,
    tokens: Option<i64>,
    hidden: bool,
    archived: bool,
}

#[derive(Serialize)]
struct Message<'a> {
    /// Seconds or milliseconds since the epoch.
    at: Option<i64>,
    role: &'a str,
    /// Shown to the user.
    visible: bool,
    content: &'a RawValue,
}

static FOUND: Remembered<Vec<LogFile>> = Remembered::new();

pub(super) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let database = &root.join("sessions/sessions.db");
    let found = FOUND.get_or_read(database, budget, |connection| {
        let Some(columns) = Columns::with(connection, "sessions", &["id"])? else { return Ok(vec![]) };
        let mut stamps = SessionStamps::new(
            connection,
            &["messages", "usage_ledger"],
            "created_timestamp",
            "content_json",
        )?;
        let list = columns.list(&["id", "session_type", "created_at", "updated_at"]);
        let mut rows = connection.prepare(&format!("SELECT {list} FROM sessions"))?;
        let mut rows = rows.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let Some(id) = text(row, 0)? else { continue };
            let stamp = stamps.stamp(&id, time(row, 2)?.max(time(row, 3)?))?;
            let subagent = text(row, 1)?.as_deref() == Some("sub_agent");
            found.extend(LogFile::in_database(database, &id, stamp, subagent));
        }
        Ok(found)
    });
    found.unwrap_or_else(|error| {
        tracing::debug!(%error, path = %database.display(), "a database could not be read");
        vec![]
    })
}

pub(super) fn open(files: SessionFiles<'_>) -> io::Result<OpenLog> {
    let path = files.newest;
    let (database, id) = LogFile::database_and_id(path)?;
    let budget = Budget::within(limits::DATABASE_SESSION, &CancellationToken::new());
    let records = sqlite::read_database(database, &budget, |connection| {
        let Some(about) = about(connection, id)? else { return Ok(None) };
        let mut records = Records::default();
        records.add(&json!({"about": about}));
        messages(connection, id, &mut records)?;
        Ok(Some(records))
    })?;
    let missing =
        || io::Error::new(io::ErrorKind::NotFound, format!("session {id} is no longer in the database"));
    Ok(records.ok_or_else(missing)?.into_log())
}

fn about(connection: &Connection, id: &str) -> rusqlite::Result<Option<SessionRow>> {
    let Some(columns) = Columns::with(connection, "sessions", &["id"])? else { return Ok(None) };
    let list = columns.list(&[
        "name",
        "description",
        "user_set_name",
        "working_dir",
        "created_at",
        "model_config_json",
        "accumulated_total_tokens",
        "total_tokens",
        "session_type",
        "archived_at",
    ]);
    let about = |row: &Row<'_>| {
        let config = text(row, 5)?.unwrap_or_default();
        let config = Node::parse_object(&config);
        Ok(SessionRow {
            // Named `description` in older versions.
            name: text(row, 0)?.filter(|name| !name.trim().is_empty()).or(text(row, 1)?),
            is_given: number(row, 2)? == Some(1),
            directory: text(row, 3)?,
            created: time(row, 4)?,
            model: config.and_then(|config| config.text("model_name").map(str::to_owned)),
            tokens: number(row, 6)?.or(number(row, 7)?),
            hidden: text(row, 8)?.is_some_and(|kind| !LISTED.contains(&kind.as_str())),
            archived: time(row, 9)?.is_some(),
        })
    };
    connection.query_row(&format!("SELECT {list} FROM sessions WHERE id = ?1"), [id], about).optional()
}

fn messages(connection: &Connection, id: &str, records: &mut Records) -> rusqlite::Result<()> {
    let required = ["id", "session_id", "role", "content_json"];
    let Some(columns) = Columns::with(connection, "messages", &required)? else { return Ok(()) };
    let list = columns.list(&["role", "created_timestamp", "metadata_json"]);
    // One message at a time, so that those with images are never all in memory.
    let mut rows = connection.prepare(&format!(
        "SELECT {list}, CASE WHEN octet_length(content_json) <= ?2 THEN content_json END
         FROM messages WHERE session_id = ?1 ORDER BY id"
    ))?;
    let mut rows = rows.query(params![id, limits::SUMMARY_LINE as i64])?;
    while let Some(row) = rows.next()? {
        let (role, at, content) =
            (text(row, 0)?.unwrap_or_default(), number(row, 1)?, text(row, 3)?.unwrap_or_default());
        let metadata = text(row, 2)?.unwrap_or_default();
        let metadata = Node::parse_object(&metadata);
        let visible = metadata.is_none_or(|metadata| metadata.get("userVisible") != Some(&Node::Bool(false)));
        match serde_json::from_str(&content) {
            Ok(content) => records.add(&Message { at, role: &role, visible, content }),
            Err(_) => records.bad(&content),
        }
    }
    Ok(())
}

/// Returns a time stored as text in UTC, in milliseconds since the epoch.
fn time(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<i64>> {
    Ok(text(row, at)?.and_then(|text| utc_millis(&text)).or(number(row, at)?))
}
