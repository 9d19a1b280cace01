//! Arguments of the commands for trusted folders.

use clap::Subcommand;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Workspaces {
    /// List the trusted folders, with when and where they were trusted
    List {
        /// JSON
        #[arg(long)]
        json: bool,
    },
    /// Let agents start in a folder, with the hooks, servers and agent settings that it brings now; they are listed
    Trust {
        /// The folder
        path: PathBuf,
    },
    /// Stop the agents in a folder, and ask before the next one starts there
    Revoke {
        /// The folder
        path: PathBuf,
    },
}
