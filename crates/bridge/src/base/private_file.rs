//! Files that only their owner can read.

use openagents_sessions::store::create_folder;
use std::{
    io::{self, Write},
    path::Path,
};
use tempfile::NamedTempFile;

/// Writes a file and renames it into place, so that a reader sees either the old or the new text, and the new text
/// survives a power cut. Blocks.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    create_folder(folder)?;
    // Created with mode 0600.
    let mut draft = NamedTempFile::new_in(folder)?;
    draft.write_all(text.as_bytes())?;
    draft.as_file().sync_all()?;
    draft.persist(path).map_err(|error| error.error)?;
    // The file's name is stored in the folder, so the folder is synced too.
    #[cfg(unix)]
    std::fs::File::open(folder)?.sync_all()?;
    Ok(())
}
