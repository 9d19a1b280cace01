//! A helper exits with the program that started it, even after a crash.

use crate::support::{ask, gpt_oss, helper, load, signal, wait_until};
use openagents_core::{CancellationToken, model::ModelEvent};
use openagents_llama::Engine;
use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

const PARENT: &str = "OPENAGENTS_TEST_PARENT";

/// Not a test, but the program that the test below starts, and kills while its helper answers.
#[test]
#[ignore = "the other test starts it"]
fn parent() {
    if std::env::var_os(PARENT).is_none() {
        return;
    }
    let engine = helper();
    load(&engine, &gpt_oss(), 131_072);
    let process = engine.process_id().unwrap();
    let mut endless = ask("please loop", 1);
    endless.options.max_tokens = None;
    let mut texts = 0;
    let ended = engine.generate(&endless, &CancellationToken::new(), &mut |event| {
        texts += usize::from(matches!(event, ModelEvent::Text(_)));
        if texts == 5 {
            texts += 1;
            println!("\nhelper {process}");
        }
    });
    panic!("expected to be killed: {ended:?}");
}

#[test]
fn helper_exits_when_parent_is_killed() {
    gpt_oss();
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "orphan::parent", "--ignored", "--nocapture"])
        .env(PARENT, "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(parent.stdout.take().unwrap()).lines();
    let helper = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("helper ")?.parse::<u32>().ok())
        .expect("the parent prints the id of its helper");
    assert!(signal("0", helper));
    // SIGKILL: the parent can't notify the helper.
    parent.kill().unwrap();
    parent.wait().unwrap();
    wait_until("the helper is gone", || !signal("0", helper));
}
