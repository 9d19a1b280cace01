//! The seven tools of an exploration, one file each.

mod get_span;
mod grep;
mod list_dir;
mod session_analyze;
mod session_list;
mod session_read;
mod session_search;
#[cfg(test)]
pub(crate) mod testing;

pub use get_span::GetSpan;
pub use grep::Grep;
pub use list_dir::ListDir;
pub use session_analyze::SessionAnalyze;
pub use session_list::SessionList;
pub use session_read::SessionRead;
pub use session_search::SessionSearch;

use crate::tool::Tool;
use std::sync::Arc;

pub(crate) fn all() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ListDir),
        Arc::new(GetSpan),
        Arc::new(Grep),
        Arc::new(SessionList),
        Arc::new(SessionSearch),
        Arc::new(SessionRead),
        Arc::new(SessionAnalyze),
    ]
}
