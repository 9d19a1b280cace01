//! Infers one sentence with a model: the answer to the goals or, without goals, the user's intent.

use super::intent::Intent;
use crate::survey::Survey;
use openagents_core::{
    CancellationToken,
    agent_ids::LOCAL_FM,
    model::{LanguageModel, complete},
    update::{Evidence, Finding, IntentSource},
    visible::code_span,
};
use openagents_search::repository::{excerpt, first_prose, plain};

const INSTRUCTIONS: &str = "You are shown the beginning of files of a project. Say in one plain sentence of at most \
    thirty words what the project is for and what someone who works on it is trying to do. No list, no heading, no \
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
    let reply = complete(model, ANSWER, prompt, cancel);
    let reply = reply.map_err(|error| tracing::warn!(%error, "the model did not answer the goal")).ok()?;
    let sentence = first_prose(&reply)?;
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
    let reply = complete(model, INSTRUCTIONS, prompt, cancel);
    let reply = reply.map_err(|error| tracing::warn!(%error, "the model inferred no intent")).ok()?;
    let sentence = first_prose(&reply)?;
    Some(said_by(model, sentence, evidence))
}
