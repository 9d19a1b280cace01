//! The command line.

mod devices;

pub(crate) use devices::{Devices, IosSwitch, Network, Pair, Scope, Switch};

use clap::{Args, Parser, Subcommand, ValueEnum};
use openagents_core::history::Provider;
use std::{net::IpAddr, path::PathBuf};

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
    /// Say in one sentence what somebody was doing in a workspace, with evidence
    Explore(Explore),
    /// Answer a question from code and past sessions, in words where a model on this computer is ready
    Ask(Ask),
    /// Find the places in code and past sessions that answer a question, without a model
    Find(Find),
    /// Ask the model on this computer, or another one; it may look into the folder
    Agent(Agent),
    /// Serve the page, ACP clients and (if allowed) the iOS app until Ctrl-C
    Serve(Serve),
    /// Follow a session live, answer what agents ask, go on with it; Ctrl-C leaves, and the session goes on
    Attach(Attach),
    /// Let a phone or another computer in: show a code, and ask before anything is allowed
    Pair(Pair),
    /// List the devices that may connect; allow, change and remove them
    #[command(subcommand)]
    Devices(Devices),
    /// Be the agent of an editor: speak the Agent Client Protocol on standard input and output
    Acp,
    /// Let other agents find code and past sessions here: speak the Model Context Protocol on standard input and output
    Mcp(Mcp),
    /// List, show and search the past sessions of Codex and Claude Code
    #[command(subcommand)]
    Sessions(Sessions),
    /// List, download, add, verify, choose and remove the models on this computer
    #[command(subcommand)]
    Models(Models),
    /// Check every coding agent on this computer: is it there, does it work, what to do if not
    Doctor(Doctor),
    /// List, add and remove agents and models that prompts can be sent to
    #[command(subcommand)]
    Agents(Agents),
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
pub(crate) struct Explore {
    /// The workspace
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// What to find out; may be given several times
    #[arg(long = "goal", value_name = "GOAL")]
    pub(crate) goals: Vec<String>,
    /// Who plans, and infers the intent where past sessions say nothing
    #[arg(long, default_value = "heuristic")]
    pub(crate) planner: Planner,
    /// One JSON object a line: the ACP `session/update` params, then `{"final": …}`
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// The question, in plain words or with names out of the code; `-` reads standard input
    pub(crate) question: String,
    /// The workspace
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// One JSON object a line: the ACP `session/update` params, then `{"final": …}`
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Find {
    /// The question, in plain words or with names out of the code
    pub(crate) question: String,
    /// The workspace
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// The code alone, without past sessions
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
    /// Offer the past sessions of this workspace too
    #[arg(long)]
    pub(crate) history: bool,
}

/// Who plans an exploration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Planner {
    /// The local model where it is in memory already, else rules
    Auto,
    /// Rules, in no time
    Heuristic,
    /// The local model, loaded if need be
    Model,
}

#[derive(Debug, Args)]
pub(crate) struct Agent {
    /// What to ask; `-` reads standard input
    pub(crate) prompt: String,
    /// Who answers instead of the model in use: a GGUF file, or openai:NAME for a model behind an OpenAI-compatible
    /// address; gptoss is the model in use. In this process, as with those below
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// The address for openai:NAME, such as http://127.0.0.1:8080/v1; ollama, lm-studio, llama-server and vllm stand for
    /// theirs on this machine. Otherwise OpenAI's own
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The environment variable that holds the key for openai:NAME. Otherwise OPENAI_API_KEY, for OpenAI and for an address
    /// that is https and not on this machine; any other server is sent no key
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) key_variable: Option<String>,
    /// The workspace
    #[arg(long, default_value = ".", value_name = "PATH")]
    pub(crate) root: PathBuf,
    /// One JSON object a line: the ACP `session/update` params, then `{"final": …}`
    #[arg(long)]
    pub(crate) json: bool,
    /// 0 for the likeliest answer, up to 2; otherwise as in the settings. In this process, even beside a running app
    #[arg(long, value_name = "T")]
    pub(crate) temperature: Option<f32>,
    /// Tokens of the answer at the most; otherwise as in the settings. In this process, even beside a running app
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
    /// Serve the page and ACP on the network too, encrypted; otherwise as it was switched on
    #[arg(long)]
    pub(crate) lan: bool,
    /// Port on the network; 0 picks a free one
    #[arg(long, default_value_t = 9443, value_name = "PORT")]
    pub(crate) lan_port: u16,
    /// What is served as the network, instead of what this machine has; may be given several times
    #[arg(long = "lan-address", value_name = "ADDRESS", hide = true)]
    pub(crate) lan_addresses: Vec<IpAddr>,
    /// Who may connect with the OpenAgents iOS app, which has no token; otherwise as it was switched
    #[arg(long)]
    pub(crate) ios: Option<Ios>,
    /// Explore the root at once
    #[arg(long)]
    pub(crate) explore: bool,
    /// Print `{"url","token_file","port","lan"}` as the first line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ios {
    /// Nobody
    Off,
    /// Those whom a person allows, one by one, on this machine and on the network (unencrypted)
    Ask,
    /// Every program on this machine
    Allow,
}

