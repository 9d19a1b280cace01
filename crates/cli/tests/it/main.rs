//! Integration tests.

mod agent;
mod models;
