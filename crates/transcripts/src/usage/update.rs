//! Reads what is new in the logs, and keeps the sums up to date.

use super::{
    owner::{Copy, owner},
    store::{UsageError, UsageStore, fact, set_fact},
};
use crate::{
    history::{
        FileStamp, History, Provider, ReadUpTo, ReadUsage, RequestUsage, UsageFlags, UsageLimit, UsageLog,
        UsagePlace,
    },
    limits,
};
use openagents_core::{
    budget::Budget,
    parallel,
    usage::{ModelPrices, Picodollars, PriceTable, RequestToPrice, Tokens},
};
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};
use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
};
use xxhash_rust::xxh3::xxh3_64;

/// The version of the readers: logs that another version read are read again.
const READER: i64 = 1;

/// Number of logs that are read before their counts are written.
const BATCH: usize = 32;

/// A quarter of an hour in milliseconds: the days of every time zone begin with one.
pub(super) const QUARTER: i64 = 15 * 60 * 1000;

/// The fact with a hash of the prices by which the sums were made.
const PRICES: &str = "prices";

/// How far reading is.
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
    id: i64,
    stamp: FileStamp,
    reader: i64,
    up_to: Option<ReadUpTo>,
}

impl UsageStore {
    /// Reads what is new in the logs of a history. Calls `step` after each part; stops if it returns false. Blocks.
    pub fn update(
        &self,
        history: &History,
        budget: &Budget,
        step: &mut dyn FnMut(UsageProgress) -> bool,
    ) -> Result<UsageProgress, UsageError> {
        let mut tables = Tables::new(self)?;
        self.apply_prices(&mut tables)?;
        let mut logs = history.usage_logs(budget);
        let mut known = self.known_logs()?;
        logs.retain(|log| {
            let known = log.path().to_str().and_then(|path| known.get(path));
            known.is_none_or(|known| known.stamp != log.stamp() || known.reader != READER)
        });
        logs.sort_by_key(|log| std::cmp::Reverse(log.stamp().mtime_ns));
        let mut progress = UsageProgress {
            bytes: logs.iter().map(|log| log.stamp().size).sum(),
            ..UsageProgress::default()
        };
        for part in logs.chunks(BATCH) {
            let read = |(): &mut (), at: usize| {
                let log = &part[at];
                let since = log.path().to_str().and_then(|path| known.get(path));
                let since =
                    since.filter(|known| known.reader == READER).and_then(|known| known.up_to.as_ref());
                log.read(since, budget).ok()
            };
            let read = parallel::map(part.len(), limits::THREADS, || !budget.spent(), || (), read);
            let mut batch = Vec::new();
            for (log, read) in part.iter().zip(read) {
                match read {
                    Some(read) => {
                        progress.unread += usize::from(read.stopped);
                        let folder =
                            read.found.requests.iter().find_map(|request| request.workspace.as_deref());
                        if !history.excludes_usage(log, folder.map(PathBuf::from).as_deref()) {
                            batch.push((log, read));
                        }
                    }
                    None => progress.unread += 1,
                }
                progress.read_bytes += log.stamp().size;
            }
            self.write(&batch, &mut known, &mut tables)?;
            if !step(progress) || budget.spent() {
                break;
            }
        }
        Ok(progress)
    }

