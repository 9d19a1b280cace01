//! What a store saves: repeated content is stored once, and the rest is about as small as a compressed file.

use crate::support::{capture, line, noise, read};
use openagents_keep::CopyStore;
use std::time::Duration;

fn stored(logs: &[String]) -> (u64, u64) {
    let folder = tempfile::tempdir().unwrap();
    let store = CopyStore::open(folder.path()).unwrap();
    let empty = store.sizes().unwrap().stored;
    for (at, log) in logs.iter().enumerate() {
        let id = store.put(&at.to_string(), "", "").unwrap();
        capture(&store, id, "log.jsonl", log.as_bytes(), true);
    }
    let each = logs.iter().map(|log| zstd::bulk::compress(log.as_bytes(), 3).unwrap().len() as u64).sum();
    (store.sizes().unwrap().stored - empty, each)
}

#[test]
fn images_and_parents_in_many_logs_are_stored_once() {
    let image = noise(0, 400_000);
    let message = |at: usize| line(at, &noise(at as u64, 2000));
    let parent: String = (1..40).map(message).collect();
    let children: Vec<String> = (0..12)
        .map(|child| parent.replace("\"at\":", &format!("\"at\":{child}")) + &line(child, &image))
        .collect();
    let (kept, each) = stored(&children);
    assert!(kept * 5 < each, "{kept} bytes, {each} as files");
}

#[test]
fn recompressed_packs_are_smaller_and_read_alike() {
    let folder = tempfile::tempdir().unwrap();
    let store = CopyStore::open(folder.path()).unwrap();
    let id = store.put("one", "", "").unwrap();
    let log: String =
        (0..400).map(|at| line(at, &format!("{}{at} ", noise(at as u64 % 7, 90)).repeat(5))).collect();
    capture(&store, id, "log.jsonl", log.as_bytes(), true);
    let (day, minute) = (Duration::from_secs(86_400), Duration::from_secs(60));
    let before = store.sizes().unwrap().stored;
    assert!(!store.recompress(day, minute).unwrap());
    assert_eq!(store.sizes().unwrap().stored, before, "it was written a moment ago");
    assert!(store.recompress(Duration::ZERO, Duration::ZERO).unwrap(), "no time");
    assert!(!store.recompress(Duration::ZERO, minute).unwrap());
    let after = store.sizes().unwrap().stored;
    assert!(after < before, "{after} bytes, {before} before");
    assert_eq!(read(&store, id, "log.jsonl", 0), log.as_bytes());
    assert_eq!(store.verify((0, 1), &|| false).unwrap().damaged, []);
    assert_eq!(std::fs::read_dir(folder.path().join("packs")).unwrap().count(), 1);
}

#[test]
fn unique_text_costs_little_more_than_a_compressed_file() {
    // Words from a small vocabulary, as in prose and code.
    let mut random = fastrand::Rng::with_seed(7);
    let words: Vec<String> = (0..3000).map(|at| noise(at, 3 + at as usize % 9)).collect();
    let mut text = |count: usize| -> String {
        let words = (0..count).map(|_| words[(random.f64().powi(3) * 3000.0) as usize].clone());
        words.collect::<Vec<_>>().join(" ")
    };
    let log: String = (0..3000).map(|at| line(at, &text(at % 400))).collect();
    let (kept, each) = stored(&[log]);
    assert!(kept * 100 < each * 115, "{kept} bytes, {each} as a file");
}
