//! `fs/*`: file access, limited to the workspace.

use super::frame::RpcError;
use crate::limits::FILE_BYTES;
use agent_client_protocol_schema::v1::{ReadTextFileRequest, WriteTextFileRequest};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use openagents_core::{agent::AccessLimits, workspace::Workspace};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

/// The files an agent may touch in one turn.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) workspace: Arc<Workspace>,
    include: Option<GlobSet>,
    globs: Vec<String>,
    max_files: Option<u32>,
    touched: Mutex<HashSet<PathBuf>>,
}

impl Access {
    /// Fails with an error sentence if a glob is invalid.
    pub(super) fn new(workspace: Arc<Workspace>, limits: &AccessLimits) -> Result<Self, String> {
        let mut include = GlobSetBuilder::new();
        for glob in &limits.include {
            let built = GlobBuilder::new(glob).literal_separator(true).build();
            include.add(built.map_err(|error| format!("files_include_glob: {error}"))?);
        }
        let include = include.build().map_err(|error| format!("files_include_glob: {error}"))?;
        Ok(Self {
            workspace,
            include: (!limits.include.is_empty()).then_some(include),
            globs: limits.include.clone(),
            max_files: limits.max_files,
            touched: Mutex::default(),
        })
    }

    /// Runs `work` on a file if the limits allow it. `work` gets the real path relative to the workspace: the limits
    /// apply to a link's target. A file counts as touched once it was opened or written.
    fn with_file<T>(
        &self,
        path: &Path,
        work: impl FnOnce(&Path) -> Result<T, RpcError>,
    ) -> Result<T, RpcError> {
        let path = resolve_links(&self.workspace, path)?;
        let shown = Workspace::shown(&path);
        if self.include.as_ref().is_some_and(|include| !include.is_match(&path)) {
            let globs = self.globs.join(", ");
            return Err(RpcError::refused(format!(
                "{shown} is outside of what this task may touch ({globs})"
            )));
        }
        // Held during the work: two concurrent calls could exceed the limit.
        let mut touched = self.touched.lock();
        if let Some(most) = self.max_files
            && !touched.contains(&path)
            && touched.len() >= most as usize
        {
            return Err(RpcError::refused(format!("{shown}: this task may touch {most} files, and has")));
        }
        let done = work(&path)?;
        touched.insert(path);
        Ok(done)
    }

    /// `fs/read_text_file`.
    pub(super) fn read_text_file(&self, params: Value) -> Result<Value, RpcError> {
        let request: ReadTextFileRequest =
            serde_json::from_value(params).map_err(RpcError::invalid_params)?;
        let (shown, file) = self.with_file(&request.path, |path| {
            let file =
                self.workspace.open_file(path).map_err(|error| RpcError::refused(error.to_string()))?;
            Ok((Workspace::shown(path), file))
        })?;
        let failed = |error: &dyn std::fmt::Display| RpcError::refused(format!("{shown}: {error}"));
        let mut input = BufReader::new(file.file);
        let first = request.line.unwrap_or(1).max(1);
        let is_part = request.line.is_some() || request.limit.is_some();
        let mut text = Vec::new();
        if is_part {
            let (mut number, last) = (1_u32, first.saturating_add(request.limit.unwrap_or(u32::MAX)));
            while number < last && text.len() <= FILE_BYTES {
                let kept = text.len();
                let room = (FILE_BYTES + 1 - kept) as u64;
                let count = input.by_ref().take(room).read_until(b'\n', &mut text);
                if count.map_err(|error| failed(&error))? == 0 {
                    break;
                }
                let is_whole = text.ends_with(b"\n");
                if number < first {
                    text.truncate(kept);
                }
                number += u32::from(is_whole);
            }
        } else {
            let read = input.take(FILE_BYTES as u64 + 1).read_to_end(&mut text);
            read.map_err(|error| failed(&error))?;
        }
        if text.len() > FILE_BYTES {
            let most = FILE_BYTES >> 20;
            return Err(failed(&format!("more than {most} MiB; read a part of it with `line` and `limit`")));
        }
        let content = String::from_utf8(text).map_err(|_| failed(&"not UTF-8 text"))?;
        Ok(json!({"content": content}))
    }

