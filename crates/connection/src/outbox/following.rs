//! Advances through the sessions that a connection follows.

use super::{
    dialect::{Dialect, ReadFrom},
    pump::{End, Follow, PAGE, Pump, Waiting},
};
use crate::mailbox::Closing;
use openagents_sessions::{Folding, ListNews, Session, StoredLog, run_blocking, store::StoreError};
use std::sync::Arc;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Maximum bytes per page, as stored. A single update may be larger.
const PAGE_BYTES: usize = 256 << 10;

impl<D: Dialect> Pump<D> {
    /// Follows a session. `queue` is the queue change that the client knows. Above the limit, the least recently
    /// followed session is dropped.
    pub(super) async fn follow(
        &mut self,
        session: Arc<Session>,
        from: ReadFrom,
        queue: Option<u64>,
    ) -> Result<(), End> {
        session.watch(&self.wake);
        // A client that joins during an activity is sent that activity. If there is none, nothing is sent.
        let (changes, doing) = session.activity();
        let activity = if doing.is_some() { 0 } else { changes };
        let waits = session.queue();
        let queue = (!waits.running).then(|| queue.unwrap_or(waits.changes));
        let (read, folding) = match from {
            ReadFrom::Update(since) => (since, None),
            ReadFrom::Folded(until) => (until, Some(Box::new(session.folding(until)))),
        };
        // A failure is also sent to clients that join later.
        let (rested, failure, approvals) = (false, 0, 0);
        let follow = Follow { session, read, folding, rested, failure, activity, approvals, queue };
        self.follows.retain(|known| !Arc::ptr_eq(&known.session, &follow.session));
        self.follows.push(follow);
        if self.follows.len() <= D::FOLLOWS {
            return Ok(());
        }
        let left = self.follows.remove(0);
        match self.sender.dialect.left(&left.session) {
            Some(text) => self.write(text).await,
            None => Ok(()),
        }
    }

    pub(super) async fn join(&mut self, session: Arc<Session>, since: u64) -> Result<(), End> {
        let known = self.follows.iter().position(|known| Arc::ptr_eq(&known.session, &session));
        match known.map(|index| self.follows.remove(index)) {
            Some(known) => self.follows.push(known),
            None => self.follow(session, ReadFrom::Update(since), None).await?,
        }
        Ok(())
    }

    pub(super) async fn advance(&mut self, index: usize) -> Result<bool, End> {
        let Some(follow) = self.follows.get_mut(index) else { return Ok(false) };
        if let Some(folding) = follow.folding.take() {
            return self.advance_fold(index, folding).await;
        }
        let (session, read, sent_failure) = (follow.session.clone(), follow.read, follow.failure);
        let head = session.head();
        if head.seq > read {
            let page = match session.read_after(read, PAGE, PAGE_BYTES).await {
                Ok(page) => page,
                Err(error) => return self.give_up(index, &error).await,
            };
            let Some(last) = page.last().map(|update| update.seq) else { return Ok(false) };
            let frames = self.sender.dialect.project(&session, &page, head.seq - read);
            self.write_all(&session, frames).await?;
            if let Some(follow) = self.follows.get_mut(index) {
                (follow.read, follow.rested) = (last, false);
            }
            return Ok(true);
        }
        let changes = session.queue_changes();
        if follow.queue != Some(changes) {
            let waits = session.queue();
            if let Some(text) = self.sender.dialect.queue(&session, &waits) {
                self.write(text).await?;
            }
            if let Some(follow) = self.follows.get_mut(index) {
                follow.queue = Some(waits.changes);
            }
            return Ok(true);
        }
        let (changes, doing) = session.activity();
        if changes != follow.activity {
            if let Some(text) = self.sender.dialect.activity(&session, doing) {
                self.write(text).await?;
            }
            if let Some(follow) = self.follows.get_mut(index) {
                follow.activity = changes;
            }
            return Ok(true);
        }
        if let Some((changes, pending)) = session.approvals_since(follow.approvals) {
            for text in self.sender.dialect.approvals(&session, &pending) {
                self.write(text).await?;
            }
            if let Some(follow) = self.follows.get_mut(index) {
                follow.approvals = changes;
            }
            return Ok(true);
        }
        let rests = !head.running && !follow.rested;
        if rests {
            let frames = self.sender.dialect.rest(&session);
            self.write_all(&session, frames).await?;
        }
        let failure = head.failure.filter(|failure| failure.number > sent_failure);
        if let Some(failure) = &failure {
            let text = self.sender.dialect.failed(&session, &failure.message);
            self.write(text).await?;
        }
        if let Some(follow) = self.follows.get_mut(index) {
            follow.rested |= rests;
            follow.failure = failure.map_or(sent_failure, |failure| failure.number);
        }
        Ok(false)
    }

