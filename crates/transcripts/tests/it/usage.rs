//! Token counts and costs of made-up logs whose right numbers are known.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use openagents_core::{
    CancellationToken,
    budget::Budget,
    usage::{ModelPrice, PriceTable, Rates},
};
use openagents_transcripts::{
    history::{ExcludedSessions, History, HistoryRoots, MemoryListingCache, Provider},
    usage::{By, ReportQuery, Sum, UsageStore},
};
use rusqlite::Connection;
use serde_json::{Map, Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

fn budget() -> Budget {
    Budget::within(Duration::from_secs(60), &CancellationToken::new())
}

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/usage-cases")
}

/// Returns the logs below a home folder.
fn history(home: &Path) -> History {
    use Provider::{
        Amp, ClaudeCode, Cline, Codex, Copilot, Droid, Gemini, Goose, OpenClaw, Opencode, Pi, Qwen,
    };
    let folders = [
        (Codex, ".codex"),
        (ClaudeCode, ".claude"),
        (Gemini, ".gemini"),
        (Qwen, ".qwen"),
        (Copilot, ".copilot"),
        (Pi, ".pi/agent"),
        (OpenClaw, ".openclaw"),
        (Amp, ".local/share/amp/threads"),
        (Cline, ".config/Code/User/globalStorage/saoudrizwan.claude-dev"),
        (Droid, ".factory"),
        (Opencode, ".local/share/opencode"),
        (Goose, ".local/share/goose"),
    ];
    let roots = folders
        .into_iter()
        .fold(HistoryRoots::default(), |roots, (agent, folder)| roots.with(agent, home.join(folder)));
    History::new(roots, Arc::new(MemoryListingCache::default()))
}

/// Copies a home folder over another; `x.db.sql` becomes the database `x.db`.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else if path.extension().is_some_and(|extension| extension == "sql") {
            let sql = fs::read_to_string(&path).unwrap();
            Connection::open(target.with_extension("")).unwrap().execute_batch(&sql).unwrap();
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

fn sum(sum: &Sum) -> Value {
    let tokens = sum.tokens;
    json!({"requests": sum.requests, "input": tokens.input, "cacheRead": tokens.cache_read,
        "cacheWrite": tokens.cache_write, "cacheWrite1h": tokens.cache_write_1h, "output": tokens.output,
        "reasoning": tokens.reasoning, "tokens": tokens.total(), "atLeast": sum.at_least, "unpriced": sum.unpriced,
        "cost": sum.cost})
}

/// Returns everything that a case may expect.
fn counted(store: &UsageStore, case: &Value) -> Value {
    let day = |name: &str| case[name].as_str().map(|day| day.parse().unwrap());
    let zone = case["timezone"].as_str().unwrap_or("UTC");
    let query = ReportQuery {
        since: day("since"),
        until: day("until"),
        zone: jiff::tz::TimeZone::get(zone).unwrap(),
        ..ReportQuery::default()
    };
    let mut found = json!({"totals": sum(&store.report(&query).unwrap().total)});
    let by = [
        ("byDay", By::Day),
        ("bySession", By::Session),
        ("byAgent", By::Agent),
        ("byModel", By::Model),
        ("byWorkspace", By::Workspace),
    ];
    for (name, by) in by {
        let rows = store.report(&ReportQuery { by, ..query.clone() }).unwrap().rows;
        found[name] = rows.iter().map(|row| (row.name.clone(), sum(&row.sum))).collect::<Map<_, _>>().into();
    }
    let limits = store.limits().unwrap().into_iter().map(|(agent, limit)| {
        let mut limit = json!(limit);
        limit["agent"] = json!(agent);
        limit
    });
    found["limits"] = limits.collect();
    found
}

/// Checks that everything that is expected is there; the rows must be exactly those.
#[track_caller]
fn check(expected: &Value, found: &Value, place: &str) {
    match expected {
        Value::Object(members) => {
            let is_rows =
                place.contains("/by") && place.rsplit('/').next().is_some_and(|name| name.starts_with("by"));
            let names = |value: &Value| {
                let mut names: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
                names.sort();
                names
            };
            if is_rows {
                assert_eq!(names(found), names(expected), "{place}");
            }
            members.iter().for_each(|(name, value)| check(value, &found[name], &format!("{place}/{name}")));
        }
        Value::Array(items) => {
            assert_eq!(items.len(), found.as_array().map_or(0, Vec::len), "{place}: {found}");
            items.iter().enumerate().for_each(|(at, item)| check(item, &found[at], &format!("{place}/{at}")));
        }
        Value::Number(number) => assert_eq!(number.as_f64(), found.as_f64(), "{place}"),
        other => assert_eq!(other, found, "{place}"),
    }
}

