//! `openagents explore` over real workspaces and real logs: its output and how it ends.

use anyhow::{Context, Result};
use openagents_e2e::terminal::{
    TestEnv, claude_transcript, codex_rollout, is_root, json_lines, runs, wait_until,
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    process::Stdio,
};

const FILES: [(&str, &str); 3] = [
    ("README.md", "# Bridge\n\nBridge carries sessions from one machine to another.\n"),
    ("src/pair.rs", "// TODO: expiry\nfn pair() {}\n"),
    ("src/device.rs", "struct Device;\n"),
];

#[test]
fn explore_reports_codex_intent() -> Result<()> {
    let env = TestEnv::new("bridge", &FILES)?;
    let id = "0199a213-81c0-7800-8aa1-bbab2a035a53";
    let prompt = "Finish QR pairing so that a phone can approve commands without a shared token";
    env.log(
        &format!("codex/sessions/2025/11/05/rollout-2025-11-05T10-00-00-{id}.jsonl"),
        &codex_rollout(id, &[prompt]),
    )?;
    let found = env.explore(&[])?;
    assert_eq!(found["intent"], prompt);
    assert_eq!((&found["status"], &found["source"]), (&json!("complete"), &json!("session_analyze")));
    let message = found["message"].as_str().context("a message")?;
    assert_eq!(message, format!("**Repository:** bridge\n\n**Intent From Session History:**\n{prompt}"));
    assert_eq!(found["evidence"][0]["session_id"], id);
    assert_eq!(found["evidence"][0]["line"], 3);
    Ok(())
}

#[test]
fn explore_reports_claude_code_intent() -> Result<()> {
    let env = TestEnv::new("bridge", &FILES)?;
    let id = "5f6a3c1e-2f64-4f0e-9c51-0a4c8a1d2e3f";
    let prompt = "Fix:\n- the expiry check in WORKSPACE/src/pair.rs\n- the flaky test in tests/pairing.rs";
    let log = claude_transcript(id, prompt, &["src/pair.rs", "src/device.rs", "src/pair.rs"]);
    env.log(&format!("claude/projects/-bridge/{id}.jsonl"), &log)?;
    let found = env.explore(&[])?;
    let expected =
        "User intends to fix the expiry check in src/pair.rs and the flaky test in tests/pairing.rs.";
    assert_eq!(found["intent"], expected);
    assert_eq!(found["evidence"][0]["provider"], "claude-code");
    Ok(())
}

#[test]
fn explore_ignores_other_workspaces() -> Result<()> {
    let env = TestEnv::new("bridge", &FILES)?;
    let id = "0199a213-81c0-7800-8aa1-bbab2a035a53";
    let mut log = codex_rollout(id, &["Something else entirely"]);
    log.iter_mut().for_each(|line| {
        *line = serde_json::from_str(&line.to_string().replace("WORKSPACE", "/elsewhere")).unwrap_or_default()
    });
    env.log(&format!("codex/sessions/2025/11/05/rollout-2025-11-05T10-00-00-{id}.jsonl"), &log)?;
    let found = env.explore(&[])?;
    assert_eq!(found["intent"], "Bridge carries sessions from one machine to another.");
    assert_eq!(found["source"], "readme");
    Ok(())
}

#[test]
fn explore_json_ends_with_final_update() -> Result<()> {
    let env = TestEnv::new("bridge", &FILES)?;
    let output = env.run(&["explore", "--json", "--goal", "understand pairing"])?;
    assert_eq!(output.status.code(), Some(0));
    let lines = json_lines(&output.stdout)?;
    let (last, updates) = lines.split_last().context("lines")?;
    for (seq, update) in (1..).zip(updates) {
        assert_eq!(update["_meta"]["openagents"]["seq"], seq);
        assert!(update["update"]["sessionUpdate"].is_string(), "{update}");
    }
    let mut keys: Vec<_> = last["final"].as_object().context("an object")?.keys().cloned().collect();
    keys.sort_unstable();
    let expected = [
        "evidence",
        "findings",
        "intent",
        "message",
        "ops",
        "overview",
        "plan_id",
        "repository",
        "session_id",
        "source",
        "status",
    ];
    assert_eq!(keys, expected);
    Ok(())
}

#[test]
fn explore_shows_plan_and_summary() -> Result<()> {
    let env = TestEnv::new("bridge", &FILES)?;
    let output = env.run(&["explore"])?;
    let text = String::from_utf8(output.stdout)?;
    for expected in ["✓ 1. List directory .", "Repository: bridge", "Bridge carries sessions", "README.md:3"]
    {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "a pipe gets no escape sequences");
    Ok(())
}

