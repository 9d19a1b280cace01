//! Limits that hold in more than one module. Others stand beside the code that they bound.

use std::time::Duration;

/// Bytes of a frame before `initialize` on the iOS endpoint.
pub(crate) const UNAUTHENTICATED_FRAME: usize = 64 << 10;
/// Bytes of a frame on the iOS endpoint.
pub(crate) const IOS_FRAME: usize = 1 << 20;
/// Bytes of a frame on the ACP endpoint.
pub(crate) const ACP_FRAME: usize = 16 << 20;
/// Bytes of compact JSON up to which the iOS app shows an output.
pub(crate) const IOS_OUTPUT: usize = 16_384;
/// Bytes of a whole answer on the iOS endpoint; the app's socket ends at 1 MiB.
pub(crate) const IOS_ANSWER: usize = 900_000;
/// Bytes of an output for ACP clients.
pub(crate) const ACP_OUTPUT: usize = 256 << 10;
/// Bytes of each socket buffer, an eighth of the library's default.
pub(crate) const SOCKET_BUFFER: usize = 16 << 10;
/// A reader that takes no frame for this time ends its connection.
pub(crate) const STUCK: Duration = Duration::from_secs(30);
