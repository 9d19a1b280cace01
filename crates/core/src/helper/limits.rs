//! Limits of helper programs, shared by all clients.

use std::time::Duration;

/// Log lines kept for a crash message: a panic with its backtrace.
pub(super) const LOG_LINES: usize = 40;

/// Maximum bytes of a log line; longer ones are split.
pub(super) const LOG_LINE: u64 = 4096;

/// Time to exit after the input was closed; then the program is killed.
pub(super) const EXIT: Duration = Duration::from_secs(1);

/// Interval of checks for a cancel: too short for a user to notice.
pub(super) const CANCEL_CHECK: Duration = Duration::from_millis(20);

/// Interval of checks whether the program has exited.
pub(super) const EXIT_CHECK: Duration = Duration::from_millis(2);

/// Limits that depend on the helper program.
#[derive(Debug, Clone, Copy)]
pub struct HelperLimits {
    /// Maximum bytes of a line.
    pub line_bytes: usize,
    /// Reports of one command buffered by the client before the program has to wait.
    pub queued_reports: usize,
    /// Time until the first report.
    pub hello: Duration,
    /// Time to react to a cancel before the program is killed; `None` to never kill it for that.
    pub cancel: Option<Duration>,
}
