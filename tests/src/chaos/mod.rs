//! A bridge under a storm: clients that come and go, clients that stop reading, and a process that is killed. The
//! agent records everything it sends in a separate ledger; the checker compares the updates of every client with it.
//!
//! `plan` derives the schedule of events from a seed. `bridge` is the process. `acp` and `ios` are the clients,
//! `numbers` extracts the agent's numbers from what they were shown, and `check` compares.

pub mod acp;
pub mod bridge;
pub mod check;
pub mod folded;
pub mod ios;
pub mod ledger;
pub mod numbers;
pub mod plan;
pub mod spoil;
pub mod storm;
pub mod wire;
