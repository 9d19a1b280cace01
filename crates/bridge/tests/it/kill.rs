//! Durability: a process is killed while writing, and its log is read again.

use crate::support;
use openagents_core::update::{AgentMessage, SessionUpdate, Title};
use openagents_sessions::store::NewSession;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
};

const HOME: &str = "OPENAGENTS_TEST_KILL_HOME";
const SESSION: &str = "s";
/// Environment variable, set for a process that stops during a run and waits to be killed.
const HALFWAY: &str = "OPENAGENTS_TEST_KILL_HALFWAY";

/// Not a test, but the process that is killed. It prints each number that the store has returned.
#[test]
fn process_to_kill() {
    let Some(home) = std::env::var_os(HOME) else { return };
    let store = openagents_bridge::open_store(Path::new(&home)).unwrap();
    store
        .create_session(NewSession { id: SESSION.into(), cwd: "/work".into(), mode: "default_mode".into() })
        .unwrap();
    let mut out = std::io::stdout().lock();
    if std::env::var_os(HALFWAY).is_some() {
        let title = SessionUpdate::Title(Title { title: "Explore work".to_owned(), by_user: false });
        let appended = store.append(SESSION, [vec![title], support::begun()].concat()).unwrap();
        writeln!(out, "stored {}", appended.rows.last().unwrap().seq).unwrap();
        // Wait for the kill; otherwise stdin closes when the test ends.
        std::io::stdin().lines().for_each(drop);
        return;
    }
    for n in 0.. {
        let message = AgentMessage { text: format!("update {n}"), ..AgentMessage::default() };
        let appended = store.append(SESSION, vec![SessionUpdate::AgentMessage(message); 1 + n % 7]).unwrap();
        writeln!(out, "stored {}", appended.rows.last().unwrap().seq).unwrap();
    }
}

fn process(home: &Path) -> Command {
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", "kill::process_to_kill", "--nocapture"]).env(HOME, home);
    process.stdin(Stdio::piped()).stdout(Stdio::piped());
    process
}

/// Returns the numbers that the process prints.
fn numbers(child: &mut Child) -> impl Iterator<Item = u64> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines
        .map_while(Result::ok)
        .filter_map(|line| line.split_once("stored ").and_then(|(_, number)| number.trim().parse().ok()))
}

#[test]
fn killed_bridge_reopens_its_log() {
    let home = tempfile::tempdir().unwrap();
    let mut reported = 0;
    for round in 1..=3u64 {
        let mut child = process(home.path()).spawn().unwrap();
        for number in numbers(&mut child) {
            assert!(number > reported);
            reported = number;
            if reported > round * 500 {
                // SIGKILL: no destructor, no flush.
                child.kill().unwrap();
                break;
            }
        }
        child.wait().unwrap();
        let store = openagents_bridge::open_store(home.path()).unwrap();
        assert!(store.notices().is_empty());
        let numbers: Vec<u64> =
            store.updates_after(SESSION, 0, 1 << 30).unwrap().iter().map(|stored| stored.seq).collect();
        let last = numbers.last().copied().unwrap();
        assert!(last >= reported, "the log ends at {last}, but {reported} was reported as stored");
        assert_eq!(numbers, (1..=last).collect::<Vec<_>>());
        assert_eq!(store.session(SESSION).unwrap().unwrap().last_seq, last);
        reported = last;
    }
}

/// Returns the updates that follow the three stored by the killed process.
async fn closing(port: u16, token: &str) -> Vec<Value> {
    let mut client = support::acp(port, token).await;
    let load = json!({"sessionId": SESSION, "cwd": "/work", "mcpServers": []});
    client.request("session/load", load).await;
    client.notes.iter().skip(3).map(|note| note["params"].clone()).collect()
}

#[tokio::test]
async fn plan_ends_after_a_kill() {
    let home = tempfile::tempdir().unwrap();
    let mut child = process(home.path()).env(HALFWAY, "1").spawn().unwrap();
    assert_eq!(numbers(&mut child).next(), Some(3));
    child.kill().unwrap();
    child.wait().unwrap();

    let mut rounds = Vec::new();
    for _ in 0..2 {
        let bridge = support::start(home.path(), home.path(), support::echo).await.unwrap();
        let (port, token) = (bridge.address().port(), bridge.token().to_owned());
        // Concurrent loads close it once.
        let seen =
            futures::future::join_all([closing(port, &token), closing(port, &token), closing(port, &token)]);
        rounds.extend(seen.await);
        // The phone's drawer sees it closed, too.
        let mut phone = support::phone(port).await;
        let timeline = phone.request("tinyvex/history.sessionTimeline", json!({"session_id": SESSION})).await;
        let ends = "OpenAgents exited before this exploration was done.";
        assert_eq!(timeline.to_string().matches(ends).count(), 1, "{timeline}");
        bridge.shutdown().await;
    }
    assert!(rounds.iter().all(|round| *round == rounds[0]), "{rounds:?}");
    let [call, plan, word] = rounds[0].as_slice() else { panic!("{rounds:?}") };
    assert_eq!(call["update"]["status"], "failed");
    assert_eq!(call["update"]["_meta"]["openagents"]["error"], "The app ended before this was done");
    assert_eq!(plan["update"]["_meta"]["openagents"]["state"], "failed");
    let entries = plan["update"]["entries"].as_array().unwrap();
    assert!(entries.iter().all(|entry| entry["status"] == "completed"));
    let error = |entry: &Value| entry["_meta"]["openagents"]["error"].clone();
    assert_eq!(
        entries.iter().map(error).collect::<Vec<_>>(),
        [Value::Null, "not run".into(), "not run".into()]
    );
    let reply = ["agent_message_chunk: ❌ OpenAgents exited before this exploration was done."];
    assert_eq!(support::shown(std::slice::from_ref(word)), reply);
}
