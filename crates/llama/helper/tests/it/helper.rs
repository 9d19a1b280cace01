//! The helper program as a process: crashes, exit, and invalid lines.

use crate::support::{answer, ask, gpt_oss, helper, load, signal, try_answer, wait_until};
use openagents_core::{
    CancellationToken,
    helper::write_line,
    model::{ModelError, ModelEvent},
};
use openagents_llama::{
    Engine, LoadRequest,
    client::Helper,
    protocol::{Command, MAX_LINE, Report},
};
use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
};

#[test]
fn crash_is_reported_and_next_load_restarts() {
    let engine = helper();
    for (sent, reply) in [("KILL", "signal 9 (SIGKILL)"), ("ABRT", "signal 6 (SIGABRT)")] {
        load(&engine, &gpt_oss(), 16_384);
        let process = engine.process_id().unwrap();
        let mut endless = ask("please loop", 1);
        endless.options.max_tokens = None;
        let crashed = engine.generate(&endless, &CancellationToken::new(), &mut |event| {
            if matches!(event, ModelEvent::Text(_)) {
                signal(sent, process);
            }
        });
        let Err(ModelError::Crashed(reason)) = &crashed else { panic!("{crashed:?}") };
        assert!(reason.starts_with(reply), "{reason}");
        assert_eq!((engine.loaded(), engine.memory_bytes(), engine.process_id()), (None, None, None));
        assert!(!signal("0", process), "a zombie is left");
        assert!(matches!(try_answer(&engine, &ask("hello", 9)), Err(ModelError::Failed(_))));
    }
    load(&engine, &gpt_oss(), 512);
    assert_eq!(answer(&engine, &ask("hello", 100)).text, "Hello there, friend 🦊!");
}

#[test]
fn idle_crash_is_noticed() {
    let engine = helper();
    load(&engine, &gpt_oss(), 512);
    signal("KILL", engine.process_id().unwrap());
    wait_until("nothing is loaded", || engine.loaded().is_none());
    load(&engine, &gpt_oss(), 512);
    assert!(engine.loaded().is_some());
}

#[test]
fn unload_and_drop_end_process() {
    let engine = helper();
    load(&engine, &gpt_oss(), 512);
    let first = engine.process_id().unwrap();
    engine.unload();
    assert!(!signal("0", first) && engine.process_id().is_none());
    load(&engine, &gpt_oss(), 512);
    let second = engine.process_id().unwrap();
    drop(engine);
    assert!(!signal("0", second));
}

#[test]
fn unload_during_answer_is_not_a_crash() {
    let engine = helper();
    load(&engine, &gpt_oss(), 16_384);
    let mut endless = ask("please loop", 1);
    endless.options.max_tokens = None;
    let mut unloaded = false;
    let ended = engine.generate(&endless, &CancellationToken::new(), &mut |event| {
        if matches!(event, ModelEvent::Text(_)) && !std::mem::replace(&mut unloaded, true) {
            engine.unload();
        }
    });
    assert!(matches!(&ended, Err(ModelError::Unavailable(why)) if why.contains("unloaded")), "{ended:?}");
}

#[test]
fn helper_reports_devices() {
    let engine = helper();
    let devices = engine.devices(&CancellationToken::new()).unwrap();
    assert!(devices.iter().any(|device| device.memory_total > 0), "{devices:?}");
}

#[test]
fn other_program_is_rejected() {
    for program in ["/bin/true", "/nonexistent/openagents-llama"] {
        let engine = Helper::at(program);
        let request = LoadRequest { path: gpt_oss(), context_tokens: 512, threads: Some(1) };
        match engine.load(&request, &CancellationToken::new(), &mut |_| ()) {
            Err(ModelError::Unavailable(sentence)) => assert!(sentence.contains(program), "{sentence}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn invalid_lines_are_answered() {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_openagents-llama"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut report = || serde_json::from_str::<Report>(&lines.next().unwrap().unwrap()).unwrap();
    assert!(matches!(report(), Report::Hello { .. }));

    for (line, id) in [
        (&b"{"[..], None),
        (b"\xff\xfe\x00", None),
        (b"[]", None),
        (b"{\"command\":\"fly\",\"id\":5}", Some(5)),
        (b"{\"command\":\"load\",\"id\":6}", Some(6)),
        (b"{\"command\":\"generate\",\"id\":7,\"request\":{\"messages\":7}}", Some(7)),
    ] {
        input.write_all(line).unwrap();
        input.write_all(b"\n").unwrap();
        match report() {
            Report::Failed { id: answered, error: ModelError::Failed(_) } => assert_eq!(answered, id),
            other => panic!("{other:?}"),
        }
    }
    input.write_all(&vec![b'x'; MAX_LINE + 1]).unwrap();
    input.write_all(b"\n").unwrap();
    assert!(matches!(report(), Report::Failed { id: None, .. }));
    write_line(&mut input, &Command::Cancel { id: 99 }).unwrap();
    let load = LoadRequest { path: "/nowhere.gguf".into(), context_tokens: 512, threads: None };
    write_line(&mut input, &Command::Load { id: 8, load }).unwrap();
    assert!(matches!(report(), Report::Failed { id: Some(8), error: ModelError::Load(_) }));
    drop(input);
    assert!(child.wait().unwrap().success());
}
