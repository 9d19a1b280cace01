//! Two hundred delegations to an agent that crashes, hangs, asks and keeps working after its cancel, with users who
//! cancel at random: nothing may be left behind.

use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;
use openagents_e2e::{
    server::{Client, Server},
    terminal::{TestEnv, program},
};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::Duration,
};

/// Number of users who delegate at the same time; each waits for one delegation to end before starting the next.
const PEOPLE: u64 = 5;
const EACH: u64 = 40;

const TASKS: [&str; 10] = [
    "[[say Nothing to do.]]",
    "[[plan]] [[think Hm.]] [[say Planned.]]",
    "[[edit made.txt]]",
    "[[edit-or-end made.txt]]",
    "[[crash]]",
    "[[silent]]",
    "[[late]]",
    "[[open-call]] [[words 30]]",
    "[[leave-process]] [[words 5]]",
    "[[flood 300]]",
];

/// A user's reaction to a delegate.
#[derive(Clone, Copy)]
enum Whim {
    Watch,
    CancelParent,
    CancelChild,
}

/// A pseudo-random generator that produces the same numbers in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn delegations_200_leave_nothing_behind() -> Result<()> {
    let env = TestEnv::new("proj", &[("README.md", "# Proj\n\nA small project.\n")])?;
    let server = Server::start(env.openagents(&["serve", "--port", "0", "--json"])?)?;
    let mut first = server.connect().await?;
    let agent = json!({"id": "fake", "name": "Fake", "kind": "acp", "command": program("fake-agent")?});
    first.request("_openagents/agents/add", json!({"agent": agent})).await?;
    first.trust(&env.workspace).await?;

    let people = (0..PEOPLE).map(|number| person(&server, &env.workspace, number));
    let sessions: Vec<String> = try_join_all(people).await?;

    let mut ends = BTreeMap::<String, u64>::new();
    for session in &sessions {
        wait_for_end(&mut first, session).await?;
        for end in closed(&mut first, session).await? {
            *ends.entry(end).or_default() += 1;
        }
    }
    assert_eq!(ends.values().sum::<u64>(), PEOPLE * EACH, "{ends:?}");
    assert!(ends.len() >= 2, "both ends were seen: {ends:?}");

    // A stopped process needs a moment to exit.
    for attempt in 0.. {
        let left = processes(&env, server.child.id())?;
        if left.is_empty() {
            break;
        }
        ensure!(attempt < 300, "still there: {left:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// Delegates one task after the other in a separate session.
async fn person(server: &Server, workspace: &Path, number: u64) -> Result<String> {
    let mut client = server.connect().await?;
    let new = json!({"cwd": workspace, "mcpServers": [], "_meta": {"openagents": {"open": true}}});
    let session = client.request("session/new", new).await?["sessionId"].as_str().context("id")?.to_owned();
    let mut dice = Dice(number + 1);
    for _ in 0..EACH {
        let task = TASKS[usize::try_from(dice.roll(TASKS.len() as u64))?];
        // Some tasks never end by themselves.
        let waits = task.contains("silent") || task.contains("late");
        let whim = match dice.roll(if waits { 2 } else { 4 }) {
            0 => Whim::CancelParent,
            1 => Whim::CancelChild,
            _ => Whim::Watch,
        };
        delegate(&mut client, &session, task, whim, &mut dice)
            .await
            .with_context(|| format!("person {number}, {task}"))?;
    }
    Ok(session)
}

async fn delegate(client: &mut Client, session: &str, task: &str, whim: Whim, dice: &mut Dice) -> Result<()> {
    let arguments = json!({"provider": "custom:fake", "user_prompt": task, "description": "A task"});
    let asked = json!({"sessionId": session, "arguments": arguments});
    let call = client.request("_openagents/delegate", asked).await?["toolCallId"].clone();
    let allow = dice.roll(3) > 0;
    // At any time: before the delegate has begun, in the middle, or after its end.
    let whim_comes = tokio::time::sleep(Duration::from_millis(dice.roll(250)));
    tokio::pin!(whim_comes);
    let (mut whim, mut child_session) = (Some(whim), None::<String>);
    loop {
        let frame = tokio::select! {
            frame = client.next() => frame?,
            () = &mut whim_comes, if whim.is_some() && child_session.is_some() => {
                match (whim.take(), &child_session) {
                    (Some(Whim::CancelParent), _) => {
                        client.notify("session/cancel", json!({"sessionId": session})).await?;
                    }
                    (Some(Whim::CancelChild), Some(child)) => {
                        client.notify("session/cancel", json!({"sessionId": child})).await?;
                    }
                    _ => {}
                }
                continue;
            }
        };
        let params = &frame["params"];
        if frame["method"] != "session/update" || params["sessionId"] != session {
            continue;
        }
        let (update, ours) = (&params["update"], &params["_meta"]["openagents"]);
        let child = ours["childSessionId"].as_str();
        if child.is_none() && update["toolCallId"] == call {
            if matches!(update["status"].as_str(), Some("completed" | "failed")) {
                return Ok(());
            }
            continue;
        }
        let Some(child) = child.filter(|_| ours["parentCallId"] == call) else { continue };
        child_session = Some(child.to_owned());
        let approval = &update["_meta"]["openagents"]["approval"];
        if approval["state"] != "pending" {
            continue;
        }
        if dice.roll(4) > 0 {
            let wanted = if allow { "allow_once" } else { "reject_once" };
            let options = approval["options"].as_array().context("options")?;
            let option = options.iter().find(|option| option["kind"] == wanted).context("option")?;
            // The answer may go through either session.
            let through = if dice.roll(2) > 0 { session } else { child };
            let answer =
                json!({"sessionId": through, "approvalId": approval["id"], "optionId": option["id"]});
            client.send("_openagents/approvals/answer", answer).await?;
        } else {
            // Cancels instead of answering.
            client.notify("session/cancel", json!({"sessionId": child})).await?;
        }
    }
}

/// Waits until no turn of a session is running: its call ends before its turn does.
async fn wait_for_end(client: &mut Client, session: &str) -> Result<()> {
    for _ in 0..300 {
        let list = client.request("session/list", json!({})).await?;
        let rows = list["sessions"].as_array().context("sessions")?;
        let row = rows.iter().find(|row| row["sessionId"] == session).context("the session")?;
        if row["_meta"]["openagents"]["running"] != true {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    anyhow::bail!("a turn of {session} is still running")
}

/// Reads a session's log again from its beginning; returns how its delegations ended.
async fn closed(client: &mut Client, session: &str) -> Result<Vec<String>> {
    let attached = client.request("_openagents/attach", json!({"sessionId": session, "since": 0})).await?;
    assert_eq!(attached["approvals"], json!([]));
    assert_eq!(attached["running"], false);
    let last = attached["seq"].as_u64().context("seq")?;
    let (mut open, mut pending, mut ends) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    loop {
        let frame = client.next().await?;
        let params = &frame["params"];
        if frame["method"] != "session/update" || params["sessionId"] != session {
            continue;
        }
        let (update, ours) = (&params["update"], &params["_meta"]["openagents"]);
        let id = || update["toolCallId"].as_str().map(str::to_owned).context("toolCallId");
        let child = ours["childSessionId"].as_str().unwrap_or_default();
        let status = update["status"].as_str().unwrap_or_default();
        match update["sessionUpdate"].as_str() {
            Some("tool_call") => {
                open.insert((child.to_owned(), id()?));
            }
            Some("tool_call_update") if matches!(status, "completed" | "failed") => {
                let was_open = open.remove(&(child.to_owned(), id()?));
                if child.is_empty() && was_open {
                    ends.push(status.to_owned());
                }
            }
            _ => {}
        }
        let approval = &update["_meta"]["openagents"]["approval"];
        if let Some(id) = approval["id"].as_str() {
            match approval["state"].as_str() {
                Some("pending") => pending.insert(id.to_owned()),
                _ => pending.remove(id),
            };
        }
        if ours["seq"].as_u64() == Some(last) {
            break;
        }
    }
    assert_eq!((open.len(), pending.len()), (0, 0), "{open:?} {pending:?}");
    Ok(ends)
}

/// Returns every process that has this environment's home in its environment, except the server.
fn processes(env: &TestEnv, server: u32) -> Result<Vec<String>> {
    let mark = format!("HOME={}", env.folder("").display());
    let mark = mark.trim_end_matches('/');
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        // The process has exited in the meantime, or belongs to another user.
        let Ok(environment) = fs::read(entry.path().join("environ")) else { continue };
        let ours = environment.split(|byte| *byte == 0).any(|line| line == mark.as_bytes());
        if ours && id != server {
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push(format!("{id} {}", String::from_utf8_lossy(&command).replace('\0', " ")));
        }
    }
    Ok(found)
}
