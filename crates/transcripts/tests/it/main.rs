//! Integration tests.

mod excluded;
mod formats;
mod history;
mod keep;
mod reported;
mod usage;
