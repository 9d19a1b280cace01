//! Classifies a file by its path and first lines. Tests, examples, manuals, generated and vendored files contain the
//! words of a question more often than the relevant code.

use openagents_core::text::is_listed;

/// The role of a file in a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Role {
    Code,
    /// Type declarations without code: `*.d.ts`.
    Declarations,
    Test,
    Benchmark,
    Example,
    /// Manuals, READMEs, change logs.
    Documentation,
    /// Generated or copied: lock files, minified files, vendored folders.
    Generated,
    /// Configuration and data.
    Other,
}

// Names separated by `|`.
const LOCK_FILES: &str = "\
    package-lock.json|pnpm-lock.yaml|yarn.lock|cargo.lock|composer.lock|go.sum|poetry.lock|\
    gemfile.lock|uv.lock|flake.lock";
const GENERATED_FOLDERS: &str = "\
    vendor|vendored|third_party|third-party|node_modules|generated|__generated__|dist";
const TEST_FOLDERS: &str = "\
    test|tests|testing|__tests__|spec|specs|testdata|fixture|fixtures|e2e|regress|__mocks__|mocks|\
    snapshots|__snapshots__|testcases";
const BENCHMARK_FOLDERS: &str = "bench|benches|benchmark|benchmarks|fuzz";
const EXAMPLE_FOLDERS: &str = "example|examples|sample|samples|demo|demos|playground";
const DOCUMENTATION_FOLDERS: &str = "doc|docs|documentation|man|manual|website";
const DOCUMENTATION_NAMES: &str = "\
    readme|changelog|changes|license|contributing|authors|news|history|copying|todo|security|releases";
const DOCUMENTATION_EXTENSIONS: &str = "md|mdx|markdown|rst|adoc|txt|org|html|htm|1|5|7|8";
const CODE_EXTENSIONS: &str = "\
    rs|py|pyi|js|mjs|cjs|jsx|ts|tsx|mts|cts|go|c|h|cc|cpp|cxx|hpp|hh|m|mm|swift|php|java|kt|kts|rb|y|l|\
    cs|scala|vue|svelte|lua|ex|exs|erl|hs|ml|mli|clj|dart|zig|sh|bash|zsh|fish|pl|pm|r|jl|sql|proto|\
    graphql|jq|nim|cr|fs|fsx|groovy|gradle|cu|asm|s|vim|el";

/// Bytes at the start of a file that are searched for a generator's mark.
pub(super) const HEAD: usize = 300;

impl Role {
    /// Returns the role of a file; `head` is its first [`HEAD`] bytes.
    pub(super) fn detect(path: &str, head: &str) -> Self {
        let path = path.to_lowercase();
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let is_in = |folders: &str| folder.split('/').any(|part| is_listed(part, folders));
        let extension = extension(name);
        let stem = name.split('.').next().unwrap_or(name);
        if is_listed(name, LOCK_FILES)
            || name.contains(".min.")
            || matches!(extension, "map" | "snap")
            || is_in(GENERATED_FOLDERS)
            || is_marked_generated(head)
        {
            Self::Generated
        } else if is_in(TEST_FOLDERS) || is_test_name(stem, name) {
            Self::Test
        } else if is_in(BENCHMARK_FOLDERS) {
            Self::Benchmark
        } else if is_in(EXAMPLE_FOLDERS) {
            Self::Example
        } else if is_in(DOCUMENTATION_FOLDERS)
            || is_listed(extension, DOCUMENTATION_EXTENSIONS)
            || is_listed(stem, DOCUMENTATION_NAMES)
        {
            Self::Documentation
        } else if name.ends_with(".d.ts") {
            Self::Declarations
        } else if is_code_extension(extension) {
            Self::Code
        } else {
            Self::Other
        }
    }

    /// Returns whether files of this role contain definitions.
    pub(super) fn is_code(self, extension: &str) -> bool {
        !matches!(self, Self::Documentation | Self::Other) || is_code_extension(extension)
    }
}

/// Returns the text after the last dot of a file name.
pub(super) fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

fn is_code_extension(extension: &str) -> bool {
    is_listed(extension, CODE_EXTENSIONS)
}

fn is_test_name(stem: &str, name: &str) -> bool {
    stem.starts_with("test_")
        || ["_test", "_tests", "_spec"].iter().any(|end| stem.ends_with(end))
        || [".test.", ".spec."].iter().any(|part| name.contains(part))
        || matches!(stem, "tests" | "conftest")
}

fn is_marked_generated(head: &str) -> bool {
    let head = head.to_lowercase();
    head.contains("@generated") || head.contains("do not edit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_a_role() {
        let rows = [
            ("src/redirect.rs", "", Role::Code),
            ("lib/router.js", "", Role::Code),
            ("types/index.d.ts", "", Role::Declarations),
            ("tests/redirect.rs", "", Role::Test),
            ("src/router.test.ts", "", Role::Test),
            ("pkg/router_test.go", "", Role::Test),
            ("benches/fast.rs", "", Role::Benchmark),
            ("examples/hello.rs", "", Role::Example),
            ("README.md", "", Role::Documentation),
            ("docs/conf.py", "", Role::Documentation),
            ("Cargo.lock", "", Role::Generated),
            ("vendor/lib/a.c", "", Role::Generated),
            ("src/api.ts", "// @generated by x", Role::Generated),
            ("src/api.go", "// Code generated by x. DO NOT EDIT.", Role::Generated),
            ("app.min.js", "", Role::Generated),
            ("config/app.yml", "", Role::Other),
            ("Makefile", "", Role::Other),
        ];
        for (path, head, expected) in rows {
            assert_eq!(Role::detect(path, head), expected, "{path}");
        }
    }
}