    /// `fs/write_text_file`. Returns the canonical path of the file.
    pub(super) fn write_text_file(&self, params: Value) -> Result<PathBuf, RpcError> {
        let request: WriteTextFileRequest =
            serde_json::from_value(params).map_err(RpcError::invalid_params)?;
        self.with_file(&request.path, |path| {
            if request.content.len() > FILE_BYTES {
                let (shown, most) = (Workspace::shown(path), FILE_BYTES >> 20);
                return Err(RpcError::refused(format!("{shown}: more than {most} MiB are not written")));
            }
            let written = self.workspace.write_file(path, request.content.as_bytes());
            written.map_err(|error| RpcError::refused(error.to_string()))?;
            Ok(self.workspace.root().join(path))
        })
    }
}

/// Returns a path from the protocol relative to the workspace; it need not exist. Agents send absolute paths, which
/// are not corrected, unlike those that [`Workspace::resolve`] handles for models.
pub(super) fn beneath(workspace: &Workspace, path: &Path) -> Result<PathBuf, RpcError> {
    let outside = || RpcError::refused(format!("{} is outside the workspace", path.display()));
    let root = workspace.root();
    let inside = |path: &Path| path.strip_prefix(root).map(Path::to_path_buf).ok();
    let rest = if path.is_relative() {
        Some(path.to_path_buf())
    } else {
        // `/tmp/x` is `/private/tmp/x` on macOS: compare the real path of the longest existing part.
        inside(path).or_else(|| {
            let existing = path.ancestors().find(|part| part.exists())?;
            let real = inside(&std::fs::canonicalize(existing).ok()?)?;
            Some(real.join(path.strip_prefix(existing).ok()?))
        })
    };
    let whole = root.join(rest.ok_or_else(outside)?);
    let whole = whole.to_str().ok_or_else(outside)?;
    workspace.resolve(whole).map_err(|error| RpcError::refused(error.to_string()))
}

