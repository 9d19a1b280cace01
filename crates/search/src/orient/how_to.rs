//! How to build, run, test and check a project: commands from its documents, and what its manifests imply.

use super::{
    documents::{Command, Documents},
    evidence::{Answer, FINDINGS, Fact, finding},
    rank::Ranked,
    sources::Source,
    topics::{Asked, Topic},
};
use std::collections::BTreeMap;

/// Maximum commands in an answer, and passages that they are taken from.
const COMMANDS: usize = 8;
const PASSAGES: usize = 24;
/// Maximum commands of one passage.
const OF_PASSAGE: usize = 3;
/// Fewer commands than this are completed with what is usual.
const FEW: usize = 3;

/// Answers with commands: those that the project names, and if these are few, those that its manifests imply.
pub(super) fn commands(documents: &Documents, ranked: &[Ranked<'_>], topic: Topic) -> Answer {
    let mut answer = named(ranked);
    if answer.facts.len() < FEW {
        answer.facts.extend(conventions(documents, topic));
    }
    answer
}

/// Answers with the commands of the best passages: of each kind of document in turn, because CI, tasks and guides often
/// differ in how they run the same thing.
fn named(ranked: &[Ranked<'_>]) -> Answer {
    let best = ranked.iter().filter(|ranked| !ranked.commands.is_empty()).take(PASSAGES);
    let mut counts: BTreeMap<Source, usize> = BTreeMap::new();
    let mut chosen: Vec<(usize, &Ranked<'_>)> = Vec::new();
    for ranked in best {
        let count = counts.entry(ranked.passage.source).or_default();
        chosen.push((*count, ranked));
        *count += 1;
    }
    chosen.sort_by_key(|(place, _)| *place);
    let mut answer = Answer::default();
    let mut known: Vec<&str> = Vec::new();
    for (_, Ranked { passage, commands, .. }) in chosen {
        let new = commands.iter().filter(|command| !known.contains(&command.text.as_str()));
        let room = (COMMANDS - known.len()).min(OF_PASSAGE);
        let new: Vec<&Command> = new.copied().take(room).collect();
        if !new.is_empty() {
            answer.show(finding(passage));
        }
        for command in new {
            known.push(&command.text);
            answer.facts.push(Fact::command(passage, command));
        }
    }
    answer
}

/// What a tool does without further settings: its file, the section that configures it, and the command.
const CONVENTIONS: &[(&str, &str, Topic, &str)] = &[
    ("Cargo.toml", "", Topic::Build, "cargo build"),
    ("Cargo.toml", "", Topic::Test, "cargo test"),
    ("Cargo.toml", "", Topic::TestOne, "cargo test NAME"),
    ("Cargo.toml", "", Topic::Lint, "cargo clippy"),
    ("go.mod", "", Topic::Build, "go build ./..."),
    ("go.mod", "", Topic::Test, "go test ./..."),
    ("go.mod", "", Topic::TestOne, "go test ./FOLDER -run NAME"),
    ("go.mod", "", Topic::Lint, "go vet ./..."),
    ("pom.xml", "", Topic::Build, "mvn package"),
    ("pom.xml", "", Topic::Test, "mvn test"),
    ("pom.xml", "", Topic::TestOne, "mvn test -Dtest=NAME"),
    ("gradlew", "", Topic::Build, "./gradlew build"),
    ("gradlew", "", Topic::Test, "./gradlew test"),
    ("gradlew", "", Topic::TestOne, "./gradlew test --tests NAME"),
    ("mix.exs", "", Topic::Build, "mix compile"),
    ("mix.exs", "", Topic::Test, "mix test"),
    ("mix.exs", "", Topic::TestOne, "mix test FILE:LINE"),
    ("Package.swift", "", Topic::Build, "swift build"),
    ("Package.swift", "", Topic::Test, "swift test"),
    ("Package.swift", "", Topic::TestOne, "swift test --filter NAME"),
    ("composer.json", "", Topic::Build, "composer install"),
    ("Gemfile", "", Topic::Build, "bundle install"),
    ("package.json", "", Topic::Build, "npm install"),
    ("pyproject.toml", "tool.poetry", Topic::Build, "poetry install"),
    ("pyproject.toml", "project", Topic::Build, "pip install -e ."),
    ("setup.py", "", Topic::Build, "pip install -e ."),
    ("pyproject.toml", "tool.pytest", Topic::Test, "pytest"),
    ("pyproject.toml", "tool.pytest", Topic::TestOne, "pytest FILE::NAME"),
    ("pytest.ini", "", Topic::Test, "pytest"),
    ("pytest.ini", "", Topic::TestOne, "pytest FILE::NAME"),
    ("pyproject.toml", "tool.ruff", Topic::Lint, "ruff check ."),
    ("pyproject.toml", "tool.black", Topic::Lint, "black --check ."),
    ("pyproject.toml", "tool.mypy", Topic::Lint, "mypy ."),
    ("phpunit.xml.dist", "", Topic::Test, "vendor/bin/phpunit"),
    ("phpunit.xml.dist", "", Topic::TestOne, "vendor/bin/phpunit --filter NAME"),
    ("configure.ac", "", Topic::Build, "./configure && make"),
    ("configure.ac", "", Topic::Test, "make check"),
    ("CMakeLists.txt", "", Topic::Build, "cmake -B build && cmake --build build"),
    ("CMakeLists.txt", "", Topic::Test, "ctest --test-dir build"),
    ("meson.build", "", Topic::Build, "meson setup build && ninja -C build"),
    ("meson.build", "", Topic::Test, "meson test -C build"),
];

/// Returns the commands that the manifests at the root imply.
fn conventions(documents: &Documents, topic: Topic) -> Vec<Fact> {
    let holds = |name: &str, section: &str| match section {
        "" => documents.paths.binary_search_by(|path| path.as_str().cmp(name)).is_ok(),
        _ => documents.passages.iter().any(|part| part.path == name && part.heading.starts_with(section)),
    };
    let applies = CONVENTIONS.iter().filter(|(name, section, of, _)| *of == topic && holds(name, section));
    let mut implied: Vec<(&str, &str)> = applies.map(|(name, _, _, command)| (*command, *name)).collect();
    implied.dedup_by_key(|(command, _)| *command);
    implied
        .into_iter()
        .map(|(command, name)| Fact::new(format!("`{command}`, usual with `{name}`")))
        .collect()
}

/// Answers with the lines of the best passages of prose that say most about the question.
pub(super) fn quotes(ranked: &[Ranked<'_>], asked: &Asked) -> Answer {
    let is_prose = |source: Source| matches!(source, Source::Guide | Source::Readme | Source::Manual);
    let best = || ranked.iter().filter(|ranked| is_prose(ranked.passage.source)).take(FINDINGS);
    Answer {
        facts: best().map(|ranked| ranked.fact(asked)).collect(),
        findings: best().map(|ranked| finding(ranked.passage)).collect(),
    }
}
