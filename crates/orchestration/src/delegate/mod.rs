//! The tool `delegate.run`: hands a task to another agent, which works in a separate session.

mod arguments;
mod brief;
mod delegator;
mod provider;
mod tool;

pub use brief::with_findings;
pub use delegator::{DelegateOrder, DelegateReport, Delegator};
pub use tool::Delegate;
