//! The kinds of documents that say how to work on a project, by their paths.

use openagents_core::text::is_listed;

/// The kind of a document, which says how far to trust it on a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// `CONTRIBUTING`, `HACKING`, `DEVELOPMENT`.
    Guide,
    Readme,
    /// Build and test tasks: `Makefile`, scripts of a package, `tox.ini`.
    Tasks,
    Manifest,
    Ci,
    /// Settings of linters and formatters.
    Lint,
    Manual,
    Changes,
    Licence,
    Version,
}

const GUIDES: &str = "\
    contributing|contribute|hacking|development|developing|developer|developers|building|build|install|installation|\
    installing|testing|maintainers|maintaining|releasing|release|architecture|design|internals|agents|claude|onboarding";

/// Guides by their whole name, also deep in a manual.
const DEVELOPERS_GUIDES: &str =
    "contributing|hacking|development|developing|releasing|testing|architecture|internals";

const TASKS: &str = "\
    makefile|gnumakefile|makefile.am|justfile|taskfile.yml|taskfile.yaml|rakefile|tox.ini|noxfile.py|build.zig|meson.build|\
    cmakepresets.json|magefile.go|gulpfile.js|gruntfile.js|bootstrap|configure.py|build.xml|wscript|dune-project|\
    build.sh|autogen.sh|docker-compose.yml|dockerfile|tasks.py";

const MANIFESTS: &str = "\
    cargo.toml|package.json|pyproject.toml|setup.cfg|setup.py|composer.json|go.mod|pom.xml|build.gradle|build.gradle.kts|\
    gemfile|package.swift|mix.exs|cmakelists.txt|configure.ac|pubspec.yaml|deno.json|cargo.toml.orig|settings.gradle|\
    requirements.txt|requirements-dev.txt|dev-requirements.txt|environment.yml|flake.nix|build.sbt|project.clj";

const LINTERS: &str = "\
    .pre-commit-config.yaml|.rubocop.yml|.eslintrc|.eslintrc.js|.eslintrc.json|.eslintrc.cjs|eslint.config.js|.prettierrc|\
    .prettierrc.json|.clang-format|.clang-tidy|.golangci.yml|.golangci.yaml|rustfmt.toml|.rustfmt.toml|clippy.toml|.flake8|\
    phpstan.neon|phpstan.neon.dist|.php-cs-fixer.php|.php-cs-fixer.dist.php|.php_cs|phpcs.xml|psalm.xml|ruff.toml|\
    .pylintrc|mypy.ini|.editorconfig|checkstyle.xml|.standard.yml|biome.json|dprint.json|.swiftlint.yml|.stylelintrc";

const CI: &str = "\
    .gitlab-ci.yml|.travis.yml|azure-pipelines.yml|appveyor.yml|.appveyor.yml|jenkinsfile|.cirrus.yml|\
    bitbucket-pipelines.yml|.drone.yml|.woodpecker.yml|.builds.yml|buildkite.yml|codemagic.yaml";

const DOCUMENT_EXTENSIONS: &str = "|md|mdx|markdown|rst|adoc|asciidoc|txt|org";

const MANUAL_FOLDERS: &str =
    "doc|docs|documentation|manual|guide|guides|.github|website|wiki|contributing|design";

/// Returns the kind of a document; `None` for other files. Deep manifests belong to parts and tests.
pub(super) fn source(path: &str) -> Option<Source> {
    let lower = path.to_lowercase();
    let (folder, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let depth = if folder.is_empty() { 0 } else { folder.split('/').count() };
    let (stem, extension) = name.rsplit_once('.').map_or((name, ""), |(stem, extension)| (stem, extension));
    let is_prose = is_listed(extension, DOCUMENT_EXTENSIONS) || extension.is_empty();
    if folder == ".github/workflows" && matches!(extension, "yml" | "yaml")
        || depth == 0 && is_listed(name, CI)
        || matches!(folder, ".circleci" | ".builds" | ".azure-pipelines" | ".buildkite" | "ci")
            && matches!(extension, "yml" | "yaml")
    {
        return Some(Source::Ci);
    }
    if depth == 0 && is_listed(name, LINTERS) {
        return Some(Source::Lint);
    }
    if depth <= 2 && is_listed(name, TASKS)
        || depth == 0 && (extension == "mk" || extension == "just")
        || depth <= 1 && extension == "rake"
    {
        return Some(Source::Tasks);
    }
    if depth <= 2
        && (is_listed(name, MANIFESTS)
            || matches!(extension, "gemspec" | "podspec" | "nimble" | "cabal" | "csproj"))
    {
        return Some(Source::Manifest);
    }
    if depth == 0 && matches!(name, "version" | "version.txt" | ".version") {
        return Some(Source::Version);
    }
    if is_manual_page(stem, extension) && depth <= 2 {
        return Some(Source::Manual);
    }
    if !is_prose || name.starts_with('.') && extension.is_empty() {
        return None;
    }
    let words: Vec<&str> = stem.split(['-', '_', '.', ' ']).collect();
    match () {
        () if depth == 0
            && (stem.starts_with("licen") || stem.starts_with("copying") || stem == "unlicense") =>
        {
            Some(Source::Licence)
        }
        () if depth == 0 && matches!(words[0], "changelog" | "changes" | "news" | "history" | "releases") => {
            Some(Source::Changes)
        }
        () if words[0] == "readme" && depth <= 3 => Some(Source::Readme),
        () if depth <= 2 && words.iter().any(|word| is_listed(word, GUIDES)) => Some(Source::Guide),
        () if depth <= 4 && is_listed(stem, DEVELOPERS_GUIDES) => Some(Source::Guide),
        () if folder.split('/').any(|part| is_listed(part, MANUAL_FOLDERS))
            && depth <= 4
            && !extension.is_empty() =>
        {
            Some(Source::Manual)
        }
        () if depth == 0 && !extension.is_empty() => Some(Source::Manual),
        () => None,
    }
}

/// Returns whether a file is a page of `man`: `git-log.1`, not `notes-2.1`.
fn is_manual_page(stem: &str, extension: &str) -> bool {
    matches!(extension, "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9")
        && stem.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '-' | '_'))
}
