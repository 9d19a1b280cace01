//! Where a phone was when its socket broke. The app does not resume sessions, so its address does.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// A phone that stays away longer begins afresh.
const KEEP: Duration = Duration::from_secs(600);
/// Addresses that are remembered.
const ADDRESSES: usize = 256;

/// The session that a broken connection named last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) session_id: Arc<str>,
    /// The last update that was fully written to the old socket.
    pub(super) written: u64,
    /// The connections that this phone had: their prompts are its own.
    pub(super) own: Vec<Arc<str>>,
}

/// Places by address.
#[derive(Debug, Default)]
pub(crate) struct Resumes(Mutex<HashMap<IpAddr, (Instant, Place)>>);

impl Resumes {
    pub(super) fn put(&self, address: IpAddr, place: Place) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= ADDRESSES {
            places.retain(|_, (since, _)| since.elapsed() < KEEP);
        }
        if places.len() < ADDRESSES {
            places.insert(address, (Instant::now(), place));
        }
    }

    pub(super) fn take(&self, address: IpAddr) -> Option<Place> {
        let (since, place) = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&address)?;
        (since.elapsed() < KEEP).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_place_is_taken_once_and_not_for_ever() {
        let (resumes, address) = (Resumes::default(), IpAddr::from([10, 0, 0, 7]));
        let place = Place { session_id: "s".into(), written: 3, own: vec!["c".into()] };
        resumes.put(address, place.clone());
        assert_eq!(resumes.take(address), Some(place.clone()));
        assert_eq!(resumes.take(address), None);
        resumes.put(address, place);
        tokio::time::advance(KEEP).await;
        assert_eq!(resumes.take(address), None);
    }
}
