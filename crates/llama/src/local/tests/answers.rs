//! Loading, answering, waiting, unloading.

use super::stage::{Cue, ROOMY, Stage, ask, card, until};
use crate::{
    Local,
    machine::{MachineFacts, Pressure},
};
use openagents_core::{
    CancellationToken,
    model::{
        Activity, Availability, LanguageModel, LocalModels, ModelCommand, ModelError, ModelEvent,
        ModelRequest, ModelStatus, SettingsChange, StopReason,
    },
};
use std::{
    sync::{Arc, Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

fn never() -> CancellationToken {
    CancellationToken::new()
}

fn refusal(local: &Local) -> String {
    match local.availability() {
        Availability::Unavailable(reason) => reason,
        Availability::Ready => "ready".to_owned(),
    }
}

#[test]
fn prompt_loads_model_and_records_usage() {
    let stage = Stage::new().with_model("tiny.gguf");
    let local = stage.local_with("tiny");
    assert_eq!(card(&local, "tiny").status, ModelStatus::NotLoaded);
    let (events, result) = ask(&local, &never());
    assert_eq!(result, Ok(StopReason::EndTurn));
    let loading = |progress| ModelEvent::Activity(Activity::Loading { progress });
    assert_eq!(events[..2], [loading(0.0), loading(0.5)]);
    assert_eq!(events[3], ModelEvent::Text("Hello".to_owned()));
    let tiny = card(&local, "tiny");
    assert_eq!((tiny.status, tiny.in_use), (ModelStatus::Ready, true));
    assert_eq!((tiny.memory_bytes, tiny.context_tokens), (Some(123), Some(32_768)));
    assert!(tiny.usage.is_some() && tiny.last_used.is_some());
    assert!(ask(&local, &never()).1.is_ok());
    assert_eq!(stage.engine.loads(), ["tiny.gguf"], "it was loaded once");
    assert_eq!(
        card(&stage.local(), "tiny").last_used,
        card(&local, "tiny").last_used,
        "it is kept after a restart"
    );
}

#[test]
fn first_token_time_includes_loading() {
    let stage = Stage::new().with_model("tiny.gguf");
    stage.engine.cue([Cue::Wait]);
    let local = stage.local_with("tiny");
    let begun = Instant::now();
    let asking = thread::spawn({
        let local = local.clone();
        move || ask(&local, &never())
    });
    until(&local, "tiny", |status| matches!(status, ModelStatus::Loading { progress } if *progress == 0.5));
    thread::sleep(Duration::from_millis(30));
    stage.engine.go();
    let (events, _) = asking.join().unwrap();
    let Some(ModelEvent::Usage(usage)) = events.last() else { panic!("{events:?}") };
    let whole = begun.elapsed().as_millis() as u32;
    assert!((30..=whole).contains(&usage.first_token_ms), "{} of {whole} ms", usage.first_token_ms);
}

#[test]
fn errors_name_the_remedy() {
    let stage = Stage::new().with_model("tiny.gguf");
    std::fs::write(stage.folder.path().join("notes.gguf"), "text").unwrap();
    let mut shown = vec![refusal(&stage.local())];
    let gone = stage.local_with("tiny");
    std::fs::rename(stage.folder.path().join("tiny.gguf"), stage.folder.path().join("moved")).unwrap();
    shown.push(refusal(&gone));
    std::fs::rename(stage.folder.path().join("moved"), stage.folder.path().join("tiny.gguf")).unwrap();
    let small = MachineFacts { memory_free: 1 << 30, ..ROOMY };
    shown.push(refusal(&Local::start(stage.config().with_machine(move || small))));
    let notes = stage.folder.path().join("notes.gguf");
    let notes = Local::start(crate::LocalConfig { model_file: Some(notes), ..stage.config() });
    shown.push(refusal(&notes).rsplit_once('/').unwrap().1.to_owned());
    shown.push(
        notes
            .command(ModelCommand::Use { id: "tiny".to_owned() })
            .unwrap_err()
            .to_string()
            .rsplit_once('/')
            .unwrap()
            .1
            .to_owned(),
    );
    assert!(matches!(ask(&notes, &never()).1, Err(ModelError::Unavailable(_))));
    insta::assert_snapshot!(shown.join("\n"), @"
    GPTOSS 20B is not downloaded; run `openagents models download`, or add a GGUF file with `openagents models add FILE`
    no such model: tiny; choose another one with `openagents models use ID`
    Tiny can't run now: it needs 1.1 GB of free memory, but only 1.0 GB is free; close other programs or use a smaller model
    notes.gguf is not a GGUF file, whatever its name says; choose another file or download the model again
    notes.gguf; restart it without this file to choose another one
    ");
}

#[test]
fn requests_are_queued_and_can_be_cancelled() {
    let stage = Stage::new().with_model("tiny.gguf");
    stage.engine.cue([Cue::Well, Cue::Wait]);
    let local = stage.local_with("tiny");
    let first = thread::spawn({
        let local = local.clone();
        move || ask(&local, &never()).1
    });
    until(&local, "tiny", |status| *status == ModelStatus::Generating);
    let cancel = never();
    let (shown, waits) = mpsc::channel();
    let second = thread::spawn({
        let (local, cancel) = (local.clone(), cancel.clone());
        move || local.respond(&ModelRequest::default(), &cancel, &mut |event| shown.send(event).unwrap())
    });
    let waiting = waits.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(waiting, ModelEvent::Activity(Activity::Waiting));
    cancel.cancel();
    assert_eq!(second.join().unwrap(), Err(ModelError::Cancelled));
    assert!(!first.is_finished());
    stage.engine.go();
    assert_eq!(first.join().unwrap(), Ok(StopReason::EndTurn));
}

#[test]
fn failed_load_is_retried_by_next_request() {
    let failed = ModelError::Load("the file cannot be loaded".to_owned());
    let rows = [
        (vec![Cue::Fail(failed.clone())], failed),
        (vec![Cue::Well, Cue::Crash], ModelError::Crashed("signal 6".to_owned())),
    ];
    for (cues, error) in rows {
        let stage = Stage::new().with_model("tiny.gguf");
        stage.engine.cue(cues);
        let local = stage.local_with("tiny");
        assert_eq!(ask(&local, &never()).1, Err(error.clone()));
        assert_eq!(card(&local, "tiny").status, ModelStatus::Error { reason: error.to_string() });
        assert_eq!(ask(&local, &never()).1, Ok(StopReason::EndTurn));
        assert_eq!(card(&local, "tiny").status, ModelStatus::Ready);
    }
}

#[test]
fn unload_cancels_load_but_not_answer() {
    let stage = Stage::new().with_model("tiny.gguf");
    let local = stage.local_with("tiny");
    stage.engine.cue([Cue::Wait]);
    local.command(ModelCommand::Load).unwrap();
    until(&local, "tiny", |status| matches!(status, ModelStatus::Loading { .. }));
    local.command(ModelCommand::Unload).unwrap();
    until(&local, "tiny", |status| *status == ModelStatus::NotLoaded);
    stage.engine.cue([Cue::Well, Cue::Wait]);
    let asking = thread::spawn({
        let local = local.clone();
        move || ask(&local, &never()).1
    });
    until(&local, "tiny", |status| *status == ModelStatus::Generating);
    let refused = local.command(ModelCommand::Unload).unwrap_err().to_string();
    assert_eq!(refused, "the model is answering; stop the answer first");
    let refused = local.command(ModelCommand::Remove { id: "tiny".to_owned() }).unwrap_err().to_string();
    assert_eq!(refused, "Tiny is answering; stop the answer first");
    stage.engine.go();
    assert_eq!(asking.join().unwrap(), Ok(StopReason::EndTurn));
    local.command(ModelCommand::Unload).unwrap();
    assert_eq!(card(&local, "tiny").status, ModelStatus::NotLoaded);
}

#[test]
fn switch_takes_effect_at_next_request() {
    let stage = Stage::new().with_model("tiny.gguf").with_model("other.gguf");
    stage.engine.cue([Cue::Well, Cue::Wait]);
    let local = stage.local_with("tiny");
    let asking = thread::spawn({
        let local = local.clone();
        move || ask(&local, &never()).1
    });
    until(&local, "tiny", |status| *status == ModelStatus::Generating);
    local.command(ModelCommand::Use { id: "other".to_owned() }).unwrap();
    stage.engine.go();
    assert_eq!(asking.join().unwrap(), Ok(StopReason::EndTurn));
    assert!(ask(&local, &never()).1.is_ok());
    assert_eq!(stage.engine.loads(), ["tiny.gguf", "other.gguf"]);
    assert_eq!(card(&local, "tiny").status, ModelStatus::NotLoaded);
    assert_eq!(card(&local, "other").status, ModelStatus::Ready);
}

#[test]
fn idle_model_is_unloaded() {
    let start = Instant::now();
    let now = Arc::new(Mutex::new(start));
    let facts = Arc::new(Mutex::new(ROOMY));
    let stage = Stage::new().with_model("tiny.gguf");
    let (clock, machine) = (now.clone(), facts.clone());
    let reply = Arc::new(Mutex::new(None));
    let pressure = reply.clone();
    let config = stage.config().with_clock(move || *clock.lock().unwrap());
    let config = config.with_pressure(move || *pressure.lock().unwrap());
    let local = Local::start(config.with_machine(move || *machine.lock().unwrap()));
    local.command(ModelCommand::Use { id: "tiny".to_owned() }).unwrap();
    let minutes = |minutes: u64| start + Duration::from_secs(minutes * 60);
    assert!(ask(&local, &never()).1.is_ok());
    assert!(local.inner.unload_if_due(minutes(9)).is_some());
    assert_eq!(card(&local, "tiny").status, ModelStatus::Ready);
    assert_eq!(local.inner.unload_if_due(minutes(10)), None);
    assert_eq!(card(&local, "tiny").status, ModelStatus::NotLoaded);
    // Disabled, except under memory pressure.
    let change = SettingsChange { idle_minutes: Some(0), ..SettingsChange::default() };
    local.command(ModelCommand::Configure { settings: change }).unwrap();
    assert!(ask(&local, &never()).1.is_ok());
    assert!(local.inner.unload_if_due(minutes(999)).is_some());
    assert_eq!(card(&local, "tiny").status, ModelStatus::Ready);
    facts.lock().unwrap().memory_free = 1 << 30;
    // Regression: nearly all memory was in use, but the system reported normal pressure.
    *reply.lock().unwrap() = Some(Pressure::Normal);
    assert!(local.inner.unload_if_due(minutes(999)).is_some());
    assert_eq!(card(&local, "tiny").status, ModelStatus::Ready);
    *reply.lock().unwrap() = None;
    assert_eq!(local.inner.unload_if_due(minutes(999)), None);
    assert_eq!(card(&local, "tiny").status, ModelStatus::NotLoaded);
}

#[test]
fn idle_thread_unloads_model() {
    let stage = Stage::new().with_model("tiny.gguf");
    let skipped = Arc::new(Mutex::new(Duration::ZERO));
    let clock = skipped.clone();
    let local = Local::start(stage.config().with_clock(move || Instant::now() + *clock.lock().unwrap()));
    local.command(ModelCommand::Use { id: "tiny".to_owned() }).unwrap();
    assert!(ask(&local, &never()).1.is_ok());
    *skipped.lock().unwrap() = Duration::from_secs(700);
    // Any change makes the thread check again.
    let change = SettingsChange { temperature: Some(0.1), ..SettingsChange::default() };
    local.command(ModelCommand::Configure { settings: change }).unwrap();
    until(&local, "tiny", |status| *status == ModelStatus::NotLoaded);
}

#[test]
fn model_is_preloaded_if_requested() {
    let stage = Stage::new().with_model("tiny.gguf");
    let change = SettingsChange { preload: Some(true), ..SettingsChange::default() };
    stage.local_with("tiny").command(ModelCommand::Configure { settings: change }).unwrap();
    let local = stage.local();
    until(&local, "tiny", |status| *status == ModelStatus::Ready);
    assert!(local.capabilities().loaded && local.capabilities().tools);
    local.shut_down();
    assert_eq!(card(&local, "tiny").status, ModelStatus::NotLoaded);
    assert_eq!(
        ask(&local, &never()).1,
        Err(ModelError::Unavailable("OpenAgents is shutting down".to_owned()))
    );
}

#[test]
fn watchers_see_every_change() {
    let stage = Stage::new().with_model("tiny.gguf");
    let local = stage.local_with("tiny");
    let (shown, changes) = mpsc::channel();
    local.watch(Arc::new(move || {
        let _ = shown.send(());
    }));
    assert!(ask(&local, &never()).1.is_ok());
    assert!(changes.try_iter().count() >= 4, "loading, its progress, generating, ready");
}
