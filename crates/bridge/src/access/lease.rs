//! A connection that was let in, for as long as it lasts.

use super::{Devices, Pass, Who};
use crate::limits::ConnectionSlot;
use std::{net::IpAddr, sync::Arc};

/// Who is connected and from where. When the last clone is dropped, the place is free again and the time is noted.
#[derive(Debug)]
pub(crate) struct ConnectionLease {
    pub(crate) pass: Arc<Pass>,
    pub(crate) address: IpAddr,
    devices: Arc<Devices>,
    _place: ConnectionSlot,
}

impl ConnectionLease {
    pub(super) fn begin(
        devices: Arc<Devices>,
        pass: Arc<Pass>,
        address: IpAddr,
        place: ConnectionSlot,
    ) -> Arc<Self> {
        devices.arrived(&pass, address);
        Arc::new(Self { pass, address, devices, _place: place })
    }

    /// Notes that it is still there.
    pub(crate) fn acts(&self) {
        if let Who::Device(id) = &self.pass.who {
            self.devices.seen(id, self.address, false);
        }
    }
}

impl Drop for ConnectionLease {
    fn drop(&mut self) {
        self.devices.left(&self.pass, self.address);
    }
}
