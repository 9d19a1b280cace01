use super::*;
use rusqlite::Connection;

#[test]
fn every_version_migrates_to_current() {
    let steps = open::all_steps(&[]);
    for taken in 0..=steps.len() {
        let mut connection = Connection::open_in_memory().unwrap();
        open::apply_steps(&mut connection, &steps[..taken]).unwrap();
        assert_eq!(open::version(&connection).unwrap(), open::last_version(&steps[..taken]));
        open::apply_steps(&mut connection, &steps).unwrap();
        assert_eq!(open::version(&connection).unwrap(), open::last_version(&steps));
        // Running twice changes nothing.
        open::apply_steps(&mut connection, &steps).unwrap();
    }
}

/// Returns the columns of the database at a version, one per line.
fn shape(version: u32) -> String {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate_to(&mut connection, version, &[]).unwrap();
    let mut statement = connection
        .prepare("SELECT m.name || '.' || c.name || ' ' || c.type FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.cid")
        .unwrap();
    let columns: Vec<String> =
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    columns.join("\n")
}

#[test]
fn version_one_schema_is_fixed() {
    insta::assert_snapshot!(shape(1), @r"
    events.session_id TEXT
    events.seq INTEGER
    events.ts INTEGER
    events.update_json TEXT
    sessions.id TEXT
    sessions.cwd TEXT
    sessions.title TEXT
    sessions.mode TEXT
    sessions.created_ts INTEGER
    sessions.last_ts INTEGER
    sessions.last_seq INTEGER
    transcripts.path TEXT
    transcripts.size INTEGER
    transcripts.mtime_ns INTEGER
    transcripts.reader INTEGER
    transcripts.row_json TEXT
    ");
}

#[test]
fn version_three_adds_delegates_approvals_and_decisions() {
    let (two, three) = (shape(1), shape(3));
    let added: Vec<&str> = three.lines().filter(|line| !two.lines().any(|known| known == *line)).collect();
    insta::assert_snapshot!(added.join("\n"), @r"
    agent_sessions.session_id TEXT
    agent_sessions.agent_id TEXT
    agent_sessions.agent_session_id TEXT
    approvals.id TEXT
    approvals.session_id TEXT
    approvals.agent_id TEXT
    approvals.hash TEXT
    approvals.state TEXT
    approvals.answered_ts INTEGER
    approvals.applies_once INTEGER
    approvals.approval_json TEXT
    decisions.id INTEGER
    decisions.ts INTEGER
    decisions.session_id TEXT
    decisions.prompt TEXT
    decisions.decision_json TEXT
    sessions.parent_id TEXT
    sessions.parent_call_id TEXT
    sessions.policy_json TEXT
    ");
    assert_eq!(three.lines().count(), two.lines().count() + added.len());
}

#[test]
fn steps_of_other_owners_apply_in_version_order() {
    let other = |version, sql| Step { version, sql };
    let others = [
        other(5, "CREATE TABLE later (id TEXT) STRICT;"),
        other(2, "CREATE TABLE earlier (id TEXT) STRICT;"),
    ];
    let steps = open::all_steps(&others);
    let versions: Vec<_> = steps.iter().map(|step| step.version).collect();
    assert_eq!(versions, (1..=open::last_version(&steps)).collect::<Vec<_>>());
    let home = tempfile::tempdir().unwrap();
    drop(Store::open(home.path(), &others).unwrap());
    let store = Store::open(home.path(), &others).unwrap();
    assert_eq!(store.notices(), Vec::<String>::new());
    assert_eq!(store.approval("none"), Ok(None));
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name IN ('earlier', 'later')";
    assert_eq!(store.query(|connection| connection.query_row(tables, [], |row| row.get(0))), Ok(2));
}
