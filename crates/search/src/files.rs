//! The files of a workspace whose path matches what a user types.

use nucleo_matcher::{
    Config, Matcher,
    pattern::{AtomKind, CaseMatching, Normalization, Pattern},
};
use openagents_core::{
    budget::Budget,
    walk,
    workspace::{Workspace, WorkspaceError},
};
use parking_lot::Mutex;
use std::{
    convert::Infallible,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// Maximum number of files that are matched.
const FILES: usize = 200_000;
/// Age from which the files are listed again.
const FRESH: Duration = Duration::from_secs(10);
/// Bytes of a query that count.
const QUERY: usize = 256;

/// The files of the workspace in which files were looked for last: each key that a user types looks again.
#[derive(Debug, Default)]
pub struct FileNames(Mutex<Option<Listed>>);

#[derive(Debug, Clone)]
struct Listed {
    root: PathBuf,
    at: Instant,
    /// Relative paths with `/`, those near the root first.
    files: Arc<Vec<String>>,
}

impl FileNames {
    /// Returns up to `limit` paths relative to a workspace whose letters contain those of `query` in order, best first.
    /// Hidden and ignored files are left out, and those that were not listed within the budget. Blocks.
    pub fn matching(
        &self,
        root: &Path,
        query: &str,
        limit: usize,
        budget: &Budget,
    ) -> Result<Vec<String>, WorkspaceError> {
        let files = self.list(root, budget)?;
        let query = openagents_core::text::prefix(query, QUERY);
        if query.is_empty() {
            return Ok(files.iter().take(limit).cloned().collect());
        }
        let pattern = Pattern::new(query, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
        let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
        let matched = pattern.match_list(files.iter(), &mut matcher);
        Ok(matched.into_iter().take(limit).map(|(path, _)| path.clone()).collect())
    }

    pub(crate) fn list(&self, root: &Path, budget: &Budget) -> Result<Arc<Vec<String>>, WorkspaceError> {
        let mut known = self.0.lock();
        if let Some(listed) = known.as_ref().filter(|it| it.root == root && it.at.elapsed() < FRESH) {
            return Ok(listed.files.clone());
        }
        let workspace = Workspace::open(root)?;
        let found = Mutex::new(Vec::new());
        walk::files(&workspace, Path::new("."), budget, || {
            |path: &Path| {
                let mut found = found.lock();
                if found.len() < FILES && path.to_str().is_some() {
                    found.push(Workspace::shown(path));
                }
                Ok::<_, Infallible>(())
            }
        });
        let mut files = found.into_inner();
        files.sort_by_cached_key(|path| (path.matches('/').count(), path.clone()));
        let files = Arc::new(files);
        *known = Some(Listed { root: root.to_owned(), at: Instant::now(), files: files.clone() });
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::CancellationToken;

    fn matching(root: &Path, query: &str) -> Vec<String> {
        let budget = Budget::within(Duration::from_secs(60), &CancellationToken::new());
        FileNames::default().matching(root, query, 3, &budget).unwrap()
    }

    #[test]
    fn files_match_by_their_letters_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in [
            "src/parser.rs",
            "src/parser_tests.rs",
            "src/print.rs",
            "docs/parser.md",
            "README.md",
            ".env",
            "target/parser.rs",
            "ignored/parser.rs",
            "ünïcode.txt",
        ] {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::fs::write(root.join(".gitignore"), "ignored\n").unwrap();
        assert_eq!(matching(&root, ""), ["README.md", "ünïcode.txt", "docs/parser.md"]);
        assert_eq!(matching(&root, "parser.rs"), ["src/parser.rs", "src/parser_tests.rs"]);
        assert_eq!(matching(&root, "srcpri"), ["src/print.rs"]);
        assert_eq!(matching(&root, "unicode"), ["ünïcode.txt"]);
        for nothing in ["env", "README.rs", "parser.rs$", "!x", "../", &"x".repeat(10_000)] {
            assert_eq!(matching(&root, nothing), Vec::<String>::new(), "{nothing}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_query_is_answered(query in ".*") {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            std::fs::write(root.join("a.txt"), "").unwrap();
            matching(&root, &query);
        }
    }
}