    fn known_logs(&self) -> rusqlite::Result<HashMap<String, Known>> {
        let connection = self.connection.lock();
        let mut rows = connection.prepare(
            "SELECT path, id, size, mtime_ns, reader, read_bytes, read_tail, read_state FROM logs",
        )?;
        let known = |row: &Row<'_>| {
            let up_to = match (row.get(5)?, row.get(6)?, row.get(7)?) {
                (Some(bytes), Some(tail), Some(state)) => Some(ReadUpTo { bytes, tail, state }),
                _ => None,
            };
            let stamp = FileStamp { size: row.get(2)?, mtime_ns: row.get(3)? };
            Ok((row.get(0)?, Known { id: row.get(1)?, stamp, reader: row.get(4)?, up_to }))
        };
        rows.query_map([], known)?.collect()
    }

    fn write(
        &self,
        batch: &[(&UsageLog, ReadUsage)],
        known: &mut HashMap<String, Known>,
        tables: &mut Tables,
    ) -> rusqlite::Result<()> {
        let mut connection = self.connection.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut change = Change::new(&transaction, tables);
        for (log, read) in batch {
            // A path that is not UTF-8 has no row: that log is not counted.
            let Some(path) = log.path().to_str() else { continue };
            let is_known = known.contains_key(path);
            let row = change.write_log(log, path, read)?;
            if read.is_whole && is_known {
                change.remove_log(row.id)?;
            }
            for request in &read.found.requests {
                let copy = change.copy(request, row.id)?;
                change.add(request.key, copy)?;
            }
            change.write_limits(log.provider, &read.found.limits)?;
            known.insert(path.to_owned(), row);
        }
        change.apply()?;
        transaction.commit()
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

    fn places(&self) -> rusqlite::Result<Vec<UsagePlace>> {
        let connection = self.connection.lock();
        let mut rows = connection.prepare(
            "SELECT logs.id, agent, path, text FROM logs LEFT JOIN names ON names.id = logs.workspace",
        )?;
        let place = |row: &Row<'_>| {
            let (agent, path, workspace): (String, String, Option<String>) =
                (row.get(1)?, row.get(2)?, row.get(3)?);
            let log = row.get(0)?;
            Ok(Provider::parse(&agent).map(|provider| UsagePlace {
                log,
                provider,
                workspace: workspace.map(PathBuf::from),
                path: PathBuf::from(path),
            }))
        };
        let places = rows.query_map([], place)?.collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(places.into_iter().flatten().collect())
    }

    /// Forgets the logs that the user has excluded. Blocks.
    pub fn forget_excluded(&self, history: &History) -> Result<(), UsageError> {
        let logs = self.places()?;
        let excluded = history.excluded_logs(&logs);
        if excluded.is_empty() {
            return Ok(());
        }
        let mut tables = Tables::new(self)?;
        let mut connection = self.connection.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut change = Change::new(&transaction, &mut tables);
        for place in &excluded {
            change.remove_log(place.log)?;
        }
        change.apply()?;
        for place in &excluded {
            transaction.execute("DELETE FROM logs WHERE id = ?1", [place.log])?;
        }
        for agent in history.excluded().agents {
            transaction.execute("DELETE FROM limits WHERE agent = ?1", [agent.as_str()])?;
        }
        transaction.execute(
            "DELETE FROM names WHERE id NOT IN (
                SELECT session FROM logs UNION SELECT ifnull(parent, 0) FROM logs
                UNION SELECT ifnull(workspace, 0) FROM logs UNION SELECT ifnull(workspace, 0) FROM copies
                UNION SELECT ifnull(model, 0) FROM copies UNION SELECT ifnull(model_provider, 0) FROM copies)",
            [],
        )?;
        transaction.commit()?;
        connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")?;
        Ok(())
    }
}

/// What is needed of every log, and what was looked up.
struct Tables {
    prices: PriceTable,
    logs: HashMap<i64, LogFacts>,
    names: HashMap<String, i64>,
    /// By the names of provider and model.
    models: HashMap<(i64, i64), ModelPrices>,
}

#[derive(Debug, Clone)]
struct LogFacts {
    agent: String,
    session: i64,
    born: i64,
    path: String,
}

impl LogFacts {
    /// Orders copies of the same time.
    fn rank(&self) -> (i64, &str) {
        (self.born, &self.path)
    }
}

fn read_logs(connection: &Connection) -> rusqlite::Result<HashMap<i64, LogFacts>> {
    let mut rows = connection.prepare_cached("SELECT id, agent, session, born, path FROM logs")?;
    let log = |row: &Row<'_>| {
        let (agent, session, born, path) = (row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
        Ok((row.get(0)?, LogFacts { agent, session, born, path }))
    };
    rows.query_map([], log)?.collect()
}

impl Tables {
    fn new(store: &UsageStore) -> Result<Self, UsageError> {
        let prices = store.prices()?;
        let logs = read_logs(&store.connection.lock())?;
        Ok(Self { prices, logs, names: HashMap::new(), models: HashMap::new() })
    }

    fn rank(&self, log: i64) -> Option<(i64, &str)> {
        self.logs.get(&log).map(LogFacts::rank)
    }

    /// Reads the logs again if another process has added one.
    fn know(&mut self, connection: &Connection, log: i64) -> rusqlite::Result<()> {
        if !self.logs.contains_key(&log) {
            self.logs = read_logs(connection)?;
        }
        Ok(())
    }

