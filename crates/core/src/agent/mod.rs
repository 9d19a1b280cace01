//! Agents that the user can choose: the trait [`AgentProvider`], its requests and events, the conversation so far, and
//! the settings of all agents.

mod agents;
mod brief;
mod coalescer;
mod conversation;
mod login;
mod provider;
mod tools;

pub use crate::agent::provider::{
    AgentEvent, CANCELLED, CUT_OFF, PromptOutcome, end_call, end_turn, say_last,
};
pub use agents::{
    AGENT_SETTINGS, AgentCard, AgentCommand, AgentPackage, AgentSettings, AgentSettingsChange, Agents,
    AgentsError, AgentsSnapshot, CustomAgent, CustomKind, InstallProgress, PackageList, PackageOffer,
    ShellProblem, UnaskedAgent, WorkspaceAgent, WorkspaceTools,
};
pub use brief::{Speaker, brief, conversation_excerpt, excerpt};
pub use coalescer::{Coalescer, Piece, TextRole};
pub use conversation::{Conversation, EARLIER_RESULT_CHARS, is_from_model};
pub use login::{LOGIN_COLUMNS, LOGIN_ROWS, LoginScreen, LoginTerminal};
pub use provider::{
    AccessLimits, AgentHost, AgentProvider, AgentRequest, EarlierKind, EarlierSession, ImageBytes,
    OwnSession, SteerRequest, lowering_command,
};
pub use tools::{ToolServer, ToolServerKind};
