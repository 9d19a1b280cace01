use super::*;
use openagents_core::{CancellationToken, budget::Budget};
use rusqlite::Connection;
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, SystemTime},
};

/// Passes the folder to the part of a test that runs in another process.
const FOLDER: &str = "OPENAGENTS_TEST_FOLDER";

fn budget() -> Budget {
    Budget::within(Duration::from_secs(60), &CancellationToken::new())
}

fn count(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0))
}

fn rows(path: &Path) -> Result<i64, DatabaseError> {
    read_database(path, &budget(), count)
}

/// Writes two rows: one into the database, and one that stays in the log while the connection is open.
fn writer(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE t(x); INSERT INTO t VALUES(1);
             PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO t VALUES(2);",
        )
        .unwrap();
    connection
}

/// Starts a test again in another process, for which `FOLDER` is set.
fn as_process(program: &[&str], test: &str, folder: &Path) -> Command {
    let own = std::env::current_exe().unwrap();
    let mut command = match program {
        [] => Command::new(own),
        [program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments).arg(own);
            command
        }
    };
    let name = format!("history::sqlite::tests::{test}");
    command.args(["--exact", &name, "--nocapture"]).env(FOLDER, folder).stdout(Stdio::piped());
    command
}

/// Leaves the files of a killed writer: only those with `suffixes`.
fn crashed(folder: &Path, suffixes: &[&str]) -> PathBuf {
    let live = tempfile::tempdir().unwrap();
    let from = live.path().join("a.db");
    let _writer = writer(&from);
    let to = folder.join("a.db");
    for suffix in suffixes {
        fs::copy(beside(&from, suffix), beside(&to, suffix)).unwrap();
    }
    to
}

/// A folder's files: sizes, hashes of bytes, and times.
fn state(folder: &Path) -> BTreeMap<PathBuf, (u64, u32, SystemTime)> {
    let file = |path: PathBuf| {
        let (bytes, time) = (fs::read(&path).unwrap(), path.metadata().unwrap().modified().unwrap());
        (path, (bytes.len() as u64, xxhash_rust::xxh32::xxh32(&bytes, 0), time))
    };
    fs::read_dir(folder).unwrap().map(|entry| file(entry.unwrap().path())).collect()
}

/// Asserts the result of reading `path`, and that reading leaves no trace.
fn assert_reads(path: &Path, expected: i64) {
    let folder = path.parent().unwrap();
    let before = state(folder);
    assert_eq!(rows(path).unwrap(), expected, "{}", path.display());
    assert_eq!(state(folder), before, "a reader wrote into the folder");
}

fn assert_absent(path: &Path) {
    let before = state(path.parent().unwrap());
    assert!(rows(path).is_err(), "{}", path.display());
    assert_eq!(state(path.parent().unwrap()), before, "a reader wrote into the folder");
}

#[test]
fn read_of_closed_database_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    drop(writer(&path));
    assert_eq!(fs::read(&path).unwrap()[18..20], [2, 2], "write-ahead logging stays on");
    assert_reads(&path, 2);
    assert_eq!(state(folder.path()).len(), 1);
}

/// In one process, all connections share the index of the log, and one that writes makes it writable for all.
#[test]
fn read_of_open_database_leaves_no_trace() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let writer = writer(&PathBuf::from(folder).join("a.db"));
        for line in std::io::stdin().lines() {
            writer.execute_batch(&line.unwrap()).unwrap();
            println!("\ndone");
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let test = "read_of_open_database_leaves_no_trace";
    let mut agent = as_process(&[], test, folder.path()).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = agent.stdin.take().unwrap();
    let mut output = BufReader::new(agent.stdout.take().unwrap()).lines();
    for (statement, expected) in [
        ("", 2),
        ("INSERT INTO t VALUES(3);", 3),
        ("BEGIN; INSERT INTO t VALUES(4);", 3),
        ("COMMIT; PRAGMA wal_checkpoint(PASSIVE);", 4),
        ("INSERT INTO t VALUES(5);", 5),
    ] {
        writeln!(input, "{statement}").unwrap();
        assert!(output.any(|line| line.unwrap() == "done"), "the agent stopped at {statement:?}");
        assert_reads(&path, expected);
    }
    drop(input);
    assert!(agent.wait().unwrap().success());
    assert_reads(&path, 5);
    assert_eq!(state(folder.path()).len(), 1);
}

