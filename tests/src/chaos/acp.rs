//! An ACP client that behaves like the page: it attaches from its last update and never loses what it has seen.

use super::{
    check::{Prompted, Row},
    folded::Folded,
    numbers::{self, Item, Kind},
    plan::{Act, Acts, Leaving},
    storm::{Phase, Totals, World},
    wire::Wire,
};
use anyhow::{Context as _, Result};
use fastrand::Rng;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};
use tokio::time::{Instant, sleep, sleep_until};

/// Behavior of a client.
#[derive(Debug, Clone, Copy, Default)]
pub struct Manner {
    /// It takes a snapshot if the gap is large, and keeps the folded state instead of every update.
    pub snapshots: bool,
    /// It finds approvals in the log; other clients get requests.
    pub reads_the_log: bool,
    /// It also keeps the folded state.
    pub folds: bool,
    /// See [`super::wire::Way::receive_buffer`].
    pub receive_buffer: Option<u32>,
}

/// A client's state of one session.
#[derive(Debug, Default)]
pub struct Following {
    /// The seq of its last update.
    pub last: u64,
    /// Every update, in order of arrival; empty with snapshots.
    pub rows: Vec<Row>,
    /// The folded state of the updates, if the client keeps it.
    pub folded: Folded,
    in_snapshot: bool,
    /// Fingerprints by seq, over all lives of the client.
    known: HashMap<u64, u64>,
}

#[derive(Debug)]
pub struct AcpClient {
    /// The name shown to users.
    pub name: String,
    manner: Manner,
    random: Rng,
    world: Arc<World>,
    pub sessions: BTreeMap<String, Following>,
    /// Numbers that it has ever seen.
    pub seen: HashSet<u64>,
    /// Problems found on the way.
    pub problems: Vec<String>,
    /// The amount of data received.
    pub totals: Totals,
    asked: HashMap<u64, Asked>,
    answers: Vec<(Instant, Value)>,
}

/// The purpose of a request.
#[derive(Debug)]
enum Asked {
    Attach(String),
    Prompt(String),
}

enum End {
    /// The client reconnects after this time.
    Again(Duration),
    Done,
}

impl AcpClient {
    /// Creates a client that has seen nothing yet.
    pub fn new(name: &str, manner: Manner, seed: u64, world: &Arc<World>) -> Self {
        let following = |id: &String| (id.clone(), Following::default());
        Self {
            name: name.to_owned(),
            manner,
            random: Rng::with_seed(seed),
            world: world.clone(),
            sessions: world.sessions.iter().map(following).collect(),
            seen: HashSet::new(),
            problems: Vec::new(),
            totals: Totals::default(),
            asked: HashMap::new(),
            answers: Vec::new(),
        }
    }

    /// Runs through the storm, then reads everything to the end.
    pub async fn run(mut self, acts: Acts) -> Self {
        let mut acts = acts.into_iter().collect();
        loop {
            match self.connection(&mut acts).await {
                End::Again(after) => sleep(after).await,
                End::Done => return self,
            }
        }
    }

    async fn connection(&mut self, acts: &mut std::collections::VecDeque<(Duration, Act)>) -> End {
        let mut phase = self.world.phase.clone();
        let was_last = phase.borrow_and_update().is_last();
        let soon = |random: &mut Rng| End::Again(Duration::from_millis(random.u64(20..250)));
        let Ok(mut wire) = self.enter().await else {
            return if self.world.is_over() { End::Done } else { soon(&mut self.random) };
        };
        self.totals.connections += 1;
        let end = loop {
            if was_last && (self.has_all() || self.world.is_over()) {
                wire.leave().await;
                return End::Done;
            }
            let far = Instant::now() + Duration::from_secs(1);
            let act_at = acts.front().map_or(far, |(at, _)| self.world.began + *at);
            let answer_at = self.answers.iter().map(|(at, _)| *at).min().unwrap_or(far);
            tokio::select! {
                frame = wire.next() => match frame {
                    Ok((text, frame)) => self.take(&text, &frame),
                    Err(_) => break soon(&mut self.random),
                },
                () = sleep_until(answer_at) => {
                    if self.answer(&mut wire).await.is_err() {
                        break soon(&mut self.random);
                    }
                }
                () = sleep_until(act_at), if !acts.is_empty() => {
                    match acts.pop_front().map(|(_, act)| act).filter(|_| self.world.is_stormy()) {
                        Some(Act::Stall(time)) => sleep(time).await,
                        Some(Act::Prompt { session, name }) => {
                            let sent = self.prompt(&mut wire, session, name).await;
                            if sent.is_err() {
                                break soon(&mut self.random);
                            }
                        }
                        Some(Act::Disconnect { how, away }) => {
                            leave(wire, how).await;
                            self.gone();
                            return End::Again(away);
                        }
                        Some(Act::Forget) => {
                            leave(wire, Leaving::Suddenly).await;
                            self.gone();
                            self.forget();
                            return End::Again(Duration::ZERO);
                        }
                        None => {}
                    }
                }
                // Every client reconnects once more when the storm is over.
                changed = phase.changed() => if changed.is_err() || phase.borrow().is_last() && !was_last {
                    leave(wire, Leaving::Suddenly).await;
                    break End::Again(Duration::ZERO);
                },
            }
        };
        self.gone();
        end
    }

