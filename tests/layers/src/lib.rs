//! Holds the modules of a crate to the table of layers at the head of its `lib.rs`, and its files to imports without
//! circles. Each crate has a test that calls [`check`].

mod circles;
mod imports;
mod source;
mod table;

use anyhow::{Result, ensure};
use source::File;
use std::path::Path;

/// Checks the layers of a crate and looks for circles of files. `manifest` is the folder of its `Cargo.toml`.
///
/// # Errors
///
/// Names every module of the table that does not exist or is missing, every import of a module that is not in a lower
/// layer, and every circle of files.
pub fn check(manifest: impl AsRef<Path>) -> Result<()> {
    let files = source::files(&manifest.as_ref().join("src"))?;
    let mut faults = layer_faults(manifest.as_ref(), &files)?;
    faults.extend(circles::circles(&files));
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

/// Checks the layers alone, as [`check`] does.
///
/// # Errors
///
/// See [`check`].
pub fn check_layers(manifest: impl AsRef<Path>) -> Result<()> {
    let files = source::files(&manifest.as_ref().join("src"))?;
    let faults = layer_faults(manifest.as_ref(), &files)?;
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

fn layer_faults(manifest: &Path, files: &[File]) -> Result<Vec<String>> {
    let root = source::crate_root(&manifest.join("src"))?;
    let layers = table::layers(&std::fs::read_to_string(root)?);
    let upward = files.iter().flat_map(|file| table::upward(file, &layers));
    Ok(table::faults(&layers, files).into_iter().chain(upward).collect())
}
