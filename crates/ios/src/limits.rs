//! The limits of the endpoint.

/// Maximum bytes of a frame.
pub(crate) const IOS_FRAME: usize = 1 << 20;
/// Maximum bytes of an output, as compact JSON, that the app shows.
pub(crate) const IOS_OUTPUT: usize = 16_384;
/// Maximum bytes of a whole answer; the app closes its socket at 1 MiB.
pub(crate) const IOS_ANSWER: usize = 900_000;