    /// Stops following a session that cannot be read. The others continue.
    async fn give_up(&mut self, index: usize, error: &StoreError) -> Result<bool, End> {
        if *error == StoreError::Closed {
            return Err(Some(store_closing(error)));
        }
        let Follow { session, .. } = self.follows.remove(index);
        tracing::error!(%error, session = %session.id(), "a session cannot be read");
        let text = self.sender.dialect.failed(&session, &format!("This session cannot be read: {error}."));
        self.write(text).await?;
        Ok(true)
    }

    /// Stops following deleted sessions. List watchers are notified through the list.
    pub(super) async fn end_deleted(&mut self) -> Result<(), End> {
        let gone = |follow: &mut Follow| follow.session.is_deleted();
        let removed: Vec<_> = self.follows.extract_if(.., gone).map(|f| f.session.id().clone()).collect();
        if removed.is_empty() || self.list.is_some() {
            return Ok(());
        }
        let news = ListNews { removed, ..ListNews::default() };
        match self.sender.dialect.sessions(&news) {
            Some(text) => self.write(text).await,
            None => Ok(()),
        }
    }

    async fn advance_fold(
        &mut self,
        index: usize,
        mut folding: Box<Folding<StoredLog>>,
    ) -> Result<bool, End> {
        let Some(follow) = self.follows.get(index) else { return Ok(false) };
        let (session, until) = (follow.session.clone(), follow.read);
        let read = move || (folding.next_page(), folding);
        let (page, folding) =
            run_blocking(read).await.ok_or_else(|| Some(store_closing(&StoreError::Closed)))?;
        let page = match page {
            Ok(page) => page,
            Err(error) => return self.give_up(index, &error).await,
        };
        if page.is_empty() {
            if let Some(text) = self.sender.dialect.fold_ends(&session, until) {
                self.write(text).await?;
            }
            return Ok(true);
        }
        let frames = self.sender.dialect.folded(&session, &page);
        self.write_page(frames).await?;
        if let Some(follow) = self.follows.get_mut(index) {
            follow.folding = Some(folding);
        }
        Ok(true)
    }

    async fn write_all(&mut self, session: &Session, frames: Vec<Utf8Bytes>) -> Result<(), End> {
        if D::IN_PAGES {
            return self.write_page(frames).await;
        }
        if frames.is_empty() {
            self.sender.dialect.written(session);
        }
        for frame in frames {
            self.write_page(vec![frame]).await?;
            self.sender.dialect.written(session);
        }
        Ok(())
    }

    /// Sends the responses that are due, in request order.
    pub(super) async fn answer(&mut self) -> Result<(), End> {
        let mut index = 0;
        while let Some(Waiting { session, seq, .. }) = self.waiting.get(index) {
            let read =
                self.follows.iter().find(|follow| Arc::ptr_eq(&follow.session, session)).map(Follow::reached);
            if read.is_some_and(|read| read < *seq) {
                index += 1;
                continue;
            }
            let answer = self.waiting.remove(index);
            self.write(answer.text).await?;
        }
        Ok(())
    }
}

fn store_closing(error: &StoreError) -> Closing {
    Closing { code: 1011, reason: openagents_core::text::prefix(&error.to_string(), 120).to_owned() }
}
