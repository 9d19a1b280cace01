//! The seven tools of an exploration, one file each.

mod session_analyze;
mod session_list;
mod session_read;
mod session_search;

use crate::tool::Tool;
use std::sync::Arc;

pub(crate) fn all() -> Vec<Arc<dyn Tool>> {
    vec![]
}
