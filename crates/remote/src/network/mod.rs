//! The network as the user sees it: switches, state, names and announcements.

pub mod addresses;
pub mod links;
pub mod mdns;
pub mod state;
pub mod switches;
