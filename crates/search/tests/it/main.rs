//! Integration tests.

mod find;
mod overview;
mod recall;
