//! Reads what is new in the logs, and forgets what the user excluded.

use super::{
    change::{Change, Sums, Tables, copy, read_logs},
    owner::owner,
    store::{READER, UsageError, UsageStore, fact, generation, next_generation, set_fact, write_limits},
};
use crate::{
    cache_file::CacheFile,
    history::{FileStamp, History, Provider, ReadUpTo, ReadUsage, UsageExclusion, UsageLog},
    limits,
};
use openagents_core::budget::Budget;
use parking_lot::Mutex;
use rusqlite::{Connection, Row, TransactionBehavior};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{self, Receiver, SyncSender},
    },
    thread,
};
use xxhash_rust::xxh3::xxh3_64;

/// Number of requests that are written together. Their keys are hashes, so that each batch changes most pages of the
/// file.
const BATCH: usize = 100_000;
/// Number of logs whose requests wait to be written.
const WAITING: usize = 4;

/// The fact with a hash of the prices by which the sums were made.
const PRICES: &str = "prices";

/// The fact that deleted rows may still be readable in the file.
const UNSCRUBBED: &str = "unscrubbed";

/// Progress of reading.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageProgress {
    /// Bytes of the logs that were to be read, and of those that were.
    pub bytes: u64,
    pub read_bytes: u64,
    /// Logs that could not be read, or not in time.
    pub unread: usize,
}

/// A log as it was read.
struct Known {
    stamp: FileStamp,
    reader: i64,
    up_to: Option<ReadUpTo>,
}

enum Outcome {
    /// The user excluded it.
    Excluded,
    Read(ReadUsage),
}

/// One update of the counts.
struct Update<'a> {
    store: &'a UsageStore,
    history: &'a History,
    budget: &'a Budget,
    known: HashMap<String, Known>,
    tables: Tables,
    progress: UsageProgress,
    step: &'a mut dyn FnMut(UsageProgress) -> bool,
}

impl UsageStore {
    /// Reads what is new in the logs of a history. Calls `step` after each part; stops if it returns false. Blocks.
    pub fn update(
        &self,
        history: &History,
        budget: &Budget,
        step: &mut dyn FnMut(UsageProgress) -> bool,
    ) -> Result<UsageProgress, UsageError> {
        let tables = self.current_tables()?;
        let mut logs = history.usage_logs(budget);
        let known = self.known_logs()?;
        let found = logs.len();
        // A path that is not UTF-8 cannot be stored: that log is not counted.
        logs.retain(|log| log.path().to_str().is_some());
        let mut progress = UsageProgress { unread: found - logs.len(), ..UsageProgress::default() };
        if budget.spent() {
            // There may be more logs.
            progress.unread += 1;
        }
        logs.retain(|log| {
            let known = known_log(&known, log);
            known.is_none_or(|known| known.stamp != log.stamp() || known.reader != READER)
        });
        logs.sort_by_key(|log| std::cmp::Reverse(log.stamp().mtime_ns));
        progress.bytes = logs.iter().map(|log| log.stamp().size).sum();
        let mut update = Update { store: self, history, budget, known, tables, progress, step };
        // A log with many requests is read in parts.
        while !logs.is_empty() && !budget.spent() {
            let (unfinished, is_stopped) = update.read(&logs)?;
            logs = unfinished;
            if is_stopped {
                break;
            }
        }
        let mut progress = update.progress;
        progress.unread += logs.len();
        // The user may have excluded something in the meantime.
        self.forget_excluded(history)?;
        self.connection.lock().execute_batch("PRAGMA shrink_memory")?;
        Ok(progress)
    }

    /// Returns tables that are valid now, with sums by the current prices.
    fn current_tables(&self) -> Result<Tables, UsageError> {
        let mut tables = Tables::new(self)?;
        self.apply_prices(&mut tables)?;
        Ok(tables)
    }

