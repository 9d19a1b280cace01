//! The planner that needs no model: it looks at the goals, at what the repository says of itself and at the
//! titles of past sessions.

use super::{OpKind, PlanError, PlanRequest, Planner, keyword};
use crate::{budget::Budget, history::Query, repository::SPAN_LINES};
use std::time::{Duration, Instant};

/// Plans by rules.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeuristicPlanner;

/// The plan is the first thing that a person sees: titles that take longer are done without.
const LOOK_AT_HISTORY: Duration = Duration::from_millis(25);

/// Titles of so many sessions may give the word to search for.
const TITLES: usize = 5;

/// What is left to do stands in the code under these words.
const OPEN_ENDS: &str = "TODO|FIXME";

impl Planner for HeuristicPlanner {
    fn plan(&self, request: &PlanRequest<'_>) -> Result<Vec<OpKind>, PlanError> {
        let repository = request.survey.repository();
        let titles = recent_titles(request);
        let asked = keyword(request.goals.iter().map(String::as_str));
        let mut ops = Vec::new();
        if let Some(titles) = &titles {
            ops.push(OpKind::SessionList {
                provider: None,
                top_k: Some(request.limits.list_rows),
                since: None,
            });
            if let Some(word) = asked.clone().or_else(|| keyword(titles.iter().map(String::as_str))) {
                ops.push(session_search(&word));
            }
        } else {
            ops.push(OpKind::ListDir { path: ".".to_owned(), depth: 0 });
        }
        let said = repository.readme.as_ref().or(repository.manifest.as_ref());
        if let Some(file) = said {
            ops.push(read(file));
        }
        if titles.is_none()
            && let (Some(_), Some(manifest)) = (&repository.readme, &repository.manifest)
        {
            ops.push(read(manifest));
        }
        ops.push(OpKind::grep(asked.map_or_else(|| OPEN_ENDS.to_owned(), |word| regex::escape(&word))));
        Ok(ops)
    }
}

/// Returns titles, newest first; `None` where no agent ever worked.
pub(super) fn recent_titles(request: &PlanRequest<'_>) -> Option<Vec<String>> {
    let budget = Budget::new(Instant::now() + LOOK_AT_HISTORY, request.cancel.clone());
    let query = Query {
        workspace: Some(request.survey.workspace.root().to_path_buf()),
        limit: TITLES,
        ..Query::default()
    };
    let listing = request.survey.history.list(&query, &budget);
    let known = !listing.rows.is_empty() || listing.timed_out;
    known.then(|| listing.rows.into_iter().filter_map(|row| row.title).collect())
}

fn session_search(word: &str) -> OpKind {
    OpKind::SessionSearch {
        pattern: regex::escape(word),
        provider: None,
        session_ids: Vec::new(),
        max_results: None,
        context_lines: None,
    }
}

fn read(path: &str) -> OpKind {
    OpKind::ReadSpan { path: path.to_owned(), start_line: 1, end_line: SPAN_LINES, context: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{builtin::testing::Bench, plan::normalise, survey::Survey, workspace::Workspace};

    fn plan(bench: &Bench, goals: &[&str]) -> Vec<String> {
        let goals: Vec<_> = goals.iter().map(|goal| (*goal).to_owned()).collect();
        let survey = Survey::new(Workspace::open(bench.root()).unwrap().into(), &bench.history);
        let request =
            PlanRequest { goals: &goals, survey: &survey, limits: &bench.limits, cancel: &bench.cancel };
        let ops = HeuristicPlanner.plan(&request).unwrap();
        normalise(ops, &bench.workspace).ops.iter().map(|op| op.kind.entry_text()).collect()
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
    fn a_goal_says_what_to_search_for() {
        let bench = Bench::with(&[("a.txt", "")]);
        let expected = ["List directory .", "Search 'parse_header' in workspace"];
        assert_eq!(plan(&bench, &["Why does parse_header fail?"]), expected);
    }
}
