//! Other devices, and what they may do.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct Pair {
    /// What the device may do once it is allowed
    #[arg(long, default_value = "approve")]
    pub(crate) scope: Scope,
    /// What it is called here; otherwise what it calls itself
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// One JSON object a line: `{"pairing"}`, then `{"request"}` and what became of it. Asks nothing
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Devices {
    /// List the devices, who waits to be allowed, and the network
    List {
        /// JSON
        #[arg(long)]
        json: bool,
    },
    /// Let a device or an iOS app in that has asked
    Allow {
        /// The request, or the beginning of its id
        request: String,
        /// What the device may do; otherwise approve (an iOS app at most prompt)
        #[arg(long)]
        scope: Option<Scope>,
        /// What it is called here; otherwise what it calls itself
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        output: Output,
    },
    /// Turn a device or an iOS app away that has asked
    Decline {
        /// The request, or the beginning of its id
        request: String,
        #[command(flatten)]
        output: Output,
    },
    /// Call a device something else
    Rename {
        /// The device, or the beginning of its id
        id: String,
        /// The new name
        name: String,
        #[command(flatten)]
        output: Output,
    },
    /// Change what a device may do, from now on
    Scope {
        /// The device, or the beginning of its id
        id: String,
        /// What it may do
        scope: Scope,
        #[command(flatten)]
        output: Output,
    },
    /// Remove a device and cut its connections; or an iOS app, by its address
    Revoke {
        /// The device, or the beginning of its id; or the address of an app
        id: String,
        /// Without a question
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        output: Output,
    },
    /// Show what other devices did, newest first
    Audit {
        /// Rows at the most
        #[arg(long, default_value_t = 50)]
        limit: usize,
        /// JSON
        #[arg(long)]
        json: bool,
    },
    /// Show or switch how other devices reach this computer
    Network(Network),
}

#[derive(Debug, Args)]
pub(crate) struct Output {
    /// JSON: the devices afterwards
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Network {
    /// Serve the page and ACP on the network, encrypted
    #[arg(long, value_name = "on|off")]
    pub(crate) lan: Option<Switch>,
    /// Let the OpenAgents iOS app on the network ask to come in; it speaks unencrypted
    #[arg(long, value_name = "off|ask")]
    pub(crate) ios: Option<IosSwitch>,
    /// A name of this computer in a private network, such as that of `tailscale serve`; may be given several times, and
    /// takes the place of those before
    #[arg(long = "name", value_name = "HOST")]
    pub(crate) names: Vec<String>,
    /// Forget these names
    #[arg(long, conflicts_with = "names")]
    pub(crate) no_names: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// How much a device may do. Each holds the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// See sessions and their updates
    View,
    /// Start and stop turns
    Prompt,
    /// Answer what agents ask for
    Approve,
    /// Everything: settings, devices, every frame
    Admin,
}

impl Scope {
    /// The word on the wire.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Prompt => "prompt",
            Self::Approve => "approve",
            Self::Admin => "admin",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IosSwitch {
    /// Nobody
    Off,
    /// Those whom a person allows, one by one
    Ask,
}
