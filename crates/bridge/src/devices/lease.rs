//! Leases of authenticated connections.

use super::registry::Devices;
use crate::{admission::ConnectionSlot, base::pass::Pass};
use std::{net::IpAddr, sync::Arc};

/// An authenticated connection. Dropping the last clone frees its slot and stores the device's last-seen time.
pub(crate) struct ConnectionLease {
    pub(crate) pass: Arc<Pass>,
    pub(crate) address: IpAddr,
    devices: Arc<Devices>,
    _slot: ConnectionSlot,
}

impl ConnectionLease {
    pub(crate) fn begin(
        devices: Arc<Devices>,
        pass: Arc<Pass>,
        address: IpAddr,
        slot: ConnectionSlot,
    ) -> Arc<Self> {
        devices.seen(&pass, address, 1);
        Arc::new(Self { pass, address, devices, _slot: slot })
    }

    pub(crate) fn touch(&self) {
        self.devices.seen(&self.pass, self.address, 0);
    }
}

impl Drop for ConnectionLease {
    fn drop(&mut self) {
        self.devices.seen(&self.pass, self.address, -1);
    }
}
