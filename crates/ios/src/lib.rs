//! The endpoint of the OpenAgents iOS app: JSON-RPC "0.2.2" in snake_case, without a token. Off by default; each app
//! has to be approved.
//!
//! The app has shipped and cannot be changed, so any odd behaviour here is required by the app.
//!
//! # Layers
//!
//! See `tests/layers`, which checks this table.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 1 | `from_wire` | the calls of the app, parsed |
//! | 2 | `to_wire` | updates and answers as the app reads them |
//! | 3 | `projection` | what the app sees of a log |
//! | 4 | `phone` | what is known of one connected app: its sessions and position |
//! | 4 | `threads` | lists and timelines |
//! | 5 | `resume` | positions of broken connections |
//! | 6 | `services` | the parts of a bridge that the endpoint uses |
//! | 7 | `methods` | runs calls |
//! | 7 | `pending` | connections that wait for approval |
//! | 8 | `connection` | one connection, from access check to close |

pub mod connection;
mod from_wire;
mod methods;
mod pending;
mod phone;
mod projection;
mod resume;
pub mod services;
mod threads;
mod to_wire;

#[cfg(test)]
mod tests;

/// Parses a call of the app. Must never panic; see the fuzz target `ios_frame`.
#[doc(hidden)]
pub fn parse_call(
    method: &str,
    params: &serde_json::Value,
) -> Result<(), openagents_connection::fault::Fault> {
    from_wire::parse_call(method, params).map(drop)
}
