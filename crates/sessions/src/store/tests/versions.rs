use super::*;
use openagents_core::agent::{EarlierKind, EarlierSession};

#[test]
fn version_10_database_keeps_its_data() {
    let home = tempfile::tempdir().unwrap();
    let old = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
    old.execute_batch(include_str!("version_10.sql")).unwrap();
    drop(old);
    // The second time, it has the current version.
    for _ in 0..2 {
        let store = Store::open(home.path(), "").unwrap();
        assert_eq!(store.notices(), Vec::<String>::new());
        let row = store.session("s").unwrap().unwrap();
        assert_eq!((row.title.as_deref(), row.mode.as_str(), row.last_seq), (Some("Fix it"), "codex", 4));
        assert_eq!(numbers(&store, "s"), [1, 2, 3, 4]);
        assert!(store.left_open().contains("s"));
        let earlier = EarlierSession { id: "c1".to_owned(), kind: EarlierKind::Own };
        assert_eq!(store.agent_session("s", "codex").unwrap(), Some(earlier));
        assert_eq!(store.transcript_labels().unwrap().len(), 1);
        let kept = "SELECT (SELECT value_json FROM settings) || (SELECT name FROM devices)";
        let kept = store.query(|connection| connection.query_row(kept, [], |row| row.get::<_, String>(0)));
        assert_eq!(kept.unwrap(), r#"{"a":1}Phone"#);
    }
    let store = Store::open(home.path(), "").unwrap();
    session(&store, "new");
    assert_eq!(store.append("s", vec![text("more")]).unwrap().rows[0].seq, 5);
}

#[test]
fn new_database_has_the_tables_of_an_upgraded_one() {
    let columns = |connection: &Connection| {
        let sql = "SELECT m.name || '.' || c.name || ' ' || c.type || ' ' || c.\"notnull\" FROM sqlite_schema m, \
                   pragma_table_info(m.name) c WHERE m.name NOT IN ('settings', 'devices', 'audit') ORDER BY 1";
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<Vec<String>, _>>()
    };
    let upgraded = tempfile::tempdir().unwrap();
    let old = Connection::open(upgraded.path().join(DATABASE_FILE)).unwrap();
    old.execute_batch(include_str!("version_10.sql")).unwrap();
    drop(old);
    let upgraded = Store::open(upgraded.path(), "").unwrap().query(columns).unwrap();
    assert_eq!(store().1.query(columns).unwrap(), upgraded);
}

#[test]
fn open_upgrades_versions_11_to_14_in_place() {
    for version in [11, 12, 13, 14] {
        let (home, store) = store();
        session(&store, "s");
        drop(store);
        let old = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
        let added = "DROP TABLE images; ALTER TABLE agent_sessions DROP COLUMN kind;";
        old.execute_batch(added).unwrap();
        if version < 14 {
            old.execute_batch("ALTER TABLE sessions DROP COLUMN is_named").unwrap();
        }
        if version < 13 {
            let added = "DROP TABLE session_choices; DROP TABLE agent_choices; DROP TABLE agent_options;";
            old.execute_batch(added).unwrap();
        }
        old.pragma_update(None, "user_version", version).unwrap();
        drop(old);
        let store = Store::open(home.path(), "").unwrap();
        assert_eq!(store.notices(), &[] as &[String]);
        let is_named = store.session("s").unwrap().unwrap().is_named;
        assert_eq!(is_named, version < 14, "no agent replaces an older title");
        let now = |connection: &Connection| {
            connection.query_row("PRAGMA user_version", [], |row| row.get::<_, u32>(0))
        };
        assert_eq!(store.query(now).unwrap(), 15);
    }
}

#[test]
fn open_moves_unsupported_versions_aside() {
    for (version, age) in [(9, "an older"), (999, "a newer")] {
        let (home, store) = store();
        session(&store, "s");
        drop(store);
        let path = home.path().join(DATABASE_FILE);
        Connection::open(&path).unwrap().pragma_update(None, "user_version", version).unwrap();
        let store = Store::open(home.path(), "").unwrap();
        let notice = format!("was written by {age} version of OpenAgents (format {version})");
        assert!(store.notices()[0].contains(&notice), "{:?}", store.notices());
        let kept = Connection::open(aside(home.path())).unwrap();
        assert_eq!(kept.query_row("SELECT count(*) FROM sessions", [], |row| row.get::<_, i64>(0)), Ok(1));
    }
}
