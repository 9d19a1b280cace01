//! The command line.

mod devices;
#[cfg(test)]
mod reference_tests;
mod sessions;
mod usage;

use clap::{Args, Parser, Subcommand, ValueEnum};
pub(crate) use devices::{Devices, IosSwitch, Network, Pair, Scope, Switch};
use openagents_tools::reading::ReadingSwitch;
pub(crate) use sessions::{
    Continue, Export, ExportForm, ExportTools, Filter, IndexCommand, Keep, KeepCommand, Sessions,
};
use std::{net::IpAddr, path::PathBuf};
pub(crate) use usage::{PriceCommand, Usage, UsageCommand};

/// A companion for coding agents: explores a workspace, serves its sessions, shows every frame.
///
/// OPENAGENTS_HOME moves the data folder, CODEX_HOME and CLAUDE_CONFIG_DIR the agents' logs.
#[derive(Debug, Parser)]
#[command(name = "openagents", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Sum up in one sentence, with evidence, what was being done in a workspace
    Explore(Explore),
    /// Answer a question from code and past sessions, worded by a model if one is ready on this computer
    Ask(Ask),
    /// Find the places in code and past sessions that answer a question, without a model
    Find(Find),
    /// Ask the model on this computer, or another one; it can read the folder
    Agent(Agent),
    /// Serve the page, ACP clients and (if allowed) the iOS app until Ctrl-C
    Serve(Serve),
    /// Follow a session live, answer its approvals and send prompts; Ctrl-C detaches, the session continues
    Attach(Attach),
    /// Pair a phone or another computer: show a code, and ask before granting access
    Pair(Pair),
    /// List the devices that may connect; allow, change and remove them
    #[command(subcommand)]
    Devices(Devices),
    /// Act as an editor's agent: speak the Agent Client Protocol on standard input and output
    Acp,
    /// Let other agents search here: speak the Model Context Protocol on standard input and output
    Mcp(Mcp),
    /// List, show and search the past sessions of other agents
    #[command(subcommand)]
    Sessions(Sessions),
    /// Sum the tokens and costs of all agents' requests, from their logs
    Usage(Usage),
    /// Print which agents need you, work or failed, in any terminal, while a bridge runs
    ///
    /// Exits with 10 if one needs you, and with 3 and without output if no bridge runs. For tmux: set -g status-right
    /// "#(openagents status --short)"
    Status(Status),
    /// Print costs and limits in one line, for the status line of Claude Code or tmux
    ///
    /// Standard input is the JSON that Claude Code gives its status line. Add this to the settings of Claude Code:
    /// "statusLine": {"type": "command", "command": "openagents statusline"}
    Statusline,
    /// List, download, add, verify, choose and remove the models on this computer
    #[command(subcommand)]
    Models(Models),
    /// Check the coding agents on this computer: whether they are installed and work, and how to fix them
    Doctor(Doctor),
    /// Show and change the read access of models and agents
    Privacy(Privacy),
    /// List, add and remove agents and models that prompts can be sent to
    #[command(subcommand)]
    Agents(Agents),
    /// List, trust and revoke the folders in which agents may start
    #[command(subcommand)]
    Workspaces(Workspaces),
    /// List the tools of an exploration with their JSON schemas
    Tools(Tools),
    /// Run one tool and print its result
    Tool(Tool),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff)
    Man,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Only the counts
    #[arg(long)]
    pub(crate) short: bool,
    /// Print a line for each change, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Explore {
    /// The workspace
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// A question to answer; may be given several times
    #[arg(long = "goal", value_name = "GOAL")]
    pub(crate) goals: Vec<String>,
    /// The planner, which also infers the intent if past sessions say nothing
    #[arg(long, default_value = "heuristic")]
    pub(crate) planner: Planner,
    /// Also draw the map of the code into this file, as SVG
    #[arg(long, value_name = "FILE", conflicts_with = "goals")]
    pub(crate) map: Option<PathBuf>,
    /// One JSON object per line: the ACP `session/update` params, then `{"final": …}`
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// The question, in plain words or with names from the code; `-` reads standard input
    pub(crate) question: String,
    /// The workspace
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// One JSON object per line: the ACP `session/update` params, then `{"final": …}`
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Find {
    /// The question, in plain words or with names from the code
    pub(crate) question: String,
    /// The workspace
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// Search only the code, not past sessions
    #[arg(long)]
    pub(crate) code: bool,
    /// One JSON object: `{"findings": [{kind, path, start, end, excerpt, symbol, score, why}], …}`
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// The workspace
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// Offer the past sessions of this workspace too, while `openagents privacy` allows hosted agents to read them
    #[arg(long)]
    pub(crate) history: bool,
}

