//! Integration tests.

mod find;
mod moved;
mod overview;
mod recall;
