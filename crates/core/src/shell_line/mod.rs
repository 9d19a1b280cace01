//! The files that a shell line may run or read, found without running it.
//!
//! A file too many costs a question; a file too few lets something run that the user has not seen. So each word counts
//! in each folder that the line may change to, in any order, and a line that a shell would reject is parsed too.

mod glob;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};
use words::{HOME, LineWord, PROJECT};

/// Maximum folders that one line may change to.
const FOLDERS: usize = 64;

/// Options and commands that are followed by a folder to run in.
const INTO: &str =
    "cd pushd chdir -C --directory --chdir --cwd --prefix --cd --dir --project-dir --working-directory";

/// Options that are followed by a module without its extension.
const MODULES: &str = "-r --require --import --loader --experimental-loader -m --preload";

/// Programs that take a module without its extension.
const INTERPRETERS: &str =
    "node nodejs bun deno tsx ts-node python python2 python3 ruby perl php lua osascript";

/// Extensions that interpreters add to the name of a module.
const EXTENSIONS: &[&str] = &[".js", ".cjs", ".mjs", ".ts", ".json", ".py", ".rb", ".pl"];

/// The files that interpreters open in a folder that is named as a module.
const IN_MODULE: &[&str] =
    &["index.js", "index.cjs", "index.mjs", "index.ts", "package.json", "__main__.py", "__init__.py"];

/// Programs that run commands from files in their folder, and those files.
const TOOLS: &[(&str, &str)] = &[
    ("make gmake", "GNUmakefile makefile Makefile"),
    ("npm npx yarn pnpm bun bunx corepack", "package.json .npmrc .yarnrc.yml .pnpmfile.cjs bunfig.toml"),
    ("just", "justfile Justfile .justfile"),
    ("task", "Taskfile.yml Taskfile.yaml"),
    ("cargo", "Cargo.toml build.rs .cargo/config.toml"),
    ("go", "go.mod"),
    ("pytest tox nox", "conftest.py pytest.ini pyproject.toml tox.ini noxfile.py setup.cfg"),
    ("pip pip3 uv poetry", "pyproject.toml setup.py"),
    ("gradle gradlew", "build.gradle build.gradle.kts settings.gradle settings.gradle.kts"),
    ("mvn mvnw", "pom.xml .mvn/extensions.xml .mvn/jvm.config"),
    ("rake bundle", "Rakefile Gemfile"),
    ("docker docker-compose podman", "compose.yaml compose.yml docker-compose.yml Dockerfile"),
    ("cmake ctest ninja meson", "CMakeLists.txt CMakePresets.json build.ninja meson.build"),
    ("swift", "Package.swift"),
    ("bazel bazelisk", "BUILD BUILD.bazel WORKSPACE MODULE.bazel .bazelrc"),
    ("composer", "composer.json"),
    ("mix", "mix.exs"),
    ("vite vitest jest eslint prettier webpack rollup tsc next", "package.json"),
    ("pre-commit lefthook", ".pre-commit-config.yaml lefthook.yml"),
];

/// The context in which a line runs.
#[derive(Debug, Clone, Copy)]
pub struct LineScene<'a> {
    /// The folders that it may start in.
    pub folders: &'a [PathBuf],
    /// The project: `$CLAUDE_PROJECT_DIR`, `$(git rev-parse --show-toplevel)`.
    pub project: &'a Path,
    /// Maximum number of paths.
    pub most: usize,
}

/// The paths and programs that a line names.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct NamedPaths {
    /// Every path, whether or not it exists.
    pub paths: BTreeSet<PathBuf>,
    /// Each word without its quotes, with the paths that it may refer to. The project is written as `.`, the home
    /// folder as `~`.
    pub words: BTreeMap<String, BTreeSet<PathBuf>>,
    /// Words whose value only the shell knows: `$SCRIPT`, `"$(which x)"`.
    pub unknown: BTreeSet<String>,
    /// Programs that run commands from other files: `make`.
    pub tools: BTreeSet<String>,
    /// It names more than `most` paths.
    pub is_cut: bool,
}

impl NamedPaths {
    /// Adds everything that a shell line names.
    pub fn add_line(&mut self, line: &str, scene: LineScene<'_>) {
        self.add(&words::words(line), &[line], scene);
    }

    /// Adds everything that the words of a command name, for a command that runs without a shell.
    pub fn add_command(&mut self, words: &[&str], scene: LineScene<'_>) {
        self.add(&words::command(words), words, scene);
    }

