//! The commands that documents contain, as a user types them.

use super::sources::Source;
use openagents_core::text::is_listed;
use regex::Regex;
use std::sync::LazyLock;

pub(super) static TARGET: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^([A-Za-z][\w.-]*)(?: [\w.-]+)*\s*:(?:[^=]|$)").ok());

/// Returns the commands in the lines of a part of a document, each with the index of its line. `name` is the file's name in
/// lower case, `heading` the part's.
pub(super) fn of_part(own: &[&str], source: Source, name: &str, heading: &str) -> Vec<(usize, String)> {
    match source {
        Source::Ci => ci_commands(own),
        Source::Tasks if name.contains("makefile") || name == "justfile" || name.ends_with(".mk") => {
            target_commands(own, if name == "justfile" { "just" } else { "make" })
        }
        Source::Manifest | Source::Tasks if name == "package.json" => {
            script_commands(own, heading, "npm run")
        }
        Source::Manifest if name == "composer.json" => script_commands(own, heading, "composer"),
        Source::Tasks if name == "tox.ini" => tox_commands(own, heading),
        Source::Tasks if name == "rakefile" || name.ends_with(".rake") => {
            defined_commands(own, RAKE_TASK.as_ref(), "rake")
        }
        Source::Tasks if name == "noxfile.py" => defined_commands(own, NOX_SESSION.as_ref(), "nox -s"),
        Source::Guide | Source::Readme | Source::Manual => prose_commands(own),
        _ => Vec::new(),
    }
}

fn target_commands(lines: &[&str], program: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(name) =
            TARGET.as_ref().and_then(|target| target.captures(line)).and_then(|found| found.get(1))
        {
            found.push((at, format!("{program} {}", name.as_str())));
        } else if line.starts_with(['\t', ' ']) && !line.trim().is_empty() {
            found.push((at, line.trim().trim_start_matches(['@', '-']).to_owned()));
        }
    }
    found
}

fn script_commands(lines: &[&str], heading: &str, runner: &str) -> Vec<(usize, String)> {
    if heading != "scripts" {
        return Vec::new();
    }
    let members = lines.iter().enumerate().skip(1);
    let script = |(at, line): (usize, &&str)| {
        let mut quoted = line.split('"').skip(1);
        let name = quoted.next()?;
        let body =
            line.split_once(':')?.1.trim().trim_end_matches(',').trim_matches('"').replace("\\\"", "\"");
        let called = if runner == "npm run" && matches!(name, "test" | "start") {
            format!("npm {name}")
        } else {
            format!("{runner} {name}")
        };
        Some((at, format!("{called}  ({body})")))
    };
    members.filter_map(script).collect()
}

fn tox_commands(lines: &[&str], heading: &str) -> Vec<(usize, String)> {
    let name = heading.strip_prefix("testenv").map(|rest| rest.trim_start_matches(':'));
    let mut found = Vec::new();
    if let Some(name) = name {
        found.push((0, if name.is_empty() { "tox".to_owned() } else { format!("tox -e {name}") }));
        let body = lines.iter().enumerate().skip_while(|(_, line)| !line.starts_with("commands"));
        found.extend(
            body.take(12)
                .filter(|(_, line)| line.starts_with([' ', '\t']))
                .map(|(at, line)| (at, line.trim().to_owned())),
        );
    }
    found
}

static RAKE_TASK: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"^\s*(?:multitask|task|\w+::\w*Task\.new)\s*\(?\s*:?['"]?(\w+)(.*)"#).ok());

