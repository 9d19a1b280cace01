//! The store on a real disk, by subject.

mod approvals;
mod closing;
mod failing;
mod kept;
mod log;
mod versions;
mod work;

use super::{handle::*, *};
use openagents_core::update::*;
use rusqlite::Connection;
use std::path::{Path, PathBuf};

fn store() -> (tempfile::TempDir, Store) {
    let home = tempfile::tempdir().unwrap();
    let store = Store::open(home.path(), "").unwrap();
    (home, store)
}

fn session(store: &Store, id: &str) {
    let new = NewSession { id: id.to_owned(), cwd: "/work".into(), mode: "default_mode".to_owned() };
    store.create_session(new).unwrap();
}

fn text(text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessage(AgentMessage { text: text.to_owned(), ..AgentMessage::default() })
}

fn numbers(store: &Store, id: &str) -> Vec<u64> {
    store.updates_after(id, 0, usize::MAX >> 1).unwrap().iter().map(|stored| stored.seq).collect()
}

fn aside(home: &Path) -> PathBuf {
    let is_aside = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("openagents.sqlite.") && !name.ends_with("-wal") && !name.ends_with("-shm")
    };
    std::fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path()).find(is_aside).unwrap()
}
