//! Failures, crashes and contention of the engine: the status shown and the state left behind.

use super::stage::{Cue, ROOMY, Stage, ask, card, until};
use crate::{Local, machine::MachineFacts};
use openagents_core::{
    CancellationToken,
    model::{
        Activity, Availability, LanguageModel, LocalModels, ModelCommand, ModelError, ModelEvent,
        ModelRequest, ModelStatus, SettingsChange, StopReason,
    },
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

/// Time limit for every wait; exceeding it means a hang.
const HANG: Duration = Duration::from_secs(60);
const FULL: MachineFacts = MachineFacts { memory_free: 1 << 20, ..ROOMY };

fn never() -> CancellationToken {
    CancellationToken::new()
}

/// Creates a `Local` on a machine whose facts the test can change.
fn on_machine(stage: &Stage) -> (Arc<Local>, Arc<Mutex<MachineFacts>>) {
    let machine = Arc::new(Mutex::new(ROOMY));
    let facts = machine.clone();
    let local = Local::start(stage.config().with_machine(move || *facts.lock().unwrap()));
    local.command(ModelCommand::Use { id: "tiny".to_owned() }).unwrap();
    (local, machine)
}

#[test]
fn failed_load_leaves_no_process() {
    let stage = Stage::new().with_model("tiny.gguf");
    let (local, machine) = on_machine(&stage);
    stage.engine.cue([Cue::Fail(ModelError::Load("damaged".to_owned()))]);
    assert!(ask(&local, &never()).1.is_err());
    assert!(!stage.engine.is_running(), "failed");

    stage.engine.cue([Cue::Wait]);
    let cancel = never();
    let asking = thread::spawn({
        let (local, cancel) = (local.clone(), cancel.clone());
        move || ask(&local, &cancel).1
    });
    until(&local, "tiny", |status| matches!(status, ModelStatus::Loading { progress } if *progress == 0.5));
    cancel.cancel();
    assert_eq!(asking.join().unwrap(), Err(ModelError::Cancelled));
    assert_eq!(card(&local, "tiny").status, ModelStatus::NotLoaded);
    assert!(!stage.engine.is_running(), "cancelled");

    *machine.lock().unwrap() = FULL;
    assert!(matches!(ask(&local, &never()).1, Err(ModelError::Unavailable(_))));
    assert!(!stage.engine.is_running(), "refused");
}

#[test]
fn idle_crash_is_shown() {
    let stage = Stage::new().with_model("tiny.gguf");
    let (local, machine) = on_machine(&stage);
    assert!(ask(&local, &never()).1.is_ok());
    stage.engine.die();
    let status = until(&local, "tiny", |status| *status != ModelStatus::Ready);
    let ModelStatus::Error { reason } = status else { panic!("{status:?}") };
    assert!(reason.starts_with("the local model stopped unexpectedly"), "{reason}");
    assert_eq!(card(&local, "tiny").memory_bytes, None);
    assert!(ask(&local, &never()).1.is_ok());

    *machine.lock().unwrap() = FULL;
    stage.engine.die_before_next();
    let refused = ask(&local, &never()).1;
    assert!(
        matches!(&refused, Err(ModelError::Unavailable(why)) if why.contains("free memory")),
        "{refused:?}"
    );
}

#[test]
fn engine_start_is_shown_and_cancellable() {
    let stage = Stage::new().with_model("tiny.gguf");
    let local = stage.local_with("tiny");
    stage.engine.cue_start(Cue::Wait);
    local.command(ModelCommand::Load).unwrap();
    until(&local, "tiny", |status| *status == ModelStatus::Loading { progress: 0.0 });
    local.command(ModelCommand::Unload).unwrap();
    until(&local, "tiny", |status| *status == ModelStatus::NotLoaded);
    assert!(stage.engine.loads().is_empty());
}

#[test]
fn process_ended_by_cancel_is_restarted() {
    let stage = Stage::new().with_model("tiny.gguf");
    let local = stage.local_with("tiny");
    assert!(ask(&local, &never()).1.is_ok());
    stage.engine.die_before_next();
    assert_eq!(ask(&local, &never()).1, Ok(StopReason::EndTurn));
    assert_eq!(stage.engine.loads(), ["tiny.gguf", "tiny.gguf"]);
}

#[test]
fn memory_of_previous_model_counts_as_free() {
    const GIB: u64 = 1 << 30;
    let stage = Stage::new().with_model("tiny.gguf").with_model("other.gguf");
    stage.engine.needs(8 * GIB);
    let (local, machine) = on_machine(&stage);
    stage.engine.cue([Cue::Well, Cue::Wait]);
    let asking = thread::spawn({
        let local = local.clone();
        move || ask(&local, &never()).1
    });
    until(&local, "tiny", |status| *status == ModelStatus::Generating);
    *machine.lock().unwrap() = MachineFacts { memory_free: GIB / 2, ..ROOMY };
    local.command(ModelCommand::Use { id: "other".to_owned() }).unwrap();
    assert_eq!(local.availability(), Availability::Ready);
    stage.engine.go();
    assert_eq!(asking.join().unwrap(), Ok(StopReason::EndTurn));
    assert_eq!(card(&local, "tiny").status, ModelStatus::NotLoaded, "it is not in use any more");
    assert!(!stage.engine.is_running());
    assert!(matches!(local.availability(), Availability::Unavailable(_)));
}

#[test]
fn failed_load_is_shown() {
    let stage = Stage::new().with_model("tiny.gguf");
    let (local, machine) = on_machine(&stage);
    let change = SettingsChange { preload: Some(true), ..SettingsChange::default() };
    local.command(ModelCommand::Configure { settings: change }).unwrap();
    let turn = local.inner.turns.try_turn().unwrap();
    local.command(ModelCommand::Load).unwrap();
    // The memory was taken while the load waited.
    *machine.lock().unwrap() = FULL;
    drop(turn);
    let output = until(&local, "tiny", |status| matches!(status, ModelStatus::Error { .. }));
    assert!(matches!(output, ModelStatus::Error { reason } if reason.contains("free memory")));

    let next = Local::start(stage.config().with_machine(|| FULL));
    let output = card(&next, "tiny").status;
    assert!(matches!(&output, ModelStatus::Error { reason } if reason.contains("free memory")), "{output:?}");
}

#[test]
fn older_listing_never_overwrites_newer() {
    let stage = Stage::new();
    let (held, slow) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(())));
    let (reached, at_machine) = mpsc::channel();
    let facts = {
        let (held, slow, reached) = (held.clone(), slow.clone(), Mutex::new(reached));
        move || {
            if held.swap(false, Ordering::SeqCst) {
                reached.lock().unwrap().send(()).unwrap();
                drop(slow.lock().unwrap());
            }
            ROOMY
        }
    };
    let local = Local::start(stage.config().with_machine(facts));
    let refresh = || {
        let local = local.clone();
        thread::spawn(move || local.refresh())
    };
    let gate = slow.lock().unwrap();
    held.store(true, Ordering::SeqCst);
    let first = refresh();
    at_machine.recv_timeout(HANG).unwrap();
    let stage = stage.with_model("tiny.gguf");
    let second = refresh();
    let begun = Instant::now();
    while !second.is_finished() && begun.elapsed() < Duration::from_millis(300) {
        thread::sleep(Duration::from_millis(5));
    }
    drop(gate);
    first.join().unwrap();
    second.join().unwrap();
    assert!(local.snapshot().models.iter().any(|card| card.id == "tiny"), "{:?}", stage.folder);
}

