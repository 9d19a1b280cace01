use super::*;
use openagents_core::{
    approval::{Approval, ApprovalOption, ApprovalState, OptionKind},
    history::{FileStamp, Provider, Transcript},
    model::SettingsStore,
    update::{AgentMessage, ModeChange, Title},
};
use rusqlite::Connection;
use std::thread;

fn store() -> (tempfile::TempDir, Store) {
    let home = tempfile::tempdir().unwrap();
    let store = Store::open(home.path()).unwrap();
    (home, store)
}

fn session(store: &Store, id: &str) {
    let new = NewSession { id: id.to_owned(), cwd: "/work".into(), mode: "default_mode".to_owned() };
    store.create_session(new).unwrap();
}

fn text(text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessage(AgentMessage { text: text.to_owned(), ..AgentMessage::default() })
}

fn numbers(store: &Store, id: &str) -> Vec<u64> {
    store.updates_after(id, 0, usize::MAX >> 1).unwrap().iter().map(|stored| stored.seq).collect()
}

#[test]
fn updates_are_numbered_and_come_back() {
    let (home, store) = store();
    session(&store, "s");
    let first = store.append("s", vec![text("one"), text("two")]).unwrap();
    assert_eq!(first.rows.iter().map(|row| row.seq).collect::<Vec<_>>(), [1, 2]);
    store.append("s", vec![text("three")]).unwrap();
    drop(store);
    let store = Store::open(home.path()).unwrap();
    let after = store.updates_after("s", 1, 10).unwrap();
    assert_eq!(
        after.iter().map(|row| (row.seq, row.update.clone())).collect::<Vec<_>>(),
        [(2, text("two")), (3, text("three")),]
    );
    assert_eq!(store.append("s", vec![text("four")]).unwrap().rows[0].seq, 4);
    assert!(after[0].ts <= after[1].ts);
}

#[test]
fn many_writers_leave_no_gaps() {
    let (_home, store) = store();
    for id in ["a", "b"] {
        session(&store, id);
    }
    thread::scope(|scope| {
        for writer in 0..8 {
            let store = &store;
            scope.spawn(move || {
                for n in 0..100 {
                    let id = if n % 2 == 0 { "a" } else { "b" };
                    store.append(id, vec![text(&format!("{writer} {n}"))]).unwrap();
                }
            });
        }
    });
    for id in ["a", "b"] {
        assert_eq!(numbers(&store, id), (1..=400).collect::<Vec<_>>());
    }
}

#[test]
fn callbacks_come_in_the_order_of_the_numbers() {
    let (_home, store) = store();
    session(&store, "s");
    let (send, told) = std::sync::mpsc::channel();
    for n in 0..2000 {
        let send = send.clone();
        let done =
            move |appended: Result<Appended, StoreError>| send.send(appended.unwrap().rows[0].seq).unwrap();
        store.append_then("s".into(), vec![text(&n.to_string())], done).unwrap();
    }
    store.flush().unwrap();
    assert_eq!(told.try_iter().collect::<Vec<_>>(), (1..=2000).collect::<Vec<_>>());
}

#[test]
fn titles_and_modes_show_in_the_list() {
    let (_home, store) = store();
    session(&store, "empty");
    session(&store, "s");
    let updates = vec![
        SessionUpdate::Title(Title { title: "Explore demo".to_owned() }),
        SessionUpdate::Mode(ModeChange { mode_id: "codex".to_owned() }),
    ];
    store.append("s", updates).unwrap();
    let rows = store.sessions(10, None, None).unwrap();
    assert_eq!(rows.len(), 1, "a session without updates is nothing to show");
    assert_eq!(
        (rows[0].title.as_deref(), rows[0].mode.as_str(), rows[0].last_seq),
        (Some("Explore demo"), "codex", 2)
    );
    assert_eq!(store.session("empty").unwrap().map(|row| row.last_seq), Some(0));
    assert_eq!(store.session("unknown").unwrap(), None);
    session(&store, "s");
    assert_eq!(
        store.session("s").unwrap().map(|row| row.last_seq),
        Some(2),
        "creating twice changes nothing"
    );
}

