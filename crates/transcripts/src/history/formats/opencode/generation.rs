//! The generations of opencode's storage.

/// Where a session is stored; if it is in several places, the last one has its newest state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Generation {
    Tree,
    Tables,
    /// The tables of 2.x.
    Tables2,
}
