//! How to build, run, test and check a project: commands from its documents, and what its manifests imply.

use super::{
    documents::Documents,
    evidence::{FINDINGS, finding},
    rank::Ranked,
    topics::{Asked, Topic},
};
use openagents_core::{text::one_line, update::Finding};

/// Maximum commands in a lead.
const COMMANDS: usize = 8;

/// Answers with commands: those that the project names, else those that its manifests imply, else its words.
pub(super) fn commands(
    documents: &Documents,
    ranked: &[Ranked<'_>],
    asked: &Asked,
) -> (String, Vec<Finding>) {
    let (mut lines, findings) = listed(ranked, asked);
    if lines.len() < 3 {
        lines.extend(conventions(documents, asked.topic));
    }
    if lines.is_empty() {
        return quotes(ranked, asked);
    }
    (lines.join("\n"), findings)
}

/// Returns the commands of the best passages: two of each kind of document at first, because CI, tasks and guides
/// often differ in how they run the same thing.
fn listed(ranked: &[Ranked<'_>], asked: &Asked) -> (Vec<String>, Vec<Finding>) {
    let best: Vec<&Ranked<'_>> =
        ranked.iter().filter(|ranked| !ranked.commands.is_empty()).take(24).collect();
    let (mut chosen, mut later): (Vec<&Ranked<'_>>, Vec<&Ranked<'_>>) = (Vec::new(), Vec::new());
    for ranked in best {
        let same = chosen.iter().filter(|known| known.passage.source == ranked.passage.source).count();
        if same < 2 { chosen.push(ranked) } else { later.push(ranked) }
    }
    chosen.extend(later);
    let mut lines: Vec<String> = Vec::new();
    let mut known: Vec<&str> = Vec::new();
    let mut findings = Vec::new();
    for Ranked { passage, commands, .. } in chosen {
        let mut added = 0;
        for command in commands {
            let text = command.text.as_str();
            if known.contains(&text) || lines.len() == COMMANDS || added == COMMANDS / 2 {
                continue;
            }
            known.push(text);
            added += 1;
            let heading = passage.heading.rsplit(" › ").next().unwrap_or_default();
            let heading = if heading.is_empty() { String::new() } else { format!(", {}", one_line(heading)) };
            let text = text.replace('`', "'");
            lines.push(format!("- `{text}` (`{}:{}`{heading})", passage.path, command.line));
        }
        if added > 0 && findings.len() < FINDINGS {
            findings.push(finding(passage, asked));
        }
    }
    (lines, findings)
}

/// What a manifest's tool does without further settings.
const CONVENTIONS: &[(&str, Topic, &str)] = &[
    ("Cargo.toml", Topic::Build, "cargo build"),
    ("Cargo.toml", Topic::Test, "cargo test"),
    ("Cargo.toml", Topic::TestOne, "cargo test NAME"),
    ("Cargo.toml", Topic::Lint, "cargo clippy"),
    ("go.mod", Topic::Build, "go build ./..."),
    ("go.mod", Topic::Test, "go test ./..."),
    ("go.mod", Topic::TestOne, "go test ./FOLDER -run NAME"),
    ("go.mod", Topic::Lint, "go vet ./..."),
    ("pom.xml", Topic::Build, "mvn package"),
    ("pom.xml", Topic::Test, "mvn test"),
    ("pom.xml", Topic::TestOne, "mvn test -Dtest=NAME"),
    ("gradlew", Topic::Build, "./gradlew build"),
    ("gradlew", Topic::Test, "./gradlew test"),
    ("gradlew", Topic::TestOne, "./gradlew test --tests NAME"),
    ("mix.exs", Topic::Build, "mix compile"),
    ("mix.exs", Topic::Test, "mix test"),
    ("mix.exs", Topic::TestOne, "mix test FILE:LINE"),
    ("Package.swift", Topic::Build, "swift build"),
    ("Package.swift", Topic::Test, "swift test"),
    ("Package.swift", Topic::TestOne, "swift test --filter NAME"),
    ("composer.json", Topic::Build, "composer install"),
    ("Gemfile", Topic::Build, "bundle install"),
    ("package.json", Topic::Build, "npm install"),
];

/// Returns the commands that the manifests at the root imply.
fn conventions(documents: &Documents, topic: Topic) -> Vec<String> {
    let holds = |name: &str| documents.paths.binary_search_by(|path| path.as_str().cmp(name)).is_ok();
    let applies = CONVENTIONS.iter().filter(|(name, of, _)| *of == topic && holds(name));
    applies.map(|(name, _, command)| format!("- `{command}` (usual with `{name}`)")).collect()
}

/// Answers with the lines of the best passages that say most about the question.
pub(super) fn quotes(ranked: &[Ranked<'_>], asked: &Asked) -> (String, Vec<Finding>) {
    let best: Vec<_> = ranked.iter().take(FINDINGS).collect();
    let lines: Vec<String> = best
        .iter()
        .map(|ranked| {
            let Ranked { passage, quote, .. } = ranked;
            format!("- {} (`{}:{}-{}`)", quote, passage.path, passage.start, passage.end)
        })
        .collect();
    (lines.join("\n"), best.iter().map(|ranked| finding(ranked.passage, asked)).collect())
}
