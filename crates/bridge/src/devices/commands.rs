//! Commands on devices, given on this machine or on a device with [`Scope::Admin`].

use super::{
    apps::ALLOWED, audit_rows::Actor, code::Code, device_rows, device_rows::DeviceRow, pairing::CodeRefusal,
    pairing::FETCH_TIMEOUT, pairing::Grant, pairing::PAIRING_TIMEOUT, registry::Device, registry::Devices,
    registry::clean_name, registry::token_hash, requests::Kind, requests::Outcome, requests::RequestInfo,
};
use crate::{
    base::{config::IosAccess, error::Fault, pass::Pass, scope::Scope, token::new_token},
    network::switches::Switch,
};
use openagents_sessions::{
    run_blocking,
    store::{Store, StoreError, now_ms},
};
use serde::Deserialize;
use serde_json::Value;
use std::{net::IpAddr, sync::Arc};

/// A command on devices or the network.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum DeviceCommand {
    /// Shows a pairing code.
    Pair,
    StopPairing,
    Allow {
        request_id: String,
        scope: Option<Scope>,
        name: Option<String>,
    },
    Decline {
        request_id: String,
    },
    Rename {
        id: String,
        name: String,
    },
    /// Changes the scope of a device.
    Scope {
        id: String,
        scope: Scope,
    },
    Revoke(Revoked),
    /// Changes the network settings.
    Network(Switch),
}

