//! Answers a newcomer's questions about a project as a whole (how is it built, how are its tests run, where does it
//! start) from what says so: its guides, CI, tasks and manifests, and the comments and imports of its code.
//!
//! `question → Topic → Documents (passages with their commands) → rank → a lead in words, and findings as evidence`

mod changes;
mod code;
mod commands;
mod documents;
mod entry;
mod evidence;
mod facts;
mod files;
mod graph;
mod how_to;
mod map;
mod overview;
mod places;
mod rank;
mod sessions;
mod sources;
mod topics;

pub use overview::overview;

use changes::Changes;
use documents::Documents;
use evidence::{Answer, Fact};
use openagents_core::{budget::Budget, update::Finding, workspace::Workspace};
use openagents_transcripts::history::History;
use topics::Topic;

/// An answer to a question about the project.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Orientation {
    /// The answer in Markdown.
    pub(crate) lead: String,
    /// The places that show it, best first.
    pub(crate) findings: Vec<Finding>,
    /// The subject is a part of the code, so what a search finds may answer as well.
    pub(crate) is_about_code: bool,
    /// The answer is complete: what a search finds has nothing to do with it.
    pub(crate) is_complete: bool,
    pub(crate) truncated: bool,
}

/// Answers a question about the project; `None` for one about its code, and if nothing says so. Blocks.
pub(crate) fn answer(
    workspace: &Workspace,
    history: Option<&History>,
    question: &str,
    budget: &Budget,
) -> Option<Orientation> {
    let asked = topics::classify(question)?;
    let documents = Documents::read(workspace, budget);
    let ranked = || rank::rank(&documents, &asked, budget);
    let mut answer = match asked.topic {
        Topic::What => facts::what(workspace, &documents),
        Topic::Language => facts::language(&documents),
        Topic::Size => facts::size(workspace, &documents, budget),
        Topic::Licence => facts::licence(&documents),
        Topic::Dependencies => facts::dependencies(&documents),
        Topic::Central => code::central(workspace, &documents, budget),
        Topic::Entry => entry::entry(workspace, &documents, budget),
        Topic::Release => facts::version(&documents, &ranked(), &asked),
        Topic::Ci => facts::ci(&documents),
        Topic::Build | Topic::Test | Topic::TestOne | Topic::Lint | Topic::Run => {
            how_to::commands(&documents, &ranked(), asked.topic)
        }
        Topic::Layout | Topic::Configuration | Topic::Extend => {
            let described = places::describe(workspace, &documents.paths, budget);
            let guides = if asked.topic == Topic::Extend { ranked() } else { Vec::new() };
            places::answer(workspace, &described, &guides, &asked)
        }
        Topic::Changes | Topic::People | Topic::Next => {
            work(workspace, history, question, &documents, asked.topic, budget)
        }
        Topic::Documentation => {
            places::answer(workspace, &places::of_documents(&documents.passages), &[], &asked)
        }
    };
    // A project without a manifest or commands says it in words.
    let is_bare = match asked.topic {
        Topic::Dependencies | Topic::Language => answer.findings.is_empty(),
        Topic::Build | Topic::Test | Topic::TestOne | Topic::Lint | Topic::Run => answer.facts.is_empty(),
        _ => false,
    };
    if is_bare {
        let quotes = how_to::quotes(&ranked(), &asked);
        answer.facts.extend(quotes.facts);
        answer.findings = quotes.findings;
    }
    (!answer.facts.is_empty()).then(|| Orientation {
        lead: answer.lead(),
        findings: answer.findings,
        is_about_code: matches!(asked.topic, Topic::Layout | Topic::Configuration | Topic::Extend),
        is_complete: matches!(asked.topic, Topic::Changes | Topic::People | Topic::Next),
        truncated: documents.truncated || budget.spent(),
    })
}

/// Answers a question about the work on the project, from git and past sessions.
fn work(
    workspace: &Workspace,
    history: Option<&History>,
    question: &str,
    documents: &Documents,
    topic: Topic,
    budget: &Budget,
) -> Answer {
    let changes = Changes::read(workspace, &documents.paths, budget).unwrap_or_default();
    let facts = match topic {
        Topic::People => match named_place(question, &documents.paths) {
            Some(path) => changes.who(&path),
            None => changes.people(),
        },
        Topic::Next => {
            let sessions = history.map(|history| sessions::recent(workspace, history, budget));
            let sessions = sessions.unwrap_or_default();
            let is_nothing = changes.is_clean() && sessions.is_empty();
            let nothing = is_nothing.then(|| {
                Fact::new("Nothing is open: all files are committed, and there are no past sessions.")
            });
            changes.uncommitted_facts().into_iter().chain(sessions).chain(nothing).collect()
        }
        _ => changes.last().chain(changes.most_changed()).collect(),
    };
    Answer { facts, findings: Vec::new() }
}

/// Returns the file, or the folder with a `/` at its end, that a question names.
fn named_place(question: &str, paths: &[String]) -> Option<String> {
    let words =
        question.split_whitespace().map(|word| word.trim_matches(['?', '`', '"', '\'', ',', '.', ':']));
    let named = |word: &str| {
        let word = word.trim_end_matches('/');
        let is_named = |path: &str| path == word || path.ends_with(&format!("/{word}"));
        let file = || paths.iter().find(|path| is_named(path)).cloned();
        let folder = || {
            let ends = paths.iter().flat_map(|path| path.match_indices('/').map(|(end, _)| &path[..end]));
            ends.into_iter().find(|folder| is_named(folder)).map(|folder| format!("{folder}/"))
        };
        file().or_else(folder)
    };
    words.filter(|word| word.contains(['/', '.']) || word.len() > 3).find_map(named)
}
