//! [`Local`] over an engine that does what a test says, real files and a real server.

mod answers;
mod files;
mod stage;
mod upsets;
