//! Leases of authenticated connections.

use super::registry::Devices;
use crate::{
    admission::ConnectionSlot,
    base::{pass::Pass, pass::Who},
};
use std::{net::IpAddr, sync::Arc};

/// An authenticated connection. Dropping the last clone frees its slot and stores the time.
#[derive(Debug)]
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
        devices.connected(&pass, address);
        Arc::new(Self { pass, address, devices, _slot: slot })
    }

    /// Updates the time the device was last seen.
    pub(crate) fn touch(&self) {
        if let Who::Device(id) = &self.pass.who {
            self.devices.seen(id, self.address, false);
        }
    }
}

impl Drop for ConnectionLease {
    fn drop(&mut self) {
        self.devices.disconnected(&self.pass, self.address);
    }
}
