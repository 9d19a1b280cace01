//! Files named by a question, and paths in transcripts relative to the workspace.

use globset::{GlobBuilder, GlobMatcher};
use openagents_core::git::{WorktreeScope, real_path};
use std::{
    collections::HashMap,
    path::{Component, Path, PathBuf},
};

/// A path, a glob or the name of a file in a question.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    /// As written, without `./` and a trailing `/`.
    pub(super) text: String,
    lower: String,
    glob: Option<GlobMatcher>,
}

impl Scope {
    /// Parses a path; `None` for text that is not a path, such as `and/or`.
    pub(super) fn new(written: &str) -> Option<Self> {
        let text = written.trim_start_matches("./").trim_matches(',').trim_end_matches('/');
        if text.is_empty() || ["and/or", "he/she", "n/a", "e.g", "i.e", "z.b", "u.a"].contains(&text) {
            return None;
        }
        let glob = text.contains(['*', '{']).then(|| {
            let anywhere = format!("{{{text},**/{text}}}");
            let glob = GlobBuilder::new(&anywhere).literal_separator(true).case_insensitive(true).build();
            glob.ok().map(|glob| glob.compile_matcher())
        });
        Some(Self { text: text.to_owned(), lower: text.to_lowercase(), glob: glob.flatten() })
    }

    /// Returns a literal that a transcript mentioning the file must contain; `None` for a glob.
    pub(super) fn literal(&self) -> Option<&str> {
        if self.glob.is_some() { None } else { self.text.rsplit('/').next() }
    }

    /// Returns whether it matches a path relative to the workspace.
    pub(super) fn holds(&self, path: &str) -> bool {
        if let Some(glob) = &self.glob {
            return glob.is_match(path);
        }
        let wanted = self.lower.trim_start_matches('/');
        format!("/{}/", path.to_lowercase()).contains(&format!("/{wanted}/"))
    }

    pub(super) fn is_named_in(&self, lower: &str) -> bool {
        lower.contains(&self.lower)
    }
}

/// Converts recorded paths to paths relative to the workspace, including its other worktrees.
#[derive(Debug)]
pub(super) struct Places {
    /// Longest first: a worktree may be inside the workspace.
    folders: Vec<PathBuf>,
    known: HashMap<PathBuf, PathBuf>,
}

impl Places {
    pub(super) fn new(scope: &WorktreeScope) -> Self {
        let mut folders = scope.folders().to_vec();
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.as_os_str().len()));
        Self { folders, known: HashMap::new() }
    }

    /// Returns the path with `/` between its components; `None` if it is outside.
    pub(super) fn relative(&mut self, recorded: &str, cwd: &Path, now: &Path) -> Option<String> {
        let plain = Path::new(recorded.strip_prefix("file://").unwrap_or(recorded));
        let real_cwd = self.known.entry(cwd.to_owned()).or_insert_with(|| real_path(now));
        let absolute = clean(&match plain.strip_prefix(cwd) {
            Ok(inside) => real_cwd.join(inside),
            Err(_) if plain.is_relative() => real_cwd.join(plain),
            // The folder may have been recorded through a link.
            Err(_) => through_link(plain, cwd, real_cwd).unwrap_or_else(|| plain.to_owned()),
        });
        let inside = self.folders.iter().find_map(|folder| absolute.strip_prefix(folder).ok())?;
        let parts: Vec<_> = inside.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        (!parts.is_empty()).then(|| parts.join("/"))
    }
}

/// Replaces the prefix of `path` in the same way as `cwd` became `real_cwd`.
fn through_link(path: &Path, cwd: &Path, real_cwd: &Path) -> Option<PathBuf> {
    let (mut link, mut target) = (cwd, real_cwd);
    while let (Some(a), Some(b)) = (link.file_name(), target.file_name()) {
        if a != b {
            break;
        }
        (link, target) = (link.parent()?, target.parent()?);
    }
    Some(target.join(path.strip_prefix(link).ok()?))
}

/// Removes `.` and `..` lexically.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            part => clean.push(part),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_hold_paths() {
        let rows = [
            ("packages/web", "packages/web/src/app.ts", true),
            ("packages/web/", "packages/web", true),
            ("packages/web", "packages/webhooks/a.ts", false),
            ("web/src", "packages/web/src/app.ts", true),
            ("app.ts", "packages/web/src/app.ts", true),
            ("App.ts", "packages/web/src/app.ts", true),
            ("app.ts", "packages/web/src/my-app.ts", false),
            ("src/**/*.rs", "src/net/mod.rs", true),
            ("*.ts", "packages/web/src/app.ts", true),
            ("*.ts", "packages/web/src/app.tsx", false),
        ];
        for (scope, path, expected) in rows {
            assert_eq!(Scope::new(scope).unwrap().holds(path), expected, "{path} in {scope}");
        }
        assert!(Scope::new("and/or").is_none());
    }

    #[test]
    fn linked_paths_belong_to_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("real/sub")).unwrap();
        std::os::unix::fs::symlink(base.join("real"), base.join("link")).unwrap();
        let mut places = Places::new(&WorktreeScope::new(&base.join("real")));
        let link = base.join("link");
        let recorded = |path: &str| link.join(path).to_string_lossy().into_owned();
        for (path, cwd, expected) in [
            (recorded("src/a.rs"), link.clone(), Some("src/a.rs")),
            (recorded("src/a.rs"), link.join("sub"), Some("src/a.rs")),
            ("src/a.rs".into(), link.clone(), Some("src/a.rs")),
            ("../src/a.rs".into(), link.join("sub"), Some("src/a.rs")),
            ("/elsewhere/a.rs".into(), link.clone(), None),
            ("../a.rs".into(), link, None),
        ] {
            assert_eq!(places.relative(&path, &cwd, &cwd).as_deref(), expected, "{path}");
        }
    }
}
