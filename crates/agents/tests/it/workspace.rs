//! Access of an agent to the workspace.

use super::host::{Host, Say, Scene, Setup};
use openagents_core::{CancellationToken, approval::OptionKind, update::RunState};

#[test]
fn files_outside_workspace_are_rejected() {
    let scene = Scene::new();
    std::fs::write(scene.folder.path().join("secret.txt"), "secret").unwrap();
    std::os::unix::fs::symlink(scene.folder.path().join("secret.txt"), scene.root.join("link")).unwrap();
    assert_eq!(scene.prompt("[[write deep/a.txt some text]]").text, "Written.");
    assert_eq!(scene.prompt("[[read deep/a.txt]]").text, "some text");
    for word in
        ["[[read ../secret.txt]]", "[[read link]]", "[[read ../../../../etc/passwd]]", "[[read /etc/passwd]]"]
    {
        let text = scene.prompt(word).text;
        assert!(text.starts_with("Refused: ") && text.contains("outside"), "{word}: {text}");
    }
    let text = scene.prompt("[[write link changed]]").text;
    assert!(text.starts_with("Refused: "), "{text}");
    let secret = std::fs::read_to_string(scene.folder.path().join("secret.txt")).unwrap();
    assert_eq!(secret, "secret");
}

#[test]
fn task_limits_are_enforced() {
    let scene = Scene::new();
    let mut request = scene.request("[[write src/a.rs x]] [[write b.txt x]] [[write src/b.rs x]]");
    request.limits.include = vec!["src/**".to_owned()];
    request.limits.max_files = Some(1);
    scene.turn(&request, &CancellationToken::new());
    assert!(scene.root.join("src/a.rs").exists());
    assert!(!scene.root.join("b.txt").exists() && !scene.root.join("src/b.rs").exists());
    insta::assert_snapshot!(scene.shown());
    request.limits.include = vec!["{".to_owned()];
    let outcome = scene.turn(&request, &CancellationToken::new());
    assert!(outcome.text.starts_with("❌ files_include_glob: "), "{}", outcome.text);
}

#[test]
fn commands_are_approved_and_shown() {
    let kind = |kind| Say::Kind(kind);
    let answers = [OptionKind::AllowOnce, OptionKind::AllowAlways, OptionKind::RejectOnce].map(kind);
    let scene = Scene::answering(answers);
    assert_eq!(scene.prompt("[[run echo hi]]").text, "exit 0 signal null: hi");
    assert_eq!(scene.prompt("[[run echo hi]]").text, "exit 0 signal null: hi");
    assert_eq!(scene.prompt("[[run touch made.txt]]").text, "Refused: touch made.txt was not allowed");
    assert!(!scene.root.join("made.txt").exists());
    assert_eq!(scene.prompt("[[run no-such-program]]").text, "Refused: no-such-program was not found");
    let asked = scene.host.asked.lock().unwrap();
    let command = asked[0].command.clone().unwrap();
    let exact = command.exact.unwrap();
    assert!(exact.program.is_absolute() && exact.args == ["hi"] && exact.cwd == scene.root);
    assert!(command.text.ends_with("/echo hi"), "{}", command.text);
    assert_eq!(asked[0].title, "echo hi");
    drop(asked);
    insta::assert_snapshot!(scene.shown());
}

#[test]
fn file_rewritten_during_approval_is_not_run() {
    for (prompt, shown) in
        [("[[run sh build.sh]]", "sh build.sh"), ("[[run sh ./build.sh x]]", "sh ./build.sh x")]
    {
        let scene = Scene::new();
        let script = scene.root.join("build.sh");
        std::fs::write(&script, "echo good\n").unwrap();
        scene.host.answers.lock().unwrap().push_back(Say::Rewriting(script, "echo evil\n".to_owned()));
        assert_eq!(scene.prompt(prompt).text, format!("Refused: {shown} changed before it was approved"));
        let asked = scene.host.asked.lock().unwrap();
        assert!(asked[0].options.iter().all(|option| option.kind != OptionKind::AllowAlways));
    }
}

