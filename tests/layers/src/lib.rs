//! Checks a crate's modules against the table of layers at the top of its `lib.rs`, and its files for import cycles.
//! Each crate has a test that calls [`check`].

mod circles;
mod imports;
mod names;
mod source;
mod table;

use anyhow::{Result, ensure};
use source::File;
use std::path::Path;

/// Maximum lines of a file, without its tests.
const LINES: usize = 600;

/// Checks a crate's layers, and searches for import cycles, type names used twice and long files. `manifest` is the
/// folder of its `Cargo.toml`.
///
/// # Errors
///
/// Names every module that is missing from the table or does not exist, every import of a module that is not in a
/// lower layer, every import cycle, every name of two public types, and every file that is too long.
pub fn check(manifest: impl AsRef<Path>) -> Result<()> {
    let files = source::files(&manifest.as_ref().join("src"))?;
    let root = source::crate_root(&manifest.as_ref().join("src"))?;
    let layers = table::layers(&std::fs::read_to_string(root)?);
    let mut faults = table::faults(&layers, &files);
    faults.extend(files.iter().flat_map(|file| table::upward(file, &layers)));
    faults.extend(circles::circles(&files));
    faults.extend(names::repeated(&files));
    faults.extend(long(&files));
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

/// Returns one line for each file that is too long.
fn long(files: &[File]) -> Vec<String> {
    let long = files.iter().filter(|file| file.lines > LINES);
    long.map(|file| format!("{}: {} lines; {LINES} at most without tests", file.name(), file.lines)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_is_found_and_its_tests_do_not_count() {
        let product = "const A: u8 = 0;\n".repeat(LINES);
        let tested = format!("{product}\n#[cfg(test)]\nmod tests {{\n{product}}}\n");
        let files = [("a.rs", tested), ("b.rs", format!("{product}{product}"))]
            .map(|(path, text)| File::parse(Path::new(path), &text).unwrap());
        assert_eq!(long(&files[..1]), Vec::<String>::new());
        assert_eq!(long(&files), ["b: 1200 lines; 600 at most without tests"]);
    }
}
