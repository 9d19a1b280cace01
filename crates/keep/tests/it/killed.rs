//! A process that is killed at any moment loses nothing that it reported as captured.

use crate::support::{line, noise};
use openagents_keep::{Captured, CopyStore};
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

/// Not a test by itself: the process that is killed. It writes logs, captures them, and reports each; it also erases
/// copies, and compresses packs again.
#[test]
fn writes_until_it_is_killed() {
    let Ok(folder) = env::var(FOLDER) else { return };
    let folder = Path::new(&folder);
    let store = CopyStore::open(&folder.join("kept")).unwrap();
    let own = std::process::id() as usize;
    let mut random = fastrand::Rng::with_seed(own as u64);
    // No line is ever written twice.
    for at in own * 1_000_000.. {
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
            log.write_all(line(at, &noise(random.u64(..50), random.usize(..3000))).as_bytes()).unwrap();
        }
        let id = store.put(&which.to_string(), "", "").unwrap();
        let mut source = File::open(&path).unwrap();
        let mut sealing = (random.u8(..4) == 0).then(|| store.seal().unwrap());
        let captured = store.capture(id, "log.jsonl", &mut source, at as i64, sealing.as_mut()).unwrap();
        if let Some(sealing) = sealing {
            sealing.finish().unwrap();
        }
        let log = fs::read(&path).unwrap();
        println!("captured {which} {} {:x}", log.len(), xxh3_128(&log));
        if captured == (Captured::Rewritten { before_stays: false }) {
            store.drop_contained(id, "log.jsonl").unwrap();
        }
        match random.u8(..10) {
            0 => store.seal_journals(Duration::ZERO).unwrap(),
            1 => store.keep_spare().unwrap(),
            2 => drop(store.recompress(Duration::ZERO, Duration::from_millis(50)).unwrap()),
            // It shares values with others.
            3 => {
                let id = store.put("erased", "", "").unwrap();
                let mut sealing = store.seal().unwrap();
                let mut source = File::open(&path).unwrap();
                store.capture(id, "log.jsonl", &mut source, at as i64, Some(&mut sealing)).unwrap();
                sealing.finish().unwrap();
                store.erase(&[id]).unwrap();
            }
            _ => {}
        }
    }
}

/// `KILLS` sets the number of kills.
#[test]
fn kills_lose_nothing_that_was_captured() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::new();
    let kills = env::var("KILLS").map_or(40, |kills| kills.parse().unwrap());
    for kill in 0..kills {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["killed::writes_until_it_is_killed", "--exact", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut captured: HashMap<String, (usize, String)> = HashMap::new();
        let mut note = |line: &str| {
            // The test's own report is on the same line as the first one.
            let Some((_, report)) = line.split_once("captured ") else { return };
            let [which, length, sum] = report.split(' ').collect::<Vec<_>>()[..] else { return };
            captured.insert(which.to_owned(), (length.parse().unwrap(), sum.to_owned()));
        };
        for _ in 0..random.usize(3..25) {
            note(&lines.next().unwrap().unwrap());
        }
        // Somewhere between two reports.
        (0..random.u32(..200_000)).for_each(|_| std::hint::spin_loop());
        child.kill().unwrap();
        child.wait().unwrap();
        lines.map_while(Result::ok).for_each(|line| note(&line));
        let store = CopyStore::open(&folder.path().join("kept")).unwrap();
        if random.bool() {
            store.reclaim().unwrap();
        }
        assert_eq!(store.verify((0, 1), &|| false).unwrap().damaged, [], "kill {kill}");
        let ids: HashMap<String, i64> =
            store.collections().unwrap().into_iter().map(|it| (it.name, it.id)).collect();
        for (which, (length, sum)) in captured {
            // Later versions may follow, and the newest may have grown.
            let is_kept = store.files(ids[&which], true).unwrap().iter().any(|file| {
                let mut kept = Vec::new();
                assert_eq!(store.write_to(file.version, &mut kept).unwrap().bytes, 0);
                kept.get(..length).is_some_and(|kept| format!("{:x}", xxh3_128(kept)) == sum)
            });
            assert!(is_kept, "kill {kill}: {length} bytes of log {which}");
        }
    }
}
