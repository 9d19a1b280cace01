//! iOS apps. They have no token and are allowed by address, which is not an identity, so only for a limited time.

use super::deadline::Deadline;
use crate::base::{pass::Pass, pass::Who, scope::Scope};
use std::{collections::HashMap, net::IpAddr, sync::Arc, time::Duration};
use tokio_util::sync::DropGuard;

/// Longest time an address stays allowed.
pub(crate) const ALLOWED: Duration = Duration::from_secs(12 * 60 * 60);
/// Time a declined address stays blocked.
pub(crate) const BLOCKED_FOR: Duration = Duration::from_secs(10 * 60);
/// Time to answer an access request.
pub(crate) const APPROVAL_TIMEOUT: Duration = Duration::from_secs(60);
/// Concurrent access requests.
pub(crate) const ACCESS_REQUESTS: usize = 16;
/// Blocked addresses kept at most.
const MAX_BLOCKED: usize = 1024;

/// Access of an address to the iOS endpoint.
#[derive(Debug, Clone)]
pub(crate) enum AppAccess {
    Allowed(Arc<Pass>),
    /// Recently declined, or its request timed out.
    Blocked,
    /// Needs approval: [`super::Devices::request_access`].
    Ask,
}

/// An allowed address.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) pass: Arc<Pass>,
    /// Milliseconds since the epoch.
    pub(crate) allowed_at: i64,
    pub(crate) until: Deadline,
    /// Revokes the pass on drop, which closes its connections.
    _revoked: DropGuard,
}

/// Allowed and blocked addresses.
#[derive(Debug, Default)]
pub(crate) struct Apps {
    allowed: HashMap<IpAddr, App>,
    blocked: HashMap<IpAddr, Deadline>,
}

impl Apps {
    pub(crate) fn access(&self, address: IpAddr) -> AppAccess {
        match (self.allowed.get(&address), self.blocked.get(&address)) {
            (Some(app), _) if !app.until.is_over() => AppAccess::Allowed(app.pass.clone()),
            (_, Some(until)) if !until.is_over() => AppAccess::Blocked,
            _ => AppAccess::Ask,
        }
    }

    pub(crate) fn allow(&mut self, address: IpAddr, name: &str, scope: Scope) {
        self.blocked.remove(&address);
        let allowed_at = openagents_sessions::store::now_ms();
        let pass = Pass::new(Who::App(address), scope, name);
        let (_revoked, until) = (pass.revoked.clone().drop_guard(), Deadline::after(ALLOWED));
        self.allowed.insert(address, App { pass, allowed_at, until, _revoked });
    }

    pub(crate) fn block(&mut self, address: IpAddr) {
        if self.blocked.len() >= MAX_BLOCKED {
            self.blocked.retain(|_, until| !until.is_over());
        }
        if self.blocked.len() < MAX_BLOCKED {
            self.blocked.insert(address, Deadline::after(BLOCKED_FOR));
        }
    }

    /// Closes the connections of an address and blocks it: the app reconnects by itself every second. Returns its name.
    pub(crate) fn revoke(&mut self, address: IpAddr) -> Option<String> {
        let app = self.allowed.remove(&address)?;
        self.block(address);
        Some(app.pass.name())
    }

    /// Closes all connections; the apps may ask again. Returns whether there was any.
    pub(crate) fn revoke_all(&mut self) -> bool {
        !std::mem::take(&mut self.allowed).is_empty()
    }

    /// Closes expired connections; the apps may ask again.
    pub(crate) fn expire(&mut self) {
        self.allowed.retain(|_, app| !app.until.is_over());
    }

    /// Returns the allowed addresses, newest last.
    pub(crate) fn allowed(&self) -> Vec<(IpAddr, &App)> {
        let mut apps: Vec<_> = self.allowed.iter().map(|(address, app)| (*address, app)).collect();
        apps.sort_by_key(|(address, app)| (app.allowed_at, *address));
        apps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn addresses_are_not_allowed_on_another_network() {
        let (mut apps, phone) = (Apps::default(), IpAddr::from([192, 168, 1, 7]));
        assert!(!apps.revoke_all());
        apps.allow(phone, "Phone", Scope::Prompt);
        let AppAccess::Allowed(pass) = apps.access(phone) else { panic!("it was allowed") };
        assert!(apps.revoke_all() && pass.is_revoked());
        // Not blocked: approval is requested again.
        assert!(matches!(apps.access(phone), AppAccess::Ask));
    }
}