fn resolve_links(workspace: &Workspace, path: &Path) -> Result<PathBuf, RpcError> {
    let named = workspace.root().join(beneath(workspace, path)?);
    let outside = || RpcError::refused(format!("{} is outside the workspace", path.display()));
    let existing = named.ancestors().find(|part| part.exists()).ok_or_else(outside)?;
    let real = std::fs::canonicalize(existing).map_err(|_| outside())?;
    let inside = real.strip_prefix(workspace.root()).map_err(|_| outside())?;
    let rest = named.strip_prefix(existing).map_err(|_| outside())?;
    let whole: PathBuf = inside.components().chain(rest.components()).collect();
    Ok(if whole.as_os_str().is_empty() { ".".into() } else { whole })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn access(root: &Path, include: &[&str], max_files: Option<u32>) -> Access {
        let include = include.iter().map(|glob| (*glob).to_owned()).collect();
        let workspace = Workspace::open_for(root, None).unwrap();
        Access::new(Arc::new(workspace), &AccessLimits { include, max_files }).unwrap()
    }

    fn read_file(access: &Access, root: &Path, rest: Value) -> Result<String, String> {
        let mut params = json!({"sessionId": "s"});
        for (key, value) in rest.as_object().unwrap() {
            params[key] = value.clone();
        }
        params["path"] = root.join(rest["path"].as_str().unwrap()).display().to_string().into();
        let read = access.read_text_file(params).map_err(|error| error.message)?;
        Ok(read["content"].as_str().unwrap().to_owned())
    }

    #[test]
    fn read_returns_requested_lines() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("a.txt"), "one\ntwo\r\nthree").unwrap();
        fs::write(root.join("b.bin"), b"\xff\xfe").unwrap();
        fs::write(folder.path().join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret"), root.join("link")).unwrap();
        let access = access(&root, &[], None);
        let rows = [
            (json!({"path": "a.txt"}), Ok("one\ntwo\r\nthree")),
            (json!({"path": "a.txt", "line": 2}), Ok("two\r\nthree")),
            (json!({"path": "a.txt", "line": 2, "limit": 1}), Ok("two\r\n")),
            (json!({"path": "a.txt", "limit": 1}), Ok("one\n")),
            (json!({"path": "a.txt", "line": 0, "limit": 0}), Ok("")),
            (json!({"path": "a.txt", "line": 9}), Ok("")),
            (json!({"path": "b.bin"}), Err("b.bin: not UTF-8 text")),
            (json!({"path": "../secret"}), Err("outside")),
            (json!({"path": "link"}), Err("outside")),
            (json!({"path": "."}), Err("directory")),
            (json!({"path": "/dev/zero"}), Err("outside")),
            (json!({"path": "missing"}), Err("missing")),
        ];
        for (params, expected) in rows {
            match (read_file(&access, &root, params.clone()), expected) {
                (Ok(text), Ok(expected)) => assert_eq!(text, expected, "{params}"),
                (Err(error), Err(part)) => {
                    assert!(error.to_lowercase().contains(part) || error.contains(part), "{params}: {error}");
                }
                (other, expected) => panic!("{params}: {other:?}, not {expected:?}"),
            }
        }
    }

    #[test]
    fn read_of_long_file_needs_line_and_limit() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("long"), format!("{}\nend\n", "x".repeat(FILE_BYTES + 10))).unwrap();
        let access = access(folder.path(), &[], None);
        let error = read_file(&access, folder.path(), json!({"path": "long"})).unwrap_err();
        assert_eq!(error, "long: more than 8 MiB; read a part of it with `line` and `limit`");
        let end = read_file(&access, folder.path(), json!({"path": "long", "line": 2}));
        assert_eq!(end.unwrap(), "end\n");
    }

    #[test]
    fn access_enforces_globs_and_file_count() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let access = access(root, &["src/*.rs", "*.md"], Some(2));
        let write = |path: &str| {
            let params = json!({"sessionId": "s", "path": root.join(path), "content": "x"});
            access.write_text_file(params).map_err(|error| error.message)
        };
        assert!(write("src/a.rs").is_ok());
        let outside = "src/deep/a.rs is outside of what this task may touch (src/*.rs, *.md)";
        assert_eq!(write("src/deep/a.rs").unwrap_err(), outside);
        assert!(write("b.md").is_ok() && write("b.md").is_ok());
        assert_eq!(write("c.md").unwrap_err(), "c.md: this task may touch 2 files, and has");
        assert!(!root.join("c.md").exists());
        let include = vec!["a{".to_owned()];
        let workspace = Arc::new(Workspace::open_for(root, None).unwrap());
        let wrong = Access::new(workspace, &AccessLimits { include, max_files: None });
        assert!(wrong.unwrap_err().starts_with("files_include_glob: "));
    }

    #[test]
    fn access_applies_limits_to_link_targets() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join("secret.txt"), "secret").unwrap();
        fs::write(root.join("src/a.rs"), "a").unwrap();
        std::os::unix::fs::symlink("../secret.txt", root.join("src/link.rs")).unwrap();
        std::os::unix::fs::symlink("a.rs", root.join("src/b.rs")).unwrap();
        let access = access(root, &["src/*.rs"], Some(1));
        let error = read_file(&access, root, json!({"path": "src/link.rs"})).unwrap_err();
        assert_eq!(error, "secret.txt is outside of what this task may touch (src/*.rs)");
        // A missing file is not touched, and two names of one file count once.
        assert!(read_file(&access, root, json!({"path": "src/missing.rs"})).is_err());
        assert_eq!(read_file(&access, root, json!({"path": "src/a.rs"})).unwrap(), "a");
        assert_eq!(read_file(&access, root, json!({"path": "src/b.rs"})).unwrap(), "a");
    }

    #[test]
    fn access_rejects_absolute_paths_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("app");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("config.toml"), "inside").unwrap();
        let access = access(&root, &[], None);
        for path in ["/app/config.toml", "/workspace/config.toml", "/path/to/config.toml", "/workspace", "/"]
        {
            let error = access.read_text_file(json!({"sessionId": "s", "path": path})).unwrap_err().message;
            assert!(error.contains("outside the workspace"), "{path}: {error}");
        }
        assert!(read_file(&access, &root, json!({"path": "config.toml"})).is_ok());
        assert!(beneath(&access.workspace, Path::new("/app")).is_err());
    }
}
