//! Limits shared by several modules. Other limits are defined next to the code that they bound.

use std::time::Duration;

/// Maximum bytes of a frame before `initialize` on the iOS endpoint.
pub(crate) const UNAUTHENTICATED_FRAME: usize = 64 << 10;
/// Maximum bytes of a frame on the iOS endpoint.
pub(crate) const IOS_FRAME: usize = 1 << 20;
/// Maximum bytes of a frame on the ACP endpoint.
pub(crate) const ACP_FRAME: usize = 16 << 20;
/// Maximum bytes of an output, as compact JSON, that the iOS app shows.
pub(crate) const IOS_OUTPUT: usize = 16_384;
/// Maximum bytes of a whole answer on the iOS endpoint; the app closes its socket at 1 MiB.
pub(crate) const IOS_ANSWER: usize = 900_000;
/// Maximum bytes of an output for ACP clients.
pub(crate) const ACP_OUTPUT: usize = 256 << 10;
/// Bytes of each socket buffer, an eighth of the library's default.
pub(crate) const SOCKET_BUFFER: usize = 16 << 10;
/// A connection ends if its reader takes no frame for this long.
pub(crate) const STUCK: Duration = Duration::from_secs(30);
