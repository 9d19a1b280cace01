//! Git's files, read without running git.

mod index;
mod worktree;

pub use index::may_track;
pub use worktree::{WorktreeScope, in_other_worktrees, last_commit_or_checkout, real, top_of};
