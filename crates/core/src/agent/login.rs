//! Logging in to an agent, with its own program in a terminal.

use serde::{Deserialize, Serialize};
use std::time::Duration;
use ts_rs::TS;

/// The size of the terminal, in characters. Wide, because programs break addresses at the last column.
pub const LOGIN_COLUMNS: u16 = 100;
pub const LOGIN_ROWS: u16 = 30;

/// A program in a terminal with which the user logs in.
pub trait LoginTerminal: Send + Sync + std::fmt::Debug {
    /// Waits for a screen newer than `since`, for at most `wait`, and returns the current one. Blocks.
    fn screen(&self, since: u64, wait: Duration) -> LoginScreen;

    /// Types text; keys are control characters and escape sequences, as a terminal sends them. Ignored after the end.
    /// Never blocks; an error is a clause.
    fn type_text(&self, text: &str) -> Result<(), String>;

    /// Ends the program. Does nothing after its end.
    fn stop(&self);
}

/// What a terminal shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LoginScreen {
    /// Grows with each change.
    pub version: u64,
    /// The rows from the top, without spaces at their end.
    pub lines: Vec<String>,
    /// Row and column of the cursor, from 0; absent if hidden.
    pub cursor: Option<[u16; 2]>,
    /// The web addresses on the screen, in order, also those that wrap.
    pub links: Vec<String>,
    /// How the program ended, in words; absent while it runs.
    pub ended: Option<String>,
    /// Whether it ended without an error.
    pub succeeded: bool,
}
