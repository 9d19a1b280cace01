//! The sending half of a connection: answers in order, and the updates of followed sessions.
//!
//! Sessions do not push. The outbox keeps a position in each log and reads at the socket's pace. No update queue can
//! overflow, so a slow client costs no memory and need not be disconnected, and no update is lost, duplicated or
//! reordered. Catching up and live updates use the same path: the session holds the last updates in memory, the store
//! holds all of them. Only a client that reads nothing at all is disconnected.

pub mod dialect;
mod following;
pub mod pump;
