//! `openagents agent` without a model: its messages, output and exit codes.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use serde_json::Value;
use std::{
    io::{BufRead, Write},
    process::{Command, Output, Stdio},
};

/// Runs the program with its own data folder.
fn openagents(arguments: &[&str], input: &str) -> Output {
    let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut child = Command::new(env!("CARGO_BIN_EXE_openagents"))
        .args(arguments)
        .current_dir(&folder)
        .env("OPENAGENTS_HOME", home.path())
        .env_remove("OPENAGENTS_LLAMA_MODEL")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // On a usage error the program ends before it reads standard input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn agent_without_model_names_remedy() {
    let shown = openagents(&["agent", "hello"], "");
    assert_eq!(shown.status.code(), Some(1));
    // A script that reads the answer must not mistake the reason for one.
    assert_eq!(String::from_utf8(shown.stdout).unwrap(), "");
    let reply = String::from_utf8(shown.stderr).unwrap();
    assert!(reply.starts_with("openagents: ") && reply.contains("openagents models download"), "{reply}");
    assert_eq!(reply.lines().count(), 1);
}

#[test]
fn oversized_prompt_is_refused_by_size() {
    let shown = openagents(&["agent", "-"], &format!("x{}", "é".repeat(1 << 20)));
    assert_eq!(shown.status.code(), Some(2));
    let reply = String::from_utf8(shown.stderr).unwrap();
    assert!(reply.contains("a prompt may have at most 1048576 bytes"), "{reply}");
}

/// A second model must not be loaded next to the app's.
#[test]
fn agent_asks_model_of_running_bridge() {
    let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let [workspace, served] = ["nobody-knows", "served"].map(|name| folder.path().join(name));
    std::fs::create_dir(&workspace).unwrap();
    std::fs::create_dir(&served).unwrap();
    let program = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_openagents"));
        let home = home.path();
        command.args(arguments).current_dir(&workspace).env("OPENAGENTS_HOME", home).env("HOME", home);
        command.env_remove("OPENAGENTS_LLAMA_MODEL").stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(Stdio::piped());
        command
    };
    let serve = ["serve", "--port", "0", "--json", "--root", served.to_str().unwrap()];
    let mut bridge = program(&serve).spawn().unwrap();
    let mut line = String::new();
    std::io::BufReader::new(bridge.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("token_file"), "the bridge did not start");
    let through_the_bridge = |arguments: &[&str]| {
        let shown = program(arguments).output().unwrap();
        assert_eq!(shown.status.code(), Some(1), "{shown:?}");
        let lines: Vec<Value> = String::from_utf8(shown.stdout)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let (last, updates) = lines.split_last().unwrap();
        assert_eq!(last["final"]["status"], "failed");
        assert!(last["final"]["message"].as_str().unwrap().contains("openagents models download"), "{last}");
        let prompt = updates.iter().find(|line| line["update"]["sessionUpdate"] == "user_message_chunk");
        // The bridge names the sender of a prompt.
        prompt.unwrap()["update"]["_meta"]["openagents"]["connection"].is_string()
    };
    let asked = through_the_bridge(&["agent", "hello", "--json"]);
    let special = through_the_bridge(&["agent", "hello", "--json", "--max-tokens", "5"]);
    bridge.kill().unwrap();
    bridge.wait().unwrap();
    assert!(asked && special);
}

