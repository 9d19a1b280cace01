//! Tests of a real bridge with all kinds of clients. A single binary, because each binary would link the bridge again.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod acp;
mod agents;
mod approvals;
mod attach;
mod attacks;
mod card;
mod delegate;
mod devices;
mod endpoints;
mod faults;
mod garbage;
mod history;
mod ios;
mod ios_ask;
mod kill;
mod lan;
mod models;
mod options;
mod own_sessions;
mod prompts;
mod queue;
mod remote;
mod share;
mod support;
mod traces;
mod trust;
mod unasked;
