//! The commands that documents contain: as a user types them, and what they run.

use super::sources::Source;
use openagents_core::text::is_listed;
use regex::Regex;
use std::sync::LazyLock;

pub(super) static TARGET: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^([A-Za-z][\w.-]*)(?: [\w.-]+)*\s*:(?:[^=]|$)").ok());

/// A command in a part of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Index of the line in the part.
    pub(super) at: usize,
    pub(super) text: String,
    /// What a task runs, if that is known.
    pub(super) runs: Option<String>,
}

impl Found {
    fn new(at: usize, text: impl Into<String>) -> Self {
        Self { at, text: text.into(), runs: None }
    }

    /// Adds a line to the command before it if that ends with a backslash, else a command.
    fn add(found: &mut Vec<Self>, at: usize, text: &str) {
        match found.last_mut().filter(|last| last.text.ends_with('\\')) {
            Some(last) => last.text = format!("{} {text}", last.text.trim_end_matches('\\').trim_end()),
            None => found.push(Self::new(at, text)),
        }
    }

    fn that_runs(self, runs: &str) -> Self {
        Self { runs: Some(runs.trim().to_owned()).filter(|runs| !runs.is_empty()), ..self }
    }
}

/// Returns the commands in the lines of a part of a document. `name` is the file's name in
/// lower case, `heading` the part's.
pub(super) fn of_part(own: &[&str], source: Source, name: &str, heading: &str) -> Vec<Found> {
    match source {
        Source::Ci => ci_commands(own),
        Source::Tasks if name.contains("makefile") || name == "justfile" || name.ends_with(".mk") => {
            target_commands(own, if name == "justfile" { "just" } else { "make" })
        }
        Source::Manifest | Source::Tasks if name == "package.json" => {
            script_commands(own, heading, "npm run")
        }
        Source::Manifest if name == "pyproject.toml" => tool_commands(own, heading),
        Source::Manifest if name == "composer.json" => script_commands(own, heading, "composer"),
        Source::Tasks if name == "tox.ini" => tox_commands(own, heading),
        Source::Tasks if name == "rakefile" || name.ends_with(".rake") => {
            defined_commands(own, RAKE_TASK.as_ref(), "rake")
        }
        Source::Tasks if name == "noxfile.py" => defined_commands(own, NOX_SESSION.as_ref(), "nox -s"),
        Source::Guide | Source::Readme | Source::Manual => prose_commands(own, name.ends_with(".rst")),
        _ => Vec::new(),
    }
}

/// Returns a command for each target, with what it runs.
fn target_commands(lines: &[&str], program: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut in_recipe = false;
    for (at, line) in lines.iter().enumerate() {
        let target = TARGET.as_ref().and_then(|target| target.captures(line)).and_then(|found| found.get(1));
        if let Some(name) = target {
            found.push(Found::new(at, format!("{program} {}", name.as_str())));
            in_recipe = true;
        } else if !line.starts_with([' ', '\t', '#']) && !line.trim().is_empty() {
            // A variable, say, which may have further lines.
            in_recipe = false;
        } else if in_recipe
            && line.starts_with(['\t', ' '])
            && !line.trim().is_empty()
            && let Some(last) = found.last_mut()
        {
            let line = line.trim().trim_start_matches(['@', '-']);
            let before = last.runs.take().map(|before| match before.strip_suffix('\\') {
                Some(open) => open.to_owned(),
                None => format!("{before}; "),
            });
            last.runs = Some(format!("{}{line}", before.unwrap_or_default()));
        }
    }
    found
}

fn script_commands(lines: &[&str], heading: &str, runner: &str) -> Vec<Found> {
    if heading != "scripts" {
        return Vec::new();
    }
    let members = lines.iter().enumerate();
    let script = |(at, line): (usize, &&str)| {
        let (name, rest) = line.trim_start().strip_prefix('"')?.split_once('"')?;
        let body = rest.trim_start().strip_prefix(':')?.trim().trim_end_matches(',');
        let body = unquoted(body).replace("\\\"", "\"");
        let is_known = runner == "npm run" && matches!(name, "test" | "start");
        let called = if is_known { format!("npm {name}") } else { format!("{runner} {name}") };
        // The heading itself begins an object.
        (!body.starts_with('{')).then(|| Found::new(at, called).that_runs(&body))
    };
    members.filter_map(script).collect()
}

/// Returns the scripts of the tools that `pyproject.toml` configures.
fn tool_commands(lines: &[&str], heading: &str) -> Vec<Found> {
    let environment = heading.strip_prefix("tool.hatch.envs.").and_then(|rest| rest.strip_suffix(".scripts"));
    let runner = match (heading, environment) {
        (_, Some("default")) => "hatch run ".to_owned(),
        (_, Some(environment)) => format!("hatch run {environment}:"),
        ("tool.poe.tasks", _) => "poe ".to_owned(),
        ("tool.pdm.scripts", _) => "pdm run ".to_owned(),
        ("tool.taskipy.tasks", _) => "task ".to_owned(),
        _ => return Vec::new(),
    };
    let script = |(at, line): (usize, &&str)| {
        let (name, body) = line.split_once('=')?;
        let is_name =
            !name.is_empty() && name.trim().chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
        let body = unquoted(body).trim_matches(['[', ']']).trim();
        (is_name && !line.starts_with([' ', '\t', '[']))
            .then(|| Found::new(at, format!("{runner}{}", name.trim())).that_runs(body))
    };
    lines.iter().enumerate().filter_map(script).collect()
}

