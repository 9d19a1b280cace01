//! The OpenAgents iOS app: when it reconnects, it sends only `initialize` and continues with the session that it
//! named last.

use super::{
    acp::leave,
    check::{Prompted, Row, Verdict},
    numbers::{self, Item, Kind},
    plan::{Act, Acts},
    storm::{Phase, Totals, World},
    wire::{Way, Wire},
};
use anyhow::{Context as _, Result};
use fastrand::Rng;
use serde_json::{Value, json};
use std::{
    collections::{HashSet, VecDeque},
    net::Ipv4Addr,
    sync::Arc,
    time::Duration,
};
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// Silence after which no more updates are expected.
const QUIET: Duration = Duration::from_secs(2);

/// The updates of a session that a phone was shown.
#[derive(Debug, Default)]
pub struct Glimpses {
    /// In order of arrival.
    pub items: Vec<Item>,
    /// The plans among them, by their numbers.
    pub plans: Vec<u64>,
    pub problems: Vec<String>,
    /// An unfinished piece: the phone is shown paragraphs.
    open: Option<(Kind, String)>,
    /// The connection is new: the rest of a piece may arrive without its beginning.
    fresh: bool,
}

impl Glimpses {
    /// Starts another connection.
    pub fn reconnect(&mut self) {
        self.give_up();
        self.fresh = true;
    }

    /// Handles an update, in the format of this endpoint.
    pub fn push(&mut self, update: &Value) {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let reply = update["content"]["content"]["text"].as_str().unwrap_or_default();
        let voice = match kind {
            "agent_message_chunk" if !is_note(reply) => Some(Kind::Text),
            "agent_thought_chunk" => Some(Kind::Thought),
            _ => None,
        };
        if self.open.as_ref().is_some_and(|(open, _)| Some(*open) != voice) {
            self.problems.push(format!("a piece was not over: {:?}", self.open));
            self.give_up();
        }
        let news = &update["tool_call_update"];
        match (kind, voice) {
            (_, Some(voice)) => self.push_text(voice, reply),
            ("agent_message_chunk", None) if reply.starts_with(WAITING) => {
                self.items.push(Item::Words(WAITING.to_owned()));
            }
            ("agent_message_chunk", None) => self.items.push(Item::Words(reply.to_owned())),
            ("user_message_chunk", _) => {
                self.items.push(Item::Prompt(numbers::prompt_name(reply).unwrap_or(reply).to_owned()));
            }
            ("tool_call", _) => {
                match update["tool_call"]["call_id"].as_str().and_then(numbers::call_number) {
                    Some(number) => self.items.push(Item::Said(Kind::Call, number)),
                    None => self.problem(update),
                }
            }
            ("tool_call_update", _) if news["status"] == "started" => {}
            ("tool_call_update", _) => {
                let call = news["call_id"].as_str().and_then(numbers::call_number);
                let error = news["error"].as_str().and_then(|text| numbers::numbers(text).ok());
                let number =
                    news["output"]["number"].as_u64().or(error.and_then(|found| found.first().copied()));
                match (number, call) {
                    (Some(number), _) => self.items.push(Item::Said(Kind::End, number)),
                    (None, Some(call)) => self.items.push(Item::Closed(call)),
                    (None, None) => self.problem(update),
                }
            }
            ("plan", _) => {
                let goal = update["plan"]["_meta"]["goals"][0].as_str();
                match goal.and_then(|goal| numbers::numbers(goal).ok()).as_deref() {
                    Some([number]) => self.plans.push(*number),
                    _ => self.problem(update),
                }
            }
            ("current_mode_update", _) => {}
            _ => self.problem(update),
        }
        self.fresh = false;
    }

    /// Reads text: pieces, each of which may arrive in several paragraphs.
    fn push_text(&mut self, voice: Kind, reply: &str) {
        let (open, close) = numbers::brackets();
        let mut rest = reply;
        if let Some((_, begun)) = self.open.take() {
            if rest.starts_with(open) {
                self.broken(voice, &begun);
            } else if let Some((end, after)) = rest.split_once(close) {
                self.piece(voice, &format!("{begun} {end}"));
                rest = after;
            } else {
                self.open = Some((voice, format!("{begun} {rest}")));
                return;
            }
        } else if !rest.starts_with(open) {
            if !self.fresh {
                self.problems.push(format!("a piece without a beginning: {}", numbers::head(reply)));
            }
            // The rest of a piece whose beginning an earlier connection may have shown.
            rest = rest.split_once(close).map_or("", |(_, after)| after);
        }
        while let Some(begun) = rest.trim_start().strip_prefix(open) {
            match begun.split_once(close) {
                Some((inside, after)) => {
                    self.piece(voice, inside);
                    rest = after;
                }
                None => {
                    self.open = Some((voice, begun.to_owned()));
                    return;
                }
            }
        }
        if !rest.trim().is_empty() {
            self.problems.push(format!("between pieces: {}", numbers::head(rest)));
        }
    }

