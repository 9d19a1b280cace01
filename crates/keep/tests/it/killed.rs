//! A process that is killed at any moment, or whose writes fail, loses nothing that it reported as captured.

use crate::support::{line, noise, read};
use openagents_keep::{Captured, CopyStore, KeepError, Sealing};
use std::{
    collections::HashMap,
    env,
    fs::{self, File},
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};
use xxhash_rust::xxh3::xxh3_128;

const FOLDER: &str = "OPENAGENTS_KEEP_TEST_FOLDER";
/// The number of steps of a process whose writes may fail.
const STEPS: &str = "OPENAGENTS_KEEP_TEST_STEPS";

/// Not a test by itself: the process that is killed, or may write no large files. It writes logs, captures them, and
/// reports each; it also erases copies, and compresses packs again.
#[test]
fn writes_until_it_is_killed() {
    let Ok(folder) = env::var(FOLDER) else { return };
    let folder = Path::new(&folder);
    let steps: Option<usize> = env::var(STEPS).ok().map(|steps| steps.parse().unwrap());
    let own = std::process::id() as usize;
    let mut random = fastrand::Rng::with_seed(own as u64);
    let failed = |error: KeepError| match steps {
        Some(_) => println!("failed {error}"),
        None => panic!("{error}"),
    };
    let store = match CopyStore::open(&folder.join("kept")) {
        Ok(store) => store,
        Err(error) => return failed(error),
    };
    // No line is ever written twice.
    for at in (own * 1_000_000..).take(steps.unwrap_or(usize::MAX)) {
        let which = random.usize(..5);
        let path = folder.join(format!("{which}.jsonl"));
        let rewrites = random.u8(..20) == 0;
        let mut log = File::options()
            .create(true)
            .append(!rewrites)
            .write(true)
            .truncate(rewrites)
            .open(&path)
            .unwrap();
        for _ in 0..random.usize(1..40) {
            let line = line(at, &noise(random.u64(..50), random.usize(..3000)));
            if log.write_all(line.as_bytes()).is_err() {
                assert!(steps.is_some());
            }
        }
        let captured = match capture(&store, &which.to_string(), &path, at, random.u8(..4) == 0) {
            Ok((_, captured)) => captured,
            Err(error) => {
                failed(error);
                continue;
            }
        };
        let log = fs::read(&path).unwrap();
        println!("captured {which} {} {:x}", log.len(), xxh3_128(&log));
        let mut work = || -> Result<(), KeepError> {
            if captured == (Captured::Rewritten { before_stays: false }) {
                let id = store.put(&which.to_string(), "", "")?;
                store.drop_contained(id, "log.jsonl")?;
            }
            match random.u8(..10) {
                0 => store.seal_journals(Duration::ZERO),
                1 => store.keep_spare(),
                2 => store.recompress(Duration::ZERO, Duration::from_millis(50)).map(drop),
                // It shares values with others.
                3 => store.erase(&[capture(&store, "erased", &path, at, true)?.0]),
                _ => Ok(()),
            }
        };
        work().unwrap_or_else(failed);
    }
}

/// Captures a log. Returns its collection, and what was new.
fn capture(
    store: &CopyStore,
    name: &str,
    path: &Path,
    at: usize,
    seals: bool,
) -> Result<(i64, Captured), KeepError> {
    let id = store.put(name, "", "")?;
    let mut source = File::open(path)?;
    let mut sealing = seals.then(|| store.seal()).transpose()?;
    let captured = store.capture(
        id,
        "log.jsonl",
        &mut source,
        at as i64,
        sealing.as_mut().map(|sealing| (sealing, 0)),
    )?;
    sealing.map_or(Ok(()), Sealing::finish)?;
    Ok((id, captured))
}

/// What a process reported.
#[derive(Default)]
struct Report {
    /// The length and hash of each log that was captured last.
    captured: HashMap<String, (usize, String)>,
    failures: Vec<String>,
}

impl Report {
    fn add(&mut self, line: &str) {
        if let Some((_, error)) = line.split_once("failed ") {
            self.failures.push(error.to_owned());
        }
        // The test's own report is on the same line as the first one.
        let Some((_, report)) = line.split_once("captured ") else { return };
        let [which, length, sum] = report.split(' ').collect::<Vec<_>>()[..] else { return };
        self.captured.insert(which.to_owned(), (length.parse().unwrap(), sum.to_owned()));
    }