static NOX_SESSION: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^def (\w+)\(session(.*)").ok());

/// Returns a command for each task that a pattern finds: its name is the first group, what it does the second.
fn defined_commands(lines: &[&str], pattern: Option<&Regex>, program: &str) -> Vec<(usize, String)> {
    let lines = lines.iter().enumerate();
    let found = lines.filter_map(|(at, line)| Some((at, pattern?.captures(line)?)));
    found
        .map(|(at, found)| match (&found[1], found[2].trim_matches([':', ' ', '=', '>', '(', ')'])) {
            ("default", body) if program == "rake" => (at, format!("rake  ({body})")),
            (name, "" | "do") => (at, format!("{program} {name}")),
            (name, body) if program == "rake" => (at, format!("{program} {name}  ({body})")),
            (name, _) => (at, format!("{program} {name}")),
        })
        .collect()
}

/// Returns the commands of `run:` and `script:` steps.
fn ci_commands(lines: &[&str]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut block: Option<usize> = None;
    for (at, line) in lines.iter().enumerate() {
        let trimmed = line.trim();
        let indent = line.len() - line.trim_start().len();
        if let Some(outer) = block {
            if trimmed.is_empty() {
                continue;
            }
            if indent > outer {
                let command = trimmed
                    .trim_start_matches("- ")
                    .trim_start_matches("command: ")
                    .trim_matches(['"', '\'']);
                let is_setting = command.split_once(": ").is_some_and(|(key, _)| !key.contains(' '));
                if !command.starts_with('#') && !is_setting {
                    found.push((at, command.to_owned()));
                }
                continue;
            }
            block = None;
        }
        let item = trimmed.trim_start_matches("- ");
        for key in [
            "run:",
            "script:",
            "command:",
            "before_script:",
            "install:",
            "test_script:",
            "build_script:",
            "run_cmd:",
        ] {
            if let Some(rest) = item.strip_prefix(key) {
                match rest.trim() {
                    "" | "|" | ">" | "|-" | ">-" | "|+" => block = Some(indent),
                    command => found.push((at, command.trim_matches(['"', '\'']).to_owned())),
                }
            }
        }
    }
    found
}

static INLINE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"``?([^`\n]+)``?").ok());

/// First words of what a user types into a shell.
const PROGRAMS: &str = "\
    cargo|rustup|npm|npx|yarn|pnpm|node|deno|bun|python|python3|py|pip|pip3|pipx|poetry|uv|hatch|tox|nox|pytest|go|make|gmake|\
    cmake|ctest|ninja|meson|./configure|sh|bash|./autogen.sh|./gradlew|gradle|mvn|./mvnw|composer|php|phpunit|vendor/bin/phpunit|\
    bundle|rake|rspec|ruby|gem|rubocop|swift|xcodebuild|mix|dotnet|docker|docker-compose|just|task|bazel|pre-commit|ruff|black|\
    flake8|mypy|eslint|prettier|gofmt|golangci-lint|git|tsc|vitest|jest|mocha|tap|zig|sbt|lein|cabal|stack|opam|dune|brew|apt|\
    apt-get|sudo|curl|conda|jupyter|gcc|clang|autoreconf|hyperfine|bats|shellcheck|vagrant|nix|nix-shell";

/// Returns whether a line is a command: it starts with a known program, a path to one, or a prompt.
pub(super) fn is_command(line: &str) -> bool {
    let line = line.trim_start_matches(['$', '>', '%', ' ']);
    let first = line.split_whitespace().next().unwrap_or_default();
    let program = first.rsplit_once('=').map_or(first, |(_, rest)| rest);
    is_listed(program, PROGRAMS)
        || first.starts_with("./") && first.len() > 2
        || first.contains('=')
            && line.split_whitespace().nth(1).is_some_and(|second| is_listed(second, PROGRAMS))
}

/// Returns the commands in code blocks, and those in the text that have arguments.
fn prose_commands(lines: &[&str]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let (mut in_code, mut is_shell) = (false, true);
    for (at, line) in lines.iter().enumerate() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            in_code = !in_code;
            let language = trimmed.trim_start_matches(['`', '~']).trim();
            is_shell = language.is_empty()
                || is_listed(
                    language.split([' ', ',', '{']).next().unwrap_or(language),
                    "bash|sh|shell|console|zsh|text|shell-session|shellsession|terminal|cmd|powershell|bat",
                );
            continue;
        }
        let is_indented = line.starts_with("    ")
            || line.starts_with('\t')
            || line.starts_with("  $")
            || line.starts_with("   ");
        let is_prompt = trimmed.starts_with("$ ") || trimmed.starts_with("% ");
        if (in_code && is_shell || !in_code && is_indented) && (is_prompt || is_command(trimmed)) || is_prompt
        {
            let command = trimmed.trim_start_matches(['$', '%']).trim();
            let command = command.split(" # ").next().unwrap_or(command).trim();
            found.push((at, command.trim_end_matches('\\').trim().to_owned()));
        } else if !in_code {
            let inline = INLINE.as_ref().map(|inline| inline.captures_iter(line));
            for code in inline.into_iter().flatten().filter_map(|found| found.get(1)) {
                let code = code.as_str().trim().trim_start_matches("$ ");
                if code.contains(' ') && is_command(code)
                    || matches!(code, "tox" | "make" | "pytest" | "pre-commit")
                {
                    found.push((at, code.to_owned()));
                }
            }
        }
    }
    found
}
