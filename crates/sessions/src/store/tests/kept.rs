use super::*;
use openagents_core::history::{FileStamp, Provider, Transcript};

#[test]
fn the_newest_decisions_are_kept() {
    let (_home, store) = store();
    let decision = openagents_core::update::Decision {
        target: openagents_core::update::Target::Codex,
        inline: None,
        reason: "You asked Codex to do it.".to_owned(),
        instead_of: None,
    };
    for n in 0..1_003 {
        store.record_decision("s", &format!("{n} {}", "é".repeat(300)), &decision).unwrap();
    }
    let kept = store.decisions().unwrap();
    assert_eq!((kept.len(), kept[0].prompt.chars().count()), (1_000, 200));
    assert!(kept[0].prompt.starts_with("1002 ") && kept[999].prompt.starts_with("3 "));
    assert_eq!(kept[0].decision, decision);
}

fn transcript(path: &str) -> Transcript {
    Transcript {
        id: path.to_owned(),
        provider: Provider::Codex,
        title: Some("Fix it".to_owned()),
        cwd: Some("/work".into()),
        branch: None,
        model: None,
        created_at: Some(1),
        updated_at: 2,
        file_path: path.into(),
        user_turns: Some(1),
        tokens: None,
        hidden: false,
        subagent: false,
        bad_lines: 0,
    }
}

#[test]
fn transcripts_are_remembered_by_folder() {
    let (home, store) = store();
    let stamp = FileStamp { size: 10, mtime_ns: 20 };
    let paths = ["/a/x.jsonl", "/a/b/y.jsonl", "/ab/z.jsonl", "/a0/w.jsonl"];
    store.transcript_index().save(paths.iter().map(|path| (stamp, transcript(path))).collect());
    store.flush().unwrap();
    drop(store);
    let index = Store::open(home.path(), &[]).unwrap().transcript_index();
    let mut found: Vec<_> = index.load(Path::new("/a")).into_keys().collect();
    found.sort();
    assert_eq!(found, [PathBuf::from("/a/b/y.jsonl"), PathBuf::from("/a/x.jsonl")]);
}

#[test]
fn rows_of_another_reader_are_forgotten() {
    let (home, store) = store();
    let index = store.transcript_index();
    index.save(vec![(FileStamp { size: 1, mtime_ns: 1 }, transcript("/a/x.jsonl"))]);
    store.flush().unwrap();
    assert_eq!(index.load(Path::new("/a")).len(), 1);
    let other = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
    other.execute_batch("UPDATE transcripts SET reader = reader + 1").unwrap();
    assert_eq!(index.load(Path::new("/a")).len(), 0);
}
