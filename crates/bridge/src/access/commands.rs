//! What a person decides about devices, at this machine or on a device that may.

use super::{
    Asking, Devices, Kind, Outcome, Pass, Scope,
    apps::ALLOWED,
    audit::Actor,
    code::Code,
    device_rows::{self, DeviceRow},
    pairing::{FETCH, Grant, PATIENCE, Refusal},
    registry::{Device, clean_name, token_hash},
};
use crate::{IosAccess, auth, error::Fault, network::Switch};
use openagents_sessions::{
    run_blocking,
    store::{Store, StoreError, now_ms},
};
use serde_json::Value;
use std::{net::IpAddr, sync::Arc};

/// What a person can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// Show a code.
    Offer,
    StopPairing,
    Allow {
        request: String,
        scope: Option<Scope>,
        name: Option<String>,
    },
    Decline {
        request: String,
    },
    Rename {
        id: String,
        name: String,
    },
    Change {
        id: String,
        scope: Scope,
    },
    Revoke {
        id: String,
    },
    RevokeApp {
        address: IpAddr,
    },
    /// How the network is served.
    Switch(Switch),
}

/// Why that cannot be done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AccessError {
    /// Removed, or never there.
    #[error("There is no such device.")]
    UnknownDevice,
    #[error("No iOS app is allowed at {0}.")]
    UnknownApp(IpAddr),
    #[error("This request is over; the device may ask again.")]
    Over,
    #[error("A device needs a name.")]
    NoName,
    #[error("The operating system gives no random numbers: {0}.")]
    Random(#[from] getrandom::Error),
    /// It counts for now, but would be forgotten.
    #[error("The device is cut off now, but that was not stored ({0}): remove it again.")]
    RevokedForNow(StoreError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<AccessError> for Fault {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::UnknownDevice | AccessError::UnknownApp(_) => Self::not_found(error.to_string()),
            AccessError::Over => Self::busy(error.to_string()),
            AccessError::NoName => Self::invalid_params(error.to_string()),
            AccessError::Random(_) | AccessError::RevokedForNow(_) | AccessError::Store(_) => {
                Self::internal(error.to_string())
            }
        }
    }
}

impl Devices {
    /// Does what a person asked for, writes it down, and returns how everything stands then.
    pub(crate) async fn command(&self, command: Command, actor: &Actor) -> Result<Value, Fault> {
        // Whoever is removed is cut before anything has to be waited for.
        match &command {
            Command::Revoke { id } => self.cut(id)?,
            Command::RevokeApp { address } => self.cut_app(*address),
            _ => {}
        }
        let _one_after_the_other = self.changing.lock().await;
        let (action, detail) = match command {
            Command::Offer => {
                self.state().pairing.offer(Code::new().map_err(AccessError::from)?);
                self.tidy_after(PATIENCE);
                ("pair.offered", String::new())
            }
            Command::StopPairing => {
                self.stop_pairing();
                ("pair.stopped", String::new())
            }
            Command::Allow { request, scope, name } => self.allow(&request, scope, name).await?,
            Command::Decline { request } => self.decline(&request)?,
            Command::Rename { id, name } => ("device.renamed", self.rename(id, &name).await?),
            Command::Change { id, scope } => ("device.scope", self.change(id, scope).await?),
            Command::Revoke { id } => ("device.removed", self.revoke(&id).await?),
            Command::RevokeApp { address } => {
                let revoked = self.state().apps.revoke(address.to_canonical());
                let app = revoked.ok_or(AccessError::UnknownApp(address))?;
                ("app.removed", format!("{} at {address}", app.pass.name()))
            }
            Command::Switch(switch) => {
                let Switch { lan, ios, names } = switch.clone();
                self.network.switch(switch).await?;
                let lan = lan.map(|on| format!("network {}", if on { "on" } else { "off" }));
                let names = names.map(|names| format!("names: {}", names.join(" ")));
                let switched = [lan, ios.map(ios_endpoint), names];
                ("network.switched", switched.into_iter().flatten().collect::<Vec<_>>().join(", "))
            }
        };
        self.changed();
        self.record(actor, action, &detail).await;
        Ok(self.feed().snapshot())
    }

    /// Removes the device itself, because it asks for that.
    pub(crate) async fn leave(&self, id: &str, actor: &Actor) -> Result<(), Fault> {
        self.cut(id)?;
        let _one_after_the_other = self.changing.lock().await;
        let name = self.revoke(id).await?;
        self.changed();
        self.record(actor, "device.left", &name).await;
        Ok(())
    }

