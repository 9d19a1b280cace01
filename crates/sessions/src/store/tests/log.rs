use super::*;
use openagents_core::update::{ModeChange, Title};
use rusqlite::Connection;
use std::thread;

#[test]
fn append_numbers_updates() {
    let (home, store) = store();
    session(&store, "s");
    let first = store.append("s", vec![text("one"), text("two")]).unwrap();
    assert_eq!(first.rows.iter().map(|row| row.seq).collect::<Vec<_>>(), [1, 2]);
    store.append("s", vec![text("three")]).unwrap();
    drop(store);
    let store = Store::open(home.path(), "").unwrap();
    let after = store.updates_after("s", 1, 10).unwrap();
    assert_eq!(
        after.iter().map(|row| (row.seq, row.update.clone())).collect::<Vec<_>>(),
        [(2, text("two")), (3, text("three")),]
    );
    assert_eq!(store.append("s", vec![text("four")]).unwrap().rows[0].seq, 4);
    assert!(after[0].ts <= after[1].ts);
}

#[test]
fn concurrent_appends_leave_no_gaps() {
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
fn callbacks_run_in_seq_order() {
    let (_home, store) = store();
    session(&store, "s");
    let (send, shown) = std::sync::mpsc::channel();
    for n in 0..2000 {
        let send = send.clone();
        let done =
            move |appended: Result<Appended, StoreError>| send.send(appended.unwrap().rows[0].seq).unwrap();
        store.append_then("s".into(), vec![text(&n.to_string())], done).unwrap();
    }
    store.flush().unwrap();
    assert_eq!(shown.try_iter().collect::<Vec<_>>(), (1..=2000).collect::<Vec<_>>());
}

#[test]
fn list_shows_titles_and_modes() {
    let (_home, store) = store();
    session(&store, "empty");
    session(&store, "s");
    let updates = vec![
        SessionUpdate::Title(Title { title: "Explore demo".to_owned(), by_user: false }),
        SessionUpdate::Mode(ModeChange { mode_id: "codex".to_owned() }),
    ];
    store.append("s", updates).unwrap();
    let rows = store.sessions(10, None, None, false).unwrap();
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
fn list_pages_continue_without_gaps() {
    let (_home, store) = store();
    let ids: Vec<String> = (0..25).map(|n| format!("s{n:02}")).collect();
    for id in &ids {
        session(&store, id);
        store.append(id, vec![text("x")]).unwrap();
    }
    let (mut seen, mut after) = (Vec::new(), None::<(i64, String)>);
    loop {
        let page =
            store.sessions(10, after.as_ref().map(|(ts, id)| (*ts, id.as_str())), None, false).unwrap();
        let Some(last) = page.last() else { break };
        after = Some((last.last_ts, last.id.clone()));
        seen.extend(page.into_iter().map(|row| row.id));
    }
    seen.sort();
    assert_eq!(seen, ids);
    assert_eq!(store.sessions(100, None, Some(Path::new("/work")), false).unwrap().len(), 25);
    assert_eq!(store.sessions(100, None, Some(Path::new("/other")), false).unwrap().len(), 0);
}

#[test]
fn log_time_never_decreases() {
    let (home, store) = store();
    session(&store, "s");
    store.append("s", vec![text("one")]).unwrap();
    let tomorrow = now_ms() + 86_400_000;
    let other = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
    // As if the clock had been set back by a day since then.
    other.execute("UPDATE events SET ts = ?1", [tomorrow]).unwrap();
    other.execute("UPDATE sessions SET last_ts = ?1", [tomorrow]).unwrap();
    drop(store);
    let store = Store::open(home.path(), "").unwrap();
    store.append("s", vec![text("two")]).unwrap();
    let times: Vec<i64> = store.updates_after("s", 0, 10).unwrap().iter().map(|stored| stored.ts).collect();
    assert_eq!(times, [tomorrow, tomorrow]);
}

#[test]
fn delete_removes_delegates_and_frees_id() {
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
    let rows = store.sessions(10, None, None, true).unwrap();
    assert_eq!(rows.into_iter().map(|row| row.id).collect::<Vec<_>>(), ["other"]);
    let left = Connection::open(home.path().join(DATABASE_FILE)).unwrap();
    let count = |sql: &str| left.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM events"), 2);
    session(&store, "s");
    assert_eq!(store.append("s", vec![text("x")]).unwrap().rows[0].seq, 1);
}

#[test]
fn page_is_bounded_by_bytes_but_never_empty() {
    let (_home, store) = store();
    session(&store, "s");
    store.append("s", vec![text(&"x".repeat(1000)); 10]).unwrap();
    let page = |since, bytes| store.page_after("s", since, 5, bytes).unwrap().len();
    assert_eq!([page(0, 1), page(0, 2_500), page(8, 2_500), page(0, usize::MAX)], [1, 3, 2, 5]);
}
