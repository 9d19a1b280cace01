//! Unfolds a thread into its messages, followed by a record about the thread as a whole.

use super::super::records::Records;
use crate::{
    history::{json::Node, lines::OpenLog, log_file::millis},
    limits,
};
use openagents_core::file;
use serde::Deserialize;
use serde_json::{json, value::RawValue};
use std::{io, path::Path};

/// A thread without the vendor's prompt, which repeats all messages.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread<'a> {
    #[serde(default, borrow)]
    messages: Option<Vec<&'a RawValue>>,
    #[serde(default, borrow)]
    title: Option<&'a RawValue>,
    #[serde(default, borrow)]
    created: Option<&'a RawValue>,
    #[serde(default, borrow)]
    env: Option<&'a RawValue>,
    #[serde(default, borrow)]
    usage_ledger: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Numbered {
    message_id: usize,
}

pub(super) fn open(path: &Path) -> io::Result<OpenLog> {
    let bytes = file::read_document(path, limits::DOCUMENT)?;
    Ok(unfolded(&file::text(&bytes)).into_log())
}

fn unfolded(text: &str) -> Records {
    let mut records = Records::default();
    let Ok(thread) = serde_json::from_str::<Thread<'_>>(text) else {
        // Counts as one bad line.
        records.push(text);
        return records;
    };
    for message in thread.messages.unwrap_or_default() {
        match serde_json::from_str(message.get()) {
            Ok(Numbered { message_id }) if message_id < limits::NUMBERED => {
                records.put(message_id + 1, message.get());
            }
            _ => records.push(message.get()),
        }
    }
    let about = json!({
        "title": thread.title,
        "created": thread.created,
        "env": thread.env,
        "lastUsed": thread.usage_ledger.and_then(|ledger| last_used(ledger.get())),
    });
    records.push(&about.to_string());
    records
}

/// Returns the time of the last paid use, in milliseconds since the epoch.
fn last_used(ledger: &str) -> Option<i64> {
    let ledger = Node::parse_object(ledger)?;
    ledger.get("events")?.items().iter().filter_map(|event| millis(event.get("timestamp"))).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_keeps_its_line() {
        let message = |id: &str| format!("{{\"role\":\"user\",\"messageId\":{id}}}");
        let about = r#"{"title":"t","created":null,"env":null,"lastUsed":1765000000000}"#;
        let thread = |messages: &[String]| {
            let ledger = r#"{"events":[{"timestamp":"2025-12-06T05:46:40.000Z"},{"timestamp":"x"}]}"#;
            let messages = messages.join(",\n");
            format!(r#"{{"title":"t","~debug":{{"a":1}},"messages":[{messages}],"usageLedger":{ledger}}}"#)
        };
        let (zero, three, huge) = (message("0"), message("3"), message("99999999999"));
        let rows = [
            (vec![zero.clone(), three.clone()], vec![(1, zero.as_str()), (4, &three), (5, about)]),
            (vec![huge.clone(), zero.clone()], vec![(1, &huge), (2, &zero), (3, about)]),
            (vec![], vec![(1, about)]),
        ];
        for (messages, expected) in rows {
            assert_eq!(unfolded(&thread(&messages)).numbered(), expected, "{messages:?}");
        }
        assert_eq!(unfolded("{\n\"messages\"").numbered(), [(1, "{ \"messages\"")]);
    }
}
