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
    /// Show the hooks, servers and agent settings in a folder, and let agents start there
    Trust {
        /// The folder
        path: PathBuf,
        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Stop the agents in a folder, and ask before the next one starts there
    Revoke {
        /// The folder
        path: PathBuf,
    },
}
