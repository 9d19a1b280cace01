//! Devices that send the code, and wait for a person from then on.

use super::audit_rows::{self, AuditEntry};
use super::{
    Asking, Devices, Kind,
    code::compare_code,
    pairing::{PATIENCE, Refusal},
    registry::clean_name,
};
use crate::auth;
use std::net::IpAddr;

/// Why a device may not wait.
#[derive(Debug)]
pub(super) enum ClaimError {
    Refused(Refusal),
    Random(getrandom::Error),
}

impl From<getrandom::Error> for ClaimError {
    fn from(error: getrandom::Error) -> Self {
        Self::Random(error)
    }
}

impl Devices {
    /// Lets a device that knows the code wait for a person. Returns the secret that it asks with, the digits that both
    /// screens show, and when its time is over in milliseconds since the epoch.
    pub(super) fn claim(
        &self,
        code: &str,
        name: &str,
        address: IpAddr,
    ) -> Result<(String, String, i64), ClaimError> {
        let secret = auth::new_token()?;
        let mut state = self.state();
        let was_shown = state.pairing.current().is_some();
        let judged = state.pairing.judge(code, address);
        if was_shown && state.pairing.current().is_none() {
            drop(state);
            self.withdrawn(address);
            return Err(ClaimError::Refused(Refusal::Wrong));
        }
        let number = judged.map_err(ClaimError::Refused)?;
        state.pairing.has_room().map_err(ClaimError::Refused)?;
        let compare = loop {
            let compare = compare_code()?;
            let taken = |asking: &Asking| asking.compare.as_deref() == Some(&compare);
            if !state.requests.waiting().iter().any(|request| taken(&request.asking)) {
                break compare;
            }
        };
        let asking = Asking {
            kind: Kind::Pair,
            name: clean_name(name),
            address,
            compare: Some(compare.clone()),
            session: None,
        };
        let (id, waiting) = state.requests.ask(asking, PATIENCE);
        let expires_at = state.requests.get(&id).map_or(0, |request| request.expires.at);
        state.pairing.claim(number, &secret, id, waiting);
        drop(state);
        self.tidy_after(PATIENCE);
        self.changed();
        Ok((secret, compare, expires_at))
    }

    /// Tells the desktop that its code is worth nothing any more: too many have guessed.
    fn withdrawn(&self, address: IpAddr) {
        let detail = "too many wrong codes".to_owned();
        let (address, action) = (address.to_string(), "pair.withdrawn".to_owned());
        let entry = AuditEntry { address, action, detail, ..AuditEntry::default() };
        self.write(move |store| audit_rows::record(store, entry));
        self.changed();
    }
}
