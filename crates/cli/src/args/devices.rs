//! Arguments of the commands for other devices.

use clap::{Args, Subcommand, ValueEnum};
use std::net::IpAddr;

#[derive(Debug, Args)]
pub(crate) struct Pair {
    /// Scope of the device once it is allowed
    #[arg(long, default_value = "prompt")]
    pub(crate) scope: Scope,
    /// Name of the device here; defaults to the name it gives itself
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// One JSON object per line: `{"pairing"}`, then `{"request"}` and its outcome. Never prompts
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Devices {
    /// List the devices, the pending requests and the network
    List {
        /// JSON
        #[arg(long)]
        json: bool,
    },
    /// Allow a device or an iOS app that has requested access
    Allow {
        /// Id of the request, or its beginning
        request: String,
        /// Scope of the device; defaults to prompt, which is the most for an iOS app
        #[arg(long)]
        scope: Option<Scope>,
        /// Name of the device here; defaults to the name it gives itself
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        output: Output,
    },
    /// Decline a device or an iOS app that has requested access
    Decline {
        /// Id of the request, or its beginning
        request: String,
        #[command(flatten)]
        output: Output,
    },
    /// Rename a device
    Rename {
        /// Id of the device, or its beginning
        id: String,
        /// The new name
        name: String,
        #[command(flatten)]
        output: Output,
    },
    /// Change the scope of a device, effective immediately
    Scope {
        /// Id of the device, or its beginning
        id: String,
        /// The new scope
        scope: Scope,
        #[command(flatten)]
        output: Output,
    },
    /// Remove a device, or an iOS app by its address, and close its connections
    Revoke {
        /// Id of the device, or its beginning; or the address of an app
        id: String,
        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        output: Output,
    },
    /// Show what other devices did, newest first
    Audit {
        /// Maximum number of rows
        #[arg(long, default_value_t = 50)]
        limit: usize,
        /// JSON
        #[arg(long)]
        json: bool,
    },
    /// Show or change how other devices reach this computer
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
    /// Let the OpenAgents iOS app on the network request access; its connection is unencrypted
    #[arg(long, value_name = "off|ask")]
    pub(crate) ios: Option<IosSwitch>,
    /// Name of this computer in a private network, such as that of `tailscale serve`; may be given several times, and
    /// replaces the previous names
    #[arg(long = "name", value_name = "HOST")]
    pub(crate) names: Vec<String>,
    /// Remove these names
    #[arg(long, conflicts_with = "names")]
    pub(crate) no_names: bool,
    /// Also serve this address of this computer (public or VPN) to anyone who can reach it; may be given several times, and
    /// replaces the previous ones
    #[arg(long = "address", value_name = "ADDRESS")]
    pub(crate) addresses: Vec<IpAddr>,
    /// Serve only addresses of the local network
    #[arg(long, conflicts_with = "addresses")]
    pub(crate) no_addresses: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Scope of a device. Each scope includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// See sessions and their updates
    View,
    /// Start and stop turns
    Prompt,
    /// Answer approvals
    Approve,
    /// Everything: settings, devices, every frame
    Admin,
}

impl Scope {
    pub(crate) fn to_wire(self) -> openagents_wire::Scope {
        match self {
            Self::View => openagents_wire::Scope::View,
            Self::Prompt => openagents_wire::Scope::Prompt,
            Self::Approve => openagents_wire::Scope::Approve,
            Self::Admin => openagents_wire::Scope::Admin,
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
    /// No access
    Off,
    /// Ask the user about each app
    Ask,
}