/// A device, or the address of an iOS app.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Revoked {
    Device { id: String },
    App { address: IpAddr },
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AccessError {
    #[error("There is no such device.")]
    UnknownDevice,
    #[error("No iOS app is allowed at {0}.")]
    UnknownApp(IpAddr),
    #[error("This request has ended; the device can ask again.")]
    RequestEnded,
    #[error("A device needs a name.")]
    NoName,
    #[error("The operating system returned no random numbers: {0}.")]
    Random(#[from] getrandom::Error),
    /// In effect until the next restart.
    #[error("The device is disconnected, but its removal couldn't be saved ({0}). Remove it again.")]
    RevokedForNow(StoreError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<AccessError> for Fault {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::UnknownDevice | AccessError::UnknownApp(_) => Self::not_found(error.to_string()),
            AccessError::RequestEnded => Self::busy(error.to_string()),
            AccessError::NoName => Self::invalid_params(error.to_string()),
            AccessError::Random(_) | AccessError::RevokedForNow(_) | AccessError::Store(_) => {
                Self::internal(error.to_string())
            }
        }
    }
}

impl Devices {
    /// Runs a command, records it, and returns the resulting snapshot.
    pub(crate) async fn command(&self, command: DeviceCommand, actor: &Actor) -> Result<Value, Fault> {
        // Revocations take effect before anything is awaited.
        match &command {
            DeviceCommand::Revoke(Revoked::Device { id }) => self.disconnect(id)?,
            DeviceCommand::Revoke(Revoked::App { address }) => self.disconnect_app(*address),
            _ => {}
        }
        let _guard = self.changing.lock().await;
        let (action, detail) = match command {
            DeviceCommand::Pair => {
                self.state().pairing.offer(Code::new().map_err(AccessError::from)?);
                self.tidy_after(PAIRING_TIMEOUT);
                ("pair.offered", String::new())
            }
            DeviceCommand::StopPairing => {
                self.stop_pairing();
                ("pair.stopped", String::new())
            }
            DeviceCommand::Allow { request_id, scope, name } => self.allow(&request_id, scope, name).await?,
            DeviceCommand::Decline { request_id } => self.decline(&request_id)?,
            DeviceCommand::Rename { id, name } => ("device.renamed", self.rename(id, &name).await?),
            DeviceCommand::Scope { id, scope } => ("device.scope", self.change(id, scope).await?),
            DeviceCommand::Revoke(Revoked::Device { id }) => ("device.removed", self.revoke(&id).await?),
            DeviceCommand::Revoke(Revoked::App { address }) => {
                let revoked = self.state().apps.revoke(address.to_canonical());
                let app = revoked.ok_or(AccessError::UnknownApp(address))?;
                ("app.removed", format!("{} at {address}", app.pass.name()))
            }
            DeviceCommand::Network(switch) => {
                let Switch { lan, ios, names } = switch.clone();
                self.network.switch(switch).await?;
                let lan = lan.map(|on| format!("network {}", if on { "on" } else { "off" }));
                let names = names.map(|names| format!("names: {}", names.join(" ")));
                let switched = [lan, ios.map(ios_detail), names];
                ("network.switched", switched.into_iter().flatten().collect::<Vec<_>>().join(", "))
            }
        };
        self.changed();
        self.record(actor, action, &detail).await;
        Ok(self.feed().snapshot())
    }

    /// Removes a device at its own request.
    pub(crate) async fn leave(&self, id: &str, actor: &Actor) -> Result<(), Fault> {
        self.disconnect(id)?;
        let _guard = self.changing.lock().await;
        let name = self.revoke(id).await?;
        self.changed();
        self.record(actor, "device.left", &name).await;
        Ok(())
    }

    fn stop_pairing(&self) {
        let mut state = self.state();
        state.pairing.withdraw(CodeRefusal::Expired);
        for request in state.pairing.pending() {
            state.requests.end(&request, Outcome::Declined);
        }
    }

    async fn allow(
        &self,
        request: &str,
        scope: Option<Scope>,
        name: Option<String>,
    ) -> Result<(&'static str, String), AccessError> {
        let info = self.request_info(request)?;
        let name = name.filter(|name| !name.trim().is_empty()).map_or(info.name, |name| clean_name(&name));
        match info.kind {
            Kind::Ios => {
                // An app has no token, so it never gets more than `Prompt`.
                let scope = scope.unwrap_or(Scope::Prompt).min(Scope::Prompt);
                let mut state = self.state();
                state.apps.allow(info.address, &name, scope);
                state.requests.end(request, Outcome::Allowed);
                drop(state);
                self.tidy_after(ALLOWED);
                Ok(("app.allowed", format!("{name} at {}: {}", info.address, scope.as_str())))
            }
            Kind::Pair => {
                let scope = scope.unwrap_or(Scope::Approve);
                self.pair(request, &name, scope).await?;
                Ok(("pair.allowed", format!("{name} at {}: {}", info.address, scope.as_str())))
            }
        }
    }

    /// Pairs the device of a request, and declines the other requests for the same code.
    async fn pair(&self, request: &str, name: &str, scope: Scope) -> Result<(), AccessError> {
        let (token, id) = (new_token()?, uuid::Uuid::new_v4().to_string());
        let row = DeviceRow {
            id: id.clone(),
            name: name.to_owned(),
            scope,
            token_hash: token_hash(&token),
            created_ts: now_ms(),
            last_seen_ts: None,
            last_address: None,
        };
        let device = Device::new(row.clone());
        self.stored(move |store| device_rows::add(store, &row)).await?;
        let has_ended = {
            let mut state = self.state();
            let has_ended = state.requests.get(request).is_none();
            if !has_ended {
                state.devices.push(device);
                let grant = Grant { token, device: id.clone(), name: name.to_owned(), scope };
                state.pairing.grant(request, grant);
                let (rivals, is_shown) = state.pairing.rivals(request);
                if is_shown {
                    state.pairing.withdraw(CodeRefusal::Used);
                }
                state.requests.end(request, Outcome::Allowed);
                for rival in rivals {
                    state.requests.end(&rival, Outcome::Declined);
                }
            }
            has_ended
        };
        if has_ended {
            self.stored(move |store| device_rows::remove(store, &id)).await?;
            return Err(AccessError::RequestEnded);
        }
        let request = request.to_owned();
        self.later(FETCH_TIMEOUT, move |devices| devices.end_grant(&request));
        Ok(())
    }

    /// Removes the device of a request if it never fetched its token.
    fn end_grant(&self, request: &str) {
        let mut state = self.state();
        let Some(id) = state.pairing.end_grant(request) else { return };
        state.devices.retain(|device| device.row.id != id);
        drop(state);
        self.write(move |store| device_rows::remove(store, &id));
        self.changed();
    }

    fn decline(&self, request: &str) -> Result<(&'static str, String), AccessError> {
        let mut state = self.state();
        let RequestInfo { kind, name, address, .. } =
            state.requests.end(request, Outcome::Declined).ok_or(AccessError::RequestEnded)?.info;
        let action = match kind {
            Kind::Pair => "pair.declined",
            Kind::Ios => {
                state.apps.block(address);
                "app.declined"
            }
        };
        Ok((action, format!("{name} at {address}")))
    }

    async fn rename(&self, id: String, name: &str) -> Result<String, AccessError> {
        if name.trim().is_empty() {
            return Err(AccessError::NoName);
        }
        let (before, name) = (self.pass_of(&id)?.name(), clean_name(name));
        let (device, stored) = (id.clone(), name.clone());
        self.stored(move |store| device_rows::rename(store, &device, &stored)).await?;
        self.with_device(&id, |device| {
            device.row.name.clone_from(&name);
            device.pass.rename(&name);
        });
        Ok(format!("{before} is now {name}"))
    }

    async fn change(&self, id: String, scope: Scope) -> Result<String, AccessError> {
        let pass = self.pass_of(&id)?;
        let apply = || {
            self.with_device(&id, |device| {
                device.row.scope = scope;
                device.pass.change(scope);
            });
        };
        // A narrower scope applies at once; a wider one has to be stored first.
        if scope < pass.scope() {
            apply();
        }
        let device = id.clone();
        self.stored(move |store| device_rows::change_scope(store, &device, scope)).await?;
        apply();
        Ok(format!("{}: {}", pass.name(), scope.as_str()))
    }

    /// Closes every connection of a device at once.
    fn disconnect(&self, id: &str) -> Result<(), AccessError> {
        self.pass_of(id)?.revoked.cancel();
        Ok(())
    }

    fn disconnect_app(&self, address: IpAddr) {
        let state = self.state();
        let allowed = state.apps.allowed();
        let app = allowed.iter().find(|(of, _)| *of == address.to_canonical());
        app.iter().for_each(|(_, app)| app.pass.revoked.cancel());
    }

    /// Deletes a disconnected device. If that cannot be stored, the device stays listed so that it can be removed again,
    /// because its token would be valid after a restart.
    async fn revoke(&self, id: &str) -> Result<String, AccessError> {
        let pass = self.pass_of(id)?;
        let device = id.to_owned();
        if let Err(error) = self.stored(move |store| device_rows::remove(store, &device)).await {
            self.changed();
            return Err(AccessError::RevokedForNow(error));
        }
        self.state().devices.retain(|device| device.row.id != id);
        Ok(pass.name())
    }

    fn request_info(&self, request: &str) -> Result<RequestInfo, AccessError> {
        let info = self.state().requests.get(request).map(|request| request.info.clone());
        info.ok_or(AccessError::RequestEnded)
    }

    fn pass_of(&self, id: &str) -> Result<Arc<Pass>, AccessError> {
        let state = self.state();
        let found = state.devices.iter().find(|device| device.row.id == id);
        found.map(|device| device.pass.clone()).ok_or(AccessError::UnknownDevice)
    }

    /// Returns the name of a device.
    pub(crate) fn name_of(&self, id: &str) -> Option<String> {
        self.pass_of(id).ok().map(|pass| pass.name())
    }

    fn with_device(&self, id: &str, change: impl FnOnce(&mut Device)) {
        if let Some(device) = self.state().devices.iter_mut().find(|device| device.row.id == id) {
            change(device);
        }
    }

    async fn stored(
        &self,
        write: impl FnOnce(&Store) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let store = self.store.clone();
        run_blocking(move || write(&store)).await.unwrap_or(Err(StoreError::Closed))
    }
}

fn ios_detail(ios: IosAccess) -> String {
    let word = match ios {
        IosAccess::Off => "off",
        IosAccess::Ask => "ask",
        IosAccess::Allow => "allow",
    };
    format!("iOS app {word}")
}