    /// Returns the id of a text, which gets one if it has none.
    fn name(&mut self, connection: &Connection, text: &str) -> rusqlite::Result<i64> {
        if let Some(id) = self.names.get(text) {
            return Ok(*id);
        }
        let known = connection
            .prepare_cached("SELECT id FROM names WHERE text = ?1")?
            .query_row([text], |row| row.get(0))
            .optional()?;
        let id = match known {
            Some(id) => id,
            None => {
                connection.prepare_cached("INSERT INTO names (text) VALUES (?1)")?.execute([text])?;
                connection.last_insert_rowid()
            }
        };
        self.names.insert(text.to_owned(), id);
        Ok(id)
    }

    /// Returns the cost of a request; `None` if the price of something is unknown.
    fn cost(&mut self, connection: &Connection, request: &Copy) -> rusqlite::Result<Option<Picodollars>> {
        if request.reported.is_some() {
            return Ok(request.reported);
        }
        let (Some(provider), Some(model)) = (request.model_provider, request.model) else { return Ok(None) };
        if !self.models.contains_key(&(provider, model)) {
            let text = |id: i64| {
                connection
                    .query_row("SELECT text FROM names WHERE id = ?1", [id], |row| row.get::<_, String>(0))
            };
            let prices = self.prices.of_model(&text(provider)?, &text(model)?);
            self.models.insert((provider, model), prices);
        }
        let flags = request.flags;
        let to_price = RequestToPrice {
            at: request.at,
            tokens: request.tokens,
            searches: request.searches,
            fast: flags.has(UsageFlags::FAST),
            us: flags.has(UsageFlags::US),
            is_sum: flags.has(UsageFlags::WHOLE_SESSION),
        };
        Ok(self.models.get(&(provider, model)).and_then(|prices| prices.cost(&to_price)))
    }
}

/// Changes of logs and of the requests in them, in one transaction.
struct Change<'a> {
    transaction: &'a Transaction<'a>,
    tables: &'a mut Tables,
    /// The copies of each request that changes: before, and now.
    requests: BTreeMap<i64, (Vec<Copy>, Vec<Copy>)>,
    /// The logs that change, as they were.
    before: HashMap<i64, LogFacts>,
}

impl<'a> Change<'a> {
    fn new(transaction: &'a Transaction<'a>, tables: &'a mut Tables) -> Self {
        Self { transaction, tables, requests: BTreeMap::new(), before: HashMap::new() }
    }

    fn name(&mut self, text: Option<&str>) -> rusqlite::Result<Option<i64>> {
        let text = text.filter(|text| !text.is_empty());
        text.map(|text| self.tables.name(self.transaction, text)).transpose()
    }

    fn copy(&mut self, request: &RequestUsage, log: i64) -> rusqlite::Result<Copy> {
        Ok(Copy {
            log,
            attempt: request.attempt,
            at: request.at,
            model: self.name(request.model.as_deref())?,
            model_provider: self.name(request.model_provider.as_deref())?,
            workspace: self.name(request.workspace.as_deref())?,
            tokens: request.tokens,
            searches: request.searches,
            reported: request.reported,
            flags: request.flags,
        })
    }

    /// Writes the row of a log.
    fn write_log(&mut self, log: &UsageLog, path: &str, read: &ReadUsage) -> rusqlite::Result<Known> {
        let (found, up_to) = (&read.found, read.up_to.clone());
        // A log that was not read to its end is read again.
        let stamp = if read.stopped { FileStamp { size: 0, mtime_ns: 0 } } else { log.stamp() };
        let session = self.tables.name(self.transaction, found.session.as_deref().unwrap_or(log.id()))?;
        let parent = self.name(found.parent.as_deref())?;
        let folder = found.requests.iter().find_map(|request| request.workspace.as_deref());
        let folder = self.name(folder)?;
        let agent = log.provider.as_str();
        let id = self
            .transaction
            .prepare_cached(
                "INSERT INTO logs (agent, path, session, parent, workspace, born, size, mtime_ns, reader, read_bytes,
                    read_tail, read_state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
                 ON CONFLICT (path) DO UPDATE SET session = excluded.session, parent = excluded.parent,
                    workspace = ifnull(excluded.workspace, workspace), born = excluded.born, size = excluded.size,
                    mtime_ns = excluded.mtime_ns, reader = excluded.reader, read_bytes = excluded.read_bytes,
                    read_tail = excluded.read_tail, read_state = excluded.read_state
                 RETURNING id",
            )?
            .query_row(
                params![
                    agent,
                    path,
                    session,
                    parent,
                    folder,
                    found.born,
                    stamp.size,
                    stamp.mtime_ns,
                    READER,
                    up_to.as_ref().map(|up_to| up_to.bytes),
                    up_to.as_ref().map(|up_to| up_to.tail),
                    up_to.as_ref().map(|up_to| &up_to.state),
                ],
                |row| row.get(0),
            )?;
        let facts = LogFacts { agent: agent.to_owned(), session, born: found.born, path: path.to_owned() };
        if let Some(before) = self.tables.logs.insert(id, facts) {
            self.before.entry(id).or_insert(before);
        }
        Ok(Known { id, stamp, reader: READER, up_to })
    }

