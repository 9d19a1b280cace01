//! Devices, access requests and the network.

use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use ts_rs::TS;

/// What a client may do. Each scope includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Read sessions and their updates.
    View,
    /// Start and stop turns.
    Prompt,
    Approve,
    /// Inspect all frames, change settings and devices.
    Admin,
}

impl Scope {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Prompt => "prompt",
            Self::Approve => "approve",
            Self::Admin => "admin",
        }
    }
}

/// What this connection may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Access {
    pub scope: Scope,
    /// The paired device; `null` for the user at the computer itself.
    pub device: Option<DeviceName>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct DeviceName {
    /// UUID.
    pub id: String,
    /// The name that the user gave it.
    pub name: String,
}

/// Devices, requests for access and the network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct DevicesSnapshot {
    pub devices: Vec<Device>,
    /// Requests that wait for an answer.
    pub requests: Vec<DeviceRequest>,
    /// The pairing code that is currently valid.
    pub pairing: Option<Pairing>,
    pub apps: Vec<AllowedApp>,
    /// The network switches and the open ports.
    pub network: NetworkState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// UUID.
    pub id: String,
    /// The name that the user gave it.
    pub name: String,
    pub scope: Scope,
    /// When it was paired.
    pub created_at: i64,
    /// When it was last connected.
    pub last_seen: Option<i64>,
    /// The last address.
    pub address: Option<String>,
    pub connections: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DeviceRequest {
    /// Names it in `devices/allow` and `devices/decline`.
    pub id: String,
    /// `pair` for a phone or browser, `ios` for the iOS app.
    #[ts(type = "'pair' | 'ios'")]
    pub kind: String,
    /// The name that the device gives itself; may be empty.
    pub name: String,
    /// Where it connects from.
    pub address: IpAddr,
    /// Also shown on the device: `482 913`. `null` for the iOS app.
    pub compare: Option<String>,
    /// When it asked.
    pub asked_at: i64,
    pub expires_at: i64,
    /// The session that the iOS app asks for.
    pub session_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Pairing {
    /// `K7QX-2M9P`.
    pub code: String,
    /// When it ends.
    pub expires_at: i64,
    /// URLs of the page, the most likely to work first.
    pub addresses: Vec<String>,
    /// SHA-256 of the certificate: `AB:CD:…`.
    pub fingerprint: Option<String>,
    /// The content of the QR code.
    pub url: String,
    /// The QR code, an SVG document.
    pub qr: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AllowedApp {
    pub address: IpAddr,
    /// When it was allowed.
    pub allowed_at: i64,
    /// When it has to ask again.
    pub until: i64,
}

/// The network switches and the open ports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct NetworkState {
    /// The page and ACP are served on the network.
    pub lan: bool,
    /// Access of the iOS app.
    pub ios: IosAccess,
    pub computer: String,
    pub listeners: Vec<OpenListener>,
    /// SHA-256 of the authority's certificate, which phones install: `AB:CD:…`.
    pub fingerprint: Option<String>,
    /// When the certificate expires. It is renewed before then.
    pub certificate_until: Option<i64>,
    /// A problem to show to the user: one or more sentences.
    pub problem: Option<String>,
    /// Set on the command line, and not changeable.
    pub fixed: bool,
    /// Further names of this computer, for example on a private network.
    pub names: Vec<String>,
}

/// Access to the endpoint of the OpenAgents iOS app, which has no token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum IosAccess {
    /// Closed.
    #[default]
    Off,
    /// Each app has to be approved, on this machine and on the network.
    Ask,
    /// Every app on this machine, without approval (loopback only).
    Allow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, TS)]
pub struct OpenListener {
    pub kind: Listener,
    pub address: SocketAddr,
}

/// The listener that accepted a connection. It determines the routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Listener {
    /// Loopback: all routes.
    Loopback,
    /// The network, encrypted: the page and ACP.
    Web,
    /// The network, unencrypted: the iOS app only.
    App,
}

/// A command on devices. Its name is the last segment of the method, its fields are the params.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum DeviceCommand {
    /// Show a new pairing code.
    Pair,
    /// Withdraw the pairing code, and decline the requests that used it.
    StopPairing,
    Allow {
        request_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<Scope>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    Decline {
        request_id: String,
    },
    Rename {
        id: String,
        name: String,
    },
    Scope {
        id: String,
        scope: Scope,
    },
    /// Remove a device, or the access of an iOS app; its connections close.
    Revoke(Revoked),
    Network(NetworkChange),
}

/// A device, or the address of an iOS app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(untagged)]
pub enum Revoked {
    Device { id: String },
    App { address: IpAddr },
}

/// A change of the network switches; absent fields stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct NetworkChange {
    /// Serve the page and ACP on the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lan: Option<bool>,
    /// Access of the iOS app.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ios: Option<IosAccess>,
    /// Further names of this computer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
    /// Addresses to serve in addition to local network addresses: public or VPN addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Vec<IpAddr>>,
}

/// Params of `_openagents/devices/audit`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct AuditQuery {
    /// At most this many entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Only entries with an id below this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
}

/// Entries of the audit log, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AuditPage {
    pub entries: Vec<RemoteAction>,
}

/// One audited action. Never holds a token, a code, or the text of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RemoteAction {
    /// Its number.
    pub id: i64,
    /// When it happened.
    pub ts: i64,
    /// The paired device; `null` for any other actor.
    pub device: Option<String>,
    /// The actor's name; may be empty.
    pub name: String,
    pub address: String,
    /// A method, or a name such as `pair.allowed`.
    pub action: String,
    /// For example a session, a scope, or the chosen option with the command that was shown.
    pub detail: String,
}
