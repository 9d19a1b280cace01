//! The arguments of `openagents sessions`.

use clap::{Args, Subcommand};
use openagents_transcripts::history::Provider;
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
    /// Search past sessions for text
    ///
    /// Finds prompts, answers, tool calls and titles that have every word, in any order; those with the whole text come
    /// first. Nothing is syntax except double quotes around several words. Case, width and accents' encoding don't matter.
    /// Put text that begins with a hyphen behind `--`.
    #[command(after_help = "Examples:\n  openagents sessions search docker compose\n  \
                            openagents sessions search '\"docker compose\" up'\n  \
                            openagents sessions search --regex 'fix(es|ed)? #\\d+'")]
    Search {
        /// Text
        #[arg(required = true)]
        text: Vec<String>,
        /// Search whole logs instead of the index: also finds tool output and parts of words
        #[arg(long)]
        logs: bool,
        /// Take the text as a regular expression, and search whole logs
        #[arg(long)]
        regex: bool,
        #[command(flatten)]
        filter: Filter,
    },
    /// Show the state of the full-text index
    Index(IndexCommand),
    /// Show sessions found and lines not understood, per agent
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
    /// Only show the state, as without an option
    #[arg(long, conflicts_with_all = ["wait", "rebuild", "clear"])]
    status: bool,
    /// Update the index first
    #[arg(long)]
    pub(crate) wait: bool,
    /// Rebuild the index
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Delete the index
    #[arg(long, conflicts_with_all = ["wait", "rebuild"])]
    pub(crate) clear: bool,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl IndexCommand {
    pub(crate) fn changes(&self) -> bool {
        !self.status && (self.wait || self.rebuild || self.clear)
    }
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

pub(super) fn provider(name: &str) -> Result<Provider, String> {
    let names = || Provider::ALL.map(Provider::as_str).join(", ");
    Provider::parse(name).ok_or_else(|| format!("no such agent: {name} (known: {})", names()))
}
