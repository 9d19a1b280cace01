//! opencode and Goose: rows of databases; opencode's older sessions are files.

use super::fields::Fields;
use crate::history::requests::{FoundUsage, RequestUsage, UsageFlags, key};
use crate::{
    history::{
        formats::opencode::tree,
        log::log_file::{LogFile, utc_millis},
        sqlite::{self, Columns, number, text},
    },
    limits,
};
use openagents_core::{
    budget::Budget,
    file,
    usage::{Picodollars, Tokens},
};
use rusqlite::{Connection, OptionalExtension, Row, types::ValueRef};
use std::{collections::HashMap, fs, io, path::Path};

/// A session of opencode with the answers in it, each with the steps that it took.
#[derive(Default)]
struct Opencode {
    parent: Option<String>,
    directory: Option<String>,
    /// The JSON of messages, and their ids.
    messages: Vec<(String, String)>,
    /// The JSON of the steps of each message.
    steps: HashMap<String, Vec<String>>,
}

pub(crate) fn opencode(log: &LogFile, budget: &Budget) -> io::Result<FoundUsage> {
    let session = match tree::is_session(&log.path) {
        true => files(&log.path)?,
        false => {
            let (database, id) = LogFile::database_and_id(&log.path)?;
            sqlite::read_database(database, budget, |connection| tables(connection, id))?
        }
    };
    let mut found = FoundUsage { parent: session.parent.clone(), ..FoundUsage::default() };
    for (id, json) in &session.messages {
        let Some(message) = Fields::parse(json) else { continue };
        let Some(tokens) = message.object("tokens") else { continue };
        let steps = session.steps.get(id).filter(|steps| steps.len() > 1);
        let steps = steps.into_iter().flatten().filter_map(|step| Fields::parse(step)?.object("tokens"));
        let mut parts: Vec<_> = steps.collect();
        if parts.is_empty() {
            parts.push(tokens);
        }
        let sum = |name| parts.iter().map(|part| part.count(name)).fold(0, u64::saturating_add);
        let cache = |name| {
            parts
                .iter()
                .filter_map(|part| part.object("cache"))
                .map(|it| it.count(name))
                .fold(0, u64::saturating_add)
        };
        let counts = [sum("input"), cache("read"), cache("write"), sum("output"), sum("reasoning")];
        let model = message.object("model").unwrap_or_default();
        let name = message.name("modelID").or_else(|| model.name("modelID")).or_else(|| model.name("id"));
        let time = message.object("time").unwrap_or_default();
        let [created, completed] = ["created", "completed"].map(|name| time.get(name).unwrap_or_default());
        let [input, cache_read, cache_write, output, reasoning] = counts;
        // A fork has copies with other ids and the same times.
        let key = key(&[
            "opencode",
            created,
            completed,
            name.as_deref().unwrap_or_default(),
            &counts.map(|count| count.to_string()).join(" "),
        ]);
        found.add(RequestUsage {
            key,
            at: time.time("created").unwrap_or(0),
            model: name,
            model_provider: message.name("providerID").or_else(|| model.name("providerID")),
            workspace: session.directory.clone(),
            tokens: Tokens {
                input,
                cache_read,
                cache_write,
                output: output.saturating_add(reasoning),
                reasoning,
                ..Tokens::default()
            },
            reported: message.cost("cost", 0),
            ..RequestUsage::default()
        });
    }
    Ok(found)
}

fn tables(connection: &Connection, id: &str) -> rusqlite::Result<Opencode> {
    let mut session = Opencode::default();
    for table in ["session_v2", "session"] {
        let Some(columns) = Columns::with(connection, table, &["id"])? else { continue };
        let list = columns.list(&["parent_id", "directory"]);
        let query = format!("SELECT {list} FROM {table} WHERE id = ?1");
        let about =
            connection.query_row(&query, [id], |row| Ok((text(row, 0)?, text(row, 1)?))).optional()?;
        if let Some((parent, directory)) = about {
            (session.parent, session.directory) = (parent.filter(|parent| !parent.is_empty()), directory);
            break;
        }
    }
    for table in ["message", "session_message"] {
        let Some(columns) = Columns::with(connection, table, &["id", "session_id", "data"])? else {
            continue;
        };
        let list = columns.list(&["id", "data", "type"]);
        let mut rows = connection.prepare(&format!("SELECT {list} FROM {table} WHERE session_id = ?1"))?;
        let mut rows = rows.query([id])?;
        while let Some(row) = rows.next()? {
            let (Some(id), Some(data)) = (text(row, 0)?, text(row, 1)?) else { continue };
            let kind = text(row, 2)?;
            let role = Fields::parse(&data).and_then(|message| message.text("role"));
            if role.or(kind).as_deref() == Some("assistant") {
                session.messages.push((id, data));
            }
        }
    }
    if Columns::with(connection, "part", &["message_id", "data"])?.is_some()
        && Columns::with(connection, "message", &["id", "session_id"])?.is_some()
    {
        let mut rows = connection.prepare(
            "SELECT message_id, data FROM part WHERE message_id IN (SELECT id FROM message WHERE session_id = ?1)
             AND data LIKE '%step-finish%'",
        )?;
        let mut rows = rows.query([id])?;
        while let Some(row) = rows.next()? {
            if let (Some(message), Some(step)) = (text(row, 0)?, text(row, 1)?) {
                session.add_step(message, step);
            }
        }
    }
    Ok(session)
}

impl Opencode {
    fn add_step(&mut self, message: String, json: String) {
        let is_step = |part: &Fields<'_>| {
            part.text("type").as_deref() == Some("step-finish") && part.object("tokens").is_some()
        };
        if Fields::parse(&json).is_some_and(|part| is_step(&part)) {
            self.steps.entry(message).or_default().push(json);
        }
    }
}

