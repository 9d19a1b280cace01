//! Changes of logs, requests and sums. A request and its sum change in the same transaction.

use super::{
    owner::{Copy, owner},
    store::{QUARTER, READER, UsageError, UsageStore, generation},
};
use crate::history::{FileStamp, ReadUsage, RequestUsage, UsageFlags, UsageLog};
use openagents_core::usage::{ModelPrices, Picodollars, PriceTable, RequestToPrice, Tokens};
use rusqlite::{
    Connection, OptionalExtension as _, Row, Transaction, params, params_from_iter, types::Value,
};
use std::collections::{BTreeMap, HashMap};

/// Facts about every log, and names and prices that were looked up.
pub(super) struct Tables {
    /// These are no longer valid in a later generation.
    pub(super) generation: i64,
    pub(super) prices: PriceTable,
    pub(super) logs: HashMap<i64, LogFacts>,
    names: HashMap<String, i64>,
    /// By the names of provider and model.
    models: HashMap<(i64, i64), ModelPrices>,
}

#[derive(Debug, Clone)]
pub(super) struct LogFacts {
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

pub(super) fn read_logs(connection: &Connection) -> rusqlite::Result<HashMap<i64, LogFacts>> {
    let mut rows = connection.prepare_cached("SELECT id, agent, session, born, path FROM logs")?;
    let log = |row: &Row<'_>| {
        let (agent, session, born, path) = (row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
        Ok((row.get(0)?, LogFacts { agent, session, born, path }))
    };
    rows.query_map([], log)?.collect()
}

impl Tables {
    pub(super) fn new(store: &UsageStore) -> Result<Self, UsageError> {
        let generation = generation(&store.connection.lock())?;
        let prices = store.prices()?;
        let logs = read_logs(&store.connection.lock())?;
        Ok(Self { generation, prices, logs, names: HashMap::new(), models: HashMap::new() })
    }

