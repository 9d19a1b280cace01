//! Ranks the passages of a project's documents for a question.

use super::{
    documents::{Command, Documents, Passage, PassageStems},
    evidence::Fact,
    files::THREADS,
    sources::Source,
    topics::{self, Asked, Topic},
};
use crate::repository;
use openagents_core::{
    budget::Budget,
    parallel,
    terms::Language,
    text::{cut_at_word, is_listed, one_line},
};
use regex::Regex;
use std::{collections::HashMap, sync::LazyLock};

/// A passage with its score, the commands in it that answer, and its best lines.
#[derive(Debug)]
pub(super) struct Ranked<'a> {
    pub(super) passage: &'a Passage,
    pub(super) score: f32,
    pub(super) commands: Vec<&'a Command>,
}

impl Ranked<'_> {
    /// The lines that say most about the question.
    pub(super) fn fact(&self, asked: &Asked) -> Fact {
        Fact::new(quote(self.passage, &words(asked))).within(
            &self.passage.path,
            self.passage.start,
            self.passage.end,
        )
    }
}

/// Maximum lines and characters of a quotation.
const QUOTED_LINES: usize = 6;
const QUOTE: usize = 360;

/// Maximum passages that are ranked.
const RANKED: usize = 200;

/// Returns the words that are sought, as stems, with their weights: of the question, of its topic, and next to that.
fn words(asked: &Asked) -> Vec<(String, f32)> {
    let own = asked.others.iter().map(|word| (word.clone(), 1.6));
    let of_topic = topics::profile(asked.topic).into_iter().flat_map(|profile| {
        // Words of the question count more than other words of its topic.
        let weight = |word: &str| match asked.words.is_empty() || asked.words.iter().any(|own| own == word) {
            true => 1.0,
            false => 0.5,
        };
        let asks = profile.asks().map(move |word| (word.to_owned(), weight(word)));
        asks.chain(profile.near.split('|').map(|word| (word.to_owned(), 0.25)))
    });
    own.chain(of_topic).collect()
}

fn stemmed(passages: &[Passage], budget: &Budget) -> Vec<PassageStems> {
    let stemmed = |(): &mut (), at: usize| {
        let passage = &passages[at];
        let heading = stems(&format!("{} {}", passage.heading, path_words(&passage.path)));
        Some(PassageStems { heading, text: stems(&passage.text) })
    };
    let stemmed = parallel::map(passages.len(), THREADS, || !budget.spent(), || (), stemmed);
    stemmed.into_iter().map(Option::unwrap_or_default).collect()
}

/// Returns the passages with words of the question or its topic, best first.
pub(super) fn rank<'a>(documents: &'a Documents, asked: &Asked, budget: &Budget) -> Vec<Ranked<'a>> {
    let passages = &documents.passages;
    let Some(profile) = topics::profile(asked.topic) else { return Vec::new() };
    let command = Regex::new(profile.command).ok().filter(|_| !profile.command.is_empty());
    let words = words(asked);
    let stemmed = documents.stems.get_or_init(|| stemmed(passages, budget));
    let rarity = rarity(stemmed, &words);
    let average =
        stemmed.iter().map(|stems| stems.text.len()).sum::<usize>() as f32 / stemmed.len().max(1) as f32;
    let mut ranked: Vec<Ranked<'a>> = passages
        .iter()
        .zip(stemmed)
        .take_while(|_| !budget.spent())
        .filter_map(|(passage, PassageStems { heading, text })| {
            if command.is_some() && is_of_manual(&passage.path) {
                return None;
            }
            let length = 0.4 + 0.6 * text.len() as f32 / average.max(1.0);
            let mut score = 0.0;
            for ((word, weight), rare) in words.iter().zip(&rarity) {
                let in_heading = heading.iter().filter(|other| *other == word).count().min(2) as f32;
                let in_text = text.iter().filter(|other| *other == word).count() as f32;
                let found = 2.5 * in_heading + in_text / length;
                score += weight * rare * found * 2.2 / (found + 1.2);
            }
            let commands = answering(passage, asked, command.as_ref(), &documents.names);
            if !commands.is_empty() {
                score += 2.0;
            }
            score *= prior(asked.topic, passage.source) * nearness(&passage.path, passage.source);
            (score > 0.3).then_some(Ranked { passage, score, commands })
        })
        .collect();
    ranked.sort_by(|one, other| other.score.total_cmp(&one.score));
    ranked.truncate(RANKED);
    // A manual is about using the project: its commands are those of a user.
    let by_developers =
        |ranked: &Ranked<'_>| ranked.passage.source != Source::Manual && !ranked.commands.is_empty();
    if command.is_some() && ranked.iter().any(by_developers) {
        ranked.retain(|ranked| ranked.passage.source != Source::Manual || ranked.commands.is_empty());
    }
    ranked
}

