//! Detects copies inside the workspace: vendored files, linked worktrees, backups. The original ranks first.

use super::{
    matcher,
    scan::{self, ScannedFile},
    score::RankedFile,
};
use openagents_core::{text::is_listed, workspace::Workspace};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::Path,
};

// Names separated by `|`.

const COPY_FOLDERS: &str = "\
    vendor|vendored|third_party|third-party|thirdparty|external|externals|node_modules|tmp|temp";
/// Words that mark a folder or a file as a copy.
const COPY_WORDS: &str =
    "archive|archived|backup|backups|bak|copies|copy|legacy|old|orig|save|saved|worktree|worktrees";

/// Minimum size in bytes for identical texts to count as copies under any name; shorter ones may be boilerplate.
const TEXT: usize = 256;

/// Minimum share of the shorter file's lines that a changed copy has in common with its original.
const SIMILAR: f32 = 0.6;
/// Minimum share if their folders have the same name too.
const SIMILAR_IN_PLACE: f32 = 0.5;

/// Maximum number of copies named in a reason.
const NAMED: usize = 2;

/// The paths of copies by the path of their original.
#[derive(Debug, Default)]
pub(super) struct Copies(HashMap<String, Vec<String>>);

impl Copies {
    /// Removes files with the same text as another file, unless they match a query word that the other one doesn't.
    pub(super) fn fold(files: &mut Vec<ScannedFile>, workspace: &Workspace) -> Self {
        let mut same: HashMap<(u64, usize), Vec<usize>> = HashMap::new();
        for (at, file) in files.iter().enumerate() {
            same.entry((file.text_hash, file.bytes)).or_default().push(at);
        }
        let mut copies: HashMap<String, Vec<String>> = HashMap::new();
        let mut is_folded = vec![false; files.len()];
        for mut group in same.into_values().filter(|group| group.len() > 1) {
            group.sort_by_cached_key(|at| precedence(&files[*at].path, workspace));
            for (rank, at) in group.iter().enumerate() {
                let copy = &files[*at];
                let is_original = |other: &&usize| {
                    let original = &files[**other];
                    let is_copy = copy.bytes >= TEXT || plain_name(&copy.path) == plain_name(&original.path);
                    is_copy && !is_folded[**other] && covers(&original.matched(), &copy.matched())
                };
                if let Some(original) = group[..rank].iter().find(is_original) {
                    copies.entry(files[*original].path.clone()).or_default().push(copy.path.clone());
                    is_folded[*at] = true;
                }
            }
        }
        let mut is_folded = is_folded.into_iter();
        files.retain(|_| !is_folded.next().unwrap_or_default());
        Self(copies)
    }

    /// Returns an addition to a file's reason that names its copies.
    pub(super) fn note(&self, path: &str) -> Option<String> {
        let copies = self.0.get(path)?;
        let names: Vec<String> = copies.iter().take(NAMED).map(|copy| format!("`{copy}`")).collect();
        let more = copies.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Some(format!("; same text in {}{more}", names.join(", ")))
    }
}

/// Ranks changed copies behind their originals, unless a copy matches a query word that its original doesn't.
pub(super) fn demote(files: &mut [RankedFile], workspace: &Workspace) {
    let mut named: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, file) in files.iter().enumerate() {
        named.entry(plain_name(&file.path)).or_default().push(at);
    }
    for mut group in named.into_values().filter(|group| group.len() > 1) {
        group.sort_by_cached_key(|at| precedence(&files[*at].path, workspace));
        let mut originals: Vec<(usize, HashSet<u64>)> = Vec::new();
        for at in group {
            let (copy, lines) = (&files[at], lines(&files[at].text));
            let is_original = |(other, others): &&(usize, HashSet<u64>)| {
                let original = &files[*other];
                let in_place = folder_name(&original.path) == folder_name(&copy.path);
                let least = if in_place { SIMILAR_IN_PLACE } else { SIMILAR };
                covers(&original.matched, &copy.matched) && similarity(others, &lines) >= least
            };
            match originals.iter().find(is_original).map(|(original, _)| *original) {
                None => originals.push((at, lines)),
                Some(original) => {
                    let best = files[original].score.max(files[at].score);
                    files[original].score = best;
                    files[at].score = files[at].score.min(best * matcher::COPY);
                }
            }
        }
    }
    files.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.path.cmp(&b.path)));
}

