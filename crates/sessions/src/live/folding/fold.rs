//! The two passes over a log.

use super::{
    folded::{Folded, News},
    index::{self, Index, Mention, Subject},
    joining,
};
use crate::{
    scope::{Scope, scoped, unscoped, wrap},
    store::{Store, StoreError, Stored},
};
use openagents_core::update::{SessionUpdate, ToolCallDetails, ToolCallStatus, ToolCallUpdate, UserMessage};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// Maximum updates per page, and their bytes; a single update may be larger.
const PAGE: usize = 256;
const PAGE_BYTES: usize = 256 << 10;

/// A log to fold.
pub trait Log {
    /// Returns at most `limit` updates after `since`. Blocks.
    fn after(&self, since: u64, limit: usize) -> Result<Vec<Arc<Stored>>, StoreError>;
}

/// The log of a session in the store.
#[derive(Debug, Clone)]
pub struct StoredLog {
    /// The store.
    pub store: Store,
    /// The session.
    pub session_id: Arc<str>,
}

impl Log for StoredLog {
    fn after(&self, since: u64, limit: usize) -> Result<Vec<Arc<Stored>>, StoreError> {
        self.store.page_after(&self.session_id, since, limit, PAGE_BYTES)
    }
}

/// An iterator over the folded log.
#[derive(Debug)]
pub struct Folding<L> {
    log: L,
    /// The last update to include.
    until: u64,
    /// Position of the second pass.
    read: u64,
    /// The result of the first pass.
    index: Option<Index>,
    /// An open text that the next update may extend.
    open: Option<Folded>,
    /// Scopes whose last update is a thought.
    thinking: HashSet<Scope>,
    /// The last update of each approval that was emitted.
    approvals: HashMap<(Scope, Subject), u64>,
}

impl<L: Log> Folding<L> {
    /// Folds a log up to `until`.
    pub fn new(log: L, until: u64) -> Self {
        let (thinking, approvals) = Default::default();
        Self { log, until, read: 0, index: None, open: None, thinking, approvals }
    }

    /// Returns the next updates, oldest first; an empty page at the end of the log. Blocks.
    pub fn next_page(&mut self) -> Result<Vec<Folded>, StoreError> {
        let mut index = match self.index.take() {
            Some(index) => index,
            None => self.first_pass()?,
        };
        let (mut out, until) = (Vec::new(), self.until);
        while out.is_empty() && self.read < self.until {
            let page = self.log.after(self.read, PAGE)?;
            let Some(last) = page.last() else { break };
            for stored in page.iter().take_while(|stored| stored.seq <= until) {
                self.push(stored, &page, &mut index, &mut out)?;
            }
            self.read = last.seq;
        }
        if out.is_empty() {
            self.read = self.until;
            out.extend(self.open.take());
        }
        self.index = Some(index);
        Ok(out)
    }

    fn first_pass(&self) -> Result<Index, StoreError> {
        let (mut index, mut read) = (Index::default(), 0);
        while read < self.until {
            let page = self.log.after(read, PAGE)?;
            let Some(last) = page.last() else { break };
            read = last.seq;
            page.iter().filter(|stored| stored.seq <= self.until).for_each(|stored| index.take(stored));
        }
        Ok(index)
    }

    fn push(
        &mut self,
        stored: &Arc<Stored>,
        page: &[Arc<Stored>],
        index: &mut Index,
        out: &mut Vec<Folded>,
    ) -> Result<(), StoreError> {
        let (scope, update) = scoped(&stored.update);
        let next = match index::subject(update) {
            Some(subject) => {
                let key = (scope.clone(), subject);
                // Already emitted at its first appearance.
                let Some(mention) = index.0.remove(&key) else {
                    return self.end_thought(&key, stored, page, out);
                };
                if let Subject::Approval(_) = key.1 {
                    self.approvals.insert(key.clone(), mention.last);
                }
                match key.1 {
                    Subject::Call(_) => self.call(stored, page, &scope, &mention)?,
                    Subject::Prompt(_) => Some(prompt(stored, &scope, &mention)),
                    _ => self.find(mention.last, page)?.map(|last| folded(&last)),
                }
            }
            None if index::is_mark(update) => None,
            None => Some(folded(stored)),
        };
        let Some(next) = next else { return Ok(()) };
        match unscoped(&next.update) {
            SessionUpdate::AgentThought(_) => drop(self.thinking.insert(scope)),
            update if index::ends_thought(update) => drop(self.thinking.remove(&scope)),
            _ => {}
        }
        if let Some(open) = &mut self.open
            && joining::join(open, &next)
        {
            return Ok(());
        }
        out.extend(self.open.replace(next));
        Ok(())
    }

