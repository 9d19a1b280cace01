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

use documents::Documents;
use openagents_core::{budget::Budget, update::Finding, workspace::Workspace};
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
    pub(crate) truncated: bool,
}

/// Answers a question about the project; `None` for one about its code, and if nothing says so. Blocks.
pub(crate) fn answer(workspace: &Workspace, question: &str, budget: &Budget) -> Option<Orientation> {
    let asked = topics::classify(question)?;
    let documents = Documents::read(workspace, budget);
    let ranked = || rank::rank(&documents.passages, &asked, budget);
    let mut answer = match asked.topic {
        Topic::What => facts::what(workspace, &documents),
        Topic::Language => facts::language(&documents),
        Topic::Size => facts::size(workspace, &documents, budget),
        Topic::Licence => facts::licence(&documents),
        Topic::Dependencies => facts::dependencies(&documents),
        Topic::Central => graph::central(workspace, &documents, budget),
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
        truncated: documents.truncated || budget.spent(),
    })
}