/// The planner of an exploration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Planner {
    /// The local model if it is already in memory, otherwise rules
    Auto,
    /// Rules; immediate
    Heuristic,
    /// The local model, loaded if needed
    Model,
}

#[derive(Debug, Args)]
pub(crate) struct Agent {
    /// The prompt; `-` reads standard input
    pub(crate) prompt: String,
    /// The model to use instead of the one in use: a GGUF file, or openai:NAME for a model behind an OpenAI-compatible
    /// address; gptoss is the model in use
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// The address for openai:NAME, such as http://127.0.0.1:8080/v1; ollama, lm-studio, llama-server and vllm are
    /// short for their default addresses on this machine. Defaults to OpenAI's
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The environment variable that holds the key for openai:NAME. Defaults to OPENAI_API_KEY for OpenAI and for https
    /// addresses on other machines; no key is sent to any other server. A running app or `openagents serve` reads it
    /// from its own environment, not from this command's
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) key_variable: Option<String>,
    /// The workspace
    #[arg(long, default_value = ".", value_name = "PATH")]
    pub(crate) root: PathBuf,
    /// One JSON object per line: the ACP `session/update` params, then `{"final": …}`
    #[arg(long)]
    pub(crate) json: bool,
    /// Sampling temperature from 0 (most likely answer) to 2; defaults to the settings
    #[arg(long, value_name = "T")]
    pub(crate) temperature: Option<f32>,
    /// Maximum tokens of the answer; defaults to the settings
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Loopback port; 0 picks a free one
    #[arg(long, default_value_t = 9099)]
    pub(crate) port: u16,
    /// The server's own workspace
    #[arg(long, default_value = ".", value_name = "PATH")]
    pub(crate) root: PathBuf,
    /// Serve the page and ACP on the network too, encrypted; defaults to the saved setting
    #[arg(long)]
    pub(crate) lan: bool,
    /// Port on the network; 0 picks a free one
    #[arg(long, default_value_t = 9443, value_name = "PORT")]
    pub(crate) lan_port: u16,
    /// Addresses to serve as the network, instead of this machine's own; may be given several times
    #[arg(long = "lan-address", value_name = "ADDRESS", hide = true)]
    pub(crate) lan_addresses: Vec<IpAddr>,
    /// Access for the OpenAgents iOS app, which has no token; defaults to the saved setting
    #[arg(long)]
    pub(crate) ios: Option<Ios>,
    /// Explore the root on start
    #[arg(long)]
    pub(crate) explore: bool,
    /// Print `{"url","token_file","port","lan"}` as the first line
    #[arg(long)]
    pub(crate) json: bool,
    /// Serve one command: without network, on a free port, until its last client is gone
    #[arg(long, hide = true)]
    pub(crate) until_idle: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ios {
    /// No access
    Off,
    /// Ask the user about each app, on this machine and on the network (unencrypted)
    Ask,
    /// Every program on this machine
    Allow,
}