#[test]
fn the_list_goes_on_where_it_ended() {
    let (_home, store) = store();
    let ids: Vec<String> = (0..25).map(|n| format!("s{n:02}")).collect();
    for id in &ids {
        session(&store, id);
        store.append(id, vec![text("x")]).unwrap();
    }
    let (mut seen, mut after) = (Vec::new(), None::<(i64, String)>);
    loop {
        let page = store.sessions(10, after.as_ref().map(|(ts, id)| (*ts, id.as_str())), None).unwrap();
        let Some(last) = page.last() else { break };
        after = Some((last.last_ts, last.id.clone()));
        seen.extend(page.into_iter().map(|row| row.id));
    }
    seen.sort();
    assert_eq!(seen, ids);
    assert_eq!(store.sessions(100, None, Some(Path::new("/work"))).unwrap().len(), 25);
    assert_eq!(store.sessions(100, None, Some(Path::new("/other"))).unwrap().len(), 0);
}

#[test]
fn a_failed_write_gives_out_no_number() {
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
fn an_update_for_nobody_is_an_error() {
    let (_home, store) = store();
    assert!(store.append("nobody", vec![text("x")]).is_err());
    session(&store, "s");
    assert_eq!(store.append("s", vec![text("x")]).unwrap().rows[0].seq, 1);
}

#[test]
fn a_damaged_database_is_moved_aside() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(DATABASE_FILE);
    std::fs::write(&path, "this is no database, whatever its name says".repeat(100)).unwrap();
    let store = Store::open(home.path()).unwrap();
    let [notice] = store.notices() else { panic!("one notice") };
    assert!(notice.starts_with("The session database is damaged; it was moved to "), "{notice}");
    let aside = aside(home.path());
    assert!(notice.contains(aside.to_str().unwrap()));
    assert!(std::fs::read_to_string(aside).unwrap().starts_with("this is no database"));
    session(&store, "s");
    assert_eq!(store.append("s", vec![text("x")]).unwrap().rows[0].seq, 1);
}

#[test]
fn damage_in_the_middle_is_found() {
    let (home, store) = store();
    session(&store, "s");
    store.append("s", (0..2000).map(|n| text(&n.to_string().repeat(20))).collect()).unwrap();
    drop(store);
    let path = home.path().join(DATABASE_FILE);
    // Out of the write-ahead log, so that there are pages to damage.
    Connection::open(&path).unwrap().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8192].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(Store::open(home.path()).unwrap().notices().len(), 1);
}

#[test]
fn a_newer_database_is_moved_aside() {
    let (home, store) = store();
    session(&store, "s");
    drop(store);
    let path = home.path().join(DATABASE_FILE);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 999).unwrap();
    let store = Store::open(home.path()).unwrap();
    assert!(store.notices()[0].contains("was written by a newer version of OpenAgents (format 999)"));
    let kept = Connection::open(aside(home.path())).unwrap();
    assert_eq!(kept.query_row("SELECT count(*) FROM sessions", [], |row| row.get::<_, i64>(0)).unwrap(), 1);
}

fn aside(home: &Path) -> PathBuf {
    let is_aside = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("openagents.sqlite.") && !name.ends_with("-wal") && !name.ends_with("-shm")
    };
    std::fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path()).find(is_aside).unwrap()
}

#[test]
fn a_folder_that_cannot_be_written_to_is_named() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = Store::open(&file.join("data")).unwrap_err();
    assert!(matches!(&error, StoreError::NotWritable { path, .. } if *path == file.join("data")), "{error}");
}

#[test]
fn every_version_becomes_the_current_one() {
    for version in 0..=migrations::current() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrations::run_to(&mut connection, version).unwrap();
        assert_eq!(migrations::version(&connection).unwrap(), version);
        migrations::run(&mut connection).unwrap();
        assert_eq!(migrations::version(&connection).unwrap(), migrations::current());
        // Twice changes nothing.
        migrations::run(&mut connection).unwrap();
    }
}

