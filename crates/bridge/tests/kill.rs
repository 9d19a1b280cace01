//! What was told is on disk: a process is killed in the middle of writing, and its log read again.

use openagents_bridge::store::{NewSession, Store};
use openagents_core::update::{AgentMessage, SessionUpdate};
use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
};

const HOME: &str = "OPENAGENTS_TEST_KILL_HOME";
const SESSION: &str = "s";

/// Not a test of its own: the process that is killed. It tells each number once the store has told it.
#[test]
fn the_process_that_is_killed() {
    let Some(home) = std::env::var_os(HOME) else { return };
    let store = Store::open(Path::new(&home)).unwrap();
    store
        .create_session(NewSession { id: SESSION.into(), cwd: "/work".into(), mode: "default_mode".into() })
        .unwrap();
    let mut out = std::io::stdout().lock();
    for n in 0.. {
        let message = AgentMessage { text: format!("update {n}"), ..AgentMessage::default() };
        let appended = store.append(SESSION, vec![SessionUpdate::AgentMessage(message); 1 + n % 7]).unwrap();
        writeln!(out, "stored {}", appended.rows.last().unwrap().seq).unwrap();
    }
}

#[test]
fn killed_and_opened_again() {
    let home = tempfile::tempdir().unwrap();
    let mut told = 0;
    for round in 1..=3u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_process_that_is_killed", "--nocapture"])
            .env(HOME, home.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let numbers = lines.map_while(Result::ok).filter_map(|line| {
            line.split_once("stored ").and_then(|(_, number)| number.trim().parse::<u64>().ok())
        });
        for number in numbers {
            assert!(number > told);
            told = number;
            if told > round * 500 {
                // SIGKILL: no destructor, no flush.
                child.kill().unwrap();
                break;
            }
        }
        child.wait().unwrap();
        let store = Store::open(home.path()).unwrap();
        assert!(store.notices().is_empty());
        let numbers: Vec<u64> =
            store.updates_after(SESSION, 0, 1 << 30).unwrap().iter().map(|stored| stored.seq).collect();
        let last = numbers.last().copied().unwrap();
        assert!(last >= told, "{last} are left of {told}");
        assert_eq!(numbers, (1..=last).collect::<Vec<_>>());
        assert_eq!(store.session(SESSION).unwrap().unwrap().last_seq, last);
        told = last;
    }
}
