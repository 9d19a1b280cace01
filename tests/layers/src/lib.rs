//! Holds the modules of a crate to the table of layers at the head of its `lib.rs`, and its files to imports without
//! circles. Each crate has a test that calls [`check`].

mod circles;
mod imports;
mod names;
mod source;
mod table;

use anyhow::{Result, ensure};
use std::path::Path;

/// Longest file, without its tests.
const LINES: usize = 400;

/// Checks the layers of a crate, and looks for circles of files, for names that two types share and for long files. `manifest` is the folder of its `Cargo.toml`.
///
/// # Errors
///
/// Names every module of the table that does not exist or is missing, every import of a module that is not in a lower
/// layer, every circle of files, every name of two public types, and every file that is too long.
pub fn check(manifest: impl AsRef<Path>) -> Result<()> {
    let files = source::files(&manifest.as_ref().join("src"))?;
    let root = source::crate_root(&manifest.as_ref().join("src"))?;
    let layers = table::layers(&std::fs::read_to_string(root)?);
    let mut faults = table::faults(&layers, &files);
    faults.extend(files.iter().flat_map(|file| table::upward(file, &layers)));
    faults.extend(circles::circles(&files));
    faults.extend(names::repeated(&files));
    let long = files.iter().filter(|file| file.lines > LINES);
    faults.extend(
        long.map(|file| format!("{}: {} lines; {LINES} at most without tests", file.name(), file.lines)),
    );
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}