/// The columns of the database at a version, one a line.
fn shape(version: u32) -> String {
    let mut connection = Connection::open_in_memory().unwrap();
    migrations::run_to(&mut connection, version).unwrap();
    let mut statement = connection
        .prepare("SELECT m.name || '.' || c.name || ' ' || c.type FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.cid")
        .unwrap();
    let columns: Vec<String> =
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    columns.join("\n")
}

#[test]
fn the_shape_of_version_one_is_fixed() {
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
fn version_two_adds_the_settings_and_nothing_else() {
    let (one, two) = (shape(1), shape(2));
    let added: Vec<&str> = two.lines().filter(|line| !one.lines().any(|known| known == *line)).collect();
    assert_eq!(added, ["settings.key TEXT", "settings.value_json TEXT"]);
    assert_eq!(two.lines().count(), one.lines().count() + added.len());
}

#[test]
fn version_three_adds_delegates_approvals_and_decisions() {
    let (two, three) = (shape(2), shape(3));
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
fn version_five_adds_devices_and_the_audit() {
    let (four, five) = (shape(4), shape(5));
    let added: Vec<&str> = five.lines().filter(|line| !four.lines().any(|known| known == *line)).collect();
    insta::assert_snapshot!(added.join("\n"), @r"
    audit.id INTEGER
    audit.ts INTEGER
    audit.device_id TEXT
    audit.name TEXT
    audit.address TEXT
    audit.action TEXT
    audit.detail TEXT
    devices.id TEXT
    devices.name TEXT
    devices.scope TEXT
    devices.token_hash BLOB
    devices.created_ts INTEGER
    devices.last_seen_ts INTEGER
    devices.last_address TEXT
    ");
    assert_eq!(five.lines().count(), four.lines().count() + added.len());
}

#[test]
fn a_database_of_version_two_keeps_what_it_has() {
    let home = tempfile::tempdir().unwrap();
    {
        let mut connection = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
        migrations::run_to(&mut connection, 2).unwrap();
        connection
            .execute_batch(
                r#"INSERT INTO sessions VALUES ('old', '/work', 'Old', 'codex', 1, 2, 1);
                INSERT INTO events VALUES ('old', 1, 2, '{"kind":"tool_call_update","call_id":"c","status":{"status":"completed","output":null}}');
                INSERT INTO settings VALUES ('local_model', '{"a":1}')"#,
            )
            .unwrap();
    }
    let store = Store::open(home.path()).unwrap();
    assert_eq!(store.notices(), Vec::<String>::new());
    let row = store.session("old").unwrap().unwrap();
    assert_eq!((row.mode.as_str(), row.parent, row.policy), ("codex", None, Default::default()));
    assert_eq!(store.updates_after("old", 0, 10).unwrap().len(), 1);
    assert_eq!(store.sessions(10, None, None).unwrap().len(), 1);
    assert_eq!(store.get("local_model"), Ok(Some(serde_json::json!({"a": 1}))));
    assert_eq!(store.approval("none"), Ok(None));
    assert_eq!(store.agent_session("old", "codex"), Ok(None));
    assert_eq!(store.decisions(), Ok(Vec::new()));
}

fn pending(id: &str, hash: &str) -> Approval {
    let option = |id: &str, kind| ApprovalOption { id: id.to_owned(), name: id.to_owned(), kind };
    Approval {
        id: id.to_owned(),
        call_id: "c".to_owned(),
        agent: "Codex".to_owned(),
        title: "Edit".to_owned(),
        raw_input: Some(serde_json::json!({"path": "a.rs"})),
        hash: hash.to_owned(),
        command: None,
        options: vec![option("yes", OptionKind::AllowOnce), option("no", OptionKind::RejectOnce)],
        state: ApprovalState::Pending,
        asked_at: 0,
        raw_input_cut: false,
        unheard: false,
        resumed: false,
    }
}

fn decide(store: &Store, session: &str, change: ApprovalChange) -> Decided {
    let (send, told) = std::sync::mpsc::channel();
    store
        .decide_then(session.into(), change, move |appended| send.send(appended.unwrap().decided).unwrap())
        .unwrap();
    told.recv().unwrap()
}

fn ask(store: &Store, session: &str, approval: Approval) -> ApprovalState {
    let change = ApprovalChange::Ask { approval, agent_id: "codex".to_owned() };
    decide(store, session, change).approval.unwrap().state
}

fn answer(id: &str, option: &str) -> ApprovalChange {
    ApprovalChange::Answer { id: id.to_owned(), option_id: option.to_owned(), by: "me".to_owned() }
}

#[test]
fn an_answer_that_nobody_heard_counts_once_in_its_session_and_for_ten_minutes() {
    let (home, store) = store();
    ["s", "other"].iter().for_each(|id| session(&store, id));
    let gone = |id: &str| ApprovalChange::End { id: id.to_owned(), state: ApprovalState::Withdrawn };
    // Withdrawn, then answered; the options have other ids when it is asked again.
    ask(&store, "s", pending("1", "h"));
    assert!(decide(&store, "s", gone("1")).changed);
    assert!(decide(&store, "s", answer("1", "yes")).changed);
    assert!(!decide(&store, "s", answer("1", "no")).changed);
    assert_eq!(ask(&store, "other", pending("2", "h")), ApprovalState::Pending);
    assert_eq!(ask(&store, "s", pending("3", "another")), ApprovalState::Pending);
    let mut again = pending("4", "h");
    again.options[0].id = "allow".to_owned();
    let answered = ask(&store, "s", again);
    assert!(
        matches!(&answered, ApprovalState::Answered { option_id, .. } if option_id == "allow"),
        "{answered:?}"
    );
    assert_eq!(ask(&store, "s", pending("5", "h")), ApprovalState::Pending);
    // One that somebody waited for counts for that one alone.
    assert!(decide(&store, "s", answer("5", "yes")).changed);
    assert_eq!(ask(&store, "s", pending("6", "h")), ApprovalState::Pending);
    // Too old.
    decide(&store, "s", gone("6"));
    decide(&store, "s", answer("6", "yes"));
    let other = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
    other.execute_batch("UPDATE approvals SET answered_ts = answered_ts - 601000").unwrap();
    assert_eq!(ask(&store, "s", pending("7", "h")), ApprovalState::Pending);
    // Nothing is lost, and the log tells it all.
    drop(store);
    let store = Store::open(home.path()).unwrap();
    assert!(matches!(store.approval("4").unwrap().unwrap().approval.state, ApprovalState::Answered { .. }));
    assert_eq!(store.updates_after("s", 0, 100).unwrap().len(), 11);
    assert_eq!(decide(&store, "s", answer("unknown", "yes")), Decided::default());
}

#[test]
fn of_decisions_the_newest_are_kept() {
    let (_home, store) = store();
    let decision = openagents_core::routing::Decision {
        target: openagents_core::routing::Target::Codex,
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

#[test]
fn a_database_of_version_one_keeps_its_sessions() {
    let home = tempfile::tempdir().unwrap();
    {
        let mut connection = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
        migrations::run_to(&mut connection, 1).unwrap();
        connection
            .execute_batch("INSERT INTO sessions VALUES ('old', '/work', 'Old', 'default_mode', 1, 2, 0)")
            .unwrap();
    }
    let store = Store::open(home.path()).unwrap();
    assert_eq!(store.notices(), Vec::<String>::new());
    assert_eq!(store.session("old").unwrap().and_then(|row| row.title).as_deref(), Some("Old"));
    assert_eq!(store.get("local_model"), Ok(None));
}

#[test]
fn settings_are_kept_by_key() {
    let (home, store) = store();
    assert_eq!(store.get("a"), Ok(None));
    store.set("a", serde_json::json!({"x": 1})).unwrap();
    store.set("b", serde_json::json!(null)).unwrap();
    store.set("a", serde_json::json!([2])).unwrap();
    drop(store);
    let store = Store::open(home.path()).unwrap();
    assert_eq!(store.get("a"), Ok(Some(serde_json::json!([2]))));
    assert_eq!(store.get("b"), Ok(Some(serde_json::json!(null))));
    Connection::open(home.path().join(DATABASE_FILE))
        .unwrap()
        .execute_batch("UPDATE settings SET value_json = '{' WHERE key = 'a'")
        .unwrap();
    assert!(store.get("a").unwrap_err().to_string().starts_with("the settings cannot be kept: "));
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
    let index = Store::open(home.path()).unwrap().transcript_index();
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

/// Asks, withdraws and answers, as after a crash.
fn unheard(store: &Store, approval: Approval, option: &str) {
    let id = approval.id.clone();
    ask(store, "s", approval);
    decide(store, "s", ApprovalChange::End { id: id.clone(), state: ApprovalState::Withdrawn });
    assert!(decide(store, "s", answer(&id, option)).approval.unwrap().unheard);
}

#[test]
fn a_question_that_states_nothing_is_never_answered_in_advance() {
    for raw_input in [None, Some(serde_json::json!(null)), Some(serde_json::json!({}))] {
        let (_home, store) = store();
        session(&store, "s");
        let silent = |id: &str| Approval { raw_input: raw_input.clone(), ..pending(id, "h") };
        unheard(&store, silent("1"), "yes");
        assert_eq!(ask(&store, "s", silent("2")), ApprovalState::Pending);
    }
}

#[test]
fn an_answer_counts_for_an_option_that_is_the_same_beyond_doubt() {
    let option =
        |id: &str, name: &str, kind| ApprovalOption { id: id.to_owned(), name: name.to_owned(), kind };
    let file = || option("1", "This file", OptionKind::AllowAlways);
    let all = |id| option(id, "Everything", OptionKind::AllowAlways);
    for (then, now, expected) in [
        // The ids were given out anew: the name counts.
        (
            vec![file(), all("2")],
            vec![all("1"), option("2", "This file", OptionKind::AllowAlways)],
            Some("2"),
        ),
        // Two of the kind, and none of the name.
        (vec![file()], vec![all("1"), all("2")], None),
        (vec![file(), all("2")], vec![all("1")], None),
        // One of the kind on both sides.
        (vec![file()], vec![option("9", "Always", OptionKind::AllowAlways)], Some("9")),
        (vec![file()], vec![option("1", "This file", OptionKind::RejectAlways)], None),
    ] {
        let (_home, store) = store();
        session(&store, "s");
        unheard(&store, Approval { options: then, ..pending("1", "h") }, "1");
        let state = ask(&store, "s", Approval { options: now.clone(), ..pending("2", "h") });
        let found = match &state {
            ApprovalState::Answered { option_id, .. } => Some(option_id.as_str()),
            _ => None,
        };
        assert_eq!(found, expected, "{now:?}");
    }
}

#[test]
fn an_answer_in_advance_is_for_the_agent_that_asked_and_not_from_the_future() {
    let (home, store) = store();
    session(&store, "s");
    unheard(&store, pending("1", "h"), "yes");
    let (approval, agent_id) = (pending("2", "h"), "claude-code".to_owned());
    let other = decide(&store, "s", ApprovalChange::Ask { approval, agent_id });
    assert_eq!(other.approval.unwrap().state, ApprovalState::Pending);
    let database = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
    database.execute_batch("UPDATE approvals SET answered_ts = answered_ts + 600000 WHERE id = '1'").unwrap();
    assert_eq!(ask(&store, "s", pending("3", "h")), ApprovalState::Pending);
}

#[test]
fn an_agent_is_told_to_go_on_once() {
    let (_home, store) = store();
    session(&store, "s");
    let resume = |id: &str| decide(&store, "s", ApprovalChange::Resume { id: id.to_owned() });
    ask(&store, "s", pending("1", "h"));
    assert!(!resume("1").changed);
    decide(&store, "s", ApprovalChange::End { id: "1".to_owned(), state: ApprovalState::Withdrawn });
    let first = resume("1");
    assert!(first.changed && first.approval.unwrap().resumed);
    assert!(!resume("1").changed);
    assert!(decide(&store, "s", ApprovalChange::NotResumed { id: "1".to_owned() }).changed);
    assert!(resume("1").changed);
    // An answer that was heard needs nobody to go on.
    unheard(&store, pending("2", "other"), "yes");
    ask(&store, "s", pending("3", "other"));
    assert!(!resume("2").changed);
}

#[test]
fn an_approval_that_nobody_can_read_takes_nothing_else_along() {
    let (home, store) = store();
    session(&store, "s");
    ask(&store, "s", pending("1", "h"));
    let database = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
    database.execute_batch("UPDATE approvals SET approval_json = '{'").unwrap();
    assert_eq!(decide(&store, "s", answer("1", "yes")), Decided::default());
    assert_eq!(store.approval("1"), Ok(None));
    assert_eq!(ask(&store, "s", pending("2", "h")), ApprovalState::Pending);
}

#[test]
fn a_full_disk_is_said_and_costs_what_is_not_stored_only() {
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
fn one_that_cannot_be_stored_takes_no_other_along() {
    let (_home, store) = store();
    session(&store, "s");
    let (send, told) = std::sync::mpsc::channel();
    for n in 0..300 {
        let send = send.clone();
        let id = if n % 3 == 0 { "nobody" } else { "s" };
        let done = move |appended: Result<Appended, StoreError>| send.send(appended.is_ok()).unwrap();
        store.append_then(id.into(), vec![text(&n.to_string())], done).unwrap();
    }
    store.flush().unwrap();
    assert_eq!(told.try_iter().filter(|is_stored| *is_stored).count(), 200);
    assert_eq!(numbers(&store, "s"), (1..=200).collect::<Vec<_>>());
}

#[test]
fn the_time_of_a_log_never_goes_back() {
    let (home, store) = store();
    session(&store, "s");
    store.append("s", vec![text("one")]).unwrap();
    let tomorrow = now_ms() + 86_400_000;
    let other = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
    // As if the clock had been set back by a day since then.
    other.execute("UPDATE events SET ts = ?1", [tomorrow]).unwrap();
    other.execute("UPDATE sessions SET last_ts = ?1", [tomorrow]).unwrap();
    drop(store);
    let store = Store::open(home.path()).unwrap();
    store.append("s", vec![text("two")]).unwrap();
    let times: Vec<i64> = store.updates_after("s", 0, 10).unwrap().iter().map(|stored| stored.ts).collect();
    assert_eq!(times, [tomorrow, tomorrow]);
}

#[test]
fn a_deleted_session_is_gone_with_its_delegates_and_its_id_begins_anew() {
    let (home, store) = store();
    session(&store, "s");
    session(&store, "other");
    let child = |id: &str, parent: &str| {
        let new = NewSession { id: id.to_owned(), cwd: "/work".into(), mode: "codex".to_owned() };
        let parent = Parent { session_id: parent.to_owned(), call_id: "c".to_owned() };
        store.create_child(new, parent, Default::default(), &Default::default()).unwrap();
    };
    child("child", "s");
    child("grandchild", "child");
    for id in ["s", "child", "grandchild", "other"] {
        store.append(id, vec![text("one"), text("two")]).unwrap();
    }
    let family = store.family("s").unwrap();
    assert_eq!(family, ["s", "child", "grandchild"]);
    store.delete_sessions(family).unwrap();
    let rows = store.sessions_and_children(10, None, None).unwrap();
    assert_eq!(rows.into_iter().map(|row| row.id).collect::<Vec<_>>(), ["other"]);
    let left = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
    let count = |sql: &str| left.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM events"), 2);
    session(&store, "s");
    assert_eq!(store.append("s", vec![text("x")]).unwrap().rows[0].seq, 1);
}

#[test]
fn a_page_ends_at_so_many_bytes_and_has_one_update_at_least() {
    let (_home, store) = store();
    session(&store, "s");
    store.append("s", vec![text(&"x".repeat(1000)); 10]).unwrap();
    let page = |since, bytes| store.page_after("s", since, 5, bytes).unwrap().len();
    assert_eq!([page(0, 1), page(0, 2_500), page(8, 2_500), page(0, usize::MAX)], [1, 3, 2, 5]);
}