/// Sort key of the paths of one text. The original sorts first: it is not marked as a copy, not in a linked worktree or
/// a submodule, and closest to the root.
fn precedence(path: &str, workspace: &Workspace) -> (bool, bool, usize, usize, String) {
    let lower = path.to_lowercase();
    let is_copy =
        |part: &str| is_listed(part, COPY_FOLDERS) || words(part).any(|word| is_listed(word, COPY_WORDS));
    let is_linked = Path::new(path)
        .ancestors()
        .skip(1)
        .filter(|folder| !folder.as_os_str().is_empty())
        .any(|folder| workspace.is_file(&folder.join(".git")));
    (lower.split('/').any(is_copy), is_linked, path.split('/').count(), path.len(), path.to_owned())
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Returns a file's name without its copy markers: `pay.py` for `pay_old.py` and `Copy of pay.py`.
fn plain_name(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let is_marked = words(&name).any(|word| is_listed(word, COPY_WORDS));
    let is_mark = |word: &&str| {
        is_listed(word, COPY_WORDS) || *word == "of" || word.bytes().all(|byte| byte.is_ascii_digit())
    };
    match is_marked {
        true => words(&name).filter(|word| !is_mark(word)).collect::<Vec<_>>().join("."),
        false => words(&name).collect::<Vec<_>>().join("."),
    }
}

fn folder_name(path: &str) -> Option<&str> {
    path.rsplit('/').nth(1)
}

/// Returns whether `all` contains every one of `others`; both are sorted.
fn covers(all: &[u16], others: &[u16]) -> bool {
    others.iter().all(|other| all.binary_search(other).is_ok())
}

/// Returns hashes of the distinct lines of a text, without indentation and blank lines.
fn lines(text: &[u8]) -> HashSet<u64> {
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| line.len() > 1);
    lines.map(scan::hash).collect()
}

/// Returns the share of the shorter text's lines that both texts have.
fn similarity(a: &HashSet<u64>, b: &HashSet<u64>) -> f32 {
    let shorter = a.len().min(b.len());
    if shorter == 0 { 0.0 } else { a.intersection(b).count() as f32 / shorter as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn original_precedes_copies() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["feature/.git", "nested/.git/HEAD"] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "gitdir: /w/.git/worktrees/feature").unwrap();
        }
        let workspace = Workspace::open_for(folder.path(), None).unwrap();
        for (original, copies) in [
            ("src/pay.py", &["backup/src/pay.py", "old/pay.py", "vendor/pay.py", "src/deep/pay.py"][..]),
            (
                "src/deep/pay.py",
                &["feature/pay.py", "old/pay.py", "src/deep/pay_old.py", "shop.worktrees/x/pay.py"],
            ),
            ("nested/src/pay.py", &["feature/src/pay.py", "nested/src/pay copy.py"]),
        ] {
            for copy in copies {
                let (first, then) = (precedence(original, &workspace), precedence(copy, &workspace));
                assert!(first < then, "{original} {first:?} {copy} {then:?}");
            }
        }
    }

    #[test]
    fn copy_marks_are_not_part_of_name() {
        for name in ["a/pay.py", "pay_old.py", "pay.bak.py", "Copy of pay.py", "pay copy 2.py", "pay.py.orig"]
        {
            assert_eq!(plain_name(name), "pay.py", "{name}");
        }
        for name in ["holder.py", "pay2.py", "oldest.rs", "copyright"] {
            assert_eq!(plain_name(name), name, "{name}");
        }
    }
}
