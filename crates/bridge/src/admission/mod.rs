//! Limits on connections, sockets and frames: per address, per device and in total.

mod address;
pub(crate) mod caller;
pub(crate) mod counts;
pub(crate) mod queue;
#[cfg(test)]
mod tests;
pub(crate) mod unauthenticated;

pub(crate) use address::one_address;
pub(crate) use unauthenticated::Unauthenticated;

use crate::base::{listener::Listener, pass::Pass, pass::Who};
use counts::{Counted, Counts};
use queue::{SlotKind, SlotQueue};
use std::{net::IpAddr, sync::Arc};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use unauthenticated::{UNAUTHENTICATED, UNAUTHENTICATED_PER_ADDRESS};

/// Authenticated connections, in total.
const TOTAL: usize = 2048;
/// Connections of one device, or iOS connections of one address.
const PER_DEVICE: usize = 64;
/// Sockets of one device: its connections, and other requests.
const SOCKETS_PER_DEVICE: usize = 2 * PER_DEVICE;
/// Delayed refusals; further ones are sent at once.
const REFUSALS: usize = 64;
/// Delayed refusals of one address.
const REFUSALS_PER_ADDRESS: usize = 16;
/// Sockets in total. Connections that are being closed still hold theirs.
const SOCKETS: usize = TOTAL + 2 * (UNAUTHENTICATED + REFUSALS);
/// Sockets reserved for the loopback listener.
const RESERVED: usize = 128;

/// Raises the limit of open files to the maximum allowed; some systems start with 256.
pub(crate) fn raise_file_handles() {
    #[cfg(unix)]
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "could not raise the limit of open files");
    }
}

/// Counts connections and sockets.
#[derive(Debug)]
pub(crate) struct Limits {
    sockets: Arc<Semaphore>,
    sockets_of_network: Arc<Semaphore>,
    sockets_of: Arc<Counts<Who>>,
    /// Separate queues, so that the network takes no slot from this machine.
    unauthenticated: Arc<SlotQueue>,
    unauthenticated_of_network: Arc<SlotQueue>,
    refusals: Arc<Semaphore>,
    refusals_of: Arc<Counts<IpAddr>>,
    total: Arc<Semaphore>,
    devices: Arc<Counts<Who>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sockets: Arc::new(Semaphore::new(SOCKETS)),
            sockets_of_network: Arc::new(Semaphore::new(SOCKETS - RESERVED)),
            sockets_of: Arc::default(),
            unauthenticated: SlotQueue::new(UNAUTHENTICATED_PER_ADDRESS, UNAUTHENTICATED),
            unauthenticated_of_network: SlotQueue::new(UNAUTHENTICATED_PER_ADDRESS, UNAUTHENTICATED),
            refusals: Arc::new(Semaphore::new(REFUSALS)),
            refusals_of: Arc::default(),
            total: Arc::new(Semaphore::new(TOTAL)),
            devices: Arc::default(),
        }
    }
}

/// A slot among all connections, and among those of a device or an address.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    _total: OwnedSemaphorePermit,
    _of_device: Option<Counted<Who>>,
}

/// A slot for a delayed refusal.
#[derive(Debug)]
pub(crate) struct DelayedRefusal {
    _total: OwnedSemaphorePermit,
    _of_address: Counted<IpAddr>,
}

impl Limits {
    /// Takes a slot for an accepted socket of `address`. `None` when there are too many sockets in total.
    pub(crate) fn unauthenticated(&self, address: IpAddr, listener: Listener) -> Option<Unauthenticated> {
        let (unauthenticated, of_network) = match listener {
            Listener::Loopback => (&self.unauthenticated, None),
            Listener::Web | Listener::App => {
                let of_network = self.sockets_of_network.clone().try_acquire_owned().ok()?;
                (&self.unauthenticated_of_network, Some(of_network))
            }
        };
        let socket = self.sockets.clone().try_acquire_owned().ok()?;
        let queued = unauthenticated.take(address, SlotKind::Evictable)?;
        Some(Unauthenticated::new(queued, (socket, of_network)))
    }

    /// Keeps a connection that authenticated with `pass` until that is revoked. Returns `false` when its device has too
    /// many sockets.
    pub(crate) fn authenticate(&self, unauthenticated: &Unauthenticated, pass: &Pass) -> bool {
        if unauthenticated.is_authenticated(&pass.who) {
            return true;
        }
        let counted = match &pass.who {
            Who::Local => None,
            who => match self.sockets_of.take(who.clone(), SOCKETS_PER_DEVICE) {
                Some(counted) => Some(counted),
                None => return false,
            },
        };
        unauthenticated.authenticate(pass, counted);
        true
    }

    /// Takes a slot for a delayed refusal.
    pub(crate) fn refusal(&self, address: IpAddr) -> Option<DelayedRefusal> {
        let of_address = self.refusals_of.take(one_address(address), REFUSALS_PER_ADDRESS)?;
        Some(DelayedRefusal {
            _total: self.refusals.clone().try_acquire_owned().ok()?,
            _of_address: of_address,
        })
    }

    /// Takes a slot for an ACP connection. The local user has no limit of its own.
    pub(crate) fn acp(&self, who: &Who) -> Option<ConnectionSlot> {
        match who {
            Who::Local => self.slot(None),
            who => self.slot(Some(who)),
        }
    }

    /// Takes a slot for an iOS connection of `address`.
    pub(crate) fn ios(&self, address: IpAddr) -> Option<ConnectionSlot> {
        self.slot(Some(&Who::App(one_address(address))))
    }

    fn slot(&self, who: Option<&Who>) -> Option<ConnectionSlot> {
        let of_device = match who {
            Some(who) => Some(self.devices.take(who.clone(), PER_DEVICE)?),
            None => None,
        };
        Some(ConnectionSlot { _total: self.total.clone().try_acquire_owned().ok()?, _of_device: of_device })
    }
}
