//! Limits on connections, sockets and frames: per address, per device and in total.

pub mod queue;
#[cfg(test)]
mod tests;
pub mod unauthenticated;

pub use crate::admission::queue::limit_key;
use crate::admission::queue::{SlotKind, SlotQueue};
pub(crate) use crate::admission::unauthenticated::Unauthenticated;
use crate::admission::unauthenticated::{UNAUTHENTICATED, UNAUTHENTICATED_PER_ADDRESS};
use crate::{
    admission::unauthenticated::{Counted, Counts},
    pass::{Pass, Who},
};
use openagents_wire::Listener;
use std::{net::IpAddr, sync::Arc};

const TOTAL: usize = 2048;
/// Maximum number of connections of one device, or of iOS connections of one address.
const PER_DEVICE: usize = 64;
/// Maximum number of sockets of one device: its connections and other requests.
const SOCKETS_PER_DEVICE: usize = 2 * PER_DEVICE;
/// Maximum number of delayed refusals; further ones are sent at once.
const REFUSALS: usize = 64;
const REFUSALS_PER_ADDRESS: usize = 16;
/// Maximum number of sockets. A connection that is closing still holds its socket.
const SOCKETS: usize = TOTAL + 2 * (UNAUTHENTICATED + REFUSALS);
/// Sockets reserved for the loopback listener.
const RESERVED: usize = 128;

/// Raises the limit on open files to the maximum allowed; some systems start with 256.
pub fn raise_file_handles() {
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "could not raise the limit of open files");
    }
}

#[derive(Debug)]
pub struct Limits {
    /// Network sockets have a key, loopback sockets don't: see [`RESERVED`].
    sockets: Arc<Counts<()>>,
    sockets_of: Arc<Counts<Who>>,
    /// Separate queues, so that network connections cannot take slots from this machine.
    unauthenticated: Arc<SlotQueue>,
    unauthenticated_of_network: Arc<SlotQueue>,
    refusals: Arc<Counts<IpAddr>>,
    connections: Arc<Counts<Who>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sockets: Counts::new(SOCKETS, SOCKETS - RESERVED),
            sockets_of: Counts::new(usize::MAX, SOCKETS_PER_DEVICE),
            unauthenticated: SlotQueue::new(UNAUTHENTICATED_PER_ADDRESS, UNAUTHENTICATED),
            unauthenticated_of_network: SlotQueue::new(UNAUTHENTICATED_PER_ADDRESS, UNAUTHENTICATED),
            refusals: Counts::new(REFUSALS, REFUSALS_PER_ADDRESS),
            connections: Counts::new(TOTAL, PER_DEVICE),
        }
    }
}

/// A slot among all connections, and among those of a device or an address.
pub type ConnectionSlot = Counted<Who>;

pub type DelayedRefusal = Counted<IpAddr>;

impl Limits {
    /// Takes a slot for an accepted socket of `address`. `None` when there are too many sockets in total.
    pub fn unauthenticated(&self, address: IpAddr, listener: Listener) -> Option<Unauthenticated> {
        let (queue, key) = match listener {
            Listener::Loopback => (&self.unauthenticated, None),
            Listener::Web | Listener::App => (&self.unauthenticated_of_network, Some(())),
        };
        let socket = self.sockets.take(key)?;
        let queued = queue.take(address, SlotKind::Evictable)?;
        Some(Unauthenticated::new(queued, socket))
    }

    /// Keeps a connection that authenticated with `pass` until that is revoked. Returns `false` when its device has too
    /// many sockets.
    pub fn authenticate(&self, unauthenticated: &Unauthenticated, pass: &Pass) -> bool {
        if unauthenticated.is_authenticated(&pass.who) {
            return true;
        }
        let Some(counted) = self.sockets_of.take(device_key(&pass.who)) else { return false };
        unauthenticated.authenticate(pass, counted);
        true
    }

    pub fn delayed_refusal(&self, address: IpAddr) -> Option<DelayedRefusal> {
        self.refusals.take(Some(limit_key(address)))
    }

    pub fn ios_slot(&self, address: IpAddr) -> Option<ConnectionSlot> {
        self.slot(&Who::App(limit_key(address)))
    }

    pub fn slot(&self, who: &Who) -> Option<ConnectionSlot> {
        self.connections.take(device_key(who))
    }
}

/// Returns the key to count a client by. The local user has no limit of its own.
fn device_key(who: &Who) -> Option<Who> {
    (*who != Who::Local).then(|| who.clone())
}
