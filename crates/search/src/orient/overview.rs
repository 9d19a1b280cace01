//! The overview of a workspace, from everything that answers single questions about it.

use super::{
    changes::Changes,
    code::{Code, CodeFile, imported_name, most_imported},
    commands,
    documents::Documents,
    entry,
    evidence::{Answer, Fact},
    facts,
    files::language_of,
    how_to, map,
    places::Folders,
    rank, sessions,
    topics::{self, Topic},
};
use openagents_core::{
    budget::Budget,
    update::{CodeMap, MapNode, Overview, OverviewBlock, OverviewTopic},
    visible::code_span,
    workspace::Workspace,
};
use openagents_transcripts::history::History;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// Time limits: of all, of reading git's files, and of reading the code.
const TIME: Duration = Duration::from_millis(1_500);
const GIT: Duration = Duration::from_millis(400);
const CODE: Duration = Duration::from_millis(900);

/// Maximum facts of each kind.
const STATEMENTS: usize = 3;
const STARTS: usize = 5;
const OPTIONS: usize = 2;
const VARIABLES: usize = 8;
const FOLDERS: usize = 10;
const CENTRAL: usize = 3;
const CIRCLES: usize = 2;
const LANGUAGES: usize = 4;
const KINDS: usize = 2;
/// Minimum files of a folder whose types have one base.
const ALIKE: usize = 6;
const QUESTIONS: usize = 3;

/// Questions about commands, each with a label and the maximum number of answers.
const COMMANDS: [(&str, &str, usize); 5] = [
    ("Build", "How do I build the project?", 2),
    ("Run", "How do I run the project?", 1),
    ("Test", "How do I run all tests?", 2),
    ("Test one", "How do I run a single test?", 1),
    ("Check", "How do I run the linter?", 2),
];

/// Surveys a workspace: what the project is, its commands, where it starts, how it is organised, what changes in it, and
/// its past sessions. Blocks, at most for [`TIME`].
pub fn overview(workspace: &Workspace, history: Option<&History>, budget: &Budget) -> Overview {
    let budget = &budget.sooner(TIME);
    let documents = Documents::read(workspace, budget);
    let changes = Changes::read(workspace, &documents.paths, &budget.sooner(GIT));
    let sessions = history.map(|history| sessions::recent(workspace, history, budget)).unwrap_or_default();
    // The commands are looked up afterwards.
    let code = Code::read(workspace, &documents, &budget.sooner(CODE));
    let folders = Folders::new(workspace, &documents.paths, code.files.iter().map(|file| &file.place));
    let map = map::map(&code, &folders, budget);
    let blocks = [
        (OverviewTopic::Purpose, purpose(workspace, &documents, &code)),
        (OverviewTopic::Commands, commands(&documents, budget)),
        (OverviewTopic::Start, start(workspace, &documents, &code, budget)),
        (OverviewTopic::Structure, structure(&code, &map, &folders, budget)),
        (OverviewTopic::Changes, changes.as_ref().map(Changes::facts).unwrap_or_default()),
        (OverviewTopic::Sessions, sessions),
    ];
    let block = |(topic, facts): (OverviewTopic, Vec<Fact>)| {
        let facts: Vec<_> = facts.into_iter().map(Into::into).collect();
        (!facts.is_empty()).then_some(OverviewBlock { topic, facts })
    };
    let truncated = documents.truncated || code.truncated || budget.spent();
    let has_tests = blocks[1].1.iter().any(|fact| fact.statement().starts_with("Test one:"));
    let questions = questions(&code, &map, has_tests);
    Overview { blocks: blocks.into_iter().filter_map(block).collect(), map, questions, truncated }
}

fn purpose(workspace: &Workspace, documents: &Documents, code: &Code) -> Vec<Fact> {
    let Answer { mut facts, .. } = facts::what(workspace, documents);
    facts.truncate(STATEMENTS);
    facts.extend(languages(code));
    facts
}

