//! Integration tests.

mod find;
mod recall;