#[test]
fn read_of_crashed_database_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    assert_reads(&crashed(folder.path(), &["", "-wal", "-shm"]), 2);
}

#[test]
fn wal_without_index_is_read_from_copy() {
    let folder = tempfile::tempdir().unwrap();
    let path = crashed(folder.path(), &["", "-wal"]);
    assert_reads(&path, 2);
    assert_reads(&path, 2);
    fs::remove_file(beside(&path, "-wal")).unwrap();
    assert_reads(&path, 1);
}

#[test]
fn wal_that_appears_during_read_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    drop(writer(&path));
    let mut agent = None;
    let found = read_database(&path, &budget(), |connection| {
        let found = count(connection);
        agent.get_or_insert_with(|| {
            let agent = Connection::open(&path).unwrap();
            agent.execute_batch("PRAGMA wal_autocheckpoint=0; INSERT INTO t VALUES(3);").unwrap();
            agent
        });
        found
    });
    assert_eq!(found.unwrap(), 3);
}

#[test]
fn read_fails_if_database_keeps_changing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    drop(writer(&path));
    let found = read_database(&path, &budget(), |connection| {
        let agent = Connection::open(&path).unwrap();
        agent.execute("INSERT INTO t VALUES(3)", []).unwrap();
        count(connection)
    });
    assert!(matches!(found, Err(DatabaseError::Changing)), "{found:?}");
}

#[test]
fn uri_escapes_file_names() {
    let folder = tempfile::tempdir().unwrap();
    for (at, name) in ["100%41", "a?mode=rwc", "a#b", "ä b"].into_iter().enumerate() {
        let folder = folder.path().join(name);
        fs::create_dir(&folder).unwrap();
        if at % 2 == 0 {
            drop(writer(&folder.join("a.db")));
        } else {
            crashed(&folder, &["", "-wal", "-shm"]);
        }
        assert_reads(&folder.join("a.db"), 2);
    }
}

#[test]
fn wal_of_linked_database_is_read() {
    let (folder, links) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = crashed(folder.path(), &["", "-wal", "-shm"]);
    let link = links.path().join("link.db");
    symlink(path, &link).unwrap();
    let before = state(folder.path());
    assert_reads(&link, 2);
    assert_eq!(state(folder.path()), before);
}

#[test]
fn torn_journal_is_rolled_back() {
    let (folder, live) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let from = live.path().join("a.db");
    let agent = Connection::open(&from).unwrap();
    agent.execute_batch("CREATE TABLE t(x); INSERT INTO t VALUES(1); PRAGMA cache_size=1; BEGIN;").unwrap();
    agent.execute("INSERT INTO t SELECT randomblob(4000) FROM generate_series(1, 50)", []).unwrap_or_else(
        |_| (0..50).map(|_| agent.execute("INSERT INTO t VALUES(randomblob(4000))", []).unwrap()).sum(),
    );
    agent.cache_flush().unwrap();
    let path = folder.path().join("a.db");
    for suffix in ["", "-journal"] {
        fs::copy(beside(&from, suffix), beside(&path, suffix)).unwrap();
    }
    assert_reads(&path, 1);
}

#[test]
fn read_fails_on_locked_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let agent = Connection::open(&path).unwrap();
    agent.execute_batch("CREATE TABLE t(x); BEGIN EXCLUSIVE; INSERT INTO t VALUES(1);").unwrap();
    assert_absent(&path);
    agent.execute_batch("COMMIT").unwrap();
    assert_reads(&path, 1);
}

#[test]
fn read_fails_on_damaged_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    assert!(matches!(rows(&path), Err(DatabaseError::File(_))), "no file");
    drop(writer(&path));
    let sound = fs::read(&path).unwrap();
    for bytes in
        [&b"version https://git-lfs.github.com/spec/v1\n"[..], &sound[..100], &sound[..4096], &[0; 4096]]
    {
        fs::write(&path, bytes).unwrap();
        assert_absent(&path);
        fs::write(beside(&path, "-wal"), "no log").unwrap();
        assert_absent(&path);
        fs::remove_file(beside(&path, "-wal")).unwrap();
    }
    let mut torn = sound.clone();
    torn[4096..].fill(0xff);
    fs::write(&path, torn).unwrap();
    assert_absent(&path);
    fs::write(&path, sound).unwrap();
    assert!(matches!(
        read_database(&path, &budget(), |db| db.execute("DELETE FROM t", [])),
        Err(DatabaseError::Sqlite(_))
    ));
    assert_reads(&path, 2);
}