/// Returns the languages by lines of code.
fn languages(code: &Code) -> Option<Fact> {
    let mut by_language: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for file in &code.files {
        let (lines, files) = by_language.entry(language_of(&file.place.path)?).or_default();
        *lines += file.lines;
        *files += 1;
    }
    let mut languages: Vec<_> = by_language.into_iter().filter(|(_, (lines, _))| *lines > 0).collect();
    languages.sort_by_key(|(_, (lines, _))| std::cmp::Reverse(*lines));
    let one = |(name, (lines, files)): &(&str, (usize, usize))| {
        format!("{name} ({} in {})", counted(*lines, "line"), counted(*files, "file"))
    };
    let names: Vec<String> = languages.iter().take(LANGUAGES).map(one).collect();
    let at_least = if code.truncated { "at least " } else { "" };
    (!names.is_empty()).then(|| Fact::new(format!("Code, without tests: {at_least}{}", names.join(", "))))
}

/// Returns a number with a comma after each three digits.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut written = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            written.push(',');
        }
        written.push(digit);
    }
    written
}

fn commands(documents: &Documents, budget: &Budget) -> Vec<Fact> {
    let mut known: Vec<String> = Vec::new();
    let mut facts = Vec::new();
    for (label, question, most) in COMMANDS {
        let Some(asked) = topics::classify(question) else { continue };
        let ranked = rank::rank(documents, &asked, budget);
        let answers = how_to::commands(documents, &ranked, asked.topic).facts.into_iter();
        let answers = answers.map(Fact::without_heading);
        let fits = |fact: &Fact| {
            fact.code().is_some_and(|code| is_typed(code) && (asked.topic != Topic::Run || starts(code)))
        };
        let new = answers.filter(|fact| fits(fact) && !known.contains(&fact.statement().to_owned()));
        let new: Vec<Fact> = new.take(most).collect();
        known.extend(new.iter().map(|fact| fact.statement().to_owned()));
        facts.extend(new.into_iter().map(|fact| fact.labelled(label)));
    }
    facts
}

/// Returns whether a user can type a command: it names a program, and has no variables of a makefile or of CI.
fn is_typed(code: &str) -> bool {
    let has_variables = ["$(", "${", "$<", "$@", "\\n", "…"].iter().any(|variable| code.contains(variable));
    !has_variables && (commands::is_command(code) || code.contains('/') && code.contains(' '))
}

/// Returns whether a command starts the project.
fn starts(code: &str) -> bool {
    code.split([' ', ':']).any(|word| matches!(word, "run" | "start" | "serve" | "dev" | "up"))
}

fn start(workspace: &Workspace, documents: &Documents, code: &Code, budget: &Budget) -> Vec<Fact> {
    let mut facts = entry::entry(workspace, documents, budget).facts;
    facts.truncate(STARTS);
    facts.extend(options(code));
    facts.extend(variables(code));
    facts
}

/// Returns the files that define the options, by their names.
fn options(code: &Code) -> impl Iterator<Item = Fact> {
    const NAMES: [&str; 8] =
        ["args", "cli", "config", "configuration", "conf", "flags", "options", "settings"];
    let is_named = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        NAMES.contains(&name.split('.').next().unwrap_or(name).to_lowercase().as_str())
    };
    let mut files: Vec<_> = code.files.iter().filter(|file| is_named(&file.place.path)).collect();
    files.sort_by_key(|file| std::cmp::Reverse(file.lines));
    files.into_iter().take(OPTIONS).map(|file| file.place.fact().labelled("Options"))
}

