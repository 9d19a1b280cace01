//! Commands on devices, given on this machine or on a device with [`Scope::Admin`].

use super::{
    audit_rows::Actor,
    pairing::{Code, CodeRefusal, FETCH_TIMEOUT, Grant, PAIRING_TIMEOUT, compare_code},
    registry::{Device, Devices, clean_name},
    requests::{ALLOWED, Kind, Outcome, PhoneAddress, RequestInfo},
    tables::{self, DeviceRow},
};
use crate::token::{hash, new_token};
use openagents_connection::{fault::Fault, pass::Pass};
use openagents_sessions::store::now_ms;
use openagents_wire::{DeviceCommand, DevicesSnapshot, IosAccess, NetworkChange, Revoked, Scope};
use std::{net::IpAddr, sync::Arc};

impl Devices {
    pub async fn command(&self, command: DeviceCommand, actor: &Actor) -> Result<DevicesSnapshot, Fault> {
        // Revocations take effect before anything is awaited.
        match &command {
            DeviceCommand::Revoke(Revoked::Device { id }) => self.pass_of(id)?.revoked.cancel(),
            DeviceCommand::Revoke(Revoked::App { address }) => {
                let passes = self.state().apps.passes(address.to_canonical());
                passes.iter().for_each(|pass| pass.revoked.cancel());
            }
            _ => {}
        }
        let _guard = self.changing.lock().await;
        let (action, detail) = match command {
            DeviceCommand::Pair => {
                self.state().pairing.offer(Code::new()?);
                self.run_later(PAIRING_TIMEOUT, Self::expire);
                ("pair.offered", String::new())
            }
            DeviceCommand::StopPairing => {
                self.stop_pairing();
                ("pair.stopped", String::new())
            }
            DeviceCommand::Allow { request_id, scope, name } => self.allow(&request_id, scope, name).await?,
            DeviceCommand::Decline { request_id } => self.decline(&request_id)?,
            DeviceCommand::Rename { id, name } => ("device.renamed", self.rename(id, &name).await?),
            DeviceCommand::Scope { id, scope } => ("device.scope", self.change_scope(id, scope).await?),
            DeviceCommand::Revoke(Revoked::Device { id }) => ("device.removed", self.revoke(&id).await?),
            DeviceCommand::Revoke(Revoked::App { address }) => {
                let revoked = self.state().apps.revoke(address.to_canonical());
                let unknown = || Fault::not_found(format!("No iOS app is allowed at {address}."));
                ("app.removed", format!("{} at {address}", revoked.ok_or_else(unknown)?))
            }
            DeviceCommand::Network(switch) => {
                let NetworkChange { lan, ios, names, addresses } = switch.clone();
                self.network.switch(switch).await?;
                let lan = lan.map(|on| format!("network {}", if on { "on" } else { "off" }));
                let names = names.map(|names| format!("names: {}", names.join(" ")));
                let text =
                    |addresses: Vec<IpAddr>| addresses.iter().map(IpAddr::to_string).collect::<Vec<_>>();
                let addresses =
                    addresses.map(|addresses| format!("addresses: {}", text(addresses).join(" ")));
                let switched = [lan, ios.map(ios_detail), names, addresses];
                ("network.switched", switched.into_iter().flatten().collect::<Vec<_>>().join(", "))
            }
        };
        self.changed();
        self.record(actor, action, &detail).await;
        Ok(self.snapshot())
    }

    pub async fn leave(&self, id: &str, actor: &Actor) -> Result<(), Fault> {
        self.pass_of(id)?.revoked.cancel();
        let _guard = self.changing.lock().await;
        let name = self.revoke(id).await?;
        self.changed();
        self.record(actor, "device.left", &name).await;
        Ok(())
    }

    /// Files a pairing request for a device that knows the code. Returns the secret it polls with, the digits that both
    /// screens show, and the expiry in milliseconds since the epoch.
    pub fn claim(
        &self,
        code: &str,
        name: &str,
        address: IpAddr,
    ) -> Result<(String, String, i64), CodeRefusal> {
        let secret = new_token().map_err(CodeRefusal::Random)?;
        let mut state = self.state();
        let number = state.pairing.check(code, address)?;
        state.pairing.has_room()?;
        let compare = loop {
            let compare = compare_code().map_err(CodeRefusal::Random)?;
            let taken = |info: &RequestInfo| info.compare.as_deref() == Some(&compare);
            if !state.requests.pending().iter().any(|request| taken(&request.info)) {
                break compare;
            }
        };
        let info = RequestInfo {
            kind: Kind::Pair,
            name: clean_name(name),
            address,
            at: None,
            compare: Some(compare.clone()),
            session: None,
        };
        let (id, outcome) = state.requests.add(info, PAIRING_TIMEOUT);
        let expires_at = state.requests.get(&id).map_or(0, |request| request.expires.at);
        state.pairing.claim(number, &secret, id, outcome);
        drop(state);
        self.run_later(PAIRING_TIMEOUT, Self::expire);
        self.changed();
        Ok((secret, compare, expires_at))
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
    ) -> Result<(&'static str, String), Fault> {
        let info = self.state().requests.get(request).map(|request| request.info.clone());
        let info = info.ok_or_else(request_ended)?;
        let name = name.filter(|name| !name.trim().is_empty()).map_or(info.name, |name| clean_name(&name));
        let (action, scope) = match info.kind {
            Kind::Ios => {
                // An app has no token, so it never gets more than `Prompt`.
                let scope = scope.unwrap_or(Scope::Prompt).min(Scope::Prompt);
                let mut state = self.state();
                let at = info.at.unwrap_or(info.address);
                state.apps.allow(PhoneAddress { phone: info.address, at }, &name, scope);
                state.requests.end(request, Outcome::Allowed);
                drop(state);
                self.run_later(ALLOWED, Self::expire);
                ("app.allowed", scope)
            }
            Kind::Pair => {
                let scope = scope.unwrap_or(Scope::Prompt);
                self.pair(request, &name, scope).await?;
                ("pair.allowed", scope)
            }
        };
        Ok((action, format!("{name} at {}: {}", info.address, scope.as_str())))
    }

