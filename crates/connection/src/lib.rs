//! One connection of a client: its transport, frames read in order, the outbox that sends updates, and its limits.
//!
//! Inbound: [`serve`] reads frames in order and passes them to the handler of a dialect. Outbound: a turn appends updates
//! to the log, the session publishes them once they are on disk, and each connection's [`outbox`] sends them from its own
//! position.
//!
//! # Layers
//!
//! See `tests/layers`, which checks this table.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 1 | `fault` | errors at the boundary |
//! | 1 | `headers` | lists in HTTP headers |
//! | 1 | `limits` | limits shared by several modules |
//! | 2 | `rpc` | JSON-RPC frames |
//! | 3 | `feed` | snapshots that are sent when they change |
//! | 4 | `pass` | the credentials of a connection |
//! | 5 | `admission` | limits on the connections of an address and of a device |
//! | 5 | `mailbox` | queues of posted frames, and close codes |
//! | 6 | `event_stream` | the streams of a connection over HTTP |
//! | 6 | `inspect` | the inspector: recent frames |
//! | 7 | `socket` | WebSockets, and connections over HTTP |
//! | 8 | `outbox` | the sending half |
//! | 9 | `serve` | one connection, independent of dialect and transport |

pub mod admission;
pub mod event_stream;
pub mod fault;
pub mod feed;
pub mod headers;
pub mod inspect;
pub mod limits;
pub mod mailbox;
pub mod outbox;
pub mod pass;
pub mod rpc;
pub mod serve;
pub mod socket;
