//! Keeping other agents' sessions: compressed copies of their logs, which agents delete after some time and rewrite.
//!
//! The agents' folders are only read; while a log may be deleted before it is captured, it has a hard link.

mod capture;
mod copies;
mod deletions;
mod keeper;
mod limit;
mod restore;
mod rows;
mod settings;
mod versions;

pub use copies::KeptCopies;
pub use deletions::DeletedSoon;
pub use keeper::{Keeper, KeeperStatus};
pub use limit::KeepState;
pub use openagents_keep::{KeepError, Sizes, Verified};
pub use restore::{RestoreError, Restored};
pub use settings::{KEEP_SETTINGS, KeepSettings, LEAST_LIMIT, WhenDeleted};
pub use versions::KeptVersion;
