//! All sessions: finding, creating, listing and watching them, and the workspaces that they may work in.

mod listing;
mod loading;
mod sessions;
mod workspaces;

pub use sessions::SessionRegistry;
pub use workspaces::Recent;