    fn add(&mut self, words: &[LineWord], texts: &[&str], scene: LineScene<'_>) {
        let pieces: Vec<_> = texts.iter().flat_map(|text| words::pieces(text)).collect();
        let (folders, is_cut) = folders(words, &pieces, scene);
        if is_cut {
            self.unknown.insert("cd".to_owned());
        }
        let mut before = "";
        for word in words {
            let is_module = is_in(before, MODULES) || is_in(name(before), INTERPRETERS);
            let meant = self.meant(&word.text, is_module, &folders, scene);
            if is_unknown(&word.text) && (word.is_program || word.text.contains('/')) {
                self.unknown.insert(shown(&word.text));
            }
            self.words.entry(shown(&word.text)).or_default().extend(meant.iter().cloned());
            self.take(meant, scene);
            let program = name(&word.text);
            let tool = TOOLS.iter().find(|(names, _)| word.is_program && is_in(program, names));
            if let Some((_, files)) = tool {
                self.tools.insert(program.to_owned());
                let paths =
                    files.split(' ').flat_map(|file| folders.iter().map(move |folder| folder.join(file)));
                self.take(paths, scene);
            }
            if word.is_program && program == "git" {
                self.take(folders.iter().map(|folder| folder.join(".git/config")), scene);
            }
            before = &word.text;
        }
        for piece in pieces {
            let meant = self.meant(piece, false, &folders, scene);
            self.take(meant, scene);
        }
    }

    /// Returns the paths that a word may refer to, in all of its forms.
    fn meant(
        &mut self,
        word: &str,
        is_module: bool,
        folders: &[PathBuf],
        scene: LineScene<'_>,
    ) -> Vec<PathBuf> {
        let mut meant = Vec::new();
        for form in forms(word) {
            for path in placed(form, folders, scene) {
                if is_module && !form.contains('/') && !form.starts_with('-') {
                    // `-m a.b` is `a/b.py`.
                    meant.extend(modules(&path.with_file_name(form.replace('.', "/"))));
                }
                if path.extension().is_none() && (is_module || form.contains('/')) {
                    meant.extend(modules(&path));
                }
                if glob::is_pattern(form) {
                    match glob::expand(&path, scene.most) {
                        Some(found) => meant.extend(found),
                        None => self.is_cut = true,
                    }
                    if form.contains("**") {
                        self.unknown.insert(form.to_owned());
                    }
                }
                meant.push(path);
            }
        }
        meant
    }

    fn take(&mut self, paths: impl IntoIterator<Item = PathBuf>, scene: LineScene<'_>) {
        for path in paths {
            match self.paths.len() < scene.most {
                true => drop(self.paths.insert(path)),
                false => self.is_cut |= !self.paths.contains(&path),
            }
        }
    }
}

/// Returns the files that an interpreter finds for the name of a module.
fn modules(path: &Path) -> impl Iterator<Item = PathBuf> {
    let with = EXTENSIONS.iter().map(|extension| {
        let mut name = path.as_os_str().to_owned();
        name.push(extension);
        PathBuf::from(name)
    });
    with.chain(IN_MODULE.iter().map(|file| path.join(file)))
}

/// Returns a word as the user would write it.
fn shown(word: &str) -> String {
    word.replace(PROJECT, ".").replace(HOME, "~")
}

/// Returns the file name of a program's path.
fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the folders that commands of a line may run in, and whether there may be more.
fn folders(words: &[LineWord], pieces: &[&str], scene: LineScene<'_>) -> (Vec<PathBuf>, bool) {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let mut targets = BTreeSet::new();
    for line in [&texts[..], pieces] {
        for (at, text) in line.iter().enumerate() {
            if is_in(text, INTO) {
                // `cd -P -- folder`.
                targets.extend(line.iter().skip(at + 1).find(|next| !next.starts_with('-')).copied());
            }
            let named = text.split_once('=').filter(|(option, _)| is_in(option, INTO));
            targets.extend(named.map(|(_, value)| value));
            targets.extend(text.strip_prefix("-C").map(|rest| rest.trim_start_matches('=')));
        }
    }
    targets.remove("");
    // Each folder has the targets on the way to it: a line changes to each target once.
    let mut found: Vec<(PathBuf, Vec<&str>)> =
        scene.folders.iter().map(|folder| (folder.clone(), Vec::new())).collect();
    let (mut at, mut is_cut) = (0, false);
    while let Some((folder, way)) = found.get(at).cloned() {
        at += 1;
        for target in targets.iter().filter(|target| !way.contains(*target)) {
            for path in placed(target, std::slice::from_ref(&folder), scene) {
                let expanded = match glob::is_pattern(target) {
                    true => glob::expand(&path, FOLDERS).unwrap_or_else(|| {
                        is_cut = true;
                        Vec::new()
                    }),
                    false => vec![path],
                };
                for path in expanded {
                    if found.iter().any(|(known, _)| *known == path) {
                        continue;
                    }
                    if found.len() == FOLDERS {
                        is_cut = true;
                        continue;
                    }
                    found.push((path, way.iter().copied().chain([*target]).collect()));
                }
            }
        }
    }
    (found.into_iter().map(|(folder, _)| folder).collect(), is_cut)
}

