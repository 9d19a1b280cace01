//! The network as the user sees it: switches, state, names and announcements.

pub(crate) mod addresses;
pub(crate) mod links;
pub(crate) mod mdns;
pub(crate) mod state;
pub(crate) mod switches;
