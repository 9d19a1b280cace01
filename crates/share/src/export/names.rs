//! Names that an exported session would reveal: the user's, the computer's, and the folders in which they occur.

use aho_corasick::{AhoCorasick, Match};
use std::{
    borrow::Cow,
    cmp::Reverse,
    path::{Path, PathBuf},
};

/// Names that many computers have, or that are words.
const COMMON: [&str; 14] = [
    "admin",
    "app",
    "debian",
    "dev",
    "docker",
    "git",
    "home",
    "localhost",
    "node",
    "root",
    "runner",
    "test",
    "ubuntu",
    "user",
];

/// Replaces names of the user, the computer and their folders.
#[derive(Debug)]
pub struct OwnNames {
    names: Option<AhoCorasick>,
    replacements: Vec<(String, &'static str)>,
}

impl OwnNames {
    /// Returns the names of this computer, for a session that ran in `folder`.
    pub fn of_this_computer(folder: Option<&Path>) -> Self {
        let home = std::env::home_dir();
        let user = home.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self::new(folder, home, user.as_deref(), host.split('.').next())
    }

    pub fn new(folder: Option<&Path>, home: Option<PathBuf>, user: Option<&str>, host: Option<&str>) -> Self {
        let mut replacements = Vec::new();
        let mut add = |path: &Path, inside, whole| {
            let path = path.to_string_lossy();
            // The root folder is no name.
            if path.len() > 1 {
                replacements.push((format!("{path}/"), inside));
                replacements.push((path.into_owned(), whole));
            }
        };
        if let Some(folder) = folder {
            add(folder, "", ".");
        }
        if let Some(home) = &home {
            add(home, "~/", "~");
        }
        let mut add = |name: Option<&str>, replacement| {
            let is_known = |name: &&str| name.len() > 2 && !COMMON.contains(&name.to_lowercase().as_str());
            replacements.extend(name.filter(is_known).map(|name| (name.to_owned(), replacement)));
        };
        add(user, "user");
        add(host, "host");
        let names = AhoCorasick::new(replacements.iter().map(|(name, _)| name)).ok();
        Self { names, replacements }
    }

    /// Writes paths in the session's folder relative to it, and others relative to the home folder.
    pub fn replace<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let names = self.names.iter().flat_map(|names| names.find_overlapping_iter(text));
        let mut found: Vec<_> = names.filter(|found| self.is_name(text, found)).collect();
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        found.sort_by_key(|found| (found.start(), Reverse(found.end())));
        let mut written = String::with_capacity(text.len());
        let mut end = 0;
        for found in found {
            if let Some(between) = text.get(end..found.start()) {
                written.push_str(between);
                written.push_str(self.replacements[found.pattern().as_usize()].1);
                end = found.end();
            }
        }
        written.push_str(&text[end..]);
        Cow::Owned(written)
    }

    /// Returns whether a match is the whole name: `/home/kimono` is not in the folder of kim, nor is `/backup/home/kim`.
    fn is_name(&self, text: &str, found: &Match) -> bool {
        let (name, _) = &self.replacements[found.pattern().as_usize()];
        let continues =
            |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
        let (before, after) = (text[..found.start()].chars().next_back(), text[found.end()..].chars().next());
        !(continues(before)
            || continues(after) && !name.ends_with('/')
            || name.starts_with('/') && before == Some('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_names_are_replaced() {
        let folder = PathBuf::from("/home/kim/shop");
        let names = OwnNames::new(Some(&folder), Some("/home/kim".into()), Some("kim"), Some("snowbird"));
        for (text, expected) in [
            ("edit /home/kim/shop/src/a.rs", "edit src/a.rs"),
            ("cd /home/kim/shop && ls", "cd . && ls"),
            ("/home/kim/.ssh/config", "~/.ssh/config"),
            ("/home/kim", "~"),
            ("/home/kim/shopping", "~/shopping"),
            ("/home/kimono /backup/home/kim/x", "/home/kimono /backup/home/user/x"),
            ("kim@snowbird:~$ and Kimberly", "user@host:~$ and Kimberly"),
            ("projects/-home-kim-shop", "projects/-home-user-shop"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(names.replace(text), expected, "{text}");
        }
        let common = OwnNames::new(None, Some("/".into()), Some("root"), Some("ab"));
        assert_eq!(common.replace("/ root ab /root"), "/ root ab /root");
    }
}
