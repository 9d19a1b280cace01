//! The connection to the session: follows it, reports its state and reconnects.

use crate::{bridge, output};
use anyhow::Context;
use backon::{BackoffBuilder, ExponentialBuilder};
use openagents_bridge::client::{Client, ClientError, Incoming};
use openagents_core::model::Activity;
use openagents_wire::{
    AttachParams, AttachResult, ClientMeta, QueuedPrompt, SessionsParams, UpdateMeta, methods,
};
use serde_json::Value;
use std::{net::SocketAddr, path::PathBuf, time::Duration};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until, timeout},
};

/// A bridge sends at least a ping every 20 s; it is considered gone after two missed pings.
const SILENCE: Duration = Duration::from_secs(50);

/// Timeout for an answer of a bridge on this machine.
const ANSWER: Duration = Duration::from_secs(10);

/// Pauses between attempts; they grow and are jittered.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Link {
    /// Number of updates still to come.
    CatchingUp(u64),
    Live,
    Offline {
        /// In milliseconds since the epoch.
        since: i64,
        /// Seconds until the next attempt; 0 means now.
        again_in: u64,
        why: String,
    },
}

impl Link {
    pub(super) fn describe(&self) -> String {
        match self {
            Self::CatchingUp(1) => "1 update behind".to_owned(),
            Self::CatchingUp(left) => format!("{left} updates behind"),
            Self::Live => "live".to_owned(),
            Self::Offline { since, again_in, why } => {
                let again = match again_in {
                    0 => "trying again now".to_owned(),
                    seconds => format!("trying again in {seconds} s"),
                };
                format!("offline since {} ({}); {again}", output::clock(*since), output::printable(why))
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Followed {
    pub(super) home: PathBuf,
    pub(super) session_id: String,
    pub(super) since: u64,
    /// A long session may be sent as a snapshot.
    pub(super) snapshot: bool,
}

#[derive(Debug)]
pub(super) enum LinkNews {
    Link(Link),
    /// Id of the connection, and the result of `_openagents/attach`.
    Attached(String, Box<AttachResult>),
    /// Params of a `session/update`, each once.
    Update(Value),
    /// What the model is doing.
    Activity(Option<Activity>),
    /// The prompts that wait for the running turn.
    Queue(Vec<QueuedPrompt>),
    Deleted,
    /// Reason why a request was refused.
    Refused(String),
}

/// The user's input.
#[derive(Debug)]
pub(super) enum Wish {
    /// Method and params of a request, which is lost while the link is down.
    Request(&'static str, Value),
    /// Reconnect now.
    Hurry,
}

enum End {
    /// The receiver was dropped.
    Done,
    /// The link broke after it was up.
    Broken(anyhow::Error),
}

/// Follows a session until the receiver is dropped. Fails if the bridge does not have the session.
pub(super) async fn follow(
    followed: Followed,
    news: mpsc::Sender<LinkNews>,
    mut wishes: mpsc::Receiver<Wish>,
) -> anyhow::Result<()> {
    let pauses = ExponentialBuilder::new()
        .with_jitter()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .without_max_times();
    let mut position = Position::after(followed.since);
    let mut shown = false;
    let mut offline_since = None;
    let mut next_pauses = pauses.build();
    loop {
        let broken = match connect(&followed, &position, shown).await {
            Ok((client, attached)) => {
                offline_since = None;
                next_pauses = pauses.build();
                let mut held = Held { client, news: &news };
                match held.follow(&mut position, &mut shown, attached, &mut wishes).await {
                    End::Done => return Ok(()),
                    End::Broken(error) => error,
                }
            }
            Err(error) if matches!(error.downcast_ref(), Some(ClientError::Refused(_))) => return Err(error),
            Err(error) => error,
        };
        let since = *offline_since.get_or_insert_with(output::now_ms);
        let pause = next_pauses.next().unwrap_or(LONGEST_PAUSE);
        let offline = |again_in| Link::Offline { since, again_in, why: broken.to_string() };
        if !wait(pause, offline, &news, &mut wishes).await {
            return Ok(());
        }
    }
}

/// Waits before the next attempt and reports every second; returns false once the receiver is dropped.
async fn wait(
    pause: Duration,
    offline: impl Fn(u64) -> Link,
    news: &mpsc::Sender<LinkNews>,
    wishes: &mut mpsc::Receiver<Wish>,
) -> bool {
    let until = Instant::now() + pause;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let again_in = left.as_millis().div_ceil(1_000) as u64;
        if news.send(LinkNews::Link(offline(again_in))).await.is_err() {
            return false;
        }
        if left.is_zero() {
            return true;
        }
        tokio::select! {
            () = sleep_until(until.min(Instant::now() + Duration::from_secs(1))) => {}
            wish = wishes.recv() => match wish {
                Some(Wish::Hurry) => return true,
                Some(Wish::Request(..)) => {
                    let refused = "offline; nothing was sent".to_owned();
                    if news.send(LinkNews::Refused(refused)).await.is_err() {
                        return false;
                    }
                }
                None => return false,
            },
        }
    }
}

/// Returns a connection and the bridge's description of the session.
async fn connect(
    followed: &Followed,
    position: &Position,
    shown: bool,
) -> anyhow::Result<(Client, AttachResult)> {
    // A restarted bridge may listen on another address.
    let address: SocketAddr = openagents_bridge::running(&followed.home).context("no bridge is running")?;
    // A snapshot cannot replace text on the screen, so later updates are requested one by one.
    let attach = AttachParams {
        session_id: followed.session_id.clone(),
        since: position.last(),
        snapshot: Some(followed.snapshot && !shown),
    };
    let attached = async {
        let meta = ClientMeta { approvals: true, ..ClientMeta::default() };
        let mut client = bridge::connect(address, &followed.home, meta).await?.dead_after(SILENCE);
        let attached = client.call::<methods::Attach>(attach).await?;
        anyhow::Ok((client, attached))
    };
    timeout(ANSWER, attached).await.context("the bridge does not answer")?
}

struct Held<'a> {
    client: Client,
    news: &'a mpsc::Sender<LinkNews>,
}

impl Held<'_> {
    async fn follow(
        &mut self,
        position: &mut Position,
        shown: &mut bool,
        attached: AttachResult,
        wishes: &mut mpsc::Receiver<Wish>,
    ) -> End {
        let head = attached.seq;
        position.attached(attached.snapshot.is_some());
        if !self.send(LinkNews::Attached(self.client.id().to_owned(), Box::new(attached))).await
            || !self.send(LinkNews::Link(link_state(head, position))).await
        {
            return End::Done;
        }
        loop {
            let message = tokio::select! {
                message = self.client.next() => message,
                wish = wishes.recv() => match wish {
                    None => return End::Done,
                    Some(Wish::Hurry) => continue,
                    Some(Wish::Request(method, params)) => match self.client.ask(method, &params).await {
                        Ok(_) => continue,
                        Err(error) => return End::Broken(error.into()),
                    },
                },
            };
            let message = match message {
                Ok(message) => message,
                Err(ClientError::Refused(reason)) => match self.send(LinkNews::Refused(reason)).await {
                    true => continue,
                    false => return End::Done,
                },
                Err(error) => return End::Broken(error.into()),
            };
            let is_listening = match message {
                Incoming::Notification(method, params) if method == "session/update" => {
                    match position.take(params) {
                        Taken::Nothing => true,
                        Taken::Gap => return End::Broken(anyhow::anyhow!("updates are missing")),
                        Taken::Show(params) => {
                            *shown = true;
                            let was_behind = position.last() <= head;
                            self.send(LinkNews::Update(params)).await
                                && (!was_behind || self.send_way(head, position).await)
                        }
                    }
                }
                // The session's log reports the effect of a request, so results are ignored.
                message => self.event(&message, head, position, shown).await,
            };
            if !is_listening {
                return End::Done;
            }
        }
    }

    /// Handles an `_openagents/` notification; returns false once the receiver is dropped.
    async fn event(&self, message: &Incoming, head: u64, position: &mut Position, shown: &mut bool) -> bool {
        if let Some(end) = message.event::<methods::SnapshotEnded>() {
            let folded = position.snapshot(end.seq);
            *shown |= !folded.is_empty();
            for update in folded {
                if !self.send(LinkNews::Update(update)).await {
                    return false;
                }
            }
            return self.send_way(head, position).await;
        }
        if let Some(doing) = message.event::<methods::ActivityChanged>() {
            return self.send(LinkNews::Activity(doing.activity)).await;
        }
        if let Some(queue) = message.event::<methods::QueueChanged>() {
            return self.send(LinkNews::Queue(queue.queued)).await;
        }
        match message.event::<methods::SessionsChanged>() {
            // This client follows one session and watches no list.
            Some(SessionsParams { removed, .. }) if !removed.is_empty() => self.send(LinkNews::Deleted).await,
            _ => true,
        }
    }

    /// Reports the number of remaining updates: every 100, and at the end.
    async fn send_way(&self, head: u64, position: &Position) -> bool {
        match link_state(head, position) {
            Link::CatchingUp(left) if left % 100 != 0 => true,
            link => self.send(LinkNews::Link(link)).await,
        }
    }

    async fn send(&self, news: LinkNews) -> bool {
        self.news.send(news).await.is_ok()
    }
}

fn link_state(head: u64, position: &Position) -> Link {
    match head.saturating_sub(position.last()) {
        0 => Link::Live,
        left => Link::CatchingUp(left),
    }
}

/// A client's position in a session: every update once and in order, across reconnects.
#[derive(Debug)]
pub(super) struct Position {
    last: u64,
    /// Updates of an unfinished snapshot; shown once it is complete.
    folded: Option<Vec<Value>>,
}

/// Action for a received update.
#[derive(Debug, PartialEq)]
pub(super) enum Taken {
    Show(Value),
    /// Already shown, or part of an unfinished snapshot.
    Nothing,
    /// Updates before it are missing: attach again.
    Gap,
}

impl Position {
    pub(super) fn after(last: u64) -> Self {
        Self { last, folded: None }
    }

    /// Number of the last update that was shown or covered by a shown snapshot.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Resets an unfinished snapshot: the new link sends it again.
    pub(super) fn attached(&mut self, by_snapshot: bool) {
        self.folded = by_snapshot.then(Vec::new);
    }

    /// Adds the params of a `session/update`.
    pub(super) fn take(&mut self, params: Value) -> Taken {
        let ours: UpdateMeta = openagents_wire::ours(params.get("_meta").and_then(Value::as_object));
        let Some(seq) = ours.seq else { return Taken::Show(params) };
        if ours.folded {
            if let Some(folded) = &mut self.folded {
                folded.push(params);
            }
            return Taken::Nothing;
        }
        match seq.checked_sub(self.last) {
            None | Some(0) => Taken::Nothing,
            Some(1) => {
                self.last = seq;
                Taken::Show(params)
            }
            Some(_) => Taken::Gap,
        }
    }

    /// Ends a snapshot that covers everything up to `seq`; returns its updates.
    pub(super) fn snapshot(&mut self, seq: u64) -> Vec<Value> {
        self.last = self.last.max(seq);
        self.folded.take().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn update(seq: u64) -> Value {
        json!({"_meta": {"openagents": {"seq": seq}}})
    }

    fn folded(seq: u64) -> Value {
        json!({"_meta": {"openagents": {"seq": seq, "folded": true}}})
    }

    #[test]
    fn position_takes_each_update_once() {
        let mut position = Position::after(2);
        position.attached(false);
        let rows = [(1, false), (2, false), (3, true), (3, false), (4, true), (2, false), (5, true)];
        for (seq, shown) in rows {
            let expected = if shown { Taken::Show(update(seq)) } else { Taken::Nothing };
            assert_eq!(position.take(update(seq)), expected, "{seq}");
        }
        assert_eq!(position.take(update(7)), Taken::Gap);
        assert_eq!((position.last(), position.take(update(6))), (5, Taken::Show(update(6))));
        let unnumbered = json!({"update": "said because the log cannot be written"});
        assert_eq!(position.take(unnumbered.clone()), Taken::Show(unnumbered));
    }

    #[test]
    fn interrupted_snapshot_is_shown_once() {
        let mut position = Position::after(0);
        position.attached(true);
        assert_eq!(position.take(folded(90)), Taken::Nothing);
        assert_eq!(position.last(), 0, "the next link begins before the snapshot");
        position.attached(true);
        for seq in [90, 95, 100] {
            position.take(folded(seq));
        }
        assert_eq!(position.snapshot(100), [folded(90), folded(95), folded(100)]);
        assert_eq!(position.take(update(100)), Taken::Nothing);
        assert_eq!(position.take(update(101)), Taken::Show(update(101)));
    }
}