    fn piece(&mut self, voice: Kind, inside: &str) {
        match numbers::number_of(inside) {
            Some(number) => self.items.push(Item::Said(voice, number)),
            None => self.problems.push(format!("a piece is broken: {}", numbers::head(inside))),
        }
    }

    /// Handles a piece that ended with its connection: its beginning was still shown.
    fn give_up(&mut self) {
        if let Some((voice, begun)) = self.open.take() {
            self.broken(voice, &begun);
        }
    }

    fn broken(&mut self, voice: Kind, begun: &str) {
        match numbers::begins_with(begun) {
            Some(number) => self.items.push(Item::Said(voice, number)),
            None => self.problems.push(format!("a piece is broken: {}", numbers::head(begun))),
        }
    }

    fn problem(&mut self, update: &Value) {
        self.problems.push(format!("an update of nobody: {}", numbers::head(&update.to_string())));
    }
}

const WAITING: &str = "Waiting for approval on ";

fn is_note(text: &str) -> bool {
    numbers::is_of_the_bridge(text) || text.starts_with(WAITING)
}

/// Returns the items of a log that a phone is shown if it sees all of it.
pub fn shown_to_phones(rows: &[Row]) -> Vec<Item> {
    let shown = |item: &Item| match item {
        Item::Said(Kind::Text | Kind::Thought | Kind::Call | Kind::End, _)
        | Item::Prompt(_)
        | Item::Closed(_) => Some(item.clone()),
        Item::Said(Kind::Ask, _) => Some(Item::Words(WAITING.to_owned())),
        Item::Words(text) => Some(item.clone()).filter(|_| !text.is_empty()),
        Item::Said(Kind::News | Kind::Plan, _) | Item::Outcome(..) | Item::Other => None,
    };
    rows.iter().flat_map(|row| &row.items).filter_map(shown).collect()
}

#[derive(Debug)]
pub struct Phone {
    name: String,
    address: Ipv4Addr,
    random: Rng,
    pub session: String,
    own: HashSet<String>,
    /// Prompts sent on the current connection.
    sent: HashSet<String>,
    echoed: Vec<String>,
    /// The updates that it was shown live.
    pub live: Glimpses,
    /// The history that it gets at the end.
    pub timeline: Option<Value>,
    /// The amount of data received.
    pub totals: Totals,
}

enum End {
    Again(Duration),
    Done,
}

impl Phone {
    /// Starts a phone with a separate address, which creates a session.
    pub async fn begin(index: u8, port: u16, seed: u64) -> Result<Self> {
        let mut phone = Self {
            name: format!("ios{index}"),
            address: Ipv4Addr::new(127, 0, 0, 2 + index),
            random: Rng::with_seed(seed),
            session: String::new(),
            own: HashSet::new(),
            sent: HashSet::new(),
            echoed: Vec::new(),
            live: Glimpses::default(),
            timeline: None,
            totals: Totals::default(),
        };
        let mut wire = phone.enter(port).await?;
        let made = wire.request("session/new", json!({}), |_, _| Ok(())).await?;
        phone.session = made["session_id"].as_str().context("session_id")?.to_owned();
        let mode = json!({"session_id": phone.session, "mode_id": "codex"});
        wire.request("session/set_mode", mode, |_, _| Ok(())).await?;
        Ok(phone)
    }

    /// Runs through the storm, then requests the history of its session.
    pub async fn run(mut self, world: Arc<World>, acts: Acts) -> Self {
        let mut acts: VecDeque<_> = acts.into_iter().collect();
        loop {
            match self.connection(&world, &mut acts).await {
                End::Again(after) => sleep(after).await,
                End::Done => return self,
            }
        }
    }

