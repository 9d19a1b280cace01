//! Pairing requests of devices that sent the right code.

use super::{
    code::compare_code, pairing::CodeRefusal, pairing::PAIRING_TIMEOUT, registry::Devices,
    registry::clean_name, requests::Kind, requests::RequestInfo,
};
use crate::base::token;
use std::net::IpAddr;

impl Devices {
    /// Files a pairing request for a device that knows the code. Returns the secret it polls with, the digits that both
    /// screens show, and the expiry in milliseconds since the epoch.
    pub(crate) fn claim(
        &self,
        code: &str,
        name: &str,
        address: IpAddr,
    ) -> Result<(String, String, i64), CodeRefusal> {
        let secret = token::new_token().map_err(CodeRefusal::Random)?;
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
        self.later(PAIRING_TIMEOUT, Self::tidy);
        self.changed();
        Ok((secret, compare, expires_at))
    }
}
