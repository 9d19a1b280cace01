//! Cancels, and clients that do not read.

use crate::support::{Answer, answer, ask, effort, gpt_oss, helper, load, signal, small_model, wait_until};
use openagents_core::{
    CancellationToken,
    model::{Activity, ModelError, ModelEvent, StopReason},
};
use openagents_llama::{Engine, LoadRequest};
use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

#[test]
fn cancelled_answer_is_followed_by_next() {
    let engine = helper();
    load(&engine, &gpt_oss(), 16_384);
    let cancel = CancellationToken::new();
    let mut texts = 0;
    let mut endless = ask("please loop", 1);
    endless.options.max_tokens = None;
    let cancelled = engine.generate(&endless, &cancel, &mut |event| {
        texts += usize::from(matches!(event, ModelEvent::Text(_)));
        if texts == 20 {
            cancel.cancel();
        }
    });
    assert_eq!(cancelled, Err(ModelError::Cancelled));
    assert_eq!(texts, 20, "no text after a cancel");
    assert_eq!(answer(&engine, &ask("hello", 100)).text, "Hello there, friend 🦊!");
}

#[test]
fn prompt_processing_can_be_cancelled() {
    let engine = helper();
    load(&engine, &small_model(), 4_096);
    let cancel = CancellationToken::new();
    let long = "one more word and ".repeat(700);
    let mut read = Vec::new();
    let cancelled = engine.generate(&ask(&long, 10), &cancel, &mut |event| {
        if let ModelEvent::Activity(Activity::ReadingPrompt { progress }) = event {
            read.push(progress);
            cancel.cancel();
        }
    });
    assert_eq!((cancelled, read), (Err(ModelError::Cancelled), vec![0.0]));
    let next = answer(&engine, &ask("What is the capital of France?", 40));
    assert!(next.text.contains("Paris"), "{next:?}");
}

#[test]
fn cancelled_command_does_not_start() {
    let engine = helper();
    load(&engine, &gpt_oss(), 512);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let mut reply = Answer::default();
    let cancelled = engine.generate(&ask("hello", 9), &cancel, &mut |event| reply.take(event));
    assert_eq!((cancelled, reply.text.as_str()), (Err(ModelError::Cancelled), ""));
    let request = LoadRequest { path: gpt_oss(), context_tokens: 512, threads: Some(1) };
    assert_eq!(engine.load(&request, &cancel, &mut |_| ()), Err(ModelError::Cancelled));
    assert_eq!(engine.loaded(), None);
    load(&engine, &gpt_oss(), 512);
}

#[test]
fn unresponsive_helper_is_killed_and_restarted() {
    let engine = helper();
    load(&engine, &gpt_oss(), 16_384);
    let stuck = engine.process_id().unwrap();
    let cancel = CancellationToken::new();
    let mut endless = ask("please loop", 1);
    endless.options.max_tokens = None;
    let mut texts = 0;
    let cancelled = engine.generate(&endless, &cancel, &mut |event| {
        texts += usize::from(matches!(event, ModelEvent::Text(_)));
        if texts == 5 {
            assert!(signal("STOP", stuck));
            cancel.cancel();
        }
    });
    assert_eq!(cancelled, Err(ModelError::Cancelled));
    wait_until("the stuck helper is gone", || !signal("0", stuck));
    assert_eq!(engine.loaded(), None);
    load(&engine, &gpt_oss(), 512);
    assert_ne!(engine.process_id(), Some(stuck));
    assert!(answer(&engine, &ask("hello", 100)).text.contains("friend"));
}

#[test]
fn slow_client_pauses_generation() {
    let engine = Arc::new(helper());
    load(&*engine, &gpt_oss(), 16_384);
    let process = engine.process_id().unwrap();
    let (go, gate) = mpsc::channel::<()>();
    let (events, seen) = mpsc::channel();
    let reader = std::thread::spawn({
        let engine = engine.clone();
        move || {
            let mut first = true;
            engine.generate(&ask("please loop", 3_000), &CancellationToken::new(), &mut |event| {
                if std::mem::take(&mut first) {
                    gate.recv().unwrap();
                }
                events.send(event).unwrap();
            })
        }
    });
    let mut before = effort(process);
    wait_until("the helper computes nothing", || {
        std::thread::sleep(Duration::from_secs(1));
        let now = effort(process);
        let idle = now.0 == before.0 && now.0 > 0;
        before = now;
        idle
    });
    assert!(!reader.is_finished());
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(effort(process), before);
    assert!(seen.try_recv().is_err());

    go.send(()).unwrap();
    assert_eq!(reader.join().unwrap(), Ok(StopReason::MaxTokens));
    let mut reply = Answer::default();
    seen.into_iter().for_each(|event| reply.take(event));
    assert_eq!(reply.usage.tokens, 3_000);
}
