//! The storm itself: its participants, the bridge's kills, and every client's state when it is over.

use super::{
    acp::{AcpClient, Manner},
    bridge::BusyBridge,
    check::{self, Prompted, Prompts, Shown, Verdict},
    folded::Folded,
    ios::Phone,
    ledger::Ledger,
    numbers::Item,
    plan::{Plan, SHARED},
    spoil::Spoiler,
    wire::{Way, Wire},
};
use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};

/// Maximum time for a client to catch up; longer means a hang.
const HANGS: Duration = Duration::from_secs(240);

/// Time within which earlier requests have reached the bridge: no client stops reading for this long, and no socket
/// left open for this long is read again.
const SILENT: Duration = Duration::from_secs(7);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// All actions take place.
    Storm,
    /// No new prompts are sent.
    Calm,
    /// No new updates are sent: every client reconnects and reads up to these updates.
    Last(Arc<BTreeMap<String, u64>>),
}

impl Phase {
    pub(super) fn heads(&self) -> Arc<BTreeMap<String, u64>> {
        match self {
            Self::Storm | Self::Calm => Arc::default(),
            Self::Last(heads) => heads.clone(),
        }
    }
}

/// State that all clients share.
#[derive(Debug)]
pub struct World {
    pub began: Instant,
    pub port: u16,
    /// The file with the token of the ACP endpoint, read again for every connection.
    pub token_file: PathBuf,
    /// Session ids by index: first the shared ones, then those of the phones.
    pub sessions: Vec<String>,
    pub phase: watch::Receiver<Phase>,
    prompts: Mutex<Prompts>,
    /// Set when clients should stop waiting.
    over: watch::Receiver<bool>,
}

impl World {
    pub(super) fn way(&self, receive_buffer: Option<u32>) -> Way {
        Way {
            port: self.port,
            token: read_token(&self.token_file),
            from: Ipv4Addr::LOCALHOST,
            receive_buffer,
        }
    }

    /// Returns whether planned actions still take place.
    pub(super) fn is_stormy(&self) -> bool {
        *self.phase.borrow() == Phase::Storm
    }

    pub(super) fn is_over(&self) -> bool {
        *self.over.borrow()
    }

    /// Records that a prompt is about to be sent.
    pub(super) fn sends(&self, name: &str, session: &str) {
        self.prompts().insert(name.to_owned(), (session.to_owned(), Prompted::Sent));
    }

    /// Records the bridge's response to a prompt.
    pub(super) fn learn(&self, name: &str, state: Prompted) {
        if let Some((_, known)) = self.prompts().get_mut(name) {
            *known = state;
        }
    }

    fn prompts(&self) -> MutexGuard<'_, Prompts> {
        self.prompts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Amounts of data received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub updates: u64,
    pub bytes: u64,
    pub connections: u64,
    /// Snapshots received instead of updates.
    pub snapshots: u64,
}

impl Totals {
    fn add(&mut self, other: &Self) {
        self.updates += other.updates;
        self.bytes += other.bytes;
        self.connections += other.connections;
        self.snapshots += other.snapshots;
    }
}

/// The state of all participants when the storm is over.
#[derive(Debug)]
pub struct Aftermath {
    pub bridge: BusyBridge,
    /// Everything the agent sent.
    pub ledger: Ledger,
    /// The prompts that were sent.
    pub prompts: Prompts,
    /// The updates that clients received.
    pub shown: Vec<Shown>,
    /// The folded states of clients that keep no updates, by name and session.
    pub folded: Vec<(String, String, Folded)>,
    pub phones: Vec<Phone>,
    /// Numbers that any client has seen.
    pub seen: HashSet<u64>,
    /// Problems found on the way.
    pub problems: Vec<String>,
    /// Amounts of data received by all clients.
    pub totals: Totals,
    /// Number of times the bridge was killed.
    pub kills: usize,
    world: Arc<World>,
}

