//! Limits shared by several modules. Other limits are defined next to the code that they bound.

use std::time::Duration;

/// Maximum bytes of a frame from a client that has not authenticated.
pub const UNAUTHENTICATED_FRAME: usize = 64 << 10;
/// Bytes of each socket buffer, an eighth of the library's default.
pub const SOCKET_BUFFER: usize = 16 << 10;
/// A connection ends if its reader takes no frame for this long.
pub const STUCK: Duration = Duration::from_secs(30);
