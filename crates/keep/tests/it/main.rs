//! A store on disk: whatever files do, every captured byte can be read again.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod erasing;
mod full_disk;
mod killed;
mod model;
mod savings;
mod support;
