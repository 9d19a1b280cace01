//! The planner without a model: uses the goals, the repository's description and titles of past sessions.

use super::{
    op::OpKind,
    planner::{PlanError, PlanRequest, Planner},
};
use openagents_core::{budget::Budget, update::Finding};
use openagents_transcripts::history::Query;
use std::time::Duration;

/// Plans by rules.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeuristicPlanner;

/// Time limit for titles, which take that long only if many sessions were never listed. The plan is the
/// first thing that the user sees, but with a shorter limit a busy machine would plan differently.
const LOOK_AT_HISTORY: Duration = Duration::from_millis(250);

/// Lines of a README or manifest that a plan reads: the introduction.
const SPAN_LINES: u64 = 50;

/// Maximum number of titles in a model's prompt.
const TITLES: usize = 5;

/// Number of listed sessions.
const SESSIONS: usize = 20;

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
    fn without_history_the_repository_is_read() {
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
    fn a_goal_is_answered_by_looking_at_what_was_found() {
        let bench =
            Bench::with(&[("src/net.rs", "fn parse_header(text: &str) {}\n"), ("README.md", "# App\n")]);
        let expected = ["Search 'parse_header' in workspace", "Read src/net.rs:1-1"];
        assert_eq!(plan(&bench, &["Why does parse_header fail?"]), expected);
    }

    #[test]
    fn where_nothing_is_found_the_folder_is_looked_at() {
        let bench = Bench::with(&[("a.txt", "x\n")]);
        let expected = ["List directory .", "Search 'TODO|FIXME' in workspace"];
        assert_eq!(plan(&bench, &["Where are redirects followed?"]), expected);
    }
}
