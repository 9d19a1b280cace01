use super::{
    approvals::{ask, pending},
    *,
};

/// Records how each write to these tables is synced to disk, from the pragmas of the writing connection.
fn watch(home: &Path, tables: &[&str]) -> Connection {
    let database = Connection::open(home.join(DATABASE_FILE)).unwrap();
    database.execute_batch("CREATE TABLE synced (synchronous INTEGER, fullfsync INTEGER)").unwrap();
    for (table, verb) in
        tables.iter().flat_map(|table| ["INSERT", "UPDATE", "DELETE"].map(|verb| (table, verb)))
    {
        let trigger = format!(
            "CREATE TRIGGER {table}_{verb} AFTER {verb} ON {table} BEGIN
                 INSERT INTO synced SELECT synchronous, fullfsync FROM pragma_synchronous, pragma_fullfsync;
             END"
        );
        database.execute_batch(&trigger).unwrap();
    }
    database
}

fn synced(database: &Connection) -> Vec<(i64, i64)> {
    let mut statement = database.prepare("SELECT * FROM synced").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let synced = rows.collect::<Result<_, _>>().unwrap();
    database.execute_batch("DELETE FROM synced").unwrap();
    synced
}

/// Regression: a power cut undid the revocation of a rule, and macOS kept durable writes in the disk's cache.
#[test]
fn decisions_survive_power_cut() {
    const DURABLE: (i64, i64) = (2, 1);
    let (home, store) = store();
    session(&store, "s");
    store.append("s", vec![text("one")]).unwrap();
    let database = watch(home.path(), &["sessions", "events", "approvals", "trusted_workspaces"]);
    store.append("s", vec![text("two")]).unwrap();
    assert_eq!(synced(&database), [(1, 0), (1, 0)], "an update");
    let writes: [(&str, &dyn Fn()); 6] = [
        ("an approval", &|| drop(ask(&store, "s", pending("1", "h")))),
        ("trust", &|| store.trust_workspace(Path::new("/w"), "me", &[]).unwrap()),
        ("its end", &|| store.revoke_workspace(Path::new("/w")).unwrap()),
        ("a withdrawn approval", &|| store.withdraw("s", "1").unwrap()),
        ("a policy", &|| store.set_policy("s", Default::default()).unwrap()),
        ("a deleted session", &|| store.delete_sessions(vec!["s".to_owned()]).unwrap()),
    ];
    for (what, write) in writes {
        write();
        let synced = synced(&database);
        assert!(!synced.is_empty() && synced.iter().all(|synced| *synced == DURABLE), "{what}: {synced:?}");
    }
    // For a rule, the write to the row itself.
    session(&store, "s");
    database
        .execute_batch(
            "INSERT INTO approvals (id, session_id, agent_id, hash, state, standing, approval_json)
             VALUES ('2', 's', 'codex', 'h', 'answered', 1, '{}'); DELETE FROM synced",
        )
        .unwrap();
    store.revoke_rules(None).unwrap();
    assert_eq!(synced(&database), [DURABLE]);
    // Writes that are durable in the log stay durable in the file.
    let (send, shown) = std::sync::mpsc::channel();
    let read = move |transaction: &rusqlite::Transaction<'_>, _| {
        let pragma = |name| transaction.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        send.send((pragma("checkpoint_fullfsync")?, pragma("secure_delete")?)).unwrap();
        Ok(())
    };
    store.write(read).unwrap();
    assert_eq!(shown.recv().unwrap(), (1, 1));
}

/// Regression: after a clean shutdown everything was in the log, and a copy of the database file was empty.
#[test]
fn checkpoint_moves_everything_into_database_file() {
    let (home, store) = store();
    session(&store, "s");
    store.append("s", vec![text("one")]).unwrap();
    // Idle readers, and one that is reading.
    assert_eq!(numbers(&store, "s"), [1]);
    let reading = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
    reading.execute_batch("BEGIN; SELECT count(*) FROM events").unwrap();
    let ended = std::thread::spawn({
        let store = store.clone();
        move || store.checkpoint()
    });
    store.append("s", vec![text("two")]).unwrap();
    reading.execute_batch("COMMIT").unwrap();
    ended.join().unwrap().unwrap();
    store.append("s", vec![text("three")]).unwrap();
    store.checkpoint().unwrap();
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(home.path().join(DATABASE_FILE), copy.path().join(DATABASE_FILE)).unwrap();
    assert_eq!(numbers(&Store::open(copy.path(), "").unwrap(), "s"), [1, 2, 3]);
    let log = home.path().join(format!("{DATABASE_FILE}-wal"));
    assert_eq!(std::fs::metadata(log).unwrap().len(), 0);
    assert_eq!(store.append("s", vec![text("four")]).unwrap().rows[0].seq, 4);
}
