//! The client with misbehaving helpers, written as scripts.

use super::Helper;
use crate::{Engine, LoadRequest, Loaded};
use openagents_core::{
    CancellationToken,
    helper::VERSION,
    model::{ModelError, ModelEvent, ModelRequest, StopReason},
};
use std::{
    path::Path,
    process::Command,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// Time limit for every wait; exceeding it means a hang.
const HANG: Duration = Duration::from_secs(60);

/// A helper that sends a hello and runs `load` and `generate`; `$id` is the id of the command.
fn helper(load: &str, generate: &str) -> (Helper, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        r#"#!/bin/sh
say() {{ printf '%s\n' "$1"; }}
loaded() {{
    say "{{\"report\":\"loaded\",\"id\":$id,\"loaded\":{{\"path\":\"m\",\"name\":\"m\",\"architecture\":\"llama\",\"context_tokens\":9,\"tools\":false}}}}"
}}
text() {{ say "{{\"report\":\"event\",\"id\":$id,\"event\":{{\"text\":\"t\"}}}}"; }}
done_() {{ say "{{\"report\":\"done\",\"id\":$id,\"stop\":\"end_turn\"}}"; }}
say '{{"report":"hello","version":"{VERSION}","devices":[]}}'
while read -r line; do
    id=${{line#*'"id":'}}
    id=${{id%%[,\}}]*}}
    case $line in
    *'"command":"load"'*) {load} ;;
    *'"command":"generate"'*) {generate} ;;
    esac
done
"#
    );
    (program(&folder, &script), folder)
}

/// Another process writes the program: a file that is open for writing in this process can't be executed.
fn program(folder: &TempDir, script: &str) -> Helper {
    let (text, program) = (folder.path().join("text"), folder.path().join("helper"));
    std::fs::write(&text, script).unwrap();
    assert!(Command::new("install").args(["-m", "755"]).args([&text, &program]).status().unwrap().success());
    Helper::at(program)
}

/// Cancelled only if a test hangs.
fn never() -> CancellationToken {
    let cancel = CancellationToken::new();
    let guard = cancel.clone();
    thread::spawn(move || {
        thread::sleep(HANG);
        guard.cancel();
    });
    cancel
}

fn load(engine: &Helper) -> Result<Loaded, ModelError> {
    let request = LoadRequest { path: Path::new("m").to_owned(), context_tokens: 9, threads: None };
    engine.load(&request, &never(), &mut |_| ())
}

fn generate(engine: &Helper, cancel: &CancellationToken) -> Result<StopReason, ModelError> {
    engine.generate(&ModelRequest::default(), cancel, &mut |event| {
        if matches!(event, ModelEvent::Text(_)) {
            cancel.cancel();
        }
    })
}

#[test]
fn helper_gets_no_keys() {
    let (engine, folder) = helper("env > \"${0%helper}environment\"; loaded", "text");
    load(&engine).unwrap();
    let variables = std::fs::read_to_string(folder.path().join("environment")).unwrap();
    assert!(variables.contains("PATH=") && variables.contains("GGML_NO_BACKTRACE=1"), "{variables}");
    // Cargo sets it for tests.
    assert!(!variables.contains("CARGO_PKG_NAME="), "{variables}");
}

#[test]
fn ignored_cancel_spares_next_request() {
    let (engine, _folder) = helper("loaded", "text; exec sleep 120");
    load(&engine).unwrap();
    let first = engine.process_id();
    assert_eq!(generate(&engine, &CancellationToken::new()), Err(ModelError::Cancelled));
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    assert_eq!(engine.settle(&cancelled), Err(ModelError::Cancelled), "the wait can be cancelled");
    assert!(engine.loaded().is_some());
    let request = LoadRequest { path: Path::new("m").to_owned(), context_tokens: 9, threads: None };
    assert_eq!(engine.load(&request, &cancelled, &mut |_| ()), Err(ModelError::Cancelled));
    assert_eq!(engine.loaded(), None);
    load(&engine).unwrap();
    assert_eq!(generate(&engine, &CancellationToken::new()), Err(ModelError::Cancelled));
    load(&engine).unwrap();
    assert_ne!(engine.process_id(), first);
    assert_eq!(generate(&engine, &CancellationToken::new()), Err(ModelError::Cancelled));
    engine.settle(&never()).unwrap();
    assert_eq!(engine.loaded(), None, "nothing is loaded before the next request");
}

#[test]
fn invalid_report_fails_its_command() {
    for unreadable in [
        r#"say "{\"report\":\"loaded\",\"id\":$id}""#,
        "say noise",
        "say '{\"report\":\"failed\",\"error\":\"malformed\"}'",
    ] {
        let (engine, _folder) = helper(&format!("{unreadable}; loaded"), "done_");
        match load(&engine) {
            Err(ModelError::Failed(why)) => assert!(why.contains("cannot be read"), "{why}"),
            Err(ModelError::Malformed) => assert!(unreadable.contains("malformed")),
            other => panic!("{unreadable}: {other:?}"),
        }
        assert!(load(&engine).is_err());
    }
}

#[test]
fn ctrl_c_does_not_end_helper() {
    let (engine, _folder) = helper("loaded", "done_");
    engine.devices(&never()).unwrap();
    let process = engine.process_id().unwrap().to_string();
    let group = Command::new("ps").args(["-o", "pgid=", "-p", &process]).output().unwrap();
    assert_eq!(String::from_utf8(group.stdout).unwrap().trim(), process);
}

#[test]
fn crash_quotes_only_its_own_log() {
    let (engine, _folder) = helper("echo 'ERROR of the load' >&2; sleep 0.2; loaded", "kill -9 $$");
    load(&engine).unwrap();
    let Err(ModelError::Crashed(why)) = generate(&engine, &never()) else { panic!("it has no memory left") };
    assert_eq!(why, "signal 9 (SIGKILL), perhaps because memory ran out");
}

#[test]
fn helper_closing_its_output_is_stopped() {
    let (engine, _folder) = helper("loaded", "exec sleep 120 >&-");
    load(&engine).unwrap();
    let ended = generate(&engine, &never());
    assert_eq!(ended, Err(ModelError::Crashed("it did not answer and was ended".to_owned())));
    load(&engine).unwrap();
}

#[test]
fn slow_exit_after_unload_is_not_a_crash() {
    let (engine, _folder) = helper("loaded", "text; exec sleep 120");
    load(&engine).unwrap();
    let ended = engine.generate(&ModelRequest::default(), &never(), &mut |_| engine.unload());
    assert!(matches!(&ended, Err(ModelError::Unavailable(why)) if why.contains("unloaded")), "{ended:?}");
}

#[test]
fn helper_start_can_be_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let engine = program(&folder, "#!/bin/sh\nexec sleep 120\n");
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert_eq!(engine.devices(&cancel), Err(ModelError::Cancelled));
    assert_eq!(engine.process_id(), None);
}

#[test]
fn idle_exit_is_reported() {
    let (engine, _folder) = helper("loaded", "done_");
    let (tell, shown) = mpsc::channel();
    engine.on_end(Arc::new(move || {
        let _ = tell.send(());
    }));
    load(&engine).unwrap();
    let process = engine.process_id().unwrap().to_string();
    assert!(Command::new("kill").args(["-9", &process]).status().unwrap().success());
    shown.recv_timeout(HANG).unwrap();
    assert_eq!(engine.loaded(), None);
}
