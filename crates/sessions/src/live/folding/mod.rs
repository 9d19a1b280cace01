//! Folding a log: its current state instead of its history.
//!
//! The log is read twice, in pages, and never held as a whole. The first pass finds the updates that still matter: the
//! last one for a plan, title, mode or approval, and the last one per field for a call. The second emits them where
//! they first appeared, with consecutive text of one message joined. Applying the folded log and the updates after it
//! gives the same state as applying all updates.

use crate::{
    scope::{Scope, scoped, unscoped, wrap},
    store::{Store, StoreError, Stored},
};
use openagents_core::update::{Delegated, SessionUpdate, ToolCallStatus, ToolCallUpdate, UserMessage};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// Maximum updates per page, and their bytes; a single update may be larger.
const PAGE: usize = 256;
const PAGE_BYTES: usize = 256 << 10;

pub trait Log {
    /// Returns at most `limit` updates after `since`. Blocks.
    fn after(&self, since: u64, limit: usize) -> Result<Vec<Arc<Stored>>, StoreError>;
}

#[derive(Debug, Clone)]
pub struct StoredLog {
    pub store: Store,
    pub session_id: Arc<str>,
}

impl Log for StoredLog {
    fn after(&self, since: u64, limit: usize) -> Result<Vec<Arc<Stored>>, StoreError> {
        self.store.page_after(&self.session_id, since, limit, PAGE_BYTES)
    }
}

#[derive(Debug)]
pub struct Folding<L> {
    log: L,
    /// The last update to include.
    until: u64,
    /// Position of the second pass.
    read: u64,
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
            page.iter().filter(|stored| stored.seq <= self.until).for_each(|stored| index.record(stored));
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
        let next = match subject(update) {
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
                    Subject::Call(_) => self.folded_call(stored, page, &scope, &mention)?,
                    Subject::Prompt(_) => Some(prompt(stored, &scope, &mention)),
                    _ => self.find(mention.last, page)?.map(|last| folded(&last)),
                }
            }
            None if is_mark(update) => None,
            None => Some(folded(stored)),
        };
        let Some(next) = next else { return Ok(()) };
        match unscoped(&next.update) {
            SessionUpdate::AgentThought(_) => drop(self.thinking.insert(scope)),
            update if ends_thought(update) => drop(self.thinking.remove(&scope)),
            _ => {}
        }
        if let Some(open) = &mut self.open
            && join(open, &next)
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

    fn folded_call(
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
                copy_last_fields(&mut news, update, seq, mention);
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
    ToolCallUpdate::new(call_id, ToolCallStatus::Unchanged)
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
        let (removed, steered) = (!mention.is_steered, mention.is_steered);
        let message = UserMessage { removed, steered, ..message.clone() };
        folded.update = wrap(scope, SessionUpdate::UserMessage(message));
    }
    folded
}

#[derive(Debug, Clone, PartialEq)]
pub struct Folded {
    /// Number of the last folded update.
    pub seq: u64,
    /// Time when the first of them was stored, or the last if only that one counts, in milliseconds since the epoch.
    pub ts: i64,
    /// Time when the last of them was stored, in milliseconds since the epoch.
    pub last_ts: i64,
    pub update: SessionUpdate,
    /// Merged updates of the call that `update` announces.
    pub news: Option<News>,
}

/// The updates of a call merged into one.
#[derive(Debug, Clone, PartialEq)]
pub struct News {
    pub update: ToolCallUpdate,
    /// Number of the update that holds the output.
    pub status_seq: u64,
}

/// A subject for which only the last state counts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Subject {
    Plan,
    /// A part of the agent's state.
    State(&'static str),
    Note(String),
    Title,
    Mode,
    Approval(String),
    Call(String),
    Prompt(String),
}

/// The subjects found by the first pass that the second has not emitted yet.
#[derive(Debug, Default)]
struct Index(HashMap<(Scope, Subject), Mention>);

/// The last updates on a subject.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Mention {
    last: u64,
    /// For a call: the last update of each field; 0 if there is none.
    announced: u64,
    status: u64,
    details: [u64; 5],
    late: bool,
    /// For a prompt with a `status`: it was given to a running turn, not removed.
    is_steered: bool,
}

impl Index {
    fn record(&mut self, stored: &Stored) {
        let (scope, update) = scoped(&stored.update);
        if let SessionUpdate::UserMessage(UserMessage { message_id: Some(id), steered, .. }) = update
            && is_mark(update)
        {
            if let Some(prompt) = self.0.get_mut(&(scope, Subject::Prompt(id.clone()))) {
                prompt.last = stored.seq;
                prompt.status = stored.seq;
                prompt.is_steered = *steered;
            }
            return;
        }
        let Some(subject) = subject(update) else { return };
        let mention = self.0.entry((scope, subject)).or_default();
        mention.last = stored.seq;
        match update {
            SessionUpdate::ToolCall(_) => (mention.announced, mention.details) = (stored.seq, [0; 5]),
            SessionUpdate::ToolCallUpdate(update) => mention.record(update, stored.seq),
            _ => {}
        }
    }
}

