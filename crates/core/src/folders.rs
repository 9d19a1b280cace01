//! Our folders on disk, and files in them that only their owner may read.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

/// Environment variable for the data folder: database, token, models.
pub const HOME_VARIABLE: &str = "OPENAGENTS_HOME";

/// Returns `$OPENAGENTS_HOME`, otherwise the platform's data folder: `~/Library/Application
/// Support/com.openagents.desktop` on macOS, `$XDG_DATA_HOME/openagents` (`~/.local/share/openagents`) on Linux. `None`
/// without a home folder.
pub fn data_folder() -> Option<PathBuf> {
    data_folder_from(&|name| std::env::var_os(name))
}

/// Returns the folder of model files: `$OPENAGENTS_HOME/models`, otherwise `~/.openagents/models`. `None` without a
/// home folder.
pub fn models_folder() -> Option<PathBuf> {
    models_folder_from(&|name| std::env::var_os(name))
}

fn models_folder_from(lookup: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let moved = lookup(HOME_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let home = moved.or_else(|| Some(directories::BaseDirs::new()?.home_dir().join(".openagents")))?;
    Some(home.join("models"))
}

fn data_folder_from(lookup: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let moved = lookup(HOME_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let name = if cfg!(target_os = "macos") { "com.openagents.desktop" } else { "openagents" };
    moved.or_else(|| Some(directories::BaseDirs::new()?.data_dir().join(name)))
}

/// Creates a folder with access for its owner only.
pub fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Creates a database file with access for its owner only; SQLite's other files inherit that. Errors are ignored: they
/// occur again when SQLite opens the file.
pub fn create_private(path: &Path) {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_folder_ignores_empty_variable() {
        assert_eq!(data_folder_from(&|_| Some("/x".into())), Some(PathBuf::from("/x")));
        assert_eq!(data_folder_from(&|_| Some("".into())), data_folder_from(&|_| None));
        assert_eq!(models_folder_from(&|_| Some("/x".into())), Some(PathBuf::from("/x/models")));
    }
}
