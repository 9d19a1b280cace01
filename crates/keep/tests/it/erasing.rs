use crate::support::{capture, holds, line, noise, read, try_capture};
use openagents_keep::{Captured, CopyStore, Endangered, KeepError};
use std::{fs, time::Duration};

#[test]
fn erased_collection_leaves_no_trace_and_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let store = CopyStore::open(folder.path()).unwrap();
    let (one, two, three) = (
        store.put("one", "", "").unwrap(),
        store.put("two", "", "").unwrap(),
        store.put("three", "", "").unwrap(),
    );
    let shared = noise(1, 5000);
    let secret = format!("CANARY-{}", noise(2, 3000));
    let first = line(1, &shared) + &line(2, &secret);
    let second = line(3, &shared) + &line(4, "other words");
    capture(&store, one, "log.jsonl", first.as_bytes(), true);
    capture(&store, two, "log.jsonl", second.as_bytes(), true);
    capture(&store, three, "log.jsonl", line(5, "CANARY in the journal").as_bytes(), false);
    assert!(holds(folder.path(), b"CANARY"));
    store.erase(&[one, three]).unwrap();
    assert!(!holds(folder.path(), b"CANARY"));
    assert_eq!(read(&store, two, "log.jsonl", 0), second.as_bytes(), "it used a value of the erased log");
    let left: Vec<String> = store.collections().unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(left, ["two"]);
    // The value is found at its new place.
    let (four, before) = (store.put("four", "", "").unwrap(), store.sizes().unwrap().stored);
    let again = line(6, &shared);
    capture(&store, four, "log.jsonl", again.as_bytes(), true);
    assert_eq!(read(&store, four, "log.jsonl", 0), again.as_bytes());
    assert!(store.sizes().unwrap().stored - before < 2000);
}

#[test]
fn erasing_that_was_interrupted_ends_later() {
    let folder = tempfile::tempdir().unwrap();
    let store = CopyStore::open(folder.path()).unwrap();
    let (one, two) = (store.put("one", "", "").unwrap(), store.put("two", "", "").unwrap());
    let mut sealing = store.seal().unwrap();
    for (id, text) in [(one, "CANARY "), (two, "other ")] {
        let log = line(1, &(text.to_owned() + &noise(id as u64, 3000)));
        try_capture(&store, id, "log.jsonl", log.as_bytes(), Some(&mut sealing)).unwrap();
    }
    sealing.finish().unwrap();
    let before = read(&store, two, "log.jsonl", 0);
    // What stays of the pack cannot be written.
    let packs = folder.path().join("packs");
    fs::rename(&packs, folder.path().join("away")).unwrap();
    assert!(store.erase(&[one]).is_err());
    fs::rename(folder.path().join("away"), &packs).unwrap();
    assert_eq!(store.files(one, true).unwrap(), []);
    drop(store);
    let store = CopyStore::open(folder.path()).unwrap();
    assert!(holds(&packs, b"CANARY"));
    store.reclaim().unwrap();
    assert!(!holds(&packs, b"CANARY"));
    assert_eq!(read(&store, two, "log.jsonl", 0), before);
}