    /// Connects and attaches to every session, from its last update.
    async fn enter(&mut self) -> Result<Wire> {
        let mut wire = Wire::connect(&self.world.way(self.manner.receive_buffer)).await?;
        let capabilities = json!({"_meta": {"openagents": {"approvals": self.manner.reads_the_log}}});
        let initialize = json!({"protocolVersion": 1, "clientInfo": {"name": self.name, "version": "1"},
            "clientCapabilities": capabilities});
        wire.request("initialize", initialize, |_, _| Ok(())).await?;
        for (id, following) in &self.sessions {
            let mut params = json!({"sessionId": id, "since": following.last});
            if !self.manner.snapshots {
                params["snapshot"] = false.into();
            }
            let asked = wire.ask("_openagents/attach", params).await?;
            self.asked.insert(asked, Asked::Attach(id.clone()));
        }
        Ok(wire)
    }

    fn take(&mut self, text: &str, frame: &Value) {
        self.totals.bytes += text.len() as u64;
        let params = &frame["params"];
        match frame["method"].as_str() {
            Some("session/update") => self.update(text, params),
            Some("_openagents/snapshot") => {
                if let Some(following) = params["sessionId"].as_str().and_then(|id| self.sessions.get_mut(id))
                {
                    following.in_snapshot = false;
                    following.last = params["seq"].as_u64().unwrap_or_default();
                }
            }
            Some("session/request_permission") => {
                let option = self.choice();
                let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
                self.later(json!({"jsonrpc": "2.0", "id": frame["id"], "result": outcome}));
            }
            Some(_) => {}
            None => self.response(frame),
        }
    }

    fn update(&mut self, text: &str, params: &Value) {
        let (update, ours) = (&params["update"], &params["_meta"]["openagents"]);
        let session = params["sessionId"].as_str().unwrap_or_default();
        let (Some(following), Some(seq)) = (self.sessions.get_mut(session), ours["seq"].as_u64()) else {
            self.problems.push(format!("{} was told: {}", self.name, numbers::head(text)));
            return;
        };
        self.totals.updates += 1;
        let items = numbers::items(update).unwrap_or_else(|problem| {
            self.problems.push(format!("{} in {session}: {problem}", self.name));
            Vec::new()
        });
        let reply = |item: &Item| if let Item::Said(_, number) = item { Some(*number) } else { None };
        self.seen.extend(items.iter().filter_map(reply));
        following.last = seq;
        if self.manner.snapshots || self.manner.folds {
            following.folded.apply(update);
        }
        let fingerprint = numbers::fingerprint(text);
        if ours["folded"] != true {
            let known = following.known.entry(seq).or_insert(fingerprint);
            if *known != fingerprint {
                self.problems.push(format!("{} knew update {seq} of {session} as another one", self.name));
            }
        }
        let asks = items.iter().any(|item| matches!(item, Item::Said(Kind::Ask, _)));
        if !self.manner.snapshots {
            following.rows.push(Row { seq, items, fingerprint });
        }
        if asks {
            let approval = update["_meta"]["openagents"]["approval"].clone();
            self.consider(session, &approval);
        }
    }

