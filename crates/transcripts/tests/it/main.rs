//! Integration tests.

mod excluded;
mod formats;
mod history;
mod reported;
mod usage;