fn store() -> UsageStore {
    let store = UsageStore::in_memory().unwrap();
    let prices = fs::read_to_string(cases().join("prices.json")).unwrap();
    for price in PriceTable::parse(&prices).unwrap().models {
        store.set_price(&price).unwrap();
    }
    store
}

fn update(store: &UsageStore, home: &Path) {
    let progress = store.update(&history(home), &budget(), &mut |_| true).unwrap();
    assert_eq!(progress.unread, 0);
}

#[test]
fn cases_are_counted_to_the_token_and_the_picodollar() {
    let mut names: Vec<_> = fs::read_dir(cases()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.is_dir());
    names.sort();
    assert!(names.len() >= 24, "{names:?}");
    for folder in names {
        let name = folder.file_name().unwrap().to_string_lossy();
        let case: Value = serde_json::from_slice(&fs::read(folder.join("case.json")).unwrap()).unwrap();
        let whole = vec![case.clone()];
        let steps = case["steps"].as_array().unwrap_or(&whole);
        // The same home through all steps, and a new one for each.
        let (growing, followed) = (tempfile::tempdir().unwrap(), store());
        for step in steps {
            let from = folder.join(step["home"].as_str().unwrap_or("home"));
            let (fresh, read) = (tempfile::tempdir().unwrap(), store());
            copy(&from, fresh.path());
            update(&read, fresh.path());
            let place = format!("{name} {}", from.file_name().unwrap().to_string_lossy());
            check(&step["expected"], &counted(&read, &case), &place);
            copy(&from, growing.path());
            update(&followed, growing.path());
            check(&step["expected"], &counted(&followed, &case), &format!("{place}, followed"));
        }
    }
}