/// Reads the files of a session.
fn files(path: &Path) -> io::Result<Opencode> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, "not a session");
    let (storage, id) = tree::storage_and_id(path).ok_or_else(missing)?;
    let read = |path: &Path| {
        file::read_bounded(path, limits::SUMMARY_LINE as u64).map(|bytes| file::text(&bytes).into_owned())
    };
    let about = read(path).unwrap_or_default();
    let about = Fields::parse(&about).unwrap_or_default();
    let mut session = Opencode {
        parent: about.name("parentID"),
        directory: about.text("directory"),
        ..Opencode::default()
    };
    for message in json_files(&storage.join("message").join(id)) {
        let Some(json) = read(&message) else { continue };
        let Some(id) = message.file_stem().and_then(|stem| stem.to_str()) else { continue };
        let is_answer = Fields::parse(&json).and_then(|it| it.text("role")).as_deref() == Some("assistant");
        if is_answer {
            for part in json_files(&storage.join("part").join(id)) {
                read(&part).into_iter().for_each(|step| session.add_step(id.to_owned(), step));
            }
            session.messages.push((id.to_owned(), json));
        }
    }
    Ok(session)
}

fn json_files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect()
}

/// Goose's ledger has each request; a session without rows there has the sum only.
pub(crate) fn goose(log: &LogFile, budget: &Budget) -> io::Result<FoundUsage> {
    let (database, id) = LogFile::database_and_id(&log.path)?;
    let requests = sqlite::read_database(database, budget, |connection| goose_requests(connection, id))?;
    let mut found = FoundUsage::default();
    requests.into_iter().for_each(|request| found.add(request));
    Ok(found)
}

fn goose_requests(connection: &Connection, id: &str) -> rusqlite::Result<Vec<RequestUsage>> {
    let Some(columns) = Columns::with(connection, "sessions", &["id"])? else { return Ok(vec![]) };
    let list = columns.list(&[
        "working_dir",
        "provider_name",
        "model_config_json",
        "updated_at",
        "accumulated_input_tokens",
        "accumulated_output_tokens",
        "accumulated_total_tokens",
        "accumulated_cache_read_tokens",
        "accumulated_cache_write_tokens",
        "accumulated_cost",
    ]);
    let about = |row: &Row<'_>| {
        let config = text(row, 2)?.unwrap_or_default();
        let at = text(row, 3)?.as_deref().and_then(utc_millis).or(number(row, 3)?.map(milliseconds));
        Ok(RequestUsage {
            key: key(&["goose", "session", id]),
            at: at.unwrap_or(0),
            model: Fields::parse(&config).and_then(|config| config.text("model_name")),
            model_provider: text(row, 1)?,
            workspace: text(row, 0)?,
            tokens: goose_tokens(row, 4)?,
            reported: reported(row, 9)?,
            flags: UsageFlags::WHOLE_SESSION,
            ..RequestUsage::default()
        })
    };
    let session = connection.query_row(&format!("SELECT {list} FROM sessions WHERE id = ?1"), [id], about);
    let Some(session) = session.optional()? else { return Ok(vec![]) };
    let Some(columns) = Columns::with(connection, "usage_ledger", &["id", "session_id"])? else {
        return Ok(vec![session]);
    };
    let list = columns.list(&[
        "id",
        "created_timestamp",
        "model",
        "input_tokens",
        "output_tokens",
        "total_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "cost",
    ]);
    let request = |row: &Row<'_>| {
        Ok(RequestUsage {
            key: key(&["goose", "request", id, &number(row, 0)?.unwrap_or(0).to_string()]),
            at: number(row, 1)?.map_or(0, milliseconds),
            model: text(row, 2)?.filter(|model| !model.is_empty()).or_else(|| session.model.clone()),
            tokens: goose_tokens(row, 3)?,
            reported: reported(row, 8)?,
            flags: UsageFlags::default(),
            ..session.clone()
        })
    };
    let mut rows = connection.prepare(&format!("SELECT {list} FROM usage_ledger WHERE session_id = ?1"))?;
    let requests = rows.query_map([id], request)?.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(if requests.is_empty() { vec![session] } else { requests })
}

/// Reads input, output, total, cache reads and cache writes. Where the total is the sum of the first two, the input
/// includes what was cached.
fn goose_tokens(row: &Row<'_>, from: usize) -> rusqlite::Result<Tokens> {
    let mut counts = [0_u64; 5];
    for (at, count) in counts.iter_mut().enumerate() {
        *count = number(row, from + at)?.and_then(|count| count.try_into().ok()).unwrap_or(0);
    }
    let [input, output, total, cache_read, cache_write] = counts;
    let cached = cache_read.saturating_add(cache_write);
    let includes_cached = total == input.saturating_add(output) && input >= cached;
    let input = if includes_cached { input - cached } else { input };
    Ok(Tokens { input, cache_read, cache_write, output, ..Tokens::default() })
}

fn reported(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Picodollars>> {
    let cost = match row.get_ref(at)? {
        ValueRef::Real(cost) => Picodollars::parse(&format!("{cost:e}")),
        ValueRef::Integer(cost) => Picodollars::parse(&cost.to_string()),
        _ => None,
    };
    Ok(cost.filter(|cost| cost.0 > 0))
}

/// Converts a time in seconds or milliseconds.
fn milliseconds(time: i64) -> i64 {
    if time.unsigned_abs() < 10_000_000_000 { time * 1000 } else { time }
}
