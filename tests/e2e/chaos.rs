//! No update is lost: a storm of clients, slow readers and kills, after which every log matches what was sent.
//!
//! `OPENAGENTS_CHAOS_SEED` repeats a storm, `OPENAGENTS_CHAOS_SECONDS` makes it longer, and `OPENAGENTS_CHAOS_DROP`
//! makes the disk lose one write, which must be found.

use anyhow::{Context as _, Result};
use openagents_e2e::chaos::{
    check::{self, Prompts, Shown, Verdict},
    numbers::{Item, Kind},
    plan::Plan,
    spoil::Spoiler,
    storm::{Aftermath, storm},
};
use std::{collections::HashSet, time::Duration};

fn from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn describe(verdict: &Verdict) -> String {
    // Missing items come last: there are usually many of them.
    let (missing, other): (Vec<_>, Vec<_>) =
        verdict.problems.iter().partition(|problem| problem.contains(" has no "));
    let first: Vec<&str> = other.into_iter().chain(missing).take(60).map(String::as_str).collect();
    format!("{verdict}; {} problems:\n{}", verdict.problems.len(), first.join("\n"))
}

fn counts(verdict: &Verdict) -> [usize; 3] {
    [verdict.lost.len(), verdict.duplicated.len(), verdict.reordered.len()]
}

#[tokio::test(flavor = "multi_thread")]
async fn chaos_loses_no_update() -> Result<()> {
    let seed = from_env("OPENAGENTS_CHAOS_SEED").unwrap_or_else(|| fastrand::u64(..1 << 32));
    let seconds = from_env("OPENAGENTS_CHAOS_SECONDS").unwrap_or(60);
    let drops = from_env("OPENAGENTS_CHAOS_DROP").is_some();
    println!("OPENAGENTS_CHAOS_SEED={seed}");
    let folder = tempfile::tempdir()?;
    let plan = Plan::new(seed, Duration::from_secs(seconds), 8, 4);
    let spoil = |spoiler: &Spoiler| if drops { spoiler.lose_one_write() } else { Ok(()) };
    let mut aftermath = storm(&plan, seed, folder.path(), spoil).await?;
    let verdict = aftermath.verdict().await?;
    println!("{aftermath}; {} lost to kills before any client saw them", verdict.unborn);
    println!("{verdict}");
    assert!(aftermath.ledger.len() > 1000, "{aftermath}");
    assert!(verdict.is_clean(), "seed {seed}: {}", describe(&verdict));
    Ok(())
}

/// Runs a storm in which nothing is killed.
async fn breeze(folder: &std::path::Path, spoil: impl FnOnce(&Spoiler) -> Result<()>) -> Result<Aftermath> {
    let plan = Plan { kills: Vec::new(), ..Plan::new(7, Duration::from_secs(6), 4, 1) };
    storm(&plan, 7, folder, spoil).await
}

async fn read_session(aftermath: &Aftermath, session: &str) -> Result<Shown> {
    let mut client = aftermath.read_anew("late").await?;
    let following = client.sessions.remove(session).context("the session")?;
    Ok(Shown { who: "late".to_owned(), session: session.to_owned(), rows: following.rows })
}

/// Returns the checker's verdict on one client's view alone.
fn judge(aftermath: &Aftermath, shown: Shown) -> Verdict {
    let mut ledger = aftermath.ledger.clone();
    ledger.sessions.retain(|session, _| *session == shown.session);
    check::check(&ledger, &Prompts::new(), &[shown], &HashSet::new())
}

#[tokio::test(flavor = "multi_thread")]
async fn check_finds_lost_repeated_and_misplaced() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut aftermath = breeze(folder.path(), |_| Ok(())).await?;
    let verdict = aftermath.verdict().await?;
    assert!(verdict.is_clean(), "{}", describe(&verdict));

    // Recorded in the ledger but never sent.
    let mut ledger = aftermath.ledger.clone();
    let life = ledger.sessions.values_mut().flatten().find(|life| life.said.len() > 10).context("a life")?;
    life.said.insert(5, (u64::MAX, Kind::Text));
    let verdict = check::check(&ledger, &aftermath.prompts, &aftermath.shown, &aftermath.seen);
    assert_eq!(counts(&verdict), [1, 0, 0], "{}", describe(&verdict));

    // Two rows of a log, in the database of a running bridge that holds none of them in memory.
    aftermath.bridge.kill()?;
    aftermath.bridge.restart()?;
    let longest = aftermath.shown.iter().max_by_key(|shown| shown.rows.len()).context("a log")?;
    let session = longest.session.clone();
    let is_text = |item: &Item| matches!(item, Item::Said(Kind::Text, _));
    let mut texts =
        longest.rows.windows(2).filter(|rows| rows.iter().all(|row| row.items.iter().all(is_text)));
    let row = texts.next_back().context("two pieces of text")?[0].seq;
    let spoiler = Spoiler::new(&aftermath.bridge)?;
    let clean = judge(&aftermath, read_session(&aftermath, &session).await?);
    assert!(clean.is_clean(), "{}", describe(&clean));

    spoiler.delete(&session, row)?;
    let lost = judge(&aftermath, read_session(&aftermath, &session).await?);
    assert_eq!(counts(&lost), [1, 0, 0], "{}", describe(&lost));
    spoiler.put_back()?;

    spoiler.swap(&session, row)?;
    let reordered = judge(&aftermath, read_session(&aftermath, &session).await?);
    assert_eq!(counts(&reordered), [0, 0, 1], "{}", describe(&reordered));
    spoiler.put_back()?;

    // The seq numbers after it change: only a restarted bridge accepts them as they are.
    aftermath.bridge.kill()?;
    spoiler.double(&session, row)?;
    aftermath.bridge.restart()?;
    let duplicated = judge(&aftermath, read_session(&aftermath, &session).await?);
    assert_eq!(counts(&duplicated), [0, 1, 0], "{}", describe(&duplicated));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn check_finds_a_lost_write() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut aftermath = breeze(folder.path(), Spoiler::lose_one_write).await?;
    let verdict = aftermath.verdict().await?;
    assert_eq!(counts(&verdict), [1, 0, 0], "{}", describe(&verdict));
    Ok(())
}
