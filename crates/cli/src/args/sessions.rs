//! The arguments of `openagents sessions`.

use clap::{Args, Subcommand};
use openagents_core::history::Provider;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// List past sessions, newest first
    List(Filter),
    /// Show what happened in one session
    Show {
        /// Id of the session, or its beginning
        id: String,
        /// Maximum number of events
        #[arg(long, default_value_t = 100)]
        limit: usize,
        /// JSON
        #[arg(long)]
        json: bool,
    },
    /// Search past sessions for a regular expression
    Search {
        /// Regular expression, case-insensitive
        pattern: String,
        #[command(flatten)]
        filter: Filter,
    },
    /// Show how much of the past sessions the full-text index has
    Index(IndexCommand),
    /// Count what was found of each agent, and what of it is not understood
    Stats {
        /// Only this agent, such as codex or claude-code
        #[arg(long, value_parser = provider)]
        provider: Option<Provider>,
        /// Read every session for its tokens
        #[arg(long)]
        tokens: bool,
        /// JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct IndexCommand {
    /// Index what is new first
    #[arg(long)]
    pub(crate) wait: bool,
    /// Forget everything and index it again
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Forget everything
    #[arg(long, conflicts_with_all = ["wait", "rebuild"])]
    pub(crate) clear: bool,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Only sessions of this agent, such as codex or claude-code
    #[arg(long, value_parser = provider)]
    pub(crate) provider: Option<Provider>,
    /// Only sessions that ran in this directory
    #[arg(long, value_name = "PATH")]
    pub(crate) workspace: Option<PathBuf>,
    /// Maximum number of rows; 0 for all
    #[arg(long, default_value_t = 20)]
    pub(crate) limit: usize,
    /// Include hidden sessions: started by programs or by other sessions, and archived ones
    #[arg(long)]
    pub(crate) all: bool,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn provider(name: &str) -> Result<Provider, String> {
    let names = || Provider::ALL.map(Provider::as_str).join(", ");
    Provider::parse(name).ok_or_else(|| format!("no agent named {name}; there are {}", names()))
}