#[test]
fn explore_rejects_missing_root() -> Result<()> {
    let env = TestEnv::new("bridge", &FILES)?;
    for root in ["nope", "README.md"] {
        let output = env.run(&["explore", root])?;
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8(output.stdout)?;
        assert!(text.contains("❌ Invalid workspace: Path does not exist or is not a directory"), "{text}");
    }
    Ok(())
}

#[test]
fn explore_rejects_unreadable_root() -> Result<()> {
    let env = TestEnv::new("bridge", &[("locked/file", "")])?;
    let locked = env.workspace.join("locked");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000))?;
    let mut command = env.openagents(&["explore", "--json", "locked"])?;
    if is_root() {
        // Root reads everything, so this runs as another user, who needs access to these folders and the program.
        for folder in [env.folder(""), env.folder("home")] {
            fs::create_dir_all(&folder)?;
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o777))?;
        }
        let copy = env.folder("openagents");
        fs::copy(openagents_e2e::terminal::program("openagents")?, &copy)?;
        let mut other = std::process::Command::new(copy);
        other.args(["explore", "--json", "locked"]).current_dir(&env.workspace);
        other.env("OPENAGENTS_HOME", env.folder("home")).env("HOME", env.folder("")).uid(65_534).gid(65_534);
        command = other;
    }
    let output = command.output()?;
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755))?;
    assert_eq!(output.status.code(), Some(1));
    let last = json_lines(&output.stdout)?.pop().context("a line")?;
    let message = last["final"]["message"].as_str().context("a message")?;
    assert!(message.starts_with("❌ Permission denied: ") && message.ends_with("locked"), "{message}");
    Ok(())
}

#[test]
fn explore_moves_an_invalid_database_aside() -> Result<()> {
    let env = TestEnv::new("bridge", &FILES)?;
    env.explore(&[])?;
    let home = env.folder("home");
    // The temporary bridge writes to the database until its process ends.
    if let Ok(announced) = fs::read(home.join(openagents_bridge::ADDRESS_FILE)) {
        let announced: Value = serde_json::from_slice(&announced)?;
        let pid = announced["pid"].to_string();
        wait_until("the temporary bridge ends", || runs(&pid).is_ok_and(|runs| !runs))?;
    }
    let database = home.join(openagents_sessions::store::DATABASE_FILE);
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", database.display()));
    }
    fs::write(&database, "this is no database, and long enough to be looked at as one".repeat(20))?;
    let output = env.run(&["explore", "--json"])?;
    assert_eq!(output.status.code(), Some(0));
    let shown = String::from_utf8(output.stderr)?;
    assert!(shown.contains("moved"), "{shown}");
    Ok(())
}

#[test]
fn explore_bad_usage_exits_with_2() -> Result<()> {
    let env = TestEnv::new("bridge", &FILES)?;
    let rows: [&[&str]; 6] = [
        &[],
        &["explore", "--nope"],
        &["serve", "--ios", "perhaps"],
        &["tool", "no.such"],
        &["tool", "search.grep", "{"],
        &["tool", "search.grep", "{}"],
    ];
    for arguments in rows {
        let output = env.run(arguments)?;
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

/// A search that takes its whole 1.5 s: one large file under thousands of names.
#[test]
fn explore_ctrl_c_exits_with_130() -> Result<()> {
    let env = TestEnv::new("bridge", &[("words.txt", &"nothing to see here\n".repeat(200_000))])?;
    for number in 0..4_000 {
        fs::hard_link(env.workspace.join("words.txt"), env.workspace.join(format!("again{number}.txt")))?;
    }
    let mut child = env.openagents(&["explore", "--json"])?.stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("stdout")?).lines();
    let searching = |line: &str| line.contains("in_progress") && line.contains("toolCallId");
    loop {
        let line = lines.next().context("the search never began")??;
        if searching(&line) {
            break;
        }
    }
    let interrupted = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status()?;
    assert!(interrupted.success());
    let last = lines.last().context("no last line")??;
    let last: Value = serde_json::from_str(&last)?;
    assert_eq!(last["final"]["status"], "cancelled");
    assert_eq!(last["final"]["message"], "Exploration cancelled.");
    assert_eq!(child.wait()?.code(), Some(130));
    Ok(())
}
