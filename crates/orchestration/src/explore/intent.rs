//! The user's intent in one sentence: from their sessions, otherwise from the repository.

use crate::{plan::OpKind, survey::Survey};
use openagents_core::update::{Evidence, IntentSource};
use openagents_tools::{
    builtin::SessionAnalyzeOutput,
    tool::{ToolError, ToolOutput},
};

/// A completed step.
#[derive(Debug, Clone)]
pub(super) struct Done {
    pub(super) kind: OpKind,
    pub(super) result: Result<ToolOutput, ToolError>,
}

/// A sentence and its evidence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Intent {
    pub(super) sentence: Option<String>,
    pub(super) source: IntentSource,
    /// Name of the model, if the source is [`IntentSource::Model`].
    pub(super) model: Option<String>,
    pub(super) evidence: Vec<Evidence>,
}

/// Returns the intent. `worded` is a model's answer to the goals or its sentence on the overview, if any. Only an answer
/// is preferred to what a session says.
pub(super) fn find(survey: &Survey, done: &[Done], worded: Option<Intent>) -> Intent {
    let (answer, worded) = if survey.findings.findings.is_empty() { (None, worded) } else { (worded, None) };
    let intent = answer.or_else(|| from_sessions(done)).or(worded);
    intent.or_else(|| from_repository(survey)).unwrap_or_default()
}

pub(super) fn from_sessions(done: &[Done]) -> Option<Intent> {
    let results = done.iter().filter_map(|step| step.result.as_ref().ok());
    let analysis = results.filter_map(|output| output.result::<SessionAnalyzeOutput>()).next_back()?;
    let sentence = analysis.user_intent.as_deref().map(str::trim).filter(|sentence| !sentence.is_empty())?;
    Some(Intent {
        sentence: Some(sentence.to_owned()),
        source: IntentSource::SessionAnalyze,
        model: None,
        evidence: analysis.evidence.clone(),
    })
}

fn from_repository(survey: &Survey) -> Option<Intent> {
    let repository = survey.repository();
    let description = repository.description.as_ref()?;
    let name = repository.name.as_deref().unwrap_or(survey.workspace.name());
    Some(Intent {
        sentence: Some(as_sentence(name, &description.text)),
        source: IntentSource::Readme,
        model: None,
        evidence: vec![description.evidence()],
    })
}

/// Turns a description into a sentence: `ripgrep is a search tool` is a sentence already; `A fast find` gets a subject.
fn as_sentence(name: &str, description: &str) -> String {
    let full_stop = if description.ends_with(['.', '!', '?', '…']) { "" } else { "." };
    let first = |text: &str| {
        let word = text.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
        word.unwrap_or_default().to_lowercase()
    };
    let has_subject = first(description) == first(name)
        || first(description) == "this"
        || description.split(' ').take(8).any(|word| word == "is" || word == "are");
    if has_subject {
        format!("{description}{full_stop}")
    } else {
        format!("Work on {name}: {description}{full_stop}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_becomes_sentence() {
        let rows = [
            ("ripgrep (rg)", "ripgrep is a search tool.", "ripgrep is a search tool."),
            ("fd", "A simple, fast alternative to find", "Work on fd: A simple, fast alternative to find."),
            ("x", "This is a thing", "This is a thing."),
            ("Tide tables", "Predicts the tide.", "Work on Tide tables: Predicts the tide."),
            ("Serde JSON", "Serde is a framework.", "Serde is a framework."),
        ];
        for (name, description, expected) in rows {
            assert_eq!(as_sentence(name, description), expected);
        }
    }
}
