//! Everything the agent sends, recorded by the agent before it sends it. One file for each life of the bridge.

use super::numbers::Kind;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, HashMap},
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::Path,
    sync::{Mutex, PoisonError},
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// The item is about to be sent.
    Says { session: String, number: u64, kind: Kind },
    /// Everything in the session up to here is on disk, as confirmed by the store.
    Stored { session: String },
    /// The answer that the agent received to its question.
    Heard { number: u64, option: Option<String> },
}

/// The ledger of one life. When a call returns, the operating system has the line: a kill loses none.
#[derive(Debug)]
pub struct Writer(Mutex<File>);

impl Writer {
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create_new(true).open(path)?;
        Ok(Self(Mutex::new(file)))
    }

    /// Records that an item is about to be sent.
    pub fn says(&self, session: &str, number: u64, kind: Kind) {
        self.write_line(&Line::Says { session: session.to_owned(), number, kind });
    }

    /// Records that everything sent in a session so far is on disk.
    pub fn stored(&self, session: &str) {
        self.write_line(&Line::Stored { session: session.to_owned() });
    }

    /// Records the answer that the agent received to its question.
    pub fn heard(&self, number: u64, option: Option<&str>) {
        self.write_line(&Line::Heard { number, option: option.map(str::to_owned) });
    }

    fn write_line(&self, line: &Line) {
        let mut text = serde_json::to_vec(line).unwrap_or_default();
        text.push(b'\n');
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a ledger nothing can be proved, so the process must not continue without one.
        if file.write_all(&text).is_err() {
            std::process::abort();
        }
    }
}

/// The items sent in one session during one life.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Life {
    /// In the order in which they were sent.
    pub said: Vec<(u64, Kind)>,
    /// How many of them were on disk, as confirmed by the store.
    pub stored: usize,
    pub killed: bool,
}

/// Everything the agent sent in all its lives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The lives of each session, in order.
    pub sessions: BTreeMap<String, Vec<Life>>,
    /// The answers to questions.
    pub heard: HashMap<u64, Option<String>>,
}

impl Ledger {
    /// Adds the ledger of a life.
    pub fn load(&mut self, path: &Path, killed: bool) -> io::Result<()> {
        self.add(&std::fs::read_to_string(path)?, killed)
    }

    fn add(&mut self, text: &str, killed: bool) -> io::Result<()> {
        let mut lives: BTreeMap<String, Life> = BTreeMap::new();
        // A line without its line break was never completed, so its item was not sent.
        for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            match serde_json::from_str(line)? {
                Line::Says { session, number, kind } => {
                    lives.entry(session).or_default().said.push((number, kind));
                }
                Line::Stored { session } => {
                    let life = lives.entry(session).or_default();
                    life.stored = life.said.len();
                }
                Line::Heard { number, option } => {
                    self.heard.insert(number, option);
                }
            }
        }
        for (session, life) in lives {
            self.sessions.entry(session).or_default().push(Life { killed, ..life });
        }
        Ok(())
    }

    /// Returns the number of items sent.
    pub fn len(&self) -> usize {
        self.sessions.values().flatten().map(|life| life.said.len()).sum()
    }

    /// Returns whether no item was sent.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ledger_orders_lives() {
        let keep = tempfile::tempdir().unwrap();
        let path = |life: u8| keep.path().join(life.to_string());
        for life in 0..2u8 {
            let writer = Writer::create(&path(life)).unwrap();
            let first = u64::from(life) * 100;
            writer.says("a", first, Kind::Text);
            writer.says("b", first + 1, Kind::Call);
            writer.stored("a");
            writer.says("a", first + 2, Kind::Ask);
            writer.heard(first + 2, Some("allow"));
        }
        let mut ledger = Ledger::default();
        ledger.load(&path(0), true).unwrap();
        ledger.load(&path(1), false).unwrap();
        let life = |first, killed| Life {
            said: vec![(first, Kind::Text), (first + 2, Kind::Ask)],
            stored: 1,
            killed,
        };
        assert_eq!(ledger.sessions["a"], [life(0, true), life(100, false)]);
        assert_eq!(ledger.sessions["b"].len(), 2);
        assert_eq!(ledger.heard[&102].as_deref(), Some("allow"));
        assert_eq!(ledger.len(), 6);
    }

    #[test]
    fn ledger_skips_torn_line() {
        let mut ledger = Ledger::default();
        let whole = "{\"says\":{\"session\":\"a\",\"number\":1,\"kind\":\"text\"}}\n";
        ledger.add(&format!("{whole}{}", &whole[..20]), true).unwrap();
        assert_eq!(ledger.len(), 1);
        assert!(ledger.add(&format!("{}\n", &whole[..20]), true).is_err());
    }
}
