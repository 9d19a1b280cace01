//! The limits and intervals of this crate, with their units and reasons.

use std::time::Duration;

/// Maximum number of concurrent answers. More than one, because a tool called by an answer may need an answer itself.
pub(crate) const ANSWERS: usize = 16;

/// Maximum number of calls with invalid arguments per answer, after which the model is stopped.
pub(crate) const WRONG_CALLS: usize = 4;

/// Tokens reserved for a result if there is no room: enough for a note. The allowance for
/// the framework's own tokens has some to spare.
pub(crate) const SHORTEST_RESULT: usize = 16;

pub(crate) const CANCEL_CHECK: Duration = Duration::from_millis(20);
