//! The output of an agent as updates of our session, independent of the program.
//!
//! Text is joined, each call is announced once and always closed, and output after the
//! end of its turn is marked as late.

mod call;
mod calls;
mod newest;
mod notes;
mod subagents;
mod terminals;
mod timeline;

pub(crate) use crate::output::call::{diff, one_line, text};
pub(crate) use call::{CallNews, CallStatus, Shown, TerminalNews};
pub(crate) use newest::Newest;
pub(crate) use notes::{Change, NoteNews};
pub(crate) use subagents::{Direction, SubagentNews, SubagentState, Subagents};
pub(crate) use timeline::{Role, Timeline};