/// Returns the commands of a passage that answer a question. `wanted` is the pattern of its topic, `names` are the
/// project's.
fn answering<'a>(
    passage: &'a Passage,
    asked: &Asked,
    wanted: Option<&Regex>,
    names: &[String],
) -> Vec<&'a Command> {
    let answers = |command: &&Command| {
        let runs = command.runs.as_deref().unwrap_or_default().split("; ");
        let runs = runs.filter(|line| !installs_release(line) && !is_aside(line));
        let whole = std::iter::once(command.text.as_str()).chain(runs).collect::<Vec<_>>().join(" ");
        // A README shows how the program is used.
        let is_usage = passage.source == Source::Readme && runs_one_of(&command.text, names);
        wanted.is_some_and(|wanted| wanted.is_match(&whole))
            && fits(asked, &command.text)
            && !installs_release(&command.text)
            && !is_aside(&command.text)
            && !is_usage
    };
    let mut commands: Vec<&Command> = passage.commands.iter().filter(answers).collect();
    // `npm test` runs the tests; `npm run check` may.
    let names_topic = |command: &Command| {
        topics::profile(asked.topic)
            .is_some_and(|profile| profile.asks().any(|word| command.text.contains(word)))
    };
    commands.sort_by_key(|command| !names_topic(command));
    commands
}

/// Returns whether a command that matches a topic may answer a question about it.
fn fits(asked: &Asked, command: &str) -> bool {
    match asked.topic {
        Topic::TestOne => {
            // The colon of a script's name is not an argument.
            let is_runner = |word: &&str| matches!(*word, "npm" | "yarn" | "pnpm" | "run");
            let arguments: Vec<&str> = command.split_whitespace().skip_while(is_runner).collect();
            arguments.len() > 1 && arguments.iter().any(|word| word.contains(['/', '.', ':', '<', '-']))
                || names_task(command, &asked.words)
        }
        Topic::Build => !command.contains("apt-get") || command.contains("build"),
        _ => true,
    }
}

/// Returns whether a command runs a task with a name from the question: `npm run unit`.
fn names_task(command: &str, asked: &[String]) -> bool {
    const RUNNERS: &str = "npm|yarn|pnpm|bun|make|just|composer|rake|tox|nox|hatch|poe|pdm|task";
    let mut words = command.split_whitespace();
    words.next().is_some_and(|program| is_listed(program, RUNNERS))
        && words.any(|task| !is_listed(task, "run|test|tests") && asked.iter().any(|word| word == task))
}

/// Returns whether a command installs a published package: what users of the project do, not its developers.
fn installs_release(command: &str) -> bool {
    static PACKAGE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r#"\b(?:(?:npm|pnpm|bun) (?:i|install|add) (?:--?[\w-]+ )*[@\w][\w./@-]*|yarn (?:global )?add|pip(?:x|3)? install (?:-U |--upgrade |--user )*['"]?[\w]+[\w.=<>*,\[\]-]*['"]?|pip3? install https?:\S+|gem install|cargo install (?:--locked )?\w+|brew|apt|apt-get|dnf|yum|pacman|choco|scoop|winget|conda|mamba|port install|pkg|apk|zypper|emerge|nix-env|snap|go get|go install \w+|composer (?:global )?require|docker (?:pull|run))(?:\s|$)"#,
        )
        .ok()
    });
    PACKAGE.as_ref().is_some_and(|package| package.is_match(command))
}

/// Returns whether a command only prepares or reports something.
fn is_aside(command: &str) -> bool {
    const PROGRAMS: &str =
        "echo|printf|sed|awk|grep|cat|cp|mv|rm|mkdir|chmod|chown|export|source|cd|curl|wget|find|tar|unzip";
    let words: Vec<&str> = command.split_whitespace().collect();
    let program = words.first().copied().unwrap_or_default();
    static ASSIGNMENT: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"^\w+=(?:"[^"]*"?|'[^']*'?|\S*)$"#).ok());
    let is_assignment = ASSIGNMENT.as_ref().is_some_and(|assignment| assignment.is_match(command.trim()));
    let is_about_itself = words.last().is_some_and(|last| is_listed(last, "-V|-h|--version|--help|help"));
    is_assignment
        || is_about_itself
        || is_listed(program, PROGRAMS) && !command.contains("&&")
        || ["copy('", "git clone ", "git remote ", "git add ", "gem '"]
            .iter()
            .any(|part| command.contains(part))
}

/// Returns whether a command runs a program with one of these names.
fn runs_one_of(command: &str, names: &[String]) -> bool {
    let program = command.split_whitespace().next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or(program);
    names.iter().any(|name| name == program)
}

