//! One connection: its transport, reading frames, sending, and the inspector.

pub(crate) mod event_stream;
pub(crate) mod inspect;
pub(crate) mod mailbox;
pub(crate) mod outbox;
pub(crate) mod serve;
pub(crate) mod socket;