/// Executes a plan in a separate folder. `spoil` may damage the database before any update is sent.
pub async fn storm(
    plan: &Plan,
    seed: u64,
    folder: &Path,
    spoil: impl FnOnce(&Spoiler) -> Result<()>,
) -> Result<Aftermath> {
    let mut bridge = BusyBridge::start(folder)?;
    let mut sessions = Vec::new();
    for _ in 0..SHARED {
        sessions.push(begin_session(&bridge).await?);
    }
    let mut phones = Vec::new();
    for (index, _) in (0..).zip(&plan.ios) {
        let phone = Phone::begin(index, bridge.port, seed ^ u64::from(index) << 8).await?;
        sessions.push(phone.session.clone());
        phones.push(phone);
    }
    spoil(&Spoiler::new(&bridge)?)?;
    let (tell, phase) = watch::channel(Phase::Storm);
    let (give_up, over) = watch::channel(false);
    let world = Arc::new(World {
        began: Instant::now(),
        port: bridge.port,
        token_file: bridge.token_file.clone(),
        sessions,
        phase,
        prompts: Mutex::default(),
        over,
    });
    let clients = (0..).zip(&plan.acp).map(|(index, acts)| {
        let client = AcpClient::new(&format!("acp{index}"), manner(index), seed ^ index, &world);
        tokio::spawn(client.run(acts.clone()))
    });
    let clients: Vec<_> = clients.collect();
    let phones = phones.into_iter().zip(&plan.ios);
    let phones: Vec<_> =
        phones.map(|(phone, acts)| tokio::spawn(phone.run(world.clone(), acts.clone()))).collect();
    for (at, down) in &plan.kills {
        sleep_until(world.began + *at).await;
        bridge.kill()?;
        sleep(*down).await;
        bridge.restart()?;
    }
    sleep_until(world.began + plan.length).await;
    tell.send(Phase::Calm)?;
    let heads = rest(&world, SILENT).await?;
    tell.send(Phase::Last(Arc::new(heads)))?;
    let limit = tokio::spawn(async move {
        sleep(HANGS).await;
        // All clients have finished by then, unless something is wrong.
        let _ = give_up.send(true);
    });
    let mut aftermath = Aftermath {
        ledger: Ledger::default(),
        prompts: Prompts::new(),
        shown: Vec::new(),
        folded: Vec::new(),
        phones: Vec::new(),
        seen: HashSet::new(),
        problems: Vec::new(),
        totals: Totals::default(),
        kills: plan.kills.len(),
        world: world.clone(),
        bridge,
    };
    for client in clients {
        aftermath.take(client.await?);
    }
    for phone in phones {
        let phone = phone.await?;
        aftermath.totals.add(&phone.totals);
        let number = |item: &Item| if let Item::Said(_, number) = item { Some(*number) } else { None };
        aftermath.seen.extend(phone.live.items.iter().filter_map(number));
        aftermath.phones.push(phone);
    }
    limit.abort();
    aftermath.prompts = world.prompts().clone();
    aftermath.ledger = aftermath.bridge.ledger()?;
    Ok(aftermath)
}

/// Returns a different behavior for each client.
fn manner(index: u64) -> Manner {
    Manner {
        snapshots: index % 4 == 3,
        reads_the_log: index % 3 != 1,
        folds: false,
        // The minimum that the system allows.
        receive_buffer: index.is_multiple_of(2).then_some(2 << 10),
    }
}

/// Reads the token for a connection attempt. Without one the attempt is refused, and the next one reads it again.
fn read_token(file: &Path) -> Option<String> {
    Some(std::fs::read_to_string(file).unwrap_or_default().trim().to_owned())
}

async fn begin_session(bridge: &BusyBridge) -> Result<String> {
    let token = read_token(&bridge.token_file);
    let way = Way { port: bridge.port, token, from: Ipv4Addr::LOCALHOST, receive_buffer: None };
    let mut wire = Wire::connect(&way).await?;
    let initialize = json!({"protocolVersion": 1, "clientCapabilities": {}});
    wire.request("initialize", initialize, |_, _| Ok(())).await?;
    let new = json!({"cwd": bridge.workspace(), "mcpServers": []});
    let made = wire.request("session/new", new, |_, _| Ok(())).await?;
    let id = made["sessionId"].as_str().context("sessionId")?.to_owned();
    let mode = json!({"sessionId": id, "modeId": "codex"});
    wire.request("session/set_mode", mode, |_, _| Ok(())).await?;
    Ok(id)
}