#[test]
fn wal_of_empty_database_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = crashed(folder.path(), &["", "-wal", "-shm"]);
    fs::write(&path, "").unwrap();
    assert_absent(&path);
}

#[test]
fn read_does_not_block_on_fifo() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    drop(writer(&path));
    for name in ["fifo.db", "a.db-wal"] {
        let made = Command::new("mkfifo").arg(folder.path().join(name)).status().unwrap();
        assert!(made.success());
    }
    for path in [folder.path().join("fifo.db"), path, folder.path().to_owned()] {
        assert!(matches!(rows(&path), Err(DatabaseError::File(_))), "{}", path.display());
    }
}

#[test]
fn read_ignores_views() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT x FROM n";
    let agent = Connection::open(&path).unwrap();
    agent.execute_batch(&format!("CREATE VIEW t AS {endless}; CREATE TABLE u(\"a\" INTEGER, b)")).unwrap();
    drop(agent);
    assert!(matches!(rows(&path), Err(DatabaseError::Sqlite(_))));
    let (view, missing, table) = read_database(&path, &budget(), |db| {
        let of = |table, required: &[&str]| Columns::with(db, table, required);
        Ok((of("t", &["x"])?, of("u", &["a", "c"])?, of("u", &["a"])?.unwrap()))
    })
    .unwrap();
    assert!(view.is_none() && missing.is_none());
    assert_eq!(table.list(&["b", "c", "a"]), "b, NULL, a");
}

#[test]
fn endless_query_ends_with_budget() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    drop(writer(&path));
    let cancel = CancellationToken::new();
    let found = read_database(&path, &Budget::within(Duration::from_secs(60), &cancel), |db| {
        cancel.cancel();
        let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT count(x) FROM n";
        db.query_row(endless, [], |row| row.get::<_, i64>(0))
    });
    assert!(matches!(found, Err(DatabaseError::Sqlite(_))), "{found:?}");
}

#[test]
fn copy_is_private_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = crashed(folder.path(), &["", "-wal"]);
    let mut copied = None;
    read_database(&path, &budget(), |db| {
        copied = db.path().map(PathBuf::from);
        count(db)
    })
    .unwrap();
    let copied = copied.unwrap();
    assert!(!copied.starts_with(folder.path()), "{}", copied.display());
    assert!(!copied.parent().unwrap().exists());
}

#[test]
fn read_works_without_write_access() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let folder = PathBuf::from(folder);
        assert!(fs::write(folder.join("probe"), "").is_err(), "the folder can be written");
        for (name, expected) in [("ended", 2), ("crashed", 2), ("unreadable", 2), ("copied", 2)] {
            assert_eq!(rows(&folder.join(name).join("a.db")).unwrap(), expected, "{name}");
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| {
        let folder = folder.path().join(name);
        fs::create_dir(&folder).unwrap();
        folder
    };
    drop(writer(&at("ended").join("a.db")));
    crashed(&at("crashed"), &["", "-wal", "-shm"]);
    let hidden = crashed(&at("unreadable"), &["", "-wal", "-shm"]);
    crashed(&at("copied"), &["", "-wal"]);
    let names = ["ended", "crashed", "unreadable", "copied"];
    let allow = |mode: u32| {
        for folder in names.iter().map(|name| folder.path().join(name)).chain([folder.path().to_owned()]) {
            fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    fs::set_permissions(beside(&hidden, "-shm"), fs::Permissions::from_mode(0o0)).unwrap();
    allow(0o555);
    // Root can write everywhere.
    let is_root = fs::write(folder.path().join("probe"), "").is_ok();
    let other_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"];
    let program = if is_root { &other_user[..] } else { &[] };
    let test = "read_works_without_write_access";
    let before = names.map(|name| fs::read_dir(folder.path().join(name)).unwrap().count());
    let done = as_process(program, test, folder.path()).output().unwrap();
    let after = names.map(|name| fs::read_dir(folder.path().join(name)).unwrap().count());
    allow(0o755);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(String::from_utf8_lossy(&done.stdout).contains("1 passed"), "{done:?}");
    assert_eq!(after, before);
}

#[test]
fn remembered_database_is_read_after_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let agent = Connection::open(&path).unwrap();
    agent.execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE t(x);").unwrap();
    let budget = Budget::within(Duration::from_secs(60), &CancellationToken::new());
    let (remembered, reads) = (Remembered::new(), std::cell::Cell::new(0));
    let count = || {
        let found = remembered.get_or_read(&path, &budget, |connection| {
            reads.set(reads.get() + 1);
            connection.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0))
        });
        (found.unwrap(), reads.get())
    };
    assert_eq!((count(), count()), ((0, 1), (0, 1)));
    agent.execute("INSERT INTO t VALUES(1)", []).unwrap();
    assert_eq!((count(), count()), ((1, 2), (1, 2)));
    drop(agent);
    assert_eq!(count(), (1, 3));
    let agent = Connection::open(&path).unwrap();
    agent.execute("INSERT INTO t VALUES(2)", []).unwrap();
    let failing = remembered.get_or_read(&path, &budget, |_| Err(rusqlite::Error::InvalidQuery));
    assert_eq!(failing.unwrap(), 1, "what was known before");
    assert_eq!(count(), (2, 4));
    drop(agent);
    std::fs::remove_file(&path).unwrap();
    assert!(remembered.get_or_read(&path, &budget, |_| Ok(0)).is_err());
}

