//! Runs the sending half: orders in their order, then whatever the followed sessions, feeds and lists have to send.

use super::{
    dialect::Dialect, follow::PAGE, liveness::Liveness, orders::Order, orders::Orders, orders::Out,
    pump::End, pump::PING_EVERY, pump::Pump, pump::Remains, pump::Sender, pump::Waiting,
};
use crate::{
    base::{feed::Watch, rpc, scope::Scope},
    connection::closing::Closing,
};
use openagents_sessions::{ListWatch, Wake};
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::tungstenite::Message;

/// Readers of a session that are woken for every update. With more readers, each waits longer between two passes, up
/// to [`LONGEST_PAUSE`], and then sends everything at once.
const READERS: u32 = 16;
/// Added to the pause by each reader beyond [`READERS`].
const PAUSE: Duration = Duration::from_micros(60);
const LONGEST_PAUSE: Duration = Duration::from_millis(15);

impl<D: Dialect> Sender<D> {
    /// Sends until the connection ends.
    pub(crate) async fn run(self, mut orders: Orders) -> Remains {
        let mut pump = Pump {
            sender: self,
            wake: Wake::default(),
            follows: Vec::new(),
            waiting: Vec::new(),
            inspected: None,
            watches: Vec::new(),
            list: None,
            next_ping: Instant::now() + PING_EVERY,
            liveness: Liveness::default(),
            looked: Instant::now(),
            unflushed: false,
        };
        let closing = match pump.run(&mut orders).await {
            Ok(never) => match never {},
            Err(end) => end,
        };
        Remains { sink: pump.sender.sink, closing }
    }
}

impl<D: Dialect> Pump<D> {
    /// Runs until the connection ends. Every branch of the `select!` is cancel-safe.
    async fn run(&mut self, orders: &mut Orders) -> Result<Infallible, End> {
        let (closing, hangup) = (self.sender.closing.clone(), self.sender.hangup.clone());
        loop {
            while let Some(order) = orders.try_recv() {
                self.handle(order).await?;
            }
            if hangup.is_cancelled() {
                return Err(None);
            }
            if Instant::now() >= self.next_ping {
                self.ping().await?;
            }
            let progress = self.pump().await?;
            self.flush().await?;
            if progress {
                continue;
            }
            if closing.is_cancelled() {
                return Err(Some(Closing::going_away()));
            }
            let list = self.list.as_ref().and_then(ListWatch::due);
            let due = self.watches.iter().filter_map(Watch::due).chain(list).min();
            let next = due.map_or(self.next_ping, |due| due.min(self.next_ping));
            let order = tokio::select! {
                order = orders.recv() => order,
                () = self.wake.notified() => {
                    self.pause().await;
                    None
                }
                () = sleep_until(next) => None,
                () = closing.cancelled() => None,
                () = hangup.cancelled() => None,
            };
            if let Some(order) = order {
                self.handle(order).await?;
            }
        }
    }

    /// Batches updates when a session has many readers.
    async fn pause(&self) {
        let readers = self.follows.iter().map(|follow| follow.session.readers()).max().unwrap_or_default();
        let pause = PAUSE.saturating_mul(readers.saturating_sub(READERS)).min(LONGEST_PAUSE);
        sleep_until(self.looked + pause).await;
    }

    async fn handle(&mut self, Order { out, room }: Order) -> Result<(), End> {
        match out {
            Out::Text(text) => self.write(text).await,
            Out::Unrecorded(text) => self.send(text.into()).await,
            Out::Follow { session, from, queue, answer } => {
                self.follow(session, from, queue).await?;
                match answer {
                    Some(text) => self.write(text).await,
                    None => Ok(()),
                }
            }
            Out::Join { session, since } => self.join(session, since).await,
            Out::After { session, seq, text } => {
                self.waiting.push(Waiting { session, seq, text, _room: room });
                self.answer().await
            }
            Out::Inspect { since } => {
                self.sender.inspector.watch(&self.wake);
                self.inspected = Some(since);
                Ok(())
            }
            Out::Watch(feed, told) => {
                self.watches.retain(|watch| !watch.is_of(&feed));
                self.watches.push(Watch::begin(feed, told, &self.wake));
                Ok(())
            }
            Out::WatchList(list, answer) => {
                list.wake(&self.wake);
                self.list = Some(list);
                self.write(answer).await
            }
            Out::Leave(session) => {
                self.follows.retain(|follow| !Arc::ptr_eq(&follow.session, &session));
                Ok(())
            }
            Out::Ping => {
                self.pass(Message::Ping(Default::default())).await?;
                self.flush().await
            }
            Out::Close(closing) => Err(Some(closing)),
        }
    }

    /// Sends at most one page of each session. Returns whether there was anything.
    async fn pump(&mut self) -> Result<bool, End> {
        self.looked = Instant::now();
        let mut progress = false;
        for index in 0..self.follows.len() {
            progress |= self.advance(index).await?;
        }
        self.end_deleted().await?;
        self.answer().await?;
        if let Some(news) = self.list.as_mut().and_then(ListWatch::news)
            && let Some(text) = self.sender.dialect.sessions(&news)
        {
            self.write(text).await?;
        }
        // The client's scope may have changed.
        let scope = self.sender.dialect.scope();
        self.watches.retain(|watch| watch.needed() <= scope);
        for index in 0..self.watches.len() {
            if let Some(text) = self.watches.get_mut(index).and_then(Watch::news) {
                self.write(text).await?;
            }
        }
        Ok(progress | self.show_frames().await?)
    }

    async fn show_frames(&mut self) -> Result<bool, End> {
        if self.sender.dialect.scope() < Scope::Admin {
            self.inspected = None;
        }
        let Some(since) = self.inspected else { return Ok(false) };
        let frames = self.sender.inspector.after(since, PAGE);
        for frame in &frames {
            let text = rpc::notification("_openagents/frame", &frame.to_wire());
            self.send(text.into()).await?;
            self.inspected = Some(frame.number());
        }
        Ok(!frames.is_empty())
    }
}
