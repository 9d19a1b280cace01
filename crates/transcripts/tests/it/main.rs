//! Integration tests.

mod excluded;
mod formats;
mod history;
mod keep;
mod prompts;
mod reported;
mod usage;
