//! Aliases of the workspace in paths written by users and models.

use super::{
    directory::Workspace,
    error::{self, PathError},
};
use std::path::{Component, Path, PathBuf};

impl Workspace {
    /// Converts a path written by a user or a model to one relative to the workspace; `.` is the workspace itself.
    /// The path need not exist. Fails with [`PathError::Outside`] if it leads out.
    pub fn resolve(&self, input: &str) -> Result<PathBuf, PathError> {
        let outside = || PathError::Outside(input.to_owned());
        let written = relative(input, self).ok_or_else(outside)?;
        let path = collapse(&written).ok_or_else(outside)?;
        match self.dir.canonicalize(&path) {
            Ok(_) => Ok(path),
            Err(error) if error::escapes(&error) => self.through_absolute_link(&path).ok_or_else(outside),
            // Missing, unreadable, or a loop: opening it returns the actual error.
            Err(_) => Ok(path),
        }
    }

    /// Returns the target's own path for a symlink with an absolute target inside the workspace. A directory handle
    /// rejects such links as leading out.
    fn through_absolute_link(&self, path: &Path) -> Option<PathBuf> {
        let real = std::fs::canonicalize(self.root.join(path)).ok()?;
        collapse(real.strip_prefix(&self.root).ok()?)
    }
}

/// Strips the aliases of the workspace. The result may contain `..`; `None` for an absolute path elsewhere.
fn relative(input: &str, workspace: &Workspace) -> Option<PathBuf> {
    let text = input.trim();
    if text.contains('\0') {
        return None;
    }
    let expanded = expand(text, workspace);
    let path = Path::new(&expanded);
    // The real path is checked first: a root such as `/workspace/app` or `/path/to/app` is not its own alias.
    if path.is_absolute()
        && let Some(rest) = beneath(path, workspace.root())
    {
        return Some(rest);
    }
    let bare = expanded.trim_matches('/');
    // Existing names win: Bazel has a file named WORKSPACE.
    let means_all = bare.eq_ignore_ascii_case("workspace") && !workspace.is_file(Path::new(bare));
    if bare.is_empty() || bare == "." || means_all {
        return Some(PathBuf::from("."));
    }
    let was_absolute = expanded.starts_with('/');
    let rest =
        strip(bare, "path/to").or_else(|| strip_directory(bare, "workspace", workspace)).unwrap_or(bare);
    let named = strip_directory(rest, workspace.name(), workspace);
    match named {
        Some(inside) => Some(dot_if_empty(inside)),
        // Any other absolute path is outside the workspace.
        None if was_absolute && rest.len() == bare.len() => None,
        None => Some(dot_if_empty(rest)),
    }
}

/// Expands `file://` and `~`.
fn expand(text: &str, workspace: &Workspace) -> String {
    let local = text.strip_prefix("file://").map(|rest| {
        let path = rest.strip_prefix("localhost").unwrap_or(rest);
        percent_encoding::percent_decode_str(path).decode_utf8_lossy().into_owned()
    });
    let text = local.unwrap_or_else(|| text.to_owned());
    let from_home = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (from_home, &workspace.home) {
        (Some(rest), Some(home)) => format!("{}{rest}", home.display()),
        _ => text,
    }
}

/// Returns the part of `path` below `root`, even if `path` goes through a symlink.
fn beneath(path: &Path, root: &Path) -> Option<PathBuf> {
    if let Ok(rest) = path.strip_prefix(root) {
        return Some(rest.to_path_buf());
    }
    // `/tmp/x` is `/private/tmp/x` on macOS, so the canonical existing parts are compared.
    let existing = path.ancestors().find(|part| part.exists())?;
    let real = std::fs::canonicalize(existing).ok()?;
    let rest = path.strip_prefix(existing).ok()?;
    real.strip_prefix(root).ok().map(|inside| inside.join(rest))
}

fn strip<'a>(bare: &'a str, leading: &str) -> Option<&'a str> {
    let rest = bare.strip_prefix(leading)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// Strips one leading directory `name`, unless it exists in the workspace.
fn strip_directory<'a>(bare: &'a str, name: &str, workspace: &Workspace) -> Option<&'a str> {
    strip(bare, name).filter(|_| !workspace.exists(Path::new(name)))
}

fn dot_if_empty(rest: &str) -> PathBuf {
    PathBuf::from(if rest.is_empty() { "." } else { rest })
}

/// Removes `.` and `..` lexically; `None` if the path leads out or is absolute.
fn collapse(path: &Path) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            Component::ParentDir => clean.pop().then_some(())?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    if clean.as_os_str().is_empty() {
        clean.push(".");
    }
    Some(clean)
}
