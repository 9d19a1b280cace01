//! The network switches, set by the user or on the command line. The command line takes precedence.

use super::addresses;
use openagents_core::model::SettingsStore;
use openagents_wire::{IosAccess, NetworkChange};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, net::IpAddr};

/// Maximum number of private network names, and of further addresses.
const NAMES: usize = 16;

const SETTING: &str = "network";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkConfig {
    /// Whether to serve the page and ACP on the network, encrypted. `None`: as set by the user.
    pub lan: Option<bool>,
    /// Port of the encrypted listener; 0 picks one.
    pub port: u16,
    /// Addresses to serve. `None`: those of this machine, followed as they change.
    pub addresses: Option<Vec<IpAddr>>,
    /// Whether to announce the listeners over mDNS.
    pub announce: bool,
}

impl Default for NetworkConfig {
    /// Access as set by the user, on port 9443.
    fn default() -> Self {
        Self { lan: None, port: 9443, addresses: None, announce: true }
    }
}

/// `--ios allow` was combined with `--lan`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("--ios allow accepts every program on this computer and cannot be combined with --lan")]
pub struct OpenOnNetwork;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switches {
    pub lan: bool,
    pub ios: IosAccess,
    /// Further names of this computer, for example on a private network.
    pub names: BTreeSet<String>,
    /// Addresses of this computer, in addition to its local network addresses, that are served to any peer.
    pub addresses: BTreeSet<IpAddr>,
    /// Whether the command line has set `lan`, and `ios`.
    fixed: [bool; 2],
    pub change: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Setting {
    lan: bool,
    ios: IosAccess,
    names: Vec<String>,
    addresses: Vec<IpAddr>,
}

impl Setting {
    fn load(store: &dyn SettingsStore) -> Self {
        let stored = store.get(SETTING).unwrap_or_else(|error| {
            tracing::warn!(%error, "could not read the network settings");
            None
        });
        stored.and_then(|stored| serde_json::from_value(stored).ok()).unwrap_or_default()
    }
}

impl Switches {
    /// Reads the stored switches; `config` and `ios` come from the command line. Blocks.
    pub fn load(
        store: &dyn SettingsStore,
        config: &NetworkConfig,
        ios: Option<IosAccess>,
    ) -> Result<Self, OpenOnNetwork> {
        let setting = Setting::load(store);
        if ios == Some(IosAccess::Allow) && config.lan == Some(true) {
            return Err(OpenOnNetwork);
        }
        // `Allow` can be set only on the command line.
        let switched = if setting.ios == IosAccess::Allow { IosAccess::Off } else { setting.ios };
        Ok(Self {
            lan: config.lan.unwrap_or(setting.lan),
            ios: ios.unwrap_or(switched),
            names: setting.names.iter().filter_map(|name| addresses::host_name(name)).collect(),
            addresses: setting.addresses.into_iter().collect(),
            fixed: [config.lan.is_some(), ios.is_some()],
            change: 0,
        })
    }

    /// Returns whether anything is served beyond this machine.
    pub fn serves(&self) -> bool {
        self.lan || self.ios == IosAccess::Ask
    }

    pub fn is_fixed(&self) -> bool {
        self.fixed.contains(&true)
    }

    /// Returns the changed switches, or a reason why they cannot be changed.
    pub(crate) fn changed(&self, switch: NetworkChange) -> Result<Self, String> {
        let NetworkChange { lan, ios, names, addresses } = switch;
        let fixed = |what: &str, option: &str| {
            Err(format!(
                "{what} was set on the command line; start OpenAgents without {option} to change it here."
            ))
        };
        if self.fixed[0] && lan.is_some_and(|lan| lan != self.lan) {
            return fixed("Network access", "--lan");
        }
        if self.fixed[1] && ios.is_some_and(|ios| ios != self.ios) {
            return fixed("iOS app access", "--ios");
        }
        if ios == Some(IosAccess::Allow) && self.ios != IosAccess::Allow {
            return Err("Open access can only be set with --ios allow on the command line.".to_owned());
        }
        Ok(Self {
            lan: lan.unwrap_or(self.lan),
            ios: ios.unwrap_or(self.ios),
            names: names.map_or_else(|| Ok(self.names.clone()), private_names)?,
            addresses: addresses.map_or_else(|| Ok(self.addresses.clone()), further_addresses)?,
            change: self.change + 1,
            ..self.clone()
        })
    }

    /// Stores the switches that the command line has not set. Blocks.
    pub(crate) fn store(&self, store: &dyn SettingsStore) -> Result<(), String> {
        let mut setting = Setting::load(store);
        if !self.fixed[0] {
            setting.lan = self.lan;
        }
        if !self.fixed[1] {
            setting.ios = self.ios;
        }
        setting.names = self.names.iter().cloned().collect();
        setting.addresses = self.addresses.iter().copied().collect();
        let setting = serde_json::to_value(setting).map_err(|error| error.to_string())?;
        store.set(SETTING, setting).map_err(|error| error.to_string())
    }
}

/// Accepts fully qualified names only: a `.local` or single-label name could belong to any computer.
fn private_names(names: Vec<String>) -> Result<BTreeSet<String>, String> {
    if names.len() > NAMES {
        return Err(format!("A computer can have at most {NAMES} private network names."));
    }
    let parse = |name: String| {
        let known = addresses::host_name(&name)
            .filter(|name| name.contains('.') && !name.ends_with(addresses::LOCAL));
        let short = openagents_core::text::prefix(&name, 100);
        known.ok_or_else(|| {
            format!("{short} is not a private network name; use one like mac.tail1234.ts.net.")
        })
    };
    names.into_iter().map(parse).collect()
}

fn further_addresses(addresses: Vec<IpAddr>) -> Result<BTreeSet<IpAddr>, String> {
    if addresses.len() > NAMES {
        return Err(format!("At most {NAMES} further addresses can be served."));
    }
    let parse = |address: IpAddr| {
        let known = Some(address.to_canonical()).filter(|address| addresses::is_unicast(*address));
        known.ok_or_else(|| format!("{address} is not an address that other devices can reach."))
    };
    addresses.into_iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_addresses_must_be_reachable() {
        let parse =
            |text: &[&str]| further_addresses(text.iter().map(|address| address.parse().unwrap()).collect());
        let known = parse(&["100.101.102.103", "::ffff:100.101.102.103"]).unwrap();
        assert_eq!(known.into_iter().collect::<Vec<_>>(), [IpAddr::from([100, 101, 102, 103])]);
        for wrong in ["127.0.0.1", "0.0.0.0", "::", "fe80::1", "224.0.0.1"] {
            assert!(parse(&[wrong]).is_err(), "{wrong}");
        }
        assert!(parse(&["10.0.0.1"; 17]).is_err());
    }

    #[test]
    fn private_names_must_be_fully_qualified() {
        let names = |names: &[&str]| private_names(names.iter().map(|name| (*name).to_owned()).collect());
        let known = names(&["Mac.tail1234.ts.net.", "mac.tail1234.ts.net"]).unwrap();
        assert_eq!(known.into_iter().collect::<Vec<_>>(), ["mac.tail1234.ts.net"]);
        assert_eq!(names(&[]), Ok(BTreeSet::new()));
        for wrong in ["mac", "mac.local", "localhost", "10.0.0.1", "https://mac.ts.net", "*.ts.net", ""] {
            assert!(names(&[wrong]).is_err(), "{wrong}");
        }
        assert!(names(&["a.b"; 17]).is_err());
    }
}
