//! The limit of kept copies, and their versions.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use openagents_transcripts::{
    history::{History, HistoryRoots, MemoryListingCache, Provider},
    keep::{KeepSettings, KeepState, Keeper, KeptCopies},
};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Codex, which deletes no sessions, and Claude Code, which deletes them after 30 days; and copies of their sessions.
struct Kept {
    folder: tempfile::TempDir,
    copies: Arc<KeptCopies>,
    keeper: Arc<Keeper>,
}

impl Kept {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let copies = KeptCopies::open(&folder.path().join("home")).unwrap();
        let roots = HistoryRoots::default()
            .with(Provider::Codex, folder.path().join("codex").as_path())
            .with(Provider::ClaudeCode, folder.path().join("claude").as_path());
        let history =
            History::new(roots, Arc::new(MemoryListingCache::default())).with_copies(copies.clone());
        let settings = KeepSettings { on: Some(true), ..KeepSettings::default() };
        let keeper = Keeper::start(copies.clone(), Arc::new(history), settings, false);
        Self { folder, copies, keeper }
    }

    /// Writes a log of some kilobytes that was last changed some days ago.
    fn log(&self, provider: Provider, at: usize, kilobytes: usize, days: u32) -> PathBuf {
        let id = id(at);
        let path = match provider {
            Provider::Codex => format!("codex/sessions/2026/11/01/rollout-2026-11-01T08-00-00-{id}.jsonl"),
            _ => format!("claude/projects/-w/{id}.jsonl"),
        };
        let mut log = match provider {
            Provider::Codex => format!(
                r#"{{"timestamp":"2026-11-01T08:00:05.000Z","type":"session_meta","payload":{{"id":"{id}","timestamp":"2026-11-01T08:00:00.000Z","cwd":"/w","originator":"codex_vscode","cli_version":"0.153.0","source":"vscode"}}}}{}"#,
                "\n"
            ),
            _ => String::new(),
        };
        for line in 0..kilobytes {
            log += &text_line(provider, at, &noise((at * 10_000 + line) as u64, 800));
        }
        write(&self.folder.path().join(path), &log, days)
    }

    fn round(&self) {
        self.keeper.round().unwrap();
    }

    fn limit(&self, limit: u64) {
        self.keeper.configure(KeepSettings { limit, ..self.keeper.settings() });
        // Packs are compressed again first, some frames in each round.
        for _ in 0..20 {
            self.round();
            if self.keeper.status().state == KeepState::On {
                break;
            }
        }
    }

    /// Returns which of the sessions have a copy.
    fn kept(&self, count: usize) -> BTreeSet<usize> {
        let restore = |at: &usize| {
            let to = tempfile::tempdir().unwrap();
            let restored = [Provider::Codex, Provider::ClaudeCode].map(|provider| {
                self.copies.restore_to(
                    provider,
                    &id(*at),
                    None,
                    &to.path().join(provider.as_str()),
                    &HistoryRoots::default(),
                )
            });
            restored.iter().any(Result::is_ok)
        };
        (0..count).filter(restore).collect()
    }
}

fn id(at: usize) -> String {
    format!("0c0de152-0000-7000-8000-{at:012}")
}

fn text_line(provider: Provider, at: usize, text: &str) -> String {
    let id = id(at);
    let line = match provider {
        Provider::Codex => format!(
            r#"{{"timestamp":"2026-11-01T08:00:09.000Z","type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}}}"#
        ),
        _ => format!(
            r#"{{"type":"user","sessionId":"{id}","cwd":"/w","timestamp":"2026-11-01T08:00:09.000Z","uuid":"{id}","message":{{"role":"user","content":"{text}"}}}}"#
        ),
    };
    line + "\n"
}

fn write(path: &Path, log: &str, days: u32) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, log).unwrap();
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - DAY * days).unwrap();
    path.to_owned()
}

fn noise(seed: u64, length: usize) -> String {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..length).map(|_| random.alphanumeric()).collect()
}