/// Returns the homes of the cases that have one, each with its case.
fn homes() -> Vec<(PathBuf, Value)> {
    let folders = fs::read_dir(cases()).unwrap().map(|entry| entry.unwrap().path());
    let mut homes: Vec<_> = folders
        .filter(|folder| folder.join("home").is_dir())
        .map(|folder| {
            (
                folder.join("home"),
                serde_json::from_slice(&fs::read(folder.join("case.json")).unwrap()).unwrap(),
            )
        })
        .collect();
    homes.sort_by(|(a, _), (b, _)| a.cmp(b));
    homes
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// Cuts logs of lines anywhere, as an agent writes them.
#[test]
fn growing_logs_are_counted_like_whole_ones() {
    let mut random = fastrand::Rng::with_seed(28);
    for (home, case) in homes() {
        for _ in 0..4 {
            let (here, store) = (tempfile::tempdir().unwrap(), store());
            copy(&home, here.path());
            let mut logs = Vec::new();
            files(here.path(), &mut logs);
            logs.retain(|log| log.extension().is_some_and(|extension| extension == "jsonl"));
            let whole: Vec<_> = logs.iter().map(|log| fs::read(log).unwrap()).collect();
            let mut sizes = vec![0; logs.len()];
            for _ in 0..3 {
                for ((log, bytes), size) in logs.iter().zip(&whole).zip(&mut sizes) {
                    *size = random.usize(*size..=bytes.len());
                    fs::write(log, &bytes[..*size]).unwrap();
                }
                update(&store, here.path());
            }
            for (log, bytes) in logs.iter().zip(&whole) {
                fs::write(log, bytes).unwrap();
            }
            update(&store, here.path());
            check(&case["expected"], &counted(&store, &case), &format!("{} in parts", home.display()));
        }
    }
}

#[test]
fn several_processes_count_like_one() {
    for (home, case) in homes() {
        let data = tempfile::tempdir().unwrap();
        let here = tempfile::tempdir().unwrap();
        copy(&home, here.path());
        let stores = [(); 2].map(|()| UsageStore::open(data.path()).unwrap());
        let prices = fs::read_to_string(cases().join("prices.json")).unwrap();
        for price in PriceTable::parse(&prices).unwrap().models {
            stores[0].set_price(&price).unwrap();
        }
        std::thread::scope(|scope| {
            for store in &stores {
                scope.spawn(|| update(store, here.path()));
            }
        });
        for store in &stores {
            check(&case["expected"], &counted(store, &case), &format!("{} twice", home.display()));
        }
    }
}

#[test]
fn counts_outlive_their_logs_and_end_with_an_exclusion() {
    let home = cases().join("claude-fork/home");
    let excluded = [
        ExcludedSessions { agents: vec![Provider::ClaudeCode], ..ExcludedSessions::default() },
        ExcludedSessions { workspaces: vec![PathBuf::from("/w/app")], ..ExcludedSessions::default() },
    ];
    for excluded in excluded {
        let (here, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        copy(&home, here.path());
        let store = UsageStore::open(data.path()).unwrap();
        update(&store, here.path());
        let before = total(&store);
        assert!(before.requests > 0);
        fs::remove_dir_all(here.path().join(".claude/projects")).unwrap();
        update(&store, here.path());
        assert_eq!(total(&store), before);

        let history = history(here.path());
        history.exclude(excluded);
        store.forget_excluded(&history).unwrap();
        assert_eq!(total(&store), Sum::default());
        copy(&home, here.path());
        store.update(&history, &budget(), &mut |_| true).unwrap();
        assert_eq!(total(&store), Sum::default());
        drop(store);
        let bytes = fs::read(UsageStore::path(data.path())).unwrap();
        assert_eq!(memchr::memmem::find(&bytes, b"/w/app"), None, "a trace of an excluded folder");
    }
}

fn write(path: &Path, lines: &[Value]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text: Vec<_> = lines.iter().map(Value::to_string).collect();
    fs::write(path, format!("{}\n", text.join("\n"))).unwrap();
}

fn total(store: &UsageStore) -> Sum {
    store.report(&ReportQuery::default()).unwrap().total
}

/// Regression: reading that stopped in the middle of a line lost its request for good.
#[test]
fn log_read_in_parts_is_counted_whole() {
    let here = tempfile::tempdir().unwrap();
    let answer = |at: usize| {
        json!({"type": "assistant", "uuid": format!("u{at}"), "timestamp": "2026-06-01T08:00:00Z", "cwd": "/w",
            "message": {"id": format!("msg_{at:020}"), "model": "m", "stop_reason": "end_turn",
                "content": "x".repeat(3000), "usage": {"input_tokens": 1}}})
    };
    let lines: Vec<_> = (0..3000).map(answer).collect();
    write(&here.path().join(".claude/projects/-w/d83e7533-1ad4-5034-abba-5c9dfbb9c308.jsonl"), &lines);
    let history = history(here.path());
    let log = &history.usage_logs(&budget())[0];
    let (mut up_to, mut keys, mut parts) = (None, std::collections::BTreeSet::new(), 0);
    for time in (1..2000).cycle() {
        let part = Budget::within(Duration::from_micros(time), &CancellationToken::new());
        let read = log.read(up_to.as_ref(), &part).unwrap();
        keys.extend(read.found.requests.iter().map(|request| request.key));
        up_to = read.up_to;
        parts += 1;
        if !read.stopped {
            break;
        }
    }
    assert_eq!(keys.len(), lines.len(), "in {parts} parts");
}

#[test]
fn log_of_many_requests_is_read_to_its_end() {
    let here = tempfile::tempdir().unwrap();
    let answer = |at: usize| json!({"id": at, "timestamp": at, "message": {"model": "m", "usage": {"input": 1, "output": 1}}});
    let log = here.path().join(".pi/agent/sessions/--w--/2026_a.jsonl");
    write(&log, &(0..120_000).map(answer).collect::<Vec<_>>());
    let store = store();
    update(&store, here.path());
    assert_eq!(total(&store).requests, 120_000);
}

/// Regression: while any folder was excluded, a log whose new part named none counted as excluded, and lost its counts.
#[test]
fn exclusion_of_another_folder_changes_nothing() {
    for name in ["amp-ledger", "codex-fork", "claude-subagents", "pi-fork"] {
        let home = cases().join(name).join("home");
        let here = tempfile::tempdir().unwrap();
        copy(&home, here.path());
        let store = store();
        update(&store, here.path());
        let before = total(&store);
        let history = history(here.path());
        history.exclude(ExcludedSessions {
            workspaces: vec!["/elsewhere".into()],
            ..ExcludedSessions::default()
        });
        store.forget_excluded(&history).unwrap();
        store.update(&history, &budget(), &mut |_| true).unwrap();
        assert_eq!(total(&store), before, "{name}");
        let fresh = self::store();
        fresh.update(&history, &budget(), &mut |_| true).unwrap();
        assert_eq!(total(&fresh), before, "{name}, read with the exclusion");
    }
}

/// A session may move to another folder.
#[test]
fn requests_in_an_excluded_folder_are_not_counted() {
    let here = tempfile::tempdir().unwrap();
    let id = "1bdc5e1a-0bb1-58a7-81d2-f4615a6c32aa";
    let at = |kind: &str, payload: Value| json!({"timestamp": "2026-06-01T08:00:00Z", "type": kind, "payload": payload});
    let count = |total: u64, last: u64| {
        let counts = |tokens: u64| json!({"input_tokens": tokens, "total_tokens": tokens});
        let info = json!({"total_token_usage": counts(total), "last_token_usage": counts(last)});
        at("event_msg", json!({"type": "token_count", "info": info}))
    };
    let lines = [
        at("session_meta", json!({"id": id, "cwd": "/open"})),
        at("turn_context", json!({"cwd": "/open", "turn_id": "t1"})),
        count(10, 10),
        at("turn_context", json!({"cwd": "/secret", "turn_id": "t2"})),
        count(110, 100),
    ];
    write(
        &here.path().join(format!(".codex/sessions/2026/06/01/rollout-2026-06-01T08-00-00-{id}.jsonl")),
        &lines,
    );
    let history = history(here.path());
    let excluded = ExcludedSessions { workspaces: vec!["/secret".into()], ..ExcludedSessions::default() };
    let (before, after) = (store(), store());
    before.update(&history, &budget(), &mut |_| true).unwrap();
    assert_eq!(total(&before).tokens.input, 110);
    history.exclude(excluded);
    before.forget_excluded(&history).unwrap();
    after.update(&history, &budget(), &mut |_| true).unwrap();
    assert_eq!(total(&before).tokens.input, 10);
    for store in [before, after] {
        let folders =
            store.report(&ReportQuery { by: By::Workspace, ..ReportQuery::default() }).unwrap().rows;
        assert!(folders.iter().all(|row| row.name == "/open"), "{folders:?}");
    }
}

#[test]
fn sums_follow_prices_and_survive_absurd_costs() {
    let here = tempfile::tempdir().unwrap();
    let answer = |at: usize, cost: f64| {
        json!({"type": "message", "id": at.to_string(), "timestamp": "2026-06-01T08:00:00Z",
            "message": {"role": "assistant", "model": "m", "provider": "p",
                "usage": {"input": 1000, "output": 9_000_000_000_000_000_000_u64, "cost": {"total": cost}}}})
    };
    let log = here.path().join(".pi/agent/sessions/--w--/2026_a.jsonl");
    write(&log, &(0..20).map(|at| answer(at, 5_000_000.0)).collect::<Vec<_>>());
    let store = store();
    update(&store, here.path());
    assert_eq!(total(&store).requests, 20);
    assert_eq!(total(&store).cost.0, i64::MAX);

    write(
        &log,
        &[json!({"type": "message", "id": "a", "timestamp": "2026-06-01T08:00:00Z",
        "message": {"model": "m", "provider": "p", "usage": {"input": 1_000_000}}})],
    );
    update(&store, here.path());
    assert_eq!((total(&store).unpriced, total(&store).cost.to_string().as_str()), (1_000_000, "0"));
    let price = |input: &str| ModelPrice {
        provider: "p".to_owned(),
        model: "m".to_owned(),
        rates: Rates { input: Some(input.to_owned()), ..Rates::default() },
        ..ModelPrice::default()
    };
    for (input, cost) in [("3", "3"), ("4.5", "4.5")] {
        store.set_price(&price(input)).unwrap();
        update(&store, here.path());
        assert_eq!((total(&store).unpriced, total(&store).cost.to_string().as_str()), (0, cost));
    }
    store.remove_price("p", "m").unwrap();
    update(&store, here.path());
    assert_eq!(total(&store).unpriced, 1_000_000);
}

#[test]
fn damaged_logs_are_counted_without_a_panic() {
    let mut random = fastrand::Rng::with_seed(29);
    for round in 0..10 {
        for (home, _) in homes() {
            let here = tempfile::tempdir().unwrap();
            copy(&home, here.path());
            let mut logs = Vec::new();
            files(here.path(), &mut logs);
            for log in logs.iter().filter(|log| log.extension().is_some_and(|extension| extension != "db")) {
                let mut bytes = fs::read(log).unwrap();
                for _ in 0..=bytes.len() / 200 {
                    let at = random.usize(0..bytes.len().max(1));
                    let new = [random.u8(..), b'"', b'9', b'-', b'{', b'\n'];
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte = new[random.usize(..new.len())];
                    }
                }
                fs::write(log, bytes).unwrap();
            }
            let store = store();
            store.update(&history(here.path()), &budget(), &mut |_| true).unwrap();
            let total = store.report(&ReportQuery::default()).unwrap().total;
            assert!(total.requests < 1_000, "{round}: {total:?}");
        }
    }
}
