//! Finds sessions: in `projects/<name of a workspace>/agent-transcripts/` either `<uuid>.txt` or `<uuid>/<uuid>.jsonl`,
//! and those of sub-agents in `<uuid>/subagents/`.

use super::super::{folder::entries, slug};
use crate::{
    history::{
        json::Node,
        log_file::{LogFile, is_uuid},
    },
    limits,
};
use openagents_core::{budget::Budget, file};
use std::path::{Path, PathBuf};

const TRANSCRIPTS: &str = "agent-transcripts";

/// File in a project's folder with the path of its workspace, once the workspace is trusted.
const TRUSTED: &str = ".workspace-trusted";

pub(super) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let mut files = Vec::new();
    for (project, _) in entries(&root.join("projects"), budget) {
        let transcripts = project.join(TRANSCRIPTS);
        logs(&transcripts, false, budget, &mut files);
        for (session, _) in entries(&transcripts, budget).filter(|(_, name)| is_uuid(name)) {
            logs(&session, false, budget, &mut files);
            logs(&session.join("subagents"), true, budget, &mut files);
        }
    }
    files
}

fn logs(folder: &Path, subagents: bool, budget: &Budget, files: &mut Vec<LogFile>) {
    for (path, name) in entries(folder, budget) {
        let Some(stem) = name.strip_suffix(".jsonl").or_else(|| name.strip_suffix(".txt")) else { continue };
        if subagents || is_uuid(stem) {
            files.extend(LogFile::stat(path, stem, subagents, false));
        }
    }
}

/// Returns the workspace of a session, if it is recorded.
pub(super) fn workspace(log: &Path) -> Option<PathBuf> {
    let bytes = file::read_bounded(&project(log)?.join(TRUSTED), limits::GIT_FILE)?;
    let text = file::text(&bytes);
    let path = Node::parse_object(&text)?.text("workspacePath").map(PathBuf::from)?;
    path.is_absolute().then_some(path)
}

/// Returns whether a session's project has the name of a folder. Other folders may have the same name.
pub(super) fn may_have_run_in(log: &Path, folder: &Path) -> bool {
    let project = project(log).and_then(Path::file_name).and_then(|name| name.to_str());
    project.zip(folder.to_str()).is_some_and(|(project, folder)| slug::name(project) == slug::name(folder))
}

/// Returns whether the name of a session's project may stand for a folder or one below it.
pub(super) fn may_have_run_below(log: &Path, folder: &Path) -> bool {
    project(log).and_then(Path::file_name).is_none_or(|project| slug::may_be_below(project, folder))
}

fn project(log: &Path) -> Option<&Path> {
    log.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == TRANSCRIPTS))?.parent()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_compared_by_its_name() {
        let log = Path::new("/h/.cursor/projects/home-a-my-proj/agent-transcripts/x.txt");
        let rows =
            [("/home/a/my-proj", true), ("/home/a/my.proj", true), ("/home/a/my", false), ("/", false)];
        for (folder, expected) in rows {
            assert_eq!(may_have_run_in(log, Path::new(folder)), expected, "{folder}");
        }
        let without = Path::new("/h/.cursor/projects/empty-window/agent-transcripts/x.txt");
        assert!(!may_have_run_in(without, Path::new("/home/a/my-proj")));
        for (folder, expected) in
            [("/home/a", true), ("/home/a/my", true), ("/home/a/my-proj", true), ("/home/a/my-proj/x", false)]
        {
            assert_eq!(may_have_run_below(log, Path::new(folder)), expected, "{folder}");
        }
        assert!(!may_have_run_below(without, Path::new("/home/a/my-proj")));
    }
}