fn tox_commands(lines: &[&str], heading: &str) -> Vec<Found> {
    let name = heading.strip_prefix("testenv").map(|rest| rest.trim_start_matches(':'));
    let mut found = Vec::new();
    if let Some(name) = name {
        found.push(Found::new(0, if name.is_empty() { "tox".to_owned() } else { format!("tox -e {name}") }));
        let body = lines.iter().enumerate().skip_while(|(_, line)| !line.starts_with("commands"));
        for (at, line) in body.take(12).filter(|(_, line)| line.starts_with([' ', '\t'])) {
            Found::add(&mut found, at, line.trim());
        }
    }
    found
}

static RAKE_TASK: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"^\s*(?:multitask|task|\w+::\w*Task\.new)\s*\(?\s*:?['"]?(\w+)(.*)"#).ok());

static NOX_SESSION: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^def (\w+)\(session(.*)").ok());

/// Returns a command for each task that a pattern finds: its name is the first group, what it does the second.
fn defined_commands(lines: &[&str], pattern: Option<&Regex>, program: &str) -> Vec<Found> {
    let lines = lines.iter().enumerate();
    let found = lines.filter_map(|(at, line)| Some((at, pattern?.captures(line)?)));
    found
        .map(|(at, found)| {
            let body = found[2].trim_matches([':', ' ', '=', '>', '(', ')']);
            let body = if body == "do" || program != "rake" { "" } else { body };
            match &found[1] {
                "default" if program == "rake" => Found::new(at, program).that_runs(body),
                name => Found::new(at, format!("{program} {name}")).that_runs(body),
            }
        })
        .collect()
}

/// Returns the commands of `run:` and `script:` steps.
fn ci_commands(lines: &[&str]) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    // The indentation of the key above a block, and whether its lines are one.
    let mut block: Option<(usize, bool)> = None;
    let mut begins = false;
    for (at, line) in lines.iter().enumerate() {
        let trimmed = line.trim();
        let indent = line.len() - line.trim_start().len();
        if let Some((outer, is_folded)) = block {
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
                    match found.last_mut().filter(|_| is_folded && !begins) {
                        Some(last) => last.text = format!("{} {command}", last.text),
                        None => Found::add(&mut found, at, command),
                    }
                    begins = false;
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
                    "" | "|" | ">" | "|-" | ">-" | "|+" => {
                        block = Some((indent, rest.trim().starts_with('>')));
                        begins = true;
                    }
                    // In a workflow it may be an argument of an action.
                    command if key == "command:" && !is_command(command) => {}
                    command => found.push(Found::new(at, unquoted(command))),
                }
            }
        }
    }
    found.into_iter().filter_map(typed).collect()
}

/// Returns a command of CI as a user types it, without the expressions of the CI system; `None` if these name the
/// program.
fn typed(found: Found) -> Option<Found> {
    static EXPRESSION: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\$\{\{[^}]*\}\}").ok());
    if found.text.starts_with(['$', '-', '(', '"', '\'', '[', '|', '&', '}', ')']) {
        return None;
    }
    let text = EXPRESSION.as_ref()?.replace_all(&found.text, "…");
    Some(Found { text: text.split_whitespace().collect::<Vec<_>>().join(" "), ..found })
}

/// Returns a text without a pair of quotes around it.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let within =
        |quote: char| text.strip_prefix(quote)?.strip_suffix(quote).filter(|inner| !inner.contains(quote));
    // Escaped quotes inside belong to the text.
    let json = || text.strip_prefix('"')?.strip_suffix('"').filter(|inner| inner.contains("\\\""));
    within('"').or_else(|| within('\'')).or_else(json).unwrap_or(text)
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
fn prose_commands(lines: &[&str], is_rst: bool) -> Vec<Found> {
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
        // Code in reStructuredText is indented by three spaces; in Markdown these continue a list.
        let is_indented =
            line.starts_with("    ") || line.starts_with('\t') || is_rst && line.starts_with("   ");
        let is_prompt = trimmed.starts_with("$ ")
            || trimmed.starts_with("% ")
            || in_code && trimmed.starts_with("> ") && is_command(trimmed);
        if (in_code && is_shell || !in_code && is_indented) && (is_prompt || is_command(trimmed)) || is_prompt
        {
            let command = trimmed.trim_start_matches(['$', '%', '>']).trim();
            let command = command.split(" # ").next().unwrap_or(command).trim();
            found.push(Found::new(at, command.trim_end_matches('\\').trim()));
        } else if !in_code {
            let inline = INLINE.as_ref().map(|inline| inline.captures_iter(line));
            for code in inline.into_iter().flatten().filter_map(|found| found.get(1)) {
                let code = code.as_str().trim().trim_start_matches("$ ");
                if code.contains(' ') && is_command(code)
                    || matches!(code, "tox" | "make" | "pytest" | "pre-commit")
                {
                    found.push(Found::new(at, code));
                }
            }
        }
    }
    found
}
