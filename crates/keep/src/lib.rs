//! Compressed copies of files that other programs write, rewrite and delete.
//!
//! A *collection* is a set of files that belong together, such as the log of a session and the files beside it. A file
//! that grows is appended to; one that was rewritten gets a new *version*, and the old one stays unless the new one
//! contains all of it.
//!
//! New bytes go to a journal. Sealing cuts them at the values of their JSON, stores each value once for all files, and
//! compresses the rest in order. At any moment, a kill or a loss of power loses nothing that was captured:
//!
//! 1. bytes: journal, `fsync`, then the row of the version;
//! 2. sealing: pack, `fsync`, rename, then the rows in one transaction, `fsync`, and only then is the journal removed.
//!
//! # Layers
//!
//! See `tests/layers`, which checks this table.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 0 | `cut` | the parts of a file that may occur again |
//! | 0 | `recipe` | where the bytes of a file are stored |
//! | 0 | `pack` | compressed frames in files |
//! | 1 | `store` | the folder, its database, and its journal |
//! | 2 | `links` | files that must not vanish before they are captured |
//! | 2 | `reading` | the bytes of a version, and whether they are damaged |
//! | 2 | `spare` | room for erasing on a full disk |
//! | 3 | `sealing` | from the journal into packs |
//! | 4 | `erasing` | removing versions without a trace |
//! | 5 | `capture` | what is new in a file |
//! | 5 | `recompressing` | packs that are compressed again |

mod capture;
mod cut;
mod erasing;
mod links;
mod pack;
mod reading;
mod recipe;
mod recompressing;
mod sealing;
mod spare;
mod store;

pub use capture::Captured;
pub use links::Endangered;
pub use reading::{Damage, DamagedFile, Verified};
pub use sealing::{FULL_JOURNAL, Sealing};
pub use store::{Collection, CopyStore, KeepError, KeptFile, Rewritten, Sizes};
