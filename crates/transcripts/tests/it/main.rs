//! Integration tests.

#[cfg(unix)]
mod excluded;
mod formats;
mod history;
mod reported;
