//! Pairing requests of devices that sent the right code.

use super::{
    audit_rows, audit_rows::AuditEntry, code::compare_code, pairing::CodeRefusal, pairing::PAIRING_TIMEOUT,
    registry::Devices, registry::clean_name, requests::Kind, requests::RequestInfo,
};
use crate::base::token;
use std::net::IpAddr;

/// Why a pairing code was not accepted.
#[derive(Debug)]
pub(crate) enum ClaimError {
    Refused(CodeRefusal),
    Random(getrandom::Error),
}

impl From<getrandom::Error> for ClaimError {
    fn from(error: getrandom::Error) -> Self {
        Self::Random(error)
    }
}

impl Devices {
    /// Files a pairing request for a device that knows the code. Returns the secret it polls with, the digits that both
    /// screens show, and the expiry in milliseconds since the epoch.
    pub(crate) fn claim(
        &self,
        code: &str,
        name: &str,
        address: IpAddr,
    ) -> Result<(String, String, i64), ClaimError> {
        let secret = token::new_token()?;
        let mut state = self.state();
        let was_shown = state.pairing.current().is_some();
        let checked = state.pairing.check(code, address);
        if was_shown && state.pairing.current().is_none() {
            drop(state);
            self.record_withdrawn(address);
            return Err(ClaimError::Refused(CodeRefusal::Wrong));
        }
        let number = checked.map_err(ClaimError::Refused)?;
        state.pairing.has_room().map_err(ClaimError::Refused)?;
        let compare = loop {
            let compare = compare_code()?;
            let taken = |info: &RequestInfo| info.compare.as_deref() == Some(&compare);
            if !state.requests.pending().iter().any(|request| taken(&request.info)) {
                break compare;
            }
        };
        let info = RequestInfo {
            kind: Kind::Pair,
            name: clean_name(name),
            address,
            compare: Some(compare.clone()),
            session: None,
        };
        let (id, outcome) = state.requests.add(info, PAIRING_TIMEOUT);
        let expires_at = state.requests.get(&id).map_or(0, |request| request.expires.at);
        state.pairing.claim(number, &secret, id, outcome);
        drop(state);
        self.tidy_after(PAIRING_TIMEOUT);
        self.changed();
        Ok((secret, compare, expires_at))
    }

    /// Records that the code was withdrawn after too many wrong guesses.
    fn record_withdrawn(&self, address: IpAddr) {
        let detail = "too many wrong codes".to_owned();
        let (address, action) = (address.to_string(), "pair.withdrawn".to_owned());
        let entry = AuditEntry { address, action, detail, ..AuditEntry::default() };
        self.write(move |store| audit_rows::record(store, entry));
        self.changed();
    }
}
