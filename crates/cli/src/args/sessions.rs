//! The arguments of `openagents sessions`.

use clap::{Args, Subcommand, ValueEnum};
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
    /// Keep compressed copies of sessions, which agents delete after some time
    #[command(alias = "archive")]
    Keep(Keep),
    /// Continue a session in its agent, or hand it to another agent
    Continue(Continue),
    /// Write what another agent needs to know to continue a session
    Brief {
        /// Id of the session, or its beginning
        id: String,
        /// The agent that reads it, such as codex: its context limits the size
        #[arg(long = "for", value_name = "AGENT")]
        reader: Option<String>,
        /// Maximum size, in tokens
        #[arg(long, value_parser = clap::value_parser!(u16).range(200..=32_000))]
        budget: Option<u16>,
        /// JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a session to a file, without its secrets
    Export(Export),
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
#[command(after_help = "Examples:\n  openagents sessions continue 0199a2b4\n  \
                        openagents sessions continue 0199a2b4 --in codex\n  \
                        openagents sessions continue 0199a2b4 --command")]
pub(crate) struct Continue {
    /// Id of the session, or its beginning
    pub(crate) id: String,
    /// Another agent, which gets a brief of the session
    #[arg(long = "in", value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Continue a copy, as when it is open in another program
    #[arg(long, conflicts_with_all = ["agent", "command"])]
    pub(crate) copy: bool,
    /// Print the command that continues it in a terminal
    #[arg(long, conflicts_with = "agent")]
    pub(crate) command: bool,
    /// Don't ask
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  openagents sessions export 0199a2b4 > session.md\n  \
                        openagents sessions export 0199a2b4 --format html -o session.html")]
pub(crate) struct Export {
    /// Id of the session, or its beginning
    pub(crate) id: String,
    /// The form
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ExportForm,
    /// The file; standard output by default
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// How much of the tools' output is written
    #[arg(long, value_enum, default_value_t)]
    pub(crate) tools: ExportTools,
    /// Leave secrets in the file
    #[arg(long)]
    pub(crate) show_secrets: bool,
    /// Don't ask, and replace a file that exists
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum ExportForm {
    /// Markdown
    #[default]
    Md,
    /// One page without scripts and without references to other files
    Html,
    /// JSON
    Json,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum ExportTools {
    /// The first 20 lines of each output
    #[default]
    Short,
    /// Everything
    Full,
    /// Only which tools were called
    None,
}

/// Keep compressed copies of sessions, which agents delete after some time
///
/// Claude Code and Gemini CLI delete sessions after 30 days. Copies are listed, read and searched like the sessions, and
/// stay on this computer.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  openagents sessions keep on\n  openagents sessions keep limit 20GB\n  \
                        openagents sessions keep restore 0199a2b4 --to ./restored")]
pub(crate) struct Keep {
    #[command(subcommand)]
    pub(crate) command: Option<KeepCommand>,
    /// JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeepCommand {
    /// Show what is kept (default)
    Status,
    /// Keep sessions from now on, and those that exist
    On,
    /// Keep no more; copies stay
    Off,
    /// Compare all copies with their checksums
    Verify,
    /// Set the size that copies may have
    Limit {
        /// Size, such as 20GB
        #[arg(value_parser = size)]
        size: u64,
    },
    /// Write a kept session to a folder, or back to where its agent finds it
    Restore {
        /// Id of the session, or its beginning
        id: String,
        /// A new folder
        #[arg(long, value_name = "FOLDER", required_unless_present = "into_agent")]
        to: Option<PathBuf>,
        /// The agent's own folder, so that it continues the session
        #[arg(long, conflicts_with = "to")]
        into_agent: bool,
        /// A version of its log, as `versions` numbers them
        #[arg(long, value_name = "NUMBER", requires = "to")]
        version: Option<usize>,
        /// Don't ask
        #[arg(long)]
        yes: bool,
    },
    /// List the versions of a session's log: its agent may have shortened it
    Versions {
        /// Id of the session, or its beginning
        id: String,
    },
    /// Delete copies
    Forget {
        /// Ids of sessions, or their beginnings
        #[arg(required_unless_present_any = ["gone_before", "all"])]
        ids: Vec<String>,
        /// Copies of all sessions that were gone before this day, such as 2026-06-01
        #[arg(long, value_name = "DAY", value_parser = day, conflicts_with = "ids")]
        gone_before: Option<i64>,
        /// All copies
        #[arg(long, conflicts_with_all = ["ids", "gone_before"])]
        all: bool,
        /// Don't ask
        #[arg(long)]
        yes: bool,
    },
}

/// Parses a size in decimal units.
fn size(text: &str) -> Result<u64, String> {
    let text = text.trim().to_ascii_uppercase();
    let split = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit.trim() {
        "MB" | "M" => 1_000_000,
        "GB" | "G" => 1_000_000_000,
        "TB" | "T" => 1_000_000_000_000,
        _ => return Err("write a size such as 500MB or 20GB".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "write a size such as 500MB or 20GB".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "that is larger than any disk".to_owned())
}

/// Parses a day as the time of its start, in milliseconds since the epoch.
fn day(text: &str) -> Result<i64, String> {
    let day: jiff::civil::Date = text.parse().map_err(|_| "write a day like 2026-06-01".to_owned())?;
    let start = day.to_zoned(jiff::tz::TimeZone::system()).map_err(|error| error.to_string())?;
    Ok(start.timestamp().as_millisecond())
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
