//! `make bench`: one busy session with two hundred readers, compared with a plain
//! broadcast server with the same readers.
//!
//! `OPENAGENTS_BENCH_SMALL=1` measures only a few seconds, for trying out the bench itself. The readers and the plain
//! server are separate processes, which this program starts from its own executable.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a bench prints its table")]
#![cfg_attr(not(target_os = "linux"), allow(dead_code, unused_imports, reason = "it reads /proc"))]

mod bridge;
mod frames;
mod latencies;
mod peer;
mod processes;
mod readers;

use anyhow::Result;
use bridge::Bridge;
use latencies::Latencies;
use openagents_e2e::table::{Goal, Table};
use peer::Peer;
use processes::{Child, Usage};
use std::time::Duration;

/// Readers of the busy session.
const READERS: usize = 200;
/// Updates per second.
const RATE: u64 = 500;
/// Updates that a reader has missed.
const MISSED: u64 = 10_000;
/// Connected clients that do nothing.
const IDLE: usize = 1000;
const RUNS: usize = 7;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["readers", rest @ ..] => return readers::main(rest),
        ["peer"] => return peer::main(),
        // `cargo test` also runs bench targets, with `--test`: the harness only has to build then.
        arguments if !arguments.contains(&"--bench") => return Ok(()),
        _ => {}
    }
    let small = std::env::var_os("OPENAGENTS_BENCH_SMALL").is_some();
    let seconds = if small { 4 } else { 20 };
    let mut table = Table::new(format!("{READERS} readers, {RATE} updates a second, {seconds} s"));
    let plain = {
        let mut peer = Peer::start()?;
        let readers = readers::start(peer.port, None, READERS, RATE * seconds)?;
        peer.stream(RATE * seconds, RATE)?;
        watch("plain broadcast", readers, peer.child.pid(), seconds, &mut table)?
    };
    let folder = tempfile::tempdir()?;
    let bridge = Bridge::start(folder.path())?;
    let session = bridge.session()?;
    let readers = readers::start(bridge.port(), Some((bridge.token(), &session)), READERS, RATE * seconds)?;
    bridge.prompt(&session, &format!("stream {} {RATE}", RATE * seconds))?;
    let ours = watch("bridge", readers, bridge.pid(), seconds, &mut table)?;
    table.add("bridge beside plain broadcast: p50", "×", vec![ours.p50 / plain.p50], None);
    table.add("bridge beside plain broadcast: p99", "×", vec![ours.p99 / plain.p99], None);
    table.add("bridge beside plain broadcast: CPU", "×", vec![ours.cpu / plain.cpu], None);
    bridge.catch_up(MISSED, RUNS, &mut table)?;
    bridge.idle(if small { 200 } else { IDLE }, &mut table)?;
    let most = Usage::for_pid(bridge.pid())?.peak;
    table.add("bridge: peak memory of all of it (VmHWM)", "MB", vec![most], Some(Goal::Most(150.0)));
    table.print();
    Ok(())
}

struct Figures {
    /// Milliseconds.
    p50: f64,
    p99: f64,
    /// Seconds.
    cpu: f64,
}

/// Waits for the end of a run, sampling the server's memory on the way.
fn watch(name: &str, readers: Child, server: u32, seconds: u64, table: &mut Table) -> Result<Figures> {
    let before = Usage::for_pid(server)?;
    let mut resident = Vec::new();
    for _ in 0..4 {
        std::thread::sleep(Duration::from_millis(seconds * 250));
        resident.push(Usage::for_pid(server)?.resident);
    }
    let report = readers.output()?;
    let after = Usage::for_pid(server)?;
    let latencies: Latencies = serde_json::from_str(&report)?;
    let cpu = after.cpu - before.cpu;
    let targets = (name == "bridge").then_some([50.0, 150.0]);
    eprintln!("{name}: resident after each quarter: {resident:.1?} MB");
    table.add(format!("{name}: delivery, median"), "ms", vec![latencies.p50], None);
    table.add(
        format!("{name}: delivery, p99"),
        "ms",
        vec![latencies.p99],
        targets.map(|[p99, _]| Goal::Most(p99)),
    );
    table.add(format!("{name}: delivery, worst"), "ms", vec![latencies.max], None);
    table.add(
        format!("{name}: updates missing or out of order"),
        "",
        vec![latencies.wrong],
        Some(Goal::Most(0.0)),
    );
    table.add(format!("{name}: CPU of the server"), "s", vec![cpu], None);
    table.add(format!("{name}: CPU of the readers"), "s", vec![latencies.cpu], None);
    table.add(format!("{name}: resident memory"), "MB", resident.clone(), None);
    table.add(
        format!("{name}: peak memory (VmHWM)"),
        "MB",
        vec![after.peak],
        targets.map(|[_, memory]| Goal::Most(memory)),
    );
    if let [_, middle, .., last] = resident.as_slice() {
        let most = targets.map(|_| Goal::Most(10.0));
        table.add(format!("{name}: memory grows after the first half"), "MB", vec![last - middle], most);
    }
    Ok(Figures { p50: latencies.p50, p99: latencies.p99, cpu })
}
