//! The tool `fs.list_dir`.

use super::typed::TypedTool;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};
use openagents_core::{budget::Budget, update::Cut, walk::is_ignored_directory, workspace::Workspace};
use schemars::JsonSchema;
use serde::Deserialize;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Directory relative to the workspace.
    #[serde(default)]
    path: String,
    /// 0 lists the directory itself; 1 its sub-directories too, and so on.
    #[serde(default)]
    depth: usize,
}

/// Time limit; a directory on a dead network mount must not block a plan.
const TIME: Duration = Duration::from_millis(1500);

pub(super) fn list_dir() -> impl Tool {
    TypedTool {
        name: "fs.list_dir",
        description: "Lists the files and directories of a directory in the workspace; directories end in a slash.",
        run,
    }
}

fn run(context: &ToolContext<'_>, arguments: Arguments) -> Result<ToolOutput, ToolError> {
    let start = context.workspace.resolve(&arguments.path)?;
    let cap = context.limits.list_dir_entries;
    let mut listing = Listing { names: Vec::new(), cut: Cut::default(), budget: context.budget(TIME) };
    // One more than the cap distinguishes "exactly full" from "cut".
    listing.add(context.workspace, &start, arguments.depth, cap + 1)?;
    listing.names.sort_unstable();
    if listing.names.len() > cap {
        listing.cut.truncated = true;
        listing.names.truncate(cap);
    }
    Ok(ToolOutput::new(listing.names, listing.cut))
}

struct Listing {
    names: Vec<String>,
    cut: Cut,
    budget: Budget,
}

impl Listing {
    fn add(
        &mut self,
        workspace: &Workspace,
        directory: &Path,
        depth: usize,
        cap: usize,
    ) -> Result<(), ToolError> {
        let shown = Workspace::shown(directory);
        if workspace.is_file(directory) {
            return Err(ToolError::InvalidParameters(format!("{shown} is not a directory")));
        }
        let entries =
            workspace.open_dir(directory)?.entries().map_err(|error| ToolError::io(&shown, &error))?;
        let mut here: Vec<(PathBuf, bool)> = Vec::new();
        for entry in entries {
            self.budget.check_cancelled()?;
            let Ok(entry) = entry else {
                self.cut.omitted += 1;
                continue;
            };
            let name = entry.file_name();
            if name.to_string_lossy().starts_with('.') {
                continue;
            }
            let path = if shown == "." { PathBuf::from(name) } else { directory.join(name) };
            here.push((path, entry.file_type().is_ok_and(|kind| kind.is_dir())));
        }
        // Sorted before the cap, so that the result is stable.
        here.sort_unstable();
        for (path, is_directory) in here {
            if self.names.len() >= cap || self.budget.timed_out() {
                self.cut.truncated = true;
                self.cut.timed_out |= self.budget.timed_out();
                return Ok(());
            }
            let slash = if is_directory { "/" } else { "" };
            self.names.push(format!("{}{slash}", Workspace::shown(&path)));
            if is_directory && depth > 0 && !is_ignored_directory(&path) {
                // An unreadable sub-directory is skipped.
                if self.add(workspace, &path, depth - 1, cap).is_err() {
                    self.budget.check_cancelled()?;
                    self.cut.omitted += 1;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::builtin::testing::{Bench, call};
    use serde_json::json;

    #[test]
    fn list_dir_sorts_names_and_skips_hidden() {
        let bench =
            Bench::with(&[("b/x", ""), ("b/deep/y", ""), ("a.txt", ""), (".git/HEAD", ""), ("target/t", "")]);
        let at = |arguments| call(&bench, "fs.list_dir", arguments).unwrap().to_json();
        assert_eq!(at(json!({})), json!(["a.txt", "b/", "target/"]));
        assert_eq!(at(json!({"path": "b"})), json!(["b/deep/", "b/x"]));
        let deep = json!(["a.txt", "b/", "b/deep/", "b/deep/y", "b/x", "target/"]);
        assert_eq!(at(json!({"path": "/workspace", "depth": 5})), deep);
    }

    #[test]
    fn list_dir_cuts_after_500_names() {
        let names: Vec<_> = (0..501).map(|n| format!("f{n:03}")).collect();
        let files: Vec<_> = names.iter().map(|name| (name.as_str(), "")).collect();
        let full = call(&Bench::with(&files[..500]), "fs.list_dir", json!({})).unwrap();
        assert_eq!((full.to_json().as_array().unwrap().len(), full.cut.truncated), (500, false));
        let cut = call(&Bench::with(&files), "fs.list_dir", json!({})).unwrap();
        assert_eq!((cut.to_json().as_array().unwrap().len(), cut.cut.truncated), (500, true));
        assert_eq!(cut.to_json()[499], "f499");
    }

    #[test]
    fn list_dir_rejects_file_missing_and_outside() {
        let bench = Bench::with(&[("a", "")]);
        let rows = [
            ("a", "Invalid parameters: a is not a directory"),
            ("nope", "File not found: nope"),
            ("..", "Path outside workspace: .."),
        ];
        for (path, expected) in rows {
            let error = call(&bench, "fs.list_dir", json!({"path": path})).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