    async fn connection(&mut self, world: &World, acts: &mut VecDeque<(Duration, Act)>) -> End {
        let mut phase = world.phase.clone();
        let was_last = matches!(*phase.borrow_and_update(), Phase::Last(_));
        let soon = |random: &mut Rng| End::Again(Duration::from_millis(random.u64(30..400)));
        let Ok(mut wire) = self.enter(world.port).await else {
            return if world.is_over() { End::Done } else { soon(&mut self.random) };
        };
        self.totals.connections += 1;
        self.live.reconnect();
        self.sent.clear();
        loop {
            if was_last {
                return match self.finish(&mut wire).await {
                    Ok(()) => End::Done,
                    Err(_) if world.is_over() => End::Done,
                    Err(_) => soon(&mut self.random),
                };
            }
            let far = Instant::now() + Duration::from_secs(1);
            let act_at = acts.front().map_or(far, |(at, _)| world.began + *at);
            tokio::select! {
                frame = wire.next() => match frame {
                    Ok((text, frame)) => self.take(world, &text, &frame),
                    Err(_) => return soon(&mut self.random),
                },
                () = sleep_until(act_at), if !acts.is_empty() => {
                    match acts.pop_front().map(|(_, act)| act).filter(|_| world.is_stormy()) {
                        Some(Act::Stall(time)) => sleep(time).await,
                        Some(Act::Prompt { name, .. }) => {
                            if self.prompt(world, &mut wire, &name).await.is_err() {
                                return soon(&mut self.random);
                            }
                        }
                        Some(Act::Disconnect { how, away }) => {
                            leave(wire, how).await;
                            return End::Again(away);
                        }
                        // A phone keeps no state that it could forget.
                        Some(Act::Forget) | None => {}
                    }
                }
                changed = phase.changed() => {
                    if changed.is_err() || matches!(*phase.borrow(), Phase::Last(_)) {
                        return End::Again(Duration::ZERO);
                    }
                }
            }
        }
    }

    async fn enter(&mut self, port: u16) -> Result<Wire> {
        let way = Way { port, token: None, from: self.address, receive_buffer: Some(4 << 10) };
        let mut wire = Wire::connect(&way).await?;
        let capabilities =
            json!({"fs": {"read_text_file": false, "write_text_file": false}, "terminal": false});
        let initialize = json!({"protocol_version": "0.2.2", "client_capabilities": capabilities,
            "client_info": {"name": "openagents-ios", "title": "OpenAgents iOS", "version": "0.1.0"}});
        let mut early = Vec::new();
        let take = |text: &str, _: &Value| {
            early.push(numbers::head(text));
            Ok(())
        };
        wire.request("initialize", initialize, take).await?;
        self.live.problems.extend(early.into_iter().map(|text| format!("before initialize came {text}")));
        Ok(wire)
    }

    fn take(&mut self, world: &World, text: &str, frame: &Value) {
        self.totals.bytes += text.len() as u64;
        let params = &frame["params"];
        if frame["method"] == "session/update" && params["session_id"] == self.session.as_str() {
            self.totals.updates += 1;
            self.live.push(&params["update"]);
            if let Some(Item::Prompt(name)) = self.live.items.last()
                && self.sent.contains(name)
            {
                self.echoed.push(name.clone());
            }
        } else if let Some(name) = frame["id"].as_str().and_then(|id| id.strip_prefix("session-prompt-")) {
            match frame["error"]["message"].as_str() {
                None => world.learn(name, Prompted::Taken),
                Some(message) if message.contains("already") => world.learn(name, Prompted::Refused),
                Some(_) => {}
            }
        } else if frame.get("method").is_some() {
            self.live.problems.push(format!("{} was told {}", self.name, numbers::head(text)));
        }
    }

    /// Sends a prompt. The latest version of the app sets its mode before every prompt, without waiting for responses.
    async fn prompt(&mut self, world: &World, wire: &mut Wire, name: &str) -> Result<()> {
        world.sends(name, &self.session);
        self.own.insert(name.to_owned());
        self.sent.insert(name.to_owned());
        let mode = json!({"session_id": self.session, "mode_id": "codex"});
        wire.ask("session/set_mode", mode).await?;
        let prompt = json!([{"type": "text", "text": numbers::prompt(name)}]);
        let params = json!({"session_id": self.session, "prompt": prompt});
        let id = format!("session-prompt-{name}");
        wire.send(json!({"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": params})).await
    }

    /// Reads the remaining updates, and then the history.
    async fn finish(&mut self, wire: &mut Wire) -> Result<()> {
        while let Ok(frame) = timeout(QUIET, wire.next()).await {
            let (text, frame) = frame?;
            self.totals.bytes += text.len() as u64;
            if frame["method"] == "session/update" {
                self.totals.updates += 1;
                self.live.push(&frame["params"]["update"]);
            }
        }
        let params = json!({"session_id": self.session});
        let timeline = wire.request("tinyvex/history.sessionTimeline", params, |_, _| Ok(())).await?;
        self.totals.bytes += wire.bytes;
        self.timeline = Some(timeline);
        Ok(())
    }

