//! Copies on a full disk: a small file system in memory, mounted by a child process for itself.

use crate::support::{capture, holds, line, noise, read, try_capture};
use openagents_keep::{CopyStore, KeepError, Sealing};
use std::{
    env,
    fs::File,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

const FOLDER: &str = "OPENAGENTS_KEEP_TEST_DISK";

/// Returns a disk of 32 MB in the process that this starts for a test; `None` in any other.
fn on_small_disk(test: &str) -> Option<PathBuf> {
    if let Some(disk) = env::var_os(FOLDER) {
        return Some(disk.into());
    }
    let folder = tempfile::tempdir().unwrap();
    let mounted = |arguments: &[&str]| {
        Command::new("unshare")
            .args(["--mount", "--map-root-user", "sh", "-c"])
            .args([r#"mount -t tmpfs -o size=32m disk "$1" && shift && exec "$@""#, "sh"])
            .arg(folder.path())
            .args(arguments)
            .env(FOLDER, folder.path())
            .output()
    };
    // Skipped unless this is Linux and the user may create namespaces.
    if !mounted(&["true"]).is_ok_and(|output| output.status.success()) {
        return None;
    }
    let own = env::current_exe().unwrap();
    let output =
        mounted(&[own.to_str().unwrap(), &format!("full_disk::{test}"), "--exact", "--nocapture"]).unwrap();
    let report = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && report.contains("1 passed"), "{report}");
    None
}

/// Takes all room of a disk.
fn fill(disk: &Path) -> File {
    let mut file = File::options().create(true).append(true).open(disk.join("others")).unwrap();
    for size in [1 << 16, 1 << 12, 1] {
        while file.write_all(&vec![1; size]).is_ok() {}
    }
    file
}

#[test]
fn erasing_frees_room_on_a_full_disk() {
    let Some(disk) = on_small_disk("erasing_frees_room_on_a_full_disk") else { return };
    let kept = disk.join("kept");
    let store = CopyStore::open(&kept).unwrap();
    let logs: Vec<(i64, String)> = (0..8)
        .map(|at| {
            let id = store.put(&at.to_string(), "captured", "").unwrap();
            let canary = format!("CANARY-{at}-{}", noise(at, 2000));
            let own = (0..300).map(|line| noise(at * 1000 + line, 2000));
            let log = own.chain([canary]).enumerate().map(|(at, text)| line(at, &text)).collect();
            (id, log)
        })
        .collect();
    // Two logs in each pack.
    for pair in logs.chunks(2) {
        let mut sealing = store.seal().unwrap();
        for (id, log) in pair {
            try_capture(&store, *id, "log.jsonl", log.as_bytes(), Some(&mut sealing)).unwrap();
        }
        sealing.finish().unwrap();
    }
    store.keep_spare().unwrap();
    fill(&disk);
    let full = try_capture(&store, logs[0].0, "more.jsonl", noise(9, 1 << 20).as_bytes(), None);
    assert!(matches!(full, Err(KeepError::File(_) | KeepError::Database(_))), "{full:?}");
    // Half of each pack, then half of one more on the disk that is filled again.
    for erased in [&[0, 2, 4][..], &[6]] {
        let ids: Vec<i64> = erased.iter().map(|at| logs[*at].0).collect();
        store.erase(&ids).unwrap();
        for (at, (id, log)) in logs.iter().enumerate().filter(|(at, _)| at % 2 == 1) {
            assert_eq!(read(&store, *id, "log.jsonl", 0), log.as_bytes(), "log {at}");
        }
        for at in erased {
            assert!(!holds(&kept, format!("CANARY-{at}-").as_bytes()), "log {at} left a trace");
        }
        store.keep_spare().unwrap();
        fill(&disk);
    }
    store.erase(&logs.iter().map(|(id, _)| *id).collect::<Vec<_>>()).unwrap();
    assert_eq!(store.sizes().unwrap().raw, 0);
    let id = store.put("new", "", "").unwrap();
    capture(&store, id, "log.jsonl", logs[0].1.as_bytes(), true);
    assert_eq!(store.verify((0, 1), &|| false).unwrap().damaged, []);
}

#[test]
fn full_disk_loses_nothing_that_was_captured() {
    let Some(disk) = on_small_disk("full_disk_loses_nothing_that_was_captured") else { return };
    let store = CopyStore::open(&disk.join("kept")).unwrap();
    let mut random = fastrand::Rng::new();
    let mut ids = ["0", "1", "2"].map(|name| store.put(name, "", "").unwrap());
    let (mut logs, mut captured) = ([const { Vec::new() }; 3], [const { Vec::new() }; 3]);
    let mut failures = 0;
    for round in 0..60_usize {
        let others = fill(&disk);
        let all = others.metadata().unwrap().len();
        others.set_len(all - random.u64(..400_000).min(all)).unwrap();
        for at in 0..6 {
            let (which, seals) = (random.usize(..3), random.bool());
            let log: &mut Vec<u8> = &mut logs[which];
            if log.len() > 500_000 || random.u8(..8) == 0 {
                log.clear();
            }
            log.extend(line(round * 10 + at, &noise(random.u64(..), random.usize(..60_000))).bytes());
            let capture = || -> Result<(), KeepError> {
                let mut sealing = seals.then(|| store.seal()).transpose()?;
                try_capture(&store, ids[which], "log.jsonl", log, sealing.as_mut())?;
                sealing.map_or(Ok(()), Sealing::finish)
            };
            match capture() {
                Ok(()) => captured[which].clone_from(log),
                Err(_) => failures += 1,
            }
            let work = match random.u8(..8) {
                0 => store.seal_journals(Duration::ZERO),
                1 => store.recompress(Duration::ZERO, Duration::from_millis(20)).map(drop),
                2 => store.keep_spare(),
                3 => store.drop_all_contained(ids[which]),
                _ => Ok(()),
            };
            failures += usize::from(work.is_err());
        }
        others.set_len(0).unwrap();
        store.reclaim().unwrap();
        assert_eq!(store.verify((0, 1), &|| false).unwrap().damaged, [], "round {round}");
        for (id, captured) in ids.iter().zip(&captured) {
            let versions = store.files(*id, true).unwrap();
            let is_kept = versions.iter().rev().any(|file| {
                let mut kept = Vec::new();
                store.write_to(file.version, &mut kept).unwrap();
                kept.starts_with(captured)
            });
            assert!(
                is_kept || captured.is_empty(),
                "round {round}: {} bytes of {versions:?}",
                captured.len()
            );
        }
        // There is room again.
        for (at, id) in ids.iter().enumerate() {
            capture(&store, *id, "log.jsonl", &logs[at], round % 2 == 0);
            captured[at].clone_from(&logs[at]);
            assert_eq!(read(&store, *id, "log.jsonl", 0), logs[at], "round {round}");
        }
        if store.sizes().unwrap().stored > 12_000_000 {
            store.erase(&ids).unwrap();
            ids = ["0", "1", "2"].map(|name| store.put(name, "", "").unwrap());
            captured = [const { Vec::new() }; 3];
        }
    }
    assert!(failures > 0);
}
