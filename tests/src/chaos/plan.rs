//! The schedule of the storm, derived from the seed.

use fastrand::Rng;
use std::time::Duration;

/// A client's action at some moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Ends its connection and reconnects later.
    Disconnect {
        /// How the connection ends.
        how: Leaving,
        /// How long the client stays away.
        away: Duration,
    },
    /// Stops reading for a while.
    Stall(Duration),
    /// Sends a prompt in a session.
    Prompt {
        /// Index of the session, from 0; a phone has only its own.
        session: usize,
        /// Unique name of the prompt.
        name: String,
    },
    /// Reconnects like a reloaded page, without any previous state.
    Forget,
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// With a close frame.
    Politely,
    /// The socket is closed.
    Suddenly,
    /// The socket stays open, and is no longer read.
    Silently,
}

/// A client's actions, in order.
pub type Acts = Vec<(Duration, Act)>;

/// The whole storm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub length: Duration,
    /// Actions by ACP client.
    pub acp: Vec<Acts>,
    /// Actions by phone.
    pub ios: Vec<Acts>,
    /// When the bridge is killed, and how long it stays down.
    pub kills: Vec<(Duration, Duration)>,
}

/// Number of sessions that all clients share, in addition to one for each phone.
pub const SHARED: usize = 2;

impl Plan {
    pub fn new(seed: u64, length: Duration, clients: usize, phones: usize) -> Self {
        let mut random = Rng::with_seed(seed);
        let sessions = SHARED + phones;
        let acp = (0..clients).map(|index| acts(&mut random, length, &format!("acp{index}"), sessions, 5.0));
        let acp = acp.collect();
        let ios = (0..phones).map(|index| acts(&mut random, length, &format!("ios{index}"), 1, 4.0));
        let ios = ios.collect();
        let mut kills = Vec::new();
        let mut at = Duration::from_secs_f64(3.0 + random.f64() * 4.0);
        while at + Duration::from_secs(3) < length {
            kills.push((at, Duration::from_millis(random.u64(0..800))));
            at += Duration::from_secs_f64(4.0 + random.f64() * 6.0);
        }
        Self { length, acp, ios, kills }
    }
}

fn acts(random: &mut Rng, length: Duration, name: &str, sessions: usize, prompt_every: f64) -> Acts {
    let mut acts = Acts::new();
    let mut times = |random: &mut Rng, mean: f64, act: &mut dyn FnMut(&mut Rng) -> Act| {
        let mut at = random.f64() * mean;
        while at < length.as_secs_f64() {
            acts.push((Duration::from_secs_f64(at), act(random)));
            at += mean * (0.2 + 1.6 * random.f64());
        }
    };
    let mut asked = 0;
    times(random, prompt_every, &mut |random| {
        asked += 1;
        // The first session gets the most prompts.
        let session = if random.bool() { 0 } else { random.usize(0..sessions) };
        Act::Prompt { session, name: format!("{name}-{asked}") }
    });
    times(random, 4.0, &mut |random| Act::Disconnect {
        how: *random
            .choice(&[Leaving::Politely, Leaving::Suddenly, Leaving::Suddenly, Leaving::Silently])
            .unwrap_or(&Leaving::Suddenly),
        away: Duration::from_millis(if random.u8(0..5) == 0 {
            random.u64(2000..6000)
        } else {
            random.u64(0..400)
        }),
    });
    times(random, 9.0, &mut |random| Act::Stall(Duration::from_millis(random.u64(300..4000))));
    times(random, 15.0, &mut |_| Act::Forget);
    acts.sort_by_key(|(at, _)| *at);
    acts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_determines_the_plan() {
        let plan = |seed| Plan::new(seed, Duration::from_secs(60), 8, 4);
        assert_eq!(plan(1), plan(1));
        assert_ne!(plan(1), plan(2));
        let Plan { acp, ios, kills, .. } = plan(1);
        assert_eq!((acp.len(), ios.len()), (8, 4));
        assert!((5..=14).contains(&kills.len()), "{kills:?}");
        for acts in acp.iter().chain(&ios) {
            assert!(acts.iter().any(|(_, act)| matches!(act, Act::Stall(_))));
            assert!(acts.iter().any(|(_, act)| matches!(act, Act::Disconnect { .. })));
            assert!(acts.is_sorted_by_key(|(at, _)| *at));
        }
    }
}