    fn known_logs(&self) -> rusqlite::Result<HashMap<String, Known>> {
        let connection = self.connection.lock();
        let mut rows = connection
            .prepare("SELECT path, size, mtime_ns, reader, read_bytes, read_tail, read_state FROM logs")?;
        let known = |row: &Row<'_>| {
            let up_to = match (row.get(4)?, row.get(5)?, row.get(6)?) {
                (Some(bytes), Some(tail), Some(state)) => Some(ReadUpTo { bytes, tail, state }),
                _ => None,
            };
            let stamp = FileStamp { size: row.get(1)?, mtime_ns: row.get(2)? };
            Ok((row.get(0)?, Known { stamp, reader: row.get(3)?, up_to }))
        };
        rows.query_map([], known)?.collect()
    }

    /// Sums everything again if the prices have changed.
    fn apply_prices(&self, tables: &mut Tables) -> rusqlite::Result<()> {
        let hash =
            xxh3_64(serde_json::to_string(&tables.prices).unwrap_or_default().as_bytes()).cast_signed();
        let mut connection = self.connection.lock();
        if fact(&connection, PRICES)? == Some(hash) {
            return Ok(());
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have done it, and added logs.
        if fact(&transaction, PRICES)? == Some(hash) {
            return Ok(());
        }
        tables.logs = read_logs(&transaction)?;
        transaction.execute("DELETE FROM slots", [])?;
        let mut sums = Sums::default();
        {
            let mut rows = transaction.prepare("SELECT * FROM copies ORDER BY key")?;
            let mut rows = rows.query([])?;
            let (mut key, mut copies) = (None, Vec::new());
            loop {
                let row = rows.next()?;
                let next = row.map(|row| row.get::<_, i64>(0)).transpose()?;
                if next != key {
                    if let Some(request) = owner(&copies, |log| tables.rank(log)) {
                        let cost = tables.cost(&transaction, &request)?;
                        sums.add(tables.logs.get(&request.log), &request, cost, 1);
                    }
                    copies.clear();
                    key = next;
                }
                match row {
                    Some(row) => copies.push(copy(row)?),
                    None => break,
                }
            }
        }
        sums.write(&transaction)?;
        set_fact(&transaction, PRICES, hash)?;
        transaction.commit()
    }

    /// Forgets the requests that the user has excluded. Blocks.
    pub fn forget_excluded(&self, history: &History) -> Result<(), UsageError> {
        let mut exclusion = history.usage_exclusion();
        if !exclusion.is_empty() {
            let mut connection = self.connection.lock();
            let mut logs = logs(&connection)?;
            logs.retain(|log| exclusion.holds(log.agent, log.workspace.as_deref(), &log.path));
            let mut folders = folders(&connection)?;
            folders.retain(|(_, folder)| exclusion.holds_folder(Path::new(folder)));
            if !logs.is_empty() || !folders.is_empty() {
                drop(connection);
                let mut tables = self.current_tables()?;
                connection = self.connection.lock();
                let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                let mut change = Change::new(&transaction, &mut tables);
                for log in &logs {
                    change.remove_log(log.id)?;
                }
                for (folder, _) in &folders {
                    change.remove_folder(*folder)?;
                }
                change.apply()?;
                for Log { id, agent, session, .. } in &logs {
                    transaction.execute("DELETE FROM logs WHERE id = ?1", [id])?;
                    // Limits of one session are named after it.
                    transaction.execute(
                        "DELETE FROM limits WHERE agent = ?1 AND name = ?2",
                        (agent.as_str(), session),
                    )?;
                }
                for agent in history.excluded().agents {
                    transaction.execute("DELETE FROM limits WHERE agent = ?1", [agent.as_str()])?;
                }
                transaction.execute(
                    "DELETE FROM names WHERE id NOT IN (
                        SELECT session FROM logs UNION SELECT ifnull(parent, 0) FROM logs
                        UNION SELECT ifnull(workspace, 0) FROM logs UNION SELECT ifnull(workspace, 0) FROM copies
                        UNION SELECT ifnull(model, 0) FROM copies
                        UNION SELECT ifnull(model_provider, 0) FROM copies)",
                    [],
                )?;
                next_generation(&transaction)?;
                set_fact(&transaction, UNSCRUBBED, 1)?;
                transaction.commit()?;
            }
        }
        Ok(self.scrub()?)
    }

    /// Overwrites deleted rows, in the write-ahead log too. If another process reads that, the next update tries again.
    fn scrub(&self) -> rusqlite::Result<()> {
        let connection = self.connection.lock();
        if fact(&connection, UNSCRUBBED)?.unwrap_or(0) == 0 {
            return Ok(());
        }
        connection.execute_batch("VACUUM")?;
        if CacheFile::empty_log(&connection)? {
            set_fact(&connection, UNSCRUBBED, 0)?;
        }
        Ok(())
    }
}