/// The agent asks to run a script and writes it while the user reads the request.
#[test]
fn writing_named_file_voids_approval() {
    let rows = [
        ("cd scripts && ./build.sh", "scripts/build.sh"),
        ("sh scripts/build.sh", "scripts/build.sh"),
        ("sh scripts/new.sh", "scripts/new.sh"),
        ("sh scripts/b*.sh", "scripts/bad.sh"),
        ("ls scripts", "scripts/deep/new.sh"),
        ("make -C scripts", "scripts/Makefile"),
    ];
    for (command, file) in rows {
        // Only voiding the approval ends this request.
        let scene = Scene::answering([Say::Nothing]);
        std::fs::create_dir(scene.root.join("scripts")).unwrap();
        std::fs::write(scene.root.join("scripts/build.sh"), "echo good\n").unwrap();
        let text = scene.prompt(&format!("[[run-and-write {file} {command}]]")).text;
        let expected = format!("Refused: {command}: {file} changed while the approval was pending");
        assert_eq!(text, expected);
    }
    // A file that the command does not name.
    let scene = Scene::new();
    std::fs::create_dir(scene.root.join("scripts")).unwrap();
    let text = scene.prompt("[[run-and-write other.txt echo scripts]]").text;
    assert_eq!(text, "exit 0 signal null: scripts");
}

#[test]
fn truncated_change_is_marked_in_approval() {
    let scene = Scene::answering([OptionKind::RejectOnce, OptionKind::RejectOnce].map(Say::Kind));
    scene.prompt("[[edit short.txt]] [[edit-long long.txt]]");
    let asked = scene.host.asked.lock().unwrap();
    let cut: Vec<_> = asked.iter().map(|request| (request.title.as_str(), request.is_whole())).collect();
    assert_eq!(cut, [("Write short.txt", true), ("Write long.txt", false)]);
}

#[test]
fn denial_passes_message_to_agent() {
    let scene = Scene::answering([Say::Denial("Use make"), Say::Denial("Leave it alone")]);
    let refused = "Refused: touch made.txt was not allowed: Use make";
    assert_eq!(scene.prompt("[[run touch made.txt]]").text, refused);
    // The protocol's answer has no field for a message, so it becomes the next prompt of the same turn.
    let outcome = scene.prompt("[[edit-or-end b.txt]]");
    assert_eq!((outcome.state, outcome.text.as_str()), (RunState::Complete, "You said: Leave it alone"));
}

#[test]
fn command_ends_with_its_turn() {
    let scene = Scene::new();
    std::fs::write(scene.root.join("slow.sh"), "echo $$\nexec sleep 300\n").unwrap();
    let mut pid = String::new();
    let outcome = scene.cancelled("[[run sh slow.sh]]", |host: &Host| {
        host.wait("the output", |updates| {
            let shown = super::host::folded(updates, &scene.root);
            let line = shown.split("terminal Some(\"sh slow.sh\"): \"").last().unwrap_or_default();
            pid = line.chars().take_while(char::is_ascii_digit).collect();
            !pid.is_empty()
        });
    });
    assert_eq!(outcome.state, RunState::Cancelled);
    assert!(super::cancel::ends(pid.parse().unwrap()));
    assert_eq!(scene.prompt("[[say again]]").text, "again");
}

#[test]
fn program_rewritten_during_approval_is_not_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = Scene::new();
    let script = scene.root.join("build.sh");
    let text = |word: &str| format!("#!/bin/sh\necho {word}\n");
    std::fs::write(&script, text("good")).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(scene.prompt("[[run ./build.sh]]").text, "exit 0 signal null: good");
    scene.host.answers.lock().unwrap().push_back(Say::Rewriting(script, text("evil")));
    let refused = "Refused: ./build.sh changed before it was approved";
    assert_eq!(scene.prompt("[[run ./build.sh]]").text, refused);
    // A program that the agent can change can't be approved for the session.
    let asked = scene.host.asked.lock().unwrap();
    assert!(asked[0].options.iter().all(|option| option.kind != OptionKind::AllowAlways));
}

#[test]
fn command_variables_are_shown_and_keys_withheld() {
    let environment = &[("SOME_TOKEN", "secret"), ("DATABASE_URL", "secret"), ("CARGO_HOME", "plain")];
    let scene = Setup { environment, ..Setup::default() }.scene(Host::with([]));
    assert_eq!(scene.prompt("[[env SOME_TOKEN]]").text, "secret");
    let run = "[[run GIT_DIR=elsewhere LD_PRELOAD=x.so env]]";
    let reply = scene.prompt(run).text;
    assert!(reply.contains("GIT_DIR=elsewhere") && reply.contains("CARGO_HOME=plain"), "{reply}");
    for kept in ["SOME_TOKEN", "DATABASE_URL", "LD_PRELOAD"] {
        assert!(!reply.contains(kept), "{reply}");
    }
    let asked = scene.host.asked.lock().unwrap();
    assert_eq!(asked[0].title, "env (without LD_PRELOAD, which may not be set)");
    let text = &asked[0].command.as_ref().unwrap().text;
    assert!(text.starts_with("GIT_DIR=elsewhere /") && text.ends_with("/env"), "{text}");
    assert!(asked[0].options.iter().all(|option| option.kind != OptionKind::AllowAlways));
}
