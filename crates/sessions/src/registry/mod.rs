//! All sessions: finding, creating, listing and watching them, and their workspaces.

mod loading;
mod sessions;
mod workspaces;

pub use sessions::SessionRegistry;
