//! The seven tools over a workspace and its history, one file each.

mod get_span;
mod grep;
mod list_dir;
mod session_analyze;
mod session_list;
mod session_read;
mod session_search;
#[cfg(test)]
pub(crate) mod testing;

pub use get_span::{GetSpan, GetSpanOutput};
pub use grep::{Grep, GrepMatch, GrepOutput};
pub use list_dir::{ListDir, ListDirOutput};
pub use session_analyze::{Frequencies, SessionAnalyze, SessionAnalyzeOutput};
pub use session_list::{SessionList, SessionListOutput, SessionRow};
pub use session_read::{SessionEvent, SessionRead, SessionReadOutput};
pub use session_search::{SessionSearch, SessionSearchOutput};

use crate::{
    history::History,
    tool::{Limits, Registry, Toolbox},
};
use std::sync::Arc;

/// Returns the seven tools.
pub fn registry() -> Registry {
    Registry::default()
        .with(Arc::new(ListDir))
        .with(Arc::new(GetSpan))
        .with(Arc::new(Grep))
        .with(Arc::new(SessionList))
        .with(Arc::new(SessionSearch))
        .with(Arc::new(SessionRead))
        .with(Arc::new(SessionAnalyze))
}

/// Returns the seven tools over `history` with the default limits.
pub fn toolbox(history: Arc<History>) -> Toolbox {
    Toolbox { session: None, history, limits: Limits::default(), registry: registry() }
}
