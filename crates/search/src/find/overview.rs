//! Answers "What does this project do?", which has no searchable word, from the repository's description.

use crate::repository::{self, Repository};
use openagents_core::{
    update::{Finding, FindingKind, Place},
    workspace::Workspace,
};
use regex::Regex;
use std::sync::LazyLock;

/// The question in six languages, as a whole sentence: "Where is the project saved?" asks for code.
const QUESTIONS: &[&str] = &[
    r"what(?:'s|’s| is| does| do) (?:this|the|our|my) (?:project|repo|repository|codebase)(?: do| about| all about| for)?",
    r"what(?:'s|’s| is| does) this(?: app| application| crate| library| package| program| tool)?(?: do| about| all about| for)?",
    r"(?:explain|describe|introduce|summari[sz]e) (?:me |to me )?(?:this|the|our|my) (?:project|repo|repository|codebase)",
    r"(?:(?:give|show) me )?(?:an? |the )?(?:overview|summary) of (?:this|the|our|my) (?:project|repo|repository|codebase)",
    r"was (?:macht|tut|ist) (?:dieses|das|dieses hier) (?:projekt|repo|repository)",
    r"worum geht (?:es|'s) (?:in|bei) (?:diesem|dem) (?:projekt|repo|repository)",
    r"¿?qu[eé] (?:hace|es) (?:este|el) (?:proyecto|repositorio)",
    r"(?:que fait|à quoi sert|qu['’]est-ce que) ce (?:projet|dépôt)",
    r"この(?:プロジェクト|リポジトリ)(?:は|って)(?:何|なに|なん)(?:ですか|をしますか|をするものですか|だ)?",
    r"(?:这个|這個|本)(?:项目|項目|專案|仓库|倉庫)(?:是)?(?:做|干|幹)?(?:什么|什麼)(?:的|用的)?",
];

static IS_ASKED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(r"(?i)^\s*(?:(?:{}))(?:,? please| bitte)?[\s.?!。？！]*$", QUESTIONS.join(")|(?:")))
        .ok()
});

/// Maximum number of README lines, from its first sentence.
const LINES: u64 = 20;

/// Returns whether a question is about the workspace as a whole.
pub(super) fn is_asked_for(question: &str) -> bool {
    IS_ASKED.as_ref().is_some_and(|questions| questions.is_match(question))
}

/// Returns the repository's description, then the beginning of the README if that is another text.
pub(super) fn overview(workspace: &Workspace) -> Vec<Finding> {
    let Repository { description, readme, manifest, .. } = Repository::scan(workspace);
    let readme = readme.filter(|path| description.as_ref().is_none_or(|reply| reply.path != *path));
    let sentence = description.map(|reply| {
        let lines = if manifest.as_ref() == Some(&reply.path) { 1 } else { LINES };
        let why = format!("the project says of itself: “{}”", repository::plain(&reply.text));
        passage(workspace, reply.path, reply.line, lines, why)
    });
    let readme = readme.map(|path| {
        let start = repository::introduction(workspace, &path);
        passage(workspace, path, start, LINES, "the beginning of the README".to_owned())
    });
    let has_words = |finding: &Finding| finding.excerpt.chars().any(char::is_alphanumeric);
    sentence.into_iter().chain(readme).filter(has_words).collect()
}

fn passage(workspace: &Workspace, path: String, start: u64, lines: u64, why: String) -> Finding {
    let mut excerpt = repository::section(workspace, &path, start, lines);
    excerpt.truncate(excerpt.floor_char_boundary(Finding::EXCERPT_BYTES));
    Finding {
        kind: FindingKind::Text,
        start,
        end: start + (excerpt.lines().count() as u64).saturating_sub(1),
        place: Place::File { path },
        excerpt,
        symbol: None,
        score: 1.0,
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_question_is_recognised_in_each_language() {
        for question in [
            "What does this project do?",
            "what is this",
            "What’s this repo about?",
            "What is this crate for?",
            "Explain this codebase, please.",
            "Give me an overview of the repository.",
            "Was macht dieses Projekt?",
            "Worum geht es in diesem Repository?",
            "¿Qué hace este proyecto?",
            "Que fait ce projet ?",
            "このプロジェクトは何ですか？",
            "这个项目是做什么的？",
            "這個項目是做什麼的？",
        ] {
            assert!(is_asked_for(question), "{question}");
        }
    }

    #[test]
    fn content_question_is_searched() {
        for question in [
            "",
            "?",
            "project",
            "Repository",
            "What is a tool?",
            "What is this file?",
            "What does this code do?",
            "What package does this use?",
            "How is the Repository implemented?",
            "Where are projects stored?",
            "What did we do in this project?",
            "What was I working on in this project?",
            "What needs work in this repo?",
            "Explain the parser of this project",
            "Was habe ich in diesem Projekt gemacht?",
            "Wo werden Projekte gespeichert?",
            "¿Qué he hecho en este proyecto?",
            "このプロジェクトで何をしていた？",
            "这个项目的解析器在哪里？",
        ] {
            assert!(!is_asked_for(question), "{question}");
        }
    }
}