#[derive(Debug, Args)]
pub(crate) struct Attach {
    /// The session, or the beginning of its id; defaults to the most recently changed one
    pub(crate) session: Option<String>,
    /// Show only what came after this update
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) since: u64,
    /// One JSON object per line: the ACP `session/update` params, each once
    #[arg(long)]
    pub(crate) json: bool,
    /// Show every update of a long session instead of a snapshot
    #[arg(long)]
    pub(crate) no_snapshot: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Models {
    /// List the models; a star marks the one in use
    List {
        /// JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a GGUF file; the file isn't moved
    Add {
        /// The file
        file: PathBuf,
    },
    /// Download a model or resume a download; Ctrl-C pauses
    Download {
        /// Id of the model; defaults to gpt-oss-20b
        id: Option<String>,
        /// Accept the licence without asking
        #[arg(long)]
        accept_licence: bool,
    },
    /// Check the SHA-256 of a downloaded model
    Verify {
        /// Id of the model; defaults to gpt-oss-20b
        id: Option<String>,
    },
    /// Delete a downloaded model, or remove an added one from the list
    Remove {
        /// Id of the model
        id: String,
        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Use this model from now on
    Use {
        /// Id of the model
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Agents {
    /// List the agents
    List {
        /// JSON
        #[arg(long)]
        json: bool,
    },
    /// Add an agent that speaks ACP, or a model behind an OpenAI-compatible address; an existing id is replaced
    Add(Box<AddAgent>),
    /// Remove an added agent
    Remove {
        /// Its id
        id: String,
    },
    /// Install or update a built-in agent from npm, into the data folder
    Install {
        /// Its id: claude-code, codex, gemini, copilot, opencode or qwen
        id: String,
        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Go back to the version that was installed before
    RollBack {
        /// Its id
        id: String,
    },
    /// Remove an installed agent; its own settings and sessions stay
    Uninstall {
        /// Its id
        id: String,
    },
    /// Fetch the newest versions on offer from the ACP registry, and list them
    Updates,
}

#[derive(Debug, Args)]
pub(crate) struct AddAgent {
    /// Its id: a-z, 0-9, - _ and .
    pub(crate) id: String,
    /// Display name; defaults to the id
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Address of an OpenAI-compatible server: http://127.0.0.1:8000/v1
    #[arg(long, value_name = "URL", requires = "model", conflicts_with_all = ["command", "registry"])]
    pub(crate) openai: Option<String>,
    /// Name of the model on the server
    #[arg(long, requires = "openai")]
    pub(crate) model: Option<String>,
    /// The environment variable that holds the key
    #[arg(long, value_name = "VARIABLE", requires = "openai")]
    pub(crate) key_variable: Option<String>,
    /// Header sent with every request; may be given several times. Not for secrets: use --key-variable for a key
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header, requires = "openai")]
    pub(crate) headers: Vec<(String, String)>,
    /// Variable added to the command's environment; may be given several times
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable, requires = "command")]
    pub(crate) variables: Vec<(String, String)>,
    /// Working directory of the command; defaults to the workspace
    #[arg(long, value_name = "PATH", requires = "command")]
    pub(crate) cwd: Option<PathBuf>,
    /// An ACP registry entry: its agent.json
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub(crate) registry: Option<PathBuf>,
    /// A program that speaks ACP, and its arguments
    #[arg(last = true)]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Tools {
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Tool {
    /// Name of the tool, as `openagents tools` lists it
    pub(crate) name: String,
    /// Arguments, as a JSON object
    #[arg(default_value = "{}")]
    pub(crate) arguments: String,
    /// The workspace
    #[arg(long, default_value = ".", value_name = "PATH")]
    pub(crate) root: PathBuf,
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("missing `:`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("missing `=`")?;
    Ok((name.to_owned(), value.to_owned()))
}

#[derive(Debug, Args)]
pub(crate) struct Privacy {
    /// Switch on: local-other-history, elsewhere-history or hosted-history; may be given several times
    #[arg(long, value_name = "SWITCH", value_parser = reading_switch)]
    pub(crate) allow: Vec<ReadingSwitch>,
    /// Switch off
    #[arg(long, value_name = "SWITCH", value_parser = reading_switch)]
    pub(crate) deny: Vec<ReadingSwitch>,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn reading_switch(name: &str) -> Result<ReadingSwitch, String> {
    let known = ReadingSwitch::ALL.into_iter().find(|switch| switch.name() == name);
    known.ok_or_else(|| {
        let names = ReadingSwitch::ALL.map(ReadingSwitch::name).join(", ");
        format!("no such switch: {name} (known: {names})")
    })
}

#[derive(Debug, Subcommand)]
pub(crate) enum Workspaces {
    /// List the trusted folders, with when and where they were trusted
    List {
        /// JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the hooks, servers and agent settings in a folder, and let agents start there
    Trust {
        /// The folder
        path: PathBuf,
        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Set where a folder was moved, so that its sessions belong to the new one; without NEW, suggest where it is
    Moved {
        /// The folder as it was
        #[arg(required_unless_present = "list")]
        old: Option<PathBuf>,
        /// Where it is now
        new: Option<PathBuf>,
        /// Forget where OLD was moved
        #[arg(long, conflicts_with = "new")]
        forget: bool,
        /// List the moved folders
        #[arg(long, exclusive = true)]
        list: bool,
    },
    /// Stop the agents in a folder, and ask before the next one starts there
    Revoke {
        /// The folder
        path: PathBuf,
    },
}