    /// Everything that was captured is in the store.
    fn check(self, store: &CopyStore, context: &str) {
        assert_eq!(store.verify((0, 1), &|| false).unwrap().damaged, [], "{context}");
        let ids: HashMap<String, i64> =
            store.collections().unwrap().into_iter().map(|it| (it.name, it.id)).collect();
        for (which, (length, sum)) in self.captured {
            // Later versions may follow, and the newest may have grown.
            let is_kept = store.files(ids[&which], true).unwrap().iter().rev().any(|file| {
                let mut kept = Vec::new();
                assert_eq!(store.write_to(file.version, &mut kept).unwrap().bytes, 0);
                kept.get(..length).is_some_and(|kept| format!("{:x}", xxh3_128(kept)) == sum)
            });
            assert!(is_kept, "{context}: {length} bytes of log {which}");
        }
    }
}

/// Returns a process that writes no larger files than this, in blocks of 512 bytes.
fn child(folder: &Path, limit: &str) -> Command {
    let mut command = Command::new("sh");
    // A write beyond the limit is an error instead of a signal.
    command
        .args(["-c", r#"trap '' XFSZ; ulimit -f "$1" && shift && exec "$@""#, "sh", limit])
        .arg(env::current_exe().unwrap())
        .args(["killed::writes_until_it_is_killed", "--exact", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped());
    command
}

/// `KILLS` sets the number of kills.
#[test]
fn kills_lose_nothing_that_was_captured() {
    let mut folder = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::new();
    let kills = env::var("KILLS").map_or(40, |kills| kills.parse().unwrap());
    for kill in 0..kills {
        // All copies are read after each kill.
        if kill % 40 == 0 {
            folder = tempfile::tempdir().unwrap();
        }
        let mut child = child(folder.path(), "unlimited").spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut report = Report::default();
        for _ in 0..random.usize(3..25) {
            report.add(&lines.next().unwrap().unwrap());
        }
        // Somewhere between two reports.
        (0..random.u32(..200_000)).for_each(|_| std::hint::spin_loop());
        child.kill().unwrap();
        child.wait().unwrap();
        lines.map_while(Result::ok).for_each(|line| report.add(&line));
        let store = CopyStore::open(&folder.path().join("kept")).unwrap();
        if random.bool() {
            store.reclaim().unwrap();
        }
        report.check(&store, &format!("kill {kill}"));
    }
}

/// Writes of the journal, of packs and of the database fail at many places.
#[test]
fn failed_writes_lose_nothing_that_was_captured() {
    let folder = tempfile::tempdir().unwrap();
    let (mut random, mut failures) = (fastrand::Rng::new(), Vec::<String>::new());
    for round in 0.. {
        let failed = |what| failures.iter().filter(|error| error.contains(what)).count() > 5;
        if round >= 24 && failed("database") && failed("file of the kept copies") {
            break;
        }
        assert!(round < 200, "nothing fails any more");
        // Blocks of 512 bytes: from 64 KB to 8 MB.
        let limit = (128.0 * 2_f64.powf(random.f64() * 7.0)) as u32;
        let output = child(folder.path(), &limit.to_string()).env(STEPS, "25").output().unwrap();
        assert!(output.status.success(), "limit {limit}: {}", String::from_utf8_lossy(&output.stderr));
        let mut report = Report::default();
        String::from_utf8_lossy(&output.stdout).lines().for_each(|line| report.add(line));
        failures.append(&mut report.failures);
        let store = CopyStore::open(&folder.path().join("kept")).unwrap();
        store.reclaim().unwrap();
        report.check(&store, &format!("round {round}, limit {limit}"));
        // There is room again.
        let log = folder.path().join("0.jsonl");
        fs::write(&log, line(round, &noise(round as u64, 200_000))).unwrap();
        let (id, _) = capture(&store, "0", &log, round, round % 2 == 0).unwrap();
        assert_eq!(read(&store, id, "log.jsonl", 0), fs::read(&log).unwrap());
        store.seal_journals(Duration::ZERO).unwrap();
    }
}
