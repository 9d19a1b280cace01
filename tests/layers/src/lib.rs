//! Checks the modules of each crate against the table of layers at the top of its root file, and its files for import
//! cycles. A module uses only modules of lower layers. `tests/crates.rs` calls [`check`] for every crate.

mod cycles;
mod imports;
mod source;
mod table;

use anyhow::{Result, ensure};
use std::path::Path;

/// Checks a crate's layers, and searches for import cycles. `manifest` is the folder of its `Cargo.toml`.
///
/// # Errors
///
/// Names every module that is missing from the table or does not exist, every import of a module that is not in a
/// lower layer, and every import cycle.
pub fn check(manifest: impl AsRef<Path>) -> Result<()> {
    let files = source::files(&manifest.as_ref().join("src"))?;
    let root = source::crate_root(&manifest.as_ref().join("src"))?;
    let layers = table::layers(&std::fs::read_to_string(root)?);
    let mut faults = table::faults(&layers, &files);
    faults.extend(files.iter().flat_map(|file| table::upward(file, &layers)));
    faults.extend(cycles::cycles(&files));
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}
