//! Tests of [`Local`] with a scripted engine, real files and a real server.

mod answers;
mod files;
mod stage;
mod upsets;
