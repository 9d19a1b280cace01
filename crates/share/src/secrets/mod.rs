//! Keys, tokens and passwords in text.

mod find;
mod hide;
#[cfg(test)]
mod planted_tests;
mod rules;

pub(crate) use hide::each_string;
pub use hide::{FoundSecret, HiddenSecrets, SecretSearch, hidden, hide_in_json};