/// Returns the stamps of the sessions `a` and `b`.
fn stamps(database: &Connection) -> [(u64, i64); 2] {
    let mut stamps = SessionStamps::new(database, &["part"], "time_updated", "data").unwrap();
    let stamp = |id| stamps.stamp(id, None).unwrap();
    ["a", "b"].map(stamp).map(|stamp| (stamp.size, stamp.mtime_ns / 1_000_000_000))
}

#[test]
fn stamp_changes_with_newest_rows() {
    let database = Connection::open_in_memory().unwrap();
    database
        .execute_batch(
            "CREATE TABLE part(id TEXT PRIMARY KEY, session_id, time_updated, data);
             CREATE INDEX part_session_idx ON part(session_id);
             WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100)
             INSERT INTO part SELECT n, iif(n % 2, 'a', 'b'), 1770000000 + n, 'xx' FROM n;",
        )
        .unwrap();
    let mut last = stamps(&database);
    assert_eq!(last, [(99 + 4 * 2, 1_770_000_099), (100 + 4 * 2, 1_770_000_100)]);
    for change in [
        "INSERT INTO part VALUES('new', 'a', 1770000200, 'x')",
        "UPDATE part SET data = 'longer' WHERE id = 'new'",
        "UPDATE part SET data = 'xxx' WHERE id = '97'",
        "UPDATE part SET time_updated = 1770000300 WHERE id = '95'",
        "DELETE FROM part WHERE id = '97'",
        "DELETE FROM part WHERE id = 'new'",
    ] {
        database.execute_batch(change).unwrap();
        let now = stamps(&database);
        assert_ne!(now[0], last[0], "{change}");
        assert_eq!(now[1], last[1], "{change}");
        last = now;
    }
    database.execute_batch("DROP INDEX part_session_idx").unwrap();
    assert_eq!(stamps(&database), last, "a version without the index");
}

#[test]
fn stamp_accepts_missing_tables_and_columns() {
    let database = Connection::open_in_memory().unwrap();
    assert_eq!(stamps(&database), [(0, 0); 2]);
    database
        .execute_batch("CREATE TABLE part(session_id); INSERT INTO part VALUES('a'), (NULL), (7)")
        .unwrap();
    assert_eq!(stamps(&database), [(1, 0), (0, 0)]);
}

#[test]
fn stamp_accepts_seconds_and_milliseconds() {
    let database = Connection::open_in_memory().unwrap();
    let mut stamps = SessionStamps::new(&database, &["part"], "time_updated", "data").unwrap();
    for (time, expected) in [
        (None, 0),
        (Some(1_770_000_000), 1_770_000_000_000_000_000),
        (Some(1_770_000_000_001), 1_770_000_000_001_000_000),
        (Some(i64::MAX), i64::MAX),
    ] {
        assert_eq!(stamps.stamp("a", time).unwrap().mtime_ns, expected, "{time:?}");
    }
}
