//! The readers: one process with one thread, which for each update only finds the time at which it was sent.

use crate::{
    frames::Frames,
    latencies::Latencies,
    processes::{Child, Usage},
};
use anyhow::{Context as _, Result, ensure};
use std::time::{SystemTime, UNIX_EPOCH};

/// Starts `count` readers in a separate process; returns once all of them follow. `of` is the token and the session.
pub(crate) fn start(port: u16, of: Option<(&str, &str)>, count: usize, updates: u64) -> Result<Child> {
    let (token, session) = of.unwrap_or(("-", "-"));
    let numbers = [u64::from(port), count as u64, updates].map(|number| number.to_string());
    let [port, count, updates] = numbers.each_ref().map(String::as_str);
    let (child, first) = Child::part(&["readers", port, token, session, count, updates])?;
    ensure!(first == "ready", "{first}");
    Ok(child)
}

/// `readers PORT TOKEN SESSION COUNT UPDATES`
pub(crate) fn main(arguments: &[&str]) -> Result<()> {
    let [port, token, session, count, updates] = arguments else { anyhow::bail!("{arguments:?}") };
    let (port, count, updates) = (port.parse()?, count.parse()?, updates.parse()?);
    let of = (*token != "-").then_some((*token, *session));
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(run_readers(port, of, count, updates))
}

async fn run_readers(port: u16, of: Option<(&str, &str)>, count: usize, updates: u64) -> Result<()> {
    let mut readers = Vec::new();
    for _ in 0..count {
        let mut frames = Frames::connect(port, of.map(|(token, _)| token), 64 << 10).await?;
        if let Some((_, session)) = of {
            follow(&mut frames, session, u64::from(u32::MAX), false).await?;
        }
        readers.push(frames);
    }
    println!("ready");
    let before = Usage::own()?.cpu;
    let tasks: Vec<_> = readers.into_iter().map(|frames| tokio::spawn(one(frames, updates))).collect();
    let (mut micros, mut wrong) = (Vec::new(), 0);
    for task in tasks {
        let (of_one, wrong_of_one) = task.await?;
        micros.extend(of_one);
        wrong += wrong_of_one;
    }
    let latencies = Latencies::from_micros(micros, wrong, Usage::own()?.cpu - before);
    println!("{}", serde_json::to_string(&latencies)?);
    Ok(())
}

/// Initializes and follows a session, from the update after `since`. Returns the response.
pub(crate) async fn follow(frames: &mut Frames, session: &str, since: u64, snapshot: bool) -> Result<String> {
    let initialize = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": 1, "clientCapabilities": {}}});
    frames.send(&initialize.to_string()).await?;
    frames.next(|_| ()).await?;
    let attach = serde_json::json!({"jsonrpc": "2.0", "id": 2, "method": "_openagents/attach",
        "params": {"sessionId": session, "since": since, "snapshot": snapshot}});
    frames.send(&attach.to_string()).await?;
    frames.next(|text| String::from_utf8_lossy(text).into_owned()).await
}

/// Reads all updates; returns the latency of each in microseconds, and how many were wrong.
async fn one(mut frames: Frames, updates: u64) -> (Vec<u32>, u64) {
    let (mut micros, mut next) = (Vec::with_capacity(usize::try_from(updates).unwrap_or_default()), 0);
    let mut wrong = 0;
    while next < updates {
        let Ok(stamp) = frames.next(stamp).await else {
            return (micros, wrong + updates - next);
        };
        let Some((reply, number)) = stamp else { continue };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        micros.push(u32::try_from((now - reply.min(now)) / 1000).unwrap_or(u32::MAX));
        wrong += u64::from(number != next);
        next = number + 1;
    }
    (micros, wrong)
}

/// Finds the time at which an update was sent, and its number: `⟪nanoseconds⟫ number`.
fn stamp(text: &[u8]) -> Option<(u128, u64)> {
    let (open, close) = ("⟪".as_bytes(), "⟫ ".as_bytes());
    let rest = &text[memchr::memmem::find(text, open)? + open.len()..];
    let end = memchr::memmem::find(rest, close)?;
    let number = |digits: &[u8]| {
        let digit = |byte: &u8| byte.is_ascii_digit().then(|| u128::from(byte - b'0'));
        digits.iter().map_while(digit).fold(0u128, |number, digit| number * 10 + digit)
    };
    let (reply, number) = (number(&rest[..end]), number(&rest[end + close.len()..]));
    Some((reply, u64::try_from(number).ok()?))
}

/// Runs a future on one thread.
pub(crate) fn block_on<T>(what: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("a runtime")?.block_on(what)
}