    async fn pair(&self, request: &str, name: &str, scope: Scope) -> Result<(), Fault> {
        let (token, id) = (new_token()?, uuid::Uuid::new_v4().to_string());
        let row = DeviceRow {
            id: id.clone(),
            name: name.to_owned(),
            scope,
            token_hash: hash(&token),
            created_ts: now_ms(),
            last_seen_ts: None,
            last_address: None,
        };
        let device = Device::new(row.clone());
        self.with_store(move |store| tables::add_device(store, &row)).await?;
        let is_granted = {
            let mut state = self.state();
            let is_pending = state.requests.get(request).is_some();
            if is_pending {
                state.devices.push(device);
                let grant = Grant { token, device: id.clone(), name: name.to_owned(), scope };
                let rivals = state.pairing.grant(request, grant);
                state.requests.end(request, Outcome::Allowed);
                for rival in rivals {
                    state.requests.end(&rival, Outcome::Declined);
                }
            }
            is_pending
        };
        if !is_granted {
            self.with_store(move |store| tables::remove_device(store, &id)).await?;
            return Err(request_ended());
        }
        let request = request.to_owned();
        self.run_later(FETCH_TIMEOUT, move |devices| devices.end_grant(&request));
        Ok(())
    }

    /// Removes the device of a request if it never fetched its token.
    fn end_grant(&self, request: &str) {
        let mut state = self.state();
        let Some(id) = state.pairing.end_grant(request) else { return };
        state.devices.retain(|device| device.row.id != id);
        drop(state);
        self.write_in_background(move |store| tables::remove_device(store, &id));
        self.changed();
    }

    fn decline(&self, request: &str) -> Result<(&'static str, String), Fault> {
        let mut state = self.state();
        let info = state.requests.end(request, Outcome::Declined).ok_or_else(request_ended)?.info;
        let action = match info.app() {
            None => "pair.declined",
            Some(app) => {
                state.apps.block(app);
                "app.declined"
            }
        };
        let RequestInfo { name, address, .. } = info;
        Ok((action, format!("{name} at {address}")))
    }

    async fn rename(&self, id: String, name: &str) -> Result<String, Fault> {
        if name.trim().is_empty() {
            return Err(Fault::invalid_params("A device needs a name."));
        }
        let (pass, name) = (self.pass_of(&id)?, clean_name(name));
        let (before, scope, stored) = (pass.name(), pass.scope(), name.clone());
        self.with_store(move |store| tables::update_device(store, &id, &stored, scope)).await?;
        pass.rename(&name);
        Ok(format!("{before} is now {name}"))
    }

    async fn change_scope(&self, id: String, scope: Scope) -> Result<String, Fault> {
        let pass = self.pass_of(&id)?;
        let name = pass.name();
        // A narrower scope applies at once; a wider one has to be stored first.
        if scope < pass.scope() {
            pass.set_scope(scope);
        }
        let stored = name.clone();
        self.with_store(move |store| tables::update_device(store, &id, &stored, scope)).await?;
        pass.set_scope(scope);
        Ok(format!("{name}: {}", scope.as_str()))
    }

    /// Deletes a disconnected device. If the deletion cannot be stored, the device stays listed, because its token
    /// would be valid again after a restart.
    async fn revoke(&self, id: &str) -> Result<String, Fault> {
        let pass = self.pass_of(id)?;
        let device = id.to_owned();
        if let Err(error) = self.with_store(move |store| tables::remove_device(store, &device)).await {
            self.changed();
            return Err(Fault::internal(format!(
                "The device is disconnected, but its removal couldn't be saved ({error}). Remove it again."
            )));
        }
        self.state().devices.retain(|device| device.row.id != id);
        Ok(pass.name())
    }

    pub(super) fn pass_of(&self, id: &str) -> Result<Arc<Pass>, Fault> {
        let state = self.state();
        let found = state.devices.iter().find(|device| device.row.id == id);
        found.map(|device| device.pass.clone()).ok_or_else(|| Fault::not_found("There is no such device."))
    }
}

fn request_ended() -> Fault {
    Fault::busy("This request has ended; the device can ask again.")
}

fn ios_detail(ios: IosAccess) -> String {
    let word = match ios {
        IosAccess::Off => "off",
        IosAccess::Ask => "ask",
        IosAccess::Allow => "allow",
    };
    format!("iOS app {word}")
}
