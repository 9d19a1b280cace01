//! A log made short: what it comes to, instead of how it came to it.
//!
//! Read twice, in pages, and never held as a whole. The first reading finds out which updates still matter: of a plan, a
//! title, a mode and an approval the last; of a call the last word on each thing that it shows. The second gives them out
//! where they first appeared, with consecutive text of one message joined. Whoever applies that, and then the updates
//! after it, ends where somebody ends who applied all of them.

mod fold;
mod folded;
mod index;
mod joining;
#[cfg(test)]
mod tests;

pub use fold::{Folding, StoredLog};
pub use folded::Folded;