    /// Compares everything it was shown with the log of its session.
    pub fn check(&mut self, verdict: &mut Verdict, rows: &[Row]) {
        self.live.reconnect();
        let who = &self.name;
        for problem in &self.live.problems {
            verdict.problem(format!("{who}: {problem}"));
        }
        let log = shown_to_phones(rows);
        // The bridge's own messages, and its own prompts to an agent, have no unique name.
        let is_unique = |item: &Item| match item {
            Item::Words(_) => false,
            Item::Prompt(name) => self.own.contains(name) || name.contains('-'),
            _ => true,
        };
        // The phone may have missed updates while it was disconnected, but nothing arrives twice or out of order.
        let live: Vec<Item> = self.live.items.iter().filter(|item| is_unique(item)).cloned().collect();
        let seen: HashSet<&Item> = live.iter().collect();
        let expected: Vec<Item> = log.iter().filter(|item| seen.contains(item)).cloned().collect();
        verdict.compare(&format!("{who}, live,"), &expected, &live);
        for name in &self.echoed {
            verdict.problem(format!("{who} was shown its own prompt {name} on the connection that sent it"));
        }
        let Some(timeline) = self.timeline.as_ref().and_then(Value::as_array) else {
            verdict.problem(format!("{who} has no history: {:?}", self.timeline));
            return;
        };
        let mut history = Glimpses { fresh: true, ..Glimpses::default() };
        timeline.iter().for_each(|row| history.push(&row["update"]));
        for problem in &history.problems {
            verdict.problem(format!("the history of {who}: {problem}"));
        }
        // The app gets as much of the end as fits into a frame.
        let bytes: usize = timeline.iter().map(|row| row.to_string().len()).sum();
        let is_cut = rows.len() > 4096 || bytes > 700_000;
        let from = if is_cut { log.len().saturating_sub(history.items.len()) } else { 0 };
        verdict.compare_counted(&format!("the history of {who}"), &log[from..], &history.items);
        let last_plan = rows.iter().flat_map(|row| &row.items).rev();
        let last_plan = last_plan.into_iter().find_map(|item| match item {
            Item::Said(Kind::Plan, number) => Some(*number),
            _ => None,
        });
        if !is_cut && history.plans != last_plan.into_iter().collect::<Vec<_>>() {
            verdict.problem(format!(
                "the history of {who} has plans {:?}, the last is {last_plan:?}",
                history.plans
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(text: &str) -> Value {
        json!({"sessionUpdate": "agent_message_chunk", "content": {"content": {"text": text}}})
    }

    fn number_with_paragraphs() -> u64 {
        (0..).find(|number| numbers::text(*number).contains("\n\n")).unwrap()
    }

    #[test]
    fn paragraphs_of_a_piece_are_joined() {
        let number = number_with_paragraphs();
        let whole = numbers::text(number);
        let (first, rest) = whole.split_once("\n\n").unwrap();
        let reply = Item::Said(Kind::Text, number);
        let mut live = Glimpses::default();
        live.push(&chunk(first));
        live.push(&chunk(&(rest.to_owned() + &numbers::text(2))));
        assert_eq!(live.items, [reply.clone(), Item::Said(Kind::Text, 2)]);
        assert_eq!(live.problems, Vec::<String>::new());
        // Shown once before the connection broke and once after it, so it counts twice.
        let mut live = Glimpses::default();
        live.push(&chunk(first));
        live.reconnect();
        live.push(&chunk(&whole));
        assert_eq!(live.items, [reply.clone(), reply]);
        // The rest of a piece that was not shown in full is not a new piece.
        let mut live = Glimpses::default();
        live.reconnect();
        live.push(&chunk(rest));
        live.push(&chunk(&numbers::text(2)));
        assert_eq!((live.items, live.problems), (vec![Item::Said(Kind::Text, 2)], vec![]));
    }

    #[test]
    fn cut_piece_is_reported() {
        let mut live = Glimpses::default();
        live.push(&chunk(numbers::text(1).trim_end_matches('⟧')));
        live.push(&json!({"sessionUpdate": "tool_call", "tool_call": {"call_id": "call-4"}}));
        assert_eq!(live.problems.len(), 1);
        assert_eq!(live.items, [Item::Said(Kind::Text, 1), Item::Said(Kind::Call, 4)]);
    }
}