#[test]
fn version_stays_while_it_has_something_that_the_newest_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let store = CopyStore::open(folder.path()).unwrap();
    let id = store.put("one", "", "").unwrap();
    let lines: Vec<String> = (0..50).map(|at| line(at, &noise(at as u64, 900))).collect();
    for seals in [true, false] {
        let name = &format!("{seals}.jsonl");
        capture(&store, id, name, lines.concat().as_bytes(), seals);
        // A reader that sorts its log loses nothing.
        let sorted: String = lines.iter().rev().map(String::as_str).collect();
        let captured = capture(&store, id, name, sorted.as_bytes(), seals);
        assert_eq!(captured, Captured::Rewritten { before_stays: false });
        // A compaction does.
        let compacted = lines[40..].concat();
        let captured = capture(&store, id, name, compacted.as_bytes(), seals);
        assert_eq!(captured, Captured::Rewritten { before_stays: true });
        assert_eq!(read(&store, id, name, 1), sorted.as_bytes());
        assert_eq!(read(&store, id, name, 0), compacted.as_bytes());
    }
    // The first version again, and more.
    let restored = (lines.concat() + &line(50, "more")).into_bytes();
    capture(&store, id, "true.jsonl", &restored, true);
    assert_eq!(store.files(id, true).unwrap().iter().filter(|it| it.name == "true.jsonl").count(), 2);
    store.drop_all_contained(id).unwrap();
    let left: Vec<_> = store.files(id, true).unwrap();
    assert_eq!(left.iter().filter(|it| it.name == "true.jsonl").count(), 1);
    assert_eq!(left.iter().filter(|it| it.name == "false.jsonl").count(), 2, "the newest one is shorter");
    assert_eq!(read(&store, id, "true.jsonl", 0), restored);
    let document = |texts: &[String]| {
        let updated = format!("2026-04-01T09:00:0{}.000Z", texts.len());
        serde_json::json!({"lastUpdated": updated, "messages": texts, "state": "running"}).to_string()
    };
    let texts: Vec<String> = (0..9).map(|at| noise(at, 700)).collect();
    for (texts, expected) in [
        (&texts[..3], Captured::More(document(&texts[..3]).len() as u64)),
        (&texts[..9], Captured::Rewritten { before_stays: false }),
        (&texts[..9], Captured::Nothing),
        (&texts[3..], Captured::Rewritten { before_stays: true }),
    ] {
        assert_eq!(capture(&store, id, "chat.json", document(texts).as_bytes(), true), expected);
    }
    let versions = store.files(id, true).unwrap().iter().filter(|file| file.name == "chat.json").count();
    assert_eq!(versions, 2);
}

#[test]
fn change_in_the_middle_is_a_new_version() {
    let folder = tempfile::tempdir().unwrap();
    let store = CopyStore::open(folder.path()).unwrap();
    let id = store.put("one", "", "").unwrap();
    // Its start, its end and its length are as before.
    let log: String = (0..40).map(|at| line(at, &noise(at as u64, 900))).collect();
    let middle = log.len() / 2..log.len() / 2 + 20;
    for (name, grows) in [("same.jsonl", false), ("grown.jsonl", true)] {
        let mut changed = log.clone();
        changed.replace_range(middle.clone(), &"x".repeat(20));
        if grows {
            changed += "more\n";
        }
        capture(&store, id, name, log.as_bytes(), grows);
        let captured = capture(&store, id, name, changed.as_bytes(), grows);
        assert_eq!(captured, Captured::Rewritten { before_stays: true });
        assert_eq!(read(&store, id, name, 1), log.as_bytes());
        assert_eq!(read(&store, id, name, 0), changed.as_bytes());
    }
    // A long log whose lines all change, but not its ends.
    let long = noise(1, 1 << 10).repeat(20 << 10) + "\n";
    let mut changed = long.clone().into_bytes();
    for block in changed[1 << 20..19 << 20].chunks_mut(100_000) {
        block[..5000].fill(b' ');
    }
    capture(&store, id, "long.jsonl", long.as_bytes(), true);
    let captured = capture(&store, id, "long.jsonl", &changed, true);
    assert_eq!(captured, Captured::Rewritten { before_stays: true });
    let grown = [&changed[..], b"more\n"].concat();
    assert_eq!(capture(&store, id, "long.jsonl", &grown, true), Captured::More(5));
    assert_eq!(read(&store, id, "long.jsonl", 0), grown);
}

