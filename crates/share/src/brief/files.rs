//! Whether the files that a session changed are still as it left them.

use openagents_core::{file, update::ToolContent};
use openagents_transcripts::replay::changes;
use serde_json::Value;
use std::path::{Component, Path};

/// Maximum bytes of a file that is compared.
const COMPARED: u64 = 4 << 20;

/// What the last change of a file wrote.
#[derive(Debug, Default)]
pub(super) struct LastChange {
    /// Texts that the file contained afterwards.
    texts: Vec<String>,
}

impl LastChange {
    /// Reads the arguments of the call that changed `path`.
    pub(super) fn of(path: &str, input: Option<&Value>) -> Self {
        let texts = changes(path, input).into_iter().flat_map(|change| match change {
            ToolContent::Diff { new_text, .. } => vec![new_text],
            // A patch; others of its lines may be of other files.
            ToolContent::Text { text } => added(&text, path),
            ToolContent::Terminal { .. } => vec![],
        });
        Self { texts: texts.filter(|text| !text.trim().is_empty()).collect() }
    }

    /// Returns what became of a file of the session's folder, in words. Files elsewhere are not looked at.
    pub(super) fn state(&self, folder: &Path, path: &Path) -> &'static str {
        let is_inside =
            path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !is_inside {
            return "changed";
        }
        let file = &folder.join(path);
        if !file.exists() {
            return "gone";
        }
        let Some(bytes) = file::read_bounded(file, COMPARED) else { return "changed" };
        let now = file::text(&bytes).replace("\r\n", "\n");
        let has = |text: &String| now.contains(text.replace("\r\n", "\n").trim_end());
        match self.texts.is_empty() {
            true => "changed",
            false if self.texts.iter().all(has) => "as left",
            false => "changed since",
        }
    }
}

/// Returns the lines that a patch adds to a file.
fn added(patch: &str, path: &str) -> Vec<String> {
    let name =
        Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut is_of_file = true;
    let mut lines = Vec::new();
    for line in patch.lines() {
        if line.starts_with("*** ") || line.starts_with("+++ ") || line.starts_with("--- ") {
            is_of_file = line.trim_end().ends_with(&name);
        } else if let Some(text) = line.strip_prefix('+').filter(|_| is_of_file) {
            lines.push(text.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn states_compare_last_change_with_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.py");
        let edit = json!({"file_path": "a.py", "old_string": "x", "new_string": "y = 1\n"});
        let patch = json!({"input": "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y = 1\n*** Update File: b.py\n+z\n*** End Patch"});
        for input in [edit, patch] {
            let change = LastChange::of("a.py", Some(&input));
            let _ = std::fs::remove_file(&file);
            assert_eq!(change.state(folder.path(), Path::new("a.py")), "gone", "{input}");
            std::fs::write(&file, "import os\r\ny = 1\r\n").unwrap();
            assert_eq!(change.state(folder.path(), Path::new("a.py")), "as left", "{input}");
            std::fs::write(&file, "y = 2\n").unwrap();
            assert_eq!(change.state(folder.path(), Path::new("a.py")), "changed since", "{input}");
        }
        for outside in ["../a.py", "/etc/passwd"] {
            let state = LastChange::default().state(&folder.path().join("none"), Path::new(outside));
            assert_eq!(state, "changed", "{outside}");
        }
        assert_eq!(LastChange::of("a.py", None).state(folder.path(), Path::new("a.py")), "changed");
    }
}
