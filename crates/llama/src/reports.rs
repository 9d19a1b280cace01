//! Waits for the next report of a command, or for its cancel.

use crate::protocol::Report;
use openagents_core::CancellationToken;
use tokio::sync::mpsc;

/// The result of a wait.
#[derive(Debug)]
pub enum Next {
    /// A report.
    Report(Report),
    /// The command was cancelled.
    Cancelled,
    /// No more reports: the process that ran the command has exited.
    Gone,
}

/// Waits for the next report. Blocks this thread.
pub fn next_report(reports: &mut mpsc::Receiver<Report>, cancel: &CancellationToken) -> Next {
    futures::executor::block_on(async {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Next::Cancelled,
            report = reports.recv() => report.map_or(Next::Gone, Next::Report),
        }
    })
}
