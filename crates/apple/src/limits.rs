//! The limits and intervals of this crate, with their units and reasons.

use openagents_core::helper::HelperLimits;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Maximum bytes of a line between client and helper. The model reads about 16 kB of a conversation.
pub const MAX_LINE: usize = 8 << 20;

pub(crate) const HELPER: HelperLimits = HelperLimits {
    line_bytes: MAX_LINE,
    // An answer that is not being read must not hold up the others.
    queued_reports: Semaphore::MAX_PERMITS,
    hello: Duration::from_secs(20),
    // The helper confirms a cancel at once, and other answers may be running.
    cancel: None,
};

/// Interval for rechecking a model that was unavailable: it may have been switched on.
pub(crate) const RECHECK: Duration = Duration::from_secs(10);
/// Interval of checks for a cancel while another thread starts the helper.
pub(crate) const CANCEL_CHECK: Duration = Duration::from_millis(20);
/// Maximum number of answers waiting for a tool's result; the oldest is dropped, as it may never be continued.
pub(crate) const WAITING: usize = 8;

/// Context size of the framework's model in tokens, including the answer.
pub const CONTEXT: u32 = 4096;
/// Default and maximum tokens of an answer.
pub const ANSWER: u32 = 1024;
/// Tokens added by the framework between the messages.
pub(crate) const FRAME: usize = 64;
/// Overhead in tokens per message and per tool.
pub(crate) const MESSAGE: usize = 8;
pub(crate) const TOOL: usize = 16;
/// Divisors of the room next to the answer: the maximum shares of the instructions and of the
/// tools. A prompt may use the rest.
pub(crate) const INSTRUCTIONS_SHARE: usize = 5;
pub(crate) const TOOLS_SHARE: usize = 2;
/// Tokens reserved for tool results, if there are tools.
pub(crate) const RESULTS: usize = 400;
/// Tokens kept of a result when there is no room left.
pub(crate) const SHORT_RESULT: usize = 120;

/// Maximum nesting of a tool's schema; a tool for a small model doesn't need more.
pub(crate) const SCHEMA_DEPTH: usize = 12;
/// Maximum number of schemas in a tool's schema. More would not fit into the context anyway.
pub(crate) const SCHEMA_NODES: usize = 256;
pub(crate) const KEY_CHARS: usize = 64;
/// Maximum nesting of a framework schema; real ones are far shallower.
pub(crate) const FRAMEWORK_DEPTH: usize = 64;
/// Maximum bytes of a schema shown to the model behind the proxy; longer ones are summarized.
pub(crate) const SHOWN_SCHEMA: usize = 800;
/// Maximum bytes of a violation reported to the model.
pub(crate) const VIOLATION_BYTES: usize = 200;
pub(crate) const VIOLATIONS: usize = 3;
