//! The trait of planners.

use super::op::{OpKind, parse_json_plan};
use crate::survey::Survey;
use openagents_core::{
    CancellationToken,
    budget::Budget,
    model::{Availability, LanguageModel, complete},
    text::{cut_at_word, one_line},
    update::Finding,
    visible::code_span,
};
use openagents_search::repository::top_names;
use openagents_transcripts::history::Query;
use std::{sync::Arc, time::Duration};

/// Makes a plan, with rules or a model.
pub trait Planner: Send + Sync + std::fmt::Debug {
    /// Returns the steps in the order of execution; [`normalise`](super::normalise()) puts them within bounds.
    fn plan(&self, request: &PlanRequest<'_>) -> Result<Vec<OpKind>, PlanError>;
}

#[derive(Debug, Clone, Copy)]
pub struct PlanRequest<'a> {
    pub goals: &'a [String],
    /// The workspace and its history.
    pub survey: &'a Survey,
    /// Cancelled when the plan is no longer needed.
    pub cancel: &'a CancellationToken,
}

/// The reason why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A model's answer contains no valid step.
    #[error("the plan has no step that can be run ({dropped} objects are not steps)")]
    Empty {
        /// Number of dropped lines.
        dropped: usize,
    },
    #[error("no plan: {0}")]
    Unavailable(String),
}

#[derive(Debug, Clone, Copy, Default)]
pub struct HeuristicPlanner;

/// Time limit for titles, reached only if many sessions are not cached. The plan is the
/// first thing that the user sees, but with a shorter limit a busy machine would plan differently.
const LOOK_AT_HISTORY: Duration = Duration::from_millis(250);

/// Lines of a README or manifest that a plan reads: the introduction.
const SPAN_LINES: u64 = 50;

/// Maximum number of titles in a model's prompt.
const TITLES: usize = 5;

/// Number of listed sessions.
const SESSIONS: usize = 20;

/// Minimum number of steps.
const LEAST: usize = 3;

/// Maximum number of places to read.
const PLACES: usize = 3;

/// Maximum number of names to search for.
const NAMES: usize = 3;

/// Pattern of unfinished work in code.
pub(crate) const OPEN_ENDS: &str = "TODO|FIXME";

impl Planner for HeuristicPlanner {
    fn plan(&self, request: &PlanRequest<'_>) -> Result<Vec<OpKind>, PlanError> {
        let has_history = recent_titles(request).is_some();
        let findings = &request.survey.findings.findings;
        Ok(match names(findings) {
            Some(names) => answering(&names, findings, has_history),
            None => looking_around(request, has_history),
        })
    }
}

/// Plans steps that show the findings: search the matched names in sessions and code, read the best places.
fn answering(names: &str, findings: &[Finding], has_history: bool) -> Vec<OpKind> {
    let mut ops = Vec::new();
    if has_history {
        ops.push(OpKind::SessionSearch { pattern: names.to_owned(), provider: None });
    }
    ops.push(OpKind::grep(names));
    let in_files = findings.iter().filter_map(|finding| Some((finding.path()?, finding)));
    ops.extend(in_files.take(PLACES).map(|(path, finding)| OpKind::ReadSpan {
        path: path.to_owned(),
        start_line: finding.start,
        end_line: finding.end,
    }));
    ops
}

/// Plans steps that show the folder's purpose and its unfinished work.
fn looking_around(request: &PlanRequest<'_>, has_history: bool) -> Vec<OpKind> {
    let repository = request.survey.repository();
    let mut ops = vec![if has_history {
        OpKind::SessionList { provider: None, top_k: Some(SESSIONS) }
    } else {
        OpKind::ListDir { path: ".".to_owned(), depth: 0 }
    }];
    let files = [&repository.readme, &repository.manifest].into_iter().flatten().cloned();
    ops.extend(files.map(|path| OpKind::ReadSpan { path, start_line: 1, end_line: SPAN_LINES }));
    ops.push(OpKind::grep(OPEN_ENDS));
    // A folder without these still gets a plan.
    if ops.len() < LEAST && has_history {
        ops.insert(0, OpKind::ListDir { path: ".".to_owned(), depth: 0 });
    } else if ops.len() < LEAST {
        ops.push(OpKind::SessionList { provider: None, top_k: Some(SESSIONS) });
    }
    ops
}

