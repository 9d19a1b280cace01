//! Formats a task with its findings for a delegate.

use crate::{
    text::{cut_at_word, one_line},
    update::Finding,
};

/// Maximum number of listed places.
const PLACES: usize = 8;

/// Maximum length of a past session's excerpt in characters.
const EXCERPT: usize = 160;

/// Returns a task with the places found for it, those in code first. Past sessions are included only `with_history`:
/// they are sent to an agent off this machine only after a person has seen the text.
pub fn with_findings(task: &str, findings: &[Finding], with_history: bool) -> String {
    let in_code = findings.iter().filter(|finding| finding.path().is_some());
    let in_code = in_code.map(|finding| match &finding.symbol {
        Some(symbol) => format!("{}: {}", finding.citation(), one_line(symbol)),
        None => finding.citation(),
    });
    let sessions = findings.iter().filter(|finding| with_history && finding.path().is_none());
    let sessions = sessions.map(|finding| match finding.excerpt.trim() {
        "" => finding.citation(),
        said => format!("{}: {}", finding.citation(), cut_at_word(&one_line(said), EXCERPT)),
    });
    let places: Vec<_> = in_code.chain(sessions).take(PLACES).map(|place| format!("- {place}")).collect();
    match places.as_slice() {
        [] => task.to_owned(),
        places => format!("{task}\n\nPlaces that may matter, found by a search:\n{}", places.join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::{FindingKind, Place};

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
}
