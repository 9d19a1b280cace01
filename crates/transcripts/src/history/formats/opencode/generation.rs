//! The places of sessions.

/// Where a session is; the last one has its newest state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Generation {
    Tree,
    Tables,
    /// The tables of 2.x.
    Tables2,
}