#[test]
fn json_output_ends_with_final_line() {
    let shown = openagents(&["agent", "-", "--json"], "from standard input\n");
    assert_eq!(shown.status.code(), Some(1));
    let lines: Vec<Value> = String::from_utf8(shown.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (last, updates) = lines.split_last().unwrap();
    let kinds: Vec<_> =
        updates.iter().map(|line| line["update"]["sessionUpdate"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["user_message_chunk", "session_info_update", "agent_message_chunk"]);
    assert_eq!(updates[0]["update"]["content"]["text"], "from standard input");
    assert_eq!(last["final"]["status"], "failed");
    assert_eq!(last["final"]["message"], updates[2]["update"]["content"]["text"]);
}

#[test]
fn bad_usage_is_named() {
    let rows: [(&[&str], &str); 4] = [
        (&["agent", " "], "the prompt is empty"),
        (&["agent", "-"], "the prompt is empty"),
        (&["agent", "hi", "--model", "gone.gguf"], "--model gone.gguf: no such file"),
        (
            &["tool", "gptoss.generate", r#"{"user_prompt": "x", "temperature": 2}"#],
            "temperature: 2 is greater than the maximum of 1",
        ),
    ];
    for (arguments, part) in rows {
        let shown = openagents(arguments, "");
        assert_eq!(shown.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&shown.stderr).contains(part), "{shown:?}");
    }
}

#[test]
fn unavailable_tool_lets_caller_answer() {
    let shown = openagents(&["tool", "gptoss.generate", r#"{"user_prompt": "x"}"#], "");
    assert_eq!((shown.status.code(), shown.stdout.as_slice()), (Some(1), b"".as_slice()));
    let reply = String::from_utf8(shown.stderr).unwrap();
    assert!(reply.starts_with("openagents: gptoss.generate unavailable: "), "{reply}");
    assert!(reply.trim_end().ends_with(". Falling back to inline response."), "{reply}");
}

#[test]
fn explore_with_model_planner_fails_without_model() {
    let shown = openagents(&["explore", ".", "--planner", "model", "--json"], "");
    assert_eq!(shown.status.code(), Some(1));
    let last: Value =
        serde_json::from_str(String::from_utf8(shown.stdout).unwrap().lines().last().unwrap()).unwrap();
    assert!(last["final"]["message"].as_str().unwrap().starts_with("❌ no plan: "), "{last}");
}

/// The short way to an answer needs no model.
#[test]
fn ask_answers_with_findings() {
    let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(
        folder.path().join("redirect.rs"),
        "/// Follows redirects.\npub fn follow_redirect() {}\n",
    )
    .unwrap();
    let ask = |question: &str, json: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_openagents"));
        command.args(["ask", question]).arg(folder.path()).args(json.then_some("--json"));
        command
            .env("OPENAGENTS_HOME", home.path())
            .env("HOME", home.path())
            .env_remove("OPENAGENTS_LLAMA_MODEL");
        command.output().unwrap()
    };
    let shown = ask("Where are redirects followed?", false);
    let reply = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.status.success() && reply.contains("redirect.rs:1-2"), "{reply}");
    let shown = ask("Where is the zeppelin?", true);
    let reply = String::from_utf8(shown.stdout).unwrap();
    let last: Value = serde_json::from_str(reply.lines().last().unwrap()).unwrap();
    assert_eq!(last["final"]["status"], "complete");
    assert!(last["final"]["message"].as_str().unwrap().starts_with("**Found:** nothing"), "{reply}");
}

#[test]
fn read_only_data_folder_is_named_with_remedy() {
    let folder = tempfile::tempdir().unwrap();
    // Nothing can be written below a file, not even by root.
    let home = folder.path().join("file").join("data");
    std::fs::write(folder.path().join("file"), "").unwrap();
    for arguments in
        [&["explore", "."][..], &["explore", ".", "--json"], &["ask", "why?"], &["agent", "hello"]]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_openagents"));
        command.args(arguments).current_dir(&folder).env("OPENAGENTS_HOME", &home);
        let shown = command.output().unwrap();
        assert_eq!(
            (shown.status.code(), shown.stdout.as_slice()),
            (Some(1), b"".as_slice()),
            "{arguments:?}"
        );
        let reply = String::from_utf8(shown.stderr).unwrap();
        let named = format!("openagents: cannot write to the data folder {}", home.display());
        assert!(reply.starts_with(&named) && reply.contains("Set OPENAGENTS_HOME to a folder"), "{reply}");
        assert_eq!(reply.lines().count(), 1, "{reply}");
    }
}