    fn write_limits(&self, agent: Provider, limits: &[UsageLimit]) -> rusqlite::Result<()> {
        let mut write = self.transaction.prepare_cached(
            "INSERT INTO limits VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE
             SET seen_at = excluded.seen_at, value = excluded.value WHERE excluded.seen_at >= seen_at",
        )?;
        for limit in limits {
            let value = serde_json::to_string(limit).unwrap_or_default();
            write.execute(params![agent.as_str(), limit.name, limit.seen_at, value])?;
        }
        Ok(())
    }

    /// Returns the copies of a request, to change them.
    fn copies(&mut self, key: i64) -> rusqlite::Result<&mut Vec<Copy>> {
        if !self.requests.contains_key(&key) {
            let mut rows = self.transaction.prepare_cached("SELECT * FROM copies WHERE key = ?1")?;
            let copies = rows.query_map([key], copy)?.collect::<rusqlite::Result<Vec<_>>>()?;
            for copy in &copies {
                self.tables.know(self.transaction, copy.log)?;
            }
            self.requests.insert(key, (copies.clone(), copies));
        }
        Ok(&mut self.requests.entry(key).or_default().1)
    }

    fn add(&mut self, key: i64, new: Copy) -> rusqlite::Result<()> {
        let copies = self.copies(key)?;
        match copies.iter_mut().find(|copy| (copy.log, copy.attempt) == (new.log, new.attempt)) {
            Some(known) => known.add(new),
            None => copies.push(new),
        }
        Ok(())
    }

