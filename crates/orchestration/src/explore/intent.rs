//! The user's intent in one sentence: from their sessions, otherwise from the repository.

use crate::{plan::OpKind, survey::Survey};
use openagents_core::{
    CancellationToken,
    agent_ids::LOCAL_FM,
    model::{LanguageModel, complete},
    update::{Evidence, Finding, IntentSource},
    visible::code_span,
};
use openagents_search::repository::{excerpt, first_prose, plain};
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

/// Returns the intent. `inferred` is a model's answer to the goals, if any; it takes precedence.
pub(super) fn find(survey: &Survey, done: &[Done], inferred: Option<Intent>) -> Intent {
    inferred.or_else(|| from_sessions(done)).or_else(|| from_repository(survey)).unwrap_or_default()
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
    let said = repository.description.as_ref()?;
    let name = repository.name.as_deref().unwrap_or(survey.workspace.name());
    Some(Intent {
        sentence: Some(as_sentence(name, &said.text)),
        source: IntentSource::Readme,
        model: None,
        evidence: vec![said.evidence()],
    })
}

/// Turns a description into a sentence: `ripgrep is a search tool` is a sentence already; `A fast find` gets a subject.
fn as_sentence(name: &str, said: &str) -> String {
    let full_stop = if said.ends_with(['.', '!', '?', '…']) { "" } else { "." };
    let first = |text: &str| {
        let word = text.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
        word.unwrap_or_default().to_lowercase()
    };
    let has_subject = first(said) == first(name)
        || first(said) == "this"
        || said.split(' ').take(8).any(|word| word == "is" || word == "are");
    if has_subject { format!("{said}{full_stop}") } else { format!("Work on {name}: {said}{full_stop}") }
}

// Infers one sentence with a model: the answer to the goals or, without goals, the user's intent.

const INSTRUCTIONS: &str = "You are shown the beginning of files of a project. Say in one plain sentence of at most \
    thirty words what the project is for and what a person who works on it is trying to do. No list, no heading, no \
    introduction.";

const ANSWER: &str = "You are shown places of a project that were found for a question. Answer it in one plain sentence \
    of at most forty words, and name the place that says so as path:line. Use nothing that is not shown. No list, no \
    heading, no introduction.";

/// Bytes of all excerpts in the request.
const EXCERPTS: usize = 8_000;

/// Asks `model` to answer `goals`. `None` if its sentence does not cite a given line. Blocks.
pub(super) fn answer(
    model: &dyn LanguageModel,
    survey: &Survey,
    goals: &[String],
    cancel: &CancellationToken,
) -> Option<Intent> {
    let mut prompt = String::new();
    for finding in survey.findings.findings.iter().filter(|finding| finding.path().is_some()) {
        if prompt.len() + finding.excerpt.len() > EXCERPTS {
            break;
        }
        prompt.push_str(&format!("{}\n{}\n\n", finding.citation(), finding.excerpt));
    }
    let question =
        goals.iter().map(|goal| openagents_core::text::cut_at_word(goal, 200)).collect::<Vec<_>>().join(" ");
    prompt.push_str(&format!("The question: {question}\n"));
    let said = complete(model, ANSWER, prompt, cancel);
    let said = said.map_err(|error| tracing::warn!(%error, "the model did not answer the goal")).ok()?;
    let sentence = first_prose(&said)?;
    let cited = survey.findings.findings.iter().filter(|finding| cites(&sentence, finding));
    let evidence: Vec<_> = cited.filter_map(as_evidence).collect();
    (!evidence.is_empty()).then(|| said_by(model, sentence, evidence))
}

/// Returns whether a sentence cites a line of a finding.
fn cites(sentence: &str, finding: &Finding) -> bool {
    let Some(path) = finding.path().map(code_span) else { return false };
    sentence.match_indices(&path).any(|(at, path)| {
        let rest = sentence[at + path.len()..].strip_prefix(':').unwrap_or_default();
        let digits = rest.find(|c: char| !c.is_ascii_digit()).map_or(rest, |end| &rest[..end]);
        digits.parse::<u64>().is_ok_and(|line| (finding.start..=finding.end).contains(&line))
    })
}

fn as_evidence(finding: &Finding) -> Option<Evidence> {
    let text = finding.excerpt.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Some(Evidence::File {
        path: finding.path()?.to_owned(),
        line: finding.start,
        text: text.trim().to_owned(),
    })
}

/// Returns a sentence of a model with its source. The local model, and a server's, may be a model other than gpt-oss.
fn said_by(model: &dyn LanguageModel, sentence: String, evidence: Vec<Evidence>) -> Intent {
    let name = model.name();
    let letters: String = name.chars().filter(|letter| letter.is_alphanumeric()).collect();
    let source = if model.id() == LOCAL_FM {
        IntentSource::Fm
    } else if letters.to_lowercase().contains("gptoss") {
        IntentSource::Gptoss
    } else {
        IntentSource::Model
    };
    let model = (source == IntentSource::Model).then(|| plain(&name));
    Intent { sentence: Some(sentence), source, model, evidence }
}

/// Asks `model` for the intent. `None` without input or without a usable answer. Blocks.
pub(super) fn infer(
    model: &dyn LanguageModel,
    survey: &Survey,
    cancel: &CancellationToken,
) -> Option<Intent> {
    let repository = survey.repository();
    let files: Vec<_> = [&repository.readme, &repository.manifest].into_iter().flatten().collect();
    let mut evidence: Vec<Evidence> = Vec::new();
    let mut prompt = String::new();
    for path in files {
        let (text, first_line) = excerpt(&survey.workspace, path);
        let Some((line, words)) = first_line else { continue };
        prompt.push_str(&format!("File {}:\n{text}\n\n", code_span(path)));
        evidence.push(Evidence::File { path: path.clone(), line, text: words });
    }
    // An intent needs evidence.
    if evidence.is_empty() {
        return None;
    }
    let said = complete(model, INSTRUCTIONS, prompt, cancel);
    let said = said.map_err(|error| tracing::warn!(%error, "the model inferred no intent")).ok()?;
    let sentence = first_prose(&said)?;
    Some(said_by(model, sentence, evidence))
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
        for (name, said, expected) in rows {
            assert_eq!(as_sentence(name, said), expected);
        }
    }
}