/// Waits until no updates have been sent for `quiet`, and returns the last update of each session.
async fn rest(world: &World, quiet: Duration) -> Result<BTreeMap<String, u64>> {
    let mut wire = Wire::connect(&world.way(None)).await?;
    let initialize = json!({"protocolVersion": 1, "clientCapabilities": {}});
    wire.request("initialize", initialize, |_, _| Ok(())).await?;
    let (until, mut before, mut changed) = (Instant::now() + HANGS, BTreeMap::new(), Instant::now());
    loop {
        let (mut heads, mut rests) = (BTreeMap::new(), true);
        for session in &world.sessions {
            let attach = json!({"sessionId": session, "since": u64::from(u32::MAX), "snapshot": false});
            let result = wire.request("_openagents/attach", attach, |_, _| Ok(())).await?;
            let seq = result["seq"].as_u64().context("seq")?;
            heads.insert(session.clone(), seq);
            rests &= result["running"] == false;
        }
        if !rests || heads != before {
            changed = Instant::now();
        } else if changed.elapsed() >= quiet {
            return Ok(heads);
        }
        ensure!(Instant::now() < until, "the sessions do not come to rest: {heads:?}");
        before = heads;
        sleep(Duration::from_millis(300)).await;
    }
}

impl Aftermath {
    /// Lets a new client read everything from the beginning.
    pub async fn read_anew(&self, name: &str) -> Result<AcpClient> {
        let heads = rest(&self.world, Duration::ZERO).await?;
        let (tell, phase) = watch::channel(Phase::Last(Arc::new(heads)));
        let (give_up, over) = watch::channel(false);
        let world = Arc::new(World {
            began: Instant::now(),
            port: self.world.port,
            token_file: self.world.token_file.clone(),
            sessions: self.world.sessions.clone(),
            phase,
            prompts: Mutex::default(),
            over,
        });
        let manner = Manner { folds: true, reads_the_log: true, ..Manner::default() };
        let client = AcpClient::new(name, manner, 0, &world);
        let reading = tokio::spawn(client.run(Vec::new()));
        let limit = tokio::spawn(async move {
            sleep(HANGS).await;
            let _ = give_up.send(true);
        });
        let client = reading.await?;
        limit.abort();
        drop(tell);
        Ok(client)
    }

    /// Adds a client's results.
    pub fn take(&mut self, client: AcpClient) {
        self.totals.add(&client.totals);
        self.seen.extend(client.seen);
        self.problems.extend(client.problems);
        for (session, following) in client.sessions {
            match following.rows.is_empty() {
                true => self.folded.push((client.name.clone(), session, following.folded)),
                false => {
                    let (who, rows) = (client.name.clone(), following.rows);
                    self.shown.push(Shown { who, session, rows });
                }
            }
        }
    }

    /// Compares everything with the ledger, and with the log as a new client reads it.
    pub async fn verdict(&mut self) -> Result<Verdict> {
        let reader = self.read_anew("reader").await?;
        let truth: BTreeMap<_, _> = reader
            .sessions
            .iter()
            .map(|(id, following)| (id.clone(), (following.rows.clone(), following.folded.clone())))
            .collect();
        self.take(reader);
        let mut verdict = check::check(&self.ledger, &self.prompts, &self.shown, &self.seen);
        self.problems.iter().for_each(|problem| verdict.problem(problem.clone()));
        for (who, session, held) in &self.folded {
            let Some((_, folded)) = truth.get(session) else { continue };
            match (folded.items(), held.items()) {
                (Ok(expected), Ok(got)) => {
                    verdict.compare_counted(&format!("{who}, folded, in {session}"), &expected, &got);
                }
                (one, other) => {
                    verdict.problem(format!("{who} in {session}: {:?}", one.err().or(other.err())))
                }
            }
            if let Some(difference) = held.difference(folded) {
                verdict.problem(format!("{who} holds something else of {session}: {difference}"));
            }
        }
        for phone in &mut self.phones {
            if let Some((rows, _)) = truth.get(&phone.session) {
                phone.check(&mut verdict, rows);
            }
        }
        Ok(verdict)
    }
}

impl fmt::Display for Aftermath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Totals { updates, bytes, connections, snapshots } = self.totals;
        write!(
            formatter,
            "{} said in {} sessions; {updates} updates in {:.1} MB over {connections} connections, {snapshots} snapshots; {} prompts, {} questions; {} kills",
            self.ledger.len(),
            self.world.sessions.len(),
            bytes as f64 / 1e6,
            self.prompts.len(),
            self.ledger.heard.len(),
            self.kills,
        )
    }
}
