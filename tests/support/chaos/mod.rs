//! A bridge under a storm: clients that come and go, that stop reading, and a process that is killed. What the agent
//! said is in a ledger of its own; the checker holds what every client was shown against it.
//!
//! `plan` says what happens when, from a seed. `bridge` is the process. `acp` and `ios` are the clients, `numbers` finds
//! in what they were shown the numbers that the agent has put there, `check` compares.

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
