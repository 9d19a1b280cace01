//! iOS apps, which have no token: a person allows them by their address, which is no identity, so never for long.

use super::{Devices, Pass, Scope, Waiting, Who, deadline::Deadline};
use std::{collections::HashMap, net::IpAddr, sync::Arc, time::Duration};

/// How long an address stays allowed at most.
pub(super) const ALLOWED: Duration = Duration::from_secs(12 * 60 * 60);
/// How long an address that was not allowed is shut out.
pub(super) const SHUT_OUT: Duration = Duration::from_secs(10 * 60);
/// How long a person has to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// Apps that wait for an answer at the same time.
pub(super) const ACCESS_REQUESTS: usize = 16;
/// Addresses that are remembered as shut out.
const REMEMBERED: usize = 1024;

/// What an address finds at the door of the iOS app.
#[derive(Debug, Clone)]
pub(crate) enum AppAccess {
    /// A person allowed it: it comes in with this.
    Open(Arc<Pass>),
    /// A person said no, or nothing, a short time ago.
    Shut,
    /// A person has to be asked: [`super::Devices::knock`].
    Ask,
}

/// An app that waits for a person. The desk forgets nothing when this is dropped.
pub(crate) type AccessRequest = Waiting;

/// An address that was allowed.
#[derive(Debug)]
pub(super) struct App {
    pub(super) pass: Arc<Pass>,
    /// Milliseconds since the epoch.
    pub(super) allowed_at: i64,
    pub(super) until: Deadline,
}

/// What is remembered of addresses.
#[derive(Debug, Default)]
pub(super) struct Apps {
    allowed: HashMap<IpAddr, App>,
    shut_out: HashMap<IpAddr, Deadline>,
}

impl Apps {
    pub(super) fn door(&self, address: IpAddr) -> AppAccess {
        match (self.allowed.get(&address), self.shut_out.get(&address)) {
            (Some(app), _) if !app.until.is_over() => AppAccess::Open(app.pass.clone()),
            (_, Some(until)) if !until.is_over() => AppAccess::Shut,
            _ => AppAccess::Ask,
        }
    }

    pub(super) fn allow(&mut self, address: IpAddr, name: &str, scope: Scope) {
        self.shut_out.remove(&address);
        let allowed_at = openagents_sessions::store::now_ms();
        let pass = Pass::new(Who::App(address), scope, name);
        let app = App { pass, allowed_at, until: Deadline::after(ALLOWED) };
        if let Some(before) = self.allowed.insert(address, app) {
            before.pass.revoked.cancel();
        }
    }

    pub(super) fn shut_out(&mut self, address: IpAddr) {
        if self.shut_out.len() >= REMEMBERED {
            self.shut_out.retain(|_, until| !until.is_over());
        }
        if self.shut_out.len() < REMEMBERED {
            self.shut_out.insert(address, Deadline::after(SHUT_OUT));
        }
    }

    /// Cuts the connections of an address and shuts it out: the app comes back by itself every second.
    pub(super) fn revoke(&mut self, address: IpAddr) -> Option<App> {
        let app = self.allowed.remove(&address)?;
        app.pass.revoked.cancel();
        self.shut_out(address);
        Some(app)
    }

    /// Cuts all of them; they may ask again. Returns whether there was any.
    fn end(&mut self) -> bool {
        let ended = std::mem::take(&mut self.allowed);
        ended.values().for_each(|app| app.pass.revoked.cancel());
        !ended.is_empty()
    }

    /// Cuts those whose time is over; they may ask again.
    pub(super) fn expire(&mut self) {
        self.allowed.retain(|_, app| {
            let stays = !app.until.is_over();
            if !stays {
                app.pass.revoked.cancel();
            }
            stays
        });
    }

    /// Returns the addresses that are allowed, the latest last.
    pub(super) fn allowed(&self) -> Vec<(IpAddr, &App)> {
        let mut apps: Vec<_> = self.allowed.iter().map(|(address, app)| (*address, app)).collect();
        apps.sort_by_key(|(address, app)| (app.allowed_at, *address));
        apps
    }
}

impl Devices {
    /// Ends what was allowed to addresses: they may be somebody else's by now.
    pub(crate) fn end_apps(&self) {
        let ended = self.state().apps.end();
        if ended {
            tracing::info!("the network has changed: iOS apps have to be allowed again");
            self.changed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_allowed_in_one_network_is_not_in_another() {
        let (mut apps, phone) = (Apps::default(), IpAddr::from([192, 168, 1, 7]));
        assert!(!apps.end());
        apps.allow(phone, "Phone", Scope::Prompt);
        let AppAccess::Open(pass) = apps.door(phone) else { panic!("it was allowed") };
        assert!(apps.end() && pass.is_revoked());
        // It is not shut out: a person is asked again.
        assert!(matches!(apps.door(phone), AppAccess::Ask));
    }
}
