//! How to build, run, test and check a project: commands from its documents, and what its manifests imply.

use super::{
    documents::{Command, Documents},
    evidence::{Answer, FINDINGS, Fact, finding},
    rank::Ranked,
    topics::{Asked, Topic},
};

/// Maximum commands in an answer, and passages that they are taken from.
const COMMANDS: usize = 8;
const PASSAGES: usize = 24;
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

/// Answers with the commands of the best passages: two of each kind of document at first, because CI, tasks and guides
/// often differ in how they run the same thing.
fn named(ranked: &[Ranked<'_>]) -> Answer {
    let best = ranked.iter().filter(|ranked| !ranked.commands.is_empty()).take(PASSAGES);
    let (mut chosen, mut later): (Vec<&Ranked<'_>>, Vec<&Ranked<'_>>) = (Vec::new(), Vec::new());
    for ranked in best {
        let same = chosen.iter().filter(|known| known.passage.source == ranked.passage.source).count();
        if same < 2 { chosen.push(ranked) } else { later.push(ranked) }
    }
    chosen.extend(later);
    let mut answer = Answer::default();
    let mut known: Vec<&str> = Vec::new();
    for Ranked { passage, commands, .. } in chosen {
        let new = commands.iter().filter(|command| !known.contains(&command.text.as_str()));
        let room = (COMMANDS - known.len()).min(COMMANDS / 2);
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
fn conventions(documents: &Documents, topic: Topic) -> impl Iterator<Item = Fact> {
    let holds = |name: &str| documents.paths.binary_search_by(|path| path.as_str().cmp(name)).is_ok();
    let applies = CONVENTIONS.iter().filter(move |(name, of, _)| *of == topic && holds(name));
    applies.map(|(name, _, command)| Fact::new(format!("`{command}`, usual with `{name}`")))
}

/// Answers with the lines of the best passages that say most about the question.
pub(super) fn quotes(ranked: &[Ranked<'_>], asked: &Asked) -> Answer {
    let best = || ranked.iter().take(FINDINGS);
    Answer {
        facts: best().map(|ranked| ranked.fact(asked)).collect(),
        findings: best().map(|ranked| finding(ranked.passage)).collect(),
    }
}
