//! The seven tools over a workspace and its history, one file each.

mod get_span;
mod grep;
mod list_dir;
mod session_analyze;
mod session_list;
mod session_read;
mod session_search;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod typed;

pub use grep::GrepOutput;
pub use session_analyze::SessionAnalyzeOutput;
pub use session_read::session_read;
pub use session_search::session_search;

use crate::tool::{Limits, Registry, Toolbox};
use openagents_transcripts::history::History;
use std::sync::Arc;

/// Returns the seven tools.
pub fn registry() -> Registry {
    Registry::default()
        .with(Arc::new(list_dir::list_dir()))
        .with(Arc::new(get_span::get_span()))
        .with(Arc::new(grep::grep()))
        .with(Arc::new(session_list::session_list()))
        .with(Arc::new(session_search()))
        .with(Arc::new(session_read()))
        .with(Arc::new(session_analyze::session_analyze()))
}

/// Returns the seven tools over `history` with the default limits.
pub fn toolbox(history: Arc<History>) -> Toolbox {
    Toolbox { history, limits: Limits::default(), registry: registry() }
}
