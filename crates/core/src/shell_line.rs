//! The files that a shell line may run or read, found without running it.
//!
//! An extra file only costs the user a question; a missed one lets something run unseen. So each word counts
//! in each folder that the line may change to, in any order, and a line that a shell would reject is parsed too.

use globset::{GlobBuilder, GlobMatcher};
use regex::Regex;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
    sync::LazyLock,
};

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
    pub folders: &'a [PathBuf],
    /// The project: `$CLAUDE_PROJECT_DIR`, `$(git rev-parse --show-toplevel)`.
    pub project: &'a Path,
    /// Maximum number of paths.
    pub most: usize,
}

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
    pub fn add_line(&mut self, line: &str, scene: LineScene<'_>) {
        self.add(&words(line), &[line], scene);
    }

    /// Adds everything that the words of a command name, for a command that runs without a shell.
    pub fn add_command(&mut self, words: &[&str], scene: LineScene<'_>) {
        self.add(&command(words), words, scene);
    }

    fn add(&mut self, words: &[LineWord], texts: &[&str], scene: LineScene<'_>) {
        let pieces: Vec<_> = texts.iter().flat_map(|text| pieces(text)).collect();
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
                if is_pattern(form) {
                    match expand(&path, scene.most) {
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
                let expanded = match is_pattern(target) {
                    true => expand(&path, FOLDERS).unwrap_or_else(|| {
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

fn is_unknown(word: &str) -> bool {
    let is_begin = |c: char| c.is_ascii_alphanumeric() || "_{(@*#?!".contains(c);
    word.contains('`') || word.split('$').skip(1).any(|rest| rest.starts_with(is_begin))
}

fn is_in(word: &str, list: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

/// Placeholder for a folder that only the caller knows: the project, or the root of its repository.
const PROJECT: char = '\u{1}';

const HOME: char = '\u{2}';

/// Maximum nesting of lines in lines: `sh -c "sh -c '…'"`.
const DEPTH: usize = 4;

/// Words after which a command begins.
const OPERATORS: &str =
    "; & | && || ( ) ! { then do else if elif while until time exec command nohup xargs sudo env";

/// Expansions that refer to the project. Agents set the variables for hooks; see the sources in `trust::catalogue`.
static PROJECTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "(?:CLAUDE|GEMINI|QWEN|CURSOR|FACTORY|COPILOT|DROID|AMP|CODEX|OPENCODE)_(?:PROJECT_DIR|CWD|PROJECT_ROOT)|\
                 (?:[A-Z]+_)?(?:PLUGIN|EXTENSION|SKILL)_(?:ROOT|DIR)|extensionPath|PROJECT_DIR|workspaceFolder|workspaceRoot|PWD|INIT_CWD";
    let top = r"git\s+rev-parse\s+--show-toplevel(?:\s+2>\s*/dev/null)?|pwd(?:\s+-P)?";
    let pattern = format!(
        r"\$\{{(?:{names})(?::?[-=?+][^}}]*)?\}}|\$(?:{names})\b|\$\(\s*(?:{top})\s*\)|`\s*(?:{top})\s*`"
    );
    Regex::new(&pattern).ok()
});

static HOMES: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\$\{HOME\}|\$HOME\b").ok());

#[derive(Debug, Clone, PartialEq, Eq)]
struct LineWord {
    /// Without quotes.
    text: String,
    is_program: bool,
}

/// Returns the words of a line, without its quotes, then those of the lines nested in it.
fn words(line: &str) -> Vec<LineWord> {
    let mut found = Vec::new();
    collect(&with_placeholders(line), 0, &mut found);
    found
}

/// Returns the words of a command that runs without a shell, then those of the lines nested in them.
fn command(words: &[&str]) -> Vec<LineWord> {
    let words: Vec<String> = words.iter().map(|word| with_placeholders(word)).collect();
    let mut found = Vec::new();
    read_words(words.clone(), &mut found);
    words.iter().filter(|word| is_line(word)).for_each(|word| collect(word, 1, &mut found));
    found
}

/// Replaces expansions of known folders with their placeholders.
fn with_placeholders(line: &str) -> String {
    match (PROJECTS.as_ref(), HOMES.as_ref()) {
        (Some(projects), Some(homes)) => {
            let line = projects.replace_all(line, PROJECT.to_string());
            homes.replace_all(&line, HOME.to_string()).into_owned()
        }
        _ => line.to_owned(),
    }
}

fn collect(line: &str, depth: usize, found: &mut Vec<LineWord>) {
    let spaced = spaced(line);
    let split = shlex::split(&spaced).unwrap_or_else(|| {
        // A quote is not closed: split at all quotes instead.
        spaced.split(|c: char| c.is_whitespace() || "'\"\\".contains(c)).map(str::to_owned).collect()
    });
    let nested: Vec<String> =
        split.iter().filter(|text| depth < DEPTH && is_line(text) && *text != line).cloned().collect();
    read_words(split, found);
    nested.iter().for_each(|line| collect(line, depth + 1, found));
}

fn read_words(words: Vec<String>, found: &mut Vec<LineWord>) {
    let mut is_program = true;
    for text in words.into_iter().filter(|text| !text.is_empty()) {
        let is_operator = OPERATORS.split(' ').any(|operator| operator == text);
        let is_assignment = is_program && text.split_once('=').is_some_and(|(name, _)| is_name(name));
        found.push(LineWord { text, is_program: is_program && !is_operator && !is_assignment });
        is_program = is_operator || is_assignment;
    }
}

fn is_line(word: &str) -> bool {
    word.len() > 1 && word.contains(|c: char| c.is_whitespace() || ";|&()`".contains(c))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Puts spaces around the operators outside of quotes, so that they become words.
fn spaced(line: &str) -> String {
    let mut spaced = String::with_capacity(line.len() + 16);
    let (mut quote, mut is_escaped) = (None, false);
    for character in line.chars() {
        match (quote, character) {
            _ if is_escaped => is_escaped = false,
            (Some('\''), _) if character != '\'' => {}
            (_, '\\') => is_escaped = true,
            (Some(open), _) if character == open => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            // A comment ends here too.
            (None, '\n') => {
                spaced.push_str("\n; ");
                continue;
            }
            (None, ';' | '|' | '&' | '(' | ')' | '<' | '>' | '`') => {
                spaced.extend([' ', character, ' ']);
                continue;
            }
            _ => {}
        }
        spaced.push(character);
    }
    spaced
}

/// Splits a line at all characters that cannot be part of a plain path, ignoring quotes.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let between = |c: char| c.is_whitespace() || "=;|&<>()'\"`$,:{}[]".contains(c);
    line.split(between).filter(|piece| !piece.is_empty())
}

/// Maximum entries of a folder that are compared.
const ENTRIES: usize = 5_000;

fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?', '[', '{'])
}

/// Returns the existing paths that a pattern matches, at most `most`; `None` if there may be more.
fn expand(pattern: &Path, most: usize) -> Option<Vec<PathBuf>> {
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
    use proptest::prelude::*;

    fn named(line: &str) -> NamedPaths {
        let mut named = NamedPaths::default();
        let folders = [PathBuf::from("/w/app")];
        named.add_line(line, LineScene { folders: &folders, project: Path::new("/w"), most: 5_000 });
        named
    }

    #[test]
    fn words_resolve_in_every_cd_target() {
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
    fn unknown_words_are_listed() {
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
        fn path_is_found_in_any_text(before in any::<String>(), after in any::<String>()) {
            let named = named(&format!("{before}\n./dir/x.sh\n{after}"));
            let is_named = named.paths.iter().any(|path| path.ends_with("dir/x.sh"));
            prop_assert!(is_named || named.is_cut);
        }
    }

    #[test]
    fn lines_split_as_in_bash() {
        let rows = [
            ("cd scripts && ./build.sh", "cd! scripts & & ./build.sh!"),
            ("cd scripts;sh build.sh", "cd! scripts ; sh! build.sh"),
            ("A=1 B='a b' ./x", "A=1 B=a b ./x! B=a b!"),
            ("make # no; comment\ncurl x|sh", "make! ; curl! x | sh!"),
            (r#"sh -c "cd a; ./b""#, "sh! -c cd a; ./b cd! a ; ./b!"),
            ("a\\ b 'c'\"d\"", "a b! cd a! b"),
            ("'open ; x", "open! ; x!"),
            ("\"$CLAUDE_PROJECT_DIR\"/x.sh", "\u{1}/x.sh!"),
            ("${CLAUDE_PROJECT_DIR:-.}/x.sh", "\u{1}/x.sh!"),
            ("$(git rev-parse --show-toplevel)/x.sh", "\u{1}/x.sh!"),
            ("$HOME/x", "\u{2}/x!"),
            ("", ""),
        ];
        for (line, expected) in rows {
            let read: Vec<_> = words(line)
                .into_iter()
                .map(|LineWord { text, is_program }| if is_program { format!("{text}!") } else { text })
                .collect();
            assert_eq!(read.join(" "), expected, "{line}");
        }
    }

    #[test]
    fn patterns_match_existing_paths() {
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
