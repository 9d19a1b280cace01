//! The helper exits with the program that started it, even after a crash.

use crate::{
    program::PROGRAM,
    support::{never, signal, wait_until},
};
use openagents_apple::FoundationModels;
use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

const PARENT: &str = "OPENAGENTS_TEST_PARENT";

/// Not a test: the test below starts this as a program and kills it.
#[test]
#[ignore = "the other test starts it"]
fn parent() {
    if std::env::var_os(PARENT).is_none() {
        return;
    }
    let models = FoundationModels::at(PROGRAM);
    models.check_availability(&never());
    println!("\nhelper {}", models.process_id().unwrap());
    std::thread::sleep(crate::support::HANG);
}

#[test]
fn helper_exits_when_parent_is_killed() {
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
