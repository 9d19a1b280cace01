//! The client with misbehaving helpers, written as scripts.

use super::*;
use openagents_core::{helper::VERSION, model::Message};
use std::{process::Command as Program, time::Duration};
use tempfile::TempDir;

/// Limit of every wait; longer means a hang.
const HANG: Duration = Duration::from_secs(60);

/// A helper that sends a hello and runs `respond`; `$id` is the id of the command.
fn script(folder: &TempDir, respond: &str) -> PathBuf {
    let text = format!(
        r#"#!/bin/sh
say() {{ printf '%s\n' "$1"; }}
text() {{ say "{{\"report\":\"text\",\"id\":$id,\"text\":\"t\"}}"; }}
done_() {{ say "{{\"report\":\"done\",\"id\":$id,\"stop\":\"end_turn\"}}"; }}
say '{{"report":"hello","version":"{VERSION}","unavailable":null}}'
while read -r line; do
    id=${{line#*'"id":'}}
    id=${{id%%[,\}}]*}}
    case $line in
    *'"command":"respond"'*) {respond} ;;
    *'"command":"availability"'*) say "{{\"report\":\"availability\",\"id\":$id,\"unavailable\":{{\"reason\":\"not_enabled\"}}}}" ;;
    esac
done
"#
    );
    program(folder, &text)
}

/// A separate process writes it: a file that is open for writing in this process can't be executed.
fn program(folder: &TempDir, text: &str) -> PathBuf {
    let (source, program) = (folder.path().join("text"), folder.path().join("helper"));
    std::fs::write(&source, text).unwrap();
    assert!(
        Program::new("install").args(["-m", "755"]).args([&source, &program]).status().unwrap().success()
    );
    program
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

fn respond(
    models: &FoundationModels,
    cancel: &CancellationToken,
) -> (Result<StopReason, ModelError>, String) {
    let request =
        ModelRequest { messages: vec![Message::User { text: "hi".to_owned() }], ..ModelRequest::default() };
    let mut reply = String::new();
    let ended = models.respond(&request, cancel, &mut |event| {
        if let ModelEvent::Text(text) = event {
            reply.push_str(&text);
        }
    });
    (ended, reply)
}

fn is_alive(process: u32) -> bool {
    Program::new("kill").args(["-0", &process.to_string()]).output().unwrap().status.success()
}

#[test]
fn unsupported_machine_starts_nothing() {
    let started = Arc::new(Mutex::new(0));
    let count = started.clone();
    let models = FoundationModels::new(Some(Unavailability::NotMacOs), move || {
        *count.lock() += 1;
        Err(ModelError::Malformed)
    });
    let reason = Unavailability::NotMacOs.to_string();
    models.check_in_background();
    assert_eq!(models.availability(), Availability::Unavailable(reason.clone()));
    assert_eq!(respond(&models, &never()).0, Err(ModelError::Unavailable(reason)));
    assert_eq!((*started.lock(), models.process_id()), (0, None));
    assert_eq!(
        (models.id(), models.name(), models.context_tokens()),
        ("local_fm", "Foundation Models".to_owned(), Some(4096))
    );
}

#[cfg(not(target_os = "macos"))]
#[test]
fn unsupported_machine_reports_reason() {
    let models = FoundationModels::start();
    assert_eq!(models.availability(), Availability::Unavailable(Unavailability::NotMacOs.to_string()));
    assert!(models.capabilities().local && models.capabilities().tools && !models.capabilities().loaded);
}

#[test]
fn availability_is_checked_in_background() {
    let folder = tempfile::tempdir().unwrap();
    let models = FoundationModels::at(script(&folder, "done_"));
    assert!(
        matches!(models.availability(), Availability::Unavailable(why) if why.contains("checking whether"))
    );
    // The hello of a new helper, then its response to the command.
    let waited = Instant::now();
    while models.availability() != Availability::Ready && waited.elapsed() < HANG {
        thread::sleep(CANCEL_CHECK);
    }
    assert_eq!(models.availability(), Availability::Ready);
    assert!(models.capabilities().loaded);
    let later = models.check_availability(&never());
    assert_eq!(later, Availability::Unavailable(Unavailability::NotEnabled.to_string()));
    assert_eq!(models.availability(), later);
}

#[test]
fn crash_is_reported_and_next_request_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let models = FoundationModels::at(script(
        &folder,
        "if [ $id = 1 ]; then text; done_; else echo 'error: no luck' >&2; kill -9 $$; fi",
    ));
    assert_eq!(respond(&models, &never()), (Ok(StopReason::EndTurn), "t".to_owned()));
    let first = models.process_id().unwrap();
    let Err(ModelError::Crashed(why)) = respond(&models, &never()).0 else { panic!() };
    assert!(why.starts_with("signal 9 (SIGKILL)") && why.ends_with("error: no luck"), "{why}");
    assert!(!is_alive(first) && models.process_id().is_none());
    assert_eq!(respond(&models, &never()).0, Ok(StopReason::EndTurn), "ids restart with another helper");
    let second = models.process_id().unwrap();
    assert_ne!(first, second);
    drop(models);
    assert!(!is_alive(second), "it exits with the last clone");
}

#[test]
fn helper_that_does_not_exit_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let models = FoundationModels::at(script(&folder, "done_; exec sleep 120"));
    assert_eq!(respond(&models, &never()).0, Ok(StopReason::EndTurn));
    let process = models.process_id().unwrap();
    drop(models);
    assert!(!is_alive(process));
}

#[test]
fn invalid_report_fails_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    for unreadable in [
        "say noise",
        r#"say "{\"report\":\"text\",\"id\":$id}""#,
        r#"say '{"report":"failed","error":"malformed"}'"#,
    ] {
        let models = FoundationModels::at(script(&folder, unreadable));
        match respond(&models, &never()).0 {
            Err(ModelError::Failed(why)) => assert!(why.contains("cannot be read"), "{why}"),
            other => panic!("{unreadable}: {other:?}"),
        }
    }
}

#[test]
fn cancel_does_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    for respond_with in ["text; text", "exec sleep 120"] {
        let models = FoundationModels::at(script(&folder, respond_with));
        let cancel = CancellationToken::new();
        let later = cancel.clone();
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            later.cancel();
        });
        assert_eq!(respond(&models, &cancel).0, Err(ModelError::Cancelled));
    }
    let silent = FoundationModels::at(program(&folder, "#!/bin/sh\nexec sleep 120\n"));
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    assert_eq!(respond(&silent, &cancelled).0, Err(ModelError::Cancelled));
}

#[test]
fn other_program_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let old =
        program(&folder, "#!/bin/sh\necho '{\"report\":\"hello\",\"version\":\"0.0.1\"}'\nexec sleep 120\n");
    let rows = [
        (old, "version 0.0.1"),
        (PathBuf::from("/bin/true"), "does not respond (exit code 0)"),
        (PathBuf::from("/nonexistent/openagents-apple"), "cannot be started"),
    ];
    for (program, expected) in rows {
        match respond(&FoundationModels::at(program), &never()).0 {
            Err(ModelError::Unavailable(why)) => assert!(why.contains(expected), "{why}"),
            other => panic!("{expected}: {other:?}"),
        }
    }
}
