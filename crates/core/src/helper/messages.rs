//! Messages between a client and its helper program.

use crate::model::ModelError;
use futures::executor::block_on;
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::mpsc::Receiver;
use tokio_util::sync::CancellationToken;

/// The version of both sides: they are built and shipped together.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A command for a helper program.
pub trait HelperCommand: Serialize {
    /// Creates the command that cancels another one.
    fn cancel(id: u64) -> Self;
}

/// A report of a helper program.
pub trait HelperReport: DeserializeOwned + Send + 'static {
    /// Returns the version of the program if this is its first report.
    fn version(&self) -> Option<&str>;

    /// Returns the id of the command; `None` if the program could not read it.
    fn id(&self) -> Option<u64>;

    /// Returns whether this is the last report of its command.
    fn ends_command(&self) -> bool;

    /// Creates the report of a command that failed.
    fn failed(id: u64, error: ModelError) -> Self;
}

/// Waits for the next report of a command, or [`ModelError::Cancelled`]; `None` if there are no more. Blocks.
pub fn next_report<R>(
    reports: &mut Receiver<R>,
    cancel: &CancellationToken,
) -> Result<Option<R>, ModelError> {
    block_on(cancel.run_until_cancelled(reports.recv())).ok_or(ModelError::Cancelled)
}
