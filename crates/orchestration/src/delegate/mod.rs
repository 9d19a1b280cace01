//! The tool `delegate.run`: hands a task to another agent, which works in a separate session.

mod arguments;
mod choice;
mod delegator;
mod tool;

pub use crate::delegate::tool::with_findings;
pub use delegator::{DelegateOrder, DelegateReport, Delegator};
pub use tool::Delegate;
