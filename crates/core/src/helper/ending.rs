//! Exit reasons of helper programs.

use super::limits::LOG_LINES;
use std::{collections::VecDeque, process::ExitStatus};

/// The last lines of a helper's log.
#[derive(Debug, Default)]
pub(super) struct Log(VecDeque<String>);

impl Log {
    /// Adds a line; only the last lines are kept.
    pub(super) fn push(&mut self, line: &str) {
        if self.0.len() == LOG_LINES {
            self.0.pop_front();
        }
        self.0.push_back(line.to_owned());
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the most significant line: the last error, assertion or panic, otherwise the last line.
    fn telling(&self) -> Option<&str> {
        let tells =
            |line: &&String| ["ERROR", "ASSERT", "panicked", "error:"].iter().any(|word| line.contains(word));
        self.0.iter().rev().find(tells).or(self.0.back()).map(|line| line.trim())
    }
}

/// Describes how a process ended and its last message: `signal 6 (SIGABRT): GGML_ASSERT(…) failed`.
pub(super) fn describe(status: Option<ExitStatus>, log: &Log) -> String {
    let how = match status {
        None => "it did not answer and was ended".to_owned(),
        Some(status) => exit(status),
    };
    match log.telling() {
        Some(line) => format!("{how}: {line}"),
        None => how,
    }
}

fn exit(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return match signal_name(signal) {
            // Not sent by us: when memory runs out, the system kills the largest process.
            Some(name) if signal == libc::SIGKILL => {
                format!("signal {signal} ({name}), perhaps because memory ran out")
            }
            Some(name) => format!("signal {signal} ({name})"),
            None => format!("signal {signal}"),
        };
    }
    status.code().map_or_else(|| "it ended".to_owned(), |code| format!("exit code {code}"))
}

/// Returns the name of a common signal: `SIGKILL`.
#[cfg(unix)]
pub fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGHUP => "SIGHUP",
        libc::SIGILL => "SIGILL",
        libc::SIGINT => "SIGINT",
        libc::SIGKILL => "SIGKILL",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGTERM => "SIGTERM",
        libc::SIGTRAP => "SIGTRAP",
        _ => return None,
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_crash_says_its_signal_and_the_line_that_tells_most() {
        let mut log = Log::default();
        let aborted = Some(ExitStatus::from_raw(6));
        assert_eq!(describe(aborted, &log), "signal 6 (SIGABRT)");
        log.push(" INFO loaded");
        assert_eq!(describe(Some(ExitStatus::from_raw(0x100)), &log), "exit code 1: INFO loaded");
        let killed = Some(ExitStatus::from_raw(9));
        assert!(describe(killed, &log).contains("(SIGKILL), perhaps because memory ran out: "));
        log.push("GGML_ASSERT(n <= n_batch) failed");
        (0..LOG_LINES - 1).for_each(|_| log.push("frame"));
        assert_eq!(describe(aborted, &log), "signal 6 (SIGABRT): GGML_ASSERT(n <= n_batch) failed");
        log.push("frame");
        assert_eq!(describe(aborted, &log), "signal 6 (SIGABRT): frame");
    }
}