#[test]
fn idle_model_is_unloaded_after_a_check() {
    let stage = Stage::new().with_model("tiny.gguf");
    let local = stage.local_with("tiny");
    assert!(ask(&local, &never()).1.is_ok());
    let turn = local.inner.turns.try_turn();
    let later = Instant::now() + Duration::from_secs(3_600);
    assert!(local.inner.unload_if_due(later).is_some(), "it looks again");
    drop(turn);
    assert_eq!(local.inner.unload_if_due(later), None);
    assert_eq!(card(&local, "tiny").status, ModelStatus::NotLoaded);
}

#[test]
fn waiting_request_sees_load_progress() {
    let stage = Stage::new().with_model("tiny.gguf");
    let local = stage.local_with("tiny");
    stage.engine.cue([Cue::Wait]);
    local.command(ModelCommand::Load).unwrap();
    until(&local, "tiny", |status| matches!(status, ModelStatus::Loading { progress } if *progress == 0.5));
    let refused = local.command(ModelCommand::Remove { id: "tiny".to_owned() }).unwrap_err().to_string();
    assert_eq!(refused, "Tiny is being loaded; unload it first", "it does not answer");
    let (tell, output) = mpsc::channel();
    let asking = thread::spawn({
        let local = local.clone();
        move || local.respond(&ModelRequest::default(), &never(), &mut |event| tell.send(event).unwrap())
    });
    let first = output.recv_timeout(HANG).unwrap();
    assert_eq!(first, ModelEvent::Activity(Activity::Loading { progress: 0.5 }));
    stage.engine.go();
    assert_eq!(asking.join().unwrap(), Ok(StopReason::EndTurn));
}
