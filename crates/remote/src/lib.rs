//! Who may use a bridge, and over which network: devices and pairing, tokens, certificates, names and addresses.
//!
//! # Layers
//!
//! See `tests/layers`, which checks this table.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 1 | `prefix` | ranges of addresses |
//! | 1 | `token` | tokens, and the proof of a bridge |
//! | 2 | `settings` | the settings in the data folder |
//! | 2 | `tls` | certificates: our authority, the leaf, the profile for phones |
//! | 3 | `network` | switches, addresses, names and mDNS |
//! | 4 | `devices` | devices, pairing, access requests, audit; their tables |

pub mod devices;
pub mod network;
pub mod prefix;
pub mod settings;
pub mod tls;
pub mod token;