/// Returns the environment variables that the code reads; the place is that of the first.
fn variables(code: &Code) -> Option<Fact> {
    let mut names = BTreeSet::new();
    let mut places = BTreeMap::new();
    for file in &code.files {
        for (name, line) in &file.variables {
            if names.insert(name) {
                places.insert(name, (&file.place.path, *line));
            }
        }
    }
    let (path, line) = *places.get(*names.first()?)?;
    let shown: Vec<String> =
        names.iter().take(VARIABLES).map(|name| format!("`{}`", code_span(name))).collect();
    let more = match names.len().saturating_sub(VARIABLES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(Fact::new(format!("Environment variables: {}{more}", shown.join(", "))).at(path, line))
}

fn structure(code: &Code, map: &CodeMap, folders: &Folders<'_>, budget: &Budget) -> Vec<Fact> {
    let mut top: Vec<&MapNode> = map.roots().collect();
    top.sort_by_key(|node| std::cmp::Reverse(node.lines));
    let fact = |node: &MapNode| {
        let place = match node.path.strip_suffix('/') {
            Some(folder) => folders.describe(folder, node.files as usize, budget),
            None => code.files.iter().find(|file| file.place.path == node.path)?.place.clone(),
        };
        let files = if node.files > 1 {
            format!("{}, ", counted(node.files as usize, "file"))
        } else {
            String::new()
        };
        let about =
            if node.description.is_empty() { String::new() } else { format!(": {}", node.description) };
        let lines = counted(node.lines as usize, "line");
        let text = format!("`{}`{about} ({files}{lines})", code_span(&node.path));
        Some(Fact::new(text).within(&place.file, place.start, place.end))
    };
    let mut facts: Vec<Fact> = top.into_iter().take(FOLDERS).filter_map(fact).collect();
    let central = most_imported(code).into_iter().take(CENTRAL).filter(|(_, by)| *by > 1);
    facts.extend(central.map(|(at, by)| {
        let place = &code.files[at].place;
        let of = format!("imported by {by} of {} files", code.files.len());
        Fact::new(format!("`{}`: {of}", code_span(imported_name(&place.path)))).within(
            &place.file,
            place.start,
            place.end,
        )
    }));
    facts.extend(kinds(code).take(KINDS).map(|kind| {
        let Kind { folder, base, example, with, all } = kind;
        let text =
            format!("Most files in `{}` extend `{}` ({with} of {all})", code_span(&folder), code_span(&base));
        Fact::new(text).within(&example, 0, 0)
    }));
    let circles = map::circles(map).take(CIRCLES);
    facts.extend(circles.map(|(one, other)| {
        Fact::new(format!("`{}` and `{}` import each other", code_span(one), code_span(other)))
    }));
    facts
}

/// Returns a number with its unit: `1 file`, `2,000 lines`.
fn counted(number: usize, unit: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{} {unit}{end}", thousands(number))
}

/// A folder whose files mostly have a type with the same base.
struct Kind {
    /// With a `/` at its end.
    folder: String,
    base: String,
    /// One of the files.
    example: String,
    with: usize,
    all: usize,
}

/// Returns the folders where most files have a type with the same base, largest first.
fn kinds(code: &Code) -> impl Iterator<Item = Kind> {
    let mut by_folder: BTreeMap<&str, Vec<&CodeFile>> = BTreeMap::new();
    for file in &code.files {
        let folder = file.place.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        by_folder.entry(folder).or_default().push(file);
    }
    let kind = |(folder, files): (&str, Vec<&CodeFile>)| {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let bases = files.iter().filter_map(|file| file.base.as_deref());
        bases.for_each(|base| *counts.entry(base).or_default() += 1);
        let (base, with) =
            counts.into_iter().max_by_key(|(base, count)| (*count, std::cmp::Reverse(*base)))?;
        let example = files.iter().find(|file| file.base.as_deref() == Some(base))?;
        let all = files.len();
        (all >= ALIKE && with * 10 >= all * 6 && !folder.is_empty()).then(|| Kind {
            folder: format!("{folder}/"),
            base: base.to_owned(),
            example: example.place.path.clone(),
            with,
            all,
        })
    };
    let mut kinds: Vec<Kind> = by_folder.into_iter().filter_map(kind).collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.with));
    kinds.into_iter()
}

/// Returns questions that the workspace answers: about its largest folder, the most common kind of file, the file that is
/// imported most, and one test.
fn questions(code: &Code, map: &CodeMap, has_tests: bool) -> Vec<String> {
    let folders = map.nodes.iter().filter(|node| node.parent.is_none() && node.path.ends_with('/'));
    let largest =
        folders.max_by_key(|node| node.lines).map(|node| format!("What is in `{}`?", code_span(&node.path)));
    let central = most_imported(code)
        .first()
        .map(|(at, _)| format!("What is `{}` for?", code_span(imported_name(&code.files[*at].place.path))));
    let kind = kinds(code).next().map(|kind| format!("Where would I add a new `{}`?", code_span(&kind.base)));
    let tests = has_tests.then(|| "How do I run a single test?".to_owned());
    largest.into_iter().chain(kind).chain(central).chain(tests).take(QUESTIONS).collect()
}