    pub(super) fn rank(&self, log: i64) -> Option<(i64, &str)> {
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
    pub(super) fn cost(
        &mut self,
        connection: &Connection,
        request: &Copy,
    ) -> rusqlite::Result<Option<Picodollars>> {
        if request.reported.is_some() {
            return Ok(request.reported);
        }
        let (Some(provider), Some(model)) = (request.model_provider, request.model) else { return Ok(None) };
        if !self.models.contains_key(&(provider, model)) {
            let text = |id: i64| {
                let mut name = connection.prepare_cached("SELECT text FROM names WHERE id = ?1")?;
                name.query_row([id], |row| row.get::<_, String>(0)).optional()
            };
            let prices = match (text(provider)?, text(model)?) {
                (Some(provider), Some(model)) => self.prices.of_model(&provider, &model),
                _ => ModelPrices::default(),
            };
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
pub(super) struct Change<'a> {
    transaction: &'a Transaction<'a>,
    tables: &'a mut Tables,
    /// The copies of each request that changes: before, and now.
    requests: BTreeMap<i64, (Vec<Copy>, Vec<Copy>)>,
    /// The logs that change, as they were.
    before: HashMap<i64, LogFacts>,
}

impl<'a> Change<'a> {
    pub(super) fn new(transaction: &'a Transaction<'a>, tables: &'a mut Tables) -> Self {
        Self { transaction, tables, requests: BTreeMap::new(), before: HashMap::new() }
    }

    fn name(&mut self, text: Option<&str>) -> rusqlite::Result<Option<i64>> {
        let text = text.filter(|text| !text.is_empty());
        text.map(|text| self.tables.name(self.transaction, text)).transpose()
    }

    pub(super) fn copy(&mut self, request: &RequestUsage, log: i64) -> rusqlite::Result<Copy> {
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

    /// Writes the row of a log, and returns its id.
    pub(super) fn write_log(
        &mut self,
        log: &UsageLog,
        path: &str,
        read: &ReadUsage,
        stamp: FileStamp,
    ) -> rusqlite::Result<i64> {
        let (found, up_to) = (&read.found, read.up_to.as_ref());
        let session = self.tables.name(self.transaction, found.session.as_deref().unwrap_or(log.id()))?;
        let parent = self.name(found.parent.as_deref())?;
        let folder = self.name(found.workspace.as_deref())?;
        let agent = log.provider.as_str();
        let id = self
            .transaction
            .prepare_cached(
                "INSERT INTO logs (agent, path, session, parent, workspace, born, size, mtime_ns, reader, read_bytes,
                    read_tail, read_state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
                 ON CONFLICT (path) DO UPDATE SET session = excluded.session, parent = excluded.parent,
                    workspace = ifnull(workspace, excluded.workspace), born = excluded.born, size = excluded.size,
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
                    up_to.map(|up_to| up_to.bytes),
                    up_to.map(|up_to| up_to.tail),
                    up_to.map(|up_to| &up_to.state),
                ],
                |row| row.get(0),
            )?;
        let facts = LogFacts { agent: agent.to_owned(), session, born: found.born, path: path.to_owned() };
        if let Some(before) = self.tables.logs.insert(id, facts.clone()) {
            let moves = (before.session, before.born) != (facts.session, facts.born);
            self.before.entry(id).or_insert(before);
            if moves {
                // Its earlier requests move too.
                self.touch("SELECT key FROM copies WHERE log = ?1", id)?;
            }
        }
        Ok(id)
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

    pub(super) fn add(&mut self, key: i64, new: Copy) -> rusqlite::Result<()> {
        let copies = self.copies(key)?;
        let has_room = copies.len() < COPIES;
        match copies.iter_mut().find(|copy| (copy.log, copy.attempt) == (new.log, new.attempt)) {
            Some(known) => known.add(new),
            None if has_room => copies.push(new),
            None => {}
        }
        Ok(())
    }

    /// Loads the requests that a query selects, so that their sums are made again.
    fn touch(&mut self, query: &str, id: i64) -> rusqlite::Result<Vec<i64>> {
        let mut rows = self.transaction.prepare_cached(query)?;
        let keys = rows.query_map([id], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
        for key in &keys {
            self.copies(*key)?;
        }
        Ok(keys)
    }

    /// Removes the reports of a log.
    pub(super) fn remove_log(&mut self, log: i64) -> rusqlite::Result<()> {
        for key in self.touch("SELECT key FROM copies WHERE log = ?1", log)? {
            self.copies(key)?.retain(|copy| copy.log != log);
        }
        Ok(())
    }

    /// Removes the reports of requests that were made in a folder, which is given by its id.
    pub(super) fn remove_folder(&mut self, folder: i64) -> rusqlite::Result<()> {
        for key in self.touch("SELECT key FROM copies WHERE workspace = ?1", folder)? {
            self.copies(key)?.retain(|copy| copy.workspace != Some(folder));
        }
        Ok(())
    }

    /// Writes the requests and their sums.
    pub(super) fn apply(self) -> rusqlite::Result<()> {
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
pub(super) fn copy(row: &Row<'_>) -> rusqlite::Result<Copy> {
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

/// The largest number of copies of a request that are kept.
const COPIES: usize = 256;

fn stored(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The counts of a slot, in the order of its columns.
type Counts = [i64; 12];

/// The place of a sum: a quarter of an hour, an agent, and the ids of session, model, provider and workspace.
type Slot = (i64, String, [i64; 4]);

/// Changes of sums.
#[derive(Default)]
pub(super) struct Sums(BTreeMap<Slot, Counts>);

impl Sums {
    /// Adds a request, or takes it away if `sign` is -1.
    pub(super) fn add(
        &mut self,
        log: Option<&LogFacts>,
        request: &Copy,
        cost: Option<Picodollars>,
        sign: i64,
    ) {
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

    pub(super) fn write(self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        const SLOT: &str =
            "quarter = ?1 AND agent = ?2 AND session = ?3 AND model = ?4 AND model_provider = ?5
            AND workspace = ?6";
        let mut read = transaction.prepare_cached(&format!("SELECT * FROM slots WHERE {SLOT}"))?;
        let mut remove = transaction.prepare_cached(&format!("DELETE FROM slots WHERE {SLOT}"))?;
        let mut write = transaction.prepare_cached(
            "INSERT OR REPLACE INTO slots
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
        )?;
        for ((quarter, agent, names), change) in self.0 {
            if change == Counts::default() {
                continue;
            }
            let slot = params![quarter, agent, names[0], names[1], names[2], names[3]];
            let known = read.query_row(slot, |row| {
                let mut known = Counts::default();
                for (at, count) in known.iter_mut().enumerate() {
                    *count = row.get(at + 6)?;
                }
                Ok(known)
            });
            let known = known.optional()?.unwrap_or_default();
            // Sums that are too large for the file stay at the largest number.
            let sums: Counts = std::array::from_fn(|at| known[at].saturating_add(change[at]).max(0));
            if sums[0] <= 0 {
                remove.execute(slot)?;
                continue;
            }
            let place = [Value::from(quarter), agent.into()].into_iter().chain(names.map(Value::from));
            write.execute(params_from_iter(place.chain(sums.map(Value::from))))?;
        }
        Ok(())
    }
}