/// How far a kind of document is trusted on a topic.
fn prior(topic: Topic, source: Source) -> f32 {
    use Source::{Changes, Ci, Guide, Licence, Lint, Manifest, Manual, Readme, Tasks, Version};
    match (topic, source) {
        (_, Changes) => 0.25,
        (_, Licence | Version) => 0.2,
        (Topic::Lint, Lint) => 1.1,
        (_, Lint) => 0.3,
        (Topic::Build, Guide | Readme) => 1.1,
        (Topic::Test | Topic::TestOne | Topic::Lint, Guide) => 1.3,
        (Topic::Test | Topic::Lint, Ci | Tasks) => 0.9,
        (Topic::TestOne, Ci) => 0.4,
        (Topic::Build | Topic::Run, Tasks) => 0.9,
        (Topic::Build, Ci) => 0.6,
        // A manual is about using the project.
        (Topic::Build | Topic::Test | Topic::TestOne | Topic::Lint | Topic::Run, Manual) => 0.35,
        (Topic::Release, Manifest) => 0.6,
        (
            Topic::Layout | Topic::Extend | Topic::Configuration | Topic::Documentation,
            Ci | Manifest | Tasks,
        ) => 0.4,
        (_, Guide) => 1.1,
        (_, Readme) => 1.0,
        (_, Manual) => 0.8,
        (_, Tasks) => 0.7,
        (_, Manifest) => 0.5,
        (_, Ci) => 0.5,
    }
}

/// Returns whether a document builds the pages of a manual.
fn is_of_manual(path: &str) -> bool {
    let lower = path.to_lowercase();
    lower.starts_with("doc") && lower.ends_with("/makefile")
}

/// Returns whether a document is a translation, by the language at the end of its name: `readme-ja.md`, `readme.zh-cn.md`.
fn is_translation(path: &str, source: Source) -> bool {
    const LANGUAGES: &str = "ar|bn|br|cn|cs|da|de|el|es|fa|fi|fr|he|hi|hu|id|it|ja|jp|ko|kr|nl|no|pl|pt|ro|ru|sv|th|tr|tw|uk|ur|vi|zh";
    let name = path.rsplit('/').next().unwrap_or(path);
    let last = name.split(['-', '_', '.']).rev().nth(1);
    matches!(source, Source::Readme | Source::Guide | Source::Manual)
        && name.contains('.')
        && last.is_some_and(|last| is_listed(last, LANGUAGES))
}

/// Documents at the root are about the whole project, those further down about parts.
fn nearness(path: &str, source: Source) -> f32 {
    let lower = path.to_lowercase();
    let depth = lower.trim_start_matches(".github/").matches('/').count();
    let is_aside = is_translation(&lower, source)
        || ["test", "example", "fixture", "vendor", "template", "benchmark"]
            .iter()
            .any(|part| lower.split('/').rev().skip(1).any(|folder| folder.starts_with(part)));
    let depth = match depth {
        0 => 1.0,
        1 => 0.9,
        2 => 0.75,
        _ => 0.6,
    };
    if is_aside { depth * 0.3 } else { depth }
}

/// Returns the lines of a passage from those on that have most words of the question.
fn quote(passage: &Passage, words: &[(String, f32)]) -> String {
    let lines: Vec<&str> =
        passage.text.lines().filter(|line| line.chars().any(char::is_alphanumeric)).collect();
    let worth = |line: &&str| {
        let stems = stems(line);
        words.iter().filter(|(word, _)| stems.contains(word)).map(|(_, weight)| *weight).sum::<f32>()
    };
    let worth: Vec<f32> = lines.iter().map(worth).collect();
    let mut from = 0;
    if lines.len() > QUOTED_LINES {
        let sums: Vec<f32> = worth.windows(3).map(|window| window.iter().sum()).collect();
        // The first of equal ones.
        from = (0..sums.len()).rev().max_by(|one, other| sums[*one].total_cmp(&sums[*other])).unwrap_or(0);
    }
    let text = lines[from..].iter().take(QUOTED_LINES).map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    cut_at_word(&one_line(&repository::plain(&text)), QUOTE)
}

/// Returns the inverse document frequency of each word.
fn rarity(stemmed: &[PassageStems], words: &[(String, f32)]) -> Vec<f32> {
    let mut counts: HashMap<&str, f32> = HashMap::new();
    for PassageStems { heading, text } in stemmed {
        for (word, _) in words {
            if heading.contains(word) || text.contains(word) {
                *counts.entry(word).or_default() += 1.0;
            }
        }
    }
    let all = stemmed.len() as f32;
    let rarity = |(word, _): &(String, f32)| {
        let with = counts.get(word.as_str()).copied().unwrap_or_default();
        ((all - with + 0.5) / (with + 0.5) + 1.0).ln().min(4.0)
    };
    words.iter().map(rarity).collect()
}

fn path_words(path: &str) -> String {
    path.replace(['/', '-', '_', '.'], " ")
}

/// Returns the stems of the words of a text.
pub(super) fn stems(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1 && word.len() < 40);
    words.map(|word| Language::English.stem(&word.to_lowercase())).collect()
}