    /// Ends a thought where an update is skipped because it was emitted earlier. Emits an update that changes nothing.
    fn end_thought(
        &mut self,
        key: &(Scope, Subject),
        stored: &Arc<Stored>,
        page: &[Arc<Stored>],
        out: &mut Vec<Folded>,
    ) -> Result<(), StoreError> {
        let (scope, subject) = key;
        if !self.thinking.contains(scope) {
            return Ok(());
        }
        let update = match subject {
            Subject::Call(id) => Some(wrap(scope, SessionUpdate::ToolCallUpdate(no_news(id)))),
            Subject::Approval(_) => match self.approvals.get(key) {
                Some(last) => self.find(*last, page)?.map(|last| last.update.clone()),
                None => None,
            },
            _ => None,
        };
        if let Some(update) = update {
            self.thinking.remove(scope);
            out.extend(self.open.take());
            out.push(Folded { update, ..folded(stored) });
        }
        Ok(())
    }

    /// Returns the update with number `seq`, from the page or the log.
    fn find(&self, seq: u64, page: &[Arc<Stored>]) -> Result<Option<Arc<Stored>>, StoreError> {
        if let Ok(index) = page.binary_search_by_key(&seq, |stored| stored.seq) {
            return Ok(page.get(index).cloned());
        }
        let found = self.log.after(seq.saturating_sub(1), 1)?;
        Ok(found.into_iter().next().filter(|stored| stored.seq == seq))
    }

    /// Returns a call merged with its updates.
    fn call(
        &self,
        first: &Arc<Stored>,
        page: &[Arc<Stored>],
        scope: &Scope,
        mention: &Mention,
    ) -> Result<Option<Folded>, StoreError> {
        let mut numbers: Vec<u64> = mention.details.into_iter().chain([mention.status]).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut news = ToolCallUpdate { late: mention.late, ..no_news(call_id(first)) };
        for seq in numbers.into_iter().filter(|seq| *seq > 0) {
            let found = self.find(seq, page)?;
            if let Some(SessionUpdate::ToolCallUpdate(update)) = found.as_ref().map(|f| unscoped(&f.update)) {
                joining::add(&mut news, update, seq, mention);
            }
        }
        let announced = match mention.announced {
            0 => None,
            seq if seq == first.seq => Some(first.clone()),
            seq => self.find(seq, page)?,
        };
        let last_ts = match mention.last {
            seq if seq == first.seq => first.ts,
            seq => self.find(seq, page)?.map_or(first.ts, |last| last.ts),
        };
        let ends = |update| Folded { seq: mention.last, ts: first.ts, last_ts, update, news: None };
        let Some(call) = announced else {
            return Ok(Some(ends(wrap(scope, SessionUpdate::ToolCallUpdate(news)))));
        };
        let says_nothing = news.status == ToolCallStatus::Unchanged && !news.late && news.details.is_empty();
        let news = (!says_nothing).then_some(News { update: news, status_seq: mention.status });
        Ok(Some(Folded { news, ..ends(call.update.clone()) }))
    }
}

fn no_news(call_id: &str) -> ToolCallUpdate {
    ToolCallUpdate {
        call_id: call_id.to_owned(),
        status: ToolCallStatus::Unchanged,
        late: false,
        details: ToolCallDetails::default(),
    }
}

fn call_id(stored: &Stored) -> &str {
    match unscoped(&stored.update) {
        SessionUpdate::ToolCall(call) => &call.call_id,
        SessionUpdate::ToolCallUpdate(update) => &update.call_id,
        _ => "",
    }
}

fn folded(stored: &Arc<Stored>) -> Folded {
    let (seq, ts) = (stored.seq, stored.ts);
    Folded { seq, ts, last_ts: ts, update: stored.update.clone(), news: None }
}

fn prompt(stored: &Arc<Stored>, scope: &Scope, mention: &Mention) -> Folded {
    let mut folded = Folded { seq: mention.last, ..folded(stored) };
    if mention.status > 0
        && let SessionUpdate::UserMessage(message) = unscoped(&stored.update)
    {
        let message = UserMessage { removed: true, ..message.clone() };
        folded.update = wrap(scope, SessionUpdate::UserMessage(message));
    }
    folded
}