    fn remove_log(&mut self, log: i64) -> rusqlite::Result<()> {
        let mut rows = self.transaction.prepare_cached("SELECT key FROM copies WHERE log = ?1")?;
        let keys = rows.query_map([log], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
        for key in keys {
            self.copies(key)?.retain(|copy| copy.log != log);
        }
        Ok(())
    }

    /// Writes the requests and their sums.
    fn apply(self) -> rusqlite::Result<()> {
        let Self { transaction, tables, requests, before } = self;
        let mut sums = Sums::default();
        let mut delete =
            transaction.prepare_cached("DELETE FROM copies WHERE key = ?1 AND log = ?2 AND attempt = ?3")?;
        let mut insert = transaction.prepare_cached(
            "INSERT OR REPLACE INTO copies VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        )?;
        for (key, (old, new)) in requests {
            let facts = |log: i64| before.get(&log).or_else(|| tables.logs.get(&log));
            if let Some(request) = owner(&old, |log| facts(log).map(LogFacts::rank)) {
                let facts = facts(request.log).cloned();
                let cost = tables.cost(transaction, &request)?;
                sums.add(facts.as_ref(), &request, cost, -1);
            }
            if let Some(request) = owner(&new, |log| tables.rank(log)) {
                let cost = tables.cost(transaction, &request)?;
                sums.add(tables.logs.get(&request.log), &request, cost, 1);
            }
            let is_same = |a: &Copy, b: &Copy| (a.log, a.attempt) == (b.log, b.attempt);
            for gone in old.iter().filter(|old| !new.iter().any(|new| is_same(old, new))) {
                delete.execute(params![key, gone.log, gone.attempt])?;
            }
            for copy in new.iter().filter(|new| !old.contains(new)) {
                let tokens = copy.tokens;
                insert.execute(params![
                    key,
                    copy.log,
                    copy.attempt,
                    copy.at,
                    copy.model,
                    copy.model_provider,
                    copy.workspace,
                    copy.flags.0,
                    stored(tokens.input),
                    stored(tokens.cache_read),
                    stored(tokens.cache_write),
                    stored(tokens.cache_write_1h),
                    stored(tokens.output),
                    stored(tokens.reasoning),
                    stored(copy.searches),
                    copy.reported.map(|cost| cost.0),
                ])?;
            }
        }
        sums.write(transaction)
    }
}

/// Reads a row of the copies.
fn copy(row: &Row<'_>) -> rusqlite::Result<Copy> {
    Ok(Copy {
        log: row.get(1)?,
        attempt: row.get(2)?,
        at: row.get(3)?,
        model: row.get(4)?,
        model_provider: row.get(5)?,
        workspace: row.get(6)?,
        flags: UsageFlags(row.get(7)?),
        tokens: Tokens {
            input: row.get(8)?,
            cache_read: row.get(9)?,
            cache_write: row.get(10)?,
            cache_write_1h: row.get(11)?,
            output: row.get(12)?,
            reasoning: row.get(13)?,
        },
        searches: row.get(14)?,
        reported: row.get::<_, Option<i64>>(15)?.map(Picodollars),
    })
}

/// The largest count of one request that is kept: foreign logs may hold any number, and sums must not overflow.
const MOST: u64 = 1 << 40;

fn stored(count: u64) -> i64 {
    count.min(MOST) as i64
}

/// The place of a sum: a quarter of an hour, an agent, and the ids of session, model, provider and workspace.
type Slot = (i64, String, [i64; 4]);

/// Changes of sums.
#[derive(Default)]
struct Sums(BTreeMap<Slot, [i64; 12]>);

impl Sums {
    /// Adds a request, or takes it away if `sign` is -1.
    fn add(&mut self, log: Option<&LogFacts>, request: &Copy, cost: Option<Picodollars>, sign: i64) {
        let Some(log) = log else { return };
        let tokens = request.tokens;
        let names = [Some(log.session), request.model, request.model_provider, request.workspace];
        let slot =
            (request.at.div_euclid(QUARTER), log.agent.clone(), names.map(|id| id.unwrap_or_default()));
        let unpriced = if cost.is_none() { tokens.total() } else { 0 };
        let counts = [
            1,
            stored(tokens.input),
            stored(tokens.cache_read),
            stored(tokens.cache_write),
            stored(tokens.cache_write_1h),
            stored(tokens.output),
            stored(tokens.reasoning),
            i64::from(request.flags.has(UsageFlags::AT_LEAST)),
            i64::from(request.flags.has(UsageFlags::WHOLE_SESSION)),
            stored(unpriced),
            cost.unwrap_or_default().0,
            request.reported.unwrap_or_default().0,
        ];
        for (sum, count) in self.0.entry(slot).or_default().iter_mut().zip(counts) {
            *sum = sum.saturating_add(sign * count);
        }
    }

    fn write(self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let mut write = transaction.prepare_cached(
            "INSERT INTO slots VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
             ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, input = input + excluded.input,
                cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
                cache_write_1h = cache_write_1h + excluded.cache_write_1h, output = output + excluded.output,
                reasoning = reasoning + excluded.reasoning, at_least = at_least + excluded.at_least,
                whole_sessions = whole_sessions + excluded.whole_sessions, unpriced = unpriced + excluded.unpriced,
                cost = cost + excluded.cost, reported = reported + excluded.reported",
        )?;
        let mut shrunk = false;
        for ((quarter, agent, [session, model, model_provider, workspace]), counts) in self.0 {
            if counts == [0; 12] {
                continue;
            }
            shrunk |= counts[0] < 0;
            let [
                requests,
                input,
                read,
                written,
                written_1h,
                output,
                reasoning,
                at_least,
                whole,
                unpriced,
                cost,
                reported,
            ] = counts;
            write.execute(params![
                quarter,
                agent,
                session,
                model,
                model_provider,
                workspace,
                requests,
                input,
                read,
                written,
                written_1h,
                output,
                reasoning,
                at_least,
                whole,
                unpriced,
                cost,
                reported
            ])?;
        }
        if shrunk {
            transaction.execute("DELETE FROM slots WHERE requests = 0", [])?;
        }
        Ok(())
    }
}
