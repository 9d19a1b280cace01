//! Formats a task with its findings for a delegate.

use crate::{
    text::{cut_at_word, one_line},
    update::{Evidence, Finding, Summary},
};
use std::path::Path;

/// Maximum number of listed places.
const PLACES: usize = 8;

/// Maximum length of a past session's excerpt in characters.
const EXCERPT: usize = 160;

/// Returns a task text for a person to edit and an agent to work from: workspace, intent, evidence, acceptance.
pub fn brief(summary: &Summary, root: &Path) -> String {
    let intent = summary.intent.as_deref().map(one_line).filter(|intent| !intent.is_empty());
    let mut text = format!("Workspace: {}\n", root.display());
    text.push_str(&format!("\nIntent: {}\n", intent.as_deref().unwrap_or("(say what is to be done)")));
    let mut places = places(summary);
    if !places.is_empty() {
        places.truncate(PLACES);
        text.push_str(&format!("\nEvidence:\n{}\n", bullets(&places)));
    }
    let named = |path: &&String| !places.iter().any(|place| place.starts_with(&format!("{path}:")));
    let files: Vec<String> = summary.top_files.iter().filter(named).cloned().collect();
    if !files.is_empty() {
        text.push_str(&format!("\nMost edited in past sessions:\n{}\n", bullets(&files)));
    }
    let acceptance = [
        match intent {
            Some(_) => "The intent is met, in the files above or those that belong to them.",
            None => "What is asked is done, in the files above or those that belong to them.",
        },
        "The project builds and its tests pass.",
        "Nothing else has changed.",
    ];
    text.push_str(&format!("\nAcceptance:\n{}\n", bullets(&acceptance.map(str::to_owned))));
    text
}

/// Returns a task with the places found for it. Past sessions are included only `with_history`: they are sent to an
/// agent off this machine only after a person has seen the text.
pub fn with_findings(task: &str, findings: &[Finding], with_history: bool) -> String {
    let mut places = in_code(findings);
    if with_history {
        let sessions = findings.iter().filter(|finding| finding.path().is_none());
        places.extend(sessions.map(|finding| match finding.excerpt.trim() {
            "" => finding.citation(),
            said => format!("{}: {}", finding.citation(), cut_at_word(&one_line(said), EXCERPT)),
        }));
    }
    places.truncate(PLACES);
    match places.as_slice() {
        [] => task.to_owned(),
        places => format!("{task}\n\nPlaces that may matter, found by a search:\n{}", bullets(places)),
    }
}

fn in_code(findings: &[Finding]) -> Vec<String> {
    let in_code = findings.iter().filter(|finding| finding.path().is_some());
    let place = |finding: &Finding| match &finding.symbol {
        Some(symbol) => format!("{}: {}", finding.citation(), one_line(symbol)),
        None => finding.citation(),
    };
    in_code.map(place).collect()
}

fn places(summary: &Summary) -> Vec<String> {
    let mut places = in_code(&summary.findings);
    for evidence in &summary.evidence {
        let place = match evidence {
            Evidence::File { path, line, text } => format!("{path}:{line}: {}", one_line(text)),
            Evidence::Session { provider, text, .. } => {
                format!("a past session of {provider}: {}", one_line(text))
            }
        };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

fn bullets(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::{FindingKind, IntentSource, Place};

    #[test]
    fn an_exploration_becomes_a_task() {
        let file = |path: &str, line| Evidence::File {
            path: path.to_owned(),
            line,
            text: "let retry = 3;\n".to_owned(),
        };
        let session = Evidence::Session {
            provider: "codex".to_owned(),
            session_id: "s".to_owned(),
            line: 4,
            text: "The retry is wrong".to_owned(),
        };
        let summary = Summary {
            repository: "app".to_owned(),
            intent: Some("You were making the retry logic robust.".to_owned()),
            source: IntentSource::SessionAnalyze,
            evidence: vec![file("src/net.rs", 7), file("src/net.rs", 7), session],
            top_files: vec!["src/net.rs".to_owned(), "src/lib.rs".to_owned()],
            ..Summary::default()
        };
        insta::assert_snapshot!(brief(&summary, Path::new("/home/me/app")), @r"
        Workspace: /home/me/app

        Intent: You were making the retry logic robust.

        Evidence:
        - src/net.rs:7: let retry = 3;
        - a past session of codex: The retry is wrong

        Most edited in past sessions:
        - src/lib.rs

        Acceptance:
        - The intent is met, in the files above or those that belong to them.
        - The project builds and its tests pass.
        - Nothing else has changed.
        ");
    }

    #[test]
    fn a_task_names_the_places_that_were_found_and_history_only_where_it_may() {
        let finding = |place, symbol: Option<&str>, excerpt: &str| Finding {
            kind: FindingKind::Text,
            place,
            start: 3,
            end: 9,
            excerpt: excerpt.to_owned(),
            symbol: symbol.map(str::to_owned),
            score: 1.0,
            why: String::new(),
        };
        let (provider, session_id) = ("codex".to_owned(), "s1".to_owned());
        let findings = [
            finding(Place::File { path: "src/net.rs".to_owned() }, Some("retry"), "fn retry() {}"),
            finding(Place::Session { provider, session_id }, None, "The retry\nis wrong"),
        ];
        assert_eq!(with_findings("Fix it", &[], true), "Fix it");
        let code = "Fix it\n\nPlaces that may matter, found by a search:\n- src/net.rs:3-9: retry";
        assert_eq!(with_findings("Fix it", &findings, false), code);
        let all = format!("{code}\n- codex session s1:3-9: The retry is wrong");
        assert_eq!(with_findings("Fix it", &findings, true), all);
    }

    #[test]
    fn an_exploration_that_found_nothing_asks_for_the_intent() {
        let text = brief(&Summary::default(), Path::new("/app"));
        assert!(text.contains("Intent: (say what is to be done)") && !text.contains("Evidence"), "{text}");
    }
}
