//! The files that a prompt names: `@src/main.rs`, `@"a file.txt"`, `@src/main.rs:12`.

use openagents_core::workspace::Workspace;
use std::path::{Component, Path, PathBuf};

/// Maximum number of files that count.
const FILES: usize = 20;
/// Signs that end a sentence rather than a path.
const PUNCTUATION: [char; 8] = ['.', ',', ';', ':', '!', '?', ')', '\''];

/// Returns the files and folders of a workspace that a prompt names, absolute. Hidden ones are left out: an agent may
/// send what it is linked to its model, and many of them hold secrets.
pub(super) fn named_files(root: &Path, words: &str) -> Vec<PathBuf> {
    let Ok(workspace) = Workspace::open(root) else { return Vec::new() };
    let mut found = Vec::new();
    for named in mentions(words) {
        let ends = std::iter::successors(Some(named), |name| name.strip_suffix(PUNCTUATION));
        let names = ends.flat_map(|name| [Some(name), without_line(name)]).flatten();
        let file = names.filter(|name| !name.is_empty()).find_map(|name| existing(&workspace, name));
        if let Some(file) = file.filter(|file| !found.contains(file)) {
            found.push(file);
        }
        if found.len() == FILES {
            break;
        }
    }
    found
}

/// Returns the path of `PATH:LINE` and `PATH:FIRST-LAST`.
fn without_line(name: &str) -> Option<&str> {
    let (path, lines) = name.rsplit_once(':')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    lines.splitn(2, '-').all(is_number).then_some(path)
}

fn existing(workspace: &Workspace, name: &str) -> Option<PathBuf> {
    let path = workspace.resolve(name).ok()?;
    let is_hidden = |part: Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
    let is_shown = !path.components().any(is_hidden) && workspace.exists(&path);
    is_shown.then(|| workspace.root().join(path))
}

/// The texts after an `@` that begins a word.
fn mentions(words: &str) -> impl Iterator<Item = &str> {
    words.match_indices('@').filter_map(|(at, _)| {
        let begins =
            words[..at].chars().next_back().is_none_or(|before| before.is_whitespace() || before == '(');
        let rest = &words[at + 1..];
        let end = match rest.strip_prefix('"') {
            Some(quoted) => return begins.then_some(&quoted[..quoted.find('"')?]),
            None => rest.find(char::is_whitespace).unwrap_or(rest.len()),
        };
        (begins && end > 0).then_some(&rest[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_exist_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("app");
        for path in ["src/main.rs", "a file.txt", "README.md", ".env", "@scope/x.ts"] {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::fs::write(root.parent().unwrap().join("outside.txt"), "").unwrap();
        let rows: [(&str, &[&str]); 14] = [
            ("", &[]),
            ("Fix @src/main.rs", &["src/main.rs"]),
            ("Fix @src/main.rs, then (@README.md).", &["src/main.rs", "README.md"]),
            ("@src/main.rs @src/main.rs", &["src/main.rs"]),
            ("Look at @src", &["src"]),
            ("Look at @src/main.rs:12, then @README.md:3-9.", &["src/main.rs", "README.md"]),
            ("Look at @src/main.rs:twelve and @README.md:", &["README.md"]),
            ("Look at @\"a file.txt\"!", &["a file.txt"]),
            ("Look at @@scope/x.ts", &["@scope/x.ts"]),
            ("mail me@README.md", &[]),
            ("@codex @nothing @ @\"open", &[]),
            ("@.env @../outside.txt @/etc/passwd", &[]),
            ("@src/../README.md", &["README.md"]),
            ("Ünïcode @README.md…", &[]),
        ];
        for (words, expected) in rows {
            let expected: Vec<_> = expected.iter().map(|path| root.join(path)).collect();
            assert_eq!(named_files(&root, words), expected, "{words}");
        }
        assert_eq!(named_files(Path::new("/nowhere"), "@a"), Vec::<PathBuf>::new());
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_read(words in ".*") {
            mentions(&words).for_each(drop);
        }
    }
}
