//! "What does this project do?" holds no word to search for: what the repository says about itself answers it.

use crate::{
    repository::{self, Repository},
    terms::{self, Language},
    update::{Finding, FindingKind, Place},
    workspace::Workspace,
};

/// Words that name the workspace, as the vocabulary has them in English.
const WHOLE: [&str; 4] = ["codebase", "project", "repo", "repository"];

/// Words that ask for an overview, beside those that are left out of every question.
const TELL: [&str; 8] =
    ["about", "describe", "explain", "introduce", "overview", "purpose", "summarize", "summary"];

/// The same in languages without spaces; hiragana is left out anyway.
const TELL_UNSPACED: &str = "这這个個是做什么麼甚的何概要说説明介绍紹一下请請呢吗嗎";

/// Lines of a README that are shown, from its first sentence.
const LINES: u64 = 20;

/// Returns whether a question is about the workspace as a whole and nothing in it.
pub(super) fn is_asked_for(question: &str) -> bool {
    let lower = question.to_lowercase();
    match Language::of(question) {
        Language::English => {
            let words = terms::subwords(&lower);
            let is = |wanted: &str| words.iter().any(|word| word == wanted);
            let says_nothing = |word: &String| {
                Language::English.is_stop_word(word)
                    || WHOLE.contains(&word.as_str())
                    || TELL.contains(&word.as_str())
            };
            words.iter().all(says_nothing) && (WHOLE.iter().any(|word| is(word)) || is("what") && is("this"))
        }
        language if language.is_unspaced() => {
            let named = terms::translations_within(&lower, language);
            let rest = named.iter().fold(lower.clone(), |rest, (word, _)| rest.replace(word, ""));
            let is_hiragana = |c: char| matches!(c, '\u{3040}'..='\u{309f}');
            let says_nothing = |c: char| !c.is_alphanumeric() || is_hiragana(c) || TELL_UNSPACED.contains(c);
            !named.is_empty()
                && named.iter().all(|(_, english)| is_whole(english))
                && rest.chars().all(says_nothing)
        }
        language => {
            let words = lower.split(|c: char| !c.is_alphanumeric());
            let mut said = words.filter(|word| !word.is_empty() && !language.is_stop_word(word)).peekable();
            // The English words are said in every language.
            let is_whole = |word| {
                let translated = terms::translations(word, language);
                WHOLE.contains(&word)
                    || !translated.is_empty() && translated.iter().all(|(_, english)| is_whole(english))
            };
            said.peek().is_some() && said.all(is_whole)
        }
    }
}

fn is_whole(english: &[&str]) -> bool {
    english.iter().any(|word| WHOLE.contains(word))
}

/// Returns what the repository says about itself: its sentence, then the beginning of a README that has another.
pub(super) fn overview(workspace: &Workspace) -> Vec<Finding> {
    let Repository { description, readme, manifest, .. } = Repository::read(workspace);
    let readme = readme.filter(|path| description.as_ref().is_none_or(|said| said.path != *path));
    let sentence = description.map(|said| {
        let lines = if manifest.as_ref() == Some(&said.path) { 1 } else { LINES };
        let why = format!("the project says of itself: “{}”", said.text);
        beginning(workspace, said.path, said.line, lines, why)
    });
    let readme =
        readme.map(|path| beginning(workspace, path, 1, LINES, "the beginning of the README".to_owned()));
    sentence.into_iter().chain(readme).collect()
}

fn beginning(workspace: &Workspace, path: String, start: u64, lines: u64, why: String) -> Finding {
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
    fn the_whole_project_is_asked_for_in_any_language() {
        for question in [
            "What does this project do?",
            "What is this?",
            "What is this repo about?",
            "Explain this codebase",
            "Give me an overview of the repository.",
            "Was macht dieses Projekt?",
            "Worum geht es in diesem Repository?",
            "¿Qué hace este proyecto?",
            "Que fait ce projet ?",
            "このプロジェクトは何ですか？",
            "这个项目是做什么的？",
        ] {
            assert!(is_asked_for(question), "{question}");
        }
        for question in [
            "",
            "?",
            "Where is it?",
            "Where are projects stored?",
            "What does this function do?",
            "Explain the parser of this project",
            "Wo werden Projekte gespeichert?",
            "Was macht der Parser?",
            "¿Dónde se guarda el proyecto?",
            "このプロジェクトの認証はどこですか？",
            "这个项目的解析器在哪里？",
        ] {
            assert!(!is_asked_for(question), "{question}");
        }
    }
}
