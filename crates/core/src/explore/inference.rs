//! What a person was doing, as a model infers it from what the repository says. Used where history says nothing.

use super::intent::Intent;
use crate::{
    CancellationToken,
    agent_ids::LOCAL_FM,
    model::{LanguageModel, complete},
    repository::{excerpt, first_prose},
    survey::Survey,
    update::{Evidence, IntentSource},
};

const INSTRUCTIONS: &str = "You are shown the beginning of files of a project. Say in one plain sentence of at most \
    thirty words what the project is for and what somebody who works on it is trying to do. No list, no heading, no \
    introduction.";

/// Asks `model`. `None` where there is nothing to show to it, or where it says nothing that can be shown. Blocks.
pub(super) fn infer(
    model: &dyn LanguageModel,
    survey: &Survey,
    goals: &[String],
    cancel: &CancellationToken,
) -> Option<Intent> {
    let repository = survey.repository();
    let files: Vec<_> = [&repository.readme, &repository.manifest].into_iter().flatten().collect();
    let mut evidence: Vec<Evidence> = Vec::new();
    let mut prompt = String::new();
    for path in files {
        let (text, first_line) = excerpt(&survey.workspace, path);
        let Some((line, words)) = first_line else { continue };
        prompt.push_str(&format!("File {path}:\n{text}\n\n"));
        evidence.push(Evidence::File { path: path.clone(), line, text: words });
    }
    // A claim that rests on nothing is none.
    if evidence.is_empty() {
        return None;
    }
    if let Some(goal) = goals.first() {
        prompt.push_str(&format!("Somebody asks: {}\n", crate::text::cut_at_word(goal, 200)));
    }
    let said = complete(model, INSTRUCTIONS, prompt, cancel);
    let said = said.map_err(|error| tracing::warn!(%error, "the model inferred no intent")).ok()?;
    let sentence = first_prose(&said)?;
    // The protocol has these two words for the models of this computer, whichever file answered.
    let source = if model.id() == LOCAL_FM { IntentSource::Fm } else { IntentSource::Gptoss };
    Some(Intent { sentence: Some(sentence), source, evidence })
}
