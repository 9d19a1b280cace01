//! The arguments of `openagents usage`.

use clap::{Args, Subcommand, ValueEnum};
use openagents_transcripts::history::Provider;
use openagents_wire::UsageBy;
use std::path::PathBuf;

/// Sum the tokens and costs of all agents' requests, from their logs
///
/// Each request counts once, however many logs have it. Costs are reported by the agent, or computed from list prices; a
/// subscription is billed differently. Counts stay when an agent deletes its logs.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:\n  openagents usage\n  openagents usage --by model --since 2026-06-01\n  \
                        openagents usage --by session --since today\n  \
                        openagents usage price set openai/my-model --input 2 --output 10")]
pub(crate) struct Usage {
    #[command(subcommand)]
    pub(crate) command: Option<UsageCommand>,
    /// First day: 2026-06-01, today, or 7d for the last seven days
    #[arg(long, value_name = "DAY", default_value = "30d")]
    pub(crate) since: String,
    /// Last day
    #[arg(long, value_name = "DAY")]
    pub(crate) until: Option<String>,
    /// The rows
    #[arg(long, default_value = "day")]
    pub(crate) by: By,
    /// Only this agent, such as codex or claude-code
    #[arg(long, value_parser = super::sessions::provider)]
    pub(crate) provider: Option<Provider>,
    /// Only requests made in this directory
    #[arg(long, value_name = "PATH")]
    pub(crate) workspace: Option<PathBuf>,
    /// All days
    #[arg(long, conflicts_with = "since")]
    pub(crate) all: bool,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    Day,
    Session,
    Agent,
    Model,
    Workspace,
}

impl From<By> for UsageBy {
    fn from(by: By) -> Self {
        match by {
            By::Day => Self::Day,
            By::Session => Self::Session,
            By::Agent => Self::Agent,
            By::Model => Self::Model,
            By::Workspace => Self::Workspace,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum UsageCommand {
    /// List, set and remove custom prices, which replace list prices
    #[command(subcommand)]
    Price(PriceCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum PriceCommand {
    /// List custom prices
    List,
    /// Set the price of a model
    Set {
        /// Provider and model as the logs name them, such as openai/my-model; a model may end in *
        #[arg(value_parser = model)]
        model: (String, String),
        /// US dollars for a million tokens that the model reads
        #[arg(long, value_parser = amount)]
        input: String,
        /// US dollars for a million tokens that the model writes
        #[arg(long, value_parser = amount)]
        output: String,
        /// US dollars for a million tokens read from a cache; as for input by default
        #[arg(long, value_parser = amount)]
        cache_read: Option<String>,
        /// US dollars for a million tokens written to a cache; as for input by default
        #[arg(long, value_parser = amount)]
        cache_write: Option<String>,
        /// The first day of the price, such as 2026-06-01; always by default
        #[arg(long, value_name = "DAY", value_parser = day)]
        from: Option<String>,
    },
    /// Remove the custom prices of a model
    Remove {
        /// Provider and model
        #[arg(value_parser = model)]
        model: (String, String),
    },
}

fn model(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('/').filter(|(provider, model)| !provider.is_empty() && !model.is_empty());
    let (provider, model) = parts.ok_or("write the provider and the model, such as openai/my-model")?;
    Ok((provider.to_owned(), model.to_owned()))
}

fn amount(text: &str) -> Result<String, String> {
    use openagents_core::usage::Picodollars;
    match Picodollars::parse(text) {
        Some(amount) if amount.0 >= 0 => Ok(amount.to_string()),
        _ => Err("write an amount in US dollars, such as 2.5".to_owned()),
    }
}

fn day(text: &str) -> Result<String, String> {
    let day = text.parse::<jiff::civil::Date>();
    day.map(|day| day.to_string()).map_err(|_| "write a day like 2026-06-01".to_owned())
}
