use super::*;
use rusqlite::Connection;

#[test]
fn failed_write_uses_no_seq() {
    let (home, store) = store();
    session(&store, "s");
    store.append("s", vec![text("one")]).unwrap();
    let other = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
    other.execute_batch("ALTER TABLE events RENAME TO away").unwrap();
    assert!(matches!(store.append("s", vec![text("lost")]), Err(StoreError::Sqlite(_))));
    other.execute_batch("ALTER TABLE away RENAME TO events").unwrap();
    assert_eq!(store.append("s", vec![text("two")]).unwrap().rows[0].seq, 2);
    assert_eq!(numbers(&store, "s"), [1, 2]);
}

#[test]
fn append_rejects_unknown_session() {
    let (_home, store) = store();
    assert!(store.append("unknown", vec![text("x")]).is_err());
    session(&store, "s");
    assert_eq!(store.append("s", vec![text("x")]).unwrap().rows[0].seq, 1);
}

#[test]
fn open_moves_damaged_database_aside() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(DATABASE_FILE);
    std::fs::write(&path, "this is not a database, despite its name".repeat(100)).unwrap();
    let store = Store::open(home.path(), "").unwrap();
    let [notice] = store.notices() else { panic!("one notice") };
    assert!(notice.starts_with("The session database is damaged; it was moved to "), "{notice}");
    let aside = aside(home.path());
    assert!(notice.contains(aside.to_str().unwrap()));
    assert!(std::fs::read_to_string(aside).unwrap().starts_with("this is not a database"));
    session(&store, "s");
    assert_eq!(store.append("s", vec![text("x")]).unwrap().rows[0].seq, 1);
}

#[test]
fn open_detects_damage_in_middle() {
    let (home, store) = store();
    session(&store, "s");
    store.append("s", (0..2000).map(|n| text(&n.to_string().repeat(20))).collect()).unwrap();
    drop(store);
    let path = home.path().join(DATABASE_FILE);
    // Empties the write-ahead log, so that there are pages to damage.
    Connection::open(&path).unwrap().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8192].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(Store::open(home.path(), "").unwrap().notices().len(), 1);
}

#[test]
fn open_names_unwritable_folder() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = Store::open(&file.join("data"), "").unwrap_err();
    assert!(matches!(&error, StoreError::NotWritable { path, .. } if *path == file.join("data")), "{error}");
}

#[test]
fn full_disk_loses_only_unstored_updates() {
    let (_home, store) = store();
    session(&store, "s");
    store.append("s", vec![text("one")]).unwrap();
    let limit = |pages: &'static str| {
        store.write(move |transaction, _| transaction.execute_batch(pages)).unwrap();
    };
    limit("PRAGMA max_page_count = 1");
    let long = || text(&"x".repeat(100 << 10));
    assert_eq!(store.append("s", vec![text("two"), long()]).unwrap_err(), StoreError::Full);
    assert!(StoreError::Full.to_string().starts_with("the disk is full"));
    assert_eq!(numbers(&store, "s"), [1]);
    limit("PRAGMA max_page_count = 1073741823");
    assert_eq!(store.append("s", vec![long()]).unwrap().rows[0].seq, 2);
    assert_eq!(numbers(&store, "s"), [1, 2]);
}

#[test]
fn failed_job_does_not_fail_others() {
    let (_home, store) = store();
    session(&store, "s");
    let (send, shown) = std::sync::mpsc::channel();
    for n in 0..300 {
        let send = send.clone();
        let id = if n % 3 == 0 { "unknown" } else { "s" };
        let done = move |appended: Result<Appended, StoreError>| send.send(appended.is_ok()).unwrap();
        store.append_then(id.into(), vec![text(&n.to_string())], done).unwrap();
    }
    store.flush().unwrap();
    assert_eq!(shown.try_iter().filter(|is_stored| *is_stored).count(), 200);
    assert_eq!(numbers(&store, "s"), (1..=200).collect::<Vec<_>>());
}