#[derive(Debug, Args)]
pub(crate) struct Attach {
    /// The session, or the beginning of its id; otherwise the one that changed last
    pub(crate) session: Option<String>,
    /// Show what came after this update
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) since: u64,
    /// One JSON object a line: the ACP `session/update` params, each once
    #[arg(long)]
    pub(crate) json: bool,
    /// Every update of a long session as it was, instead of what it came to
    #[arg(long)]
    pub(crate) no_snapshot: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// List past sessions, newest first
    List(Filter),
    /// Show what happened in one session
    Show {
        /// Id of the session, or the beginning of it
        id: String,
        /// Events at the most
        #[arg(long, default_value_t = 100)]
        limit: usize,
        /// JSON
        #[arg(long)]
        json: bool,
    },
    /// Search past sessions for a regular expression
    Search {
        /// Regular expression; case does not matter
        pattern: String,
        #[command(flatten)]
        filter: Filter,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Only of this agent: codex or claude-code
    #[arg(long, value_parser = provider)]
    pub(crate) provider: Option<Provider>,
    /// Only those that ran in this directory
    #[arg(long, value_name = "PATH")]
    pub(crate) workspace: Option<PathBuf>,
    /// Rows at the most; 0 for all
    #[arg(long, default_value_t = 20)]
    pub(crate) limit: usize,
    /// Hidden ones too: started by programs, by other sessions, archived
    #[arg(long)]
    pub(crate) all: bool,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Models {
    /// List the models; a star marks the one that answers
    List {
        /// JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a GGUF file known, where it lies
    Add {
        /// The file
        file: PathBuf,
    },
    /// Download a model, or go on with it; Ctrl-C pauses
    Download {
        /// Id of the model; gpt-oss-20b if none is given
        id: Option<String>,
        /// Accept the licence without a question
        #[arg(long)]
        accept_licence: bool,
    },
    /// Compare the SHA-256 of a downloaded model
    Verify {
        /// Id of the model; gpt-oss-20b if none is given
        id: Option<String>,
    },
    /// Delete a downloaded model, or forget one that was added
    Remove {
        /// Id of the model
        id: String,
        /// Without a question
        #[arg(long)]
        yes: bool,
    },
    /// Answer with this model from now on
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
    /// Add an agent that speaks ACP, or a model behind an OpenAI-compatible address; or change the one with this id
    Add(Box<AddAgent>),
    /// Forget an agent that was added
    Remove {
        /// Its id
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AddAgent {
    /// Its id: a-z, 0-9, - _ and .
    pub(crate) id: String,
    /// What people read; otherwise the id
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// A model behind this address: http://127.0.0.1:8000/v1
    #[arg(long, value_name = "URL", requires = "model", conflicts_with_all = ["command", "registry"])]
    pub(crate) openai: Option<String>,
    /// The model, as the server names it
    #[arg(long, requires = "openai")]
    pub(crate) model: Option<String>,
    /// The environment variable that holds the key
    #[arg(long, value_name = "VARIABLE", requires = "openai")]
    pub(crate) key_variable: Option<String>,
    /// Sent with every request; may be given several times. No secrets: name the variable of a key instead
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header, requires = "openai")]
    pub(crate) headers: Vec<(String, String)>,
    /// Added to the environment of the command; may be given several times
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable, requires = "command")]
    pub(crate) variables: Vec<(String, String)>,
    /// Where the command is started; otherwise in the workspace
    #[arg(long, value_name = "PATH", requires = "command")]
    pub(crate) cwd: Option<PathBuf>,
    /// An entry of the ACP registry: its agent.json
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

fn provider(name: &str) -> Result<Provider, String> {
    Provider::parse(name).ok_or_else(|| format!("no agent named {name}; there are codex and claude-code"))
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("there is no : in it")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("there is no = in it")?;
    Ok((name.to_owned(), value.to_owned()))
}