    fn stop_pairing(&self) {
        let mut state = self.state();
        state.pairing.withdraw(Refusal::Expired);
        for request in state.pairing.waiting() {
            state.requests.end(&request, Outcome::Declined);
        }
    }

    async fn allow(
        &self,
        request: &str,
        scope: Option<Scope>,
        name: Option<String>,
    ) -> Result<(&'static str, String), AccessError> {
        let asking = self.asking(request)?;
        let name = name.filter(|name| !name.trim().is_empty()).map_or(asking.name, |name| clean_name(&name));
        match asking.kind {
            Kind::Ios => {
                // It has no token: it may never do what a device with one may.
                let scope = scope.unwrap_or(Scope::Prompt).min(Scope::Prompt);
                let mut state = self.state();
                state.apps.allow(asking.address, &name, scope);
                state.requests.end(request, Outcome::Allowed);
                drop(state);
                self.tidy_after(ALLOWED);
                Ok(("app.allowed", format!("{name} at {}: {}", asking.address, scope.as_str())))
            }
            Kind::Pair => {
                let scope = scope.unwrap_or(Scope::Approve);
                self.pair(request, &name, scope).await?;
                Ok(("pair.allowed", format!("{name} at {}: {}", asking.address, scope.as_str())))
            }
        }
    }

    /// Makes a device of one that waits, and tells the others that wait for the same code.
    async fn pair(&self, request: &str, name: &str, scope: Scope) -> Result<(), AccessError> {
        let (token, id) = (auth::new_token()?, uuid::Uuid::new_v4().to_string());
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
        let is_over = {
            let mut state = self.state();
            let is_over = state.requests.get(request).is_none();
            if !is_over {
                state.devices.push(device);
                let grant = Grant { token, device: id.clone(), name: name.to_owned(), scope };
                state.pairing.grant(request, grant);
                let (rivals, is_shown) = state.pairing.rivals(request);
                if is_shown {
                    state.pairing.withdraw(Refusal::Used);
                }
                state.requests.end(request, Outcome::Allowed);
                for rival in rivals {
                    state.requests.end(&rival, Outcome::Declined);
                }
            }
            is_over
        };
        if is_over {
            self.stored(move |store| device_rows::remove(store, &id)).await?;
            return Err(AccessError::Over);
        }
        let request = request.to_owned();
        self.later(FETCH, move |devices| devices.end_grant(&request));
        Ok(())
    }

    /// A device that never asked for its token has none: nobody could ever come in with it.
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
        let Asking { kind, name, address, .. } =
            state.requests.end(request, Outcome::Declined).ok_or(AccessError::Over)?.asking;
        let action = match kind {
            Kind::Pair => "pair.declined",
            Kind::Ios => {
                state.apps.shut_out(address);
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
        // What is taken away is gone at once; what is given has to be stored first.
        if scope < pass.scope() {
            apply();
        }
        let device = id.clone();
        self.stored(move |store| device_rows::change_scope(store, &device, scope)).await?;
        apply();
        Ok(format!("{}: {}", pass.name(), scope.as_str()))
    }

    /// Cuts every connection of a device at once.
    fn cut(&self, id: &str) -> Result<(), AccessError> {
        self.pass_of(id)?.revoked.cancel();
        Ok(())
    }

    fn cut_app(&self, address: IpAddr) {
        let state = self.state();
        let allowed = state.apps.allowed();
        let app = allowed.iter().find(|(of, _)| *of == address.to_canonical());
        app.iter().for_each(|(_, app)| app.pass.revoked.cancel());
    }

    /// Forgets a device that was cut. Until that is stored it is shown, and can be removed again: its token would be good
    /// after a restart.
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

    fn asking(&self, request: &str) -> Result<Asking, AccessError> {
        self.state().requests.get(request).map(|request| request.asking.clone()).ok_or(AccessError::Over)
    }

    fn pass_of(&self, id: &str) -> Result<Arc<Pass>, AccessError> {
        let state = self.state();
        let found = state.devices.iter().find(|device| device.row.id == id);
        found.map(|device| device.pass.clone()).ok_or(AccessError::UnknownDevice)
    }

    /// Returns the name of a device that is known.
    pub(super) fn name_of(&self, id: &str) -> Option<String> {
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

fn ios_endpoint(ios: IosAccess) -> String {
    let word = match ios {
        IosAccess::Off => "off",
        IosAccess::Ask => "ask",
        IosAccess::Allow => "allow",
    };
    format!("iOS app {word}")
}
