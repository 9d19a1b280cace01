//! `openagents sessions`, `tool` and `completions` over real logs and closed pipes.

use anyhow::{Context, Result};
use openagents_e2e::terminal::{TestEnv, claude_transcript, codex_rollout};
use serde_json::{Value, json};
use std::process::Stdio;

const SHOWN: &str = "0199a213-81c0-7800-8aa1-bbab2a035a53";
const HIDDEN: &str = "0199a213-81c0-7800-8aa1-000000000001";

/// A session that the user held, and one that a program started.
fn env() -> Result<TestEnv> {
    let env = TestEnv::new("proj", &[])?;
    let path = |id: &str| format!("codex/sessions/2025/11/05/rollout-2025-11-05T10-00-00-{id}.jsonl");
    env.log(&path(SHOWN), &codex_rollout(SHOWN, &["Tune the marimba", "And the xylophone"]))?;
    let by_program: Vec<Value> = codex_rollout(HIDDEN, &["Count the xylophone keys"])
        .into_iter()
        .map(|line| {
            serde_json::from_str(&line.to_string().replace(r#""source":"cli""#, r#""source":"exec""#))
        })
        .collect::<Result<_, _>>()?;
    env.log(&path(HIDDEN), &by_program)?;
    Ok(env)
}

fn json(env: &TestEnv, arguments: &[&str]) -> Result<Value> {
    let output = env.run(arguments)?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

#[test]
fn list_shows_hidden_sessions_only_with_all() -> Result<()> {
    let env = env()?;
    let rows = json(&env, &["sessions", "list", "--json"])?;
    let rows = rows.as_array().context("an array")?;
    assert_eq!(rows.len(), 1);
    let expected = [
        ("id", json!(SHOWN)),
        ("provider", json!("codex")),
        ("title", json!("Tune the marimba")),
        ("cwd", json!(env.workspace)),
        ("branch", json!("main")),
        ("model", json!("gpt-5.5")),
        ("created_at", json!(1_762_336_800_000_i64)),
        ("user_turns", json!(2)),
        ("hidden", json!(false)),
        ("bad_lines", json!(0)),
    ];
    for (key, value) in expected {
        assert_eq!(rows[0][key], value, "{key}");
    }
    assert!(rows[0]["updated_at"].is_i64() && rows[0]["file_path"].is_string());
    let all = json(&env, &["sessions", "list", "--json", "--all"])?;
    assert_eq!(all.as_array().context("an array")?.len(), 2);
    Ok(())
}

#[test]
fn search_shows_hidden_sessions_only_with_all() -> Result<()> {
    let env = env()?;
    let found = |arguments: &[&str]| -> Result<usize> {
        let found = json(&env, &[&["sessions", "search", "xylophone", "--json"], arguments].concat())?;
        Ok(found["matches"].as_array().context("an array")?.len())
    };
    assert_eq!(found(&[])?, 1);
    assert_eq!(found(&["--workspace", "."])?, 1);
    assert_eq!(found(&["--all"])?, 2);
    assert_eq!(found(&["--all", "--provider", "claude-code"])?, 0);
    Ok(())
}

#[test]
fn show_accepts_an_id_prefix() -> Result<()> {
    let env = env()?;
    let shown = json(&env, &["sessions", "show", &SHOWN[..30], "--json"])?;
    assert_eq!(shown["events"][0]["content"], "Tune the marimba");
    assert_eq!(shown["events"][1]["lineNumber"], 4);
    let unclear = env.run(&["sessions", "show", &SHOWN[..8]])?;
    assert_eq!(unclear.status.code(), Some(1));
    assert!(String::from_utf8(unclear.stderr)?.contains("2 session ids begin with"));
    Ok(())
}

#[test]
fn list_skips_torn_line() -> Result<()> {
    let env = TestEnv::new("proj", &[])?;
    let id = "5f6a3c1e-2f64-4f0e-9c51-0a4c8a1d2e3f";
    env.log(&format!("claude/projects/-proj/{id}.jsonl"), &claude_transcript(id, "Fix the bug", &["a"]))?;
    let path = env.folder(&format!("claude/projects/-proj/{id}.jsonl"));
    let text = std::fs::read_to_string(&path)?;
    std::fs::write(&path, format!("{{not json\n{text}{{\"type\":\"assis"))?;
    let rows = json(&env, &["sessions", "list", "--json"])?;
    assert_eq!((&rows[0]["title"], &rows[0]["bad_lines"]), (&json!("Fix the bug"), &json!(1)));
    Ok(())
}

#[test]
fn list_survives_non_utf8_folder() -> Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let env = env()?;
    let id = "5f6a3c1e-2f64-4f0e-9c51-0a4c8a1d2e3f";
    env.log(&format!("claude/projects/-proj/{id}.jsonl"), &claude_transcript(id, "Fix the bug", &[]))?;
    let projects = env.folder("claude/projects");
    std::fs::rename(projects.join("-proj"), projects.join(std::ffi::OsStr::from_bytes(b"-bad\xff")))?;
    let rows = json(&env, &["sessions", "list", "--json"])?;
    assert_eq!(rows.as_array().context("an array")?.len(), 2);
    Ok(())
}

#[test]
fn sessions_work_without_data_folder() -> Result<()> {
    let env = env()?;
    for arguments in
        [&["sessions", "list"][..], &["sessions", "search", "marimba"], &["sessions", "show", SHOWN]]
    {
        let output = env.openagents(arguments)?.env("OPENAGENTS_HOME", "/proc/nope").output()?;
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

#[test]
fn closed_pipe_is_not_a_failure() -> Result<()> {
    let env = env()?;
    for arguments in [&["completions", "bash"][..], &["man"], &["tools", "--json"], &["sessions", "list"]] {
        let mut child = env.openagents(arguments)?.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        drop(child.stdout.take());
        let output = child.wait_with_output()?;
        assert_eq!(
            output.status.code(),
            Some(0),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

#[test]
fn tool_reports_a_cut_result() -> Result<()> {
    let names: Vec<_> = (0..501).map(|number| format!("f{number}")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), "")).collect();
    let env = TestEnv::new("proj", &files)?;
    let output = env.run(&["tool", "fs.list_dir"])?;
    assert_eq!(
        String::from_utf8(output.stderr)?,
        "openagents: a limit was reached: there is more than shown\n"
    );
    Ok(())
}

#[test]
fn index_reports_counts() -> Result<()> {
    let env = env()?;
    let state = |state: serde_json::Value| (state["sessions"].clone(), state["found"].clone());
    assert_eq!(state(json(&env, &["sessions", "index", "--status", "--json"])?), (json!(0), json!(1)));
    assert_eq!(state(json(&env, &["sessions", "index", "--wait", "--json"])?), (json!(1), json!(1)));
    let has_title = || -> Result<bool> {
        let mut bytes = Vec::new();
        for name in ["history.db", "history.db-wal", "transcripts.sqlite", "transcripts.sqlite-wal"] {
            bytes.extend(std::fs::read(env.folder("home").join(name)).unwrap_or_default());
        }
        Ok(String::from_utf8_lossy(&bytes).to_lowercase().contains("marimba"))
    };
    assert!(has_title()?);
    let cleared = state(json(&env, &["sessions", "index", "--clear", "--json"])?);
    assert_eq!(cleared, (json!(0), json!(1)));
    assert!(!has_title()?, "the cache of the list too");
    let stats = json(&env, &["sessions", "stats", "--json"])?;
    let of = |provider: &str| stats.as_array()?.iter().find(|row| row["provider"] == provider).cloned();
    let codex = of("codex").context("codex")?;
    assert_eq!((&codex["sessions"], &codex["hidden"], &codex["badLines"]), (&json!(2), &json!(1), &json!(0)));
    assert_eq!(of("gemini").context("gemini")?["sessions"], 0);
    Ok(())
}
