//! Recent work, most edited files, follow-ups, and the final message.

use super::intent::{Done, Intent};
use crate::{
    plan::{OPEN_ENDS, OpKind},
    survey::Survey,
};
use openagents_core::{
    CancellationToken,
    budget::Budget,
    update::{FindingKind, Overview, RecentWork, Summary},
    workspace::Workspace,
};
use openagents_tools::builtin::{GrepOutput, SessionAnalyzeOutput};
use openagents_transcripts::history::{Query, Transcript};
use std::{collections::BTreeMap, time::Duration};

const RECENT_WORK: usize = 5;
const TOP_FILES: usize = 5;

/// Time limit; a step of the plan has just listed the sessions, so this is served from the cache.
const LOOK_UP: Duration = Duration::from_millis(200);

pub(super) fn gather(
    survey: &Survey,
    done: &[Done],
    intent: Intent,
    overview: Option<Overview>,
    cancel: &CancellationToken,
) -> Summary {
    Summary {
        repository: survey.workspace.name().to_owned(),
        intent: intent.sentence,
        source: intent.source,
        model: intent.model,
        recent_work: recent_work(survey, done, cancel),
        top_files: top_files(&survey.workspace, done),
        followups: match &overview {
            Some(overview) if !overview.questions.is_empty() => overview.questions.clone(),
            _ => followups(survey, done),
        },
        evidence: intent.evidence,
        findings: survey.findings.findings.clone(),
        overview,
    }
}

/// Returns the final message: repository line, heading and sentence.
pub(super) fn message(summary: &Summary, note: Option<&str>) -> String {
    let note = note.map(|note| format!(" ({note})")).unwrap_or_default();
    let mut text = format!("**Repository:** {}{note}", summary.repository);
    if let (Some(sentence), Some(heading)) = (&summary.intent, summary.heading()) {
        text.push_str(&format!("\n\n{heading}\n{sentence}"));
    }
    text
}

fn recent_work(survey: &Survey, done: &[Done], cancel: &CancellationToken) -> Vec<RecentWork> {
    if !done.iter().any(|step| step.kind.is_session_op()) {
        return Vec::new();
    }
    let query = Query {
        workspace: Some(survey.workspace.root().to_path_buf()),
        limit: RECENT_WORK,
        ..Query::default()
    };
    let listing = survey.history.list(&query, &Budget::within(LOOK_UP, cancel));
    let named = |row: Transcript| {
        Some(RecentWork {
            title: row.title?,
            provider: row.provider.as_str().to_owned(),
            session_id: row.id,
            updated_at: row.updated_at,
        })
    };
    listing.rows.into_iter().filter_map(named).collect()
}

/// Returns the files edited most in past sessions.
fn top_files(workspace: &Workspace, done: &[Done]) -> Vec<String> {
    let outputs = done.iter().filter_map(|step| step.result.as_ref().ok());
    let analyses = outputs.filter_map(|output| output.result::<SessionAnalyzeOutput>());
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (path, count) in
        analyses.filter_map(|analysis| analysis.file_frequency.as_ref()).flat_map(|files| &files.0)
    {
        let Ok(relative) = workspace.resolve(path) else { continue };
        if workspace.is_file(&relative) {
            *counts.entry(Workspace::shown(&relative)).or_default() += count;
        }
    }
    let mut ranked: Vec<_> = counts.into_iter().collect();
    ranked.sort_by(|(path, count), (other_path, other)| other.cmp(count).then_with(|| path.cmp(other_path)));
    ranked.into_iter().take(TOP_FILES).map(|(path, _)| path).collect()
}

/// Returns follow-up questions; each has an answer in the workspace.
fn followups(survey: &Survey, done: &[Done]) -> Vec<String> {
    let definition = survey.findings.findings.iter().find(|finding| finding.kind == FindingKind::Definition);
    let used = definition.and_then(|finding| finding.symbol.as_ref());
    let used = used.map(|symbol| format!("Where is `{symbol}` used?"));
    let open_end = open_ends(done).map(|path| format!("Which TODOs are open in {path}?"));
    used.into_iter().chain(open_end).collect()
}

/// Returns the file with the most TODOs, if the plan searched for them.
fn open_ends(done: &[Done]) -> Option<String> {
    let looked =
        done.iter().filter(|step| matches!(&step.kind, OpKind::Grep { pattern, .. } if pattern == OPEN_ENDS));
    let found = looked.filter_map(|step| step.result.as_ref().ok()?.result::<GrepOutput>());
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for hit in found.flat_map(|found| &found.matches) {
        *counts.entry(&hit.path).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(path, _)| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::update::IntentSource;

    #[test]
    fn message_has_repository_heading_and_sentence() {
        let mut summary = Summary { repository: "app".into(), ..Summary::default() };
        assert_eq!(message(&summary, None), "**Repository:** app");
        summary.intent = Some("Finish it.".into());
        summary.source = IntentSource::SessionAnalyze;
        let expected = "**Repository:** app\n\n**Intent From Session History:**\nFinish it.";
        assert_eq!(message(&summary, None), expected);
        let noted = message(&summary, Some("/x does not exist on this machine"));
        assert!(noted.starts_with("**Repository:** app (/x does not exist on this machine)\n"));
    }
}