#[test]
fn at_the_limit_copies_of_existing_logs_make_room() {
    let kept = Kept::new();
    let logs: Vec<_> = (0..10).map(|at| kept.log(Provider::Codex, at, 100, 50 - at as u32)).collect();
    kept.log(Provider::ClaudeCode, 10, 100, 20);
    kept.round();
    let full = kept.keeper.status();
    assert_eq!((full.state, full.sizes.collections, full.waiting), (KeepState::On, 11, 0));
    fs::remove_file(&logs[0]).unwrap();
    kept.round();
    assert_eq!(kept.keeper.status().sizes.gone, 1);
    let stored = kept.keeper.status().sizes.stored;
    let limit = stored - 200_000;
    kept.limit(limit);
    let status = kept.keeper.status();
    assert_eq!((status.state, status.waiting), (KeepState::On, 0));
    let now = status.sizes.stored;
    assert!(now < limit && now > limit - 200_000, "{now} bytes, {limit} are allowed, {stored} before");
    // The gone one stays, and the one that its agent deletes in ten days; the oldest others make room.
    let here = kept.kept(11);
    let erased = 11 - here.len();
    assert!((1..6).contains(&erased), "{here:?}");
    let expected: BTreeSet<usize> = [0].into_iter().chain(erased + 1..11).collect();
    assert_eq!(here, expected);
    // A log that an agent deletes some day is captured, others are not, and nothing is erased for them.
    kept.log(Provider::ClaudeCode, 11, 1, 0);
    kept.log(Provider::Codex, 12, 1, 0);
    kept.round();
    assert_eq!(kept.kept(13), here.into_iter().chain([11]).collect());
    assert_eq!(kept.keeper.status().waiting, 0);
    kept.limit(10 * full.sizes.stored);
    assert_eq!(kept.kept(13).len(), 13);
    assert_eq!(kept.keeper.status().state, KeepState::On);
}

#[test]
fn full_copies_take_what_is_deleted_soon_and_lose_nothing() {
    let kept = Kept::new();
    kept.log(Provider::ClaudeCode, 0, 100, 1);
    // Its copy has a version that its log has not.
    let log = kept.log(Provider::Codex, 1, 100, 60);
    kept.round();
    write(&log, &fs::read_to_string(kept.log(Provider::Codex, 1, 5, 59)).unwrap(), 58);
    kept.round();
    let stored = kept.keeper.status().sizes.stored;
    kept.limit(stored / 2);
    kept.log(Provider::ClaudeCode, 2, 10, 1);
    kept.log(Provider::ClaudeCode, 3, 10, 26);
    kept.round();
    assert_eq!(kept.keeper.status().state, KeepState::Full);
    assert_eq!(kept.keeper.status().waiting, 1);
    assert_eq!(kept.kept(4), [0, 1, 3].into());
}

#[test]
fn versions_of_a_log_are_listed_and_restored() {
    let kept = Kept::new();
    let (agent, name) = (Provider::Codex, id(1));
    let log = kept.log(agent, 1, 20, 3);
    kept.round();
    let first = fs::read(&log).unwrap();
    assert_eq!(kept.copies.replaced_at(agent, &name), None);
    let numbers = || {
        let versions = kept.copies.versions(agent, &name).unwrap();
        versions.iter().map(|it| (it.number, it.bytes, it.lines, it.is_current)).collect::<Vec<_>>()
    };
    assert_eq!(numbers(), [(1, first.len() as u64, 21, true)]);
    // Its agent compacts it, and writes on, without a line break at the end.
    let compacted = first.split_inclusive(|byte| *byte == b'\n').skip(15).collect::<Vec<_>>().concat();
    let start = &first[..first.iter().position(|byte| *byte == b'\n').unwrap() + 1];
    let second = [start, &compacted, b"{}"].concat();
    write(&log, std::str::from_utf8(&second).unwrap(), 2);
    kept.round();
    assert_eq!(numbers(), [(1, first.len() as u64, 21, false), (2, second.len() as u64, 8, true)]);
    let replaced_at = kept.copies.replaced_at(agent, &name);
    assert_eq!(replaced_at, Some(kept.copies.versions(agent, &name).unwrap()[1].since_ms));
    let reader = KeptCopies::open_reader(&kept.folder.path().join("home")).unwrap().unwrap();
    assert_eq!(reader.replaced_at(agent, &name), replaced_at, "in another process");
    fs::remove_file(&log).unwrap();
    kept.round();
    assert_eq!(kept.copies.replaced_at(agent, &name), replaced_at, "of a log that no longer exists");
    let roots = HistoryRoots::default();
    let restored = |version| {
        let to = kept.folder.path().join(format!("{version:?}"));
        let restored =
            kept.copies.restore_to(agent, &name, version, &to, &roots).map_err(|error| error.to_string())?;
        assert_eq!(restored.files.len(), 1);
        Ok::<_, String>(fs::read(&restored.files[0]).unwrap())
    };
    assert_eq!(restored(Some(1)), Ok(first));
    assert_eq!(restored(Some(2)), Ok(second.clone()));
    assert_eq!(restored(None), Ok(second));
    let missing = Err(format!("session {name} has no version 3; choose one of the listed versions"));
    assert_eq!(restored(Some(3)), missing);
    assert!(restored(Some(0)).is_err());
    assert!(!kept.folder.path().join("Some(3)").exists());
    assert_eq!(kept.copies.versions(agent, "unknown").unwrap(), []);
}
