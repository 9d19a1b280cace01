//! All sessions: finding, creating, listing and watching them, and their workspaces.

mod listing;
mod loading;
mod sessions;
mod workspaces;

pub use sessions::SessionRegistry;
pub use workspaces::Recent;