impl Update<'_> {
    /// Reads logs on some threads, while this one writes their counts. Returns those that have more to read or were not
    /// read, and whether `step` stopped.
    fn read(&mut self, logs: &[UsageLog]) -> Result<(Vec<UsageLog>, bool), UsageError> {
        let since: Vec<_> = logs.iter().map(|log| self.since(log)).collect();
        let exclusion = Mutex::new(self.history.usage_exclusion());
        let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let budget = self.budget;
        let (sender, outcomes) = mpsc::sync_channel(WAITING);
        let run = |sender: SyncSender<(usize, Option<Outcome>)>| {
            while !budget.spent() && !stopped.load(Ordering::Relaxed) {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some((log, since)) = logs.get(at).zip(since.get(at)) else { break };
                if sender.send((at, read(log, since.as_ref(), &exclusion, budget))).is_err() {
                    break;
                }
            }
        };
        let mut unread = vec![true; logs.len()];
        let written = thread::scope(|scope| {
            for _ in 0..limits::THREADS.min(logs.len()) {
                let sender = sender.clone();
                thread::Builder::new().spawn_scoped(scope, || run(sender)).map_err(UsageError::Thread)?;
            }
            drop(sender);
            let written = self.write_all(logs, &outcomes, &mut unread, &stopped);
            // Readers that wait to send something end.
            drop(outcomes);
            written
        });
        written?;
        let left = logs.iter().zip(unread).filter(|(_, unread)| *unread).map(|(log, _)| log.clone());
        Ok((left.collect(), stopped.into_inner()))
    }

    /// Where reading a log continues; `None` if it was never read.
    fn since(&self, log: &UsageLog) -> Option<Since> {
        let known = known_log(&self.known, log)?;
        Some(Since(known.up_to.clone().filter(|_| known.reader == READER)))
    }

    /// Writes the counts of logs as they are read.
    fn write_all(
        &mut self,
        logs: &[UsageLog],
        outcomes: &Receiver<(usize, Option<Outcome>)>,
        unread: &mut [bool],
        stopped: &AtomicBool,
    ) -> Result<(), UsageError> {
        let (mut batch, mut requests) = (Vec::new(), 0);
        loop {
            let outcome = outcomes.recv().ok();
            let is_end = outcome.is_none();
            if let Some((at, outcome)) = outcome {
                let log = &logs[at];
                let mut is_unfinished = false;
                match outcome {
                    None => self.progress.unread += 1,
                    Some(Outcome::Excluded) => {}
                    Some(Outcome::Read(read)) => {
                        is_unfinished = read.stopped && read.up_to.is_some();
                        // A compressed log cannot be continued.
                        self.progress.unread += usize::from(read.stopped && !is_unfinished);
                        requests += read.found.requests.len();
                        batch.push((log, read));
                    }
                }
                unread[at] = is_unfinished;
                if !is_unfinished {
                    self.progress.read_bytes += log.stamp().size;
                }
            }
            if requests >= BATCH || is_end {
                self.leave_out_excluded(&mut batch);
                self.write(&batch)?;
                (batch, requests) = (Vec::new(), 0);
                if !(self.step)(self.progress) {
                    stopped.store(true, Ordering::Relaxed);
                    return Ok(());
                }
            }
            if is_end {
                return Ok(());
            }
        }
    }

    /// Removes what the user has excluded, also since the update began.
    fn leave_out_excluded(&self, batch: &mut Vec<(&UsageLog, ReadUsage)>) {
        let mut exclusion = self.history.usage_exclusion();
        if exclusion.is_empty() {
            return;
        }
        batch.retain_mut(|(log, read)| {
            read.found.requests.retain(|request| {
                let folder = request.workspace.as_deref();
                folder.is_none_or(|folder| !exclusion.holds_folder(Path::new(folder)))
            });
            let workspace = read.found.workspace.as_deref().map(Path::new);
            !exclusion.holds(log.provider, workspace, log.path())
        });
    }

    fn write(&mut self, batch: &[(&UsageLog, ReadUsage)]) -> Result<(), UsageError> {
        if batch.is_empty() {
            return Ok(());
        }
        let mut connection = self.store.connection.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if generation(&transaction)? != self.tables.generation {
            drop(transaction);
            drop(connection);
            self.tables = self.store.current_tables()?;
            self.known = self.store.known_logs()?;
            return self.write(batch);
        }
        let mut change = Change::new(&transaction, &mut self.tables);
        for (log, read) in batch {
            let Some(path) = log.path().to_str() else { continue };
            if !read.is_whole && !self.known.contains_key(path) {
                // What came before was forgotten in the meantime.
                continue;
            }
            // A log that was not read to its end is read on the next time.
            let stamp = if read.stopped { FileStamp { size: 0, mtime_ns: 0 } } else { log.stamp() };
            let id = change.write_log(log, path, read, stamp)?;
            if read.is_whole {
                change.remove_log(id)?;
            }
            for request in &read.found.requests {
                let copy = change.copy(request, id)?;
                change.add(request.key, copy)?;
            }
            write_limits(&transaction, log.provider, &read.found.limits)?;
            self.known.insert(path.to_owned(), Known { stamp, reader: READER, up_to: read.up_to.clone() });
        }
        change.apply()?;
        Ok(transaction.commit()?)
    }
}

