//! What agents in terminals are shown to do, while they do it.

use crate::{
    continuing::{answer_first_questions, begin_in_terminal, open_process},
    scene::{CLAUDE_CODE, Scene},
};
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Limit of every wait.
const HANGS: Duration = Duration::from_secs(40);

/// Waits until the agent's session is in a state, with a detail; returns the row.
async fn until(scene: &mut Scene, state: &str, detail: Option<&str>) -> Result<Value> {
    let began = Instant::now();
    loop {
        let live = scene.client.request("_openagents/live/list", json!({})).await?;
        let rows = live["sessions"].as_array().context("sessions")?;
        let row = rows.iter().find(|row| row["provider"] == scene.agent.mode).cloned();
        let is = |row: &Value| row["state"] == state && row["detail"].as_str() == detail;
        if let Some(row) = row.filter(is) {
            return Ok(row);
        }
        ensure!(began.elapsed() < HANGS, "{state} {detail:?} is not seen: {live}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn states_of_claude_code_in_terminal_are_shown() -> Result<()> {
    let mut scene = Scene::open(CLAUDE_CODE).await?;
    // Its settings are there after its first start.
    begin_in_terminal(&scene, "default", "Hello [[script:Nothing]]")?;
    answer_first_questions(&scene)?;
    let mut terminal =
        scene.peers.in_terminal("exec claude --permission-mode default 'Write both [[script:Edits]]'")?;
    terminal.until("Yes", 0)?;
    let on_screen = Instant::now();
    let row = until(&mut scene, "needs", Some("approval")).await?;
    let late = on_screen.elapsed();
    ensure!(row["certainty"] == "reported", "{row}");
    ensure!(row["cwd"] == scene.peers.env.workspace.to_string_lossy().as_ref(), "{row}");
    ensure!(late < Duration::from_secs(3), "the question is shown {late:?} after it is on screen");
    // The session is the one in the list.
    let named = json!({"provider": row["provider"], "id": row["id"]});
    scene.client.request("_openagents/history/read", named).await?;

    let asked = scene.peers.env.openagents(&["status"])?.output()?;
    let asked = (asked.status.code(), String::from_utf8(asked.stdout)?);
    ensure!(asked.0 == Some(10) && asked.1.starts_with("1 needs you\n"), "{asked:?}");

    let id = row["id"].as_str().context("an id")?;
    let process = open_process(&scene, id)?.context("its process")?;
    scene.peers.shell(&format!("kill -KILL {process}"))?;
    until(&mut scene, "stopped", Some("exited during a turn")).await?;
    scene.peers.end()
}
