//! Folding a log: its current state instead of its history.
//!
//! The log is read twice, in pages, and never held as a whole. The first pass finds the updates that still matter: the
//! last one for a plan, title, mode or approval, and the last one per field for a call. The second emits them where
//! they first appeared, with consecutive text of one message joined. Applying the folded log and the updates after it
//! gives the same state as applying all updates.

mod fold;
mod folded;
mod index;
mod joining;
#[cfg(test)]
mod tests;

pub use fold::{Folding, StoredLog};
pub use folded::Folded;