/// Returns a pattern of the most significant names in the best findings.
fn names(findings: &[Finding]) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for name in findings.iter().flat_map(Finding::names) {
        if names.len() < NAMES && !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            names.push(name);
        }
    }
    let names: Vec<String> = names.into_iter().map(regex::escape).collect();
    (!names.is_empty()).then(|| names.join("|"))
}

/// Returns titles, newest first; `None` if there are no sessions.
pub(super) fn recent_titles(request: &PlanRequest<'_>) -> Option<Vec<String>> {
    let budget = Budget::within(LOOK_AT_HISTORY, request.cancel);
    let query = Query {
        workspace: Some(request.survey.workspace.root().to_path_buf()),
        limit: TITLES,
        ..Query::default()
    };
    let listing = request.survey.history.list(&query, &budget);
    // A history too large to list in time counts as present: the step that reads it has more time, and reports if it is
    // empty.
    let known = !listing.rows.is_empty() || listing.timed_out;
    known.then(|| listing.rows.into_iter().filter_map(|row| row.title).collect())
}

/// Plans by asking a model for a JSON array of steps.
#[derive(Debug, Clone)]
pub struct ModelPlanner {
    pub model: Arc<dyn LanguageModel>,
}

/// Maximum number of file names in the prompt.
const TOP_NAMES: usize = 60;

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
        let reply = complete(self.model.as_ref(), INSTRUCTIONS, prompt(request), request.cancel)
            .map_err(|error| PlanError::Unavailable(error.to_string()))?;
        let plan = parse_json_plan(&reply);
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
    let names = list(&mut top_names(&request.survey.workspace).iter().take(TOP_NAMES));
    let titles = recent_titles(request).unwrap_or_default();
    let titles = if titles.is_empty() { "none".to_owned() } else { list(&mut titles.iter()) };
    format!(
        "What to find out:\n{goals}\n\nFiles and folders at the top:\n{names}\n\nPast sessions:\n{titles}\n\nThe steps:"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{plan::normalise, survey::Survey};
    use openagents_core::workspace::Workspace;
    use openagents_tools::builtin::testing::Bench;

    fn plan(bench: &Bench, goals: &[&str]) -> Vec<String> {
        let goals: Vec<_> = goals.iter().map(|goal| (*goal).to_owned()).collect();
        let mut survey = Survey::new(Workspace::open(bench.root()).unwrap().into(), &bench.history);
        survey.find(&goals, &Budget::within(openagents_search::find::TIME, &bench.cancel));
        let request = PlanRequest { goals: &goals, survey: &survey, cancel: &bench.cancel };
        let ops = HeuristicPlanner.plan(&request).unwrap();
        normalise(ops, &bench.workspace).iter().map(|op| op.kind.entry_text()).collect()
    }

    #[test]
    fn plan_without_history_reads_repository() {
        let bench = Bench::with(&[("README.md", "# App\n"), ("Cargo.toml", "[package]\nname='app'\n")]);
        let expected = [
            "List directory .",
            "Read README.md:1-50",
            "Read Cargo.toml:1-50",
            "Search 'TODO|FIXME' in workspace",
        ];
        assert_eq!(plan(&bench, &[]), expected);
    }

    #[test]
    fn plan_reads_findings_of_goal() {
        let bench =
            Bench::with(&[("src/net.rs", "fn parse_header(text: &str) {}\n"), ("README.md", "# App\n")]);
        let expected = ["Search 'parse_header' in workspace", "Read src/net.rs:1-1"];
        assert_eq!(plan(&bench, &["Why does parse_header fail?"]), expected);
    }

    #[test]
    fn plan_without_findings_lists_folder() {
        let bench = Bench::with(&[("a.txt", "x\n")]);
        let expected = [
            "List directory .",
            "Search 'TODO|FIXME' in workspace",
            "List 20 sessions",
            "Analyze recent sessions",
        ];
        assert_eq!(plan(&bench, &["Where are redirects followed?"]), expected);
    }
}