/// What is known of a log that was read before: where to continue, if that is possible.
struct Since(Option<ReadUpTo>);

fn known_log<'a>(known: &'a HashMap<String, Known>, log: &UsageLog) -> Option<&'a Known> {
    log.path().to_str().and_then(|path| known.get(path))
}

/// Reads what is new in a log; `None` if it cannot be read.
fn read(
    log: &UsageLog,
    known: Option<&Since>,
    exclusion: &Mutex<UsageExclusion<'_>>,
    budget: &Budget,
) -> Option<Outcome> {
    let is_checked = known.is_none() && exclusion.lock().has_folders();
    let workspace = if is_checked { log.workspace(budget) } else { None };
    if is_checked && exclusion.lock().holds(log.provider, workspace.as_deref(), log.path()) {
        return Some(Outcome::Excluded);
    }
    let since = known.and_then(|Since(up_to)| up_to.as_ref());
    let mut read = log.read(since, budget).ok()?;
    if read.found.workspace.is_none() && read.is_whole {
        let workspace = workspace.or_else(|| log.workspace(budget));
        read.found.workspace = workspace.map(|folder| folder.to_string_lossy().into_owned());
    }
    Some(Outcome::Read(read))
}

/// A log whose requests are counted.
struct Log {
    id: i64,
    agent: Provider,
    session: String,
    workspace: Option<PathBuf>,
    path: PathBuf,
}

fn logs(connection: &Connection) -> rusqlite::Result<Vec<Log>> {
    let mut rows = connection.prepare(
        "SELECT logs.id, agent, path, sessions.text, folders.text FROM logs
         LEFT JOIN names AS sessions ON sessions.id = logs.session
         LEFT JOIN names AS folders ON folders.id = logs.workspace",
    )?;
    let log = |row: &Row<'_>| {
        let (id, agent, path): (_, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let session = row.get::<_, Option<String>>(3)?.unwrap_or_default();
        let workspace = row.get::<_, Option<String>>(4)?.map(PathBuf::from);
        let path = PathBuf::from(path);
        Ok(Provider::parse(&agent).map(|agent| Log { id, agent, session, workspace, path }))
    };
    let logs = rows.query_map([], log)?.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(logs.into_iter().flatten().collect())
}

/// Returns the folders in which requests were made, with their ids.
fn folders(connection: &Connection) -> rusqlite::Result<Vec<(i64, String)>> {
    let mut rows = connection
        .prepare("SELECT id, text FROM names WHERE id IN (SELECT DISTINCT workspace FROM slots)")?;
    rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}
