//! Expands patterns as a shell does.

use globset::{GlobBuilder, GlobMatcher};
use std::path::{Component, Path, PathBuf};

/// Maximum entries of a folder that are compared.
const ENTRIES: usize = 5_000;

/// Returns whether a shell would expand a word.
pub(super) fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?', '[', '{'])
}

/// Returns the existing paths that a pattern matches, at most `most`; `None` if there may be more.
pub(super) fn expand(pattern: &Path, most: usize) -> Option<Vec<PathBuf>> {
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        let Component::Normal(name) = component else {
            found.iter_mut().for_each(|path| path.push(component));
            continue;
        };
        let Some(matcher) = name.to_str().filter(|name| is_pattern(name)).and_then(matcher) else {
            found.iter_mut().for_each(|path| path.push(name));
            continue;
        };
        let mut next = Vec::new();
        for folder in &found {
            let Ok(entries) = std::fs::read_dir(folder) else { continue };
            for (at, entry) in entries.flatten().enumerate() {
                if at == ENTRIES {
                    return None;
                }
                if matcher.is_match(entry.file_name()) {
                    next.push(folder.join(entry.file_name()));
                }
            }
        }
        if next.len() > most {
            return None;
        }
        next.sort();
        found = next;
    }
    Some(found)
}

fn matcher(name: &str) -> Option<GlobMatcher> {
    Some(GlobBuilder::new(name).build().ok()?.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_what_exists() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["build.sh", "bad.sh", "other.txt"] {
            std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
            std::fs::write(folder.path().join("a/b").join(name), "").unwrap();
        }
        let rows = [
            ("a/b/bu*.sh", 1),
            ("a/*/b*.sh", 2),
            ("?/[ab]/*", 3),
            ("a/b/{build,bad}.sh", 2),
            ("a/b/x*", 0),
            ("a/b/build.sh", 1),
            ("a/b/[", 1),
        ];
        for (pattern, count) in rows {
            let found = expand(&folder.path().join(pattern), 10).unwrap();
            assert_eq!(found.len(), count, "{pattern}: {found:?}");
        }
        assert_eq!(expand(&folder.path().join("a/b/*"), 2), None);
    }
}
