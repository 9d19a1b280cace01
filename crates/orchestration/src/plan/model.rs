//! The planner that uses a model.

use super::{
    heuristic::recent_titles,
    json::parse_json_plan,
    op::OpKind,
    planner::{PlanError, PlanRequest, Planner},
};
use openagents_core::{
    model::{Availability, LanguageModel, complete},
    text::{cut_at_word, one_line},
    visible::code_span,
};
use openagents_search::repository::top_names;
use std::sync::Arc;

/// Plans by asking a model for a JSON array of steps.
#[derive(Debug, Clone)]
pub struct ModelPlanner {
    /// The model.
    pub model: Arc<dyn LanguageModel>,
}

/// Maximum number of file names in the prompt.
const NAMES: usize = 60;

/// Maximum length of a goal, a name or a title in the prompt, in characters.
const LINE: usize = 200;

const INSTRUCTIONS: &str = r#"You plan how to look at a folder of source code. Reply with a JSON array of three to five
steps and nothing else. A step is one of these:
{"op": "listDir", "path": PATH}
{"op": "readSpan", "path": PATH, "startLine": 1, "endLine": 50}
{"op": "grep", "pattern": "WORD", "pathPrefix": PATH}
{"op": "sessionList"}
{"op": "sessionSearch", "pattern": "WORD"}
{"op": "sessionAnalyze"}
The steps with session look at what coding agents did in this folder before. Paths are relative; name only files and
folders that you are shown."#;

impl Planner for ModelPlanner {
    fn plan(&self, request: &PlanRequest<'_>) -> Result<Vec<OpKind>, PlanError> {
        if let Availability::Unavailable(reason) = self.model.availability() {
            return Err(PlanError::Unavailable(reason));
        }
        let said = complete(self.model.as_ref(), INSTRUCTIONS, prompt(request), request.cancel)
            .map_err(|error| PlanError::Unavailable(error.to_string()))?;
        let plan = parse_json_plan(&said);
        if plan.ops.is_empty() { Err(PlanError::Empty { dropped: plan.dropped }) } else { Ok(plan.ops) }
    }
}

fn prompt(request: &PlanRequest<'_>) -> String {
    let list = |items: &mut dyn Iterator<Item = &String>| {
        items.map(|item| cut_at_word(&code_span(&one_line(item)), LINE)).collect::<Vec<_>>().join("\n")
    };
    let goals = match request.goals {
        [] => "Find out what this folder is about and what was done in it last.".to_owned(),
        goals => list(&mut goals.iter()),
    };
    let names = list(&mut top_names(&request.survey.workspace).iter().take(NAMES));
    let titles = recent_titles(request).unwrap_or_default();
    let titles = if titles.is_empty() { "none".to_owned() } else { list(&mut titles.iter()) };
    format!(
        "What to find out:\n{goals}\n\nFiles and folders at the top:\n{names}\n\nPast sessions:\n{titles}\n\nThe steps:"
    )
}