/// Returns the paths that a word may refer to in these folders.
fn placed(word: &str, folders: &[PathBuf], scene: LineScene<'_>) -> Vec<PathBuf> {
    if let Some(rest) = word.strip_prefix(PROJECT) {
        let rest = rest.trim_start_matches('/');
        let bases = scene.folders.iter().map(PathBuf::as_path).chain([scene.project]);
        return bases.map(|base| base.join(rest)).collect();
    }
    if let Some(rest) = word.strip_prefix(HOME).or_else(|| word.strip_prefix("~/")) {
        let home = std::env::home_dir();
        return home.into_iter().map(|home| home.join(rest.trim_start_matches('/'))).collect();
    }
    folders.iter().map(|folder| folder.join(word)).collect()
}

/// Returns the forms of a word that may be a path: `@file`, `--file=path`, `-Cpath`.
fn forms(word: &str) -> impl Iterator<Item = &str> {
    let value = word.split_once('=').map(|(_, value)| value);
    let attached = word.strip_prefix('-').and_then(|rest| rest.get(1..));
    [Some(word), word.strip_prefix('@'), value, attached]
        .into_iter()
        .flatten()
        .filter(|form| !form.is_empty())
}

/// Returns whether only the shell knows the value of a word.
fn is_unknown(word: &str) -> bool {
    let is_begin = |c: char| c.is_ascii_alphanumeric() || "_{(@*#?!".contains(c);
    word.contains('`') || word.split('$').skip(1).any(|rest| rest.starts_with(is_begin))
}

fn is_in(word: &str, list: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(line: &str) -> NamedPaths {
        let mut named = NamedPaths::default();
        let folders = [PathBuf::from("/w/app")];
        named.add_line(line, LineScene { folders: &folders, project: Path::new("/w"), most: 5_000 });
        named
    }

    #[test]
    fn each_word_counts_in_each_folder_that_a_line_changes_to() {
        let rows = [
            ("./x.sh", "/w/app/./x.sh"),
            ("cd a && cd b && ./x.sh", "/w/app/a/b/./x.sh"),
            ("cd -P -- a; sh x.sh", "/w/app/a/x.sh"),
            ("make -C a", "/w/app/a/Makefile"),
            ("git -C a status", "/w/app/a/.git/config"),
            ("(cd /srv/other; ./x.sh)", "/srv/other/./x.sh"),
            ("\"$CLAUDE_PROJECT_DIR\"/x.sh", "/w/x.sh"),
            ("cd \"$CLAUDE_PROJECT_DIR\"/a && ./x.sh", "/w/app/a/./x.sh"),
            ("python3 -m a.b", "/w/app/a/b.py"),
            ("node a", "/w/app/a.js"),
            ("node -r ./a x", "/w/app/./a/index.js"),
            ("bash -c 'sh -c \"cd a; ./x.sh\"'", "/w/app/a/./x.sh"),
            ("x --file=a/b.sh", "/w/app/a/b.sh"),
            ("'cd a; ./x.sh", "/w/app/a/./x.sh"),
        ];
        for (line, path) in rows {
            let named = named(line);
            assert!(named.paths.contains(Path::new(path)), "{line}: {:?}", named.paths);
            assert!(!named.is_cut, "{line}");
        }
    }

    #[test]
    fn what_only_the_shell_can_tell_is_named() {
        let unknown = |line: &str| named(line).unknown.into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(unknown("$TOOL --all"), "$TOOL");
        assert_eq!(unknown("sh \"$DIR\"/x.sh"), "$DIR/x.sh");
        assert_eq!(unknown("echo $HOME $PATH \"it's 5$\""), "");
        assert_eq!(named("cd a && make test").tools, BTreeSet::from(["make".to_owned()]));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        /// A plain path is found whatever surrounds it, and no text breaks the parser.
        #[test]
        fn a_path_is_found_in_any_text(before in any::<String>(), after in any::<String>()) {
            let named = named(&format!("{before}\n./dir/x.sh\n{after}"));
            let is_named = named.paths.iter().any(|path| path.ends_with("dir/x.sh"));
            prop_assert!(is_named || named.is_cut);
        }
    }
}