#[test]
fn damage_is_found_and_everything_else_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = CopyStore::open(folder.path()).unwrap();
    let [one, two] = ["one", "two"].map(|name| store.put(name, "captured", "").unwrap());
    let log = |seed| (0..20).map(|at| line(at, &noise(seed + at as u64, 900))).collect::<String>();
    capture(&store, one, "log.jsonl", log(0).as_bytes(), true);
    capture(&store, two, "log.jsonl", log(100).as_bytes(), true);
    drop(store);
    let pack = folder.path().join("packs/00000001.pack");
    let mut bytes = fs::read(&pack).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&pack, bytes).unwrap();
    let store = CopyStore::open(folder.path()).unwrap();
    let verified = store.verify((0, 1), &|| false).unwrap();
    let damaged: Vec<_> =
        verified.damaged.iter().map(|file| (file.collection.as_str(), file.bytes)).collect();
    assert_eq!(damaged, [("one", log(0).len() as u64)]);
    let version = store.files(one, false).unwrap()[0].version;
    let mut shown = Vec::new();
    assert_eq!(store.write_to(version, &mut shown).unwrap().bytes, log(0).len() as u64);
    assert_eq!(shown, vec![0; log(0).len()], "later lines keep their places");
    assert_eq!(read(&store, two, "log.jsonl", 0), log(100).as_bytes());
    // What still exists is captured again, without the help of damaged frames.
    let state = |id| store.collections().unwrap().into_iter().find(|it| it.id == id).unwrap().state;
    assert_eq!((state(one).as_str(), state(two).as_str()), ("", "captured"));
    let again = capture(&store, one, "log.jsonl", log(0).as_bytes(), true);
    assert_eq!(again, Captured::Rewritten { before_stays: true });
    assert_eq!(read(&store, one, "log.jsonl", 0), log(0).as_bytes());
    // What is damaged can be erased.
    store.erase(&[one]).unwrap();
    assert_eq!(store.verify((0, 1), &|| false).unwrap().damaged, []);
}

#[test]
fn one_process_writes_and_others_read() {
    let folder = tempfile::tempdir().unwrap();
    assert!(CopyStore::open_reader(folder.path()).unwrap().is_none());
    let store = CopyStore::open(folder.path()).unwrap();
    assert!(matches!(CopyStore::open(folder.path()), Err(KeepError::Busy(_))));
    let id = store.put("one", "", "").unwrap();
    let reader = CopyStore::open_reader(folder.path()).unwrap().unwrap();
    let before = reader.revision().unwrap();
    capture(&store, id, "log.jsonl", b"a\n", false);
    assert_ne!(reader.revision().unwrap(), before);
    assert_eq!(read(&reader, id, "log.jsonl", 0), b"a\n");
    store.seal_journals(Duration::ZERO).unwrap();
    assert_eq!(read(&reader, id, "log.jsonl", 0), b"a\n");
    drop(store);
    let head = fs::read_to_string(folder.path().join("store.json")).unwrap();
    fs::write(folder.path().join("store.json"), head.replace("\"format\":1", "\"format\":2")).unwrap();
    assert!(matches!(CopyStore::open(folder.path()), Err(KeepError::Newer)));
    assert!(matches!(CopyStore::open_reader(folder.path()), Err(KeepError::Newer)));
}

#[test]
fn linked_file_outlives_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = CopyStore::open(&folder.path().join("kept")).unwrap();
    let path = folder.path().join("log.jsonl");
    fs::write(&path, "one\n").unwrap();
    let file = Endangered { collection: "a", about: "{}", name: "log.jsonl", path: &path };
    let missing = Endangered { name: "gone.jsonl", path: &folder.path().join("gone"), ..file };
    assert_eq!(store.link(&[file, missing, file]).unwrap(), 2);
    fs::remove_file(&path).unwrap();
    assert_eq!(store.link(&[file]).unwrap(), 0);
    let id = store.collections().unwrap()[0].id;
    assert_eq!(store.links_of(id).unwrap(), ["log.jsonl"]);
    drop(store);
    let store = CopyStore::open(&folder.path().join("kept")).unwrap();
    let link = store.linked(id, "log.jsonl").unwrap().unwrap();
    assert_eq!(fs::read_to_string(link).unwrap(), "one\n");
    store.unlink(id).unwrap();
    assert_eq!(store.linked(id, "log.jsonl").unwrap(), None);
    assert_eq!(fs::read_dir(store.links()).unwrap().count(), 0);
}
