//! The `openagents` command.
//!
//! Exit codes: 0 done, 1 failed, 2 bad usage, 130 stopped by Ctrl-C. `status` has its own.
//!
//! # Layers
//!
//! A module uses modules of lower layers only. `tests/layers` reads this table and checks every file against it.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 1 | `args` | command-line arguments |
//! | 1 | `output` | tables, colours, errors |
//! | 1 | `signals` | Ctrl-C |
//! | 1 | `words` | the result of a tool in a few words |
//! | 2 | `bridge` | the bridge of the data folder, as its client |
//! | 2 | `surroundings` | data folder, store and settings |
//! | 2 | `trust` | the question whether to trust a folder |
//! | 3 | `acp` | `openagents acp` |
//! | 3 | `agent` | `openagents agent` |
//! | 3 | `devices` | `openagents devices` |
//! | 3 | `endpoint` | the models and agents that the bridge manages |
//! | 3 | `explore` | `openagents explore` |
//! | 3 | `find` | `openagents find` |
//! | 3 | `usage` | `openagents usage` |
//! | 4 | `attach` | `openagents attach` |
//! | 4 | `doctor` | `openagents doctor` |
//! | 4 | `mcp` | `openagents mcp` |
//! | 4 | `models` | `openagents models` |
//! | 4 | `pair` | `openagents pair` |
//! | 4 | `privacy` | `openagents privacy` |
//! | 4 | `tools` | `openagents tools` |
//! | 3 | `status` | `openagents status` |
//! | 4 | `statusline` | `openagents statusline` |
//! | 4 | `serve` | `openagents serve` |
//! | 4 | `workspaces` | `openagents workspaces` |
//! | 5 | `sessions` | `openagents sessions` |

mod acp;
mod agent;
mod args;
mod attach;
mod bridge;
mod devices;
mod doctor;
mod endpoint;
mod explore;
mod find;
mod mcp;
mod models;
mod output;
mod pair;
mod privacy;
mod serve;
mod sessions;
mod signals;
mod status;
mod statusline;
mod surroundings;
mod tools;
mod trust;
mod usage;
mod words;
mod workspaces;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use std::{io::Write, process::ExitCode};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    match run(cli.command) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(anstream::stderr(), "openagents: {error:#}");
            ExitCode::from(if error.is::<output::Usage>() { 2 } else { 1 })
        }
    }
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Explore(explore) => explore::run(&explore),
        Command::Ask(ask) => agent::ask_question(&ask),
        Command::Find(find) => find::run(&find),
        Command::Agent(agent) => agent::run(&agent),
        Command::Serve(serve) => serve::run(&serve),
        Command::Attach(attach) => attach::run(&attach),
        Command::Pair(pair) => pair::run(&pair),
        Command::Devices(devices) => devices::run(&devices),
        Command::Acp => acp::run(),
        Command::Mcp(mcp) => mcp::run(&mcp),
        Command::Sessions(sessions) => sessions::run(&sessions),
        Command::Usage(usage) => usage::run(&usage),
        Command::Status(status) => status::run(&status),
        Command::Statusline => Ok(statusline::run()),
        Command::Models(models) => models::run(&models),
        Command::Doctor(doctor) => doctor::run(&doctor),
        Command::Privacy(privacy) => privacy::run(&privacy),
        Command::Agents(agents) => doctor::agents(&agents),
        Command::Workspaces(workspaces) => workspaces::run(&workspaces),
        Command::Tools(list) => tools::list(&list),
        Command::Tool(tool) => tools::call(&tool),
        Command::Completions { shell } => {
            // Into memory first: the generator panics on a closed pipe.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "openagents", &mut script);
            std::io::stdout().lock().write_all(&script)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Man => {
            clap_mangen::Man::new(Cli::command()).render(&mut std::io::stdout().lock())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Returns whether the reader closed the pipe, as `head` does; this is not a failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