    fn response(&mut self, frame: &Value) {
        let Some(asked) = frame["id"].as_u64().and_then(|id| self.asked.remove(&id)) else { return };
        match asked {
            Asked::Attach(session) => {
                let result = &frame["result"];
                let snapshot = result.get("snapshot").is_some_and(|snapshot| !snapshot.is_null());
                if result.is_null() || snapshot && !self.manner.snapshots {
                    self.problems.push(format!(
                        "{} was answered: {}",
                        self.name,
                        numbers::head(&frame.to_string())
                    ));
                }
                if let Some(following) = self.sessions.get_mut(&session).filter(|_| snapshot) {
                    // The previous state is now obsolete.
                    (following.folded, following.in_snapshot) = (Folded::default(), true);
                    self.totals.snapshots += 1;
                }
                for approval in result["approvals"].as_array().into_iter().flatten() {
                    self.consider(&session, approval);
                }
            }
            Asked::Prompt(name) => match frame["error"]["message"].as_str() {
                None => self.world.learn(&name, Prompted::Taken),
                Some(message) if message.contains("already") => self.world.learn(&name, Prompted::Refused),
                // Whether the prompt is in the log is unknown.
                Some(_) => {}
            },
        }
    }

    /// Answers a question, with some probability.
    fn consider(&mut self, session: &str, approval: &Value) {
        // Questions read in the last phase are over; an answer would make the agent work again.
        let is_last = self.world.phase.borrow().is_last();
        if is_last || !self.manner.reads_the_log || self.random.u8(0..3) == 0 {
            return;
        }
        let option = self.choice();
        let params = json!({"sessionId": session, "approvalId": approval["id"], "optionId": option});
        // The response is ignored: another client may have been faster.
        let id = format!("answer {}", approval["id"]);
        self.later(
            json!({"jsonrpc": "2.0", "id": id, "method": "_openagents/approvals/answer", "params": params}),
        );
    }

    fn choice(&mut self) -> &'static str {
        if self.random.bool() { "allow" } else { "deny" }
    }

    fn later(&mut self, message: Value) {
        self.answers.push((Instant::now() + Duration::from_millis(self.random.u64(0..300)), message));
    }

    async fn answer(&mut self, wire: &mut Wire) -> Result<()> {
        let now = Instant::now();
        let (due, later) = std::mem::take(&mut self.answers).into_iter().partition(|(at, _)| *at <= now);
        self.answers = later;
        let due: Vec<(Instant, Value)> = due;
        for (_, message) in due {
            wire.send(message).await?;
        }
        Ok(())
    }

    async fn prompt(&mut self, wire: &mut Wire, session: usize, name: String) -> Result<()> {
        let session = self.world.sessions.get(session).context("no such session")?.clone();
        self.world.sends(&name, &session);
        let prompt = json!([{"type": "text", "text": numbers::prompt(&name)}]);
        let id = wire.ask("session/prompt", json!({"sessionId": session, "prompt": prompt})).await?;
        self.asked.insert(id, Asked::Prompt(name));
        Ok(())
    }

    /// Resets the state after a connection has ended: pending requests will not be answered.
    fn gone(&mut self) {
        self.asked.clear();
        self.answers.clear();
        for following in self.sessions.values_mut().filter(|following| following.in_snapshot) {
            (following.folded, following.last, following.in_snapshot) = (Folded::default(), 0, false);
        }
    }

    fn forget(&mut self) {
        for following in self.sessions.values_mut() {
            *following = Following { known: std::mem::take(&mut following.known), ..Following::default() };
        }
    }

    fn has_all(&self) -> bool {
        let has = |(id, head): (&String, &u64)| {
            self.sessions.get(id).is_some_and(|following| following.last >= *head && !following.in_snapshot)
        };
        self.asked.is_empty() && self.world.phase.borrow().heads().iter().all(has)
    }
}

pub(super) async fn leave(wire: Wire, how: Leaving) {
    match how {
        Leaving::Politely => wire.leave().await,
        Leaving::Suddenly => drop(wire),
        Leaving::Silently => wire.vanish(Duration::from_secs(6)),
    }
}

impl Phase {
    fn is_last(&self) -> bool {
        matches!(self, Self::Last(_))
    }
}