impl Mention {
    fn record(&mut self, update: &ToolCallUpdate, seq: u64) {
        let details = &update.details;
        let says = [
            details.title.is_some(),
            details.kind.is_some(),
            details.raw_input.is_some(),
            !details.locations.is_empty(),
            !details.content.is_empty(),
        ];
        for (known, says) in self.details.iter_mut().zip(says) {
            if says {
                *known = seq;
            }
        }
        if update.status != ToolCallStatus::Unchanged {
            self.status = seq;
        }
        self.late |= update.late;
    }
}

/// Returns the subject of an update, if only the last update on it counts.
fn subject(update: &SessionUpdate) -> Option<Subject> {
    match update {
        SessionUpdate::Plan(_) => Some(Subject::Plan),
        SessionUpdate::AgentState(state) => Some(Subject::State(state.part.name())),
        SessionUpdate::AgentNote(note) => Some(Subject::Note(note.id.clone())),
        SessionUpdate::Title(_) => Some(Subject::Title),
        SessionUpdate::Mode(_) => Some(Subject::Mode),
        SessionUpdate::Approval(approval) => Some(Subject::Approval(approval.id.clone())),
        SessionUpdate::ToolCall(call) => Some(Subject::Call(call.call_id.clone())),
        SessionUpdate::ToolCallUpdate(update) => Some(Subject::Call(update.call_id.clone())),
        SessionUpdate::UserMessage(message) if !message.is_mark() => {
            message.message_id.clone().map(Subject::Prompt)
        }
        SessionUpdate::UserMessage(_)
        | SessionUpdate::AgentMessage(_)
        | SessionUpdate::AgentThought(_)
        | SessionUpdate::Routed(_)
        | SessionUpdate::Delegated(_) => None,
    }
}

fn ends_thought(update: &SessionUpdate) -> bool {
    match update {
        SessionUpdate::UserMessage(message) => !message.is_mark(),
        SessionUpdate::AgentMessage(_)
        | SessionUpdate::ToolCall(_)
        | SessionUpdate::ToolCallUpdate(_)
        | SessionUpdate::Approval(_) => true,
        _ => false,
    }
}

fn is_mark(update: &SessionUpdate) -> bool {
    matches!(update, SessionUpdate::UserMessage(message) if message.is_mark())
}

/// Maximum size of a joined text, in bytes. Further text becomes another chunk of the same message.
const TEXT: usize = 256 << 10;

/// Copies the fields for which update `seq` is the last.
fn copy_last_fields(news: &mut ToolCallUpdate, update: &ToolCallUpdate, seq: u64, mention: &Mention) {
    if mention.status == seq {
        news.status = update.status.clone();
    }
    let [title, kind, raw_input, locations, content] = mention.details.map(|known| known == seq);
    let (known, more) = (&mut news.details, &update.details);
    if title {
        known.title.clone_from(&more.title);
    }
    if kind {
        known.kind = more.kind;
    }
    if raw_input {
        known.raw_input.clone_from(&more.raw_input);
    }
    if locations {
        known.locations.clone_from(&more.locations);
    }
    if content {
        known.content.clone_from(&more.content);
    }
}

/// Appends `next` to `open` if both belong to the same message. Returns whether it did.
fn join(open: &mut Folded, next: &Folded) -> bool {
    let is_joined = match (scoped_mut(&mut open.update), scoped(&next.update)) {
        ((scope, SessionUpdate::AgentMessage(known)), (other, SessionUpdate::AgentMessage(more))) => {
            let is_same = scope == other && known.message_id == more.message_id && known.late == more.late;
            // The end of a turn and a list of findings are kept separate.
            let lists = known.findings.is_some() || more.findings.is_some();
            let goes_on =
                is_same && !lists && !known.ends_turn() && known.text.len() + more.text.len() <= TEXT;
            if goes_on {
                known.text.push_str(&more.text);
                known.summary.clone_from(&more.summary);
                known.usage.clone_from(&more.usage);
                known.ended = more.ended;
                known.failed = more.failed;
            }
            goes_on
        }
        ((scope, SessionUpdate::AgentThought(known)), (other, SessionUpdate::AgentThought(more))) => {
            let is_same = scope == other && known.message_id == more.message_id && known.late == more.late;
            let goes_on = is_same && known.text.len() + more.text.len() <= TEXT;
            if goes_on {
                known.text.push_str(&more.text);
            }
            goes_on
        }
        _ => false,
    };
    if is_joined {
        (open.seq, open.last_ts) = (next.seq, next.last_ts);
    }
    is_joined
}

fn scoped_mut(update: &mut SessionUpdate) -> (Scope, &mut SessionUpdate) {
    match update {
        SessionUpdate::Delegated(Delegated { parent_call_id, child_session_id, update }) => {
            (Some((parent_call_id.clone(), child_session_id.clone())), update)
        }
        update => (None, update),
    }
}

#[cfg(test)]
mod tests;
